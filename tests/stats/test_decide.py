import itertools
import math

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from dialin.model.verdict import CandidateState as State
from dialin.model.verdict import Outcome
from dialin.stats.blocks import Observation
from dialin.stats.decide import Rules, blocks_to_choose, decide, leaves
from dialin.stats.forecast import detectable

WIGGLE = [-0.002, 0.001, 0.002, -0.001, 0.0, 0.0015, -0.0015, 0.0005]
RULES = Rules(worthwhile=0.01, confidence=0.95)


def wiggle(factor):
    return [factor * step for step in WIGGLE]


def study(blocks=6, drift=0.05, wiggle=WIGGLE, **levels):
    """A complete design: candidates at known levels, small fixed deviations, a drift from block to block."""
    return [
        Observation((block, 1), name, level * math.exp(drift * block + wiggle[(3 * block + 5 * index) % len(wiggle)]))
        for block in range(blocks)
        for index, (name, level) in enumerate(levels.items())
    ]


def noisy_study(rng, levels, blocks, sd):
    drift = rng.normal(scale=0.05, size=blocks)
    return [
        Observation(block, name, level * math.exp(drift[block] + rng.normal(scale=sd)))
        for block in range(blocks)
        for name, level in levels.items()
    ]


def judge(observations, names="abc", baseline="a", rules=RULES, **options):
    return decide(observations, list(names), baseline, rules, **({"alpha": 0.05} | options))


def judge_within(observations, worthwhile, names="abc"):
    return judge(observations, names, rules=Rules(worthwhile=worthwhile, confidence=0.95))


PROOF = Rules(worthwhile=0.01, confidence=0.95, choose=False)


# What intervals show.


def test_a_clearly_better_candidate_wins():
    result = judge(study(a=100, b=110, c=101))
    assert (result.outcome, result.winners, result.choice, result.leader) == (Outcome.WINNER, ("b",), "b", "b")
    assert result.states == {"a": State.LOSES, "b": State.WINS, "c": State.LOSES}
    assert result.ratios["b"].low < 1.1 < result.ratios["b"].high
    assert result.levels["b"].mean > result.levels["a"].mean
    assert result.blocks == 6


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


def test_what_noise_hides_stays_open_and_a_sure_loser_still_loses():
    result = judge(study(wiggle=wiggle(40), a=100, b=102, c=40))
    assert (result.outcome, result.winners, result.choice) == (Outcome.UNRESOLVED, (), None)
    assert result.states == {"a": State.OPEN, "b": State.OPEN, "c": State.LOSES}
    assert result.leader == "b"


def test_one_block_resolves_nothing_but_tells_what_is_known():
    result = judge(study(blocks=1, a=100, b=200, c=50))
    assert (result.outcome, result.choice, result.leader) == (Outcome.UNRESOLVED, None, None)
    assert set(result.states.values()) == {State.OPEN}
    assert result.ratios["b"].mean == pytest.approx(2, rel=0.01)
    assert (result.ratios["b"].low, result.sd, result.dof, result.detectable, result.chances) == (None, None, 0, None, {})
    assert leaves(result, "abc", "a", RULES) == frozenset()


def test_without_any_trial_every_candidate_has_failed():
    result = judge([])
    assert (result.outcome, result.choice, result.blocks) == (Outcome.UNRESOLVED, None, 0)
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
    assert result.outcome is Outcome.UNRESOLVED
    assert result.states == {"a": State.OPEN, "b": State.FAILED, "c": State.FAILED}
    assert result.levels["a"].low is not None


def test_drift_changes_no_verdict():
    for drift in (-0.5, 0.0, 0.5):
        assert judge(study(drift=drift, a=100, b=110, c=101)).winners == ("b",)


def test_a_server_that_stands_still_loses():
    result = judge(study(a=100, b=0, c=99))
    assert result.states["b"] is State.LOSES
    assert result.winners == ("a",)


