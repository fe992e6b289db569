import math
from dataclasses import replace

import numpy as np
import pytest
import scipy.stats
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from dialin.model.study import Until
from dialin.model.verdict import AgainstBest as State
from dialin.model.verdict import Outcome
from dialin.stats.decide import Rules, decide, trials_to_choose
from dialin.stats.forecast import detectable
from dialin.stats.trial_fit import FittedDifference, TimedTrial, fit_trials
from stats.timed import noisy_study, study, wiggle

RULES = Rules(worthwhile=0.01, confidence=0.95)


def judge(trials, names="abc", baseline="a", rules=RULES, **options):
    return decide(trials, list(names), baseline, rules, **options)


def judge_within(trials, worthwhile, names="abc"):
    return judge(trials, names, rules=Rules(worthwhile=worthwhile, confidence=0.95))


PROOF = Rules(worthwhile=0.01, confidence=0.95, choose=False)


# What intervals show.


def test_a_clearly_better_candidate_wins():
    result = judge(study(a=100, b=110, c=101))
    assert (result.outcome, result.winners, result.choice, result.leader) == (Outcome.WINNER, ("b",), "b", "b")
    assert result.states == {"a": State.LOSES, "b": State.WINS, "c": State.LOSES}
    assert result.ratios["b"].low < 1.1 < result.ratios["b"].high
    assert result.levels["b"].mean > result.levels["a"].mean
    assert result.trials == 18
    assert result.shown_best
    assert result.shown_better


def test_the_baseline_is_once_itself():
    ratio = judge(study(a=100, b=110, c=101)).ratios["a"]
    assert (ratio.mean, ratio.low, ratio.high) == (1.0, 1.0, 1.0)


def test_candidates_within_what_is_worthwhile_do_not_differ_and_the_baseline_is_chosen():
    result = judge(study(a=100, b=100.1, c=99.9))
    assert (result.outcome, result.winners, result.choice) == (Outcome.NO_WORTHWHILE_DIFFERENCE, (), "a")
    assert set(result.states.values()) == {State.TIES}


def test_those_close_to_the_leader_tie_and_the_rest_loses():
    result = judge(study(a=100, b=110, c=110.1))
    assert (result.outcome, result.winners, result.choice) == (Outcome.TIE, ("b", "c"), "c")
    assert result.states == {"a": State.LOSES, "b": State.TIES, "c": State.TIES}


def test_of_a_tie_with_the_baseline_the_baseline_is_chosen():
    result = judge(study(a=110, b=110.1, c=100))
    assert (result.outcome, result.winners, result.choice) == (Outcome.TIE, ("a", "b"), "a")


def test_a_difference_that_is_certain_but_not_worthwhile_is_a_tie():
    result = judge_within(study(a=100, b=100.4, c=100), 0.02)
    assert result.outcome is Outcome.NO_WORTHWHILE_DIFFERENCE
    assert result.ratios["b"].low > 1


def test_a_difference_hidden_by_noise_stays_open_and_a_sure_loser_still_loses():
    result = judge(study(wiggle=wiggle(40), a=100, b=102, c=40))
    assert (result.outcome, result.winners, result.choice) == (Outcome.INCONCLUSIVE, (), None)
    assert result.states == {"a": State.INCONCLUSIVE, "b": State.INCONCLUSIVE, "c": State.LOSES}
    assert result.leader == "b"


def test_one_block_resolves_nothing_but_reports_what_is_known():
    result = judge(study(blocks=1, a=100, b=200, c=50))
    assert (result.outcome, result.choice, result.leader) == (Outcome.INCONCLUSIVE, None, None)
    assert set(result.states.values()) == {State.INCONCLUSIVE}
    assert result.ratios["b"].mean == pytest.approx(2, rel=0.01)
    assert (result.ratios["b"].low, result.sd, result.detectable, result.chances) == (None, None, None, {})


def test_without_any_trial_every_candidate_has_failed():
    result = judge([])
    assert (result.outcome, result.choice, result.trials) == (Outcome.INCONCLUSIVE, None, 0)
    assert set(result.states.values()) == {State.FAILED}
    assert set(result.ratios.values()) == set(result.levels.values()) == {None}


