"""The report as a browser shows it: desktop and phone, light and dark, with nothing on the console and nothing on the wire."""

from functools import cache

import pytest

from browser import SCHEMES, WIDTHS, needs_chromium
from dialin.report.render import html
from fixtures import example_reasons, example_studies
from live import only_with_all

pytestmark = [needs_chromium, pytest.mark.timeout(180)]

UNLIKE = [("desktop", "light"), ("phone", "dark")]
EVERYWHERE = [
    pytest.param(width, scheme, marks=() if (width, scheme) in UNLIKE else only_with_all)
    for width in WIDTHS
    for scheme in SCHEMES
]
DRAWN = "[...document.querySelectorAll('.drawing')].every((one) => one.querySelector('svg .xtick'))"
INK = "getComputedStyle(document.querySelector('#forest .xtick text')).fill"


@cache
def page_of(name, why):
    record = example_studies.EVERY[name]()
    return html.render(record, why(record) if why else None)


@pytest.fixture
def report(tmp_path):
    def written(name, why=None):
        path = tmp_path / f"{name}.html"
        path.write_text(page_of(name, why), encoding="utf-8")
        return path

    return written


@pytest.fixture
def winner(opened, report):
    one = opened(report("winner"))
    one.drawn()
    yield one
    assert one.complaints == []


@pytest.mark.parametrize(("width", "scheme"), EVERYWHERE)
@pytest.mark.parametrize(("name", "why"), [("winner", example_reasons.full), ("hostile", example_reasons.hostile)])
def test_every_chart_is_drawn_quietly_and_nobody_is_shut_out(opened, report, name, why, width, scheme):
    one = opened(report(name, why), width, scheme)
    one.drawn()
    assert one.violations() == []
    assert one.complaints == []
    assert one.asked_of_others == []
    assert one.page.evaluate(DRAWN)
    assert one.page.evaluate("document.documentElement.scrollWidth <= innerWidth"), "the page is wider than the screen"


@pytest.mark.parametrize("name", sorted(set(example_studies.EVERY) - {"winner", "hostile"}))
def test_the_report_of_every_kind_of_study_is_drawn(opened, report, name):
    one = opened(report(name))
    one.drawn()
    assert one.page.evaluate(DRAWN)
    assert one.complaints == []
    assert one.asked_of_others == []


def test_charts_follow_the_page_from_light_to_dark(winner):
    light = winner.page.evaluate(INK)
    winner.page.emulate_media(color_scheme="dark")
    winner.until(f"{INK} !== {light!r}")


def test_a_column_sorts_the_table_by_mouse_and_by_keyboard(winner):
    first = "document.querySelector('.sortable tbody th').textContent"
    column = winner.page.locator(".sortable thead button").nth(1)
    assert winner.page.evaluate(first) == "1"
    column.click()
    assert winner.page.evaluate(first) == "16"
    assert winner.page.locator(".sortable thead th").nth(1).get_attribute("aria-sort") == "descending"
    column.press("Enter")
    assert winner.page.evaluate(first) == "1"


def test_figures_that_are_missing_sort_last_both_ways(opened, report):
    one = opened(report("failed_candidate"))
    one.drawn()
    for _ in range(2):
        one.page.locator(".sortable thead button").nth(1).click()
        assert one.page.evaluate("[...document.querySelectorAll('.sortable tbody tr')].at(-1).cells[1].textContent") == "–"


def test_a_candidate_can_be_switched_off_in_the_combined_chart_and_on_again(winner):
    points = "document.querySelector('#combined').data.reduce((sum, trace) => sum + (trace.x || []).length, 0)"
    button = winner.page.locator("[data-chart=combined]").first
    before = winner.page.evaluate(points)
    button.click()
    winner.until(f"{points} < {before}")
    assert button.get_attribute("aria-pressed") == "false"
    button.press("Space")
    winner.until(f"{points} === {before}")


def test_a_single_trial_can_be_switched_off_in_its_candidate_s_chart(winner):
    words = "document.querySelector('#over-time-1').data.flatMap((trace) => trace.text || []).join()"
    button = winner.page.locator("[data-chart=over-time-1]").first
    name = button.get_attribute("aria-label")
    assert name in winner.page.evaluate(words)
    button.click()
    winner.until(f"!{words}.includes({name + ','!r})")


