"""Real processes, but `sleep` instead of servers."""

import errno
import json
import os
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import psutil
import pytest

from dialin.paths import replace_text
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
    """An entry as a dialin that is gone would have left it: the kernel has released its lock."""
    entry = ledger.open("one", directory, **facts)
    ledger._locks.release("one")
    return entry


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


def test_the_server_of_a_dead_dialin_is_ended_and_its_directory_removed(ledger, directory):
    entry = orphaned(ledger, directory)
    process = spawn(SLEEP, directory, "server", subprocess.DEVNULL)
    _eventually(directory)
    assert ledger.end_orphans() == [(entry, True)]
    process.wait()
    assert not psutil.pid_exists(process.pid)
    assert not directory.exists()
    assert ledger.entries() == []


def test_the_server_of_a_live_dialin_is_left_alone(ledger, directory):
    ledger.open("one", directory)
    assert ledger.end_orphans() == []
    assert directory.exists()


def test_a_running_server_is_left_alone_by_another_dialin_of_the_same_process(ledger, directory):
    ledger.open("one", directory)
    assert Ledger(ledger._directory).end_orphans() == []
    assert directory.exists()


@pytest.mark.parametrize("number", [errno.EMFILE, errno.EIO, errno.ENOMEM])
def test_a_running_server_is_never_taken_for_left_behind_where_nothing_can_be_read(ledger, directory, number, monkeypatch):
    ledger.open("one", directory)

    def fail(path, *_arguments, **_words):
        if str(path).startswith("/proc") or str(path).endswith(".lock"):
            raise OSError(number, os.strerror(number))
        return real(path, *_arguments, **_words)

    real = os.open
    monkeypatch.setattr(os, "open", fail)
    monkeypatch.setattr("dialin.servers.origin.read", lambda _path: "")
    origin.cache_clear()
    try:
        assert Ledger(ledger._directory).end_orphans() == []
    finally:
        origin.cache_clear()
    assert directory.exists()


def test_a_server_that_stays_is_kept_where_its_process_cannot_be_read(ledger, directory, monkeypatch):
    orphaned(ledger, directory, keep=True)
    (directory / "server.pid").write_text("1")
    refused = OSError(errno.EMFILE, "Too many open files")
    with monkeypatch.context() as patch:
        patch.setattr(psutil, "Process", lambda _pid: (_ for _ in ()).throw(refused))
        with pytest.raises(OSError, match="Too many open files"):
            ledger.end_orphans()
    assert directory.exists()


def test_an_entry_is_never_there_without_its_lock(ledger, directory, monkeypatch):
    """Whoever sees the entry of a dialin that runs finds it locked, at any instant."""
    seen = []

    def looked(path, text, **_):
        assert not ledger._locks.is_free("one"), "the lock must be held before the entry is written"
        replace_text(path, text)
        seen.append(Ledger(ledger._directory).end_orphans())

    monkeypatch.setattr("dialin.servers.ledger.replace_text", looked)
    entry = ledger.open("one", directory)
    removed = ledger._locks.remove
    monkeypatch.setattr(ledger._locks, "remove", lambda name: (seen.append(ledger.entries()), removed(name)))
    ledger.end(entry)
    assert seen == [[], []]


def test_many_dialins_that_tidy_never_end_what_others_run(ledger, tmp_path):
    """Several processes open and end entries while others tidy: no entry is ever taken for left behind."""
    work = (
        "import sys, uuid\n"
        "from pathlib import Path\n"
        "from dialin.servers.ledger import Ledger\n"
        "for _ in range(60):\n"
        "    name = uuid.uuid4().hex[:8]\n"
        "    ledger, place = Ledger(Path(sys.argv[1])), Path(sys.argv[2]) / name\n"
        "    entry = ledger.open(name, place)\n"
        "    place.mkdir()\n"
        "    assert Ledger(Path(sys.argv[1])).end_orphans() == []\n"
        "    assert place.exists()\n"
        "    ledger.end(entry)\n"
    )
    (tmp_path / "places").mkdir()
    words = [sys.executable, "-c", work, str(ledger._directory), str(tmp_path / "places")]
    running = [subprocess.Popen(words, stderr=subprocess.PIPE, text=True) for _ in range(4)]
    assert [(process.communicate()[1], process.returncode) for process in running] == [("", 0)] * 4
    assert list(ledger._directory.iterdir()) == []


@pytest.mark.parametrize(
    "other", [{"machine": "b7/db2"}, {"machine": "b7/db2", "boot": "another"}, {"pid_namespace": "pid:[4026532999]"}]
)
def test_servers_of_another_machine_or_container_are_left_alone(ledger, directory, other):
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