def test_a_candidate_without_a_trial_has_failed_and_the_others_are_compared():
    result = judge(study(a=100, b=110))
    assert (result.outcome, result.winners) == (Outcome.WINNER, ("b",))
    assert result.states["c"] is State.FAILED
    assert result.ratios["c"] is None
    assert result.levels["c"] is None
    assert "c" not in result.chances


def test_a_failed_baseline_leaves_no_ratios_but_a_winner():
    result = judge(study(b=110, c=100))
    assert (result.outcome, result.winners, result.choice) == (Outcome.WINNER, ("b",), "b")
    assert set(result.ratios.values()) == {None}
    assert result.states["a"] is State.FAILED


def test_a_single_candidate_with_trials_resolves_nothing():
    result = judge(study(a=100))
    assert result.outcome is Outcome.INCONCLUSIVE
    assert result.states == {"a": State.INCONCLUSIVE, "b": State.FAILED, "c": State.FAILED}
    assert result.levels["a"].mean > 0


def test_drift_changes_no_verdict():
    for drift in (-0.5, 0.0, 0.5):
        assert judge(study(drift=drift, a=100, b=110, c=101)).winners == ("b",)


def test_a_server_that_stands_still_loses():
    result = judge(study(a=100, b=0, c=95))
    assert result.states["b"] is State.LOSES
    assert result.winners == ("a",)


def test_when_no_trial_moved_nothing_is_claimed():
    result = judge(study(a=0, b=0, c=0))
    assert (result.outcome, result.choice) == (Outcome.INCONCLUSIVE, None)
    assert set(result.states.values()) == {State.INCONCLUSIVE}


# A choice that is safe though it was not shown to be the best.


def test_a_candidate_that_is_very_probably_near_the_best_is_a_safe_choice():
    result = judge(study(blocks=3, wiggle=wiggle(10), a=100, b=103.5, c=100))
    assert (result.outcome, result.choice, result.leader, result.winners) == (Outcome.SAFE_CHOICE, "b", "b", ())
    assert result.chances["b"] > 0.9 > result.chances["a"]
    assert not result.shown_better
    assert not result.shown_best


def test_a_candidate_that_is_not_probable_enough_is_not_safe():
    trials = study(blocks=3, wiggle=wiggle(10), a=100, b=103.5, c=100)
    assert judge(trials, rules=Rules(worthwhile=0.01, confidence=0.999)).outcome is Outcome.INCONCLUSIVE


def test_the_baseline_is_chosen_where_it_is_safe_itself_though_another_one_is_safer():
    result = judge(study(wiggle=wiggle(6), a=100, b=100.1, c=96, d=98.5), "abcd")
    assert (result.outcome, result.choice) == (Outcome.SAFE_CHOICE, "a")
    assert result.chances["a"] > 0.9


def studies_of(gap, sd, blocks=5, studies=40):
    """Studies of a baseline, a candidate that much better, and one far behind."""
    rng = np.random.default_rng(int(1000 * gap))
    for _ in range(studies):
        yield judge(noisy_study(rng, {"a": 100.0, "b": 100.0 * (1 + gap), "c": 95.0}, blocks, sd))


def test_a_change_takes_a_reason_so_the_baseline_is_chosen_where_it_is_nearly_as_safe():
    safe = [result for result in studies_of(0.006, 0.008) if result.outcome is Outcome.SAFE_CHOICE]
    unchanged = [result for result in safe if result.choice == "a" and result.chances["a"] < result.chances["b"]]
    changed = [result for result in safe if result.choice == "b"]
    assert unchanged
    assert changed
    assert min(result.chances["a"] for result in unchanged) >= 0.9 > max(result.chances["a"] for result in changed)


def test_where_all_are_very_probably_near_nothing_differs_and_the_baseline_is_chosen():
    result = judge(noisy_study(np.random.default_rng(2), {"a": 104.0, "b": 104.1, "c": 104.0}, 8, 0.007))
    assert (result.outcome, result.choice, result.winners) == (Outcome.NO_WORTHWHILE_DIFFERENCE, "a", ())
    assert set(result.states.values()) == {State.INCONCLUSIVE}, "it is probable, not shown"
    assert not result.shown_best
    assert judge(study(blocks=4, wiggle=wiggle(3), b=104.2, c=104.1)).choice != "a"