def test_the_charts_over_time_turn_to_latency_with_their_words(winner):
    title = "document.querySelector('#over-time-1 .ytitle').textContent"
    assert winner.page.evaluate(title) == "transactions/s"
    winner.page.get_by_role("button", name="Latency, p95").click()
    winner.drawn()
    assert winner.page.evaluate(title) == "p95 latency, ms"
    assert winner.page.locator("#over-time-1-text").inner_text().startswith("The baseline. 5 trials; p95 of the median second")
    assert winner.page.evaluate(DRAWN)
    winner.page.get_by_role("button", name="Throughput", exact=True).click()
    winner.drawn()
    assert winner.page.evaluate(title) == "transactions/s"


def test_what_the_reader_did_stays_when_the_page_is_made_anew(winner):
    page = winner.page
    page.locator("[data-chart=combined]").nth(2).click()
    page.get_by_role("button", name="Latency, p95").click()
    page.locator("details[data-key=trials] summary").click()
    page.locator(".sortable thead button").nth(1).click()
    page.evaluate("scrollTo({ top: 900, behavior: 'instant' })")
    page.evaluate(
        """() => {
          window.data = JSON.parse(document.getElementById("dialin-data").textContent);
          const main = document.querySelector("main").cloneNode(true);
          main.querySelectorAll(".drawing").forEach((one) => { one.innerHTML = ""; one.className = "drawing"; });
          main.querySelectorAll("details").forEach((one) => { one.open = false; });
          const body = main.querySelector(".sortable tbody");
          body.append(...[...body.rows].sort((a, b) => a.cells[0].dataset.order - b.cells[0].dataset.order));
          document.documentElement.dataset.charts = "";
          dialin.show(window.data, main.innerHTML.replace(/aria-pressed="false"/g, 'aria-pressed="true"'));
        }"""
    )
    winner.drawn()
    assert page.locator("[data-chart=combined]").nth(2).get_attribute("aria-pressed") == "false"
    assert page.get_by_role("button", name="Latency, p95").get_attribute("aria-pressed") == "true"
    assert page.evaluate("document.querySelector('details[data-key=trials]').open")
    assert page.evaluate("document.querySelector('.sortable tbody th').textContent") == "16"
    assert page.evaluate("scrollY") == 900
    assert page.evaluate("document.activeElement.dataset.key").startswith("sort")
    assert page.evaluate(DRAWN)


def test_a_script_that_got_in_would_not_run(opened, report):
    one = opened(report("hostile"))
    one.drawn()
    one.page.evaluate(
        "() => { const s = document.createElement('script'); s.textContent = 'window.got_in = 1'; document.body.append(s); }"
    )
    assert one.page.evaluate("window.got_in") is None
    assert "<script>alert('x')</script>" in one.page.locator("h1").inner_text()


def test_it_prints_in_light_colours_and_goes_back(opened, report):
    one = opened(report("winner"), scheme="dark")
    one.drawn()
    dark = one.page.evaluate(INK)
    one.page.evaluate("() => { dispatchEvent(new Event('beforeprint')) }")
    one.until(f"{INK} !== {dark!r}")
    one.page.evaluate("() => { dispatchEvent(new Event('afterprint')) }")
    one.until(f"{INK} === {dark!r}")
    assert one.complaints == []


def test_it_can_be_printed(winner):
    assert len(winner.page.pdf(format="A4")) > 100_000


def test_a_browser_that_cannot_unpack_the_charts_shows_their_words(report, chromium):
    context = chromium.new_context()
    page = context.new_page()
    complaints = []
    page.on("pageerror", lambda error: complaints.append(str(error)))
    page.add_init_script("delete window.DecompressionStream")
    page.goto(report("winner").as_uri())
    page.wait_for_selector("html[data-charts=none]", state="attached")
    assert page.locator("#forest-text").inner_text().startswith("Highest is 16")
    assert not page.locator("#forest").is_visible()
    assert complaints == []
    context.close()


def test_without_scripts_everything_but_the_charts_is_there(report, chromium):
    context = chromium.new_context(java_script_enabled=False)
    page = context.new_page()
    page.goto(report("winner").as_uri())
    assert page.locator("noscript").inner_text().startswith("Charts need JavaScript")
    assert page.locator(".sortable tbody tr").count() == 7
    context.close()
