import numpy as np
import pytest

from dialin.stats.warm_up import is_steady

SECONDS = np.arange(200) + 0.5


def first_steady(series, limit=60):
    """The second at which measurement would begin; the limit where the series is not steady before."""
    return next((n for n in range(1, limit) if is_steady(series[:n])), limit)


def noisy(shape, cv, seed, studies=100, correlation=0.4):
    """Series of a shape; a lag-1 correlation of 0.4 is the median of published per-second series."""
    noise = np.random.default_rng(seed).normal(size=(studies, shape.size))
    correlated = np.empty_like(noise)
    correlated[:, 0] = noise[:, 0]
    for second in range(1, shape.size):
        correlated[:, second] = correlation * correlated[:, second - 1] + (1 - correlation**2) ** 0.5 * noise[:, second]
    return shape * (1 + cv * correlated)


FLAT = np.full(200, 1000.0)
RAMP = 1000 * (1 - 0.3 * np.exp(-SECONDS / 20))
DECAY = 1000 * (1 + 0.3 * np.exp(-SECONDS / 20))
GROWTH = 1000 * np.minimum(1, 0.6 + 0.01 * SECONDS)


def test_a_constant_series_is_steady_after_six_seconds():
    assert first_steady(FLAT) == 6


def test_the_minimum_is_kept():
    assert first_steady([1000.0] * 60, limit=60) == 6
    assert not is_steady([1000.0] * 12, minimum=12)
    assert is_steady([1000.0] * 13, minimum=12)
    assert not is_steady([])
    assert not is_steady([1000.0] * 3, minimum=0)


@pytest.mark.parametrize(("cv", "share"), [(0.01, 0.9), (0.02, 0.6)])
def test_a_quiet_stationary_series_is_steady_within_eight_seconds_most_of_the_time(cv, share):
    times = [first_steady(series) for series in noisy(FLAT, cv, seed=1)]
    assert np.mean(np.array(times) <= 8) >= share


def test_a_noisy_stationary_series_becomes_steady_too():
    times = [first_steady(series) for series in noisy(FLAT, 0.10, seed=2)]
    assert np.median(times) <= 35
    assert np.mean(np.array(times) == 60) <= 0.1


@pytest.mark.parametrize("shape", [RAMP, DECAY, GROWTH], ids=["ramp", "decay", "growth"])
def test_without_noise_a_trend_is_never_taken_for_steady_while_it_biases_by_more_than_three_percent(shape):
    begin = first_steady(shape, limit=200)
    assert abs(shape[begin : begin + 15].mean() / 1000 - 1) < 0.03


@pytest.mark.parametrize(
    ("shape", "cv", "share"),
    [(RAMP, 0.02, 0.1), (RAMP, 0.05, 0.25), (DECAY, 0.01, 0.2), (GROWTH, 0.02, 0.1), (GROWTH, 0.05, 0.15)],
)
def test_in_noise_a_trend_is_rarely_taken_for_steady(shape, cv, share):
    series = noisy(shape, cv, seed=3)
    biases = [abs(shape[begin : begin + 15].mean() / 1000 - 1) for begin in map(first_steady, series)]
    assert np.mean(np.array(biases) > 0.03) <= share


def test_a_ramp_that_is_over_is_forgotten():
    assert first_steady(1000 * (1 - 0.3 * np.exp(-SECONDS / 5))) < 50


def test_the_first_second_counts_for_nothing():
    for first in (0.0, 300.0, 3000.0):
        assert first_steady([first] + [1000.0] * 20) == 6


def test_a_stall_delays_but_does_not_prevent():
    series = FLAT.copy()
    series[4:7] = 100.0
    assert 8 < first_steady(series) <= 40


@pytest.mark.parametrize("series", [[0.0] * 60, [0.0] * 40 + [1000.0] * 20], ids=["hung", "mostly hung"])
def test_a_server_that_hangs_is_not_steady(series):
    assert first_steady(series) == 60


def test_the_unit_does_not_matter():
    for series in noisy(RAMP, 0.03, seed=4, studies=10):
        assert first_steady(series) == first_steady(series / 1024)
