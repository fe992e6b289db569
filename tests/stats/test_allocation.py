import numpy as np
import pytest

from dialin.model.study import Until
from dialin.stats.allocation import SIZE, contenders, next_block
from dialin.stats.decide import Rules
from dialin.stats.trial_fit import FEWEST_TO_CLAIM, TimedTrial, fit_trials
from stats.timed import SECONDS, noisy_study, study, wiggle

RULES = Rules(worthwhile=0.01, confidence=0.95)


def test_every_candidate_runs_before_any_runs_again():
    assert next_block([], "abc", "a", RULES) == ("a", "b", "c")
    ran = study(blocks=1, a=100, b=101)
    assert set(next_block(ran, "abcd", "a", RULES)) == {"c", "d"}
    assert "c" in next_block(ran, "abc", "a", RULES)


def test_after_the_first_block_the_two_best_run():
    assert set(next_block(study(blocks=1, a=100, b=110, c=101, d=109), "abcd", "a", RULES)) == {"b", "d"}


def test_an_only_trial_far_below_the_others_is_repeated_once():
    trials = study(blocks=3, wiggle=wiggle(4), a=100, b=103, d=102)
    trials.append(TimedTrial("run", "c", trials[-1].at + SECONDS, 85.0))
    assert next_block(trials, "abcd", "a", RULES)[0] == "c"
    trials.append(TimedTrial("run", "c", trials[-1].at + SECONDS, 85.2))
    assert "c" not in next_block(trials, "abcd", "a", RULES)


def test_trials_go_to_those_that_may_still_be_the_best():
    trials = study(blocks=2, wiggle=wiggle(4), a=100, b=110, c=80, d=109)
    levels = {"a": 100.0, "b": 110.0, "c": 80.0, "d": 109.0}
    for _ in range(20):
        for name in next_block(trials, "abcd", "a", RULES):
            at = trials[-1].at + SECONDS
            trials.append(TimedTrial("run", name, at, levels[name] * (1 + 0.01 * np.sin(at))))
    counts = {name: sum(trial.candidate == name for trial in trials) for name in levels}
    assert min(counts["b"], counts["d"]) > 3 * max(counts["a"], counts["c"])


@pytest.mark.parametrize("until", [Until.BEST, Until.BETTER])
def test_one_far_behind_gets_the_trials_that_a_claim_needs_where_something_is_to_be_shown(until):
    levels = {"a": 110.0, "b": 109.5, "c": 80.0}
    trials = study(blocks=1, **levels)
    for _ in range(20):
        for name in next_block(trials, "abc", "a", RULES, until):
            at = trials[-1].at + SECONDS
            trials.append(TimedTrial("run", name, at, levels[name] * (1 + 0.01 * np.sin(at))))
    assert sum(trial.candidate == "c" for trial in trials) == FEWEST_TO_CLAIM


def test_a_block_has_two_different_candidates_whatever_the_figures():
    rng = np.random.default_rng(4)
    for seed in range(20):
        trials = noisy_study(rng, {"a": 100.0, "b": 100.0 + seed, "c": 90.0}, 2 + seed % 3, 0.02)
        block = next_block(trials, "abc", "a", RULES)
        assert len(set(block)) == len(block) == SIZE


def test_one_that_leads_by_more_trials_than_it_needs_sits_out():
    trials = study(blocks=3, a=100, b=110, c=101)
    more = [TimedTrial("run", "b", 2000.0 + SECONDS * n, 110.0 * (1 + 0.001 * (n % 3))) for n in range(20)]
    assert contenders(fit_trials([*trials, *more], "abc"), "a", RULES)[:2] in {("a", "c"), ("c", "a")}


def test_the_last_proof_is_of_the_leader_against_the_baseline():
    trials = study(blocks=4, a=100, b=110, c=109.9)
    assert next_block(trials, "abc", "a", RULES, Until.BETTER) in {("b", "a"), ("c", "a")}
    assert set(next_block(trials, "abc", "a", RULES, Until.BEST)) <= {"b", "c"}


def test_one_of_several_identical_candidates_runs_for_all_of_them_the_baseline_where_it_is_one():
    trials = study(blocks=2, wiggle=wiggle(4), a=100, b=110, c=110.1, d=100.2)
    identical = [frozenset("bc"), frozenset("da")]
    ran = set()
    for number in range(12):
        block = next_block(trials, "dabc", "a", RULES, identical=identical)
        assert len(set(block)) == SIZE
        ran |= set(block)
        trials += [TimedTrial("run", name, trials[-1].at + SECONDS, 100.0 + number % 3) for name in block]
    assert ran == {"a", "b"}


def test_an_identical_candidate_without_a_trial_runs_once_so_that_it_is_seen_to_be_identical():
    trials = study(blocks=1, a=100, b=110)
    assert "c" in next_block(trials, "abc", "a", RULES, identical=[frozenset("bc")])