def test_one_that_leads_among_equals_is_no_reason_to_leave_the_baseline():
    rng = np.random.default_rng(8)
    results = [judge(noisy_study(rng, {"a": 100.0, "b": 100.5}, 6, 0.01)) for _ in range(80)]
    left = [result for result in results if result.choice == "b"]
    assert left
    assert all(result.fit.difference("b", "a").z() >= 1.28 for result in left)
    held = [result for result in results if result.choice is None and result.chances["b"] >= 0.935]
    assert held
    assert {result.outcome for result in held} == {Outcome.INCONCLUSIVE}


def test_without_choosing_only_what_is_shown_counts():
    for factor, levels in ((10, {"a": 100, "b": 103.5, "c": 100}), (5, {"a": 104, "b": 104.2, "c": 104.1})):
        trials = study(blocks=3, wiggle=wiggle(factor), **levels)
        assert judge(trials).outcome is not Outcome.INCONCLUSIVE
        result = judge(trials, rules=PROOF)
        assert (result.outcome, result.choice) == (Outcome.INCONCLUSIVE, None)
        assert State.BEHIND not in result.states.values()
    assert judge(study(a=100, b=110, c=101), rules=PROOF).outcome is Outcome.WINNER


def test_a_study_does_not_end_by_itself_before_an_only_trial_far_below_the_others_is_repeated():
    trials = study(blocks=3, wiggle=wiggle(4), a=100, b=103)
    far = TimedTrial("run", "c", 400.0, 90.0)
    doubtful = judge([*trials, far])
    assert doubtful.doubted == ("c",)
    assert doubtful.choice == "b"
    assert not doubtful.is_reached(Until.SAFE, "a")
    repeated = judge([*trials, far, replace(far, at=500.0, value=90.5)])
    assert not repeated.doubted
    assert repeated.is_reached(Until.SAFE, "a")
    assert not judge([*trials, replace(far, value=99.5)]).doubted


def test_one_that_is_very_probably_worse_but_was_not_shown_to_be_is_behind():
    result = judge(study(blocks=3, wiggle=wiggle(7), a=99, b=105, c=100.5))
    assert result.states == {"a": State.LOSES, "b": State.INCONCLUSIVE, "c": State.BEHIND}
    assert result.chances["c"] < 0.025 < result.chances["b"]


def test_chances_lie_between_none_and_one_and_some_candidate_is_the_best():
    for result in studies_of(0.01, 0.01, studies=20):
        assert all(0 <= chance <= 1 for chance in result.chances.values())
        assert sum(result.chances.values()) >= 1
        assert result.leader == max(result.chances, key=result.chances.get)


# What a study is asked to show.


def test_a_safe_choice_is_less_than_a_proof():
    safe, sure = (judge(study(blocks=4, wiggle=wiggle(f), a=100, b=103.5, c=100)) for f in (10, 1))
    assert safe.is_reached(Until.SAFE, "a")
    assert not safe.is_reached(Until.BETTER, "a")
    assert not safe.is_reached(Until.BEST, "a")
    assert all(sure.is_reached(until, "a") for until in Until)


def test_that_the_baseline_is_the_best_leaves_nothing_better_to_show():
    result = judge(study(a=110, b=100, c=101))
    assert result.is_reached(Until.BETTER, "a")
    assert not result.shown_better


def test_a_candidate_other_than_the_choice_may_be_shown_better_than_the_baseline():
    result = judge(study(a=100, b=110, c=109))
    assert result.better == ("b", "c")


# Candidates that are one setting.


def test_candidates_that_are_one_setting_do_not_differ_whatever_the_figures():
    result = judge(study(a=100, b=150, c=30), identical=[frozenset("abc")])
    assert (result.outcome, result.choice) == (Outcome.NO_WORTHWHILE_DIFFERENCE, "a")
    assert set(result.states.values()) == {State.TIES}
    assert result.ratios["b"].low > 1
    assert judge(study(blocks=1, a=100, b=150, c=30), identical=[frozenset("ab"), frozenset("bc")]).outcome is result.outcome


