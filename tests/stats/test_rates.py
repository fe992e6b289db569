"""The promised rates, counted on simulated studies of known truth; `make bench-decide` counts many more of them."""

import math
from dataclasses import replace

import numpy as np
import pytest
import scipy.stats

from dialin.model.verdict import CandidateState, Outcome
from dialin.stats.blocks import Observation, fit, levels
from dialin.stats.decide import Rules, decide
from dialin.stats.intervals import stall_seconds_per_1000, typical
from dialin.stats.looks import FIRST_LOOK, allowance
from dialin.stats.throughput import by_mean
from dialin.stats.window import window
from stats.simulated import at_most, least
from stats.simulated import decide as studies_of
from stats.simulated import world as worlds

ALPHA = 0.05
BLOCKS = 12
RULES = Rules(worthwhile=0.01, confidence=1 - ALPHA)


def names_of(count):
    return [f"c{index}" for index in range(count)]


def trials(rng, levels, *, sd=0.01, drift=0.03, last=1.0, blocks=BLOCKS):
    """Trials of complete blocks in random order: drift within and between blocks, and noise from restart to restart.

    The last candidate is noisier than the others by the factor `last`.
    """
    names = names_of(len(levels))
    slope, phase = rng.normal(scale=drift), rng.uniform(0, 6)
    observations, position = [], 0
    for block in range(blocks):
        for index in rng.permutation(len(levels)):
            hour = position / (blocks * len(levels))
            level = math.log(levels[index]) + slope * hour + drift * math.sin(phase + 6 * hour)
            noise = rng.normal(scale=sd * (last if index == len(levels) - 1 else 1.0))
            observations.append(Observation(block, names[index], math.exp(level + noise)))
            position += 1
    return observations


def looks(observations, budgets=(BLOCKS,)):
    """Yield what is seen and allowed at every look, as in a study that nothing ends before its budget does.

    A budget holds so many blocks; each further one extends it to so many in all.
    """
    spent, at = 0.0, 0
    for end in budgets:
        for blocks in range(max(FIRST_LOOK, at + 1), end + 1):
            alpha = allowance(spent, ALPHA, at / end, blocks / end)
            spent, at = spent + alpha, blocks
            yield [one for one in observations if one.stratum < blocks], alpha


def some_interval_misses(observations, truth, budgets=(BLOCKS,)):
    """Tell whether at any look the interval of any two candidates misses the truth, as every false claim takes."""
    names = names_of(len(truth))
    for so_far, alpha in looks(observations, budgets):
        result = fit(so_far, names)
        for a in range(len(names)):
            for b in range(a):
                ratio = result.ratio(names[a], names[b], alpha)
                if not ratio.low <= truth[a] / truth[b] <= ratio.high:
                    return True
    return False


@pytest.mark.parametrize("count", [2, 3, 7])
def test_all_intervals_of_all_looks_hold_together_as_often_as_promised(count):
    rng, studies = np.random.default_rng(count), 100
    truth = [100.0, 101.0, 99.0, 104.0, 100.0, 100.0, 90.0][:count]
    missed = sum(some_interval_misses(trials(rng, truth), truth) for _ in range(studies))
    assert missed <= at_most(ALPHA, studies)


@pytest.mark.parametrize("budgets", [(6,), (6, 12), (4, 5, 7, 12)])
def test_ending_a_budget_and_extending_it_raise_no_more_false_claims_than_promised(budgets):
    rng, studies = np.random.default_rng(6), 150
    missed = sum(some_interval_misses(trials(rng, [100.0] * 2), [100.0] * 2, budgets) for _ in range(studies))
    assert missed <= at_most(ALPHA, studies)


def test_looking_after_each_block_without_an_allowance_would_break_the_promise():
    rng, studies = np.random.default_rng(7), 100

    def alarms(observations):
        ratios = (fit(so_far, names_of(2)).ratio("c0", "c1", ALPHA) for so_far, _ in looks(observations))
        return any(not ratio.low <= 1 <= ratio.high for ratio in ratios)

    assert sum(alarms(trials(rng, [100.0] * 2)) for _ in range(studies)) > at_most(ALPHA, studies)


