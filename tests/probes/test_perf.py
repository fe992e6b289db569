"""Running perf: what is refused, and what a program in its place is asked for."""

import os
import shutil
import signal
import stat
import subprocess
import sys
import time
from pathlib import Path

import pytest

from dialin.errors import MachineError, UserError
from dialin.probes import perf
from dialin.servers.processes import identity

_PROGRAM = """#!/usr/bin/env python3
import os, signal, sys
words = sys.argv[1:]
if words[0] == "script":
    print("connection 7 5.000000:    1997000 \\n\\t  1f work (/usr/sbin/mysqld)\\n")
    sys.exit(0)
ask, answer = map(int, words[words.index("--control") + 1].removeprefix("fd:").split(","))
out = open(words[words.index("--output") + 1], "w")
signal.signal(signal.SIGINT, lambda *_: sys.exit(0))
for _ in range(ORDERS):
    order = os.read(ask, 64)
    out.write(order.decode())
    out.flush()
    os.write(answer, b"ack\\n\\0")
"""


def answers(orders=3):
    """A program that answers so many orders, and then ends."""
    return _PROGRAM.replace("ORDERS", str(orders))


REFUSES = """#!/bin/sh
printf 'Error:\\nAccess to performance monitoring is \\033[2Jlimited.\\n' >&2
exit 255
"""


@pytest.fixture
def program(tmp_path, monkeypatch):
    def make(text):
        (tmp_path / "bin").mkdir()
        path = tmp_path / "bin" / "perf"
        path.write_text(text)
        path.chmod(path.stat().st_mode | stat.S_IXUSR)
        monkeypatch.setenv("PATH", f"{path.parent}{os.pathsep}{os.environ['PATH']}")

    return make


def test_without_perf_a_profile_is_refused_with_what_installs_it(monkeypatch, tmp_path):
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(UserError, match="not installed") as refused:
        perf.check_perf()
    assert "linux-perf" in refused.value.remedy


def test_where_perf_is_not_allowed_its_reason_is_reported_and_harmless(program):
    program(REFUSES)
    with pytest.raises(UserError, match="Access to performance monitoring is") as refused:
        perf.check_perf(os.getpid())
    assert "perf_event_paranoid" in refused.value.remedy
    assert "\x1b" not in refused.value.what


def test_it_samples_in_windows_alone_and_the_recording_is_read(program, tmp_path):
    program(answers())
    file = tmp_path / "recorded"
    with perf.recording(os.getpid(), file, perf.CLOCK) as recording:
        with recording.window():
            assert file.read_text().split() == ["disable", "enable"]
        assert file.read_text().split() == ["disable", "enable", "disable"]
    assert [one.frames for one in perf.stacks(file, os.getpid())] == [("work",)]


def test_the_error_that_ends_a_window_is_not_hidden_by_the_end_of_perf(program, tmp_path):
    program(answers(2))
    recorded = perf.recording(os.getpid(), tmp_path / "recorded", perf.CLOCK)
    with recorded as recording, pytest.raises(KeyError), recording.window():
        raise KeyError


def test_perf_that_ends_in_a_window_is_a_fault_of_this_machine(program, tmp_path):
    program(answers(2))
    recorded = perf.recording(os.getpid(), tmp_path / "recorded", perf.CLOCK)
    with recorded as recording, pytest.raises(MachineError, match="perf has ended"), recording.window():
        pass


def test_no_descriptor_and_no_process_is_left(program, tmp_path):
    program(answers())
    before = set(map(str, Path("/proc/self/fd").iterdir()))
    with perf.recording(os.getpid(), tmp_path / "recorded", perf.CLOCK):
        pass
    assert set(map(str, Path("/proc/self/fd").iterdir())) == before
    children = Path(f"/proc/self/task/{os.getpid()}/children").read_text().split()
    assert not any("perf" in Path(f"/proc/{child}/cmdline").read_text() for child in children)


_KILLED = """
import os, signal, sys
from pathlib import Path
from dialin.probes import perf
with perf.recording(os.getpid(), Path(sys.argv[1]), perf.CLOCK):
    os.kill(os.getpid(), signal.SIGKILL)
"""


@pytest.mark.skipif(shutil.which("setpriv") is None, reason="setpriv is not installed")
def test_perf_dies_with_dialin_however_that_dies(program, tmp_path):
    number = tmp_path / "pid"
    lasting = answers(1) + "signal.pause()\n"
    program(lasting.replace("words =", f"open({str(number)!r}, 'w').write(str(os.getpid()))\nwords ="))
    done = subprocess.run([sys.executable, "-c", _KILLED, str(tmp_path / "recorded")], check=False)
    assert done.returncode == -signal.SIGKILL
    pid = int(number.read_text())
    while identity(pid):
        time.sleep(0.01)


