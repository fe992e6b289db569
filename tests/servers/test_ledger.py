"""Real processes, but `sleep` instead of servers."""

import os
import subprocess
import sys
import time
from dataclasses import replace

import psutil
import pytest

from dialin.servers.ledger import Ledger
from dialin.servers.origin import Origin, Relation, origin
from dialin.servers.processes import end, processes, spawn, tail

SLEEP = ["/bin/sleep", "60"]


@pytest.fixture
def ledger(tmp_path):
    return Ledger(tmp_path / "ledger")


@pytest.fixture
def directory(tmp_path):
    path = tmp_path / "sandbox"
    path.mkdir()
    yield path
    for process in processes(path):
        end(process)


def orphaned(ledger, directory, **facts):
    """An entry as a dialin that is gone would have left it."""
    ledger.open("one", directory, **facts)
    path = ledger._directory / "one.json"
    path.write_text(path.read_text().replace(f'"owner": {os.getpid()}', '"owner": 4194305'))
    return ledger._read()[0]


def test_a_process_is_found_by_what_it_wrote_down(directory):
    process = spawn(SLEEP, directory, "server", subprocess.DEVNULL)
    assert [live.pid for live in _eventually(directory)] == [process.pid]
    process.kill()
    process.wait()
    assert processes(directory) == []


def test_a_number_given_to_another_process_since_is_left_alone(directory):
    bystander = subprocess.Popen(SLEEP)
    (directory / "server.pid").write_text(str(bystander.pid))
    assert processes(directory) == []
    bystander.kill()
    bystander.wait()


def test_what_a_dead_dialin_left_is_ended_and_its_directory_removed(ledger, directory):
    entry = orphaned(ledger, directory)
    process = spawn(SLEEP, directory, "server", subprocess.DEVNULL)
    _eventually(directory)
    assert ledger.end_orphans() == [entry]
    process.wait()
    assert not psutil.pid_exists(process.pid)
    assert not directory.exists()
    assert ledger.entries() == []


def test_what_a_live_dialin_runs_is_left_alone(ledger, directory):
    ledger.open("one", directory)
    assert ledger.end_orphans() == []
    assert directory.exists()


def test_a_dialin_whose_number_was_given_away_is_gone(ledger, directory):
    entry = ledger.open("one", directory)
    path = ledger._directory / "one.json"
    path.write_text(path.read_text().replace(entry.owner_identity, "another/1"))
    assert [entry.id for entry in ledger.end_orphans()] == ["one"]


@pytest.mark.parametrize(
    "other", [{"machine": "b7/db2"}, {"machine": "b7/db2", "boot": "another"}, {"pid_namespace": "pid:[4026532999]"}]
)
def test_what_another_machine_or_container_runs_is_left_alone(ledger, directory, other):
    entry = orphaned(Ledger(ledger._directory, replace(origin(), **other)), directory)
    process = spawn(SLEEP, directory, "server", subprocess.DEVNULL)
    _eventually(directory)
    assert ledger.end_orphans() == []
    assert ledger.entries() == []
    assert ledger.entries_elsewhere() == [entry]
    assert directory.exists()
    assert process.poll() is None
    process.kill()
    process.wait()


def test_what_is_left_of_before_a_reboot_is_removed_and_no_process_is_ended(ledger, directory):
    entry = Ledger(ledger._directory, replace(origin(), boot="the boot before")).open("one", directory)
    process = spawn(SLEEP, directory, "server", subprocess.DEVNULL)
    _eventually(directory)
    assert ledger.end_orphans() == [entry]
    assert not directory.exists()
    assert process.poll() is None, "its number is that of another process by now"
    process.kill()
    process.wait()


def test_containers_of_one_image_are_reported_from_each_other_by_their_names():
    one, other = Origin("b7/web", "boot 1", "pid:[1]"), Origin("b7/db", "boot 2", "pid:[1]")
    assert one.relation(other) is Relation.ELSEWHERE
    assert (one.host, other.host) == ("web", "db")


def test_a_server_to_play_with_that_is_still_being_made_is_left_alone(ledger, directory):
    ledger.open("one", directory, keep=True)
    assert ledger.end_orphans() == []
    assert directory.exists()


def test_a_server_that_was_started_to_stay_stays_until_it_ends_by_itself(ledger, directory):
    orphaned(ledger, directory, keep=True)
    process = spawn(SLEEP, directory, "server", subprocess.DEVNULL, dies_by=None)
    _eventually(directory)
    assert ledger.end_orphans() == []
    process.kill()
    process.wait()
    assert [entry.id for entry in ledger.end_orphans()] == ["one"]


def test_a_socket_that_lives_elsewhere_is_removed_with_its_sandbox(ledger, directory, tmp_path):
    elsewhere = tmp_path / "short"
    elsewhere.mkdir()
    entry = ledger.open("one", directory, socket=str(elsewhere / "s.sock"))
    ledger.end(entry)
    assert not elsewhere.exists()
    assert tmp_path.exists()


def test_the_kernel_ends_a_process_whose_dialin_was_killed(directory):
    script = (
        "import subprocess, sys, time\n"
        "from pathlib import Path\n"
        "from dialin.servers.processes import spawn\n"
        f"spawn({SLEEP!r}, Path({str(directory)!r}), 'server', subprocess.DEVNULL)\n"
        "time.sleep(60)\n"
    )
    dialin = subprocess.Popen([sys.executable, "-c", script])
    (process,) = _eventually(directory)
    dialin.kill()
    dialin.wait()
    psutil.wait_procs([process], timeout=5)
    assert processes(directory) == []


def test_a_process_can_be_given_cpus(directory):
    first = min(os.sched_getaffinity(0))
    process = spawn(SLEEP, directory, "server", subprocess.DEVNULL, cpus=str(first))
    _eventually(directory, "sleep")
    assert os.sched_getaffinity(process.pid) == {first}
    process.kill()
    process.wait()


def test_the_tail_of_a_log_survives_bytes_that_are_no_text(tmp_path):
    log = tmp_path / "log"
    log.write_bytes(b"one\ntwo \xff\nthree\n")
    assert tail(log, 2) == "two \N{REPLACEMENT CHARACTER}\nthree"
    assert tail(tmp_path / "none") == ""


def _eventually(directory, name="sleep"):
    """Wait until the program itself runs, past the shell that becomes it."""
    deadline = time.monotonic() + 10
    while time.monotonic() < deadline:
        live = processes(directory)
        if live and live[0].name() == name:
            return live
        time.sleep(0.005)
    return processes(directory)
