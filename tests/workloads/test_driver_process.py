"""What a driver prints is read line by line from a pipe."""

import os
import subprocess
from contextlib import nullcontext

import psutil
import pytest

from dialin.errors import DriverKilledError, WorkloadError
from dialin.servers import processes
from dialin.servers.account import Account
from dialin.workloads import driver_process
from dialin.workloads.base import Target
from dialin.workloads.driver_process import DriverProcess, EndedError


class FakeProcess:
    """A process that has ended, as far as its reader asks."""

    pid = -1

    def wait(self, timeout=None):
        return 0

    def poll(self):
        return 0


@pytest.fixture
def pipe(tmp_path):
    """A driver whose words the test writes."""
    read_end, write_end = os.pipe()
    driver = DriverProcess(FakeProcess(), read_end, tmp_path / "load.log")
    words = os.fdopen(write_end, "wb", buffering=0)
    yield driver, words
    words.close()
    driver.stop()


def number(line):
    return int(line) if line.isdecimal() else None


def test_lines_are_understood_one_by_one_and_others_are_left_out(pipe, tmp_path):
    driver, words = pipe
    words.write(b"hello\n1\nworld\n2\n3")
    assert [driver.read(number, 0), driver.read(number, 0), driver.read(number, 0)] == [1, 2, None]
    words.write(b"4\n")
    assert driver.read(number, 0) == 34
    assert (tmp_path / "load.log").read_bytes() == b"hello\n1\nworld\n2\n34\n"


@pytest.fixture
def flood(tmp_path):
    """A driver that prints without end what nobody reads as figures."""
    read_end, write_end = os.pipe()
    with subprocess.Popen(["/bin/sh", "-c", "exec yes 'no figures'"], stdout=write_end) as process:
        os.close(write_end)
        driver = DriverProcess(process, read_end, tmp_path / "load.log")
        yield driver
        driver.stop()


def test_a_flood_of_words_that_say_nothing_ends_at_the_limit(flood):
    assert flood.read(number, 0.2) is None
    flood.drain()


def test_a_driver_that_closes_its_output_and_runs_on_is_not_waited_for(tmp_path):
    read_end, write_end = os.pipe()
    with subprocess.Popen(["/bin/sh", "-c", "echo 5; exec >/dev/null 2>&1; exec sleep 600"], stdout=write_end) as process:
        os.close(write_end)
        driver = DriverProcess(process, read_end, tmp_path / "load.log")
        try:
            assert driver.read(number, 60) == 5
            assert driver.read(number, 0.2) is None
            process.kill()
            with pytest.raises(EndedError):
                driver.read(number, 60)
        finally:
            driver.stop()


def test_the_password_is_in_no_words_of_a_driver(tmp_path):
    target = Target(Account(password="s3cret"), tmp_path)
    words = ["/bin/sh", "-c", "echo called with -p s3cret; exit 1"]
    assert "called with -p …" in driver_process.prepare("it", words, target, {"PATH": "/bin:/usr/bin"})
    driver = DriverProcess.start(words, target, cpus=None, environment={"PATH": "/bin:/usr/bin"})
    try:
        with pytest.raises(EndedError) as ended:
            driver.read(number, 60)
    finally:
        driver.stop()
    assert ended.value.words == "called with -p …"


def test_zeros_and_empty_texts_of_a_driver_are_understood(pipe):
    driver, words = pipe
    words.write(b"0\n")
    assert driver.read(number, 0) == 0


def test_a_driver_that_ends_is_reported_with_its_last_words(pipe):
    driver, words = pipe
    words.write(b"7\nFATAL: gone\n")
    words.close()
    assert driver.read(number, 1) == 7
    with pytest.raises(EndedError, match="FATAL: gone"):
        driver.read(number, 1)


