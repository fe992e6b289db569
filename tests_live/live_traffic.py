"""A server with clients that dialin was not told about, for studies on live traffic."""

import json
import statistics
import subprocess
import threading
from contextlib import contextmanager

import pymysql

from driving import BINARY
from live import until

PURPOSE = "live"
SIZES = ["--option", "tables=2", "--option", "table-size=5000"]
SCHEMA = "shop"
CONCURRENCY, COMMIT_WAIT, PURGE_LAG = "innodb_thread_concurrency", "binlog_commit_wait_usec", "innodb_max_purge_lag"

QUICK = ["--attach", "--traffic", "own", "--yes", "--observe", "30", "--measure", "2", "--warmup", "1", "--guard-free", "0"]
"""Periods that are short enough for a test, however full the memory and the disk of this machine are."""

WAVE = ",".join(["40", "60", "80", "60"] * 6)
"""Transactions per second, one rate after another for as long as a study may take."""


def _account(server):
    return ["--socket", server.entry.socket, "--user", "client", "--database", SCHEMA]


def prepare(server):
    """Fill a schema of the clients' own."""
    server.query(
        f"CREATE DATABASE {SCHEMA}",
        "CREATE USER client@localhost",
        f"GRANT ALL ON {SCHEMA}.* TO client@localhost",
    )
    subprocess.run([BINARY, "prepare", "oltp_read_write", *_account(server), *SIZES], check=True, capture_output=True)


class Clients:
    """Clients that send transactions; `seconds` are what they saw, once they have ended."""

    def __init__(self, process, path):
        self.process, self._path = process, path

    @property
    def seconds(self):
        lines = [json.loads(line) for line in self._path.read_text().splitlines() if line.startswith("{")]
        return [line for line in lines if line["type"] == "second"]


def bad_seconds(clients, trial):
    """Seconds of a trial in which clients completed less than half of what they usually do."""
    usual = statistics.median(second["transactions"] for second in clients.seconds)
    ended = trial.started + sum(trial.steps.values())
    within = [second for second in clients.seconds if trial.started <= second["at"] <= ended + 1]
    return sum(second["transactions"] < usual / 2 for second in within)


@contextmanager
def scans(server):
    """A client that scans a table again and again: it keeps a thread of InnoDB occupied, and hardly a CPU."""
    ended = threading.Event()
    connection = pymysql.connect(unix_socket=server.entry.socket, user="client", database=SCHEMA, autocommit=True)

    def scan():
        with connection, connection.cursor() as cursor:
            while not ended.is_set():
                cursor.execute("SELECT COUNT(*) FROM sbtest1 WHERE id <= 500 AND SLEEP(0.001) = 0")

    thread = threading.Thread(target=scan)
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join()


@contextmanager
def old_snapshot(server):
    """A transaction that keeps InnoDB from purging what others have changed since it began."""
    with (
        pymysql.connect(unix_socket=server.entry.socket, user="client", database=SCHEMA) as reader,
        pymysql.connect(unix_socket=server.entry.socket, user="client", database=SCHEMA, autocommit=True) as writer,
    ):
        reader.cursor().execute("START TRANSACTION WITH CONSISTENT SNAPSHOT")
        for identifier in range(1, 301):
            writer.cursor().execute("UPDATE sbtest1 SET k = k + 1 WHERE id = %s", (identifier,))
        yield


def words_of(build):
    """More words of `dialin servers start` for a server with clients that one can study, and stall (`stalling`)."""
    log = ("--set", "log_bin=ON") if build.family == "mariadb" else ()
    return ("--set", "performance_schema=ON", *log)


@contextmanager
def stalling(server):
    """Make ready what a candidate stalls a server by, and give that candidate.

    `innodb_thread_concurrency=1` lets one statement into InnoDB at a time, and a scan holds its place. Before MySQL 8, where
    statements wait on after it is set back, those that write are delayed because purge lags. MariaDB has neither; there a
    commit waits for so many others that never come, for `binlog_commit_wait_usec`.
    """
    if server.build.family == "mariadb":
        server.query("SET GLOBAL binlog_commit_wait_count = 1000", f"SET GLOBAL {COMMIT_WAIT} = 0")
        yield f"{COMMIT_WAIT}=500000"
        server.query("SET GLOBAL binlog_commit_wait_count = DEFAULT", f"SET GLOBAL {COMMIT_WAIT} = DEFAULT")
    elif server.build.version < (8,):
        server.query(f"SET GLOBAL {PURGE_LAG}_delay = 500000")
        with old_snapshot(server):
            yield f"{PURGE_LAG}=1"
        server.query(f"SET GLOBAL {PURGE_LAG}_delay = DEFAULT")
    else:
        with scans(server):
            yield f"{CONCURRENCY}=1"


def sessions_of_clients(server):
    return server.query("SELECT COUNT(*) FROM information_schema.processlist WHERE user = 'client'")[0][0]


@contextmanager
def traffic(server, path, *words, workload="oltp_read_write", connections=4, rate="60", seconds=600):
    """Clients of a server, all connected, who write what they see to a file.

    Several rates, one after another, are a wave; without one each client sends as fast as it gets answers.
    """
    load = ["--connections", str(connections), "--text", "--json", "--time", str(seconds), *words]
    load += ["--rate", rate] if rate else []
    with path.open("w") as out:
        process = subprocess.Popen(
            [BINARY, "run", workload, *_account(server), *SIZES, *load], stdout=out, stderr=subprocess.DEVNULL
        )
        try:
            until(lambda: sessions_of_clients(server) >= connections or process.poll() is not None)
            yield Clients(process, path)
        finally:
            process.terminate()
            process.wait()
