"""Texts of every build that dialin installs, recorded by record_innodb.py under load; what no load caused is handmade."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dialin.probes.innodb_text import Spins, Wait, parse

SAMPLES = Path(__file__).parent / "samples"
BUILDS = sorted(path.name for path in SAMPLES.iterdir() if path.is_dir())
RECORDED = [(build, kind) for build in BUILDS for kind in ("quiet", "loaded", "deadlock")]

TELLS_SEMAPHORES = [build for build in BUILDS if not build.startswith(("mariadb@10.11", "mariadb@11"))]
EVIL = 666
"""What the statements of `deadlock.txt` say in every place where the server's own figures stand."""


def log(status):
    """Return the bytes of the redo log, and its checkpoint's age."""
    return status.log_bytes, status.gauges.get("checkpoint_age")


def recorded(build, kind):
    """Return a text of a build, as if its averages were over a second at least: over none there are no rates."""
    return (SAMPLES / build / f"{kind}.txt").read_text().replace("from the last 0 seconds", "from the last 1 seconds")


def kinds(build):
    if build in ("mysql@5.5.9", "mysql@5.6.24") or build.startswith("mariadb@10.1."):
        return {"mutex", "rw_shared", "rw_excl"}
    return {"rw_shared", "rw_excl", "rw_sx"}


def dashed(name):
    return f"{'-' * len(name)}\n{name}\n{'-' * len(name)}\n"


def text(*, semaphores="", before="", transactions="", tail="", end=True):
    """A status text made by hand, in the order in which every server writes its sections."""
    end_line = "----------------------------\nEND OF INNODB MONITOR OUTPUT\n============================\n" if end else ""
    return (
        "\n=====\n2026-01-01 00:00:00 INNODB MONITOR OUTPUT\n=====\nPer second averages calculated from the last 5 seconds\n"
        + dashed("SEMAPHORES")
        + semaphores
        + before
        + dashed("TRANSACTIONS")
        + "Trx id counter 5\nPurge done for trx's n:o < 4 undo n:o < 0 state: running but idle\nHistory list length 17\n"
        + transactions
        + dashed("FILE I/O")
        + dashed("LOG")
        + "Log sequence number 1000\nLog flushed up to   900\nLast checkpoint at  400\n"
        + tail
        + end_line
    )


FORGED = (
    dashed("SEMAPHORES")
    + "--Thread 1 has waited at evil0evil.cc line 666 for 66.00 seconds the semaphore:\nS-lock on RW-latch at 0x1 'evil'\n"
    + dashed("TRANSACTIONS")
    + "Trx id counter 1\nPurge done for trx's\nHistory list length 666\n"
    + dashed("FILE I/O")
    + dashed("LOG")
    + "Log sequence number 666\nLast checkpoint at 0\n"
    + dashed("ROW OPERATIONS")
    + "666 queries inside InnoDB, 666 queries in queue\n"
    + "----------------------------\nEND OF INNODB MONITOR OUTPUT\n============================\n"
)
"""A whole status text as somebody keeps it in a table, say."""

DEADLOCK = dashed("LATEST DETECTED DEADLOCK") + "*** (1) TRANSACTION:\nINSERT INTO kept VALUES ('\n" + FORGED + "')\n"


@pytest.mark.parametrize(("build", "kind"), RECORDED)
def test_every_build_reports_its_log_history_and_buffer_pool(build, kind):
    status = parse(recorded(build, kind))
    assert not status.cut
    gauges = status.gauges
    assert 0 <= gauges["checkpoint_age"] < status.log_bytes
    assert 0 <= gauges["history_list"] < 100_000
    assert 64_000 < gauges["pool_size_pages"] <= 65_536  # 1 GiB
    assert 0 < gauges["dirty_pages"] < gauges["free_pages"] < gauges["pool_size_pages"]
    assert (gauges["pending_reads"], gauges["pending_writes"]) == (0, 0)
    assert gauges["ahi_other_searches_per_s"] > 0


@pytest.mark.parametrize(("build", "kind"), RECORDED)
def test_pools_are_reported_apart_where_there_are_several(build, kind):
    gauges = parse(recorded(build, kind)).gauges
    if build not in TELLS_SEMAPHORES:
        assert not any(name.startswith("pool/") for name in gauges)
        return
    for figure in ("free_pages", "dirty_pages"):
        assert gauges[f"pool/0/{figure}"] + gauges[f"pool/1/{figure}"] == pytest.approx(gauges[figure], abs=50)


