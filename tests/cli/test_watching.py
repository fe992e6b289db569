"""`--watch`: the live page beside a study."""

import os
import signal

import pytest

from dialin.cli import conduct
from dialin.errors import DialinError, MachineError, UserError
from dialin.fleet.stop_signals import stopping_cleanly

LINK = "http://127.0.0.1:40123/?t=0123456789abcdef"


class Process:
    """One that serves the page."""

    def __init__(self):
        self.ended = False

    def terminate(self):
        self.ended = True


@pytest.fixture
def process(monkeypatch):
    made = Process()
    monkeypatch.setattr(conduct.page_process, "start", lambda words: (made, LINK))
    return made


def test_the_link_is_reported_before_the_study_begins(tmp_path, process, capsys):
    with conduct.live_page(tmp_path, wanted=True):
        assert LINK in capsys.readouterr().err
    assert not process.ended, "the page outlives the study"


@pytest.mark.parametrize("error", [KeyboardInterrupt, DialinError("It failed")])
def test_the_page_shows_how_a_study_ended_that_did_not_end_well(tmp_path, process, error, monkeypatch):
    monkeypatch.setattr(conduct, "_is_study", lambda _: True)
    with pytest.raises((KeyboardInterrupt, DialinError)), conduct.live_page(tmp_path, wanted=True):
        raise error
    assert not process.ended


@pytest.mark.parametrize("error", [UserError("It is in use"), MachineError("The disk is full")])
def test_a_study_that_was_not_begun_leaves_no_page(tmp_path, process, error):
    with pytest.raises(type(error)), conduct.live_page(tmp_path, wanted=True):
        raise error
    assert process.ended


def test_a_study_runs_though_its_page_does_not_begin(tmp_path, monkeypatch, capsys):
    def fail(_):
        raise DialinError("The live page did not start: no port")

    monkeypatch.setattr(conduct.page_process, "start", fail)
    began = False
    with conduct.live_page(tmp_path, wanted=True):
        began = True
    assert began
    assert "The live page did not start" in capsys.readouterr().err


def test_no_page_is_served_unless_asked_for(tmp_path, process, capsys):
    with conduct.live_page(tmp_path, wanted=False):
        pass
    assert capsys.readouterr().err == ""


STOPS = (signal.SIGTERM, signal.SIGHUP, signal.SIGINT)


@pytest.fixture(autouse=True)
def as_in_the_foreground():
    """A shell that starts the tests in the background has them ignore Ctrl-C."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


def stopped(first, *again):
    """Stop a study, and again while it tidies up; returns whether that came to its end, and what SIGTERM did meanwhile."""
    found = []

    def run():
        with stopping_cleanly():
            try:
                os.kill(os.getpid(), first)
            finally:
                for number in again:
                    os.kill(os.getpid(), number)
                found.append(signal.getsignal(signal.SIGTERM))

    with pytest.raises(KeyboardInterrupt):
        run()
    return found


@pytest.mark.parametrize("first", STOPS)
def test_who_is_reported_again_to_stop_tidies_up_in_peace(first):
    before = [signal.getsignal(number) for number in STOPS]
    assert stopped(first, signal.SIGTERM, signal.SIGHUP)
    assert [signal.getsignal(number) for number in STOPS] == before


@pytest.mark.parametrize("first", STOPS)
def test_a_second_ctrl_c_cuts_the_tidying_short(first):
    assert not stopped(first, signal.SIGINT)


def test_a_page_started_while_tidying_can_be_ended():
    assert stopped(signal.SIGTERM) != [signal.SIG_IGN], "that would be inherited"


def test_ctrl_c_stays_ignored_where_a_shell_started_it_in_the_background():
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        with stopping_cleanly():
            assert signal.getsignal(signal.SIGINT) is signal.SIG_IGN
    finally:
        signal.signal(signal.SIGINT, before)
