import math

import numpy as np
import pytest
import scipy.stats
from hypothesis import given, settings
from hypothesis import strategies as st

from dialin.stats.trial_fit import FittedDifference, TimedTrial, fit_trials
from stats.timed import SECONDS, noisy_study, study, wiggle


def test_levels_and_ratios_are_those_of_the_trials():
    fitted = fit_trials(study(drift=0.0, a=100, b=110, c=101), "abc")
    assert fitted.names == ("a", "b", "c")
    assert fitted.level("a", 0.05).mean == pytest.approx(100, rel=0.002)
    ratio = fitted.ratio("b", "a", 0.05)
    assert ratio.low < 1.1 < ratio.high
    assert ratio.mean == pytest.approx(fitted.level("b", 0.05).mean / fitted.level("a", 0.05).mean)
    assert fitted.ratio("b", "b", 0.05).low == 1.0


@pytest.mark.parametrize("drift", [-0.1, 0.02, 0.1])
def test_a_machine_that_drifts_changes_no_ratio(drift):
    still, drifting = (fit_trials(study(drift=one, a=100, b=110, c=101), "abc") for one in (0.0, drift))
    assert drifting.ratio("b", "a", 0.05).mean == pytest.approx(still.ratio("b", "a", 0.05).mean, rel=0.01)
    assert drifting.ratio("b", "a", 0.05).low > 1.05


def test_a_level_is_that_at_the_mean_state_of_the_machine():
    trials = study(blocks=8, drift=0.1, a=100, b=110)
    middle = math.exp(sum(0.1 * number / 2 for number in range(16)) / 16)
    assert fit_trials(trials, "ab").level("a", 0.05).mean == pytest.approx(100 * middle, rel=0.01)


def test_drift_takes_few_degrees_of_freedom():
    rng = np.random.default_rng(1)
    fitted = fit_trials(noisy_study(rng, {"a": 100, "b": 100, "c": 100}, 8, 0.02), "abc")
    assert fitted.total_dof > 14  # blocks would leave 14 of 24 trials


def test_runs_have_levels_and_drifts_of_their_own():
    first = study(blocks=5, a=100, b=110)
    later = [TimedTrial("later", t.candidate, t.at + 1e6, 3 * t.value) for t in study(blocks=5, drift=-0.1, a=100, b=110)]
    fitted = fit_trials([*first, *later], "ab")
    assert fitted.ratio("b", "a", 0.05).mean == pytest.approx(1.1, rel=0.005)
    assert fitted.ratio("b", "a", 0.05).low > 1.07


def test_a_noisy_candidate_is_known_less_well_and_spoils_no_other():
    rng, levels = np.random.default_rng(2), dict.fromkeys("abcd", 100.0)
    fitted = fit_trials(noisy_study(rng, levels, 10, 0.01, noisier={"d": 6.0}), "abcd")
    assert fitted.difference("d", "a").error > 2.5 * fitted.difference("b", "a").error
    assert math.sqrt(fitted.variances[0]) == pytest.approx(0.01, rel=0.5)


def test_a_candidate_whose_seconds_are_much_noisier_starts_with_a_higher_variance():
    quiet = [TimedTrial("run", name, SECONDS * n, 100.0 + n % 2, 0.01) for n, name in enumerate("abcdabcd")]
    loud = [*quiet, TimedTrial("run", "e", 500.0, 100.0, 0.06)]
    even = [*quiet, TimedTrial("run", "e", 500.0, 100.0, 0.01)]
    apart, alike = (fit_trials(trials, "abcde").difference("e", "a").error for trials in (loud, even))
    assert apart > 2 * alike


def test_no_variance_is_lower_than_what_a_trials_own_seconds_show():
    fitted = fit_trials(study(wiggle=wiggle(0.01), error=0.02, a=100, b=100), "ab")
    assert min(fitted.variances) >= 0.02**2


def test_candidates_that_differ_in_noise_are_reported_from_equal_ones_by_degrees_of_freedom_of_their_own():
    rng = np.random.default_rng(3)
    fitted = fit_trials(noisy_study(rng, dict.fromkeys("abc", 100.0), 9, 0.01, noisier={"c": 8.0}), "abc")
    assert fitted.difference("c", "a").dof < fitted.difference("b", "a").dof <= fitted.total_dof


def half_widths(fitted, **choice):
    estimates = fitted.ratio("b", "a", 0.05, **choice), fitted.level("b", 0.05, **choice)
    errors = fitted.difference("b", "a").error, fitted.effect("b").error
    return [math.log(one.high / one.mean) / error for one, error in zip(estimates, errors, strict=True)]


