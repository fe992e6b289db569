import math

import numpy as np
import pytest
import scipy.stats
from hypothesis import given
from hypothesis import strategies as st

from dialin.stats import intervals
from dialin.stats.intervals import stall_seconds_per_1000, typical

ALPHA = 0.05


def least(promised, studies):
    """The fewest hits in so many studies that a true rate of what was promised explains (one chance in a thousand)."""
    return scipy.stats.binom.ppf(0.001, studies, promised)


@pytest.mark.parametrize(("count", "outside"), [(6, 0), (8, 0), (9, 1), (12, 2), (20, 5), (50, 17)])
def test_from_six_trials_on_the_interval_ends_at_the_order_statistics_of_the_sign_test(count, outside):
    values = np.random.default_rng(count).permutation(np.arange(1.0, count + 1)) ** 2
    result = typical(values.tolist(), ALPHA)
    assert (result.low, result.high) == ((outside + 1) ** 2, (count - outside) ** 2)
    # One value less on each side would miss the median too often: P(at most so many of n coins show heads).
    assert 2 * scipy.stats.binom.cdf(outside, count, 0.5) <= ALPHA < 2 * scipy.stats.binom.cdf(outside + 1, count, 0.5)


@pytest.mark.parametrize("alpha", [0.2, 0.1, 0.01])
def test_the_order_statistics_follow_the_error_that_is_allowed(alpha):
    result = typical(list(range(1, 41)), alpha)
    cut = scipy.stats.binom.ppf(alpha / 2, 40, 0.5)  # the first count of heads that is not too rare
    assert (result.low, result.high) == (cut + (scipy.stats.binom.cdf(cut, 40, 0.5) <= alpha / 2), 41 - result.low)


@pytest.mark.parametrize("count", [2, 3, 5])
def test_fewer_trials_have_students_interval_of_their_logarithms(count):
    logs = np.random.default_rng(count).normal(scale=0.3, size=count)
    logs -= np.median(logs) - logs.mean()  # so that the median lies within it
    result = typical(np.exp(logs).tolist(), ALPHA)
    expected = scipy.stats.t.interval(0.95, count - 1, logs.mean(), scipy.stats.sem(logs))
    assert result.mean == pytest.approx(float(np.median(np.exp(logs))))
    assert (math.log(result.low), math.log(result.high)) == (pytest.approx(expected[0]), pytest.approx(expected[1]))


def test_one_trial_has_no_interval_and_none_has_no_figure():
    assert typical([0.4], ALPHA) == typical([0.4], 0.5)
    assert (typical([0.4], ALPHA).mean, typical([0.4], ALPHA).low) == (0.4, None)
    with pytest.raises(ValueError, match="at least one"):
        typical([], ALPHA)


@pytest.mark.parametrize("count", [2, 4, 6, 7, 15])
def test_the_typical_trial_lies_within_as_often_as_promised(count):
    rng, studies = np.random.default_rng(100 + count), 500
    trials = np.exp(rng.normal(scale=0.3, size=(studies, count)))
    stalls = np.where(rng.random((studies, count)) < 0.1, 3.0, 1.0)  # one trial in ten has a stall in it
    plain = np.exp(rng.normal(scale=0.1, size=(studies, count)))
    skewed = float(np.median(np.where(rng.random(100_001) < 0.1, 3.0, 1.0) * np.exp(rng.normal(scale=0.1, size=100_001))))
    for values, truth in ((trials, 1.0), (plain * stalls, skewed)):
        estimates = [typical(one.tolist(), ALPHA) for one in values]
        assert sum(one.low <= truth <= one.high for one in estimates) >= least(0.95, studies)


@given(st.lists(st.just(0.0) | st.floats(1e-3, 1e3), min_size=1, max_size=30), st.sampled_from([0.25, 60.0]))
def test_the_interval_holds_the_estimate_and_follows_the_unit(values, unit):
    result, scaled = typical(values, ALPHA), typical([unit * value for value in values], ALPHA)
    assert scaled.mean == pytest.approx(unit * result.mean)
    if result.low is not None:
        assert result.low <= result.mean <= result.high
        assert scaled.high == pytest.approx(unit * result.high)


LONG = 10.0
"""A length of stall that is above what is reckoned with where none was seen."""


@pytest.mark.parametrize("count", [1, 4, 30])
def test_stalls_of_one_length_have_the_exact_interval_of_a_poisson_count(count):
    result = stall_seconds_per_1000([LONG] * count, 50_000, LONG, ALPHA)
    low, high = scipy.stats.chi2.ppf(ALPHA / 2, 2 * count) / 2, scipy.stats.chi2.isf(ALPHA / 2, 2 * count + 2) / 2
    unit = 1000 * LONG / 50_000
    assert result.mean == pytest.approx(unit * count)
    assert (result.low, result.high) == (pytest.approx(unit * low), pytest.approx(unit * high))


def test_where_no_stall_was_seen_the_rule_of_three_holds_for_the_longest_one():
    result = stall_seconds_per_1000([], 6000, 0, 0.10)
    assert (result.mean, result.low) == (0, 0)
    assert result.high == pytest.approx(-math.log(0.05) * intervals._LONGEST_STALL / 6)
    assert stall_seconds_per_1000([], 6000, 60, 0.10).high == pytest.approx(-math.log(0.05) * 60 / 6)


def test_stalls_never_take_more_than_all_seconds():
    assert stall_seconds_per_1000([30.0], 31, 30, ALPHA).high == 1000


def test_an_interval_from_none_to_all_seconds_says_nothing_and_is_none():
    result = stall_seconds_per_1000([], 12, 0, ALPHA)
    assert (result.mean, result.low, result.high) == (0, None, None)


def test_a_share_of_no_seconds_is_refused():
    with pytest.raises(ValueError, match="measured seconds"):
        stall_seconds_per_1000([], 0, 0, ALPHA)


@pytest.mark.parametrize(("an_hour", "seconds"), [(6, 400), (6, 3600), (60, 400), (60, 3600)])
def test_stalls_that_come_as_they_like_lie_within_as_often_as_promised(an_hour, seconds):
    rng, studies, lengths = np.random.default_rng(an_hour + seconds), 400, np.arange(3, 9)
    truth, covered = 1000 * an_hour / 3600 * lengths.mean(), 0
    for _ in range(studies):
        stalls = rng.choice(lengths, size=rng.poisson(an_hour * seconds / 3600))
        result = stall_seconds_per_1000(stalls.tolist(), seconds, float(lengths.max()), ALPHA)
        covered += result.low <= truth <= result.high
    assert covered >= least(0.95, studies)
