"""Attached servers that go away during a study, for a moment or for good, and one that stops answering."""

import json
import os
import shlex
import signal
import sqlite3
import subprocess
from contextlib import closing, suppress

import pymysql
import pytest

from live import FAST, find, interrupt, measuring, only_with_all, until
from playground import SCHEMA, attached_sweep, command_that_restarts, playground


@pytest.fixture(scope="module")
def server():
    with playground(find(FAST)) as made:
        yield made


@pytest.fixture
def sweep(server, tmp_path):
    return [*attached_sweep(server, tmp_path), "--yes"]


def restarting(server, directory):
    """The words of a command that starts the server again, ending it first where it runs."""
    words = shlex.split(command_that_restarts(server, directory))
    if not (server.directory / "words").exists():
        subprocess.run(words, check=True)  # the first time it learns how the server was started
        until(lambda: answers(server))
    return words


def answers(server):
    with suppress(pymysql.MySQLError):
        return server.variables()


def process_of(server):
    return int((server.directory / "server.pid").read_text())


def of_trials(out, column):
    with closing(sqlite3.connect(f"file:{out}/study.db?mode=ro", uri=True)) as store:
        return [value for (value,) in store.execute(f"SELECT {column} FROM trial ORDER BY id")]


def states(out):
    return of_trials(out, "state")


def test_a_server_that_is_restarted_is_waited_for_and_the_trial_is_run_again(dialin, server, sweep, tmp_path):
    out, restart = dialin.directory / "study", restarting(server, tmp_path)
    before = server.variables()
    # A trial long enough that it still runs when the server is ended, on a busy machine too.
    process = dialin.start(*sweep, "--measure", "6", "--minutes", "5", "--out", out)
    measuring(out, position=2)
    subprocess.run(restart, check=True)
    until(lambda: "done" in states(out)[2:] or process.poll() is not None, every=0.3)
    err = interrupt(process)
    assert "is run again: the server went away during it" in err, err
    assert states(out)[:3] == ["done", "interrupted", "done"], err
    assert server.variables() == before
    assert SCHEMA not in server.schemas()


def test_a_server_that_stays_away_ends_the_study_which_resumes_once_it_is_back(dialin, server, sweep, tmp_path):
    out, restart = dialin.directory / "study", restarting(server, tmp_path)
    before = server.variables()
    process = dialin.start(*sweep, "--minutes", "5", "--wait-for-server", "3", "--out", out)
    measuring(out, position=2)
    os.kill(process_of(server), signal.SIGKILL)
    _, err = process.communicate()
    assert process.returncode == 1, err
    assert "has not answered for 3 s" in err
    assert f"dialin resume {out}" in err
    last = err.strip().splitlines()[-1]
    assert last.startswith("NOT restored: "), err
    assert "innodb_io_capacity is 3" in last
    assert last.endswith("Run: dialin restore")
    assert "failed" not in states(out)
    subprocess.run(restart, check=True)
    until(lambda: answers(server))
    resumed = dialin.start("resume", out, "--yes")
    measuring(out, block=2)
    interrupt(resumed)
    assert "failed" not in states(out)
    assert server.variables() == before
    assert SCHEMA not in server.schemas()


@only_with_all  # tests/trials/test_hang_detector.py shows it; test_hiccups.py stops a server for two seconds
def test_a_trial_whose_server_stops_answering_fails_at_once(dialin, server, sweep):
    out = dialin.directory / "study"
    process = dialin.start(*sweep, "--measure", "30", "--minutes", "5", "--out", out)
    measuring(out)
    number = process_of(server)
    os.kill(number, signal.SIGSTOP)
    try:
        until(lambda: states(out)[0] == "failed")
    finally:
        os.kill(number, signal.SIGCONT)
    err = interrupt(process)
    assert json.loads(of_trials(out, "failure")[0])["cause"]["code"] == "unresponsive", err
