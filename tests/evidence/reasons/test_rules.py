"""Each rule finds what it looks for, and nothing where that is alike."""

from __future__ import annotations

from dataclasses import replace

import pytest

from dialin.evidence.measured import of
from dialin.evidence.reasons import machine_rules, server_rules, wait_rules
from dialin.evidence.reasons.significance import all_changes, choose_pair, strongest
from dialin.evidence.why_verdict import explain
from dialin.model.record import StudyRecord
from dialin.model.why import ReasonKind
from fixtures.all_rules import WAIT_RULES
from fixtures.example_evidence import Per, Rise, unseen, watched

T, S, G = Per.TRANSACTION, Per.SECOND, Per.GAUGE

MOVES: dict[str, list[tuple[str, str, Per, float, float]]] = {
    "log_fsyncs": [("status", "Innodb_os_log_fsyncs", T, 1.0, 0.1)],
    "log_write_calls": [("status", "Innodb_log_writes", T, 1.0, 0.1)],
    "log_bytes": [("innodb", "log_bytes", T, 9000.0, 900.0)],
    "log_waits": [("status", "Innodb_log_waits", T, 1.0, 0.1)],
    "data_fsyncs": [("status", "Innodb_data_fsyncs", T, 1.0, 0.1)],
    "doublewrites": [("status", "Innodb_dblwr_writes", T, 1.0, 0.1)],
    "checkpoint_age": [("innodb", "checkpoint_age", G, 80e6, 8e6)],
    "pool_misses": [("status", "Innodb_buffer_pool_reads", T, 5.0, 0.5)],
    "pages_read": [("status", "Innodb_pages_read", T, 5.0, 0.5)],
    "read_ahead": [("status", "Innodb_buffer_pool_read_ahead", T, 5.0, 0.5)],
    "page_requests": [("status", "Innodb_buffer_pool_read_requests", T, 500.0, 50.0)],
    "wait_free": [("status", "Innodb_buffer_pool_wait_free", T, 1.0, 0.1)],
    "pages_flushed": [("metrics", "buffer_pool_pages_written", T, 5.0, 0.5)],
    "dirty_pages": [
        ("status", "Innodb_buffer_pool_pages_dirty", G, 500.0, 50.0),
        ("status", "Innodb_buffer_pool_pages_total", G, 1000.0, 1000.0),
    ],
    "adaptive_hash": [
        ("metrics", "adaptive_hash_searches", T, 10.0, 90.0),
        ("metrics", "adaptive_hash_searches_btree", T, 90.0, 10.0),
    ],
    "tree_searches": [("status", "Innodb_adaptive_hash_non_hash_searches", T, 90.0, 10.0)],
    "change_buffer_merges": [("metrics", "ibuf_merges", T, 1.0, 0.1)],
    "row_lock_waits": [("status", "Innodb_row_lock_waits", T, 1.0, 0.1)],
    "row_lock_time": [("status", "Innodb_row_lock_time", T, 20.0, 2.0)],
    "table_lock_waits": [("status", "Table_locks_waited", T, 1.0, 0.1)],
    "queries_queued": [("innodb", "queries_queued", G, 20.0, 2.0)],
    "threads_running": [("status", "Threads_running", G, 20.0, 2.0)],
    "table_cache_misses": [("status", "Table_open_cache_misses", T, 1.0, 0.1)],
    "opened_tables": [("status", "Opened_tables", T, 1.0, 0.1)],
    "threads_created": [("status", "Threads_created", T, 1.0, 0.1)],
    "disk_tables": [("status", "Created_tmp_disk_tables", T, 1.0, 0.1)],
    "memory_tables": [("status", "Created_tmp_tables", T, 1.0, 0.1)],
    "sort_passes": [("status", "Sort_merge_passes", T, 1.0, 0.1)],
    "rows_scanned": [("status", "Handler_read_rnd_next", T, 100.0, 10.0)],
    "rows_by_index": [("status", "Handler_read_key", T, 100.0, 10.0)],
    "rows_in_order": [("status", "Handler_read_next", T, 100.0, 10.0)],
    "full_joins": [("status", "Select_full_join", T, 1.0, 0.1)],
    "query_cache_hits": [("status", "Qcache_hits", T, 1.0, 0.1)],
    "binlog_spills": [("status", "Binlog_cache_disk_use", T, 1.0, 0.1)],
    "key_reads": [("status", "Key_reads", T, 1.0, 0.1)],
    "page_cache_reads": [("status", "Aria_pagecache_reads", T, 1.0, 0.1)],
    "server_cpu": [("process", "server_cpu_user", T, 3e-3, 1e-3), ("process", "server_cpu_system", T, 1e-4, 1e-4)],
    "system_cpu": [("process", "server_cpu_system", T, 3e-3, 1e-3)],
    "context_switches": [("process", "voluntary_switches", T, 30.0, 3.0)],
    "read_size": [("process", "read_chars", T, 2e6, 2e6), ("process", "read_calls", T, 160.0, 10.0)],
    "read_calls": [("process", "read_calls", T, 160.0, 10.0)],
    "write_calls": [("process", "write_calls", T, 160.0, 10.0)],
    "bytes_from_disk": [("process", "read_bytes", T, 1e6, 1e5)],
    "bytes_to_disk": [("process", "write_bytes", T, 1e6, 1e5)],
    "minor_faults": [("process", "minor_faults", T, 160.0, 10.0)],
    "major_faults": [("process", "major_faults", S, 160.0, 10.0)],
    "resident_memory": [("process", "resident_bytes", G, 1e9, 3e9)],
    "disk_read_time": [("machine", "disk_reads", T, 1.0, 1.0), ("machine", "disk_read_seconds", T, 0.01, 0.001)],
    "disk_write_time": [("machine", "disk_writes", T, 1.0, 1.0), ("machine", "disk_write_seconds", T, 0.01, 0.001)],
    "disk_busy": [("machine", "disk_busy_seconds", S, 0.9, 0.1)],
    "io_pressure": [("machine", "pressure_io_seconds", S, 0.9, 0.1)],
    "memory_pressure": [("machine", "pressure_memory_seconds", S, 0.9, 0.1)],
    "cpu_pressure": [("machine", "pressure_cpu_seconds", S, 0.9, 0.1)],
    "run_queue": [("machine", "run_queue", G, 30.0, 3.0)],
    "emptiest_instance": [
        ("innodb", "pool/0/free_pages", G, 900.0, 90.0),
        ("innodb", "pool/1/free_pages", G, 1000.0, 1000.0),
        ("innodb", "pool_size_pages", G, 4000.0, 4000.0),
    ],
    "steal": [("machine", "steal_seconds", S, 0.5, 0.05)],
    "semaphore_waits": [("innodb", "semaphore_seen/btr0sea.cc:122/S-lock", S, 3.0, 0.1)],
    "lock_spins": [("innodb", "spin/rw_shared/rounds", T, 500.0, 20.0)],
    "lock_os_waits": [("innodb", "spin/mutex/os_waits", T, 5.0, 0.2)],
    "mutex_os_waits": [("mutex", "log0log.cc:775/os_waits", T, 5.0, 0.2)],
    "event_waits": [("waits", "wait/synch/mutex/innodb/trx_sys_mutex/seconds", S, 3.0, 0.1)],
    "file_syncs": [("waits", "file/wait/io/file/innodb/innodb_log_file/others", T, 1.0, 0.1)],
    "file_read_size": [
        ("waits", "file/wait/io/file/myisam/dfile/reads", T, 160.0, 10.0),
        ("waits", "file/wait/io/file/myisam/dfile/read_bytes", T, 2e6, 2e6),
    ],
    "rows_examined": [("statements", "SELECT ?/rows_examined", T, 1000.0, 100.0)],
}
"""By rule: probe, name, what it goes by, its value with 1 and with 16, which is 19 % faster."""

