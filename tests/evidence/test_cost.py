"""Cost per query and per transaction."""

from __future__ import annotations

from dataclasses import replace

import pytest

from dialin.evidence import cost
from dialin.evidence.cost import ITEMS
from dialin.model.study import Goal
from dialin.model.trial import Step, TrialState
from dialin.model.verdict import Estimate
from fixtures.evidence_of import of_record
from fixtures.example_evidence import ORDINARY, Per, Rise, nothing_moved, unseen, watched

costs = of_record(cost.costs)

QUERIES = 20
"""Of each transaction of an invented study."""


def row(record, name, unit=None):
    return next(one for one in costs(record) if one.name == name and unit in (None, one.unit))


def test_a_query_costs_its_part_of_what_a_transaction_costs() -> None:
    cpu = row(nothing_moved(), "server CPU")
    assert cpu.per_transaction["4"].level.mean == pytest.approx(1200, rel=0.02)
    assert cpu.per_query["4"].level.mean == pytest.approx(cpu.per_transaction["4"].level.mean / QUERIES, rel=1e-3)


def test_the_cost_that_is_the_goal_has_the_figures_of_the_verdict() -> None:
    made = nothing_moved()
    levels = {"1": Estimate(mean=1.2, low=1.1, high=1.3), "4": Estimate(mean=1.5, low=1.4, high=1.6)}
    ratio = Estimate(mean=1.25, low=1.17, high=1.33)
    judged = [one.model_copy(update={"cost": levels.get(one.name), "goal_ratio": ratio}) for one in made.verdict.candidates]
    spec, verdict = made.spec.model_copy(update={"goal": Goal.CPU}), made.verdict.model_copy(update={"candidates": judged})
    record = replace(made, spec=spec, verdict=verdict)
    cpu = row(record, "server CPU")
    assert {name: one.level.mean for name, one in cpu.per_transaction.items()} == {"1": 1200, "4": 1500}
    assert (cpu.per_transaction["1"].ratio, cpu.per_transaction["4"].ratio) == (None, ratio)
    assert cpu.per_query["4"].level.mean == pytest.approx(1500 / QUERIES, rel=1e-3)
    assert row(record, "client CPU") == row(made, "client CPU")


def test_every_item_is_reported_where_every_source_is() -> None:
    assert [one.name for one in costs(nothing_moved())] == [item.name for item in ITEMS]


def test_the_ratio_finds_what_is_different_and_holds_what_is_not() -> None:
    reported = (*ORDINARY[1:], Rise("process", "server_cpu_user", Per.TRANSACTION, {"1": 1e-3, "16": 2e-3}, 0.02))
    record = watched(unseen(), reported)
    found = row(record, "server CPU").per_transaction["16"].ratio
    assert found.low < 2.3 / 1.3 < found.high
    assert found.low > 1.5
    client = row(record, "client CPU").per_transaction["16"].ratio
    assert client.low < 1 < client.high


def test_unknown_costs_and_zeros_are_left_out() -> None:
    reported = [one for one in ORDINARY if one.name != "client_cpu" and one.name != "read_bytes"]
    record = watched(nothing_moved(), [*reported, Rise("process", "read_bytes", Per.TRANSACTION, {"": 0.0})])
    names = [one.name for one in costs(record)]
    assert "client CPU" not in names
    assert "read" not in names
    assert "written" in names


def test_the_log_is_read_from_the_monitor_where_no_status_counter_reports() -> None:
    reported = [one for one in ORDINARY if one.name != "Innodb_os_log_written"]
    record = watched(nothing_moved(), [*reported, Rise("innodb", "log_bytes", Per.TRANSACTION, {"": 700.0}, 0.0)])
    assert row(record, "log").per_transaction["1"].level.mean == pytest.approx(700)