def test_when_no_trial_moved_nothing_is_claimed():
    result = judge(study(a=0, b=0, c=0))
    assert (result.outcome, result.choice) == (Outcome.UNRESOLVED, None)
    assert set(result.states.values()) == {State.OPEN}


# What cannot be compared.


@pytest.mark.parametrize("b", [110, 100], ids=["a better one beside it", "only equal ones beside it"])
def test_a_candidate_that_cannot_be_compared_stays_open_and_nothing_is_called_safe(b):
    observations = [*study(a=100, b=b), Observation("alone", "c", 500.0)]
    result = judge(observations, alpha=1e-6)
    assert (result.outcome, result.choice) == (Outcome.UNRESOLVED, None)
    assert result.states["c"] is State.OPEN
    assert result.ratios["c"] is None
    assert result.levels["c"].mean == pytest.approx(500)
    assert "c" not in leaves(result, "abc", "a", RULES)


def test_the_others_are_judged_all_the_same():
    result = judge([*study(a=100, b=110), Observation("alone", "c", 500.0)])
    assert result.states == {"a": State.LOSES, "b": State.OPEN, "c": State.OPEN}
    assert result.ratios["b"].low > 1


# A choice that is safe though it was not shown to be the best.


def test_a_candidate_that_is_very_probably_near_the_best_is_a_safe_choice():
    result = judge(study(blocks=5, wiggle=wiggle(6), a=104, b=105, c=100))
    assert (result.outcome, result.choice, result.leader, result.winners) == (Outcome.SAFE_CHOICE, "b", "b", ())
    assert result.states == {"a": State.OPEN, "b": State.OPEN, "c": State.LOSES}
    assert result.chances["b"] >= RULES.confidence > result.chances["a"]


def test_what_is_not_probable_enough_is_not_safe():
    observations = study(blocks=5, wiggle=wiggle(6), a=104, b=105, c=100)
    surer = Rules(worthwhile=0.01, confidence=0.999)
    assert judge(observations, rules=surer).outcome is Outcome.UNRESOLVED


def test_the_baseline_is_kept_where_it_is_safe_itself_though_another_one_is_safer():
    result = judge(study(blocks=8, wiggle=wiggle(6), a=100, b=100, c=96, d=99.3), "abcd")
    assert (result.outcome, result.choice, result.leader) == (Outcome.SAFE_CHOICE, "a", "b")
    assert RULES.confidence <= result.chances["a"] < result.chances["b"]


def studies_of(gap, sd, blocks=5, studies=40):
    """Studies of a baseline, a candidate that much better, and one far behind."""
    rng = np.random.default_rng(int(1000 * gap))
    for _ in range(studies):
        observations = noisy_study(rng, {"a": 100.0, "b": 100.0 * (1 + gap), "c": 95.0}, blocks, sd)
        yield judge(observations, alpha=1e-6)


def test_a_change_takes_a_reason_so_the_baseline_is_kept_where_it_is_nearly_as_safe():
    safe = [result for result in studies_of(0.004, 0.006) if result.outcome is Outcome.SAFE_CHOICE]
    kept = [result for result in safe if result.choice == "a" and result.chances["a"] < RULES.confidence]
    changed = [result for result in safe if result.choice == "b"]
    assert kept
    assert changed
    assert min(result.chances["a"] for result in kept) >= 0.85 > max(result.chances["a"] for result in changed)


def test_where_all_are_very_probably_near_nothing_differs_and_the_baseline_is_chosen():
    result = judge(study(blocks=4, wiggle=wiggle(3), a=104, b=104.2, c=104.1))
    assert (result.outcome, result.choice, result.winners) == (Outcome.NO_WORTHWHILE_DIFFERENCE, "a", ())
    assert set(result.states.values()) == {State.OPEN}, "it is probable, not shown"
    assert judge(study(blocks=4, wiggle=wiggle(3), b=104.2, c=104.1)).choice != "a"