def test_the_leaders_twin_ties_with_it_whatever_the_figures():
    result = judge(study(a=100, b=110, c=110.2), identical=[frozenset("bc")])
    assert (result.outcome, result.winners) == (Outcome.TIE, ("b", "c"))
    assert result.states["b"] is result.states["c"]


def test_the_baseline_is_the_choice_of_its_twins_wherever_it_stands():
    result = judge(study(a=110, b=110.1, c=100), "bac", identical=[frozenset("ab")])
    assert (result.choice, result.leader, result.winners) == ("a", "a", ("b", "a"))


def test_twins_share_one_chance_and_one_state():
    trials = study(blocks=4, wiggle=wiggle(4), a=110, b=110.3, c=100, d=101)
    result = judge(trials, "abcd", identical=[frozenset("cd"), frozenset("ab")])
    assert result.chances["a"] == result.chances["b"] > result.chances["c"] == result.chances["d"]
    assert result.states["c"] is result.states["d"]


def test_twins_count_as_one_candidate_with_the_trials_of_both():
    trials = study(blocks=5, wiggle=wiggle(6), a=100, b=101, c=100.4)
    together = judge([replace(one, candidate="b" if one.candidate == "c" else one.candidate) for one in trials], "ab")
    assert judge(trials, identical=[frozenset("bc")]).chances == together.chances | {"c": together.chances["b"]}


def test_if_only_one_setting_is_left_of_several_nothing_differs():
    result = judge(study(a=100, b=101), identical=[frozenset("ab")])
    assert result.outcome is Outcome.NO_WORTHWHILE_DIFFERENCE
    assert result.states == {"a": State.TIES, "b": State.TIES, "c": State.FAILED}


# How long it takes.


def test_the_detectable_difference_is_that_of_the_noise_and_of_all_trials():
    result = judge(study(wiggle=wiggle(8), a=100, b=101, c=99)[:-3])
    assert result.trials == 15
    assert result.detectable == detectable(result.sd, 3, 15, confidence=0.95)


def test_where_a_choice_is_safe_no_more_trials_are_needed():
    assert trials_to_choose(study(a=100, b=110, c=101), "abc", "a", RULES) == 18


@pytest.mark.parametrize("gain", [0.0, 1.0, 2.0])
def test_more_trials_are_foreseen_exactly_where_no_choice_is_safe_yet(gain):
    rng, open_yet = np.random.default_rng(5), 0
    for _ in range(40):
        trials = noisy_study(rng, {"a": 100.0, "b": 100.0 + gain, "c": 100.0}, 5, 0.01)
        decision, foreseen = judge(trials), trials_to_choose(trials, "abc", "a", RULES)
        open_yet += decision.choice is None
        assert (decision.choice is None) == (foreseen is None or foreseen > len(trials))
    assert 0 < open_yet < 40


@pytest.mark.parametrize(("shares_start", "needed"), [(False, 8), (True, 6)])
def test_a_pair_needs_more_trials_where_each_starts_a_server_and_as_many_are_foreseen(shares_start, needed):
    rules = Rules(worthwhile=0.01, confidence=0.95, shares_start=shares_start)
    trials = study(blocks=4, drift=0.0, wiggle=wiggle(8), a=100, b=130)
    assert trials_to_choose(trials[:4], "ab", "a", rules) == needed
    for count in range(4, 9):
        assert (decide(trials[:count], "ab", "a", rules).choice is not None) == (count >= needed)


def test_more_noise_takes_more_trials_and_too_much_cannot_be_foreseen():
    rng = np.random.default_rng(3)
    quiet, loud = (noisy_study(rng, {"a": 100.0, "b": 101.5, "c": 100.0}, 6, sd) for sd in (0.01, 0.03))
    assert 18 <= trials_to_choose(quiet, "abc", "a", RULES) < trials_to_choose(loud, "abc", "a", RULES)
    equal = study(blocks=8, drift=0.0, wiggle=wiggle(30), a=100, b=100, c=100)
    assert trials_to_choose(equal, "abc", "a", Rules(worthwhile=0.0001, confidence=0.999)) is None
    assert trials_to_choose(study(blocks=1, a=100, b=101, c=100), "abc", "a", RULES) is None
    assert trials_to_choose([], "abc", "a", RULES) is None