def test_one_candidate_three_times_noisier_raises_no_more_false_claims_against_the_baseline_than_promised():
    rng, studies, names = np.random.default_rng(8), 100, names_of(7)

    def claims(observations):
        for so_far, alpha in looks(observations):
            result = fit(so_far, names)
            yield from (result.ratio(name, "c0", alpha) for name in names[1:])

    told = sum(any(not r.low <= 1 <= r.high for r in claims(trials(rng, [100.0] * 7, last=3))) for _ in range(studies))
    assert told <= at_most(ALPHA, studies)


@pytest.mark.parametrize("count", [2, 7])
def test_ten_percent_is_found_nearly_always(count):
    rng, studies = np.random.default_rng(10 + count), 30
    truth = [100.0] * (count - 1) + [110.0]
    result = [decide(trials(rng, truth, blocks=6), names_of(count), "c0", RULES, alpha=0.01) for _ in range(studies)]
    assert sum(one.outcome is Outcome.WINNER and one.winners == (f"c{count - 1}",) for one in result) >= studies - 1


def test_what_lies_beyond_the_band_is_rarely_called_equal():
    rng, studies = np.random.default_rng(20), 60
    rules = replace(RULES, worthwhile=0.02)

    def called_equal(observations):
        result = (decide(so_far, names_of(2), "c0", rules, alpha=alpha) for so_far, alpha in looks(observations, (8,)))
        return next((one.outcome for one in result if one.choice), None) is Outcome.NO_WORTHWHILE_DIFFERENCE

    assert sum(called_equal(trials(rng, [100.0, 102.3], blocks=8)) for _ in range(studies)) <= at_most(ALPHA, studies)


def test_correlated_seconds_raise_no_false_alarm_because_the_trial_is_the_unit():
    rng, studies = np.random.default_rng(40), 60
    quiet = worlds.World("no restarts", restart=0.0, stalls=0.0)

    def seconds():
        return 1000 * worlds.noise(rng, quiet, 0.9, 20, quiet.habits(0))

    alarms, naive = 0, 0
    for _ in range(studies):
        series = {(block, name): seconds() for block in range(6) for name in names_of(2)}
        result = fit([Observation(block, name, window(tps).typical) for (block, name), tps in series.items()], names_of(2))
        ratio = result.ratio("c0", "c1", ALPHA)
        alarms += not ratio.low <= 1 <= ratio.high
        pooled = [np.concatenate([tps for (_, name), tps in series.items() if name == one]) for one in names_of(2)]
        naive += scipy.stats.ttest_ind(*pooled).pvalue < ALPHA
    assert alarms <= at_most(ALPHA, studies)
    assert naive / studies > 0.25  # the same data, were the second the unit


# On the machine of the benchmarks: correlated seconds, stalls, restarts, drift.

FEW = {"correlations": (0.5, 0.9)}
MACHINES = {
    "restarts": replace(worlds.RESTART, **FEW),
    "dynamic": replace(worlds.DYNAMIC, **FEW),
    "one thrice as noisy": replace(worlds.RESTART, uneven=3.0, **FEW),
    "drift of 20 % an hour": replace(worlds.RESTART, drift=0.2, **FEW),
    "loud, many stalls": replace(worlds.RESTART, cv=0.1, restart=0.02, stalls=30.0, **FEW),
}


@pytest.fixture(scope="module", params=MACHINES)
def measured(request):
    """Studies of six blocks of seven candidates on a machine, each with the machine, which knows the truth."""
    rng, machine_of = np.random.default_rng(70), MACHINES[request.param]
    true = dict(zip(names_of(7), worlds.LEVELS["graded"](0.03), strict=True))
    result = []
    for _ in range(16):
        machine = machine_of.begin(rng)
        observations = [
            worlds.observe(rng, machine, block, int(index), true[f"c{index}"])
            for block in range(6)
            for index in rng.permutation(7)
        ]
        result.append((machine, observations, true))
    return result