def test_seconds_that_the_host_lost_count_on_both_sides() -> None:
    record = nothing_moved()
    trial = record.trials[0]
    samples = [
        replace(sample, gap=0.9) if sample.step is Step.MEASURE and sample.second % 2 else sample
        for sample in record.samples[trial.id]
    ]
    lossy = replace(record, samples={**record.samples, trial.id: samples})
    assert row(lossy, "server CPU").per_transaction == row(record, "server CPU").per_transaction


@pytest.mark.parametrize(
    ("sample", "queries"),
    [
        pytest.param({"seconds": 2.5, "tps": 0.4, "reads": 0.4, "writes": 0.0, "other": 0.0}, 1, id="run of a timed query"),
        pytest.param(
            {"seconds": 0.3, "tps": 100.0, "reads": 1_400.0, "writes": 400.0, "other": 200.0}, 20, id="part of a replay"
        ),
    ],
)
def test_samples_of_any_length_have_the_queries_of_their_transactions(sample: dict[str, float], queries: int) -> None:
    record = nothing_moved()
    samples = {number: [replace(second, **sample) for second in seconds] for number, seconds in record.samples.items()}
    found = row(replace(record, samples=samples), "server CPU")
    assert found.per_query["1"].level.mean == pytest.approx(found.per_transaction["1"].level.mean / queries)


def test_failed_trials_and_studies_without_probes_cost_nothing() -> None:
    record = nothing_moved()
    assert costs(replace(record, watched={})) == []
    assert costs(replace(record, trials=[replace(trial, state=TrialState.FAILED) for trial in record.trials])) == []


def test_a_candidate_that_spends_next_to_nothing_has_a_ratio_without_an_interval() -> None:
    reported = (*ORDINARY, Rise("status", "Innodb_row_lock_waits", Per.TRANSACTION, {"1": 5.0, "16": 0.001}, 0.02))
    found = row(watched(unseen(), reported), "row lock waits").per_transaction["16"].ratio
    assert found.mean == pytest.approx(0.0002, rel=0.1)
    assert found.low is None


def test_a_candidate_that_sends_more_queries_has_another_change_per_query_than_per_transaction() -> None:
    record = unseen()
    more = {
        trial.id: [replace(one, reads=one.reads + 20 * one.tps) for one in record.samples[trial.id]]
        for trial in record.trials
        if trial.candidate == "16"
    }
    cpu = row(replace(record, samples={**record.samples, **more}), "server CPU")
    assert cpu.per_query["16"].ratio.mean == pytest.approx(cpu.per_transaction["16"].ratio.mean / 2, rel=1e-3)


def test_levels_of_trials_in_blocks_divide_to_the_ratio_where_candidates_have_unequal_trials() -> None:
    record = nothing_moved()
    fewer = [trial for trial in record.trials if trial.candidate != "16" or trial.block in (1, 3)]
    reported = (*ORDINARY[1:], Rise("process", "server_cpu_user", Per.TRANSACTION, {"": 9e-4}, 0.2))
    for item in costs(watched(replace(record, trials=fewer), reported)):
        base = item.per_query["1"].level.mean
        assert all(one.level.mean == pytest.approx(base * one.ratio.mean) for one in item.per_query.values() if one.ratio)


def test_where_a_trial_has_none_of_a_cost_levels_are_means_and_changes_have_no_interval() -> None:
    record = nothing_moved()
    reported = (*ORDINARY, Rise("status", "Innodb_row_lock_waits", Per.TRANSACTION, {"": 0.02}, 0.0))
    record = watched(record, reported)
    first = next(trial.id for trial in record.trials if trial.candidate == "4")
    status = record.watched[first]["status"]
    without = replace(status, counters={**status.counters, "Innodb_row_lock_waits": 0.0})
    seen = {**record.watched, first: {**record.watched[first], "status": without}}
    found = row(replace(record, watched=seen), "row lock waits").per_transaction
    assert found["4"].level.mean == pytest.approx(0.02 * 4 / 5)
    assert found["4"].ratio.mean == pytest.approx(4 / 5)
    assert found["4"].ratio.low is None
