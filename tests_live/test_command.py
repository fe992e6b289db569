"""Any program that applies load: it keeps what every load promises, and each way in which it fails has its sentence."""

import os
import re
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import psutil
import pymysql
import pytest

from dialin.errors import WorkloadError
from dialin.model.trial import TrialState
from dialin.model.workload import WorkloadSpec
from dialin.paths import Home
from dialin.places.sandbox.load_check import run_program
from dialin.servers.ledger import Ledger
from dialin.servers.processes import MARK
from dialin.store.store import Store
from dialin.testing.load_source_conformance import LoadSourceConformance
from dialin.trials.driver_share import kind_figures
from dialin.trials.tools import Tools
from dialin.workloads.base import Target
from dialin.workloads.command.command import Command
from driving import serving
from live import FAST, MYSQL, find, interrupt, measuring, only_with_all
from playground import PASSWORD, SCHEMA, attached_sweep, playground

PROGRAM = Path(__file__).with_name("fixture_program.py")
FILE = """
name = "mine"
interval = 0.5
grace = 0.5
data = "read-only"
run = ["{python}", "{program}", "{behaviour}", "{{socket}}", "{{user}}", "{{database}}"]
[output]
lines = '^\\[Current\\] (?P<kind>\\w+) - Takes\\(s\\): [\\d.]+, Count: (?P<count>\\d+), Avg\\(ms\\): (?P<latency_ms>[\\d.]+)'
"""


@pytest.fixture(scope="module")
def sandbox():
    with serving(find(FAST)) as made:
        yield made


def command(directory, behaviour, more=""):
    path = directory / f"{behaviour}.toml"
    path.write_text(more + FILE.format(python=sys.executable, program=PROGRAM, behaviour=behaviour))
    return Command(WorkloadSpec(name=str(path), kind="command", threads=1))


def left(directory):
    """The processes that still have the directory of the load in their environment."""
    mark = f"{MARK}={directory}".encode()
    return [one.pid for one in psutil.process_iter() if mark in _environment(one.pid)]


def _environment(pid):
    try:
        return Path(f"/proc/{pid}/environ").read_bytes()
    except OSError:
        return b""


def read_on(load, timeout):
    for _ in range(100):
        load.read(timeout)


class TestCommand(LoadSourceConformance):
    @pytest.fixture(autouse=True)
    def _prepared(self, sandbox, tmp_path):
        self.directory, self.target = tmp_path, Target(sandbox.account, tmp_path, data=sandbox.data)

    def make_source(self):
        return command(self.directory, "works")

    def make_target(self):
        return self.target

    def test_kinds_have_their_figures_and_what_is_not_shown_is_said(self):
        source = self.make_source()
        with self._running(source) as load:
            seconds = self._read(load)
            facts = load.facts()
        look = kind_figures(seconds)["LOOK"]
        assert look.per_second > 0
        assert look.mean_ms > 0
        assert facts["switches_per_second"] > 0
        assert facts["command_no_percentile"] == 1
        assert all(second.seconds % 0.5 == 0 for second in seconds)

    def test_it_runs_on_the_cpus_that_it_may_use(self):
        load = self.make_source().start(self.target, threads=1, seed=1, cpus="0")
        try:
            load.read(30)
            assert {tuple(psutil.Process(pid).cpu_affinity()) for pid in left(self.directory)} == {(0,)}
        finally:
            load.stop()

    @pytest.mark.parametrize("behaviour", ["deaf", "forks"])
    def test_nothing_is_left_of_a_program_that_does_not_want_to_end(self, behaviour):
        load = command(self.directory, behaviour).start(self.target, threads=1, seed=1, cpus=None)
        for _ in range(2):
            assert load.read(30).tps > 0
        assert load.cpu_seconds() > 0
        load.stop()
        assert left(self.directory) == []
        assert load.was_killed == (behaviour == "deaf")

    @pytest.mark.parametrize(
        ("behaviour", "seconds", "says"),
        [
            ("dies", 30, "mine ended by itself: out of luck"),
            ("silent", 2, "reported nothing for 2 s"),
            ("other", 6, "mine printed no figures that its file describes for 6 s; last line: speed SEE"),
        ],
    )
    def test_each_failure_has_its_sentence(self, behaviour, seconds, says):
        load = command(self.directory, behaviour).start(self.target, threads=1, seed=1, cpus=None)
        try:
            with pytest.raises(WorkloadError) as failed:
                read_on(load, seconds)
        finally:
            load.stop()
        assert says in failed.value.what
        assert left(self.directory) == []

    def test_a_killed_program_is_not_the_fault_of_a_candidate(self):
        load = command(self.directory, "works").start(self.target, threads=1, seed=1, cpus=None)
        try:
            load.read(30)
            os.kill(load._driver.pid, signal.SIGKILL)
            with pytest.raises(WorkloadError, match="mine was killed by SIGKILL"):
                read_on(load, 30)
        finally:
            load.stop()

    def test_a_check_that_fails_fails_the_trial(self):
        source = command(self.directory, "works", "check = ['sh', '-c', 'echo two rows are lost; exit 1']\n")
        with pytest.raises(WorkloadError, match="consistency check failed after the trial: two rows are lost"):
            source.check_data(self.target)


