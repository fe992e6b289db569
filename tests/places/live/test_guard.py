"""The guard of a live server: what it takes for harm, and what it does then."""

import pytest

from dialin.errors import InterruptedStudyError, ServerError
from dialin.model.cause import CauseCode, Danger
from dialin.model.live import LiveOptions
from dialin.model.traffic import TrafficSecond
from dialin.places.live.guard import LiveGuard, stop_file

RESTORING = 0.2
"""Seconds that it takes to restore the baseline."""


def second(latency=2.0, statements=100.0, *, running=2.0, errors=0.0, **more):
    figures = {"errors": errors, "aborted": 0.0}
    return TrafficSecond(1.0, {"all": statements}, {"all": latency * statements}, figures, running=running, **more)


class Server:
    """A server whose baseline can be restored, or not."""

    def __init__(self, clock):
        self.clock, self.restored, self.refuses = clock, 0, False

    def restore(self):
        self.clock.sleep(RESTORING)
        if self.refuses:
            raise ServerError("it does not answer", "Run dialin restore")
        self.restored += 1


@pytest.fixture
def server(clock):
    return Server(clock)


@pytest.fixture
def guard(server, clock):
    """One that has seen a minute of the baseline, most of it at 2 ms, and has a candidate in force."""
    guard = LiveGuard(LiveOptions(), server.restore, clock)
    for number in range(60):
        guard.look(second(latency=2.0 + 0.01 * (number % 10), lag=1.0, free_disk=0.5, free_memory=0.5))
    guard.arm()
    return guard


def watch(guard, clock, *seconds):
    for one in seconds:
        clock.sleep(1)
        guard.look(one)


BAD = {
    Danger.LATENCY: second(latency=5.0),
    Danger.RUNNING: second(running=7.0),
    Danger.ERRORS: second(errors=8.0),
}
"""Seconds above their limit, but less than twice."""

WORSE = {
    Danger.LATENCY: second(latency=50.0),
    Danger.RUNNING: second(running=60.0),
    Danger.ERRORS: second(errors=80.0),
    Danger.STALLED: second(statements=1.0, running=3.0),
    Danger.LAG: second(lag=11.0),
    Danger.REPLICATION: second(has_stopped=True),
    Danger.DISK: second(free_disk=0.01),
    Danger.MEMORY: second(free_memory=0.01),
    Danger.NO_ANSWER: None,
}


NO_LIMIT = (Danger.STALLED, Danger.REPLICATION, Danger.NO_ANSWER)
"""What is harm whatever the options are."""


@pytest.mark.parametrize("danger", BAD)
def test_one_bad_second_is_ordinary_and_two_in_a_row_are_not(guard, server, clock, danger):
    watch(guard, clock, BAD[danger], second(), BAD[danger])
    assert (guard.trip, server.restored) == (None, 0)
    watch(guard, clock, BAD[danger])
    assert (guard.trip.danger, server.restored) == (danger, 1)


@pytest.mark.parametrize("danger", WORSE)
def test_a_second_that_is_far_worse_restores_the_baseline_at_once(guard, server, clock, danger):
    watch(guard, clock, WORSE[danger])
    assert (guard.trip.danger, server.restored) == (danger, 1)
    assert guard.trip.after == pytest.approx(1)
    assert guard.trip.restored_in == pytest.approx(RESTORING)
    with pytest.raises(ServerError) as tripped:
        guard.check()
    assert tripped.value.cause.code is CauseCode.GUARD_TRIPPED
    assert tripped.value.cause.figures["danger"] == danger


def test_each_limit_is_an_option(server, clock):
    lenient = LiveOptions(guard_latency=100, guard_running=100, guard_errors=1000, guard_lag=100, guard_free=0)
    guard = LiveGuard(lenient, server.restore, clock)
    for _ in range(60):
        guard.look(second())
    guard.arm()
    watch(guard, clock, *(WORSE[danger] for danger in WORSE if danger not in NO_LIMIT))
    assert guard.trip is None


def test_the_latest_of_the_baseline_is_usual(server, clock):
    guard = LiveGuard(LiveOptions(), server.restore, clock)
    for number in range(60):
        guard.look(second(latency=30.0 if number % 10 == 0 else 2.0))
    guard.arm()
    watch(guard, clock, second(latency=25.0), second(latency=25.0))
    assert guard.trip is None


def test_nothing_is_harm_while_the_baseline_is_in_force(guard, server, clock):
    guard.disarm()
    watch(guard, clock, *WORSE.values())
    assert (guard.trip, server.restored) == (None, 0)
    guard.check()


def test_latency_of_a_few_statements_says_nothing(guard, server, clock):
    watch(guard, clock, *[second(latency=500.0, statements=5.0, running=1.0)] * 3)
    assert guard.trip is None


def test_the_baseline_is_restored_once_however_long_the_server_takes_to_recover(guard, server, clock):
    watch(guard, clock, *[WORSE[Danger.LATENCY]] * 4)
    assert server.restored == 1


def test_a_baseline_that_cannot_be_restored_is_the_error_that_is_reported(guard, server, clock):
    server.refuses = True
    watch(guard, clock, WORSE[Danger.LATENCY])
    assert guard.trip.restored_in is None
    with pytest.raises(ServerError, match="does not answer"):
        guard.check()


def test_the_server_is_as_usual_again_only_once_it_was_seen_to_be(guard, clock):
    watch(guard, clock, WORSE[Danger.LATENCY])
    guard.disarm()
    assert guard.is_recovering
    watch(guard, clock, WORSE[Danger.LATENCY])
    assert not guard.is_usual()
    watch(guard, clock, second())
    assert guard.is_usual()


def test_a_stop_file_restores_the_baseline_and_ends_the_study(server, clock, tmp_path):
    path = tmp_path / "stop"
    guard = LiveGuard(LiveOptions(), server.restore, clock, stop_file(str(path)))
    guard.look(second())
    guard.arm()
    watch(guard, clock, second())
    assert server.restored == 0
    path.touch()
    watch(guard, clock, second())
    assert server.restored == 1
    with pytest.raises(InterruptedStudyError, match="stop file"):
        guard.check()