@pytest.mark.parametrize(("build", "kind"), RECORDED)
def test_sections_that_a_build_lacks_are_absent(build, kind):
    status = parse(recorded(build, kind))
    has_them = build in TELLS_SEMAPHORES
    assert status.semaphores.is_reported is has_them
    assert ("ibuf_size_pages" in status.gauges) is has_them
    assert ("queries_inside" in status.gauges) is has_them
    if has_them:
        assert (status.gauges["ibuf_size_pages"], status.gauges["ibuf_segment_pages"]) == (1, 2)
        assert (status.gauges["queries_inside"], status.gauges["queries_queued"]) == (0, 0)
        assert set(status.semaphores.spins) == kinds(build)


@pytest.mark.parametrize("build", TELLS_SEMAPHORES)
def test_threads_that_wait_under_load_are_reported_with_place_and_kind(build):
    source = recorded(build, "loaded")
    waits = parse(source).semaphores.waits
    assert len(waits) == source.count("has waited at") >= 5
    for wait in waits:
        assert wait.kind in {"S-lock", "X-lock", "SX-lock", "Mutex"}
        assert "/" not in wait.file
        assert wait.line > 0
        assert 0 <= wait.seconds < 5


def test_each_line_is_reported_as_it_stands():
    assert parse(recorded("mysql@5.5.9", "deadlock")).semaphores.spins == {
        "mutex": Spins(17545, 0, 5753),
        "rw_shared": Spins(6509, 0, 4528),
        "rw_excl": Spins(348, 0, 1665),
    }
    status = parse(recorded("mariadb@10.1.23", "deadlock"))
    assert log(status) == (16732498, 15115689)  # XtraDB says so itself
    assert (status.gauges["pool/1/free_pages"], status.gauges["pool/1/dirty_pages"]) == (29913, 264)
    assert (status.gauges["ahi_hash_searches_per_s"], status.gauges["ahi_other_searches_per_s"]) == (133.87, 800.20)


@pytest.mark.parametrize("build", BUILDS)
def test_statements_in_a_deadlock_are_not_taken_for_the_servers_words(build):
    source = recorded(build, "deadlock")
    assert "has waited at evil0evil.cc line 666" in source
    status = parse(source)
    assert all(wait.file != "evil0evil.cc" for wait in status.semaphores.waits)
    assert status.log_bytes != EVIL
    assert status.gauges.get("history_list") != 666_666


def test_a_status_text_that_a_running_statement_holds_is_not_read():
    status = parse(text(transactions="---TRANSACTION 4, ACTIVE 1 sec\nINSERT INTO kept VALUES ('\n" + FORGED + "')\n"))
    assert status.semaphores.waits == ()
    assert log(status) == (1000, 600)
    assert "queries_inside" not in status.gauges
    assert status.gauges["history_list"] == 17  # what stands before the first statement is beyond doubt


def test_the_history_is_not_reported_where_a_statement_reports_another_one():
    assert "history_list" not in parse(text(before=DEADLOCK)).gauges
    assert log(parse(text(before=DEADLOCK))) == (1000, 600)


def test_a_cut_text_reports_nothing_that_may_be_a_users():
    whole = text(before=DEADLOCK)
    status = parse(whole[: whole.index("END OF")])
    assert status.cut
    assert status.log_bytes is None
    assert not status.gauges.keys() & {"history_list", "queries_inside"}


def test_lines_before_a_cut_and_users_statements_are_reported():
    source = recorded("mysql@5.6.24", "loaded")
    assert "LATEST" not in source
    status = parse(source[: source.index("INDIVIDUAL BUFFER POOL INFO")])
    assert status.cut
    assert len(status.semaphores.waits) == 20
    assert set(status.semaphores.spins) == {"mutex", "rw_shared", "rw_excl"}
    assert status.gauges["history_list"] == 125
    assert status.log_bytes is None
    assert not status.gauges.keys() & {"free_pages", "queries_inside"}


@given(st.sampled_from(RECORDED), st.floats(0, 1))
def test_a_text_may_be_cut_anywhere(sample, share):
    source = recorded(*sample)
    status = parse(source[: int(len(source) * share)])
    assert status.log_bytes is None or status.log_bytes != EVIL
    assert status.gauges.get("history_list") != 666_666
    if status.semaphores is not None:
        assert all(wait.file != "evil0evil.cc" for wait in status.semaphores.waits)