def test_a_study_of_a_server_that_dialin_did_not_start_is_measured_by_a_program(dialin, tmp_path):
    with playground(find(FAST)) as server:
        before, out = server.variables(), dialin.directory / "study"
        command(tmp_path, "works")
        load = ["--workload", f"command:{tmp_path / 'works.toml'}", "--threads", "1"]
        process = dialin.start(*attached_sweep(server, tmp_path, load), "--yes", "--out", out)
        measuring(out, block=2)  # each candidate was measured
        interrupt(process)
        with Store.open(out) as store:
            trials, samples = store.trials(), store.samples()
        done = [trial for trial in trials if trial.state is TrialState.DONE]
        assert {trial.candidate for trial in done} == {"300", "3000"}
        assert all(sum(one.tps for one in samples[trial.id]) > 0 for trial in done)
        shown, _ = dialin("explain", out, code=dialin.any_code)
        assert "LOOK" in shown
        assert server.variables() == before
        assert SCHEMA not in server.schemas()
        assert PASSWORD.encode() not in b"".join(path.read_bytes() for path in out.rglob("*") if path.is_file())


def test_workloads_check_shows_what_it_reads_of_a_program(dialin, tmp_path):
    command(tmp_path, "works", "check = ['sh', '-c', 'true']\n")
    shown, _ = dialin("workloads", "check", tmp_path / "works.toml", "--server", find(FAST).id, "--threads", "1")
    lines = shown.splitlines()
    assert [line.partition(":")[0] for line in lines[:5]] == [f"sample {place}" for place in range(1, 6)]
    assert lines[5].startswith("2 kinds: LOOK ")
    assert lines[6].startswith("The consistency check took ")


@pytest.mark.parametrize(
    ("behaviour", "says"),
    [
        ("dies", "ended by itself: out of luck"),
        pytest.param("other", "last line: speed SEE", marks=only_with_all),  # half a minute; a load, above, says it
    ],
)
def test_workloads_check_says_why_it_reads_nothing(dialin, tmp_path, behaviour, says):
    command(tmp_path, behaviour)
    _, err = dialin("workloads", "check", tmp_path / f"{behaviour}.toml", "--server", find(FAST).id, code=3)
    assert says in err
    assert left(tmp_path) == []


KILLED = """
import sys, time
from pathlib import Path
from dialin.model.workload import WorkloadSpec
from dialin.servers.account import Account
from dialin.workloads.base import Target
from dialin.workloads.command.command import Command
source = Command(WorkloadSpec(name=sys.argv[1], kind="command", threads=1))
load = source.start(Target(Account(socket=Path(sys.argv[2])), Path(sys.argv[3])), threads=1, seed=1, cpus=None)
load.read(30)
print("runs", flush=True)
time.sleep(600)
"""


