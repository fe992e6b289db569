import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dialin.stats.allocation import next_block
from dialin.stats.decide import Rules, decide
from dialin.stats.forecast import detectable, trials_for
from dialin.stats.looks import is_due
from dialin.stats.trial_fit import TimedTrial

PROMISE = {"confidence": 0.95, "worthwhile": 0.01}
noise = st.floats(min_value=0.002, max_value=0.1)
counts = st.integers(2, 16)


def test_nothing_below_what_is_worthwhile_is_promised():
    assert detectable(0.0001, 3, 30, **PROMISE) == 0.01


def trials_to_a_choice(rng, gap, sd, candidates):
    """Return how many trials a study takes to choose one that is better by so much, or None where it chooses another."""
    names, rules, trials, looked = "abcdefg"[:candidates], Rules(**PROMISE), [], 0
    block = list(names)
    while len(trials) < 400:
        for name in rng.permutation(block):
            value = math.exp((gap if name == "b" else 0) + rng.normal(scale=sd))
            trials.append(TimedTrial("run", str(name), 60.0 * len(trials), value, 0.8 * sd))
        if is_due(len(trials), looked):
            looked, decision = len(trials), decide(trials, names, "a", rules)
            if decision.choice:
                return len(trials) if decision.choice == "b" else None
        block = next_block(trials, names, "a", rules)
    return None


@pytest.mark.parametrize(("candidates", "sd", "gap"), [(2, 0.02, 0.03), (7, 0.02, 0.04)])
def test_half_of_the_studies_take_about_the_trials_that_are_foreseen(candidates, sd, gap):
    rng = np.random.default_rng(candidates)
    taken = [trials_to_a_choice(rng, math.log1p(gap), sd, candidates) for _ in range(25)]
    chosen = [trials for trials in taken if trials is not None]
    assert len(chosen) >= 20
    assert 0.5 <= np.median(chosen) / trials_for(gap, sd, candidates, power=0.5, **PROMISE) <= 1.6


@given(noise, counts, st.floats(min_value=0.011, max_value=0.3))
def test_after_the_trials_that_it_takes_and_not_before_a_difference_is_detectable(sd, candidates, gap):
    trials = trials_for(gap, sd, candidates, **PROMISE)
    assert detectable(sd, candidates, trials, **PROMISE) <= gap * (1 + 1e-9)
    if trials > candidates + 4:
        assert detectable(sd, candidates, trials - 1, **PROMISE) > gap


@given(noise, counts, st.integers(20, 400))
def test_less_noise_fewer_candidates_and_more_trials_detect_smaller_differences(sd, candidates, trials):
    least = detectable(sd, candidates, trials, **PROMISE)
    assert detectable(1.5 * sd, candidates, trials, **PROMISE) >= least
    assert detectable(sd, candidates, 2 * trials, **PROMISE) <= least
    assert detectable(sd, candidates + 1, trials, **PROMISE) >= least


@given(noise, counts)
def test_proof_and_certainty_take_more_trials_than_a_choice(sd, candidates):
    choice = trials_for(0.03, sd, candidates, power=0.5, **PROMISE)
    assert trials_for(0.03, sd, candidates, power=0.5, proof=True, **PROMISE) >= choice
    assert trials_for(0.03, sd, candidates, **PROMISE) >= choice
