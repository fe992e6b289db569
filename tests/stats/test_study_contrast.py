import math

import numpy as np
import pytest

from dialin.stats.contrasts import change_of_level, change_of_noise, change_of_ratio
from dialin.stats.trial_fit import fit_trials
from stats.simulated import least
from stats.timed import noisy_study, study

B, A = ("b", "b"), ("a", "a")


def test_a_gain_that_halves_is_a_change_of_the_ratio_and_the_machine_cancels():
    first, second = fit_trials(study(a=100, b=120), "ab"), fit_trials(study(a=200, b=220), "ab")
    ratio = change_of_ratio(first, second, B, A, 0.05)
    assert ratio.mean == pytest.approx(1.1 / 1.2, rel=0.003)
    assert ratio.low < 1.1 / 1.2 < ratio.high < 1
    assert change_of_level(first, second, A, 0.05).mean == pytest.approx(2.0, rel=0.005)
    assert change_of_level(first, second, B, 0.05).low > 1.7


def test_the_baseline_does_not_change_against_itself_and_names_may_differ():
    first, second = fit_trials(study(a=100, b=120), "ab"), fit_trials(study(x=100, y=120), "xy")
    own = change_of_ratio(first, second, ("a", "x"), ("a", "x"), 0.05)
    assert (own.mean, own.low, own.high) == (1.0, 1.0, 1.0)
    assert change_of_ratio(first, second, ("b", "y"), ("a", "x"), 0.05).mean == pytest.approx(1.0, rel=0.001)


def test_the_order_of_the_studies_inverts_every_change():
    first = fit_trials(noisy_study(np.random.default_rng(1), {"a": 100, "b": 110}, 6, 0.01), "ab")
    second = fit_trials(noisy_study(np.random.default_rng(2), {"a": 90, "b": 110}, 6, 0.03), "ab")
    for changed, back in (
        (change_of_ratio(first, second, B, A, 0.05), change_of_ratio(second, first, B, A, 0.05)),
        (change_of_level(first, second, A, 0.05), change_of_level(second, first, A, 0.05)),
        (change_of_noise(first, second, 0.05), change_of_noise(second, first, 0.05)),
    ):
        assert (changed.mean, changed.low, changed.high) == pytest.approx((1 / back.mean, 1 / back.high, 1 / back.low))


def test_intervals_of_changes_cover_the_truth_as_often_as_promised():
    rng, studies, hits = np.random.default_rng(5), 150, {"ratio": 0, "level": 0, "noise": 0}
    for _ in range(studies):
        first = fit_trials(noisy_study(rng, {"a": 100.0, "b": 110.0}, 6, 0.01, drift=0.0), "ab")
        second = fit_trials(noisy_study(rng, {"a": 80.0, "b": 100.0}, 8, 0.02, drift=0.0), "ab")
        truth = {"ratio": 1.25 / 1.1, "level": 0.8, "noise": 2.0}
        changes = {
            "ratio": change_of_ratio(first, second, B, A, 0.05),
            "level": change_of_level(first, second, A, 0.05),
            "noise": change_of_noise(first, second, 0.05),
        }
        for name, changed in changes.items():
            hits[name] += changed.low <= truth[name] <= changed.high
    for name, count in hits.items():
        assert count >= least(0.95, studies), name


def test_a_noise_of_three_times_is_seen():
    rng = np.random.default_rng(6)
    first, second = (fit_trials(noisy_study(rng, {"a": 100, "b": 100}, 12, sd, drift=0.0), "ab") for sd in (0.01, 0.03))
    assert change_of_noise(first, second, 0.05).low > 1
    assert math.isfinite(change_of_noise(first, second, 0.05).high)
