import asyncio
import json
from collections import deque

import pytest

from dashboard.writing import TRIAL, sample
from dialin.dashboard import hub as hubs
from dialin.dashboard.follow import Snapshot
from dialin.dashboard.hub import LINGER, Hub
from dialin.dashboard.study_state import State
from dialin.errors import UserError
from dialin.report.board import Board
from dialin.report.render.html import Body
from dialin.store.lock import Holder


class Followed:
    """Follows a study that a test makes up."""

    def __init__(self, directory, spec):
        self.directory = directory
        self.held = Holder(4711, "boot/42")
        self.state, self.key = State.RUNNING, (1,)
        self.board = Board(spec=spec, trial=TRIAL, seconds=deque([sample(1)]))
        self.looks = self.reports = self.forgotten = 0
        self.error = None
        self.takes = lambda: None

    def holder(self):
        return self.held

    def look(self):
        self.looks += 1
        if self.error:
            raise self.error
        return Snapshot(self.state, self.board, key=self.key)

    def report(self):
        self.reports += 1
        self.takes()
        return Body(f"report {self.reports}", f"<h1>{self.reports}</h1>", "<a>", {"trials": {}, "charts": {}})

    def forget(self):
        self.forgotten += 1


@pytest.fixture
def followed(tmp_path, spec):
    return Followed(tmp_path, spec)


@pytest.fixture
def hub(followed, clock):
    return Hub(followed, clock, lambda _: "boot/42", every=0, cpu=clock.monotonic)


async def made(hub):
    """Look, and wait for the report that this begins to make."""
    await hub.look()
    if hub._making:
        await hub._making


def live(piece):
    return json.loads(piece.removeprefix(b"data: "))


def test_however_many_look_the_study_is_read_once(hub, followed):
    async def scene():
        viewers = [hub.stream() for _ in range(5)]
        pieces = [asyncio.ensure_future(anext(viewer)) for viewer in viewers]
        await asyncio.sleep(0)
        await hub.look()
        found = await asyncio.gather(*pieces)
        for viewer in viewers:
            await viewer.aclose()
        return found

    found = asyncio.run(scene())
    assert followed.looks == 1
    assert len(set(found)) == 1
    assert live(found[0])["state"] == "running"


def test_while_nobody_looks_the_store_is_left_alone(hub, followed):
    async def scene():
        running = asyncio.create_task(hub.run())
        for _ in range(20):
            await asyncio.sleep(0)
        hub.end()
        await running

    asyncio.run(scene())
    assert followed.looks == 0


def test_a_viewer_is_reported_what_is_new_and_nothing_twice(hub, followed):
    async def scene():
        viewer = hub.stream()
        await hub.look()
        first = live(await anext(viewer))
        following = asyncio.ensure_future(anext(viewer))
        await hub.look()
        await asyncio.sleep(0)
        assert not following.done() or live(following.result()) != first
        followed.board.lines.append((1.0, "something"))
        await hub.look()
        second = live(await following)
        await viewer.aclose()
        return first, second

    first, second = asyncio.run(scene())
    assert first["log"] == []
    assert second["report"] >= first["report"]


def test_when_the_page_ends_every_stream_says_so_and_closes(hub):
    async def scene():
        viewer = hub.stream()
        await hub.look()
        await anext(viewer)
        hub.end()
        return [piece async for piece in viewer]

    assert asyncio.run(scene())[-1].startswith(b"event: over")


def test_the_report_is_made_once_for_each_change(hub, followed):
    async def scene():
        await made(hub)
        await made(hub)
        assert followed.reports == 1
        assert json.loads(hub.report) == {
            "number": 1,
            "title": "report 1",
            "main": "<h1>1</h1>",
            "menu": "<a>",
            "data": {"trials": {}, "charts": {}},
        }
        followed.key = (2,)
        await made(hub)

    asyncio.run(scene())
    assert followed.reports == 2


def test_a_report_that_takes_long_is_not_made_again_at_once_while_the_study_runs(hub, followed, clock):
    async def scene():
        followed.takes = lambda: clock.sleep(2)
        await made(hub)
        followed.key = (2,)
        await made(hub)
        assert followed.reports == 1
        clock.sleep(41)
        await made(hub)
        assert followed.reports == 2
        followed.key, followed.state = (3,), State.FINISHED
        await made(hub)

    asyncio.run(scene())
    assert followed.reports == 3, "that it ended is shown at once"


def test_there_is_no_report_of_a_study_that_is_still_to_come(hub, followed):
    followed.key, followed.state = (), State.READYING
    asyncio.run(made(hub))
    assert followed.reports == 0
    assert hub.report == b""


