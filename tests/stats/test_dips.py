import numpy as np
import pytest
from scipy.signal import lfilter

from dialin.stats.dips import find_dip, without_dip


def noise(seconds, *, cv=0.05, correlation=0.5, series=100, seed=1):
    shocks = np.random.default_rng(seed).standard_normal((series, 100 + seconds)) * np.sqrt(1 - correlation**2)
    return 1000 * np.maximum(1 + cv * lfilter([1], [1, -correlation], shocks, axis=1)[:, 100:], 0)


@pytest.mark.parametrize(("period", "low", "seconds"), [(60, (46, 47), 600), (10, (3,), 120), (300, (7, 8, 9), 3000)])
def test_a_dip_of_a_period_is_found_with_its_place_and_depth(period, low, seconds):
    dipping = np.where(np.isin(np.arange(seconds) % period, low), 0.7, 1)
    for x in noise(seconds, series=10) * dipping:
        result = find_dip(x)
        assert (result.period, result.phases) == (period, low)
        assert result.depth == pytest.approx(0.3, abs=0.06)
        assert without_dip(x, result).min() > 750


def test_lines_of_ten_seconds_are_folded_at_whole_lines():
    (x,) = noise(600, series=1)
    x[3::6] *= 0.7
    assert find_dip(x, 10.0).phases == (3,)
    assert find_dip(x, 10.0).period == 6


def test_a_wave_is_no_dip():
    t = np.arange(1200)
    assert not any(find_dip(x) for x in noise(1200, series=20) * (1 + 0.3 * np.sin(2 * np.pi * t / 60)))


@pytest.mark.parametrize("correlation", [0.0, 0.9])
@pytest.mark.parametrize(("seconds", "cv"), [(300, 0.05), (300, 0.3), (3000, 0.05)])
def test_noise_has_dips_in_few_series(seconds, cv, correlation):
    assert sum(find_dip(x) is not None for x in noise(seconds, cv=cv, correlation=correlation, series=300)) <= 6


def test_stalls_by_chance_are_no_dips():
    rng = np.random.default_rng(2)
    result = 0
    for x in noise(900, series=100):
        for begin in rng.integers(0, 895, 30):
            x[begin : begin + rng.integers(1, 5)] *= 0.1
        result += find_dip(x) is not None
    assert result <= 3


def test_where_there_is_too_little_or_nothing_there_is_no_dip():
    assert find_dip(np.ones(20)) is None
    assert find_dip(np.zeros(600)) is None
