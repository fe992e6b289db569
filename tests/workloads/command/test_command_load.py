"""A running program of a load file: what it prints without sense or end ends its trial, and never hangs it."""

import errno
import os
import signal
import subprocess
import sys
import time

import psutil
import pytest

from dialin.errors import UserError, WorkloadError
from dialin.model.workload import WorkloadSpec
from dialin.servers import processes
from dialin.servers.account import Account
from dialin.workloads.base import Target
from dialin.workloads.command import command
from dialin.workloads.command.command import Command, CommandLoad
from dialin.workloads.command.growing_file import GrowingFile
from dialin.workloads.command.load_file import LoadFile
from dialin.workloads.command.process_group import ProcessGroup
from dialin.workloads.driver_process import DriverProcess


class NoSessions:
    def record(self, pid):
        return True


@pytest.fixture
def load(tmp_path):
    """Starts a program whose figures are found by an expression."""
    started = []

    def start(program, lines, written=None, **more):
        file = LoadFile.model_validate({"name": "it", "run": ["sh"], "grace": 0, "output": {"lines": lines, **more}})
        group, target = ProcessGroup(), Target(Account(password="s3cret"), tmp_path)
        environment = {"PATH": "/bin:/usr/bin", **group.environment}
        driver = DriverProcess.start(["/bin/sh", "-c", program], target, cpus=None, environment=environment)
        group.guard(driver.pid)
        output = GrowingFile(tmp_path / written) if written else None
        started.append(CommandLoad(driver, file, 95, group, NoSessions(), output, lambda: None))
        return started[-1]

    yield start
    for one in started:
        one.stop()


def test_a_program_whose_every_line_is_another_kind_is_named(load):
    lines = "i=0; while :; do i=$((i+1)); echo kind$i 5; done"
    with pytest.raises(UserError, match="more than 200 kinds of transactions"):
        load(lines, r"(?P<kind>\S+) (?P<count>\d+)").read(60.0)


def test_a_program_that_floods_its_output_and_ignores_signals_is_ended(load):
    running = load("trap '' TERM INT; while :; do echo nothing; done", r"(?P<count>\d+) tps")
    with pytest.raises(WorkloadError, match="nothing"):
        running.read(0.5)
    running.stop()
    assert running.was_killed


WRITES = "while :; do echo 5 tps >>out.csv; sleep 0.3; done"


@pytest.mark.parametrize(
    "program",
    [
        f"exec >/dev/null 2>&1; {WRITES}",
        f"setsid sh -c '{WRITES}' >/dev/null 2>&1 & exit 0",
    ],
    ids=["closes its output", "goes on in the background"],
)
def test_a_program_that_only_writes_a_file_is_read_on(load, program):
    running = load(program, r"(?P<rate>\d+) tps", written="out.csv")
    assert [running.read(30.0).tps for _ in range(2)] == [5, 5]


def test_a_program_that_closes_its_output_is_not_waited_for_without_end(load):
    with pytest.raises(WorkloadError, match="reported nothing"):
        load("exec >/dev/null 2>&1; sleep 600", r"(?P<rate>\d+) tps").read(0.5)


def test_a_password_that_a_program_prints_is_in_no_error(load):
    running, said = load("echo called with -p s3cret; sleep 600", r"(?P<rate>\d+) tps"), ""
    while "last line" not in said:
        with pytest.raises(WorkloadError) as failed:
            running.read(0.2)
        said = failed.value.what
    assert said.endswith("last line: called with -p …")
    with pytest.raises(WorkloadError) as ended:
        load("echo called with -p s3cret; exit 1", r"(?P<rate>\d+) tps").read(30.0)
    assert "s3cret" not in f"{ended.value.what}{ended.value.log_tail}"


def test_a_program_that_reports_more_often_than_its_file_says_is_refused(load):
    running = load("while :; do echo 5 tps; sleep 0.01; done", r"(?P<count>\d+) tps")
    with pytest.raises(UserError, match="it reports more often than every 1 s"):
        any(running.read(30.0) is None for _ in range(100))


def test_counts_that_are_no_totals_are_refused_as_totals(load):
    prints = "i=0; while :; do i=$((i+1)); echo $i $((5 + i % 2)); done"
    running = load(prints, r"(?P<time>\d+) (?P<count>\d+)", cumulative=True)
    with pytest.raises(UserError, match="become smaller again and again"):
        any(running.read(30.0) is None for _ in range(100))


def file_of(directory, text):
    path = directory / "mine.toml"
    path.write_text(f'name = "it"\ngrace = 0\n{text}\noutput = {{lines = "(?P<rate>\\\\d+) tps"}}\n')
    return Command(WorkloadSpec(name=str(path), kind="command", threads=1))


@pytest.mark.parametrize(
    ("ends", "is_an_error"),
    [("echo no connection; exit 1", True), ("exit 0", False)],
    ids=["fails", "has started others"],
)
def test_a_service_that_fails_ends_the_trial_and_is_named(tmp_path, monkeypatch, ends, is_an_error):
    monkeypatch.setattr(command, "UnreportedSessions", lambda *_: NoSessions())
    prints = "while :; do echo 5 tps; sleep 0.3; done"
    source = file_of(tmp_path, f"service = ['sh', '-c', 'sleep 0.5; {ends}']\nrun = ['sh', '-c', '{prints}']\n")
    running = source.start(Target(Account(), tmp_path), threads=1, seed=1, cpus=None)
    try:
        if is_an_error:
            with pytest.raises(WorkloadError, match="The service of it ended by itself: no connection"):
                any(running.read(30.0) is None for _ in range(100))
        else:
            assert [running.read(30.0).tps for _ in range(4)] == [5] * 4
    finally:
        running.stop()


