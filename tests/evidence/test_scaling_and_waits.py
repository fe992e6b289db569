"""Throughput by number of threads, raw waits by candidate, and what watching cost."""

from __future__ import annotations

from dataclasses import replace

import pytest

from dialin.evidence import latencies, measured
from dialin.evidence.cost import probe_costs
from dialin.evidence.waits import summaries, wait_trials
from dialin.model.evidence import ProbeNote, ProbeNoteCode
from dialin.model.trial import Purpose, TrialState
from dialin.model.verdict import Estimate
from fixtures.evidence_of import of_record
from fixtures.example_evidence import LAW, LOCKS, levels, nothing_moved, waits_moved

scaling = of_record(latencies.scaling)
trials = of_record(wait_trials)

NOTE = ProbeNote(ProbeNoteCode.DISK_UNKNOWN)


def test_each_candidate_has_its_points_and_its_law() -> None:
    baseline, faster = scaling(levels())
    assert [point.threads for point in baseline.points] == [1, 4, 16, 64]
    assert all(point.tps.low < point.tps.mean < point.tps.high for point in baseline.points)
    for found, rate in ((baseline, LAW.rate), (faster, 1.1 * LAW.rate)):
        assert found.usl is not None
        assert found.usl.rate == pytest.approx(rate, rel=0.04)
        assert found.usl.contention == pytest.approx(LAW.contention, abs=0.006)
        assert found.usl.peak == pytest.approx(LAW.peak, rel=0.1)


def test_candidates_are_compared_within_blocks_at_each_number_of_threads() -> None:
    slower, faster = scaling(levels())
    for low, high in zip(slower.points, faster.points, strict=True):
        assert high.to_highest == Estimate(mean=1.0, low=1.0, high=1.0)
        assert low.to_highest is not None
        assert low.to_highest.mean == pytest.approx(1 / 1.1, rel=0.03)
        assert low.to_highest.excludes_one


def test_one_block_compares_nobody() -> None:
    record = levels()
    few = replace(record, trials=[trial for trial in record.trials if trial.block == 1])
    assert [point.to_highest.low for one in scaling(few) for point in one.points if point.to_highest.mean != 1] == [None] * 4


def test_no_law_is_fitted_to_a_rate_that_was_requested() -> None:
    record = levels()
    workload = record.spec.workload.model_copy(update={"rate": 200})
    found = scaling(replace(record, spec=record.spec.model_copy(update={"workload": workload})))
    assert [one.usl for one in found] == [None, None]
    assert [point.threads for point in found[0].points] == [1, 4, 16, 64]


def test_one_number_of_threads_is_no_scaling() -> None:
    assert scaling(nothing_moved()) == []


def test_raw_waits_are_reported_in_nanoseconds_and_ticks() -> None:
    found = summaries(waits_moved())
    one = found[0]
    assert (one.candidate, one.instrument, one.operation) == ("1", LOCKS, "(all)")
    assert one.mean_ns == pytest.approx(5000)
    assert one.mean_cycles == pytest.approx(5000 * 2.1)
    assert one.per_second == pytest.approx(24_000)
    assert one.total_ms == pytest.approx(24_000 * 40 * 5e-3)
    assert one.ten_share == 0.64
    assert [summary.candidate for summary in found] == ["1", "1", "8", "8"]


def test_two_trials_of_a_candidate_are_summed_up() -> None:
    record = waits_moved()
    (trial,) = [one for one in record.trials if one.purpose is Purpose.WAITS and one.candidate == "1"]
    raw = record.waits[trial.id]
    doubled = tuple(replace(row, mean=2 * row.mean, total=2 * row.total, p99=2 * row.p99) for row in raw.rows)
    again = replace(trial, id=trial.id + 10)
    waits = {**record.waits, again.id: replace(raw, rows=doubled)}
    before, after = (summaries(one)[0] for one in (record, replace(record, trials=[*record.trials, again], waits=waits)))
    assert after.count == 2 * before.count
    assert after.per_second == before.per_second
    assert after.mean_ns == pytest.approx(1.5 * before.mean_ns)
    assert after.p99_ns == pytest.approx(1.5 * before.p99_ns)
    assert sum(after.histogram) == 2 * sum(before.histogram)


@pytest.mark.parametrize("state", [TrialState.INTERRUPTED, TrialState.FAILED, TrialState.RUNNING])
def test_waits_of_a_trial_that_did_not_end_well_count_nowhere(state: TrialState) -> None:
    record = waits_moved()
    (trial,) = [one for one in record.trials if one.purpose is Purpose.WAITS and one.candidate == "1"]
    again = replace(trial, id=trial.id + 10, state=state)
    more = replace(record, trials=[*record.trials, again], waits={**record.waits, again.id: record.waits[trial.id]})
    assert summaries(more) == summaries(record)
    assert trials(more) == trials(record)


def test_lost_waits_are_estimated_with_in_how_many_there_were_a_second() -> None:
    record = waits_moved()
    lossy = {number: replace(raw, lost=3 * raw.events) for number, raw in record.waits.items()}
    found, kept = summaries(replace(record, waits=lossy))[0], summaries(record)[0]
    assert found.per_second == pytest.approx(4 * kept.per_second)
    assert (found.count, found.total_ms) == (kept.count, kept.total_ms)


def test_collecting_waits_costs_what_clean_trials_had_more() -> None:
    one, eight = trials(waits_moved())
    assert one.slowdown == pytest.approx(0.2, rel=0.01)
    assert (one.events, one.lost, eight.candidate) == (960_000, 0, "8")


def test_slowdown_is_unknown_without_clean_trials() -> None:
    record = waits_moved()
    only = [trial for trial in record.trials if trial.purpose is Purpose.WAITS]
    assert [one.slowdown for one in trials(replace(record, trials=only, verdict=None))] == [None, None]


def test_probes_report_what_they_cost_the_dearest_first() -> None:
    record = nothing_moved()
    seen = {
        number: {**own, "status": replace(own["status"], waited=10 * own["status"].waited, notes=(NOTE, NOTE))}
        for number, own in record.watched.items()
    }
    first = probe_costs(measured.of(replace(record, watched=seen)))[0]
    assert first.probe == "status"
    assert first.waited_ms_per_s == pytest.approx(20)
    assert first.notes == ["The disk of the data is unknown, so its figures are not available"]