def test_without_choosing_only_what_is_shown_counts():
    for levels in ({"a": 104, "b": 105, "c": 100}, {"a": 104, "b": 104.2, "c": 104.1}):
        observations = study(blocks=4, wiggle=wiggle(4), **levels)
        assert judge(observations, alpha=1e-4).outcome is not Outcome.UNRESOLVED
        result = judge(observations, rules=PROOF, alpha=1e-4)
        assert (result.outcome, result.choice) == (Outcome.UNRESOLVED, None)
        assert State.BEHIND not in result.states.values()
        assert leaves(result, "abc", "a", PROOF) == frozenset()
    assert judge(study(a=100, b=110, c=101), rules=PROOF).outcome is Outcome.WINNER


def test_one_that_is_very_probably_worse_but_was_not_shown_to_be_is_behind_and_leaves():
    observations = study(blocks=3, wiggle=wiggle(5), a=100, b=106, c=100.5)
    result = judge(observations, alpha=1e-6)
    assert result.states == {"a": State.BEHIND, "b": State.OPEN, "c": State.BEHIND}
    assert max(result.chances["a"], result.chances["c"]) < RULES.given_up < result.chances["b"]
    assert leaves(result, ["b", "c"], "a", RULES) == {"c"}


def test_the_baseline_never_leaves_and_those_who_left_do_not_leave_again():
    result = judge(study(a=80, b=110, c=85))
    assert leaves(result, "abc", "a", RULES) == {"c"}
    assert leaves(result, "ab", "a", RULES) == frozenset()
    assert leaves(result, "abc", "c", RULES) == {"a"}


@pytest.mark.parametrize("better", ["b", "c"])
def test_of_rivals_without_any_chance_the_better_one_stays(better):
    values = {"b": 93.7, "c": 93.7, better: 93.8}
    observations = [Observation(0, name, value - 2) for name, value in values.items()]
    observations += [Observation(1, name, value) for name, value in {"a": 103.2, **values}.items()]
    result = judge(observations)
    assert result.chances["b"] == result.chances["c"]
    assert leaves(result, "abc", "a", RULES) == {"b", "c"} - {better}


def test_a_candidate_leaves_at_half_of_the_error_that_is_accepted():
    assert RULES.given_up == pytest.approx(0.025)
    assert Rules(worthwhile=0.01, confidence=0.9).given_up == pytest.approx(0.05)
    for result in studies_of(0.03, 0.02, blocks=3, studies=30):
        assert leaves(result, "abc", "a", RULES) == {name for name in "bc" if result.chances[name] < 0.025}


def test_chances_lie_between_none_and_one_and_some_candidate_is_the_best():
    for result in studies_of(0.01, 0.01, studies=20):
        assert all(0 <= chance <= 1 for chance in result.chances.values())
        assert sum(result.chances.values()) >= 1
        assert result.leader == max(result.chances, key=result.chances.get)


# Candidates that are one setting.


def test_candidates_that_are_one_setting_do_not_differ_whatever_the_figures():
    result = judge(study(a=100, b=150, c=30), identical=[frozenset("abc")])
    assert (result.outcome, result.choice) == (Outcome.NO_WORTHWHILE_DIFFERENCE, "a")
    assert set(result.states.values()) == {State.TIES}
    assert result.ratios["b"].low > 1
    assert judge(study(blocks=1, a=100, b=150, c=30), identical=[frozenset("ab"), frozenset("bc")]).outcome is result.outcome


def test_the_leaders_twin_ties_with_it_whatever_the_figures():
    result = judge(study(a=100, b=110, c=105), identical=[frozenset("bc")])
    assert (result.outcome, result.winners) == (Outcome.TIE, ("b", "c"))


def test_twins_share_one_chance_and_leave_together():
    observations = study(blocks=4, wiggle=wiggle(4), a=110, b=110.3, c=100, d=101)
    result = judge(observations, "abcd", identical=[frozenset("cd"), frozenset("ab")])
    assert result.chances["a"] == result.chances["b"] > result.chances["c"] == result.chances["d"]
    assert leaves(result, "abcd", "a", RULES) == {"c", "d"}
    assert leaves(result, "abcd", "c", RULES) == {"d"}


