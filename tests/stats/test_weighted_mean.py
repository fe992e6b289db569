import math

import numpy as np
import pytest

from dialin.model.verdict import Outcome
from dialin.stats.decide import Rules, decide_fit
from dialin.stats.trial_fit import FittedDifference, fit_trials
from dialin.stats.weighted_mean import times_more, weighted_mean
from stats.timed import noisy_study, study

RULES = Rules(worthwhile=0.01, confidence=0.95)


def fits(*levels, blocks=6, noise=0.01, seed=1):
    rng = np.random.default_rng(seed)
    return [fit_trials(noisy_study(rng, one, blocks, noise), list(one)) for one in levels]


def test_the_mean_of_ratios_is_geometric_and_weighted():
    up, down = (fit_trials(study(drift=0.0, a=100, b=level), "ab") for level in (120, 90))
    mean = weighted_mean([up, down], [3, 1])
    expected = math.exp(0.75 * up.difference("b", "a").mean + 0.25 * down.difference("b", "a").mean)
    assert mean.ratio("b", "a", 0.05).mean == pytest.approx(expected)


def test_a_study_alone_is_its_own_mean():
    (alone,) = fits({"a": 100, "b": 105, "c": 100})
    mean, own = weighted_mean([alone], [5]).difference("b", "a"), alone.difference("b", "a")
    assert (mean.mean, mean.error, mean.dof, mean.own_dof) == pytest.approx((own.mean, own.error, own.dof, own.own_dof))


def test_variances_add_up_with_the_squares_of_the_shares_and_degrees_of_freedom_with_them():
    one, other = fits({"a": 100, "b": 101}, {"a": 7, "b": 7}, blocks=8)
    mean = weighted_mean([one, other], [1, 1]).difference("b", "a")
    parts = [fit.difference("b", "a") for fit in (one, other)]
    assert mean.error == pytest.approx(math.hypot(*(part.error for part in parts)) / 2)
    assert mean.dof > max(part.dof for part in parts)
    assert mean.own_dof > max(part.own_dof for part in parts)


def test_the_interval_of_the_mean_covers_the_truth_as_often_as_promised():
    covered, studies = 0, 150
    for seed in range(studies):
        mean = weighted_mean(fits({"a": 100, "b": 110}, {"a": 50, "b": 50}, {"a": 9, "b": 9}, blocks=5, seed=seed), [1, 1, 1])
        ratio = mean.ratio("b", "a", 0.05)
        covered += ratio.low <= 1.1 ** (1 / 3) <= ratio.high
    assert 0.92 <= covered / studies <= 1


def test_equal_candidates_are_equal_in_the_mean_and_a_gain_is_found():
    equal = weighted_mean(fits(*[{"a": 100, "b": 100}] * 5, blocks=8, noise=0.005), [1] * 5)
    assert decide_fit(equal, "a", RULES).outcome in (Outcome.NO_WORTHWHILE_DIFFERENCE, Outcome.SAFE_CHOICE)
    assert decide_fit(equal, "a", RULES).better == ()
    gain = weighted_mean(fits(*[{"a": 100, "b": 108}] * 5), [1] * 5)
    assert decide_fit(gain, "a", RULES).better == ("b",)


def test_a_study_with_too_few_trials_leaves_no_mean_and_a_missing_candidate_leaves_it():
    (whole,) = fits({"a": 100, "b": 100, "c": 100})
    (without_c,) = fits({"a": 100, "b": 100})
    assert weighted_mean([whole, None], [1, 1]) is None
    assert weighted_mean([whole, without_c], [1, 1]).names == ("a", "b")
    (b_first,) = fits({"c": 100, "b": 100, "a": 100}, blocks=12)
    left = weighted_mean([b_first, without_c], [1, 1])
    assert left.names == ("b", "a")
    assert left.own_dof.size == 2
    for wrong in ([], [0.0], [1.0, 1.0]):
        with pytest.raises(ValueError, match="weight"):
            weighted_mean([whole], wrong)


@pytest.mark.parametrize(
    ("mean", "times"),
    [
        (0.0, 1.0),  # already shown not to be worse by 3 %
        (-0.02, pytest.approx(7.8, abs=1.5)),  # one standard error within the margin
        (-0.03 - 0.02, pytest.approx(3.4, abs=1)),  # two beyond it
        (-0.03, None),
    ],
)
def test_how_many_more_trials_answer_whether_a_candidate_is_worse_by_a_margin(mean, times):
    assert times_more(FittedDifference(mean, 0.01, 1000), 0.03, 2.8, 3.7) == times