# Whatever the design.


levels = st.sampled_from([90.0, 99.0, 100.0, 100.5, 101.0, 112.0])


@st.composite
def designs(draw):
    names = "abcd"[: draw(st.integers(2, 4))]
    level = {name: draw(levels) for name in names}
    noise = draw(st.sampled_from([0.0005, 0.005, 0.03]))
    seed = draw(st.integers(0, 1000))
    trials = noisy_study(np.random.default_rng(seed), level, draw(st.integers(1, 5)), noise)
    remaining = [one for one in trials if draw(st.integers(0, 9)) > 0]
    twins = [frozenset(draw(st.permutations(names))[:2])] if draw(st.booleans()) else []
    return remaining, names, twins


def test_the_choice_has_wider_intervals_than_it_would_have_as_another_candidate():
    trials = noisy_study(np.random.default_rng(5), {"a": 100.0, "b": 104.0, "c": 99.0}, 8, 0.01)
    result, fitted = judge(trials, "abc"), fit_trials(trials, "abc")
    assert result.choice == "b"
    for name in "bc":
        is_choice = name == "b"
        assert result.ratios[name] == fitted.ratio(name, "a", RULES.alpha, is_choice=is_choice)
        assert result.levels[name] == fitted.level(name, RULES.alpha, is_choice=is_choice)


@settings(max_examples=35)
@given(designs(), st.floats(0.01, 1000), st.data())
def test_names_order_unit_and_clock_change_no_verdict(design, unit, data):
    trials, names, twins = design
    result = judge(trials, names, identical=twins)
    new = dict(zip(names, data.draw(st.permutations("pqrstuv")), strict=False))
    moved = [
        TimedTrial("again", new[one.candidate], one.at + 1e5, one.value * unit) for one in data.draw(st.permutations(trials))
    ]
    shuffled = data.draw(st.permutations([new[name] for name in names]))
    again = judge(moved, shuffled, new["a"], identical=[frozenset(new[name] for name in group) for group in twins])
    # A chance that lies at a threshold to the last digit may fall to either side.
    assume(all(abs(chance - edge) > 0.003 for chance in result.chances.values() for edge in (0.025, 0.9, 0.93, 0.935)))
    assert again.outcome is result.outcome
    assert (again.choice is None) == (result.choice is None)
    assert again.states == {new[name]: state for name, state in result.states.items()}
    assert again.chances == pytest.approx({new[name]: chance for name, chance in result.chances.items()}, abs=0.003)
    assert {*again.winners} == {new[name] for name in result.winners}
    for name in names:
        ratio, other = result.ratios[name], again.ratios[new[name]]
        assert (ratio is None) == (other is None)
        if ratio is not None and other is not None:
            assert other.mean == pytest.approx(ratio.mean, rel=1e-6)
            # Of equal candidates any may be the choice, whose interval is wider.
            if (name == result.choice) == (new[name] == again.choice):
                assert (other.low or 0, other.high or 0) == pytest.approx((ratio.low or 0, ratio.high or 0), rel=1e-5)


@settings(max_examples=30)
@given(designs())
def test_outcome_choice_winners_and_states_agree(design):
    trials, names, twins = design
    result = judge(trials, names, identical=twins)
    states = [state for state in result.states.values() if state is not State.FAILED]
    assume(states)
    if result.outcome in (Outcome.WINNER, Outcome.TIE):
        assert State.INCONCLUSIVE not in states
        assert result.choice in result.winners
    elif result.outcome is Outcome.NO_WORTHWHILE_DIFFERENCE:
        assert (State.WINS in states, result.winners) == (False, ())
        assert result.choice is not None
    else:
        assert result.winners == ()
        assert (result.choice is None) == (result.outcome is Outcome.INCONCLUSIVE)
    assert all(result.states[name] in {State.WINS, State.TIES} for name in result.winners)
    if result.choice is None:
        assert not result.shown_best
        assert not result.shown_better


