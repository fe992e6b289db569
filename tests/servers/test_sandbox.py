"""A sandbox that starts, and one that cannot be ended: processes that are no servers, and a clock that does not wait."""

import subprocess

import pytest

from dialin.errors import LostConnectionError, MachineError, ServerError
from dialin.model.build import Build, Vendor
from dialin.model.cause import CauseCode
from dialin.servers.ledger import Ledger
from dialin.servers.sandbox import BOOT_LIMIT, Sandbox
from fixtures.hostile_server import closing_socket


@pytest.fixture
def sandbox(home, clock):
    build = Build(Vendor.ORACLE, (9, 7, 4), binary=home.builds / "mysqld")
    made = Sandbox.create(build, home, Ledger(home.ledger), clock)
    made._process = subprocess.Popen(["/bin/sleep", "600"])
    yield made
    made.remove()


def seconds_until(error, sandbox, clock):
    """Wait for an answer until an error ends that; returns the error and the seconds."""
    began = clock.monotonic()
    with pytest.raises(error) as raised:
        sandbox._await_answer(sandbox._process)
    return raised.value, clock.monotonic() - began


def test_a_server_to_which_all_connections_are_lost_is_not_waited_for_as_one_that_starts(sandbox, clock):
    with closing_socket(sandbox.socket):
        _, seconds = seconds_until(LostConnectionError, sandbox, clock)
    assert 10 <= seconds < 11
    assert not sandbox.has_ended(), "it must not look as if the server had ended"


def test_connections_that_are_lost_for_a_moment_are_part_of_a_start(sandbox, clock, monkeypatch):
    lost = iter(range(400))

    def answers():
        if next(lost, None) is not None:
            raise LostConnectionError("The connection was closed")
        return False

    monkeypatch.setattr(sandbox, "_answers", answers)
    error, seconds = seconds_until(ServerError, sandbox, clock)
    assert (error.cause.code, seconds) == (CauseCode.NO_ANSWER_AFTER_START, pytest.approx(BOOT_LIMIT, abs=1))


def test_a_server_that_refuses_connections_is_waited_for_until_the_limit_and_ended(sandbox, clock):
    error, seconds = seconds_until(ServerError, sandbox, clock)
    assert (error.cause.code, seconds) == (CauseCode.NO_ANSWER_AFTER_START, pytest.approx(BOOT_LIMIT, abs=1))
    assert sandbox.has_ended()


class Undying:
    """A process in the kernel, on a disk that does not answer."""

    pid = 4711

    def poll(self):
        return None

    def kill(self):
        pass

    def wait(self, timeout=None):
        assert timeout is not None, "that would take for ever"
        raise subprocess.TimeoutExpired("mysqld", timeout)


def test_a_server_that_cannot_be_ended_is_an_error_and_stays_on_record(sandbox, home, monkeypatch):
    with monkeypatch.context() as patched:
        patched.setattr(sandbox, "_process", Undying())
        with pytest.raises(MachineError, match=r"process 4711\) was killed, but still runs after 120 s"):
            sandbox.remove()
    assert Ledger(home.ledger).entries() == [sandbox.entry]
    assert sandbox.directory.exists()