def test_a_program_and_its_children_end_with_a_dialin_that_is_killed(sandbox, tmp_path):
    script = tmp_path / "with_child.sh"
    script.write_text(f"#!/bin/sh\nsleep 600 &\nsetsid sleep 600 &\n{sys.executable} {PROGRAM} works $1 $2 $3\n")
    script.chmod(0o755)
    file = tmp_path / "mine.toml"
    text = FILE.format(python=script, program="X", behaviour="X").replace(', "X", "X"', "")
    file.write_text(text)
    words = [sys.executable, "-c", KILLED, str(file), str(sandbox.socket), str(tmp_path)]
    dialin = subprocess.Popen(words, stdout=subprocess.PIPE)
    try:
        assert dialin.stdout.readline() == b"runs\n"
        assert len(left(tmp_path)) >= 4
    finally:
        dialin.kill()
        dialin.wait()
        dialin.stdout.close()
    limit = time.monotonic() + 20
    while left(tmp_path) and time.monotonic() < limit:
        time.sleep(0.1)
    assert left(tmp_path) == []


APPLICATION = Path(__file__).parents[1] / "docs" / "tutorials" / "application"


@pytest.mark.skipif(
    shutil.which("locust") is None,
    reason="locust is not on PATH: python -m venv V; V/bin/pip install locust pymysql; PATH=V/bin:$PATH make test",
)
def test_locust_drives_an_application_in_front_of_the_server(sandbox, tmp_path):
    with sandbox.connect() as query:
        query("DROP DATABASE IF EXISTS sbtest")
        query("CREATE DATABASE sbtest")
    options = {name: str(APPLICATION / f"{name}.py") for name in ("app", "prepare", "locustfile")}
    options["python"] = str(Path(shutil.which("locust")).with_name("python"))
    source = Command(WorkloadSpec(name="locust", kind="command", threads=2, options=options))
    target = Target(sandbox.account, tmp_path, data=sandbox.data)
    source.prepare(target)
    load = source.start(target, threads=2, seed=1, cpus=None)
    try:
        seconds = [load.read(30) for _ in range(3)]
    finally:
        load.stop()
    assert all(second.tps > 0 and second.errors == 0 for second in seconds)
    assert {"look", "buy"} <= kind_figures(seconds).keys()
    with sandbox.connect() as query:
        assert query("SELECT COUNT(*) FROM sbtest.sale")[0][0] > 0
    assert left(tmp_path) == []


@pytest.mark.skipif(
    shutil.which("go-tpc") is None, reason="go-tpc is not on PATH: go install github.com/pingcap/go-tpc/cmd/go-tpc@latest"
)
@pytest.mark.parametrize("name", [pytest.param(MYSQL, marks=only_with_all), "mariadb@10.11"])
def test_go_tpc_reaches_a_sandbox_by_its_own_account_and_its_failed_transactions_are_counted(name):
    source = Command(WorkloadSpec(name="go-tpc:tpcc", kind="command", threads=2))
    samples = []
    for line in run_program(Tools.open(lambda text: None), find(name), source, 2, 8):
        samples.append(line)
        if len(samples) == 3:
            (entry,) = [one for one in Ledger(Home.of().ledger).entries() if one.owner == os.getpid() and one.port]
            with pymysql.connect(unix_socket=entry.socket, user="root", autocommit=True) as connection:
                connection.cursor().execute("RENAME TABLE sbtest.stock TO sbtest.gone")
    assert samples[0].endswith(" 0 errors/s")
    assert not samples[7].endswith(" 0 errors/s")
    assert re.search(r"NEW_ORDER [\d.,]+/s and [\d.,]+ errors/s", samples[-1])
