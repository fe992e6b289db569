"""Throughput is transactions divided by seconds; the typical speed may sharpen a comparison but never contradicts it."""

import numpy as np
import pytest

from dialin.model.verdict import AgainstBest, DecidedBy, Outcome
from dialin.stats.decide import Rules
from dialin.stats.throughput import TrialSpeed, decide_throughput

RULES = Rules(worthwhile=0.01, confidence=0.95)


def study(typical, stalls, *, blocks=8, noise=0.003, seed=1, chance=0.0):
    """Trials of candidates by typical speed, and the share of it that stalls take: always, or in some trials by chance."""
    rng = np.random.default_rng(seed)
    result = []
    for _ in range(blocks):
        for name, speed in typical.items():
            level = speed * np.exp(rng.normal(scale=noise))
            cost = stalls.get(name, 0.0) if rng.random() >= chance else 0.0
            result.append(TrialSpeed("run", name, 60.0 * len(result), level * (1 - cost), level))
    return result


def judged(trials, names="abc", **options):
    return decide_throughput(trials, list(names), "a", RULES, **options)


def test_without_stalls_the_typical_speed_is_the_throughput():
    result = judged(study({"a": 1000, "b": 1100, "c": 1010}, {}))
    assert (result.outcome, result.winners, result.decided_by) == (Outcome.WINNER, ("b",), DecidedBy.TYPICAL_SPEED)
    assert result.ratios["b"].mean == pytest.approx(result.typical_ratios["b"].mean)


def test_a_candidate_that_is_dead_for_a_third_of_its_time_does_not_beat_a_slower_one_that_runs():
    result = judged(study({"a": 800, "b": 1000}, {"b": 1 / 3}), "ab")
    assert (result.outcome, result.winners) == (Outcome.WINNER, ("a",))
    assert result.decided_by is DecidedBy.GOAL
    assert result.stalls_differ
    assert result.ratios["b"].mean == pytest.approx(667 / 800, rel=0.01)
    assert result.typical_ratios["b"].low > 1


def test_few_trials_that_were_spared_stalls_are_less_sure_than_their_seconds_say():
    rng = np.random.default_rng(3)

    def trial(place, name, cost):
        level = 1000 * np.exp(rng.normal(scale=0.001))
        return TrialSpeed("run", name, 60.0 * place, level * (1 - cost), level)

    stalled = [trial(place, "a", 0.1) for place in range(4)]
    spared = [trial(4 + place, "b", 0.0) for place in range(3)]
    result = judged(stalled + spared, "ab")
    assert result.decided_by is DecidedBy.GOAL
    assert np.log(result.ratios["b"].high / result.ratios["b"].low) > 0.05
    never = judged([trial(place, name, 0.0) for place in range(4) for name in "ab"], "ab")
    assert np.log(never.ratios["b"].high / never.ratios["b"].low) < 0.02


def test_stalls_that_come_to_all_candidates_alike_do_not_hide_a_choice_but_its_interval_must_show_a_proof():
    rng = np.random.default_rng(5)
    trials = [
        TrialSpeed("run", name, 60.0 * (3 * block + place), level * (1 - cost), level)
        for block in range(8)
        for place, (name, speed) in enumerate({"a": 1000, "b": 1040, "c": 1000}.items())
        for level in [speed * np.exp(rng.normal(scale=0.004))]
        for cost in [rng.choice([0.0, 0.06])]
    ]
    result = judged(trials)
    assert (result.choice, result.decided_by) == ("b", DecidedBy.TYPICAL_SPEED)
    assert result.ratios["b"].low < 1 < result.typical_ratios["b"].low, "the plain mean alone does not show it yet"
    assert (result.outcome, result.winners, result.better) == (Outcome.SAFE_CHOICE, (), ())


@pytest.mark.parametrize("seed", range(20))
def test_a_choice_other_than_the_baseline_has_the_higher_plain_mean(seed):
    result = judged(study({"a": 1000, "b": 1030, "c": 1000}, {"b": 0.08, "a": 0.02}, seed=seed, noise=0.01, chance=0.5))
    if result.choice not in (None, "a"):
        assert result.ratios[result.choice].mean > 1
    for name, state in result.states.items():
        if state is AgainstBest.LOSES and result.choice is not None:
            assert result.ratios[name].mean < result.ratios[result.choice].mean


def test_names_and_unit_change_nothing():
    trials = study({"a": 1000, "b": 1030, "c": 1000}, {"b": 0.05, "a": 0.05}, chance=0.5)
    scaled = [TrialSpeed(t.run, t.candidate, t.at, 60 * t.mean, 60 * t.typical) for t in reversed(trials)]
    one, other = judged(trials), judged(scaled)
    assert (one.outcome, one.states, one.decided_by) == (other.outcome, other.states, other.decided_by)