_IN_FORCE = {"innodb_redo_log_capacity": "100000000"}


def study(reported: list[Rise]) -> StudyRecord:
    record = watched(unseen(), reported)
    return replace(record, trials=[replace(one, in_force={**one.in_force, **_IN_FORCE}) for one in record.trials])


def figures(code: str, *, alike: bool = False) -> list[Rise]:
    return [
        Rise(probe, name, per, {"1": before, "16": before if alike else after})
        for probe, name, per, before, after in MOVES[code]
    ]


def every_code() -> set[str]:
    fixed = {rule.code for rule in (*server_rules.RULES, *machine_rules.RULES)}
    return (fixed | set(WAIT_RULES)) - {"purge_lag"}


def found_by(code: str, record: StudyRecord) -> list:
    found = of(record)
    compared = choose_pair(record, found)
    assert compared is not None
    rules = [*server_rules.RULES, *machine_rules.RULES, *wait_rules.rules(found)]
    return strongest(all_changes([rule for rule in rules if rule.code == code], record, found, compared))


def test_every_rule_is_tested_here() -> None:
    assert set(MOVES) == every_code()


@pytest.mark.parametrize("code", sorted(MOVES))
def test_a_rule_finds_what_it_looks_for(code: str) -> None:
    (reason,) = found_by(code, study(figures(code)))
    assert reason.kind is ReasonKind.MOVED
    assert reason.source
    assert " with 1, " in reason.text
    assert reason.text.endswith(".")


