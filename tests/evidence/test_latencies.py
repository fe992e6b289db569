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
    assert latencies(with_times(lambda _: (TransactionTimes("pay", 3.0, 1.0, 2.0),))) == []


def test_each_candidate_has_its_percentiles_of_all_trials():
    record = with_histograms(example_studies.winner())
    every = latencies(record)
    assert [one.candidate for one in every] == [one.name for one in record.spec.candidates]
    for one in every:
        assert one.transaction == ALL_KINDS
        assert one.p50_ms.mean == pytest.approx(8.0, rel=0.1)
        assert one.p50_ms.mean < one.p95_ms.mean < one.p99_ms.mean < one.p999_ms.mean < max(one.longest_ms)
        assert one.p99_ms.low < one.p99_ms.mean < one.p99_ms.high
        assert len(one.longest_ms) == 5


def test_kinds_are_added_up_and_stand_below_each_other():
    def times(trial):
        return (
            TransactionTimes("look", 30.0, None, None, ((1.0, 1800),)),
            TransactionTimes("pay", 10.0, None, None, ((20.0, 600),)),
        )

    record = with_times(times)
    names = [one.name for one in record.spec.candidates]
    every = latencies(record)
    assert [(one.transaction, one.candidate) for one in every] == [
        (kind, name) for kind in (ALL_KINDS, "look", "pay") for name in names
    ]
    first = every[0]
    assert (first.transactions, first.per_second) == (5 * 2400, pytest.approx(40.0))
    assert (first.p50_ms.mean, first.p95_ms.mean, first.longest_ms) == (1.0, 20.0, [20.0] * 5)


def test_a_trial_that_failed_does_not_count():
    record = with_histograms(example_studies.winner())
    failed = [replace(one, state=TrialState.FAILED) if one.block == 1 else one for one in record.trials]
    assert all(len(one.longest_ms) == 4 for one in latencies(replace(record, trials=failed)))


def test_too_few_transactions_have_no_far_percentile():
    record = with_times(lambda _: (TransactionTimes(ALL_KINDS, 1.0, None, None, ((1.0, 40),)),))
    one = latencies(record)[0]
    assert one.p99_ms is not None
    assert one.p999_ms is None
