"""Room that was never used and limits that were hit are named, whether or not candidates differ; others are not."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import pytest

from dialin.evidence.measured import of
from dialin.evidence.reasons import limits_hit, unused_capacity
from dialin.evidence.reasons.limits_hit import limits
from dialin.evidence.reasons.unused_capacity import unused
from dialin.evidence.why_verdict import explain
from dialin.model.evidence import Gauge
from dialin.model.record import StudyRecord
from dialin.model.trial import Costs
from dialin.model.why import Reason, ReasonKind
from fixtures.example_evidence import Per, Rise, nothing_moved, room_unused, watched

S, G, T = Per.SECOND, Per.GAUGE, Per.TRANSACTION
Figure = tuple[str, str, Per, float]

ROOM: dict[str, tuple[Mapping[str, str], list[Figure], list[Figure], str]] = {
    "change_buffer_unused": (
        {"innodb_buffer_pool_size": str(2**33)},
        [("innodb", "ibuf_size_pages", G, 256.0)],
        [("innodb", "ibuf_size_pages", G, 100_000.0)],
        "The change buffer never used more than 4.0 MiB of the 2.0 GiB that it may take of the buffer pool.",
    ),
    "buffer_pool_unused": (
        {"innodb_lru_scan_depth": "1024", "innodb_buffer_pool_instances": "1"},
        [("status", "Innodb_buffer_pool_pages_free", G, 50_000.0), ("status", "Innodb_buffer_pool_pages_total", G, 65_536.0)],
        [("status", "Innodb_buffer_pool_pages_free", G, 1_024.0), ("status", "Innodb_buffer_pool_pages_total", G, 1_200.0)],
        "687 MiB of the 1.0 GiB buffer pool was never used (67.1 %).",
    ),
    "query_cache_unused": (
        {"query_cache_size": "67108864", "query_cache_type": "ON"},
        [("status", "Qcache_hits", S, 0.0)],
        [("status", "Qcache_hits", S, 9.0)],
        "The query cache of 64 MiB never answered a query.",
    ),
    "key_buffer_unused": (
        {"key_buffer_size": str(2**27)},
        [("status", "Key_blocks_used", G, 1024.0)],
        [("status", "Key_blocks_used", G, 100_000.0)],
        "The key buffer never held more than 1.0 MiB of its 128 MiB.",
    ),
    "adaptive_hash_unused": (
        {"innodb_adaptive_hash_index": "ON"},
        [("innodb", "ahi_hash_searches_per_s", G, 1.0), ("innodb", "ahi_other_searches_per_s", G, 999.0)],
        [("innodb", "ahi_hash_searches_per_s", G, 500.0), ("innodb", "ahi_other_searches_per_s", G, 500.0)],
        "The adaptive hash index was on and answered 0.1 % of all searches.",
    ),
    "table_cache_unused": (
        {"table_open_cache": "4000"},
        [("status", "Open_tables", G, 40.0)],
        [("status", "Open_tables", G, 3999.0)],
        "The table cache never held more than 40.0 of its 4,000 tables.",
    ),
    "thread_cache_unused": (
        {"thread_cache_size": "100"},
        [("status", "Threads_cached", G, 2.0)],
        [("status", "Threads_cached", G, 90.0)],
        "The thread cache never held more than 2.00 of its 100 threads.",
    ),
    "redo_log_unused": (
        {"innodb_log_file_size": str(2**29), "innodb_log_files_in_group": "2"},
        [("innodb", "checkpoint_age", G, float(2**20))],
        [("innodb", "checkpoint_age", G, float(2**29))],
        "The checkpoint age never exceeded 1.0 MiB of the redo log's 1.0 GiB.",
    ),
}
"""By rule: what is in force, figures of room unused, figures of room used, the sentence."""

LIMITS: dict[str, tuple[Mapping[str, str], list[Figure], list[Figure], str]] = {
    "connections_refused": (
        {},
        [("status", "Connection_errors_max_connections", S, 2.0)],
        [("status", "Connection_errors_max_connections", S, 0.0)],
        "Connections were refused because of max_connections (2.00 per second).",
    ),
    "connections_near_limit": (
        {"max_connections": "100"},
        [("status", "Threads_connected", G, 99.0)],
        [("status", "Threads_connected", G, 20.0)],
        "99.0 % of max_connections was in use.",
    ),
    "log_buffer_full": (
        {},
        [("status", "Innodb_log_waits", S, 3.0)],
        [("status", "Innodb_log_waits", S, 0.0)],
        "The log buffer was too small: transactions waited for space in it 3.00 times per second.",
    ),
    "no_free_page": (
        {},
        [("status", "Innodb_buffer_pool_wait_free", S, 3.0)],
        [("status", "Innodb_buffer_pool_wait_free", S, 0.0)],
        "No page of the buffer pool was free 3.00 times per second: flushing did not keep up.",
    ),
    "redo_log_full": (
        {"innodb_redo_log_capacity": "100000000"},
        [("innodb", "checkpoint_age", G, 80e6)],
        [("innodb", "checkpoint_age", G, 60e6)],
        "The checkpoint age reached 102.8 % of that from which pages are flushed to free the redo log.",
    ),
    "io_capacity_max_reached": (
        {"innodb_io_capacity_max": "2000"},
        [("metrics", "buffer_pool_pages_written", S, 1900.0)],
        [("metrics", "buffer_pool_pages_written", S, 100.0)],
        "Flushing wrote 95.0 % of what innodb_io_capacity_max allows it.",
    ),
    "table_cache_full": (
        {},
        [("status", "Table_open_cache_overflows", S, 5.0)],
        [("status", "Table_open_cache_overflows", S, 0.0)],
        "The table cache was full and evicted 5.00 tables/s.",
    ),
    "open_files_near_limit": (
        {"open_files_limit": "1000"},
        [("status", "Open_files", G, 990.0)],
        [("status", "Open_files", G, 90.0)],
        "99.0 % of open_files_limit was in use.",
    ),
    "queries_queued_for_concurrency": (
        {"innodb_thread_concurrency": "8"},
        [("innodb", "queries_queued", G, 12.0)],
        [("innodb", "queries_queued", G, 0.0)],
        "innodb_thread_concurrency made up to 12.0 queries wait.",
    ),
    "temporary_tables_on_disk": (
        {},
        [("status", "Created_tmp_disk_tables", S, 30.0), ("status", "Created_tmp_tables", S, 60.0)],
        [("status", "Created_tmp_disk_tables", S, 1.0), ("status", "Created_tmp_tables", S, 60.0)],
        "50.0 % of the temporary tables went to disk.",
    ),
    "sort_buffer_full": (
        {},
        [("status", "Sort_merge_passes", T, 3.0)],
        [("status", "Sort_merge_passes", T, 0.0)],
        "Sorts did not fit sort_buffer_size: 3.00 merge passes per transaction.",
    ),
    "cpu_quota_used_up": (
        {},
        [("process", "throttled_periods", S, 6.0), ("process", "quota_periods", S, 10.0)],
        [("process", "throttled_periods", S, 0.1), ("process", "quota_periods", S, 10.0)],
        "The CPU quota of the server's container was used up in 60.0 % of its periods, and all threads waited for the next.",
    ),
    "memory_short": (
        {},
        [("machine", "pressure_memory_seconds", S, 0.2)],
        [("machine", "pressure_memory_seconds", S, 0.0)],
        "Memory was short: some task waited for it 20.0 % of the time.",
    ),
}
"""By rule: what is in force, figures at the limit, figures below it, the sentence."""


def study(in_force: Mapping[str, str], figures: list[Figure], about: str | None = None) -> StudyRecord:
    reported = [Rise(probe, name, per, {"": value}, 0.0) for probe, name, per, value in figures]
    record = watched(nothing_moved(), reported)
    if about:
        candidates = tuple(one.model_copy(update={"setting": {about: 1}}) for one in record.spec.candidates)
        record = replace(record, spec=record.spec.model_copy(update={"candidates": candidates}))
    return replace(record, trials=[replace(one, in_force={**one.in_force, **in_force}) for one in record.trials])


def reasons_of_code(code: str, record: StudyRecord) -> list[Reason]:
    return [one for one in [*unused(record, of(record)), *limits(record, of(record))] if one.code == code]


def about(code: str) -> str | None:
    return next((one.about[0] for one in unused_capacity.CAPACITIES if one.code == code and one.about), None)


def test_every_rule_is_tested_here() -> None:
    assert set(ROOM) == {one.code for one in unused_capacity.CAPACITIES}
    assert set(LIMITS) == {one.code for one in limits_hit.LIMITS} - {"purge_behind", "server_cpu_full"}


@pytest.mark.parametrize("code", sorted({**ROOM, **LIMITS}))
def test_it_is_named_with_its_figures(code: str) -> None:
    in_force, figures, _, text = {**ROOM, **LIMITS}[code]
    (reason,) = reasons_of_code(code, study(in_force, figures, about(code)))
    assert reason.text == text
    assert reason.kind is (ReasonKind.UNUSED if code in ROOM else ReasonKind.LIMIT)
    assert reason.chart is not None
    assert list(reason.chart.values) == ["1", "4", "16"]


@pytest.mark.parametrize("code", sorted({**ROOM, **LIMITS}))
def test_it_is_not_named_where_it_is_not_so(code: str) -> None:
    in_force, _, figures, _ = {**ROOM, **LIMITS}[code]
    assert reasons_of_code(code, study(in_force, figures, about(code))) == []


@pytest.mark.parametrize("code", sorted(code for code in ROOM if about(code)))
def test_a_small_cost_is_named_only_where_a_study_is_about_it(code: str) -> None:
    in_force, figures, _, _ = ROOM[code]
    assert reasons_of_code(code, study(in_force, figures)) == []


@pytest.mark.parametrize(("variable", "share"), [("innodb_redo_log_capacity", 0.778), ("innodb_log_file_size", 0.709)])
def test_the_redo_log_counts_as_full_from_the_age_at_which_the_source_of_the_build_forces_flushing(variable, share) -> None:
    def said(age: float) -> list[str]:
        return [
            one.text
            for one in reasons_of_code("redo_log_full", study({variable: "100000000"}, [("innodb", "checkpoint_age", G, age)]))
        ]

    assert said(1e8 * (share - 0.002)) == []
    assert len(said(1e8 * (share + 0.002))) == 1


def test_of_a_log_that_may_be_recommended_it_is_not_said_that_it_is_too_small() -> None:
    (text,) = [
        one.text
        for one in reasons_of_code(
            "redo_log_full", study({"innodb_redo_log_capacity": "100000000"}, [("innodb", "checkpoint_age", G, 9e7)])
        )
    ]
    assert "small" not in text


def test_a_limit_that_some_candidates_hit_names_them() -> None:
    reported = [Rise("status", "Innodb_log_waits", S, {"4": 3.0, "16": 9.0}, 0.0)]
    (reason,) = reasons_of_code("log_buffer_full", watched(nothing_moved(), reported))
    assert reason.text.endswith("9.00 times per second, with 4 and 16.")


def test_room_used_in_one_trial_alone_was_used() -> None:
    record = room_unused()
    first = record.trials[0]
    own = record.watched[first.id]
    pages = replace(own["innodb"], gauges={"ibuf_size_pages": Gauge(0.0, 0.0, 0.0, 120_000.0, 0.0)})
    (reason,) = reasons_of_code(
        "change_buffer_unused", replace(record, watched={**record.watched, first.id: {**own, "innodb": pages}})
    )
    other = next(name for name in ("25", "26") if name != first.candidate)
    assert reason.text.endswith(f", with {other}.")


def test_they_stand_behind_what_moved_and_hold_without_a_difference() -> None:
    found = explain(room_unused()).reasons
    assert [(one.kind, one.code) for one in found] == [
        (ReasonKind.UNUSED, "change_buffer_unused"),
        (ReasonKind.LIMIT, "log_buffer_full"),
    ]


def test_purge_that_falls_behind_is_named() -> None:
    record = study({}, [("innodb", "history_list", G, 1.0)])
    seen = {
        number: {"innodb": replace(own["innodb"], gauges={"history_list": Gauge(1e3, 61_000.0, 1e3, 61_000.0, 3e4)})}
        for number, own in record.watched.items()
    }
    (reason,) = reasons_of_code("purge_behind", replace(record, watched=seen))
    assert reason.text == "Purge did not keep up: the history list grew by 1.13 per transaction."


def test_a_server_that_fills_the_cpus_it_was_given_is_named() -> None:
    record = nothing_moved()
    trials = [replace(one, costs=Costs(10.0, 1.0, 39.0, 40.0, 8, 4)) for one in record.trials]
    spec = record.spec.model_copy(update={"server_cpus": "0-3"})
    (reason,) = reasons_of_code("server_cpu_full", replace(record, trials=trials, spec=spec))
    assert reason.text == "The server used 97.5 % of the CPUs that it may use."
    assert reasons_of_code("server_cpu_full", replace(record, trials=trials)) == []
