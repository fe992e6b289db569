"""The promised rates, counted on simulated studies of known truth; `make bench-decide` counts many more of them."""

from dataclasses import replace
from functools import cache

import numpy as np
import pytest
import scipy.stats

from dialin.model.study import Until
from dialin.model.verdict import Outcome
from dialin.stats.decide import Rules, decide
from dialin.stats.intervals import stall_seconds_per_1000, typical
from dialin.stats.trial_fit import TimedTrial, fit_trials
from dialin.stats.window import window
from fixtures.long_form import only_with_all
from stats.simulated import STUDIES, at_most, least
from stats.simulated import decide as studies_of
from stats.simulated import world as worlds
from stats.timed import noisy_study

ALPHA = 0.05
RULES = Rules(worthwhile=0.01, confidence=1 - ALPHA)
FEW = {"correlations": (0.7,)}  # the truth of each is counted once, which takes a second
MACHINES = {
    "restarts": replace(worlds.RESTART, **FEW),
    "dynamic": replace(worlds.DYNAMIC, measured=30, **FEW),
    "one noisy candidate": replace(worlds.RESTART, uneven=5.0, **FEW),
    "jumps": replace(worlds.RESTART, jumps=1.0, **FEW),
}


@cache
def ended_studies(machine, shape, better, until=Until.SAFE):
    row = studies_of.Row("dialin", MACHINES[machine], shape, better, until=until)
    return [studies_of.dialin(np.random.default_rng([10, number]), row) for number in range(STUDIES)]


@pytest.mark.parametrize(
    "machine",
    [
        "restarts",
        "one noisy candidate",
        pytest.param("dynamic", marks=only_with_all),
        pytest.param("jumps", marks=only_with_all),
    ],
)
def test_where_nothing_differs_hardly_any_study_claims_a_difference_at_any_look(machine):
    ended = ended_studies(machine, "one", 0.0)
    assert sum(one.false for one in ended) <= at_most(ALPHA, len(ended))
    assert sum(one.claimed for one in ended) <= at_most(ALPHA, len(ended))


def test_of_two_that_are_equally_the_best_hardly_any_study_claims_that_one_is_better():
    ended = ended_studies("dynamic", "two", 0.03)
    assert sum(one.false for one in ended) <= at_most(ALPHA, len(ended))
    assert sum(one.right for one in ended) >= least(1 - ALPHA, len(ended))


@pytest.mark.parametrize(
    ("machine", "better", "minutes"), [("restarts", 0.10, 30), ("restarts", 0.03, 60), ("dynamic", 0.10, 12)]
)
def test_whole_studies_choose_rightly_claim_nothing_false_and_end_soon(machine, better, minutes):
    ended = ended_studies(machine, "one", better)
    assert sum(one.right for one in ended) >= least(1 - ALPHA, len(ended))
    assert sum(one.false for one in ended) <= at_most(ALPHA, len(ended))
    assert np.median([one.minutes for one in ended]) <= minutes


@pytest.mark.parametrize("until", [Until.BETTER, Until.BEST])
def test_a_study_that_runs_on_for_proof_shows_it_and_rightly(until):
    ended = ended_studies("dynamic", "one", 0.10, until)
    assert all(one.resolved for one in ended)
    assert sum(one.false for one in ended) <= at_most(ALPHA, len(ended))
    assert all(one.claimed for one in ended) or until is Until.BEST


def test_intervals_at_the_stop_cover_the_truth():
    ended = [one for machine in ("restarts", "dynamic") for one in ended_studies(machine, "graded", 0.03)]
    for kind, promised in (("ratio to the baseline", 0.945), ("throughput", 0.945), ("variation", 0.94), ("stalls", 0.945)):
        printed, missed = (sum(one.missed[kind][part] for one in ended) for part in (0, 1))
        assert missed <= at_most(1 - promised, printed), kind


def test_variations_and_stalls_are_covered():
    rng, machine_of = np.random.default_rng(70), MACHINES["restarts"]
    variations, stalls, usual = [], [], worlds.truth(machine_of, 0.7, machine_of.habits(0))
    for _ in range(40):
        machine = machine_of.begin(rng)
        for _ in range(6):
            worlds.observe(rng, machine, 0, 0.0)
        windows = machine.windows["c0"]
        cv = typical([one.cv for one in windows], ALPHA)
        variations.append(cv.low <= usual.cv <= cv.high)
        lengths = [length for one in windows for length in one.stall_lengths]
        share = stall_seconds_per_1000(lengths, sum(one.seconds for one in windows), 8, ALPHA)
        stalls.append(share.low <= 1000 * usual.stalled <= share.high)
    assert np.mean(variations) >= 0.87
    assert np.mean(stalls) >= 0.87


def test_a_difference_beyond_the_band_is_rarely_called_equal():
    rng, studies = np.random.default_rng(20), 60
    rules = replace(RULES, worthwhile=0.02)

    def is_called_equal(trials):
        decisions = (decide(trials[:end], "ab", "a", rules) for end in (8, 12, 16))
        return any(one.outcome is Outcome.NO_WORTHWHILE_DIFFERENCE for one in decisions)

    called = [is_called_equal(noisy_study(rng, {"a": 100.0, "b": 102.3}, 8, 0.01)) for _ in range(studies)]
    assert sum(called) <= at_most(ALPHA, studies)


def test_correlated_seconds_raise_no_false_alarm_because_the_trial_is_the_unit():
    rng, studies = np.random.default_rng(40), 60
    quiet = worlds.World("no restarts", restart=0.0, stalls=0.0)
    alarms, naive = 0, 0
    for _ in range(studies):
        series = {(n, "ab"[n % 2]): 1000 * worlds.noise(rng, quiet, 0.9, 20, quiet.habits(0)) for n in range(12)}
        trials = [TimedTrial(0, name, 60.0 * n, window(tps).typical) for (n, name), tps in series.items()]
        ratio = fit_trials(trials, "ab").ratio("a", "b", ALPHA)
        alarms += not ratio.low <= 1 <= ratio.high
        pooled = [np.concatenate([tps for (_, name), tps in series.items() if name == one]) for one in "ab"]
        naive += scipy.stats.ttest_ind(*pooled).pvalue < ALPHA
    assert alarms <= at_most(ALPHA, studies)
    assert naive / studies > 0.25  # the same data, were the second the unit


def test_the_published_grid_errs_on_the_same_machine(monkeypatch):
    monkeypatch.setattr(studies_of, "GRID_SECONDS", 1000)
    row = studies_of.Row("grid", MACHINES["restarts"], "one", 0.0)
    assert all(studies_of.grid(np.random.default_rng([9, number]), row).false for number in range(3))