def covered(estimates):
    """The share of (estimate, truth) whose interval holds the truth."""
    return np.mean([estimate.low <= truth <= estimate.high for estimate, truth in estimates])


def test_ratios_to_the_baseline_are_covered(measured):
    pairs = []
    for _, observations, true in measured:
        for so_far, alpha in looks(by_mean(observations), (6,)):
            result = fit(so_far, list(true))
            pairs += [(result.ratio(name, "c0", alpha), math.exp(true[name] - true["c0"])) for name in names_of(7)[1:]]
    assert covered(pairs) >= 0.97  # they hold together, so each one alone more often


def test_levels_are_covered(measured):
    pairs = []
    for machine, observations, true in measured:
        for name, level in levels(by_mean(observations), list(true), ALPHA).items():
            cost = truth(machine, name).cost
            pairs.append((level, 1000 * math.exp(true[name] + cost + float(np.mean(machine.drifts[name])))))
    assert covered(pairs) >= 0.96


def test_variations_and_stalls_are_covered(measured):
    variations, stalls = [], []
    for machine, _, _ in measured:
        for name, own in machine.windows.items():
            usual = truth(machine, name)
            variations.append((typical([one.cv for one in own], ALPHA), usual.cv))
            lengths = [length for one in own for length in one.stall_lengths]
            stalls.append((stall_seconds_per_1000(lengths, sum(one.seconds for one in own), 8, ALPHA), 1000 * usual.stalled))
    assert covered(variations) >= 0.92
    assert covered(stalls) >= 0.93


def truth(machine, name):
    return worlds.truth(machine.world, machine.correlation, machine.world.habits(int(name[1:])))


def test_a_gain_that_is_confirmed_afresh_is_covered_though_its_candidate_was_picked(measured):
    rng, missed, counted = np.random.default_rng(71), 0, 0
    for machine, observations, true in measured:
        result = fit([one for one in by_mean(observations) if one.stratum < 3], list(true))
        chosen = max(range(1, 7), key=lambda index: result.effects[index])
        for _ in range(3):
            levels_of = list(true.values())
            one, miss = studies_of.confirm(rng, machine, levels_of, levels_of, chosen)
            counted, missed = counted + one, missed + miss
    assert missed <= at_most(ALPHA, counted)


@pytest.mark.parametrize(
    ("world", "better", "minutes"), [("restarts", 0.10, 50), ("restarts", 0.03, 95), ("dynamic", 0.10, 28)]
)
def test_whole_studies_choose_rightly_claim_nothing_false_and_end_soon(world, better, minutes, monkeypatch):
    monkeypatch.setattr(studies_of, "misses", lambda *_: {})  # counted above
    row = studies_of.Row("dialin", MACHINES[world], "one", better)
    ended = [studies_of.dialin(np.random.default_rng([9, number]), row) for number in range(10)]
    assert sum(one.right for one in ended) >= least(0.96, len(ended))
    assert sum(one.false for one in ended) <= at_most(ALPHA, len(ended))
    assert np.median([one.minutes for one in ended]) <= minutes


def test_the_published_grid_errs_on_the_same_machine(monkeypatch):
    monkeypatch.setattr(studies_of, "GRID_SECONDS", 1000)
    row = studies_of.Row("grid", MACHINES["restarts"], "one", 0.0)
    assert all(studies_of.grid(np.random.default_rng([9, number]), row).false for number in range(3))


def test_drift_does_not_change_the_verdict():
    truth = [100.0, 104.0, 100.0]
    still, drifting = (trials(np.random.default_rng(50), truth, sd=0.005, drift=drift) for drift in (0.0, 0.05))
    verdicts = [decide(observations, names_of(3), "c0", RULES, alpha=ALPHA) for observations in (still, drifting)]
    assert verdicts[0].winners == verdicts[1].winners == ("c1",)
    assert CandidateState.OPEN not in {*verdicts[0].states.values(), *verdicts[1].states.values()}
