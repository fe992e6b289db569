"""dialin-load on real servers: it hides no stall, repeats its work, survives kills, and says what is wrong."""

import json
import os
import signal
import statistics
import subprocess
import time
from contextlib import contextmanager, nullcontext, suppress

import pytest

from driving import BINARY, command, load, needs_dialin_load, running, serving
from live import LIMIT, MYSQL, ONE_OR_ALL, find, until

pytestmark = needs_dialin_load

TINY = {"tables": 2, "table_size": 500}
TPCC = {"customers": 300, "items": 1000}
PACED = ["--rate", 60]
"""For runs whose speed does not matter."""
RAN = (0, 5)
"""Exit codes of a run that went well: on a busy machine it may not have reached its rate."""


@pytest.fixture(scope="module")
def server():
    """A server with data for the workloads of sysbench."""
    with serving(find(MYSQL)) as sandbox:
        load("prepare", "oltp_read_write", sandbox, **TINY)
        yield sandbox


def fresh(server, database, workload, *words, **sizes):
    with server.connect() as query:
        query(f"DROP DATABASE IF EXISTS {database}")
        query(f"CREATE DATABASE {database}")
    load("prepare", workload, server, *words, database=database, **sizes)


WITHOUT_CPU = """
name = "sleeping"
description = "transactions that take no CPU and yet their time"

[[transaction]]
name = "sleep"
steps = [{ sql = "DO SLEEP(0.005)" }]
"""


def stopped_for_two_seconds(server, *words, workload="oltp_point_select", **given):
    """What a run tells each second while the server is stopped in its middle."""
    with running(workload, server, "--connections", 4, "--time", 6, *words, **given) as finish:
        time.sleep(2)
        os.kill(server.pid, signal.SIGSTOP)
        try:
            time.sleep(2)
        finally:
            os.kill(server.pid, signal.SIGCONT)
        return finish()


def test_a_stall_shows_in_full_where_transactions_come_at_a_rate(server):
    done = stopped_for_two_seconds(server, "--rate", 400, **TINY)
    # A second with few transactions has no such percentile.
    worst = max(done.seconds, key=lambda second: second["latency"]["p99"] or 0)
    assert worst["latency"]["p99"] > 1500, "those that were due while it stood still waited for it"
    # The first of them may have ended in the second before, with too few others for a percentile.
    assert max(second["latency"]["max"] or 0 for second in done.seconds) > 1800
    assert worst["service"]["p50"] < 500, "the server itself took no time for most of them"
    ended, last = sum(second["transactions"] for second in done.seconds), done.seconds[-1]
    assert ended + last["busy"] + last["backlog"] == pytest.approx(6 * 400, rel=0.02), "none was left out"
    # A driver that gets no CPU at the end has some left.
    assert done.summary["rate_reached"] is (ended >= 0.99 * 6 * 400)


def test_a_stall_is_a_gap_in_throughput_where_each_transaction_waits_for_the_one_before(server, tmp_path):
    (tmp_path / "sleeping.toml").write_text(WITHOUT_CPU)
    done = stopped_for_two_seconds(server, workload=str(tmp_path / "sleeping.toml"))
    counts = [second["transactions"] for second in done.seconds]
    usual = statistics.median(counts)
    assert usual > 100
    late = "a driver that gets no CPU ends its second late, with what was done until then"
    assert min(counts) < usual / 100 + 4, f"{late}, and the four transactions under way"
    worst = max(second["latency"]["max"] or 0 for second in done.seconds)
    assert worst > 1800, "four transactions waited"
    assert done.total["latency"]["p99"] < 1500, "and hide among thousands"


def test_a_rate_that_the_server_cannot_keep_up_with_is_reported_by_the_exit_code(server):
    done = load(
        "run", "oltp_read_write", server, "--rate", 100_000, "--connections", 1, "--time", 2, "--backlog", 1000, code=5, **TINY
    )
    assert done.summary["rate_reached"] is False
    assert done.total["per_second"] < 50_000
    assert done.total["dropped"] > 0
    assert max(second["backlog"] for second in done.seconds) <= 1000


def checksum(server, database):
    with server.connect() as query:
        return [row[1] for row in query(f"CHECKSUM TABLE {database}.sbtest1, {database}.sbtest2")]


