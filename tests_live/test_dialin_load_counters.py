"""dialin-load does what sysbench does: the server's own counters say so, transaction by transaction.

Each driver plays few transactions and then many; what the one run counts more than the other is that of the transactions alone,
without connections, prepared statements, and asking for the counters.
"""

import math
import time

import pytest

from dialin.workloads.sysbench_workloads import SYSBENCH_SCRIPTS
from driving import load, needs_dialin_load, serving, sysbench
from live import FAST_OR_ALL, only_with_all

pytestmark = needs_dialin_load

COUNTERS = (
    "Questions",
    "Bytes_received",
    "Bytes_sent",
    "Com_begin",
    "Com_commit",
    "Com_delete",
    "Com_insert",
    "Com_rollback",
    "Com_select",
    "Com_stmt_execute",
    "Com_stmt_prepare",
    "Com_update",
    "Innodb_rows_deleted",
    "Innodb_rows_inserted",
    "Innodb_rows_read",
    "Innodb_rows_updated",
)
ALIKE = 0.005
FEW = 50
MANY = {
    "bulk_insert": 100_000,
    "oltp_delete": 700,
    "oltp_point_select": 4_000,
    "oltp_read_only": 500,
    "oltp_read_write": 500,
    "select_random_points": 2_000,
    "select_random_ranges": 2_000,
}
"""Transactions that are counted, 700 unless told: so many that chance does not matter."""

ROWS = 10_000
CHANGING = ("bulk_insert", "oltp_delete", "oltp_insert")
"""Workloads that need their data made anew for each driver."""

DIFFERENT = ("bulk_insert", "oltp_delete", "oltp_insert", "oltp_point_select", "oltp_read_write", "select_random_points")
"""Workloads of which the others are parts, or which they resemble."""

READING = ("oltp_point_select", "oltp_read_only", "select_random_points", "select_random_ranges")


class Counting:
    """A server, and a connection that asks for its counters and for nothing else."""

    def __init__(self, sandbox, query):
        self.sandbox, self._query = sandbox, query

    def counters(self):
        time.sleep(0.2)  # what the last connection did is added up when the server has ended it
        found = {name: int(value) for name, value in self._query("SHOW GLOBAL STATUS") if value.isdecimal()}
        return {counter: found[counter] for counter in COUNTERS if counter in found}

    def change(self, *statements):
        with self.sandbox.connect(60) as query:
            for statement in statements:
                query(statement)


@pytest.fixture(scope="module", params=FAST_OR_ALL, ids=lambda build: build.id)
def server(request):
    with serving(request.param) as sandbox:
        load("prepare", "oltp_read_write", sandbox, tables=2, table_size=ROWS, rand_type="uniform")
        with sandbox.connect(60) as query:
            yield Counting(sandbox, query)


def sizes(name):
    """What both drivers are told of a workload."""
    if name == "bulk_insert":
        return {}
    return {"rand_type": "uniform", "table_size": ROWS, "tables": 1 if name.startswith("select_random") else 2}


def play(driver, name, sandbox, threads, events, database):
    if driver == "sysbench":
        sysbench(name, sandbox, threads=threads, events=events, database=database, **sizes(name))
    else:
        words = ["--connections", threads, "--transactions", events, "--time", 0, "--seed", events]
        load("run", name, sandbox, *words, database=database, **sizes(name))


def fresh(name, server):
    """Make a schema with data of a workload that no driver changed yet."""
    server.change("DROP DATABASE IF EXISTS fresh", "CREATE DATABASE fresh")
    load("prepare", name, server.sandbox, database="fresh", **sizes(name))


def counted(driver, name, server, threads, events):
    """What the server counts while a driver plays, all in all."""
    database = "sbtest"
    if name in CHANGING:
        fresh(name, server)
        database = "fresh"
    before = server.counters()
    play(driver, name, server.sandbox, threads, events, database)
    after = server.counters()
    return {counter: after[counter] - before[counter] for counter in after}


def for_each_transaction(driver, name, server, threads):
    many = MANY.get(name, 700)
    few, all_of_them = (counted(driver, name, server, threads, events) for events in (FEW, FEW + many))
    return {counter: (all_of_them[counter] - few[counter]) / many for counter in few}


def tolerance(name, counter, value):
    """How far two figures for each transaction may lie apart; of rows deleted twice by chance, by four standard deviations."""
    allowed = ALIKE * abs(value) + 0.002
    if name == "oltp_delete" and counter.startswith(("Innodb_rows", "Bytes_sent")):
        events = MANY[name] + FEW
        allowed += 4 * math.sqrt(2 * events**2 / (2 * 2 * ROWS)) / events
    return allowed


def differences(name, server, threads):
    """The counters of which the two drivers have different figures for each transaction."""
    ours = for_each_transaction("dialin-load", name, server, threads)
    theirs = for_each_transaction("sysbench", name, server, threads)
    assert theirs["Questions"] > 0
    return {
        counter: (ours[counter], theirs[counter])
        for counter in ours
        if abs(ours[counter] - theirs[counter]) > tolerance(name, counter, theirs[counter])
    }


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=() if name in DIFFERENT else only_with_all) for name in SYSBENCH_SCRIPTS]
)
def test_the_server_counts_the_same_for_each_transaction_of_both_drivers(server, name):
    threads = 2 if name in READING else 1
    if name.startswith("select_random"):
        # Each value once, so that as many rows are read wherever a query looks.
        server.change("UPDATE sbtest.sbtest1 SET k = id")
    # A busy machine may end a connection so late that the next count has what it did; a difference of drivers is there twice.
    apart = differences(name, server, threads) and differences(name, server, threads)
    assert not apart, f"dialin-load, sysbench: {apart}"


def test_prepared_data_is_of_the_shape_that_sysbench_makes(server):
    """The tables that each driver prepares are defined alike."""
    shown = {}
    for driver in ("dialin-load", "sysbench"):
        server.change("DROP DATABASE IF EXISTS fresh", "CREATE DATABASE fresh")
        if driver == "sysbench":
            sysbench("oltp_read_write", server.sandbox, verb="prepare", database="fresh", tables=2, table_size=500)
        else:
            load("prepare", "oltp_read_write", server.sandbox, database="fresh", tables=2, table_size=500)
        with server.sandbox.connect() as query:
            definitions = [query(f"SHOW CREATE TABLE fresh.sbtest{number}")[0][1] for number in (1, 2)]
            lengths = query("SELECT COUNT(*), MIN(id), MAX(id), MIN(LENGTH(c)), MIN(LENGTH(pad)) FROM fresh.sbtest2")
        shown[driver] = definitions, lengths
    assert shown["dialin-load"] == shown["sysbench"]