def test_a_service_that_listens_elsewhere_is_not_said_to_have_ended(tmp_path, monkeypatch):
    monkeypatch.setattr(command, "UnreportedSessions", lambda *_: NoSessions())
    monkeypatch.setattr(command, "_SERVICE_WITHIN", 0.3)
    source = file_of(tmp_path, "service = ['sh', '-c', 'echo at 5000; sleep 600', '{app_port}']\nrun = ['sleep', '600']\n")
    with pytest.raises(WorkloadError, match=r"The service of it does not listen on 127.0.0.1:\d+ after 0 s"):
        source.start(Target(Account(), tmp_path), threads=1, seed=1, cpus=None)


GUARDED = """
import subprocess, sys, time
from dialin.workloads.command.process_group import ProcessGroup
group = ProcessGroup()
group.guard()
print(subprocess.Popen(["setsid", "sleep", "600"], env=group.environment).pid, flush=True)
time.sleep(600)
"""


def test_what_left_the_session_of_a_program_does_not_outlive_a_dialin_that_is_killed():
    with subprocess.Popen([sys.executable, "-c", GUARDED], stdout=subprocess.PIPE, text=True) as dialin:
        left = psutil.Process(int(dialin.stdout.readline()))
        dialin.kill()
    limit = time.monotonic() + 60
    while not is_gone(left):
        assert time.monotonic() < limit
        time.sleep(0.05)


def is_gone(process):
    try:
        return process.status() == psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return True


APART = r"^(?:TPS: (?P<rate>[\d.]+)|ERR: (?P<errors>\d+))"


def test_errors_on_lines_of_their_own_make_no_samples(load):
    running = load("for i in 1 2 3 4; do echo TPS: 100; echo ERR: 2; sleep 0.5; done; sleep 60", APART)
    seconds = [running.read(10.0) for _ in range(4)]
    assert [second.tps for second in seconds] == [100] * 4
    assert sum(second.errors for second in seconds) == 8


def test_a_program_that_prints_errors_alone_without_end_is_ended(load):
    with pytest.raises(WorkloadError, match="ERR: 2"):
        load("while :; do echo ERR: 2; done", APART).read(0.5)


def test_a_program_that_cannot_be_guarded_is_ended(tmp_path, monkeypatch):
    """As where the machine allows one more process, and not two."""
    started = []

    def no_room(group, leader):
        started.append(leader)
        raise OSError(errno.EAGAIN, "Resource temporarily unavailable")

    monkeypatch.setattr(ProcessGroup, "guard", no_room)
    monkeypatch.setattr(command, "UnreportedSessions", lambda *_: NoSessions())
    file = tmp_path / "load.toml"
    file.write_text('name = "it"\nrun = ["sleep", "600"]\noutput = {lines = "(?P<count>x)"}\n')
    source = Command(WorkloadSpec(name=str(file), kind="command", threads=1))
    with pytest.raises(OSError, match="Resource temporarily"):
        source.start(Target(Account(), tmp_path), threads=1, seed=1, cpus=None)
    assert not psutil.pid_exists(started[0])


def test_other_kinds_in_every_interval_are_too_many_in_the_end(load):
    lines = "i=0; while :; do i=$((i+1)); echo $i kind$i 5; done"
    running = load(lines, r"(?P<time>\d+) (?P<kind>\S+) (?P<count>\d+)")
    with pytest.raises(UserError, match="more than 200 kinds of transactions"):
        any(running.read(60.0) is None for _ in range(300))


def test_a_kind_has_a_name_that_a_table_has_room_for(load):
    running = load("while :; do printf '%0500d 5\\n' 1; sleep 0.3; done", r"(?P<kind>\S+) (?P<count>\d+)")
    assert [len(kind) for kind in running.read(60.0).kinds] == [100]


def test_what_a_service_prints_does_not_fill_the_disk(tmp_path, monkeypatch):
    monkeypatch.setattr(processes, "_MOST_OUTPUT", 100_000)
    path, group = tmp_path / "service.log", ProcessGroup()
    log, environment = path.open("wb"), {**os.environ, **group.environment}
    prints = ["/bin/sh", "-c", "yes | head -c 200000; read more; echo more; sleep 600"]
    with subprocess.Popen(prints, stdin=subprocess.PIPE, stdout=log, start_new_session=True, env=environment) as service:
        group.adopt(service, log)
        try:
            while path.stat().st_size < 200_000:
                time.sleep(0.01)
            group.shorten_logs()
            assert path.stat().st_size == 0
            service.stdin.write(b"\n")
            service.stdin.flush()
            while not path.stat().st_size:
                time.sleep(0.01)
            assert path.read_bytes() == b"more\n", "no hole is left where it was emptied"
        finally:
            group.end(signal.SIGKILL, 0.0, lambda: None)
    assert log.closed
