"""A capture of the slow log of a server under load: it has what the server counted, and only its owner reads it."""

import json
import re
import stat
import subprocess

import pytest

from driving import needs_dialin_load
from live import ONE_OR_ALL
from playground import playground

LOAD = ["--db-driver=mysql", "--tables=2", "--table-size=2000", "--threads=4", "--rand-type=uniform"]


def sysbench(server, *words):
    password = re.search(r'password\s*=\s*"?([^"\n]*)', server.root.read_text())
    account = [
        f"--mysql-socket={server.entry.socket}",
        "--mysql-user=root",
        f"--mysql-password={password[1] if password else ''}",
    ]
    done = subprocess.run(["sysbench", "oltp_read_write", *account, *LOAD, *words], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr


def leaves_out_begin(build):
    return build.family == "mysql" and build.version < (5, 7)


@pytest.fixture(scope="module", params=ONE_OR_ALL, ids=lambda build: build.id)
def logging(request):
    """A server whose slow log has a load of two seconds, sent as text, and its counters before and after."""
    with playground(request.param) as server:
        log = server.directory / "captured.log"
        server.query("CREATE DATABASE sbtest")
        sysbench(server, "prepare")
        server.query(
            "SET GLOBAL long_query_time = 0", f"SET GLOBAL slow_query_log_file = '{log}'", "SET GLOBAL slow_query_log = ON"
        )
        yield server, log


@needs_dialin_load
def test_a_capture_covers_what_the_server_counted(logging, dialin, tmp_path):
    server, log = logging
    account = ["--defaults-file", server.root]
    # Older servers log seconds: what ran within the second of a reading cannot be placed.
    server.query("DO SLEEP(1.1)")
    dialin("capture", "counters", *account, "--out", "before.json")
    sysbench(server, "--time=2", "--db-ps-mode=disable", "run")
    dialin("capture", "counters", *account, "--out", "after.json")
    out, _ = dialin("capture", "from", log, "--digests", "before.json,after.json", "--out", "shop.capture", "--json")
    summary = json.loads(out)
    coverage = summary["coverage"]
    # MySQL 5.6 leaves out statements of less than a microsecond, whatever long_query_time is: some BEGINs.
    lost = [digest for digest in summary["digests"] if digest["digest"] == "begin"] if leaves_out_begin(server.build) else []
    logged = coverage["logged"] + sum(digest["counted"] - digest["logged"] for digest in lost)
    assert 0.999 <= logged / coverage["questions"] <= 1.001, coverage
    load = [digest for digest in summary["digests"] if "sbtest" in digest["digest"] or digest["digest"] in ("begin", "commit")]
    assert len(load) > 10
    counted = [digest for digest in load if digest["counted"] is not None and digest not in lost]
    assert counted or server.build.family == "mariadb"  # whose performance schema is off by default
    assert [digest["logged"] for digest in counted] == [digest["counted"] for digest in counted]
    whole = [shape for shape in summary["transactions"] if len(shape["steps"]) > 5]
    assert sum(shape["transactions"] for shape in whole) > 10
    directory = tmp_path / "shop.capture"
    assert stat.S_IMODE(directory.stat().st_mode) == 0o700
    assert {stat.S_IMODE(path.stat().st_mode) for path in directory.iterdir()} == {0o600}
    shown, _ = dialin("capture", "show", "shop.capture")
    assert f"{coverage['questions']:,} Questions" in shown
    assert "select c from sbtest1" in shown