def test_intervals_are_wider_where_trials_vary_more_and_for_the_choice():
    quiet, loud = (fit_trials(noisy_study(np.random.default_rng(4), {"a": 100, "b": 100}, 60, sd), "ab") for sd in (0.01, 0.08))
    student = scipy.stats.norm.isf(0.025)
    assert half_widths(quiet) == pytest.approx([(1.05 + 4 * quiet.sd) * student] * 2)
    assert half_widths(loud) == pytest.approx([1.25 * student] * 2)
    for fitted in (quiet, loud):
        assert half_widths(fitted, is_choice=True) == pytest.approx([1.4 * student, 1.8 * student])


def test_few_trials_have_students_interval_with_the_knowledge_of_their_seconds():
    fitted = fit_trials(study(blocks=2, wiggle=wiggle(0.01), a=100, b=101), "ab")
    dof = 1.25 * fitted.difference("b", "a").dof
    assert half_widths(fitted)[0] == pytest.approx(scipy.stats.t.isf(0.025, dof))


def test_a_deviate_has_the_probability_of_its_t():
    for mean, dof in ((0.02, 3.0), (-0.05, 8.0), (0.01, 200.0)):
        z = FittedDifference(mean, 0.01, dof).z(0.005)
        assert scipy.stats.norm.sf(z) == pytest.approx(scipy.stats.t.sf((mean + 0.005) / 0.01, dof), rel=1e-6)


def test_a_server_that_stood_still_counts_as_a_hundredth():
    fitted = fit_trials(study(a=100, b=0, c=99), "abc")
    assert fitted.ratio("b", "a", 0.05).mean < 0.02


def test_candidates_that_cannot_be_compared_have_no_fit():
    assert fit_trials([], "ab") is None
    assert fit_trials(study(a=100), "ab") is None
    assert fit_trials(study(blocks=1, a=100, b=110), "ab") is None  # nothing was repeated
    assert fit_trials(study(a=0, b=0), "ab") is None
    with pytest.raises(ValueError, match="zero or more"):
        fit_trials([*study(a=100, b=110), TimedTrial("run", "a", 0.0, math.nan)], "ab")


@settings(max_examples=20)
@given(st.integers(0, 500), st.floats(0.01, 1000), st.data())
def test_names_order_unit_and_clock_change_nothing(seed, unit, data):
    rng = np.random.default_rng(seed)
    trials = noisy_study(rng, {"a": 100.0, "b": 103.0, "c": 90.0}, 4, 0.02)
    new = dict(zip("abc", data.draw(st.permutations("xyz")), strict=True))
    moved = [TimedTrial(7, new[t.candidate], t.at + 1e5, t.value * unit) for t in data.draw(st.permutations(trials))]
    fitted, again = fit_trials(trials, "abc"), fit_trials(moved, data.draw(st.permutations("xyz")))
    for name in "bc":
        ratio, other = fitted.ratio(name, "a", 0.05), again.ratio(new[name], new["a"], 0.05)
        assert (other.mean, other.low, other.high) == pytest.approx((ratio.mean, ratio.low, ratio.high), rel=1e-6)
    assert again.level(new["b"], 0.05).mean == pytest.approx(unit * fitted.level("b", 0.05).mean, rel=1e-6)


@pytest.mark.parametrize(("count", "blocks", "noisier"), [(2, 6, {}), (5, 4, {}), (5, 8, {"e": 4.0})])
def test_intervals_cover_the_truth_as_often_as_promised(count, blocks, noisier):
    rng, names = np.random.default_rng(11 + count), "abcde"[:count]
    levels = dict(zip(names, [100.0, 103.0, 97.0, 100.0, 100.0], strict=False))
    ratios, of_levels, studies = 0, 0, 120
    for _ in range(studies):
        # Without drift the level at the mean state of the machine is the candidate's own.
        fitted = fit_trials(noisy_study(rng, levels, blocks, 0.02, drift=0.0, noisier=noisier, error=0.015), names)
        for name in names:
            level, ratio = fitted.level(name, 0.05), fitted.ratio(name, "a", 0.05)
            of_levels += level.low <= levels[name] <= level.high
            ratios += name != "a" and ratio.low <= levels[name] / 100.0 <= ratio.high
    assert ratios / (studies * (count - 1)) >= 0.94
    assert of_levels / (studies * count) >= 0.94


def test_the_trials_of_other_candidates_lend_a_pair_no_more_degrees_of_freedom_than_it_has_trials():
    levels = dict.fromkeys("abcdefgh", 100.0)
    trials = noisy_study(np.random.default_rng(4), levels, 8, 0.01)
    few = [trial for trial in trials if trial.candidate not in "ab"] + [t for t in trials if t.candidate in "ab"][:7]
    fitted = fit_trials(few, "abcdefgh")
    assert fitted.total_dof > 20
    assert fitted.difference("a", "b").dof <= 7
