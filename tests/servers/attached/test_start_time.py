"""A clock that is set, here or on the server's machine, is no restart of a server; a restart is one, whatever clocks show."""

import time

import pytest

from dialin import clock as clocks
from dialin.clock import SystemClock
from dialin.errors import ServerError
from dialin.servers.account import Account
from dialin.servers.attached import server_process
from dialin.servers.attached.attached_build import start_time
from dialin.testing.fake_clock import FakeClock

NOW = 1_800_000_000


def answering(*readings):
    """Answer with these readings: the server's clock before, Uptime, and its clock after."""
    left = [value for reading in readings for value in reading]
    return lambda statement: [("Uptime", left.pop(0))] if "Uptime" in statement else [(left.pop(0),)]


@pytest.fixture
def attached(monkeypatch, server, clock):
    monkeypatch.setattr(server_process, "listens", lambda account: True)
    made = server.attached(clock, Account(host="db1"))
    assert made.is_back()
    return made


@pytest.mark.parametrize("step", [-7200, -3, 3, 3600, 86_400])
def test_a_clock_that_is_set_is_no_restart(attached, server, clock, step):
    server.clock += step
    server.status["Uptime"] = str(int(server.status["Uptime"]) + step)
    assert not attached.is_gone()
    clock.sleep(abs(step))
    assert not attached.is_gone()


@pytest.mark.parametrize(("step", "uptime"), [(60, 5), (-7200, 5), (86_400, 1)])
def test_a_restart_is_one_whatever_the_clock_was_set_to(attached, server, step, uptime):
    server.clock += step
    server.status["Uptime"] = str(uptime)
    assert attached.is_gone()
    assert attached.is_back()
    assert not attached.is_gone()


def test_whole_seconds_are_no_restart():
    first = start_time(answering((NOW, "100", NOW)))
    for reading in ((NOW, "99", NOW), (NOW, "100", NOW + 1), (NOW + 1, "100", NOW + 1)):
        assert not start_time(answering(reading)).is_another(first)


def test_a_clock_that_is_set_to_before_the_start_is_no_restart():
    first = start_time(answering((NOW, "100", NOW)))
    assert start_time(answering((NOW - 3600, str(2**64 - 3500), NOW - 3600))) == first


def test_a_slow_server_is_no_restart():
    first = start_time(answering((NOW, "100", NOW)))
    slow = (NOW + 50, "190", NOW + 100)
    assert not start_time(answering(slow, slow, slow)).is_another(first)
    assert not first.is_another(start_time(answering(slow, slow, slow)))


def test_a_clock_that_is_set_in_the_middle_of_a_reading_has_it_read_again():
    first = start_time(answering((NOW, "100", NOW)))
    assert start_time(answering((NOW + 3700, "100", NOW), (NOW + 1, "101", NOW + 1))) == first


def test_a_server_without_a_start_is_an_error():
    with pytest.raises(ServerError, match="lacks Uptime"):
        start_time(lambda statement: [] if "Uptime" in statement else [(NOW,)])


def test_the_uptime_does_not_jump_with_the_clock_of_the_machine(monkeypatch):
    clock, real = SystemClock(), time.time
    before = clock.now()
    monkeypatch.setattr(clocks.time, "time", lambda: real() + 86_400)
    assert 0 <= clock.now() - before < 3600
    assert clock.wall() - before > 80_000
    assert FakeClock(5.0).wall() == 5.0
