import math
import statistics

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dialin.stats.window import window

rates = st.lists(st.floats(min_value=0.001, max_value=1e6), min_size=1, max_size=60)


def test_a_quiet_window_is_its_mean():
    result = window([98.0, 100.0, 102.0])
    assert (result.seconds, result.mean, result.median, result.worst, result.stalls) == (3, 100.0, 100.0, 98.0, 0)
    assert result.typical == 100.0
    assert result.cv == pytest.approx(0.02)


def test_stalls_count_apart_and_barely_move_the_location():
    result = window([100.0] * 18 + [0.0, 49.0])
    assert result.stalls == 2
    assert result.worst == 0.0
    assert result.mean == pytest.approx(92.45)
    assert result.typical == pytest.approx((1800 + 2 * 60) / 20)


def test_a_second_at_half_the_median_is_slow_but_not_stalled():
    assert window([100.0, 100.0, 50.0]).stalls == 0


def test_one_second_has_no_variation():
    result = window([42.0])
    assert (result.mean, result.typical, result.median, result.cv, result.worst) == (42.0, 42.0, 42.0, 0.0, 42.0)


def test_a_server_that_stood_still_stalled_every_second():
    result = window([0.0] * 5)
    assert (result.mean, result.typical, result.cv, result.stalls) == (0.0, 0.0, 0.0, 5)


def test_seconds_of_nothing_are_stalls_even_when_they_are_most():
    assert window([0.0, 0.0, 0.0, 10.0, 10.0]).stalls == 3


def test_stalls_are_reported_apart_by_their_lengths():
    result = window([0.0, 0.0, 100.0, 100.0, 40.0, 100.0, 100.0, 100.0, 100.0, 100.0, 10.0, 0.0, 49.9])
    assert result.stall_lengths == (2, 1, 3)
    assert result.stalls == 6


def test_a_server_that_stood_still_stalled_once_and_a_quiet_one_never():
    assert window([0.0] * 5).stall_lengths == (5,)
    assert window([100.0, 99.0]).stall_lengths == ()


@pytest.mark.parametrize("tps", [[], [1.0, -1.0], [1.0, math.nan], [math.inf]])
def test_a_series_that_is_not_of_rates_is_refused(tps):
    with pytest.raises(ValueError, match="second"):
        window(tps)


@given(rates)
def test_figures_agree_with_the_standard_library(tps):
    result = window(tps)
    assert result.mean == pytest.approx(statistics.fmean(tps))
    assert result.median == pytest.approx(statistics.median(tps))
    if len(tps) > 1:
        assert result.cv == pytest.approx(statistics.stdev(tps) / statistics.fmean(tps), abs=1e-6)


@given(st.lists(st.sampled_from([0.0, 20.0, 90.0, 100.0, 110.0]), min_size=1, max_size=60))
def test_the_lengths_of_stalls_add_up_to_the_seconds_stalled(tps):
    result, high = window(tps), sorted(tps)[int(0.9 * (len(tps) - 1))]
    assert sum(result.stall_lengths) == result.stalls == sum(x < 0.5 * result.median or x < 0.1 * high or x == 0 for x in tps)
    assert len(result.stall_lengths) <= (len(tps) + 1) / 2


@given(rates, st.floats(min_value=0.01, max_value=100.0))
def test_figures_follow_the_unit(tps, factor):
    result, scaled = window(tps), window([second * factor for second in tps])
    assert scaled.typical == pytest.approx(result.typical * factor)
    assert scaled.cv == pytest.approx(result.cv, abs=1e-6)
    assert result.typical >= result.mean * (1 - 1e-12)


@pytest.mark.parametrize("dead", [0.0, 3.0])
@pytest.mark.parametrize("share", [0.2, 1 / 3, 0.6, 0.85])
def test_a_dead_stretch_is_one_stall_however_long(dead, share):
    length = round(300 * share)
    result = window([1000.0] * (300 - length) + [dead] * length)
    assert result.stall_lengths == (length,)


def test_a_dead_stretch_is_not_lifted():
    result = window([1000.0] * 200 + [0.0] * 100)
    assert result.typical == result.mean == pytest.approx(2000 / 3)


def test_one_fast_second_makes_no_stalls_of_the_others():
    assert window([5.0] * 19 + [1000.0]).stalls == 0


def test_of_runs_each_counts_for_as_long_as_it_took():
    """Two runs of 10 transactions, of 1 and 4 seconds: 20 transactions in 5 seconds."""
    assert window([10.0, 2.5], [1.0, 4.0]).mean == pytest.approx(4.0)
