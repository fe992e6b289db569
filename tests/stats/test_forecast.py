import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import stdtrit

from dialin.stats.allocation import next_block
from dialin.stats.decide import Rules, decide
from dialin.stats.forecast import detectable, fewest_trials, trials_for
from dialin.stats.standings import is_due
from dialin.stats.trial_fit import TimedTrial

PROMISE = {"confidence": 0.95, "worthwhile": 0.01}
noise = st.floats(min_value=0.002, max_value=0.1)
counts = st.integers(2, 16)


@pytest.mark.parametrize("worthwhile", [0.001, 0.05, 0.3])
@pytest.mark.parametrize("confidence", [0.9, 0.95, 0.99])
def test_the_detectable_difference_is_more_than_half_of_the_interval_whatever_is_worthwhile(worthwhile, confidence):
    rng = np.random.default_rng(5)
    trials = [TimedTrial("run", name, 60.0 * at, math.exp(rng.normal(scale=0.05)), 0.04) for at, name in enumerate("abc" * 5)]
    result = decide(trials, "abc", "a", Rules(confidence=confidence, worthwhile=worthwhile))
    for name in "bc":
        assert math.log1p(result.detectable) > math.log(result.ratios[name].high / result.ratios[name].low) / 2


def test_four_of_five_studies_detect_what_is_called_detectable():
    rng = np.random.default_rng(8)
    sd, trials = 0.03, 20
    gap = math.log1p(detectable(sd, 2, trials, confidence=0.95))
    found = 0
    for _ in range(400):
        a, b = rng.normal(scale=sd, size=trials // 2), rng.normal(gap, sd, size=trials // 2)
        error = math.sqrt((a.var(ddof=1) + b.var(ddof=1)) / (trials // 2))
        found += b.mean() - a.mean() > float(stdtrit(trials - 2, 0.975)) * error
    assert 0.73 <= found / 400 <= 0.87


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
def test_a_choice_takes_no_more_trials_than_detecting_its_gain(sd, candidates, gap):
    trials = trials_for(gap, sd, candidates, **PROMISE)
    if trials > fewest_trials(candidates):
        assert detectable(sd, candidates, trials - 1, confidence=0.95) > gap


@given(noise, counts, st.integers(20, 400))
def test_less_noise_fewer_candidates_and_more_trials_detect_smaller_differences(sd, candidates, trials):
    least = detectable(sd, candidates, trials, confidence=0.95)
    assert detectable(1.5 * sd, candidates, trials, confidence=0.95) >= least
    assert detectable(sd, candidates, 2 * trials, confidence=0.95) <= least
    assert detectable(sd, candidates + 1, trials, confidence=0.95) >= least


@given(noise, counts)
def test_proof_and_certainty_take_more_trials_than_a_choice(sd, candidates):
    choice = trials_for(0.03, sd, candidates, power=0.5, **PROMISE)
    assert trials_for(0.03, sd, candidates, power=0.5, proof=True, **PROMISE) >= choice
    assert trials_for(0.03, sd, candidates, **PROMISE) >= choice
