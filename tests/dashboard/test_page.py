"""Who is let in, what each address answers, and what every answer carries."""

from pathlib import Path

import pytest
from starlette.testclient import TestClient

from dialin.dashboard.connections import Connections, Limits
from dialin.dashboard.follow import Follower
from dialin.dashboard.guard import Access, Served
from dialin.dashboard.hub import Hub
from dialin.dashboard.page import new_link, page
from dialin.store import requests
from dialin.store.lock import Holder

HERE = "http://127.0.0.1:40123"
COOKIE = "dialin_watch_40123"
ADDRESSES = ["/", "/style.css", "/plotly.js", "/report.js", "/live.js", "/events", "/report"]


class Page:
    """A page, and how a browser that was let in speaks to it."""

    def __init__(self, study, clock, served=Served()):  # noqa: B008 - it is frozen
        self.study = study
        self.access = Access()
        follower = Follower(study.directory, lambda _: study.holder)
        self.hub = Hub(follower, clock, lambda _: "boot/42", every=0.01)
        self.app = page(self.hub, self.access, served, COOKIE, Connections(Limits()))

    def client(self, base=HERE, **others):
        client = TestClient(self.app, base_url=base, follow_redirects=False, **others)
        client.base_url = base + self.access.root  # what is asked for begins there
        return client

    def link(self):
        """The path of a new link, below the page's own."""
        return new_link(self.access).removeprefix(self.access.root)

    def let_in(self, base=HERE):
        client = self.client(base)
        assert client.get(self.link()).status_code == 303
        return client


async def made(hub):
    """Look at the study, and wait for its report."""
    await hub.look()
    await hub._making


@pytest.fixture
def served(study, clock):
    study.holder = Holder(4711, "boot/42")
    return Page(study, clock)


@pytest.fixture
def viewer(served):
    return served.let_in()


def test_a_link_lets_in_once_and_leads_to_the_clean_address(served):
    client = served.client()
    path = served.link()
    answer = client.get(path)
    assert (answer.status_code, answer.headers["location"]) == (303, f"{served.access.root}/")
    assert client.get("/").status_code == 200
    other = served.client()
    assert other.get(path).status_code == 403
    assert other.get("/").status_code == 403


def test_the_cookie_is_this_pages_own_and_no_script_and_no_other_site_gets_it(served):
    reported = served.client().get(served.link()).headers["set-cookie"]
    assert reported.startswith(f"{COOKIE}=")
    assert {"HttpOnly", "SameSite=strict", f"Path={served.access.root}/"} <= set(reported.split("; "))
    assert "Max-Age" not in reported


def test_a_browser_that_was_let_in_leaves_a_further_link_for_another_one(served, viewer):
    path = served.link()
    assert viewer.get(path).status_code == 303
    assert served.client().get(path).status_code == 303


def test_a_browser_that_looks_ahead_does_not_spend_the_link(served):
    path = served.link()
    assert served.client().get(path, headers={"Sec-Purpose": "prefetch"}).status_code == 403
    assert served.client().head(path).status_code == 403
    assert served.client().get(path).status_code == 303


def test_who_comes_from_another_site_is_led_on_by_a_page_for_a_redirect_would_lose_the_cookie(served):
    client = served.client()
    answer = client.get(served.link(), headers={"Sec-Fetch-Site": "cross-site"})
    assert answer.status_code == 200
    assert f'content="0;url={served.access.root}/"' in answer.text
    assert client.get("/").status_code == 200


def test_all_of_it_lies_below_a_path_of_its_own_that_the_cookie_is_kept_to(served, viewer, study, clock):
    assert served.access.root != Page(study, clock).access.root
    (cookie,) = viewer.cookies.jar
    for path in ("/", "/report", f"{served.access.root}x/"):
        answer = viewer.get(HERE + path, headers={"Cookie": f"{COOKIE}={cookie.value}"})
        assert answer.status_code == 403
    assert "cookie" not in viewer.get(HERE + "/").request.headers


def test_a_link_fits_a_line_of_a_terminal_with_what_stands_before_it(served):
    assert len(f"Live page: {HERE}{new_link(served.access)}") < 80


@pytest.mark.parametrize("address", ADDRESSES)
def test_nothing_is_shown_without_a_link_and_it_is_said_how_to_get_one(served, address):
    answer = served.client().get(address)
    assert answer.status_code == 403
    assert "link that works once" in answer.text


def test_a_wrong_link_and_a_wrong_cookie_let_nobody_in(served):
    client = served.client()
    assert client.get("/?t=wrong").status_code == 403
    client.cookies.set(COOKIE, "wrong")
    assert client.get("/").status_code == 403


@pytest.mark.parametrize("base", [HERE, "http://localhost:40123", "http://[::1]:40123", "http://localhost:9000"])
def test_it_is_served_under_the_names_of_loopback_through_a_tunnel_too(served, base):
    assert served.let_in(base).get("/").status_code == 200


