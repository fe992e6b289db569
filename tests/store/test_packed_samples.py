"""Samples of a long trial are the same, however they are kept."""

import pickle

import pytest

from dialin.model.trial import Sample, Step
from dialin.store.rows import PackedSamples, packed

SAMPLES = [
    Sample(
        second=number,
        at=1_788_350_400.25 + number,
        step=Step.WARM_UP if number < 5 else Step.MEASURE,
        tps=1000.0 / number,
        reads=14.5,
        writes=4.0,
        other=2.0,
        latency_ms=0.1 + 0.2,
        errors=float(number % 2),
        reconnects=0.0,
        gap=0.3,
        stolen=None if number % 3 else 0.0,
        pressure=0.25 if number % 2 else None,
        threads=16,
        seconds=1.0,
    )
    for number in range(1, 3001)
]


def test_packed_samples_are_what_was_packed():
    kept = PackedSamples(SAMPLES)
    assert list(kept) == SAMPLES
    assert kept == SAMPLES
    assert kept != SAMPLES[:-1]
    assert [kept[0], kept[-1]] == [SAMPLES[0], SAMPLES[-1]]
    assert kept[10:2990:7] == SAMPLES[10:2990:7]
    assert len(kept) == len(SAMPLES)
    assert pickle.loads(pickle.dumps(kept)) == kept
    assert all(type(sample.second) is type(sample.threads) is int for sample in kept[:10])
    with pytest.raises(IndexError):
        kept[3000]


def test_only_the_samples_of_long_trials_are_packed():
    assert isinstance(packed(SAMPLES[:100]), list)
    assert isinstance(packed(SAMPLES), PackedSamples)
