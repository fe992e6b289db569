"""Each rule finds what it looks for in a study of a real server, or it is said here why it cannot.

`studies/` holds what was run, each in a minute or three: `dialin run studies/NAME/study.toml --out DIR`, then
`python tests/evidence/recording.py DIR NAME`.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path

import pytest

from dialin.evidence import measured, waits
from dialin.evidence.reasons import machine_rules, server_rules, wait_rules
from dialin.evidence.reasons.limits_hit import limits
from dialin.evidence.reasons.raw_wait_reasons import raw_reasons
from dialin.evidence.reasons.significance import all_changes, choose_pair
from dialin.evidence.reasons.unused_capacity import unused
from dialin.model.why import Reason, ReasonKind
from evidence.recording import RECORDED, load
from fixtures.all_rules import every

STUDIES = Path(__file__).parent / "studies"

FIRES: dict[str, tuple[str, str]] = {
    "log_fsyncs": ("flush", "Redo log fsyncs: 0.2 per transaction with 1, 0.0019 with 2."),
    "log_write_calls": ("flush", "Writes of the redo log: 0.41 per transaction with 1, 1.92 with 2"),
    "log_bytes": ("isolation", "Redo log written: 3.9 KiB per transaction with repeatable, 6.4 KiB with committed"),
    "log_waits": ("writes", "Log buffer waits: 0.017 per transaction with tight, none with roomy."),
    "data_fsyncs": ("flush", "InnoDB data file fsyncs: 0.21 per transaction with 1, 0.0063 with 2"),
    "doublewrites": ("writes", "Doublewrite operations: 18.2 per transaction with tight, 0.0082 with roomy."),
    "checkpoint_age": ("writes", "Checkpoint age: 32.9 % of the redo log on average with tight, 59.7 % with roomy"),
    "pool_misses": ("pool", "Buffer pool misses: 4.41 per transaction with 16M, none with 256M."),
    "pages_read": ("pool", "Pages read from disk: 4.41 per transaction with 16M, none with 256M."),
    "read_ahead": ("reads", "Pages read ahead: 141 per transaction with tight, none with roomy."),
    "page_requests": ("plans", "Buffer pool read requests: 51.2 per transaction with without, 87.8 with with"),
    "emptiest_instance": (
        "instances",
        "Lowest free share of the emptiest buffer pool instance: 80.3 % of its pages with eager, 55.0 % with lazy",
    ),
    "wait_free": ("writes", "Waits for a free page: 20.0 per transaction with tight, none with roomy."),
    "pages_flushed": ("writes", "Pages flushed from the buffer pool: 18.1 per transaction with tight, 0.79 with roomy"),
    "dirty_pages": ("flushing", "Dirty pages: 2.9 % of the buffer pool on average with eager, 3.7 % with lazy"),
    "adaptive_hash": ("reads", "Searches answered by the adaptive hash index: 0.0 % of all with tight, 13.8 % with roomy."),
    "tree_searches": ("writes", "B-tree searches: 35.6 per transaction with tight, 23.9 with roomy"),
    "change_buffer_merges": ("writes", "Change buffer merges: 0.73 per transaction with tight, none with roomy."),
    "row_lock_waits": ("isolation", "Row lock waits: 0.87 per transaction with repeatable, 0.00053 with committed."),
    "row_lock_time": ("isolation", "Row lock wait time: 68.9 ms per transaction with repeatable, 0.00053 with committed."),
    "table_lock_waits": ("indexes", "Table lock waits: 0.63 per transaction with tight, 0.25 with roomy"),
    "purge_lag": ("isolation", "Growth of the history list: 764 undo logs per second with repeatable, 3.17 with committed."),
    "queries_queued": ("concurrency", "Queries queued for InnoDB: 0 on average with all, 15.6 with one."),
    "threads_running": ("concurrency", "Running threads: 21.1 on average with all, 13.2 with one"),
    "table_cache_misses": ("tables", "Tables not in the cache: 0.29 per transaction with 500, none with 6000."),
    "opened_tables": ("tables", "Tables opened: 0.29 per transaction with 500, none with 6000."),
    "threads_created": ("connections", "Threads created: 1.72 per transaction with tight, 0.002 with roomy."),
    "disk_tables": ("queries", "Temporary tables on disk: 1.07 per transaction with tight, none with roomy."),
    "memory_tables": ("plans", "Temporary tables: 1.00 per transaction with without, 0.0017 with with."),
    "sort_passes": ("queries", "Sort merge passes: 2.00 per transaction with tight, 1 with roomy"),
    "rows_scanned": ("plans", "Rows read in a scan: 3,004 per transaction with without, 1.25 with with."),
    "rows_by_index": ("plans", "Rows found through an index: 3.07 per transaction with without, 12.0 with with"),
    "rows_in_order": ("plans", "Rows read in index order: 10.1 per transaction with without, 25.0 with with"),
    "full_joins": ("plans", "Joins without an index: 1 per transaction with without, none with with."),
    "query_cache_hits": ("connections", "Query cache hits: 0 per transaction with tight, 3.05 with roomy."),
    "binlog_spills": (
        "writes",
        "Transactions too large for the binary log cache: 0.93 per transaction with tight, none with roomy.",
    ),
    "key_reads": ("indexes", "Index blocks read from disk: 2.81 per transaction with tight, 0.00032 with roomy."),
    "page_cache_reads": ("indexes", "Pages of Aria read from disk: 52.6 per transaction with tight, none with roomy."),
    "server_cpu": ("plans", "Server CPU: 714 µs per transaction with without, 241 with with"),
    "system_cpu": ("tables", "Server system CPU: 20.1 µs per transaction with 500, 7.61 with 6000"),
    "context_switches": ("connections", "Server context switches: 1.68 per transaction with tight, 19.6 with roomy"),
    "read_size": ("scan", "Reads of files: 125 KiB per call with 128K, 1.5 MiB with 2M"),
    "read_calls": ("pool", "Read syscalls: 4.42 per transaction with 16M, 0.00011 with 256M."),
    "write_calls": ("flush", "Write syscalls: 0.67 per transaction with 1, 2.88 with 2"),
    "bytes_from_disk": ("pool", "Data read from disk: 71 KiB per transaction with 16M, none with 256M."),
    "bytes_to_disk": ("writes", "Data written to disk: 1001 KiB per transaction with tight, 144 KiB with roomy"),
    "minor_faults": ("bound", "Server page faults: 3.29 per run with 128K, 9,338 with 48M."),
    "major_faults": ("mapped", "Major page faults: 0 per second with OFF, 3,909 with ON."),
    "resident_memory": ("tables", "Server memory (RSS): 143 MiB resident on average with 500, 549 MiB with 6000"),
    "disk_read_time": ("writes", "Disk read time: 0.096 ms with tight, 0.5 with roomy"),
    "disk_write_time": ("writes", "Disk write time: 0.18 ms with tight, 0.86 with roomy"),
    "disk_busy": ("writes", "Disk busy: 43.8 % of the time with tight, 6.9 % with roomy"),
    "io_pressure": ("writes", "Some task waited for a disk: 24.9 % of the time with tight, 2.6 % with roomy"),
    "cpu_pressure": ("paced", "Some task waited for a CPU: 91.3 % of the time with without, 21.5 % with with"),
    "run_queue": ("paced", "Tasks running or waiting for a CPU: 13.4 on average with without, 2.56 with with"),
    "semaphore_waits": ("writes", "Semaphore at btr0cur.cc:545"),
    "lock_spins": ("concurrency", "InnoDB mutexes: spin rounds: 17.6 per transaction with all, none with one."),
    "lock_os_waits": ("writes", "InnoDB exclusive locks: OS waits: 9.63 per transaction with tight, 0.047 with roomy."),
    "mutex_os_waits": ("writes", "dict0dict.cc:2606: os waits: 12.5 per transaction with tight, 0.059 with roomy."),
    "event_waits": ("flush", "innodb/innodb_log_file: 0.64 s of wait per second with 1, 0.042 with 2"),
    "file_syncs": ("flush", "Syncs of innodb/innodb_log_file: 0.21 per transaction with 1, 0.0041 with 2."),
    "file_read_size": ("scan", "Reads of myisam/dfile: 128 KiB per call with 128K, 2.0 MiB with 2M"),
    "rows_examined": ("plans", "Rows examined by statements: 2,979 per transaction with without, 26.2 with with."),
    "raw_waits": ("concurrency", "btr_search_latch: 3.67 s of wait per second with all, 0.033 s with one"),
    "change_buffer_unused": (
        "raw",
        "The change buffer never used more than 16 KiB of the 256 MiB that it may take of the buffer pool.",
    ),
    "buffer_pool_unused": ("pool", "179 MiB of the 254 MiB buffer pool was never used"),
    "query_cache_unused": ("tables", "The query cache of 1.0 MiB never answered a query."),
    "key_buffer_unused": ("tables", "The key buffer never held more than 700 KiB of its 128 MiB."),
    "adaptive_hash_unused": ("queries", "The adaptive hash index was on and answered 0.6 % of all searches."),
    "table_cache_unused": ("tables", "The table cache never held more than 760 of its 6,000 tables, with 6000."),
    "thread_cache_unused": ("connections", "The thread cache never held more than 50.0 of its 200 threads, with roomy."),
    "redo_log_unused": (
        "reads",
        "The checkpoint age never exceeded 20 B of the redo log's 128 MiB.",
    ),
    "connections_refused": ("connections", "Connections were refused because of max_connections"),
    "connections_near_limit": ("connections", "100.0 % of max_connections was in use, with tight."),
    "log_buffer_full": (
        "writes",
        "The log buffer was too small: transactions waited for space in it 1.03 times per second, with tight.",
    ),
    "no_free_page": (
        "writes",
        "No page of the buffer pool was free 1,206 times per second: flushing did not keep up, with tight.",
    ),
    "redo_log_full": (
        "writes",
        "The checkpoint age reached 106.9 % of that from which pages are flushed to free the redo log, with roomy.",
    ),
    "io_capacity_max_reached": ("flushing", "Flushing wrote 87.5 % of what innodb_io_capacity_max allows it, with eager."),
    "table_cache_full": ("tables", "The table cache was full and evicted 2,007 tables/s, with 500."),
    "open_files_near_limit": ("tables", "95.7 % of open_files_limit was in use, with 500."),
    "queries_queued_for_concurrency": ("concurrency", "innodb_thread_concurrency made up to 26.7 queries wait, with one."),
    "purge_behind": (
        "isolation",
        "Purge did not keep up: the history list grew by 9.63 per transaction, with repeatable.",
    ),
    "temporary_tables_on_disk": ("queries", "100.0 % of the temporary tables went to disk, with tight."),
    "sort_buffer_full": ("queries", "Sorts did not fit sort_buffer_size: 2.00 merge passes per transaction."),
    "server_cpu_full": ("paced", "The server used 98.9 % of the CPUs that it may use, with without."),
    "cpu_quota_used_up": ("quota", "The CPU quota of the server's container was used up in 43.3 % of its periods"),
    "memory_short": ("queries", "Memory was short: some task waited for it 6.1 % of the time."),
}
"""By rule: the recording in which it fires, and what it says there.

