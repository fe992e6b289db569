"""The watchdog's limits; what it does to servers is in tests_live."""

import os
import threading
import time

import pytest

from dialin.capture import watchdog
from dialin.capture.watchdog import Watchdog, WatchOrder
from dialin.model.capture import StopReason


@pytest.fixture
def log(tmp_path):
    path = tmp_path / "slow.log"
    path.write_bytes(b"x" * 100)
    return path


def order(log, **changes):
    given = {"entry": "e", "log": str(log), "times": None, "max_bytes": 1000, "deadline": time.monotonic() + 600}
    return WatchOrder(**{**given, **changes}, min_free=200, session_settings=[])


class Run:
    """A watchdog that watches in a thread; what it said and did."""

    def __init__(self, *arguments, **more):
        self.said, self.stopped = [], 0
        reading, self._writing = os.pipe()
        self._reading = os.fdopen(reading, "rb", buffering=0)
        self.dog = Watchdog(*arguments, self._stop, self.said.append, **more)
        self._thread = threading.Thread(target=self._watch)
        self._thread.start()

    def _watch(self):
        self.has_finished = self.dog.watch(self._reading)

    def _stop(self):
        self.stopped += 1

    def send(self, text):
        os.write(self._writing, text)

    def until(self, condition):
        limit = time.monotonic() + 60
        while not condition():
            assert time.monotonic() < limit
            time.sleep(0.01)

    def end(self, *, well=True):
        if well:
            self.send(b"done\n")
        os.close(self._writing)
        self._thread.join(60)
        self._reading.close()
        return self.has_finished


@pytest.fixture(autouse=True)
def hurry(monkeypatch):
    monkeypatch.setattr(watchdog, "_LOOK", 0.01)
    monkeypatch.setattr(watchdog, "_ASKED", 0.1)


def test_it_changes_nothing_where_nothing_is_wrong(log):
    run = Run(order(log), free=lambda _: 200)
    time.sleep(0.1)
    assert run.end() is True
    assert (run.stopped, run.said) == (0, [])


def test_it_ends_the_log_at_once_where_the_other_side_is_gone(log):
    run = Run(order(log), free=lambda _: 200)
    assert run.end(well=False) is False
    assert run.stopped == 1


@pytest.mark.parametrize(
    ("changes", "free", "reason"),
    [
        ({"max_bytes": 100}, 200, StopReason.MAX_SIZE),
        ({}, 199, StopReason.DISK),
    ],
)
def test_it_asks_for_the_end_and_then_ends_the_log_itself(log, changes, free, reason):
    run = Run(order(log, **changes), free=lambda _: free)
    run.until(lambda: run.said)
    assert run.said[0] == {"stop": reason}
    run.until(lambda: run.stopped)
    assert run.end() is True
    assert run.stopped == 1


def test_it_leaves_the_end_to_the_other_side_where_that_is_quick(log, monkeypatch):
    monkeypatch.setattr(watchdog, "_ASKED", 600)
    run = Run(order(log, max_bytes=100), free=lambda _: 200)
    run.until(lambda: run.said)
    run.send(b"off\n")
    run.until(lambda: {"closed": ""} in run.said)
    monkeypatch.setattr(watchdog, "_ASKED", 0)
    time.sleep(0.1)
    assert run.end() is True
    assert run.stopped == 0


def test_a_deadline_that_is_over_ends_the_log_without_a_question_and_may_be_moved(log):
    run = Run(order(log), free=lambda _: 200)
    run.send(repr(time.monotonic() - 1).encode() + b"\n")
    run.until(lambda: run.stopped)
    assert {"stop": StopReason.DEADLINE} in run.said
    run.end()


def test_it_notes_how_long_the_log_was_at_which_time(log, tmp_path):
    times, looks = tmp_path / "times", []
    run = Run(order(log, times=str(times)), free=lambda _: looks.append(_) or 200)
    began = time.time()
    run.until(lambda: len(looks) > 10)
    with log.open("ab") as file:
        file.write(b"y" * 50)
    run.until(lambda: len(looks) > 20)
    run.send(b"off\n")
    run.until(lambda: {"closed": ""} in run.said)
    lines = [tuple(map(int, line.split())) for line in times.read_text().splitlines()]
    assert [length for _, length in lines] == [100, 100, 150]
    first, looked, grown = (at / 1e6 for at, _ in lines)
    assert began - 1 < first <= looked < grown
    assert first + 0.05 < grown
    run.end()
