"""The universal scalability law: a fit finds the law that made the points."""

from __future__ import annotations

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dialin.model.why import Usl
from dialin.stats.usl import fit
from fixtures.example_evidence import throughput_by_law

THREADS = (1, 2, 4, 8, 16, 32, 64)


def law(rate: float, contention: float, coherency: float) -> Usl:
    return Usl(rate=rate, contention=contention, coherency=coherency, peak=None, relative_error=0.0)


@given(
    rate=st.floats(1, 1e5),
    contention=st.one_of(st.just(0.0), st.floats(0.001, 0.5)),
    coherency=st.one_of(st.just(0.0), st.floats(1e-5, 0.01)),
)
def test_points_of_a_law_give_that_law(rate: float, contention: float, coherency: float) -> None:
    truth = law(rate, contention, coherency)
    result = fit({n: throughput_by_law(truth, n) for n in THREADS})
    assert result is not None
    assert result.rate == pytest.approx(rate, rel=1e-6)
    assert result.contention == pytest.approx(contention, abs=1e-6)
    assert result.coherency == pytest.approx(coherency, abs=1e-6)
    assert result.relative_error < 1e-6


def test_the_peak_is_where_the_curve_turns() -> None:
    truth = law(1000, 0.05, 0.002)
    result = fit({n: throughput_by_law(truth, n) for n in THREADS})
    assert result is not None
    assert result.peak == pytest.approx((0.95 / 0.002) ** 0.5)
    assert throughput_by_law(truth, result.peak) > max(
        throughput_by_law(truth, result.peak - 1), throughput_by_law(truth, result.peak + 1)
    )


def test_noise_of_two_percent_leaves_the_law_recognisable() -> None:
    rng = random.Random(5)
    truth = law(1000, 0.05, 0.001)
    result = fit({n: throughput_by_law(truth, n) * (1 + rng.gauss(0, 0.02)) for n in THREADS})
    assert result is not None
    assert result.contention == pytest.approx(0.05, abs=0.02)
    assert result.coherency == pytest.approx(0.001, abs=0.0005)
    assert 0.001 < result.relative_error < 0.04


def test_throughput_that_rises_more_than_threads_do_gets_no_negative_price() -> None:
    result = fit({1: 100, 2: 230, 4: 480, 8: 990})
    assert result is not None
    assert result.contention == result.coherency == 0.0
    assert result.peak is None


@pytest.mark.parametrize(
    "points",
    [
        {},
        {1: 10.0, 2: 19.0, 4: 30.0},
        {1: 10.0, 2: 0.0, 4: 30.0, 8: 40.0},
        {1: 10.0, 2: float("nan"), 4: 30.0, 8: 40.0},
        {1: 10.0, 2: 1000.0, 4: 2.0, 8: 900.0},
    ],
)
def test_no_law_is_reported_of_points_that_give_none(points: dict[int, float]) -> None:
    assert fit(points) is None
