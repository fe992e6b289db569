"""Records what every installed build tells of InnoDB, for the tests of its parsers: run by hand, about 20 seconds a build.

    python tests/probes/record_innodb.py [BUILD ...]

It boots each build with a pool of two instances, runs twice 16 threads of sysbench on 100 rows with waits that never spin, and
writes to samples/BUILD/: `quiet.txt` and `loaded.txt` (the status text without load, and of those read under load that with the
most threads at semaphores), `deadlock.txt` (after a deadlock whose statements look like the status text itself) and `mutex.txt`
(rows of SHOW ENGINE INNODB MUTEX, tabs between columns). It tells how long both statements took under load.
"""

import statistics
import subprocess
import sys
import threading
import time
from contextlib import contextmanager, suppress
from pathlib import Path

import pymysql

from dialin.paths import Home
from dialin.servers import builds
from dialin.trials.tools import Tools

SAMPLES = Path(__file__).parent / "samples"
SECONDS = 6
OPTIONS = {
    "innodb_buffer_pool_size": 1 << 30,
    "loose_innodb_buffer_pool_instances": 2,
    "loose_innodb_adaptive_hash_index": "ON",
    "innodb_sync_spin_loops": 0,  # a thread goes to the wait array at once
    "innodb_spin_wait_delay": 0,
    "innodb_file_per_table": "ON",
    "max_connections": 200,
}
HOSTILE = """UPDATE test.d SET b = '
----------
SEMAPHORES
----------
OS WAIT ARRAY INFO: reservation count 111, signal count 111
--Thread 1 has waited at evil0evil.cc line 666 for 66.000 seconds the semaphore:
S-lock on RW-latch at 0x1 created in file evil0evil.cc line 6
------------
TRANSACTIONS
------------
History list length 666666
--------
FILE I/O
--------
Pending normal aio reads: 666, aio writes: 666,
---
LOG
---
Log sequence number 666
' WHERE a = {}"""


def main(asked):
    tools = Tools.open(lambda line: sys.stderr.write(f"{line}\n"))
    for build in builds.discover(Home.of(), {}):
        if not asked or build.id in asked:
            record(tools, build)


def record(tools, build):
    options = dict(OPTIONS)
    if build.family == "mariadb" and build.version >= (10, 11):
        del options["innodb_sync_spin_loops"], options["innodb_spin_wait_delay"]
    directory = SAMPLES / build.id
    directory.mkdir(parents=True, exist_ok=True)
    with tools.preparer.running(build, options) as sandbox, sandbox.connect() as query:
        query("CREATE DATABASE IF NOT EXISTS sbtest")
        query("CREATE DATABASE IF NOT EXISTS test")
        query("CREATE TABLE test.d (a INT PRIMARY KEY, b VARCHAR(2000)) ENGINE=InnoDB")
        query("INSERT INTO test.d VALUES (1, ''), (2, '')")
        (directory / "quiet.txt").write_text(status(query))
        words = ["--db-driver=mysql", f"--mysql-socket={sandbox.socket}", "--mysql-user=root", "--mysql-db=sbtest"]
        words += ["--tables=1", "--table-size=100", "--threads=16", f"--time={SECONDS}", "--mysql-ignore-errors=all"]
        subprocess.run(["sysbench", "oltp_read_write", *words, "prepare"], check=True, stdout=subprocess.DEVNULL)
        loads = [
            subprocess.Popen(["sysbench", name, *words, "run"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            for name in ("oltp_update_non_index", "oltp_read_write")
        ]
        texts, took, rows, took_rows = [], [], [], []
        with rebuilding(sandbox):
            while any(load.poll() is None for load in loads):
                began = time.monotonic()
                texts.append(status(query))
                took.append(time.monotonic() - began)
                began = time.monotonic()
                rows = query("SHOW ENGINE INNODB MUTEX")
                took_rows.append(time.monotonic() - began)
                time.sleep(0.02)
        most = max(texts, key=lambda text: (text.count("has waited at"), len(text)))
        (directory / "loaded.txt").write_text(most)
        (directory / "mutex.txt").write_text("".join("\t".join(map(str, row)) + "\n" for row in rows))
        deadlock(sandbox)
        (directory / "deadlock.txt").write_text(status(query))
    sys.stdout.write(
        f"{build.id}: waiting {most.count('has waited at')}, {len(rows)} mutex rows, {len(most)} characters; "
        f"status {1000 * statistics.median(took):.1f} ms (most {1000 * max(took):.0f}), "
        f"mutex {1000 * statistics.median(took_rows):.1f} ms (most {1000 * max(took_rows):.0f})\n"
    )


def status(query):
    return query("SHOW ENGINE INNODB STATUS")[0][2]


@contextmanager
def rebuilding(sandbox):
    """Change tables meanwhile: the dictionary's locks are those that most threads wait at."""
    ended = threading.Event()

    def work():
        with sandbox.connect(60.0) as query:
            while not ended.is_set():
                for statement in ("CREATE TABLE test.c LIKE sbtest.sbtest1", "TRUNCATE test.c", "DROP TABLE test.c"):
                    query(statement)

    thread = threading.Thread(target=work)
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join()


def deadlock(sandbox):
    """Bring about a deadlock, and leave a transaction open until the next one, both with statements that look like the text."""
    first, second = (pymysql.connect(unix_socket=str(sandbox.socket), user="root") for _ in range(2))
    for connection, row in ((first, 1), (second, 2)):
        connection.cursor().execute(HOSTILE.format(row))

    def cross():
        with suppress(pymysql.MySQLError):
            first.cursor().execute(HOSTILE.format(2))

    thread = threading.Thread(target=cross)
    thread.start()
    time.sleep(0.5)
    with suppress(pymysql.MySQLError):
        second.cursor().execute(HOSTILE.format(1))
    thread.join()


if __name__ == "__main__":
    main(sys.argv[1:])