def after_updates(server, connections, seed):
    """What the tables hold after so many additions, which add up to the same in whatever order they come."""
    fresh(server, "seeded", "oltp_update_index", **TINY)
    words = ["--connections", connections, "--transactions", 1000, "--seed", seed]
    done = load("run", "oltp_update_index", server, *words, database="seeded", **TINY)
    assert done.total["transactions"] == 1000
    assert done.total["errors"] == {}
    return checksum(server, "seeded")


def test_the_same_seed_does_the_same_work_on_any_number_of_connections(server):
    alone = after_updates(server, 1, seed=7)
    assert after_updates(server, 8, seed=7) == alone
    assert after_updates(server, 8, seed=8) != alone


def test_data_is_prepared_alike_however_many_connections_fill_it(server):
    found = []
    for threads in (1, 3):
        fresh(server, "filled", "oltp_read_write", "--threads", threads, **TINY)
        found.append(checksum(server, "filled"))
    assert found[0] == found[1]


def kill_some(server, seconds):
    """Kill connections of the load one after another."""
    killed = 0
    deadline = time.monotonic() + seconds
    with server.connect() as query:
        while time.monotonic() < deadline:
            time.sleep(0.1)
            for (number,) in query("SELECT id FROM information_schema.processlist WHERE db = 'tpcc' ORDER BY RAND() LIMIT 1"):
                with suppress(Exception):  # it may be gone by itself
                    query(f"KILL {int(number)}")
                    killed += 1
    return killed


@pytest.mark.parametrize("build", ONE_OR_ALL, ids=lambda build: build.id)
def test_the_mix_like_tpcc_is_consistent_after_connections_were_killed(server, build):
    with nullcontext(server) if build == server.build else serving(build) as server:
        fresh(server, "tpcc", "tpcc-like", **TPCC)
        assert load("check", "tpcc-like", server, database="tpcc", **TPCC).code == 0
        with running("tpcc-like", server, "--connections", 6, "--time", 6, *PACED, database="tpcc", **TPCC) as finish:
            time.sleep(1)
            killed = kill_some(server, 4)
            done = finish()
        assert done.code in RAN, done.said
        assert killed >= 5
        assert done.total["reconnects"] >= killed // 2
        kinds = done.total["by_transaction"]
        assert len(kinds) == 5
        assert all(kinds.values()) or sum(kinds.values()) < 200, kinds  # of which chance may leave out the rarest
        load("check", "tpcc-like", server, database="tpcc", **TPCC)


def test_data_that_is_not_consistent_is_said_to_be(server):
    fresh(server, "bank", "bank-transfer", accounts=100)
    load("run", "bank-transfer", server, "--connections", 4, "--transactions", 500, database="bank", accounts=100)
    load("check", "bank-transfer", server, database="bank", accounts=100)
    with server.connect() as query:
        query("UPDATE bank.account SET balance = balance + 1 WHERE id = 7")
    done = load("check", "bank-transfer", server, database="bank", accounts=100, code=4)
    assert "total" in done.said


@pytest.mark.parametrize("workload", ["queue", "feed"])
def test_the_other_shipped_workloads_run_and_are_consistent_afterwards(server, workload):
    fresh(server, "own", workload)
    done = load("run", workload, server, "--connections", 4, "--time", 2, *PACED, database="own", code=None)
    assert done.code in RAN, done.said
    assert done.total["transactions"] > 20
    assert all(count > 0 for count in done.total["by_transaction"].values() if done.total["transactions"] > 2000)
    load("check", workload, server, database="own")


@pytest.mark.parametrize("build", ONE_OR_ALL, ids=lambda build: build.id)
def test_a_server_that_goes_away_and_comes_back_is_met_again_in_the_clear_and_encrypted_and_that_is_counted(build):
    # While the server is away enough transactions become due that all connections are used once it is back.
    words = ["--connections", 4, "--time", 0, "--rate", 1000]
    with serving(build) as server:
        load("prepare", "oltp_point_select", server, **TINY)
        encrypted = ["--ssl-mode", "required"] if build == find(MYSQL) else []
        with (
            running("oltp_point_select", server, *words, **TINY) as finish,
            running("oltp_point_select", server, *words, *encrypted, **TINY) as finish_encrypted,
        ):
            time.sleep(2)
            server.kill()
            time.sleep(1)
            server.boot({})
            with server.connect() as query:
                until(lambda: query("SELECT COUNT(*) FROM information_schema.processlist WHERE db = 'sbtest'")[0][0] == 8)
                assert not encrypted or int(query("SHOW GLOBAL STATUS LIKE 'Ssl_accepts'")[0][1]) >= 4
            time.sleep(2)
            runs = [finish(now=True), finish_encrypted(now=True)]
    for done in runs:
        assert done.code in RAN, done.said
        assert done.total["reconnects"] >= 4
        assert sum(second["transactions"] for second in done.seconds[-3:]) > 0
    assert not encrypted or runs[1].total["reconnects"] == 4