def test_remains_from_before_a_reboot_are_removed_and_no_process_is_ended(ledger, directory):
    entry = orphaned(Ledger(ledger._directory, replace(origin(), boot="the boot before")), directory)
    process = spawn(SLEEP, directory, "server", subprocess.DEVNULL)
    _eventually(directory)
    assert ledger.end_orphans() == [(entry, False)]
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
    assert [entry.id for entry, _ in ledger.end_orphans()] == ["one"]


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


@pytest.mark.parametrize(
    "altered", [{"directory": 5}, {"owner": "x"}, {"origin": []}, {"origin": {"machine": 1}}, {"socket": None}]
)
def test_an_altered_record_ends_no_command(ledger, directory, altered):
    orphaned(ledger, directory)
    path = ledger._path("one")
    path.write_text(json.dumps({**json.loads(path.read_text()), **altered}))
    assert ledger.entries() == ledger.end_orphans() == []
    assert directory.is_dir()


def test_what_another_user_recorded_in_a_shared_cache_is_neither_ended_nor_removed(ledger, directory, give_away):
    """It may name any directory, any program as a container engine, and any process."""
    entry = orphaned(ledger, directory, engine="/bin/false")
    process = spawn(SLEEP, directory, "server", subprocess.DEVNULL)
    _eventually(directory)
    give_away(ledger._directory / "one.json")
    assert ledger.end_orphans() == []
    assert directory.exists()
    assert process.poll() is None
    assert ledger.entries() == []
    assert ledger.entries_elsewhere() == [entry], "it is shown, and keeps its build from being removed"
    process.kill()
    process.wait()


def test_a_pipe_or_a_link_in_place_of_a_record_is_not_waited_for_or_followed(ledger, directory, tmp_path):
    entry = orphaned(ledger, directory)
    os.mkfifo(ledger._directory / "pipe.json")
    (tmp_path / "other.json").write_text((ledger._directory / "one.json").read_text().replace('"one"', '"two"'))
    (ledger._directory / "two.json").symlink_to(tmp_path / "other.json")
    assert ledger.entries() == [entry]


@pytest.mark.skipif(os.geteuid() != 0, reason="only root may mount")
def test_files_of_a_file_system_that_is_still_mounted_are_not_removed(ledger, directory):
    entry = orphaned(ledger, directory)
    (directory / "a b").mkdir()
    if subprocess.run(["mount", "-t", "tmpfs", "none", directory / "a b"], capture_output=True).returncode != 0:
        pytest.skip("file systems cannot be mounted here")
    try:
        (directory / "a b" / "row").write_text("kept")
        said = []
        assert ledger.end_orphans(said.append) == []
        assert f"a file system is mounted at {directory / 'a b'}" in said[0]
        assert (directory / "a b" / "row").read_text() == "kept"
    finally:
        subprocess.run(["umount", directory / "a b"], check=True)
    assert ledger.end_orphans() == [(entry, False)]
    assert not directory.exists()


def test_a_container_that_the_engine_does_not_remove_stays_known_until_it_is_gone(ledger, directory, tmp_path):
    engine = tmp_path / "engine"
    engine.write_text(f'#!/bin/sh\n[ "$1" = ps ] && cat {tmp_path}/containers && exit\nexit 1\n')
    engine.chmod(0o755)
    entry = orphaned(ledger, directory, engine=str(engine))
    said = []
    for states in (None, "running\n"):
        if states:
            (tmp_path / "containers").write_text(states)
        assert ledger.end_orphans(said.append) == []
        assert directory.exists()
        assert ledger.entries() == [entry]
        assert f"{engine} did not remove the container dialin-one. Remove it ({engine} rm --force dialin-one)" in said.pop()
    (tmp_path / "containers").write_text("")
    assert ledger.end_orphans() == [(entry, False)]
    assert not directory.exists()


def test_where_mounts_cannot_be_read_nothing_is_removed(ledger, directory, monkeypatch):
    entry, real = orphaned(ledger, directory), Path.read_text

    def fail(path, *arguments, **words):
        if path == Path("/proc/self/mountinfo"):
            raise OSError(errno.EMFILE, os.strerror(errno.EMFILE))
        return real(path, *arguments, **words)

    with monkeypatch.context() as patch:
        patch.setattr(Path, "read_text", fail)
        with pytest.raises(OSError, match="Too many open files"):
            ledger.end(entry)
    assert directory.exists()
    ledger.end(entry)
    assert not directory.exists()
