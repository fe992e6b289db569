import os
import subprocess
import sys

import pytest

from dialin.errors import UserError
from dialin.store import lock
from dialin.store.lock import CHECKS, Holder, holder, sole_runner

HOLDING = """
import sys, time
from pathlib import Path
from dialin.store.lock import sole_runner
with sole_runner(Path(sys.argv[1]), "boot/1"):
    print("held", flush=True)
    time.sleep(600)
"""


def test_who_runs_a_study_is_reported_while_it_does(tmp_path):
    assert holder(tmp_path) is None
    with sole_runner(tmp_path, "boot/42"):
        assert holder(tmp_path) == Holder(os.getpid(), "boot/42")
    assert holder(tmp_path) is None


def test_asking_who_runs_a_study_holds_nobody_up_who_begins(tmp_path):
    for _ in range(3):
        assert holder(tmp_path) is None
        with sole_runner(tmp_path):
            assert holder(tmp_path) == Holder(os.getpid())


def test_a_runner_that_is_killed_lets_go(tmp_path):
    process = subprocess.Popen([sys.executable, "-c", HOLDING, str(tmp_path)], stdout=subprocess.PIPE, text=True)
    with process:
        assert process.stdout.readline() == "held\n"
        assert holder(tmp_path) == Holder(process.pid, "boot/1")
        with pytest.raises(UserError, match=f"process {process.pid}"), sole_runner(tmp_path):
            pass
        process.kill()
    assert holder(tmp_path) is None


@pytest.mark.parametrize("text", [b"", b"\xff\xfe", b"-5 x", b"many boot/1"])
def test_a_lock_that_holds_anything_else_names_no_process(tmp_path, text):
    with sole_runner(tmp_path, "boot/42"):
        (tmp_path / lock.LOCK_FILE).write_bytes(text)
        assert holder(tmp_path).pid == 0


def test_who_only_checks_says_so_and_who_cannot_say_who_it_is_does_run(tmp_path):
    with sole_runner(tmp_path, CHECKS):
        assert holder(tmp_path).only_checks
    with sole_runner(tmp_path):
        assert not holder(tmp_path).only_checks


def test_a_pipe_in_the_place_of_the_lock_is_not_waited_for(tmp_path):
    os.mkfifo(tmp_path / lock.LOCK_FILE)
    assert holder(tmp_path) is None


def test_a_link_in_place_of_the_lock_does_not_lead_to_another_file_s_end(tmp_path):
    (tmp_path / "precious").write_text("mine")
    (tmp_path / lock.LOCK_FILE).symlink_to(tmp_path / "precious")
    with pytest.raises(UserError, match="is a link"), sole_runner(tmp_path):
        pass
    assert (tmp_path / "precious").read_text() == "mine"