def test_a_driver_that_dies_silently_is_not_reported_with_the_last_words_of_one_before_it(tmp_path):
    for words, reported in (("echo FATAL: the first", "FATAL: the first\n"), ("exit 1", "")):
        driver = DriverProcess.start(["/bin/sh", "-c", words], Target(Account(), tmp_path), cpus=None, environment=os.environ)
        with pytest.raises(EndedError) as ended:
            driver.read(number, 30)
        driver.stop()
        assert ended.value.words == reported.strip()


def test_a_driver_is_started_in_its_directory_and_ended(tmp_path):
    words = ["/bin/sh", "-c", "pwd; echo $WHO; exec sleep 60"]
    driver = DriverProcess.start(words, Target(Account(), tmp_path), cpus=None, environment={**os.environ, "WHO": "me"})
    try:
        assert [driver.read(str, 30), driver.read(str, 30)] == [str(tmp_path), "me"]
        pid = int((tmp_path / "load.pid").read_text())
        assert psutil.pid_exists(pid)
        assert driver.cpu_seconds() >= 0
    finally:
        driver.stop()
    assert not psutil.pid_exists(pid)


ENDS_ITS_STATEMENTS = """
trap 'head -c 300000 /dev/zero | tr "\\0" x; echo; echo ended >ended; exit' TERM
echo ready
while :; do sleep 0.01; done
"""
"""A driver that has much to say at its end, as a summary with its histograms."""


def test_a_driver_that_ends_its_statements_is_asked_to_end_and_read_to_its_last_word(tmp_path):
    words = ["/bin/sh", "-c", ENDS_ITS_STATEMENTS]
    target = Target(Account(), tmp_path)
    driver = DriverProcess.start(words, target, cpus=None, environment=os.environ, ends_statements=True)
    assert driver.read(str, 30) == "ready"
    driver.stop()
    assert (tmp_path / "ended").read_text() == "ended\n"


def test_a_driver_that_does_not_end_is_killed_and_what_it_left_is_ended_on_the_server(tmp_path, monkeypatch):
    left = []
    monkeypatch.setattr(driver_process, "end_left", lambda account, path: left.append(path))
    monkeypatch.setattr(driver_process, "_END_WITHIN", 0.1)
    words = ["/bin/sh", "-c", "trap '' TERM; echo ready; while :; do sleep 0.01; done"]
    target = Target(Account(), tmp_path, record=tmp_path / "undo.sessions")
    driver = DriverProcess.start(words, target, cpus=None, environment=os.environ, ends_statements=True)
    assert driver.read(str, 30) == "ready"
    assert not left
    driver.stop()
    assert not psutil.pid_exists(driver.pid)
    assert left == [tmp_path / "undo.sessions"]


@pytest.mark.parametrize(
    ("ends", "raises"),
    [
        ("exit 3", nullcontext()),
        ("kill -KILL $$", pytest.raises(DriverKilledError, match="a driver was killed by SIGKILL")),
        ("kill -SEGV $$", pytest.raises(WorkloadError, match="a driver was killed by SIGSEGV")),
        ("exit 0", nullcontext()),
    ],
)
def test_however_a_preparation_ends_nothing_of_it_goes_on(tmp_path, monkeypatch, ends, raises):
    left = []
    monkeypatch.setattr(driver_process, "end_left", lambda account, path: left.append(path))
    with raises:
        driver_process.prepare("a driver", ["/bin/sh", "-c", ends], Target(Account(), tmp_path), os.environ)
    assert left == [tmp_path / "load.sessions"]


def test_a_program_that_prints_without_end_while_it_prepares_fills_no_disk(tmp_path, monkeypatch):
    monkeypatch.setattr(processes, "_MOST_OUTPUT", 1 << 20)
    monkeypatch.setattr(processes, "_SHORTEN_EVERY", 0.01)
    prints = f"yes words | head -c {64 << 20}; sleep 0.5; echo the end; exit 3"
    printed = driver_process.prepare("it", ["sh", "-c", prints], Target(Account(), tmp_path), dict(os.environ))
    assert printed.endswith("the end")
    assert (tmp_path / "prepare.log").stat().st_size <= 1 << 20
