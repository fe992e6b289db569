import threading
from contextlib import contextmanager

import pytest

from dialin.probes.hiccups import PERIOD, Heartbeat


class StopClock:
    """A clock on which nobody wakes until the test says so."""

    def __init__(self):
        self.time = 100.0
        self.asleep, self.wake, self.free = threading.Semaphore(0), threading.Semaphore(0), False

    def monotonic(self):
        return self.time

    def sleep(self, seconds):
        self.asleep.release()
        if not self.free:
            self.wake.acquire()

    def beat(self, *, late=0.0):
        """Let the sleeper wake, and sleep again."""
        self.asleep.acquire()
        self.time += PERIOD + late
        self.wake.release()
        self.asleep.acquire()
        self.asleep.release()


@pytest.fixture
def clock():
    return StopClock()


@contextmanager
def beating(clock):
    with Heartbeat(clock) as heartbeat:
        yield heartbeat
        clock.free = True
        clock.wake.release()


def test_a_machine_that_runs_has_no_gap(clock):
    with beating(clock) as heartbeat:
        for _ in range(20):
            clock.beat()
        assert heartbeat.taken() == pytest.approx(0, abs=1e-9)


def test_the_longest_standstill_is_reported_and_only_once(clock):
    with beating(clock) as heartbeat:
        for late in (0.0, 0.4, 2.0, 0.1):
            clock.beat(late=late)
        assert heartbeat.taken() == pytest.approx(2.0)
        clock.beat()
        assert heartbeat.taken() == pytest.approx(0, abs=1e-9)


def test_a_standstill_is_reported_though_the_caller_wakes_before_the_heartbeat(clock):
    with beating(clock) as heartbeat:
        clock.beat()
        clock.time += PERIOD + 2.0
        assert heartbeat.taken() == pytest.approx(2.0)
        clock.beat()
        assert heartbeat.taken() == pytest.approx(0, abs=1e-9), "the next second must not be blamed for it again"


def test_time_before_it_began_is_no_standstill(clock):
    heartbeat = Heartbeat(clock)
    clock.time += 60
    with heartbeat:
        assert heartbeat.taken() == 0
        clock.free = True
        clock.wake.release()


def test_its_thread_ends_with_it(clock):
    before = set(threading.enumerate())
    with beating(clock):
        (started,) = set(threading.enumerate()) - before
    assert not started.is_alive()
