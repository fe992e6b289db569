"""Temporary directories go with the dialin that made them, or with the next one."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from dialin import scratch as module
from dialin.scratch import remove_left, scratch

USES_ONE = """
import time
from dialin.scratch import scratch
with scratch() as path:
    print(path, flush=True)
    time.sleep(60)
"""


@pytest.fixture(autouse=True)
def place(tmp_path, monkeypatch):
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr(module.tempfile, "tempdir", str(tmp_path))
    return tmp_path


def test_a_directory_is_private_and_is_removed_at_the_end(place):
    with scratch() as directory:
        (directory / "below").mkdir()
        (directory / "below" / "file").touch()
        assert directory.stat().st_mode & 0o777 == 0o700
    assert list(place.iterdir()) == []


def test_what_a_killed_dialin_left_is_removed_and_what_is_used_stays(place):
    with subprocess.Popen([sys.executable, "-c", USES_ONE], stdout=subprocess.PIPE, text=True) as process:
        left = Path(process.stdout.readline().strip())
        remove_left()
        assert list(place.iterdir()) == [left]
        os.kill(process.pid, signal.SIGKILL)
    with scratch() as used:
        remove_left()
        assert list(place.iterdir()) == [used]


def test_what_belongs_to_another_user_or_is_no_directory_stays(place, monkeypatch):
    for name in ("dialin-scratch-other", "elsewhere"):
        (place / name).mkdir()
    (place / "dialin-scratch-file").touch()
    (place / "dialin-scratch-link").symlink_to(place / "elsewhere")
    monkeypatch.setattr(module.os, "geteuid", lambda: os.getuid() + 1)
    remove_left()
    assert len(list(place.iterdir())) == 4


def test_a_directory_that_another_dialin_removed_before_it_was_locked_is_made_anew(place, monkeypatch):
    made = []

    def lock_late(descriptor):
        made.append(descriptor)
        if len(made) == 1:
            remove_left()

    monkeypatch.setattr(module, "lock", lock_late)
    with scratch() as directory:
        assert directory.is_dir()
    assert len(made) == 2
