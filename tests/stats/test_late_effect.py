"""A gain that does not last is found, and one that lasts is seldom suspected."""

import math

import numpy as np

from dialin.stats.contrasts import late_change
from dialin.stats.trial_fit import TimedTrial, fit_trials
from stats.timed import noisy_study

MARGIN = math.log1p(0.01)
OF_STARTS, OF_SECONDS = 0.006, 0.008


def lost(rng, *, gain, late):
    """Whether a study of eight trials of each suspects a choice whose gain changes by `late` (log scale) after a while."""
    levels = {"1": 1000.0, "8": 1000.0 * math.exp(gain)}
    trials = noisy_study(rng, levels, 8, math.hypot(OF_STARTS, 2 * OF_SECONDS), error=2 * OF_SECONDS)
    error = math.hypot(OF_STARTS, OF_SECONDS)
    windows = {
        name: [TimedTrial("run", name, 0.0, level * math.exp(late * (name == "8") + rng.normal(scale=error)), OF_SECONDS)]
        for name, level in levels.items()
    }
    return late_change(fit_trials(trials, list(levels)), trials, windows, "8", "1").is_lost(MARGIN)


def test_a_gain_that_turns_into_a_loss_after_two_minutes_is_found():
    rng = np.random.default_rng(1)
    assert sum(lost(rng, gain=0.02, late=-0.08) for _ in range(200)) >= 180


def test_a_gain_that_lasts_is_suspected_in_at_most_one_study_of_fifty():
    rng = np.random.default_rng(2)
    assert sum(lost(rng, gain=0.03, late=0.0) for _ in range(400)) <= 8


def test_a_gain_that_grows_later_is_no_loss():
    rng = np.random.default_rng(3)
    assert not any(lost(rng, gain=0.03, late=0.08) for _ in range(50))


def test_a_change_below_what_is_worthwhile_is_none_however_certain():
    trials = [TimedTrial("run", name, 60.0 * at, 1000.0, 1e-4) for at in range(12) for name in ("1", "8")]
    windows = {name: [TimedTrial("run", name, 0.0, value, 1e-4)] for name, value in {"1": 1000.0, "8": 995.0}.items()}
    change = late_change(fit_trials(trials, ["1", "8"]), trials, windows, "8", "1")
    assert not change.is_lost(MARGIN)
    assert change.is_lost(math.log1p(0.001))


def test_a_large_gain_of_which_a_part_is_lost_is_still_a_gain():
    rng = np.random.default_rng(4)
    assert not any(lost(rng, gain=0.40, late=-0.10) for _ in range(50))
