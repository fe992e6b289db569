"""Signals to a study, sent by the kernel."""

import os
import signal
from contextlib import suppress

import pytest

from dialin.errors import UserError
from dialin.fleet.stop_signals import not_suspended, stopping_cleanly


def test_ctrl_z_is_refused_with_a_reason_and_works_again_afterwards():
    said, before = [], signal.getsignal(signal.SIGTSTP)
    with not_suspended(said.append):
        os.kill(os.getpid(), signal.SIGTSTP)
    assert len(said) == 1
    assert "cannot be suspended" in said[0]
    assert signal.getsignal(signal.SIGTSTP) == before


def stop_and_raise(error):
    """Be stopped, and raise an error instead, as native libraries may."""
    with suppress(KeyboardInterrupt):
        os.kill(os.getpid(), signal.SIGTERM)
    raise error


def test_an_error_that_a_stop_turns_into_within_a_library_counts_as_the_stop():
    with pytest.raises(KeyboardInterrupt), stopping_cleanly():
        stop_and_raise(TypeError("'<unprintable str object>' is not a data type"))


def test_errors_of_the_cleanup_after_a_stop_and_errors_without_a_stop_stay_what_they_are():
    for error in (UserError("a server is not restored", "restore it"), OSError("disk full")):
        with pytest.raises(type(error)), stopping_cleanly():
            stop_and_raise(error)
    with pytest.raises(TypeError), stopping_cleanly():
        raise TypeError