@pytest.mark.parametrize("base", ["http://evil.example:40123", "http://192.0.2.7:40123", "http://127.0.0.1.evil.example:40123"])
def test_under_any_other_name_nothing_is_served_though_the_link_is_right(served, base):
    answer = served.client(base).get(served.link())
    assert answer.status_code == 403
    assert "not served under that name" in answer.text


def test_where_a_host_is_named_it_serves_under_that_name(study, clock):
    study.holder = None
    named = Page(study, clock, Served(frozenset({"db1"})))
    assert named.let_in("http://db1:40123").get("/").status_code == 200
    assert named.client("http://db2:40123").get(named.link()).status_code == 403
    everywhere = Page(study, clock, Served(any_address=True))
    assert everywhere.let_in("http://192.0.2.7:40123").get("/").status_code == 200
    assert everywhere.client("http://evil.example").get(everywhere.link()).status_code == 403


@pytest.mark.parametrize("address", ["/", "/style.css", "/live.js", "/report.js", "/plotly.js", "/nothing"])
def test_every_answer_forbids_what_the_page_does_not_need(viewer, address):
    headers = viewer.get(address).headers
    assert "default-src 'none'; script-src 'self'" in headers["content-security-policy"]
    assert headers["cache-control"] == "no-store"
    assert headers["referrer-policy"] == "no-referrer"
    assert headers["x-content-type-options"] == "nosniff"
    assert "access-control-allow-origin" not in headers


def test_refusals_carry_the_same_headers(served):
    assert served.client().get("/").headers["cache-control"] == "no-store"


@pytest.mark.parametrize(
    "origin", [{}, {"Origin": "null"}, {"Origin": "http://evil.example"}, {"Origin": "http://127.0.0.1:8080"}]
)
def test_a_post_of_another_page_is_refused_though_the_cookie_comes_along(served, viewer, origin):
    answer = viewer.post("/stop", json={"when": "after_block"}, headers=origin)
    assert answer.status_code == 403
    assert not requests.is_asked_to_stop(served.study.directory)


def test_stopping_after_the_block_is_requested_and_taken_back(served, viewer):
    own = {"Origin": HERE}
    assert viewer.post("/stop", json={"when": "after_block"}, headers=own).status_code == 200
    assert requests.is_asked_to_stop(served.study.directory)
    assert viewer.post("/stop", json={"when": "never"}, headers=own).status_code == 200
    assert not requests.is_asked_to_stop(served.study.directory)


def test_a_study_that_nobody_runs_cannot_be_stopped_and_that_is_said(served, viewer):
    served.study.holder = None
    answer = viewer.post("/stop", json={"when": "now"}, headers={"Origin": HERE})
    assert answer.status_code == 409
    assert "No process runs this study" in answer.json()["words"]


@pytest.mark.parametrize("said", [b"", b"{", b"[]", b'{"when": "tomorrow"}', b'{"when": 1}', b"x" * 5000, b"\xff"])
def test_requests_that_the_page_never_makes_are_refused(viewer, said):
    assert viewer.post("/stop", content=said, headers={"Origin": HERE}).status_code == 400


def test_a_viewer_makes_a_link_for_another_one(served, viewer):
    path = viewer.post("/link", json={}, headers={"Origin": HERE}).json()["path"].removeprefix(served.access.root)
    other = served.client()
    assert other.get(path).status_code == 303
    assert other.get("/").status_code == 200


def test_the_report_is_served_once_it_was_made(served):
    served.study.stands()
    with served.client() as client:
        client.get(served.link())
        assert client.get("/report").status_code == 204
        client.portal.call(made, served.hub)
        answer = client.get("/report").json()
    assert answer["number"] == 1
    assert "No verdict yet" in answer["title"]
    assert "<h1" in answer["main"]
    assert '<a href="#over-time">Over time</a>' in answer["menu"]
    assert "#candidates" not in answer["menu"], "a section that has nothing yet"


def test_the_stream_is_one_of_events_and_closes_when_the_page_ends(served, viewer):
    served.hub.end()
    answer = viewer.get("/events")
    assert answer.headers["content-type"].startswith("text/event-stream")
    assert answer.text.startswith("event: over")


def test_the_page_asks_nothing_of_any_other_host(viewer):
    from importlib.resources import files

    for name in ("live.html", "live.css", "live.js"):
        text = files("dialin.dashboard").joinpath("templates", name).read_text(encoding="utf-8")
        assert "//" not in "".join(line for line in text.splitlines() if not line.strip().startswith("//"))


def test_nothing_secret_is_written_to_the_study(served, viewer):
    token = served.access.token()
    viewer.get(f"/?t={token}")
    assert all(token.encode() not in path.read_bytes() for path in Path(served.study.directory).iterdir())