@pytest.mark.parametrize("code", sorted(MOVES))
def test_a_rule_reports_nothing_of_what_is_alike(code: str) -> None:
    assert found_by(code, study(figures(code, alike=True))) == []


def test_a_history_list_that_grows_is_reported() -> None:
    record = study(figures("log_bytes"))
    seen = {}
    for trial in record.trials:
        own = record.watched[trial.id]
        growth = (40_000 if trial.candidate == "1" else 4_000) * (1 + 0.01 * (trial.id % 3))
        gauge = replace(_gauge(), first=1000.0, last=1000.0 + growth)
        seen[trial.id] = {**own, "innodb": replace(own["innodb"], gauges={"history_list": gauge})}
    (reason,) = found_by("purge_lag", replace(record, watched=seen))
    assert "1,008 undo logs per second with 1, 101 with 16" in reason.text


def _gauge():
    from dialin.model.evidence import Gauge

    return Gauge(0.0, 0.0, 0.0, 0.0, 0.0)


def test_larger_reads_are_reported_with_their_calls_and_their_time() -> None:
    record = study(figures("read_size"))
    (reason,) = found_by("read_size", record)
    assert reason.text.startswith("Reads of files: 12 KiB per call with 1, 196 KiB with 16 (16.1 times as much; 15.5 to 16.8)")
    assert "; the same bytes, a sixteenth of the calls, 15." in reason.text
    assert reason.text.endswith(" % less time with 16.")


def test_names_from_outside_are_made_visible() -> None:
    name = "semaphore_seen/evil\x1b[31m.cc:1/S-lock"
    (reason,) = explain(study([Rise("innodb", name, S, {"1": 3.0, "16": 0.1})])).reasons
    assert "\x1b" not in reason.text
    assert "\x1b" not in reason.chart.title


def test_instances_that_are_more_and_smaller_but_as_empty_are_no_reason() -> None:
    sizes = {"1": 2, "16": 4}
    record = study(figures("log_bytes"))
    seen = {}
    for trial in record.trials:
        own = record.watched[trial.id]
        many = sizes[trial.candidate]
        free = {f"pool/{number}/free_pages": replace(_gauge(), least=8000.0 * 0.5 / many) for number in range(many)}
        gauges = {**free, "pool_size_pages": replace(_gauge(), most=8000.0)}
        seen[trial.id] = {**own, "innodb": replace(own["innodb"], gauges=gauges)}
    assert found_by("emptiest_instance", replace(record, watched=seen)) == []
