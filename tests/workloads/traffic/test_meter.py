"""A live server that is read in a thread: the guard hears of each second first, and of each that could not be read."""

import queue
from contextlib import contextmanager

import pytest

from dialin.clock import SystemClock
from dialin.errors import ServerError, UserError
from dialin.model.live import LatencySource
from dialin.model.traffic import TrafficSecond
from dialin.workloads.traffic import latency_sources, meter
from dialin.workloads.traffic.meter import Meter


class Reader:
    """Reads nothing, and fails where it is told to."""

    def __init__(self, server):
        self.server = server

    def read(self):
        self.server.readings += 1
        if self.server.readings in self.server.fails:
            raise self.server.failure
        return self.server.readings

    def difference(self, before, now):
        return TrafficSecond(1.0, {"select": now - before}, {}, {})


class Server:
    def __init__(self, fails=(), failure=None):
        self.readings, self.fails, self.failure, self.connections = 0, fails, failure, 0

    @contextmanager
    def connect(self, timeout):
        self.connections += 1
        yield lambda statement: []


@pytest.fixture(autouse=True)
def quick(monkeypatch):
    monkeypatch.setattr(meter, "_PERIOD", 0.02)
    monkeypatch.setattr(latency_sources, "choose", lambda query: LatencySource.SUMMARY)


def heard(server, count):
    """What the guard and a listener heard of so many seconds, in order."""
    to_guard, of_load = queue.SimpleQueue(), []
    with Meter(server.connect, lambda query, clock, source: Reader(server), SystemClock()) as read:
        read.guard = to_guard.put
        with read.listening() as seconds:
            for _ in range(count):
                of_load.append(seconds.get(timeout=30))
                assert not to_guard.empty(), "the guard had not heard of a second that the load had"
    return [to_guard.get() for _ in range(count)], of_load


def test_the_guard_hears_of_each_second_before_the_load_does():
    guard, load = heard(Server(), 4)
    assert guard == load
    assert {second.statements for second in load} == {1}


@pytest.mark.parametrize("failure", [ServerError("gone"), UserError("no privilege"), ValueError("a fault of dialin")])
def test_a_second_that_could_not_be_read_is_none_to_the_guard_and_an_error_to_the_load_and_the_next_one_is_read_anew(failure):
    server = Server(fails=(3,), failure=failure)
    guard, load = heard(server, 4)
    assert [second is None for second in guard] == [second is failure for second in load]
    assert sum(second is None for second in guard) == 1
    assert server.connections == 2


def test_all_statements_of_a_reading_together_have_an_end_in_time(monkeypatch):
    limits = []

    @contextmanager
    def within(query, seconds):
        limits.append(seconds)
        yield

    monkeypatch.setattr(meter, "within", within)
    heard(Server(), 2)
    assert set(limits) == {meter.ANSWER_WITHIN}
    assert len(limits) >= 3
