"""What moved with the verdict: the truth is found, luck is not, and the words say which is which."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import pytest

from dialin.evidence.why_verdict import explain
from dialin.model.evidence import Watched
from dialin.model.record import StudyRecord
from dialin.model.study import Goal
from dialin.model.trial import Purpose
from dialin.model.why import ReasonKind
from fixtures.example_evidence import (
    LOCKS,
    ORDINARY,
    Per,
    Rise,
    nothing_moved,
    room_unused,
    unseen,
    waits_moved,
    watched,
)


def moved(record: StudyRecord) -> list:
    return [one for one in explain(record).reasons if one.kind is ReasonKind.MOVED]


def codes(record: StudyRecord) -> list[str]:
    return [one.code for one in moved(record)]


def with_values(values: Mapping[str, float], per: Per = Per.TRANSACTION, name: str = "Innodb_data_fsyncs") -> StudyRecord:
    """Return the study of 1 and 16, in which 16 is faster, with one figure of its own."""
    return watched(unseen(), [*(one for one in ORDINARY if one.name != name), Rise("status", name, per, values)])


def without_raw_waits() -> StudyRecord:
    record = waits_moved()
    trials = [trial for trial in record.trials if trial.purpose is Purpose.RACE]
    return replace(record, waits={}, trials=trials)


def test_the_lock_whose_waits_went_is_the_reason() -> None:
    (reason,) = moved(without_raw_waits())
    assert reason.code == "event_waits"
    assert reason.text.startswith("hash_table_locks: 0.11 s of wait per second with 1, 0.0098 with 8 (−91.")
    assert "a wait took 4.73 µs with 1 and 1.09 µs with 8" in reason.text
    assert reason.strength > 2
    assert reason.correlation == pytest.approx(-1, abs=0.02)
    assert reason.chart is not None
    assert [len(values) for values in reason.chart.values.values()] == [5, 5]


def test_the_summary_calls_correlation_no_proof() -> None:
    text = explain(without_raw_waits()).summary
    assert "r = −0.99; correlation, not cause" in text
    assert "hash_table_locks" in text


def test_raw_waits_add_the_share_of_the_longest_to_what_clean_trials_report() -> None:
    (reason,) = moved(waits_moved())
    assert reason.text.endswith("the ten longest raw waits are 64.0 % of all with 1.")


def raw(record: StudyRecord) -> list:
    return [one for one in explain(record).reasons if one.kind is ReasonKind.RAW]


def test_raw_waits_are_no_figure_that_moved() -> None:
    record = waits_moved()
    seen = {number: {probe: _without(one) for probe, one in own.items()} for number, own in record.watched.items()}
    assert moved(replace(record, watched=seen)) == []
    assert "hash_table_locks" not in explain(replace(record, watched=seen)).summary


def test_raw_waits_are_a_reason_without_an_interval_where_clean_trials_do_not_report() -> None:
    record = waits_moved()
    seen = {number: {probe: _without(one) for probe, one in own.items()} for number, own in record.watched.items()}
    (reason,) = raw(replace(record, watched=seen))
    assert (reason.code, reason.strength, reason.correlation) == ("raw_waits", 0.0, None)
    assert "0.12 s of wait per second with 1, 0.0099 s with 8; the ten longest waits are 64.0 % of it" in reason.text
    assert "there is no interval" in reason.text


def test_raw_waits_of_one_candidate_alone_are_no_reason() -> None:
    record = waits_moved()
    first = min(record.waits)
    seen = {number: {probe: _without(one) for probe, one in own.items()} for number, own in record.watched.items()}
    assert raw(replace(record, watched=seen, waits={first: record.waits[first]})) == []


def _without(one: Watched) -> Watched:
    return replace(one, counters={name: value for name, value in one.counters.items() if LOCKS not in name})


def test_nothing_is_reported_where_nothing_moved() -> None:
    assert moved(nothing_moved()) == []
    assert explain(nothing_moved()).summary == "No metric changed, and no difference in throughput was detected."


def test_a_winner_without_a_reason_is_said_to_have_none() -> None:
    assert moved(unseen()) == []
    assert explain(unseen()).summary.startswith("No metric changed with throughput")


def test_luck_is_reported_in_no_more_studies_than_the_error_allows() -> None:
    lucky = sum(bool(moved(watched(nothing_moved(), ORDINARY, seed))) for seed in range(24))
    assert lucky <= 4  # of 24 at 5 %: more would be rarer than 1 in 100


def test_a_metric_that_follows_throughput_by_the_second_is_no_reason() -> None:
    # 16 is 19 % faster: each of these is as it was for every transaction.
    assert "event_waits" not in codes(
        watched(unseen(), [*ORDINARY, Rise("waits", "wait/synch/mutex/sql/LOCK_open/seconds", Per.TRANSACTION, {"": 5e-4})])
    )


def test_a_metric_that_goes_on_at_its_own_pace_is_no_reason() -> None:
    # Of each transaction it is less, because there are more transactions.
    assert "event_waits" not in codes(
        watched(unseen(), [*ORDINARY, Rise("waits", "wait/synch/cond/sql/COND_x/seconds", Per.SECOND, {"": 0.9}, 0.001)])
    )


def test_a_change_too_small_to_matter_is_not_reported() -> None:
    assert "data_fsyncs" not in codes(with_values({"1": 0.0002, "16": 0.004}))


def test_a_figure_that_differs_while_throughput_does_not_is_reported_as_that() -> None:
    figures = [*ORDINARY, Rise("status", "Handler_read_rnd_next", Per.TRANSACTION, {"25": 100.0, "26": 10.0})]
    why = explain(watched(room_unused(), figures))
    assert why.reasons[0].code == "rows_scanned"
    assert why.summary.startswith("No difference in throughput was detected, though ")
    assert "rows read in a scan" in why.summary


def test_a_figure_that_moved_without_the_goal_is_not_reported_of_a_winner() -> None:
    record = with_values({"": 1.0})
    high = {number for number, own in record.watched.items() if number % 2}
    seen = {
        number: {**own, "status": _times(own["status"], 40.0 if number in high else 1.0)}
        for number, own in record.watched.items()
    }
    assert "data_fsyncs" not in codes(replace(record, watched=seen))


def _times(one: Watched, factor: float) -> Watched:
    return replace(one, counters={**one.counters, "Innodb_data_fsyncs": factor * one.counters["Innodb_data_fsyncs"]})


def test_next_to_nothing_is_reported_as_it_is() -> None:
    (reason,) = moved(with_values({"1": 2.0, "16": 0.0002}))
    assert reason.text == "InnoDB data file fsyncs: 1.99 per transaction with 1, 0.0002 with 16."
    (reason,) = moved(with_values({"1": 2.0, "16": 0.0}))
    assert reason.text.endswith("1.99 per transaction with 1, none with 16.")


def test_of_one_theme_one_reason_is_reported() -> None:
    figures = [
        *(one for one in ORDINARY if "fsyncs" not in one.name),
        Rise("status", "Innodb_data_fsyncs", Per.TRANSACTION, {"1": 2.0, "16": 0.2}),
        Rise("status", "Innodb_os_log_fsyncs", Per.TRANSACTION, {"1": 1.0, "16": 0.05}),
    ]
    assert codes(watched(unseen(), figures)) == ["log_fsyncs"]


def test_strongest_come_first_and_six_are_reported() -> None:
    names = {
        "Innodb_data_fsyncs": 3.0,
        "Innodb_os_log_written": 1.5,
        "Innodb_buffer_pool_reads": 9.0,
        "Innodb_row_lock_waits": 5.0,
        "Opened_tables": 2.0,
        "Created_tmp_disk_tables": 4.0,
        "Sort_merge_passes": 7.0,
        "Select_full_join": 6.0,
    }
    figures = [Rise("status", name, Per.TRANSACTION, {"1": 500.0 * factor, "16": 500.0}) for name, factor in names.items()]
    found = moved(watched(unseen(), figures))
    assert [one.code for one in found] == [
        "pool_misses",
        "sort_passes",
        "full_joins",
        "row_lock_waits",
        "disk_tables",
        "data_fsyncs",
    ]
    assert [one.strength for one in found] == sorted((one.strength for one in found), reverse=True)


def test_for_latency_the_correlation_is_that_with_latency_itself() -> None:
    record = with_values({"1": 2.0, "16": 0.5})
    spec = record.spec.model_copy(update={"goal": Goal.LATENCY})
    (reason,) = moved(replace(record, spec=spec, verdict=None))
    assert reason.correlation is not None
    assert reason.correlation > 0.9


def test_without_a_verdict_the_candidate_furthest_from_the_baseline_is_explained() -> None:
    assert codes(replace(without_raw_waits(), verdict=None)) == ["event_waits"]


def test_one_block_is_too_little() -> None:
    record = without_raw_waits()
    why = explain(replace(record, trials=[trial for trial in record.trials if trial.block == 1], verdict=None))
    assert why.summary.startswith("One block is too little")
    assert why.reasons == []


def test_a_study_that_was_not_watched_says_so() -> None:
    why = explain(replace(without_raw_waits(), watched={}))
    assert why.summary.startswith("No probe ran")
    assert why.reasons == []


def test_a_study_without_trials_says_that_nothing_was_compared() -> None:
    assert explain(replace(without_raw_waits(), trials=[])).summary.startswith("No probe ran")
