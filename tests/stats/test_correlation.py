import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.signal import lfilter

from dialin.stats.window import autocorrelation, effective_seconds


def following(correlation, seconds, seed, series=1):
    """Series in which each second follows the one before it: standard normal, of this lag-1 correlation."""
    shocks = np.random.default_rng(seed).standard_normal((series, 100 + seconds)) * np.sqrt(1 - correlation**2)
    return lfilter([1], [1, -correlation], shocks, axis=1)[:, 100:]


@pytest.mark.parametrize("correlation", [0, 0.5, 0.7, 0.9])
def test_seconds_are_worth_their_number_over_the_autocorrelation_time(correlation):
    time = (1 + correlation) / (1 - correlation)
    result = [effective_seconds(1000 + 50 * one) for one in following(correlation, 20_000, seed=1, series=4)]
    assert np.mean(result) == pytest.approx(20_000 / time, rel=0.12)


def test_of_independent_seconds_nearly_each_one_counts():
    result = [effective_seconds(1000 + 50 * one) for one in following(0, 60, seed=2, series=50)]
    assert np.mean(result) > 0.75 * 60


def test_a_sum_of_autocorrelations_ends_at_the_first_pair_that_is_not_positive():
    # rho = 1, 0.25, -0.5, -0.25: the first pair is positive, the second is not.
    assert effective_seconds([1.0, 1.0, -1.0, -1.0]) == pytest.approx(4 / (2 * 1.25 - 1))


def test_a_wave_counts_no_second_hump_as_more_correlation():
    """Each pair of autocorrelations counts as no more than the one before it."""
    series = np.sin(np.arange(60) / 2) + 3 * np.arange(60) / 60
    rho, time, pair, lag = autocorrelation(series), -1.0, np.inf, 0
    humps = 0
    while lag + 1 < rho.size and (rho[lag] + rho[lag + 1]) > 0:
        humps += rho[lag] + rho[lag + 1] > pair
        pair = min(pair, rho[lag] + rho[lag + 1])
        time, lag = time + 2 * pair, lag + 2
    assert humps
    assert effective_seconds(series) == pytest.approx(60 / time)


def test_autocorrelations_are_those_of_the_definition():
    x = np.random.default_rng(3).normal(size=31) + np.arange(31) / 10
    centred = x - x.mean()
    expected = [centred[: 31 - lag] @ centred[lag:] / (centred @ centred) for lag in range(16)]
    assert autocorrelation(x) == pytest.approx(expected)


@pytest.mark.parametrize("series", [[5.0] * 100, [0.0] * 30, [7.0], [1.0, 2.0, 3.0]])
def test_a_constant_or_very_short_series_is_worth_all_its_seconds(series):
    assert effective_seconds(series) == len(series)


def test_an_empty_series_is_worth_one_second():
    assert effective_seconds([]) == 1


@given(st.lists(st.floats(0, 1e4), min_size=1, max_size=80), st.sampled_from([0.25, 8.0]))
def test_seconds_are_worth_at_least_one_and_at_most_all_whatever_their_unit(series, unit):
    result = effective_seconds(series)
    assert 1 <= result <= len(series)
    assert effective_seconds([unit * one for one in series]) == pytest.approx(result)