def test_twins_are_reckoned_as_one_candidate_of_twice_the_trials():
    observations = study(blocks=5, wiggle=wiggle(6), a=100, b=101, c=100.4)
    both = [Observation(one.stratum, "b" if one.candidate == "c" else one.candidate, one.value) for one in observations]
    apart = judge(both, "ab")
    assert judge(observations, identical=[frozenset("bc")]).chances == apart.chances | {"c": apart.chances["b"]}


def test_what_is_found_of_a_candidate_holds_for_its_twin():
    observations = study(blocks=8, wiggle=wiggle(6), a=100, b=100, c=96, d=99.3)
    assert judge(observations, "abcd").states["c"] is State.LOSES
    assert judge(observations, "abcd").states["d"] is State.OPEN
    assert judge(observations, "abcd", identical=[frozenset("cd")]).states["d"] is State.LOSES


def test_what_is_found_against_the_leaders_twin_holds_against_the_leader():
    steady = study(blocks=8, wiggle=wiggle(6), a=100, b=100, c=98.3)
    # d leads, but it ran once only: alone it proves nothing against c
    observations = [*steady, Observation((0, 1), "d", 100.9)]
    assert judge(observations, "abcd", rules=PROOF).states["c"] is State.OPEN
    assert judge(observations, "abcd", rules=PROOF, identical=[frozenset("ad")]).states["c"] is State.LOSES


def test_if_only_one_setting_is_left_of_several_nothing_differs():
    result = judge(study(a=100, b=101), identical=[frozenset("ab")])
    assert result.outcome is Outcome.NO_WORTHWHILE_DIFFERENCE
    assert result.states == {"a": State.TIES, "b": State.TIES, "c": State.FAILED}


# How long it takes.


def test_what_could_be_told_apart_is_that_of_the_noise_and_of_the_most_trials_of_one_candidate():
    observations = study(wiggle=wiggle(8), a=100, b=101, c=99)
    result = judge(observations[:-3])
    assert result.blocks == 5
    assert result.detectable == detectable(result.sd, 3, 5, confidence=0.95, worthwhile=0.01)
    gone = [one for one in observations if one.candidate != "c" or one.stratum[0] < 2]
    assert judge(gone).blocks == 6, "one that left early does not hide how long the others ran"


def test_the_blocks_that_a_choice_takes_are_enough_about_as_often_as_not():
    rng, enough = np.random.default_rng(6), []
    levels = {"a": 100.0, "b": 101.0, "c": 99.0}
    for _ in range(18):
        observations = noisy_study(rng, levels, 4, 0.02)
        needed = blocks_to_choose(observations, "abc", "a", RULES)
        if needed is None or needed <= 4:
            continue
        more = noisy_study(rng, levels, needed - 4, 0.02)
        later = [*observations, *(Observation(("later", one.stratum), one.candidate, one.value) for one in more)]
        enough.append(judge(later, alpha=1e-6).outcome is not Outcome.UNRESOLVED)
    assert len(enough) >= 8
    assert np.mean(enough) >= 0.4


def test_where_a_choice_is_safe_no_more_blocks_are_needed():
    assert blocks_to_choose(study(a=100, b=110, c=101), "abc", "a", RULES) == 6


def test_more_noise_takes_more_blocks_and_too_much_cannot_be_foreseen():
    quiet, loud = (blocks_to_choose(study(wiggle=wiggle(f), a=100, b=101, c=100), "abc", "a", RULES) for f in (8, 16))
    assert 6 <= quiet < loud
    demanding = Rules(worthwhile=0.0001, confidence=0.999)
    assert blocks_to_choose(study(wiggle=wiggle(30), a=100, b=101, c=100), "abc", "a", demanding) is None
    assert blocks_to_choose(study(blocks=1, a=100, b=101, c=100), "abc", "a", RULES) is None
    assert blocks_to_choose([], "abc", "a", RULES) is None


