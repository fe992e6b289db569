import math
from dataclasses import replace

import numpy as np
import pytest

from dialin.stats.contrasts import odd_trials
from dialin.stats.trial_fit import fit_trials
from stats.timed import noisy_study, study, wiggle

LEVELS = {"a": 100.0, "b": 101.0, "c": 99.0}


def with_slow_one(trials, place, by=0.1):
    return [replace(one, value=one.value * (1 - by)) if n == place else one for n, one in enumerate(trials)]


def found(trials):
    return odd_trials(trials, fit_trials(trials, "abc"))


def test_a_trial_that_is_far_from_the_others_of_its_candidate_is_mostly_found_with_its_difference_and_no_other_one():
    odd = []
    for seed in range(20):
        place = (7 * seed) % 24
        ones = found(with_slow_one(noisy_study(np.random.default_rng(seed), LEVELS, 8, 0.008), place))
        assert {one.place for one in ones} <= {place}
        odd += ones
    assert len(odd) >= 14
    assert np.median([one.difference for one in odd]) == pytest.approx(math.log(0.9), abs=0.02)


def test_noise_alone_makes_no_trial_odd():
    rng = np.random.default_rng(2)
    studies = [noisy_study(rng, LEVELS, 3 + number % 8, 0.02) for number in range(80)]
    assert sum(len(found(trials)) for trials in studies) <= 2


def test_a_trial_that_its_own_seconds_explain_is_not_odd():
    trials = with_slow_one(study(blocks=5, wiggle=wiggle(3), **LEVELS), 7)
    assert [odd.place for odd in found(trials)] == [7]
    assert found([replace(one, error=0.05) for one in trials]) == []


def test_of_two_trials_none_can_be_called_the_odd_one():
    assert found(with_slow_one(study(blocks=2, wiggle=wiggle(3), **LEVELS), 2)) == []