def test_nothing_is_claimed_of_a_candidate_with_fewer_than_three_trials():
    trials = study(wiggle=wiggle(0.1), a=100, b=110, c=101)
    kept, seen = [], 0
    for trial in trials:
        seen += trial.candidate == "b"
        if trial.candidate != "b" or seen <= 2:
            kept.append(trial)
    result = judge(kept, rules=PROOF)
    assert ("b" in result.better, result.shown_best, result.outcome) == (False, False, Outcome.INCONCLUSIVE)
    assert judge(trials, rules=PROOF).outcome is Outcome.WINNER


@pytest.mark.parametrize("levels", [{"a": 100, "b": 108}, {"a": 108, "b": 100}])
def test_of_two_candidates_the_ratio_reaches_as_near_to_no_difference_as_a_study_that_ended_by_luck_needs(levels):
    trials = study(blocks=4, wiggle=wiggle(18), **levels)
    result, fitted = judge(trials, "ab"), fit_trials(trials, "ab")
    ratio, narrow = result.ratios["b"], fitted.ratio("b", "a", 0.05, is_choice=True)
    assert result.shown_best
    assert narrow.excludes_one
    assert not ratio.excludes_one
    difference = fitted.difference("b", "a")
    reach = scipy.stats.t.isf(scipy.stats.norm.sf(3.0), difference.own_dof) * difference.error - RULES.margin / 2
    if levels["b"] > levels["a"]:
        assert (ratio.low, ratio.high) == (pytest.approx(ratio.mean * math.exp(-reach)), narrow.high)
    else:
        assert (ratio.low, ratio.high) == (narrow.low, pytest.approx(ratio.mean * math.exp(reach)))


@pytest.mark.parametrize("sign", [1, -1])
def test_a_difference_so_large_that_luck_cannot_have_ended_the_study_reaches_less_far(sign):
    def end(size):
        return sign * math.log(FittedDifference(sign * size, 0.05, 6, own_dof=6).nearest(3.0, 0.005, 3.0, 0.05))

    ends_from = scipy.stats.t.isf(scipy.stats.norm.sf(3.0), 6) * 0.05
    assert end(ends_from) == pytest.approx(0.005), "it may have ended by luck"
    assert 0 < end(0.45) < 0.45
    as_large, ending = scipy.stats.t.sf((np.array([0.45, ends_from]) - end(0.45)) / 0.05, 6)
    assert as_large == pytest.approx(0.025 * ending)
    assert end(2.0) == pytest.approx(2.0 - scipy.stats.t.isf(0.025, 6) * 0.05, abs=1e-4)


@pytest.mark.parametrize("gain", [5.0, -5.0])
def test_of_two_candidates_the_ratio_of_a_safe_choice_reaches_by_the_deviate_of_a_best_less_what_is_worthwhile(gain):
    trials = study(blocks=4, wiggle=wiggle(16), a=100, b=100 + gain)
    result, fitted = judge(trials, "ab"), fit_trials(trials, "ab")
    assert (result.outcome, result.shown_best) == (Outcome.SAFE_CHOICE, False)
    difference = fitted.difference("b", "a")
    reach = scipy.stats.t.isf(scipy.stats.norm.sf(2.5), difference.own_dof) * difference.error - RULES.margin
    ratio = result.ratios["b"]
    assert fitted.ratio("b", "a", 0.05, is_choice=gain > 0).excludes_one
    assert not ratio.excludes_one
    assert (ratio.low if gain > 0 else ratio.high) == pytest.approx(ratio.mean * math.exp(-math.copysign(reach, gain)))


@pytest.mark.parametrize(("rules", "blocks", "noise"), [(RULES, 20, 1), (replace(RULES, proofs=1), 4, 10)])
def test_the_ratio_of_a_quiet_pair_and_of_a_proof_reaches_no_further(rules, blocks, noise):
    trials = study(blocks=blocks, wiggle=wiggle(noise), a=100, b=110)
    result, fitted = judge(trials, "ab", rules=rules), rules.read(fit_trials(trials, "ab"))
    assert result.shown_best
    assert result.ratios["b"] == fitted.ratio("b", "a", 0.05, is_choice=not rules.proofs)