def test_a_study_that_cannot_be_read_is_reported_and_tried_again(hub, followed):
    async def scene():
        followed.error = UserError("it is damaged", "Restore it")
        viewer = hub.stream()
        await hub.look()
        broken = live(await anext(viewer))
        followed.error = None
        await hub.look()
        mended = live(await anext(viewer))
        await viewer.aclose()
        return broken, mended

    broken, mended = asyncio.run(scene())
    assert broken["trouble"] == "The study cannot be read: it is damaged. Restore it"
    assert mended["trouble"] == ""
    assert followed.forgotten == 1


def test_a_study_that_cannot_be_shown_is_reported_and_tried_again(hub, followed, monkeypatch):
    whole = hubs.view

    def shown(seen, *rest, **others):
        if seen.board.spec is not None:
            raise ValueError("Out of range float values are not JSON compliant")
        return whole(seen, *rest, **others)

    async def scene():
        viewer = hub.stream()
        monkeypatch.setattr(hubs, "view", shown)
        await hub.look()
        broken = live(await anext(viewer))
        monkeypatch.setattr(hubs, "view", whole)
        await hub.look()
        mended = live(await anext(viewer))
        await viewer.aclose()
        return broken, mended

    broken, mended = asyncio.run(scene())
    assert broken["trouble"] == "The study cannot be read: ValueError"
    assert (mended["trouble"], mended["state"]) == ("", "running")


def test_the_page_goes_on_looking_whatever_fails(followed, clock):
    def fail():
        raise OSError

    hub = Hub(followed, clock, lambda _: "", alone=lambda: None, every=0)

    async def scene():
        followed.holder = fail
        running = asyncio.create_task(hub.run())
        for _ in range(20):
            await asyncio.sleep(0)
        assert not running.done()
        del followed.holder
        viewer = hub.stream()
        found = live(await anext(viewer))
        await viewer.aclose()
        hub.end()
        await running
        return found

    asyncio.run(scene())


def test_a_report_that_cannot_be_made_is_reported_and_the_page_goes_on(hub, followed):
    def fail():
        raise ZeroDivisionError

    async def scene():
        followed.takes = fail
        await made(hub)
        await hub.look()
        return live(await anext(hub.stream()))

    assert "ZeroDivisionError" in asyncio.run(scene())["trouble"]


def test_a_page_beside_a_study_ends_a_while_after_it_when_nobody_looks(followed, clock):
    ended = []
    hub = Hub(followed, clock, lambda _: "", alone=lambda: ended.append(True), every=0)
    clock.sleep(10 * LINGER)
    hub._end_where_alone()
    assert not ended, "the study runs"
    followed.held = None
    clock.sleep(LINGER / 2)
    hub._end_where_alone()
    assert not ended, "somebody may come to see how it ended"
    clock.sleep(LINGER)
    hub._end_where_alone()
    assert ended


def test_a_page_beside_a_study_stays_while_somebody_looks(followed, clock):
    ended = []
    hub = Hub(followed, clock, lambda _: "", alone=lambda: ended.append(True), every=0)
    followed.held = None

    async def scene():
        viewer = hub.stream()
        await hub.look()
        await anext(viewer)
        clock.sleep(10 * LINGER)
        hub._end_where_alone()
        assert not ended
        await viewer.aclose()
        hub._end_where_alone()
        assert not ended
        clock.sleep(2 * LINGER)
        hub._end_where_alone()

    asyncio.run(scene())
    assert ended


def test_a_study_is_reported_to_stop_once_for_a_second_time_would_hurt_it(hub, monkeypatch):
    reported = []
    monkeypatch.setattr(hubs, "stop_now", lambda holder, directory, identity: reported.append(holder) or True)
    assert hub.stop_now()
    assert hub.stop_now()
    assert reported == [Holder(4711, "boot/42")]


def test_a_study_that_nobody_runs_cannot_be_stopped(hub, followed):
    followed.held = None
    assert not hub.stop_now()


def test_a_page_that_was_reported_to_stop_its_study_says_so_until_it_has(hub, followed, monkeypatch):
    monkeypatch.setattr(hubs, "stop_now", lambda *_: True)

    async def scene():
        hub.stop_now()
        viewer = hub.stream()
        await hub.look()
        first = live(await anext(viewer))
        followed.held, followed.state = None, State.STOPPED
        await hub.look()
        second = live(await anext(viewer))
        await viewer.aclose()
        return first["name"], second["name"]

    assert asyncio.run(scene()) == ("Stopping", "Stopped")


def test_stopping_after_the_block_is_requested_in_the_directory_and_taken_back(hub, followed):
    hub.stop_after_block(wanted=True)
    assert [path.name for path in followed.directory.iterdir()] == ["stop-after-block"]
    hub.stop_after_block(wanted=False)
    assert list(followed.directory.iterdir()) == []
