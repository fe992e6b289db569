"""The promised error rates, counted on simulated studies of known truth; `benchmarks/decide_rates.py` prints more of them."""

import math

import numpy as np
import pytest
import scipy.stats

from dialin.model.verdict import CandidateState, Outcome
from dialin.stats.blocks import Observation
from dialin.stats.decide import decide
from dialin.stats.looks import allowance, is_look
from dialin.stats.series import window

ALPHA = 0.05
BLOCKS = 12


def names_of(count):
    return [f"c{index}" for index in range(count)]


def trials(rng, levels, *, sd=0.01, drift=0.03, last=1.0):
    """Trials of complete blocks in random order: drift within and between blocks, and noise from restart to restart.

    The last candidate is noisier than the others by the factor `last`.
    """
    names = names_of(len(levels))
    slope, phase = rng.normal(scale=drift), rng.uniform(0, 6)
    seen, position = [], 0
    for block in range(BLOCKS):
        for index in rng.permutation(len(levels)):
            hour = position / (BLOCKS * len(levels))
            level = math.log(levels[index]) + slope * hour + drift * math.sin(phase + 6 * hour)
            noise = rng.normal(scale=sd * (last if index == len(levels) - 1 else 1.0))
            seen.append(Observation((block, 1), names[index], math.exp(level + noise)))
            position += 1
    return seen


def looks(seen, count, worthwhile, budgets=(BLOCKS,)):
    """The decisions of every look at the data, as a study that never stops early takes them.

    A budget holds so many blocks; each further one extends it to so many in all.
    """
    spent = 0.0
    for before, end in zip((0, *budgets), budgets, strict=False):
        for blocks in range(before + 1, end + 1):
            if not is_look(blocks) and blocks != end:
                continue
            so_far = [one for one in seen if one.stratum[0] < blocks]
            alpha = allowance(spent, ALPHA, blocks / end, last=blocks == end)
            spent += alpha
            yield decide(so_far, names_of(count), "c0", alpha=alpha, worthwhile=worthwhile)


def at_most(promised, studies):
    """The most errors in so many studies that a true rate of what was promised explains (one chance in a thousand)."""
    return scipy.stats.binom.ppf(0.999, studies, promised)


@pytest.mark.parametrize("count", [2, 3, 7])
def test_equal_candidates_are_told_apart_no_more_often_than_promised_over_all_looks(count):
    rng, studies = np.random.default_rng(count), 150
    claims = sum(
        any(CandidateState.LOSES in look.states.values() for look in looks(trials(rng, [100.0] * count), count, 0.01))
        for _ in range(studies)
    )
    assert claims <= at_most(ALPHA, studies)


@pytest.mark.parametrize("budgets", [(6,), (6, 12), (4, 5, 7, 12)])
def test_ending_a_budget_and_extending_it_raise_no_more_false_claims_than_promised(budgets):
    rng, studies = np.random.default_rng(6), 150
    claims = sum(
        any(CandidateState.LOSES in look.states.values() for look in looks(trials(rng, [100.0] * 2), 2, 0.01, budgets))
        for _ in range(studies)
    )
    assert claims <= at_most(ALPHA, studies)


def test_one_erratic_candidate_raises_no_more_false_claims_than_promised():
    rng, studies = np.random.default_rng(8), 100
    claims = sum(
        any(CandidateState.LOSES in look.states.values() for look in looks(trials(rng, [100.0] * 7, last=10), 7, 0.01))
        for _ in range(studies)
    )
    assert claims <= at_most(ALPHA, studies)


@pytest.mark.parametrize("count", [2, 7])
def test_ten_percent_is_found_nearly_always(count):
    rng, studies = np.random.default_rng(10 + count), 40
    levels = [100.0] * (count - 1) + [110.0]
    found = [list(looks(trials(rng, levels), count, 0.01))[-1] for _ in range(studies)]
    assert sum(one.outcome is Outcome.WINNER and one.winners == (f"c{count - 1}",) for one in found) >= studies - 1


def test_six_blocks_of_three_candidates_nearly_always_find_a_difference_of_four_times_the_noise():
    rng, studies = np.random.default_rng(15), 60
    found = [list(looks(trials(rng, [100.0, 100.0, 108.0], sd=0.021), 3, 0.01, (6,)))[-1] for _ in range(studies)]
    assert sum(one.winners == ("c2",) for one in found) >= 0.9 * studies


def test_what_an_unresolved_budget_left_open_an_extended_one_finds():
    rng, studies = np.random.default_rng(16), 60
    found = [list(looks(trials(rng, [100.0, 100.0, 105.0], sd=0.021), 3, 0.01, (6, 12))) for _ in range(studies)]
    at_the_end_of = [sum(one[number].winners == ("c2",) for one in found) for number in (2, -1)]
    assert at_the_end_of[0] < 0.75 * studies
    assert at_the_end_of[1] > at_the_end_of[0] + 0.15 * studies


def test_what_lies_beyond_the_band_is_rarely_called_equal():
    rng, studies = np.random.default_rng(20), 150
    claims = sum(
        any(look.outcome is Outcome.NO_WORTHWHILE_DIFFERENCE for look in looks(trials(rng, [100.0, 102.01]), 2, 0.02))
        for _ in range(studies)
    )
    assert claims <= at_most(ALPHA, studies)


def test_all_intervals_of_all_looks_hold_together_as_often_as_promised():
    rng, studies, count = np.random.default_rng(30), 150, 4
    truth = [100.0, 101.0, 99.0, 104.0]

    def misses(look):
        return any(not one.low <= truth[int(name[1:])] / 100 <= one.high for name, one in look.ratios.items())

    missed = sum(any(misses(look) for look in looks(trials(rng, truth), count, 0.01)) for _ in range(studies))
    assert missed <= at_most(ALPHA, studies)


def test_correlated_seconds_raise_no_false_alarm_because_the_trial_is_the_unit():
    rng, studies = np.random.default_rng(40), 60

    def seconds():
        noise = rng.normal(size=25)
        for second in range(1, noise.size):
            noise[second] = 0.9 * noise[second - 1] + math.sqrt(1 - 0.81) * noise[second]
        return 1000 * (1 + 0.05 * noise[5:])

    alarms, naive = 0, 0
    for _ in range(studies):
        series = {(block, name): seconds() for block in range(6) for name in names_of(2)}
        seen = [Observation(block, name, window(tps).location) for (block, name), tps in series.items()]
        found = decide(seen, names_of(2), "c0", alpha=ALPHA, worthwhile=0.01)
        alarms += CandidateState.LOSES in found.states.values()
        pooled = [np.concatenate([tps for (_, name), tps in series.items() if name == one]) for one in names_of(2)]
        naive += scipy.stats.ttest_ind(*pooled).pvalue < ALPHA
    assert alarms <= at_most(ALPHA, studies)
    assert naive / studies > 0.25  # the same data, were the second the unit


def test_drift_does_not_change_the_verdict():
    levels = [100.0, 104.0, 100.0]
    still, drifting = (trials(np.random.default_rng(50), levels, sd=0.005, drift=drift) for drift in (0.0, 0.05))
    verdicts = [decide(seen, names_of(3), "c0", alpha=ALPHA, worthwhile=0.01) for seen in (still, drifting)]
    assert verdicts[0].winners == verdicts[1].winners == ("c1",)
