"""Studies on an attached server whose load comes from agents of dialin-load; here both listen on loopback."""

import os
import socket
import subprocess
from contextlib import contextmanager, suppress

import psutil
import pytest

from dialin.model.trial import TrialState
from dialin.store.store import Store
from driving import BINARY, needs_dialin_load
from live import FAST, find, shown_of_processes, until
from playground import PASSWORD, SCHEMA, attached_sweep, option_file, playground

pytestmark = needs_dialin_load


@pytest.fixture(scope="module")
def server():
    with playground(find(FAST)) as made:
        yield made


def listens(pid):
    with suppress(psutil.Error):
        return any(one.status == psutil.CONN_LISTEN for one in psutil.Process(pid).net_connections("tcp"))
    return False


@contextmanager
def agent(token, account, directory, *, database=SCHEMA, environment=None):
    """An agent that logs in with an option file: its address, and the file with what it prints."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        address = f"127.0.0.1:{free.getsockname()[1]}"
    said = directory / f"agent-{address.rpartition(':')[2]}.log"
    words = [BINARY, "agent", "--listen", address, "--token-file", token, "--defaults-file", account, "--database", database]
    given = {**os.environ, **(environment or {})}
    with said.open("wb") as log, subprocess.Popen(words, env=given, stdout=log, stderr=log) as process:
        try:
            until(lambda: process.poll() is not None or listens(process.pid))
            yield address, said
        finally:
            process.terminate()


def test_two_agents_apply_the_load_of_a_study_and_no_password_leaves_their_hosts(dialin, server, token, tmp_path):
    before, out = server.variables(), tmp_path / "study"
    account = option_file(server, tmp_path / "load.cnf")
    with agent(token, account, tmp_path) as (east, of_east), agent(token, account, tmp_path) as (west, of_west):
        where = ["--load-hosts", f"{east},{west}", "--load-token", token, "--out", out, "--yes"]
        process = dialin.start(*attached_sweep(server, tmp_path), "--minutes", "0.7", *where)
        shown = until(lambda: (words := shown_of_processes()) and "--agents=" in words and "oltp_read_write" in words and words)
        process.communicate()
        said = [file.read_text() for file in (of_east, of_west)]
    assert process.returncode in (0, 1)
    with Store.open(out) as store:
        record = store.read()
    done = [trial for trial in record.trials if trial.state is TrialState.DONE]
    assert {trial.candidate for trial in done} >= {"300", "3000"}
    assert all(record.samples[trial.id] and sum(one.tps for one in record.samples[trial.id]) > 0 for trial in done)
    assert record.verdict.workload["text"].endswith("from 2 load hosts")
    assert all(text.count("conducts") > len(done) for text in said), "each agent plays in each trial, and once before the study"
    assert PASSWORD not in shown
    assert all(PASSWORD.encode() not in path.read_bytes() for path in out.rglob("*") if path.is_file())
    assert server.variables() == before
    assert SCHEMA not in server.schemas()


def test_an_agent_that_is_away_or_logs_in_elsewhere_is_refused_before_anything_is_changed(dialin, server, token, tmp_path):
    before = server.variables()
    sweep = [*attached_sweep(server, tmp_path), "--load-token", token, "--out", tmp_path / "study", "--yes"]
    _, err = dialin(*sweep, "--load-hosts", "127.0.0.1:1", code=2)
    assert "Agent 127.0.0.1:1 cannot be reached" in err
    with playground(find(FAST)) as other, agent(token, option_file(other, tmp_path / "other.cnf"), tmp_path) as (address, _):
        _, err = dialin(*sweep, "--load-hosts", address, code=2)
    assert f"The load host {address} logs in to another server than" in " ".join(err.split())
    assert server.variables() == before
    assert SCHEMA not in server.schemas()