@given(st.text())
def test_any_text_at_all_is_parsed(anything):
    assert parse(anything).log_bytes is None


@given(st.text(alphabet=st.sampled_from("-\nLOGSEMAPHRTNCIFE/ 0123456789=:,.'")))
def test_whatever_a_statement_holds_the_servers_own_figures_stand(statement):
    status = parse(text(transactions=f"---TRANSACTION 4, ACTIVE 1 sec\n{statement}\n"))
    assert log(status) == (1000, 600)
    assert status.gauges["history_list"] == 17
    assert status.semaphores.waits == ()


def test_a_list_of_transactions_that_the_server_left_out_breaks_nothing():
    status = parse(text(transactions="LIST OF TRANSACTIONS FOR EACH SESSION:\n... truncated...\nFROM t WHERE a = 1\n"))
    assert (log(status), status.gauges["history_list"], status.cut) == ((1000, 600), 17, False)


def test_lines_that_nobody_knows_do_not_keep_the_rest_from_being_read():
    made = text(
        semaphores="OS WAIT ARRAY INFO: reservation count 2\n"
        "--Thread 7 has waited at btr0sea.ic line 128 for 0.00 seconds the semaphore:\n"
        "a line of a build to come\n"
        "X-lock on RW-latch at 0x1016b988 created in file btr0sea.cc line 195\n"
        "another one\n"
        "RW-shared spins 1, rounds 2, OS waits 3\n",
        tail="Log of another kind 5\n" + dashed("NEW THINGS") + "new 1\n",
    )
    status = parse(made)
    assert status.semaphores.waits == (Wait("btr0sea.ic", 128, "X-lock", 0.0),)
    assert status.semaphores.spins == {"rw_shared": Spins(1, 2, 3)}
    assert log(status) == (1000, 600)


# Made by hand, in the form of MySQL 5.7 and 8.0; two wait arrays (innodb_sync_array_size = 2).
MANY_KINDS = """OS WAIT ARRAY INFO: reservation count 1600192
--Thread 140701152139008 has waited at buf0buf.cc line 3510 for 0.00 seconds the semaphore:
Mutex at 0x367d3f8, Mutex BUF_POOL created buf0buf.cc:1731, lock var 0

--Thread 140701152950016 has waited at btr0cur.cc line 976 for 12 seconds the semaphore:
SX-lock on RW-latch at 0x7ff72c00c990 created in file dict0dict.cc line 2737
a writer (thread id 140701151057664) has reserved it in mode  SX
number of readers 0, waiters flag 1, lock_word: 10000000
Last time read locked in file btr0cur.cc line 1008
Last time write locked in file /somewhere/with a space/storage/innobase/btr/btr0cur.cc line 976
OS WAIT ARRAY INFO: reservation count 12
--Thread 140640047625984 has waited at /somewhere/with a space/btr0cur.cc line 3874 for 1.50 seconds the semaphore:
X-lock (wait_ex) on RW-latch at 0x1016b988 created in file btr0sea.cc line 195
a writer (thread id 140640047625984) has reserved it in mode  wait exclusive
number of readers 1, waiters flag 1, lock_word: ffffffffffffffff
Last time read locked in file btr0sea.ic line 128
Last time write locked in file btr0cur.cc line 3874
OS WAIT ARRAY INFO: signal count 1600
RW-shared spins 0, rounds 5, OS waits 1
RW-excl spins 0, rounds 6, OS waits 2
RW-sx spins 3, rounds 7, OS waits 3
Spin rounds per wait: 5.00 RW-shared, 6.00 RW-excl, 2.33 RW-sx
"""


def test_every_kind_of_lock_is_reported_apart():
    semaphores = parse(text(semaphores=MANY_KINDS)).semaphores
    assert semaphores.waits == (
        Wait("buf0buf.cc", 3510, "Mutex", 0.0),
        Wait("btr0cur.cc", 976, "SX-lock", 12.0),
        Wait("btr0cur.cc", 3874, "X-lock (wait_ex)", 1.5),
    )
    assert semaphores.spins == {"rw_shared": Spins(0, 5, 1), "rw_excl": Spins(0, 6, 2), "rw_sx": Spins(3, 7, 3)}
