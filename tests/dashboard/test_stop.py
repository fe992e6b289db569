import os
import signal
from pathlib import Path

import pytest

from dialin.dashboard.hub import stop_now
from dialin.store import lock
from dialin.store.lock import Holder, sole_runner

HOLDER = Holder(os.getpid(), "boot/42")


def never(*_):
    pytest.fail("it was told")


def itself(_pid):
    return "boot/42"


@pytest.fixture
def running(tmp_path):
    """The directory of a study that this process runs."""
    with sole_runner(tmp_path, "boot/42"):
        yield tmp_path


def test_the_process_that_wrote_itself_down_is_reported_to_stop_in_its_own_order(running):
    sent = []

    def send(process, number):
        sent.append((str(Path(f"/proc/self/fd/{process}").readlink()), number))

    assert stop_now(HOLDER, running, itself, send)
    assert sent == [("anon_inode:[pidfd]", signal.SIGTERM)]


@pytest.mark.parametrize("now", ["", "boot/43"])
def test_another_process_of_the_same_number_is_left_alone(running, now):
    assert not stop_now(HOLDER, running, lambda _: now, never)


def test_a_process_that_did_not_say_who_it_is_is_left_alone(running):
    assert not stop_now(Holder(os.getpid()), running, lambda _: "", never)


def test_a_process_that_somebody_else_wrote_down_and_that_has_no_lock_of_the_study_is_left_alone(tmp_path):
    (tmp_path / lock.LOCK_FILE).write_text(f"{os.getpid()} boot/42")
    assert not stop_now(HOLDER, tmp_path, itself, never)


def test_a_link_in_place_of_the_lock_to_what_a_process_has_open_is_not_followed(tmp_path):
    with (tmp_path / "else").open("w"):
        (tmp_path / lock.LOCK_FILE).symlink_to("else")
        assert not stop_now(HOLDER, tmp_path, itself, never)


def test_where_the_study_is_gone_nobody_is_reported(tmp_path):
    assert not stop_now(HOLDER, tmp_path / "none", itself, never)


@pytest.mark.parametrize("pid", [0, 2**22 + 1, 10**30])
def test_a_number_that_no_process_has_is_nobody(running, pid):
    assert not stop_now(Holder(pid, "boot/42"), running, itself, never)


@pytest.mark.parametrize("error", [ProcessLookupError, PermissionError])
def test_a_process_that_is_gone_or_another_users_cannot_be_reported(running, error):
    def refuse(*_):
        raise error

    assert not stop_now(HOLDER, running, itself, refuse)