def test_a_recording_cannot_fill_a_disk(program, tmp_path):
    program(answers().replace("words =", f"open({str(tmp_path / 'words')!r}, 'w').write(' '.join(sys.argv))\nwords ="))
    with perf.recording(os.getpid(), tmp_path / "recorded", perf.CLOCK):
        pass
    assert " --max-size 2G " in (tmp_path / "words").read_text()


@pytest.mark.parametrize("is_allowed", [True, False])
def test_the_cpus_of_the_server_are_sampled_and_where_that_is_not_allowed_its_threads(
    program, tmp_path, monkeypatch, is_allowed
):
    monkeypatch.setattr(perf, "_sees_kernel", lambda: True)
    monkeypatch.setattr(perf, "_DEVICES", tmp_path)
    record = f"open({str(tmp_path / 'words')!r}, 'w').write(' '.join(words))\nask, answer"
    program((answers() if is_allowed else refuses("--cpu", "No permission")).replace("ask, answer", record, 1))
    with perf.recording_stacks(os.getpid(), tmp_path / "recorded") as (recorded, _):
        assert recorded.is_attached is not is_allowed
    words = (tmp_path / "words").read_text().split()
    if is_allowed:
        assert words[words.index("--cpu") + 1] == ",".join(map(str, sorted(os.sched_getaffinity(0))))
        assert "--pid" not in words
    else:
        assert words[words.index("--pid") + 1] == str(os.getpid())
    notes = perf.check_perf(os.getpid())
    assert any("attached to the server's threads, which costs more" in note for note in notes) is not is_allowed


def test_perf_finds_the_files_of_a_container_that_it_may_not_enter(monkeypatch):
    """A real perf takes a directory that is / in the end for none."""
    with perf._files_of(os.getpid()) as words:
        assert words == []
    monkeypatch.setattr(perf, "_is_elsewhere", lambda pid: True)
    monkeypatch.setattr(perf.os, "geteuid", lambda: 1000)
    with perf._files_of(os.getpid()) as words:
        directory = Path(words[words.index("--symfs") + 1])
        assert directory.resolve() != Path("/")
        program = Path(sys.executable).resolve()
        assert (directory / program.relative_to("/")).samefile(program)
        assert words[words.index("--kallsyms") + 1] == "/proc/kallsyms"
    assert not directory.exists()


def refuses(event, why):
    """A program that answers, unless it is asked for an event."""
    return answers().replace("ask, answer", f"{event!r} in ' '.join(words) and sys.exit('Error:\\n{why}')\nask, answer")


def test_where_waits_may_not_be_traced_a_note_says_why(program, monkeypatch):
    monkeypatch.setattr(perf, "_sees_kernel", lambda: True)
    program(refuses("raw_syscalls", "No permission to trace"))
    (note,) = perf.check_perf(os.getpid())
    assert "without waits and system calls" in note
    assert "No permission to trace" in note
    assert "root" in note


@pytest.mark.parametrize(("sees_kernel", "event"), [(True, "cycles"), (False, "cpu-clock:I")])
def test_cycles_are_counted_where_the_machine_and_the_kernel_let_them(program, tmp_path, monkeypatch, sees_kernel, event):
    """This machine has no such counter, so a program stands for perf."""
    (tmp_path / "cpu" / "events").mkdir(parents=True)
    (tmp_path / "cpu" / "events" / "cpu-cycles").write_text("event=0x3c")
    monkeypatch.setattr(perf, "_DEVICES", tmp_path)
    monkeypatch.setattr(perf, "_sees_kernel", lambda: sees_kernel)
    program(answers().replace("words =", f"open({str(tmp_path / 'words')!r}, 'w').write(' '.join(sys.argv))\nwords ="))
    with perf.recording_stacks(os.getpid(), tmp_path / "recorded") as (_, per_sample):
        pass
    assert f"--event {event} " in (tmp_path / "words").read_text()
    assert per_sample == (None if sees_kernel else perf.PERIOD)


def test_where_perf_refuses_to_count_cycles_it_samples_by_the_clock(program, tmp_path, monkeypatch):
    monkeypatch.setattr(perf, "_sees_kernel", lambda: True)
    (tmp_path / "cpu" / "events").mkdir(parents=True)
    (tmp_path / "cpu" / "events" / "cpu-cycles").write_text("event=0x3c")
    monkeypatch.setattr(perf, "_DEVICES", tmp_path)
    program(refuses("cycles", "not supported"))
    with perf.recording_stacks(os.getpid(), tmp_path / "recorded") as (_, per_sample):
        assert per_sample == perf.PERIOD
