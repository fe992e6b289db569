"""How long transactions took, from the histograms of all trials of a candidate."""

from dataclasses import replace

import pytest

from dialin.evidence import latencies as evidence
from dialin.model.load_driver import ALL_KINDS, TransactionTimes
from dialin.model.trial import TrialState
from fixtures import example_studies
from fixtures.evidence_of import of_record
from fixtures.example_readings import with_histograms

latencies = of_record(evidence.latencies)


def with_times(times):
    record = example_studies.winner()
    return replace(record, trials=[replace(one, transaction_times=times(one)) for one in record.trials])


def test_a_driver_without_histograms_has_none():
    assert latencies(example_studies.winner()) == []
    assert latencies(with_times(lambda _: (TransactionTimes("pay", ()),))) == []


def test_each_candidate_has_its_percentiles_of_all_trials():
    record = with_histograms(example_studies.winner())
    every = latencies(record)
    assert [one.candidate for one in every] == [one.name for one in record.spec.candidates]
    for one in every:
        assert one.transaction == ALL_KINDS
        levels = [figure.level for figure in (one.p50_ms, one.p95_ms, one.p99_ms, one.p999_ms)]
        assert levels[0].mean == pytest.approx(8.0, rel=0.1)
        means = [level.mean for level in levels]
        assert means == sorted(means)
        assert means[-1] < max(one.longest_ms)
        assert levels[2].low < levels[2].mean < levels[2].high
        assert len(one.longest_ms) == 5


def test_kinds_are_added_up_and_stand_below_each_other():
    def times(trial):
        return (
            TransactionTimes("look", ((1.0, 1800),)),
            TransactionTimes("pay", ((20.0, 600),)),
        )

    record = with_times(times)
    names = [one.name for one in record.spec.candidates]
    every = latencies(record)
    assert [(one.transaction, one.candidate) for one in every] == [
        (kind, name) for kind in (ALL_KINDS, "look", "pay") for name in names
    ]
    first = every[0]
    tps = record.verdict.candidates[0].tps.mean
    assert (first.transactions, first.per_second) == (5 * 2400, tps)
    assert (first.p50_ms.level.mean, first.p99_ms.level.mean) == (pytest.approx(1.0), pytest.approx(20.0))
    assert first.longest_ms == [20.0] * 5
    look = every[len(names)]
    assert look.per_second == pytest.approx(0.75 * tps), "a kind has its share of the throughput"


def test_the_percentile_that_the_verdict_has_is_the_verdict_s():
    record = with_histograms(example_studies.winner())
    for one in latencies(record):
        judged = record.verdict.candidate(one.candidate)
        assert (one.p95_ms.level, one.p95_ms.ratio) == (judged.latency_ms, judged.latency_ratio)


def test_a_percentile_is_that_of_a_trial_and_over_numbers_of_threads_a_geometric_mean():
    def times(trial):
        slow = 4.0 if trial.candidate == "16" else 2.0
        return (TransactionTimes(ALL_KINDS, ((slow, 100),), 1), TransactionTimes(ALL_KINDS, ((32.0 * slow, 9000),), 64))

    every = {one.candidate: one for one in latencies(replace(with_times(times), verdict=None))}
    assert every["1"].p50_ms.level.mean == pytest.approx((2.0 * 64.0) ** 0.5)
    assert every["16"].p50_ms.ratio.mean == pytest.approx(2.0)
    assert every["1"].p999_ms is None, "too few transactions at one number of threads"


def test_a_trial_that_failed_does_not_count():
    record = with_histograms(example_studies.winner())
    failed = [replace(one, state=TrialState.FAILED) if one.block == 1 else one for one in record.trials]
    assert all(len(one.longest_ms) == 4 for one in latencies(replace(record, trials=failed)))


def test_too_few_transactions_have_no_far_percentile():
    record = with_times(lambda _: (TransactionTimes(ALL_KINDS, ((1.0, 40),)),))
    one = latencies(record)[0]
    assert one.p95_ms is not None
    assert one.p99_ms is None
