"""A backup taken while the capture ran: the capture shows its moment, and a replay on its data leaves the rows of the load.

MariaDB's programs take it; `apt-get install mariadb-client mariadb-backup` brings them.
"""

import shutil
import subprocess
import time

import pytest

from dialin.datasets.cache import copy
from dialin.servers.sandbox import Sandbox
from dialin.trials.tools import Tools
from dialin.workloads.replay.replay_facts import moment_of_backup
from driving import BINARY, QUICK, finished, load, needs_dialin_load, running
from live import LIMIT, find

BUILD = find("mariadb@10.11")
SIZES = {"tables": 1, "table_size": 2000, "rand_type": "uniform"}

pytestmark = [needs_dialin_load, pytest.mark.skipif(BUILD is None, reason="mariadb@10.11 is not installed")]


def run(*words, **more):
    done = subprocess.run(words, check=False, timeout=LIMIT, stderr=subprocess.PIPE, **more)
    assert done.returncode == 0, done.stderr.decode(errors="replace")[-2000:]


def take_dump(sandbox, to):
    words = ["mariadb-dump", "--no-defaults", f"--socket={sandbox.socket}", "--user=root"]
    with to.open("wb") as out:
        run(*words, "--single-transaction", "--master-data", "--databases", "sbtest", stdout=out)


def load_dump(dump, sandbox):
    with dump.open("rb") as text:
        run("mariadb", "--no-defaults", f"--socket={sandbox.socket}", "--user=root", stdin=text)


def take_backup(sandbox, to):
    words = ["mariadb-backup", "--no-defaults", f"--target-dir={to}"]
    run(*words, "--backup", f"--socket={sandbox.socket}", "--user=root", f"--datadir={sandbox.data}")
    run(*words, "--prepare")


@pytest.fixture
def started():
    """Start servers on empty data, or on a copy of a data directory."""
    tools = Tools.open(lambda text: None)
    sandboxes = []

    def start(data=None, **settings):
        sandbox = Sandbox.create(BUILD, tools.home, tools.ledger, tools.clock)
        sandboxes.append(sandbox)
        copy(data, sandbox.data) if data else tools.preparer.copy_blank(BUILD, {}, sandbox.data)
        sandbox.boot({**QUICK, **settings})
        return sandbox

    yield start
    for sandbox in sandboxes:
        sandbox.remove()


def rows(sandbox):
    with sandbox.connect() as query:
        return {row[0]: row for row in query("SELECT * FROM sbtest.sbtest1")}


@pytest.mark.parametrize("program", ["mariadb-dump", "mariadb-backup"])
def test_a_replay_on_a_backup_begins_at_the_moment_that_the_backup_has(program, started, tmp_path):
    if not shutil.which(program):
        pytest.skip(f"{program} is not installed")
    is_dump = program == "mariadb-dump"
    backup, capture = tmp_path / "backup", tmp_path / "shop.capture"
    log = {"slow_query_log": "ON", "long_query_time": 0, "slow_query_log_file": str(tmp_path / "slow.log"), "log_bin": "bin"}
    original = started(**log)
    with original.connect() as query:
        query("CREATE DATABASE sbtest")
    load("prepare", "oltp_read_write", original, tables=1, table_size=2000)
    with running("oltp_read_write", original, "--time=0", "--rate=60", "--connections=4", **SIZES) as finish:
        time.sleep(1.5)
        take_dump(original, backup) if is_dump else take_backup(original, backup)
        time.sleep(2)
        assert finish(now=True).code in (0, 5)  # 5: a busy machine did not reach the rate
    left = rows(original)
    run(BINARY, "capture", tmp_path / "slow.log", "--out", capture, stdout=subprocess.DEVNULL)
    moment = moment_of_backup(BINARY, capture)

    def replay(since):
        """Return what the replay reported, and how many rows differ at its end."""
        sandbox = started(None if is_dump else backup, log_bin="bin")
        if is_dump:
            load_dump(backup, sandbox)
        words = [BINARY, "run", f"capture:{capture}", f"--socket={sandbox.socket}", "--user=root", "--json", "--pace=2"]
        done = subprocess.run([*words, f"--from={since:.6f}"], capture_output=True, text=True, timeout=LIMIT)
        here = rows(sandbox)
        assert here.keys() == left.keys()
        return finished(done.returncode, done.stdout, done.stderr).total, sum(here[key] != left[key] for key in left)

    total, differing = replay(moment)
    assert (total["errors"], total["replay"]["other_row_counts"], differing) == ({}, 0, 0)
    _, differing_later = replay(moment + 0.5)
    assert differing_later > 0
