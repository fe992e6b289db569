"""Changes of rates between two trials, on data of known answer."""

import numpy as np
import pytest

from dialin.stats.sliced_rates import Scatter, rate_changes

SLICES, WORK = 12, 500.0


def trial(rng, rates, between=0.0, within=0.0):
    """Poisson counts whose rates vary by `between` from trial to trial and by `within` from slice to slice."""
    level = np.asarray(rates) * np.exp(between * rng.standard_normal(len(rates)))
    work = WORK * (1 + 0.1 * rng.standard_normal(SLICES))
    moved = level[:, None] * work * np.exp(within * rng.standard_normal((len(rates), SLICES)))
    return rng.poisson(moved).astype(float), list(work)


RATES = np.geomspace(0.01, 1.0, 300)


@pytest.mark.parametrize(("between", "within"), [(0.0, 0.0), (0.03, 0.0), (0.03, 0.1)])
def test_equal_trials_show_a_change_in_at_most_the_promised_share_of_pairs(between, within):
    rng = np.random.default_rng(63)
    pairs = 200
    wrong = sum(
        any(
            one.is_certain
            for one in rate_changes(
                trial(rng, RATES, between, within), trial(rng, RATES, between, within), Scatter(between, 8), 0.05
            )
        )
        for _ in range(pairs)
    )
    # 5 % of 200 pairs are 10; 17 or more of them happen in 2 of 100 runs of a method that errs at exactly 5 %.
    assert wrong <= 17


def test_a_planted_change_is_found_and_the_others_are_not():
    rng = np.random.default_rng(1)
    changed = RATES.copy()
    changed[250] *= 2
    changed[280] /= 3
    found = rate_changes(trial(rng, RATES, 0.02, 0.05), trial(rng, changed, 0.02, 0.05), Scatter(0.02, 8), 0.05)
    certain = {place for place, one in enumerate(found) if one.is_certain}
    assert {250, 280} <= certain
    assert len(certain) <= 4
    assert found[250].difference.low > 0 > found[280].difference.high
    assert all(one.difference.low <= one.difference.mean <= one.difference.high for one in found)


@pytest.mark.parametrize("planted", [1.0, 1.1, 3.0])
def test_an_interval_excludes_zero_exactly_where_the_change_is_certain(planted):
    rng = np.random.default_rng(7)
    for _ in range(20):
        changed = RATES * np.where(np.arange(RATES.size) % 3 == 0, planted, 1.0)
        found = rate_changes(trial(rng, RATES, 0.02, 0.05), trial(rng, changed, 0.02, 0.05), Scatter(0.02, 8), 0.05)
        assert [one.is_certain for one in found] == [one.difference.low > 0 or one.difference.high < 0 for one in found]


def test_a_level_is_all_counts_over_all_work_and_a_difference_is_that_of_levels():
    first = (np.array([[10.0, 30.0]]), [100.0, 300.0])
    second = (np.array([[5.0, 5.0]]), [50.0, 50.0])
    (one,) = rate_changes(first, second, Scatter(0.01, 5), 0.05)
    assert (one.first, one.second) == (0.1, 0.1)
    assert one.difference.mean == 0.0
    assert not one.is_certain


def test_samples_of_one_trial_alone_are_a_change_once_they_are_more_than_a_handful():
    nothing, work = np.zeros((2, SLICES)), [WORK] * SLICES
    some = np.array([[0, 1, 0, 0, 1, 0, 0, 0, 0, 1, 0, 0], [9, 8, 11, 10, 9, 12, 8, 10, 9, 11, 10, 9]], dtype=float)
    few, many = rate_changes((nothing, work), (some, work), Scatter(0.02, 8), 0.05)
    assert (few.is_certain, many.is_certain) == (False, True)


def test_a_change_that_trials_often_show_is_not_certain_however_steady_the_slices_are():
    first, second = np.full((1, SLICES), 1000.0), np.full((1, SLICES), 1050.0)
    work = [WORK] * SLICES
    (steady,) = rate_changes((first, work), (second, work), Scatter(0.001, 8), 0.05)
    (noisy,) = rate_changes((first, work), (second, work), Scatter(0.05, 8), 0.05)
    assert (steady.is_certain, noisy.is_certain) == (True, False)


@pytest.mark.parametrize("scatter", [None, Scatter(0.01, 0)])
def test_without_knowing_how_trials_vary_there_is_no_interval(scatter):
    rng = np.random.default_rng(2)
    found = rate_changes(trial(rng, RATES), trial(rng, 9 * RATES), scatter, 0.05)
    assert not any(one.is_certain or one.difference.low is not None for one in found)


def test_one_slice_has_no_interval():
    (one,) = rate_changes((np.array([[9.0]]), [10.0]), (np.array([[99.0]]), [10.0]), Scatter(0.01, 8), 0.05)
    assert (one.is_certain, one.difference.low) == (False, None)