@contextmanager
def with_limits(server, **limits):
    """Give a server other limits for a while."""
    with server.connect() as query:
        try:
            for name, value in limits.items():
                query(f"SET GLOBAL {name} = {value}")
            yield
        finally:
            for name in limits:
                query(f"SET GLOBAL {name} = DEFAULT")


def test_a_low_max_prepared_stmt_count_fails_no_transaction_on_many_connections(server):
    limit, connections = 100, 300
    with with_limits(server, max_prepared_stmt_count=limit, max_connections=400):
        done = load("run", "oltp_point_select", server, "--connections", connections, "--transactions", 3 * connections, **TINY)
        with server.connect() as query:
            until(lambda: query("SHOW GLOBAL STATUS LIKE 'Prepared_stmt_count'")[0][1] == "0")
    # Each connection uses the statements of two tables; some may not have had both of them.
    assert connections - limit < done.total["unprepared"] <= 2 * connections - limit
    assert done.total["errors"] == {}
    assert done.total["transactions"] > connections


def test_steps_of_connections_run_one_after_another(server):
    words = ["--connections", "1,3", "--warmup", 1, "--time", 2, *PACED]
    done = load("run", "oltp_point_select", server, *words, code=None, **TINY)
    assert done.code in RAN, done.said
    assert [(second["step"], second["connections"], second["phase"]) for second in done.seconds] == [
        (1, 1, "warm-up"),
        (1, 1, "measure"),
        (1, 1, "measure"),
        (2, 3, "warm-up"),
        (2, 3, "measure"),
        (2, 3, "measure"),
    ]


@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGTERM])
def test_a_run_that_is_stopped_tells_what_it_measured(server, how):
    words = command("run", "oltp_point_select", server, "--time", 0, "--json", *PACED, **TINY)
    process = subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    try:
        found = [json.loads(process.stdout.readline()) for _ in range(3)]
        process.send_signal(how)
        out, err = process.communicate(timeout=LIMIT)
    finally:
        process.kill()
    assert process.returncode in (0, 5), err  # 5: on a busy machine the rate was not reached
    assert [line["type"] for line in found] == ["start", "second", "second"]
    summary = json.loads(out.splitlines()[-1])
    assert (summary["type"], summary["stopped"]) == ("summary", True)
    assert summary["total"]["transactions"] >= found[1]["transactions"]


# Bad input


def refused(words, *, code, says, remedy=""):
    """Run what cannot go well: one line and a remedy, for people and for programs, and no more."""
    reported = subprocess.run([*words, "--json"], capture_output=True, text=True, timeout=LIMIT, stdin=subprocess.DEVNULL)
    assert reported.returncode == code, reported.stdout[-1000:] + reported.stderr
    errors = [line for line in map(json.loads, reported.stdout.splitlines()) if line["type"] == "error"]
    assert len(errors) == 1, reported.stdout[-1000:] + reported.stderr
    assert says in errors[0]["what"], errors
    assert "\n" not in errors[0]["what"]
    assert errors[0]["remedy"]
    assert remedy in errors[0]["remedy"], errors
    assert "panicked" not in reported.stderr


def run(workload, server, *words, **given):
    return command("run", workload, server, "--time", 3, *words, **given)


def test_a_server_that_is_not_there(tmp_path):
    refused([BINARY, "run", "noop", f"--socket={tmp_path}/s.sock", "--time=3"], code=3, says=str(tmp_path))
    refused([BINARY, "run", "noop", "--host=127.0.0.1", "--port=1", "--time=3"], code=3, says="127.0.0.1:1")