# Whatever the design.


levels = st.sampled_from([90.0, 99.0, 100.0, 100.5, 101.0, 112.0])


@st.composite
def designs(draw):
    names = "abcd"[: draw(st.integers(2, 4))]
    level = {name: draw(levels) for name in names}
    noise = draw(st.sampled_from([0.0005, 0.005, 0.03]))
    seed = draw(st.integers(0, 1000))
    observations = noisy_study(np.random.default_rng(seed), level, draw(st.integers(1, 5)), noise)
    kept = [one for one in observations if draw(st.integers(0, 9)) > 0]
    twins = [frozenset(draw(st.permutations(names))[:2])] if draw(st.booleans()) else []
    return kept, names, twins


@settings(max_examples=35)
@given(designs(), st.floats(0.01, 1000), st.data())
def test_names_order_unit_and_common_drift_change_no_verdict(design, unit, data):
    observations, names, twins = design
    result = judge(observations, names, identical=twins)
    new = dict(zip(names, data.draw(st.permutations("pqrstuv")), strict=False))
    moved = [
        Observation(("again", one.stratum), new[one.candidate], one.value * unit * 1.2**one.stratum)
        for one in data.draw(st.permutations(observations))
    ]
    shuffled = data.draw(st.permutations([new[name] for name in names]))
    renamed_twins = [frozenset(new[name] for name in group) for group in twins]
    again = judge(moved, shuffled, new["a"], identical=renamed_twins)
    assert again.outcome is result.outcome
    assert again.choice == (result.choice and new[result.choice])
    assert again.leader == (result.leader and new[result.leader])
    assert again.states == {new[name]: state for name, state in result.states.items()}
    assert again.chances == {new[name]: chance for name, chance in result.chances.items()}
    assert set(again.winners) == {new[name] for name in result.winners}
    assert leaves(again, shuffled, new["a"], RULES) == {new[name] for name in leaves(result, names, "a", RULES)}
    assert (again.blocks, again.dof) == (result.blocks, result.dof)
    assert again.detectable == pytest.approx(result.detectable)
    for name in names:
        ratio, other = result.ratios[name], again.ratios[new[name]]
        assert (ratio is None) == (other is None)
        if ratio is not None and other is not None:
            assert other.mean == pytest.approx(ratio.mean)
            assert (other.low is None) == (ratio.low is None)
            assert (other.low or 0, other.high or 0) == pytest.approx((ratio.low or 0, ratio.high or 0), rel=1e-6)


@settings(max_examples=30)
@given(designs())
def test_outcome_choice_winners_and_states_agree(design):
    observations, names, twins = design
    result = judge(observations, names, identical=twins)
    states = [state for state in result.states.values() if state is not State.FAILED]
    wins, ties, opens = (states.count(state) for state in (State.WINS, State.TIES, State.OPEN))
    assume(states)
    if result.outcome is Outcome.WINNER:
        assert (wins, ties, opens, len(result.winners), result.choice) == (1, 0, 0, 1, result.winners[0])
    elif result.outcome is Outcome.TIE:
        assert (wins, opens) == (0, 0)
        assert len(result.winners) == ties < len(states)
        assert result.choice in result.winners
    elif result.outcome is Outcome.NO_WORTHWHILE_DIFFERENCE:
        assert (wins, result.winners, result.choice) == (0, (), "a")
    else:
        assert opens > 0
        assert result.winners == ()
        assert (result.choice is None) == (result.outcome is Outcome.UNRESOLVED)
    assert all(result.states[name] in {State.WINS, State.TIES} for name in result.winners)
    for a, b in itertools.combinations(result.winners, 2):
        assert result.levels[a] is not None
        assert result.levels[b] is not None