Compilers ran beside most of these studies. `memory_short` is theirs: the study itself takes hardly any memory.
"""

NOT_STAGED: dict[str, str] = {
    "steal": "a hypervisor takes what it takes; nothing that a study sets moves it",
    "memory_pressure": "a candidate would have to take the machine's memory from everybody on it",
}
"""By rule: why no study was made in which it fires."""

WATCHED: dict[str, tuple[str, int, float]] = {
    "steal": ("indexes", 6, 0.010),
    "memory_pressure": ("queries", 8, 0.168),
}
"""By rule that was not staged: a recorded trial, and the figure that the rule finds in it."""


@cache
def fired(name: str) -> dict[str, list[Reason]]:
    """Return all reasons of a recording by their rule, those included that `explain` leaves out for stronger ones."""
    record = load(name)
    found = measured.of(record)
    compared = choose_pair(record, found)
    assert compared is not None
    rules = [*server_rules.RULES, *machine_rules.RULES, *wait_rules.rules(found)]
    reasons = [reason for _, reason in all_changes(rules, record, found, compared)]
    reasons += [*raw_reasons(waits.summaries(record), compared), *unused(record, found), *limits(record, found)]
    by_rule: dict[str, list[Reason]] = {}
    for reason in reasons:
        by_rule.setdefault(reason.code, []).append(reason)
    return by_rule


def test_every_rule_is_held_against_a_real_study_or_it_is_said_why_not() -> None:
    assert sorted([*FIRES, *NOT_STAGED]) == sorted(code for code, *_ in every())


@pytest.mark.parametrize("code", sorted(FIRES))
def test_a_rule_fires_in_a_real_study(code: str) -> None:
    name, beginning = FIRES[code]
    found = fired(name).get(code, [])
    assert [reason.text for reason in found if reason.text.startswith(beginning)], [reason.text for reason in found]
    kind = next(kind for one, kind, *_ in every() if one == code)
    assert {reason.kind for reason in found} == {kind}


@pytest.mark.parametrize("code", sorted(FIRES))
def test_metrics_that_moved_in_a_real_study_moved_with_its_goal(code: str) -> None:
    name, _ = FIRES[code]
    record = load(name)
    compared = choose_pair(record, measured.of(record))
    for reason in fired(name)[code]:
        if reason.kind is ReasonKind.MOVED and compared and compared.differ:
            assert abs(reason.correlation or 0.0) >= 0.5, reason.text


@pytest.mark.parametrize("code", sorted(NOT_STAGED))
def test_a_rule_that_was_not_staged_fires_in_no_recording(code: str) -> None:
    assert [path.stem for path in RECORDED.glob("*.json") if code in fired(path.stem)] == []


@pytest.mark.parametrize("code", sorted(NOT_STAGED))
def test_a_rule_that_was_not_staged_finds_its_figure_in_a_real_trial(code: str) -> None:
    name, trial, figure = WATCHED[code]
    rule = next(one for one in (*server_rules.RULES, *machine_rules.RULES) if one.code == code)
    (found,) = (one for one in measured.of(load(name)) if one.trial.id == trial)
    assert rule.of(found) == pytest.approx(figure, rel=0.01)


def test_every_study_that_was_made_for_this_is_recorded() -> None:
    made = {path.name for path in STUDIES.iterdir()}
    assert made <= {path.stem for path in RECORDED.glob("*.json")}
    assert all((STUDIES / name / "study.toml").is_file() for name in made)