def test_a_login_that_is_refused(server):
    words = [BINARY, "run", "noop", f"--socket={server.socket}", "--user=nobody_here", "--time=3"]
    refused(words, code=3, says="nobody_here")


def test_tables_that_are_missing(server):
    with server.connect() as query:
        query("CREATE DATABASE IF NOT EXISTS no_tables")
    refused(
        run("oltp_read_write", server, database="no_tables"),
        code=4,
        says="sbtest1",
        remedy="dialin-load prepare",
    )


def test_a_schema_that_is_missing(server):
    refused(run("oltp_read_write", server, database="nowhere"), code=3, says="nowhere", remedy="Create the schema")


def test_a_workload_that_is_not_known(server):
    refused(run("oltp_nothing", server), code=2, says="oltp_nothing")
    refused(run("oltp_read_write", server, rows=5), code=2, says="rows", remedy="table-size")


@pytest.mark.parametrize("rate", ["0", "-5", "nan"])
def test_a_rate_that_is_none(server, rate):
    refused(run("noop", server, f"--rate={rate}"), code=2, says="rate")


OWN = """
name = "own"
description = "a test"

[[transaction]]
name = "one"
weight = 1
steps = [{{ sql = "{sql}" }}]
{more}
"""


def own(tmp_path, sql, more=""):
    file = tmp_path / "own.toml"
    file.write_text(OWN.format(sql=sql, more=more))
    return str(file)


def test_a_key_of_a_workload_file_that_is_not_known(server, tmp_path):
    refused(run(own(tmp_path, "DO 0", "wieght = 2"), server), code=2, says="wieght", remedy="weight")


def test_sql_that_the_server_rejects(server, tmp_path):
    refused(run(own(tmp_path, "SELEC 1"), server), code=4, says="SELEC 1")


def test_a_workload_that_deadlocks_for_ever(server, tmp_path):
    with server.connect() as query:
        query("CREATE DATABASE IF NOT EXISTS own_deadlock")
        query(
            "CREATE FUNCTION own_deadlock.f() RETURNS INT DETERMINISTIC "
            "BEGIN SIGNAL SQLSTATE '40001' SET MYSQL_ERRNO = 1213; RETURN 1; END"
        )
    workload = own(tmp_path, "SELECT own_deadlock.f()", "retry = { 1213 = 1000000000 }")
    refused(command("run", workload, server, "--time", 60, "--connections", 2), code=4, says="1213")


def test_more_connections_than_the_server_allows(server):
    with with_limits(server, max_connections=20):
        refused(run("noop", server, "--connections", 50), code=3, says="no more connections", remedy="max_connections")


def test_more_connections_than_open_files_are_allowed(server):
    limited = ["prlimit", "--nofile=100:100", *run("noop", server, "--connections", 200)]
    refused(limited, code=2, says="open files", remedy="ulimit")


def test_a_password_is_never_taken_from_an_argument(server):
    refused(run("noop", server, "--password=hunter2"), code=2, says="never taken from an argument", remedy="defaults-file")


def test_the_connections_of_prepare_and_of_a_run_resume_a_tls_session(server):
    def count():
        with server.connect() as query:
            status = dict(query("SHOW GLOBAL STATUS LIKE 'Ssl%'"))
        return int(status["Ssl_accepts"]), int(status["Ssl_session_cache_hits"])

    before = count()
    fresh(server, "encrypted", "oltp_read_write", "--threads", 6, "--ssl-mode", "required", tables=6, table_size=10)
    assert [now - then for now, then in zip(count(), before, strict=True)] == [6, 5]
    before = count()
    # Logins run side by side, and each ticket that the server sends is used once: how many logins resume a session depends on
    # when tickets come, but the first ones cannot.
    words = ["--ssl-mode", "required", "--connections", 40, "--load-threads", 1, "--transactions", 40]
    load("run", "oltp_point_select", server, *words, database="encrypted", tables=6, table_size=10)
    made, resumed = (now - then for now, then in zip(count(), before, strict=True))
    assert made == 40
    assert 0 < resumed < 40


def test_nothing_of_a_load_is_left_behind(server):
    load("run", "oltp_read_write", server, "--connections", 8, "--time", 1, **TINY)

    def gone():
        with server.connect() as query:
            return query("SELECT COUNT(*) FROM information_schema.processlist WHERE db = 'sbtest'")[0][0] == 0

    until(gone)
