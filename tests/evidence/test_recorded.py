"""Reasons of studies that ran on real servers, from what the store recorded of them."""

from __future__ import annotations

import pytest

from dialin.evidence.why_verdict import explain
from dialin.model.why import ReasonKind, Why
from evidence.recording import RECORDED, load


def codes(why: Why) -> list[str]:
    return [one.code for one in why.reasons]


def text(why: Why, code: str) -> str:
    return next(one.text for one in why.reasons if one.code == code)


@pytest.mark.parametrize("name", sorted(path.stem for path in RECORDED.glob("*.json")))
def test_every_recorded_study_can_be_explained(name: str) -> None:
    why = explain(load(name))
    assert why.summary.endswith(".")
    assert {cost.name for cost in why.costs} >= {"server CPU", "client CPU", "context switches"}
    strengths = [one.strength for one in why.reasons if one.kind is ReasonKind.MOVED]
    assert strengths == sorted(strengths, reverse=True)
    assert Why.model_validate_json(why.model_dump_json(by_alias=True)) == why


def test_a_log_that_is_not_flushed_at_each_commit_saves_fsyncs() -> None:
    # mysql@9.7.4, oltp_update_non_index, innodb_flush_log_at_trx_commit 1 and 2
    why = explain(load("flush"))
    assert codes(why)[:2] == ["log_fsyncs", "event_waits"]
    assert text(why, "log_fsyncs").startswith("Redo log fsyncs: 0.2 per transaction with 1, 0.0019 with 2")
    assert text(why, "event_waits").startswith(
        "innodb/innodb_log_file: 0.64 s of wait per second with 1, 0.042 with 2 (−93.4 %"
    )
    assert "r = −0.97" in why.summary


def test_a_pool_that_holds_the_data_saves_reads() -> None:
    # mariadb@10.11.19, oltp_read_only, innodb_buffer_pool_size 16M and 256M; its performance schema was off
    why = explain(load("pool"))
    assert codes(why)[:2] == ["read_calls", "pool_misses"]
    assert text(why, "pool_misses").endswith("4.41 per transaction with 16M, none with 256M.")
    assert "254 MiB buffer pool was never used (70.6 %), with 256M" in text(why, "buffer_pool_unused")


def test_a_winner_by_luck_has_no_reason() -> None:
    # mysql@5.6.24, oltp_point_select, table_definition_cache 1000 and 2000, on a machine that others disturbed: the verdict
    # claims a winner that is none, as 5 % of verdicts may.
    record = load("same")
    assert record.verdict is not None
    assert record.verdict.recommended_candidate == "2000"
    why = explain(record)
    assert [one for one in why.reasons if one.kind is ReasonKind.MOVED] == []
    assert why.summary.startswith("No metric changed with throughput")


def test_larger_reads_bring_the_same_bytes_in_fewer_calls() -> None:
    # mysql@5.6.24, full scan of a MyISAM table of 64 MiB, cold, read_buffer_size 128K and 2M
    why = explain(load("scan"))
    assert text(why, "file_read_size").startswith(
        "Reads of myisam/dfile: 128 KiB per call with 128K, 2.0 MiB with 2M (15.7 times as much"
    )
    assert "the same bytes, a sixteenth of the calls, no detectable difference in time with 2M" in text(why, "file_read_size")
    assert " per run with 128K" in text(why, "read_calls")
    reads = next(one for one in why.costs if one.name == "reads")
    assert reads.per_query == reads.per_transaction


def test_raw_waits_of_a_real_trial_are_reported_with_what_collecting_cost() -> None:
    # mysql@5.6.24, oltp_read_only, innodb_buffer_pool_instances 1, 2 and 4, --waits hash_table_locks
    why = explain(load("raw"))
    waited = {one.candidate: one for one in why.waits if one.operation == "(all)"}
    assert {name: one.count for name, one in waited.items()} == {"1": 1_106_356, "2": 1_253_952, "4": 1_389_754}
    assert all(one.instrument == "wait/synch/rwlock/innodb/hash_table_locks" for one in waited.values())
    assert all(one.p50_ns < one.mean_ns < one.p99_ns < one.max_ns for one in waited.values())
    assert all(sum(one.histogram) == one.count for one in waited.values())
    assert [(one.candidate, one.lost) for one in why.wait_trials] == [("1", 0), ("2", 0), ("4", 0)]
    assert all(0 < (one.slowdown or 0.0) < 0.5 for one in why.wait_trials)


def test_semaphores_of_a_real_server_are_reported_by_place_and_kind() -> None:
    semaphores = explain(load("raw")).semaphores
    assert [(one.place, one.lock) for one in semaphores.places] == [
        ("row0sel.cc:3926", "S-lock"),
        ("btr0sea.cc:658", "X-lock (wait_ex)"),
    ]
    assert [one.kind for one in semaphores.spins] == ["mutex", "rw_shared", "rw_excl"]
    assert all(rate > 0 for one in semaphores.spins for rate in one.os_waits.values())


def test_a_real_study_of_several_thread_counts_shows_how_each_candidate_scales() -> None:
    # mysql@5.6.24, cold scans of a MyISAM table by 1, 4 and 16 threads
    scaling = explain(load("levels")).scaling
    assert [one.candidate for one in scaling] == ["8200", "32K", "128K", "2M", "8M"]
    assert all([point.threads for point in one.points] == [1, 4, 16] for one in scaling)
    eight = scaling[0].points
    assert [round(point.tps.mean, 1) for point in eight] == [6.8, 11.2, 11.0]  # scans over their time
    assert all(one.usl is None for one in scaling)  # three counts are too few for a curve


def test_of_what_moved_in_a_real_study_six_are_reported_and_every_limit() -> None:
    # mysql@5.6.24, large rows written with a pool of 8 MiB, a log buffer of 256 KiB and a redo log of 32 MiB, or with far more
    why = explain(load("writes"))
    reported = [one.code for one in why.reasons if one.kind is ReasonKind.MOVED]
    assert len(reported) == 6
    assert {"doublewrites", "read_calls"} <= set(reported)
    assert [one.code for one in why.reasons if one.kind is ReasonKind.LIMIT] == [
        "log_buffer_full",
        "no_free_page",
        "redo_log_full",
    ]
