"""Signals to a study, sent by the kernel."""

import os
import signal

from dialin.fleet.stop_signals import not_suspended


def test_ctrl_z_is_refused_with_a_reason_and_works_again_afterwards():
    said, before = [], signal.getsignal(signal.SIGTSTP)
    with not_suspended(said.append):
        os.kill(os.getpid(), signal.SIGTSTP)
    assert len(said) == 1
    assert "cannot be suspended" in said[0]
    assert signal.getsignal(signal.SIGTSTP) == before
