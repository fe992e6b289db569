"""Studies whose output nobody reads any more: they run to their end, write their files and put their server back."""

import json
import os
import select
import subprocess
import sys
import threading

import pytest

from live import EASY, FAST, SHORT, find, measuring, only_with_all
from playground import option_file, playground
from warm_start import START

SWEEP = ["sweep", "innodb_io_capacity=300,3000", *SHORT, "--minutes", "0.7", "--worthwhile", "100%", *EASY]


def start(words, directory, stdout, stderr):
    """Start dialin, and give its end of both streams up here."""
    command = [sys.executable, "-m", "dialin", *map(str, words)]
    process = START(command, cwd=directory, stdin=subprocess.DEVNULL, stdout=stdout, stderr=stderr)
    for descriptor in {stdout, stderr}:
        os.close(descriptor)
    return process


def show_nobody(leader, is_lost):
    """Read what a terminal is given, so that its writer is not held up, until it is lost; then hang it up."""
    while not is_lost.is_set():
        if select.select([leader], [], [], 0.05)[0]:
            os.read(leader, 65536)
    os.close(leader)


def check_files(out, code):
    verdict = json.loads((out / "verdict.json").read_text())
    assert (verdict["verdict"] == "inconclusive") is (code == 1)
    assert code in (0, 1)
    assert "</html>" in (out / "report.html").read_text()
    assert (out / "report.md").stat().st_size > 0


@only_with_all  # tests/cli shows it of a report
def test_a_study_whose_reader_closed_the_pipe_writes_its_files_and_keeps_its_exit_code(tmp_path):
    reader, writer = os.pipe()
    out = tmp_path / "study"
    process = start([*SWEEP, "--server", FAST, "--out", out], tmp_path, writer, os.dup(writer))
    assert os.read(reader, 1), "the first line, as `head -1` reads it"
    os.close(reader)
    check_files(out, process.wait(300))


@only_with_all  # tests/cli/test_standard_streams.py hangs a terminal up, test_attached_study.py stops studies
@pytest.mark.parametrize("is_stdout_too", [True, False])
def test_a_study_that_loses_its_terminal_puts_an_attached_server_back(tmp_path, is_stdout_too):
    with playground(find(FAST)) as server:
        account = option_file(server, tmp_path / "account.cnf")
        before, out = server.variables(), tmp_path / "study"
        leader, follower = os.openpty()
        stdout = os.dup(follower) if is_stdout_too else os.open(os.devnull, os.O_WRONLY)
        process = start(
            [*SWEEP, "--baseline", "300", "--attach", "--defaults-file", account, "--out", out], tmp_path, stdout, follower
        )
        is_lost = threading.Event()
        terminal = threading.Thread(target=show_nobody, args=(leader, is_lost), daemon=True)
        terminal.start()
        measuring(out)
        is_lost.set()
        terminal.join()
        check_files(out, process.wait(300))
        assert server.variables() == before
        assert ("dialin_sbtest",) not in server.query("SHOW DATABASES")
