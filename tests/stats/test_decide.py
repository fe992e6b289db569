import itertools
import math

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from dialin.model.verdict import CandidateState as State
from dialin.model.verdict import Outcome
from dialin.stats.blocks import Observation
from dialin.stats.decide import decide

WIGGLE = [-0.002, 0.001, 0.002, -0.001, 0.0, 0.0015, -0.0015, 0.0005]


def study(blocks=6, drift=0.05, wiggle=WIGGLE, **levels):
    """A complete design: candidates at known levels, small fixed deviations, a drift from block to block."""
    return [
        Observation((block, 1), name, level * math.exp(drift * block + wiggle[(3 * block + 5 * index) % len(wiggle)]))
        for block in range(blocks)
        for index, (name, level) in enumerate(levels.items())
    ]


def judge(seen, names="abc", baseline="a", **options):
    return decide(seen, list(names), baseline, **({"alpha": 0.05, "worthwhile": 0.01} | options))


def test_a_clearly_better_candidate_wins():
    found = judge(study(a=100, b=110, c=101))
    assert (found.outcome, found.winners) == (Outcome.WINNER, ("b",))
    assert found.states == {"a": State.LOSES, "b": State.WINS, "c": State.LOSES}
    assert found.ratios["b"].low < 1.1 < found.ratios["b"].high
    assert found.throughput["b"].mean > found.throughput["a"].mean
    assert found.blocks == 6


def test_the_baseline_is_once_itself():
    ratio = judge(study(a=100, b=110, c=101)).ratios["a"]
    assert (ratio.mean, ratio.low, ratio.high) == (1.0, 1.0, 1.0)


def test_candidates_within_what_is_worthwhile_do_not_differ():
    found = judge(study(a=100, b=100.1, c=99.9))
    assert (found.outcome, found.winners) == (Outcome.NO_WORTHWHILE_DIFFERENCE, ())
    assert set(found.states.values()) == {State.TIES}


def test_those_close_to_the_leader_tie_and_the_rest_loses():
    found = judge(study(a=100, b=110, c=110.1))
    assert (found.outcome, found.winners) == (Outcome.TIE, ("b", "c"))
    assert found.states == {"a": State.LOSES, "b": State.TIES, "c": State.TIES}


def test_a_difference_that_is_certain_but_not_worthwhile_is_a_tie():
    found = judge(study(a=100, b=100.4, c=100), worthwhile=0.02)
    assert found.outcome is Outcome.NO_WORTHWHILE_DIFFERENCE
    assert found.ratios["b"].low > 1


def test_what_noise_hides_stays_open_and_a_sure_loser_still_loses():
    rough = [40 * step for step in WIGGLE]
    found = judge(study(wiggle=rough, a=100, b=102, c=40))
    assert (found.outcome, found.winners) == (Outcome.UNRESOLVED, ())
    assert found.states == {"a": State.OPEN, "b": State.OPEN, "c": State.LOSES}


def test_one_block_resolves_nothing_but_tells_what_is_known():
    found = judge(study(blocks=1, a=100, b=200, c=50))
    assert found.outcome is Outcome.UNRESOLVED
    assert set(found.states.values()) == {State.OPEN}
    assert found.ratios["b"].mean == pytest.approx(2, rel=0.01)
    assert (found.ratios["b"].low, found.sd, found.dof, found.detectable, found.blocks_needed) == (None, None, 0, None, None)


def test_without_any_trial_every_candidate_has_failed():
    found = judge([])
    assert (found.outcome, found.blocks) == (Outcome.UNRESOLVED, 0)
    assert set(found.states.values()) == {State.FAILED}
    assert set(found.ratios.values()) == set(found.throughput.values()) == {None}


def test_a_candidate_without_a_trial_has_failed_and_the_others_are_compared():
    found = judge(study(a=100, b=110))
    assert (found.outcome, found.winners) == (Outcome.WINNER, ("b",))
    assert found.states["c"] is State.FAILED
    assert found.ratios["c"] is None
    assert found.throughput["c"] is None


def test_a_failed_baseline_leaves_no_ratios_but_a_winner():
    found = judge(study(b=110, c=100))
    assert (found.outcome, found.winners) == (Outcome.WINNER, ("b",))
    assert set(found.ratios.values()) == {None}
    assert found.states["a"] is State.FAILED


def test_a_single_candidate_with_trials_resolves_nothing():
    found = judge(study(a=100))
    assert found.outcome is Outcome.UNRESOLVED
    assert found.states == {"a": State.OPEN, "b": State.FAILED, "c": State.FAILED}
    assert found.throughput["a"].low is not None


def test_a_candidate_that_cannot_be_compared_stays_open_and_the_others_are_judged():
    seen = [*study(a=100, b=110), Observation("alone", "c", 500.0)]
    found = judge(seen)
    assert found.outcome is Outcome.UNRESOLVED
    assert found.states == {"a": State.LOSES, "b": State.OPEN, "c": State.OPEN}
    assert found.ratios["b"].low > 1
    assert found.ratios["c"] is None
    assert found.throughput["c"].mean == pytest.approx(500)


def test_candidates_that_are_one_setting_do_not_differ_whatever_the_figures():
    seen = study(a=100, b=150, c=30)
    found = judge(seen, one=[frozenset("abc")])
    assert found.outcome is Outcome.NO_WORTHWHILE_DIFFERENCE
    assert set(found.states.values()) == {State.TIES}
    assert found.ratios["b"].low > 1
    assert judge(study(blocks=1, a=100, b=150, c=30), one=[frozenset("ab"), frozenset("bc")]).outcome is found.outcome


def test_the_leaders_twin_ties_with_it_whatever_the_figures():
    found = judge(study(a=100, b=110, c=105), one=[frozenset("bc")])
    assert (found.outcome, found.winners) == (Outcome.TIE, ("b", "c"))


def test_what_is_found_of_a_candidate_holds_for_its_twin():
    rough = [6 * step for step in WIGGLE]
    seen = study(blocks=8, wiggle=rough, a=100, b=100, c=96, d=99.3)
    assert judge(seen, "abcd").states["c"] is State.LOSES
    assert judge(seen, "abcd").states["d"] is State.OPEN
    assert judge(seen, "abcd", one=[frozenset("cd")]).states["d"] is State.LOSES


def test_what_is_found_against_the_leaders_twin_holds_against_the_leader():
    steady = study(blocks=8, wiggle=[6 * step for step in WIGGLE], a=100, b=100, c=97)
    # d leads, but it ran twice only: alone it proves nothing against c
    seen = [*steady, Observation((0, 1), "d", 101.0), Observation((1, 1), "d", 107.5)]
    assert judge(seen, "abcd").states["c"] is State.OPEN
    assert judge(seen, "abcd", one=[frozenset("ad")]).states["c"] is State.LOSES


def test_if_only_one_setting_is_left_of_several_nothing_differs():
    found = judge(study(a=100, b=101), one=[frozenset("ab")])
    assert found.outcome is Outcome.NO_WORTHWHILE_DIFFERENCE
    assert found.states == {"a": State.TIES, "b": State.TIES, "c": State.FAILED}


def test_drift_changes_no_verdict():
    for drift in (-0.5, 0.0, 0.5):
        assert judge(study(drift=drift, a=100, b=110, c=101)).winners == ("b",)


def test_a_server_that_stands_still_loses():
    found = judge(study(a=100, b=0, c=99))
    assert found.states["b"] is State.LOSES
    assert found.winners == ("a",)


def test_when_no_trial_moved_nothing_is_claimed():
    found = judge(study(a=0, b=0, c=0))
    assert found.outcome is Outcome.UNRESOLVED
    assert set(found.states.values()) == {State.OPEN}


def test_detectable_is_the_difference_found_four_times_out_of_five():
    names, blocks, sd = list("abc"), 6, 0.02
    rng = np.random.default_rng(5)
    detectable = []
    for _ in range(200):
        levels = dict.fromkeys(names, 100.0)
        detectable.append(judge(noisy_study(rng, levels, blocks, sd)).detectable)
    gap = float(np.median(detectable))
    found = [
        judge(noisy_study(rng, {"a": 100.0, "b": 100.0 * (1 + gap), "c": 100.0}, blocks, sd)).ratios["b"].low > 1
        for _ in range(200)
    ]
    assert 0.72 <= np.mean(found) <= 0.90


def test_after_the_blocks_that_are_needed_nothing_is_open():
    rng = np.random.default_rng(6)
    for gap in (0.0, 0.005, 0.01, 0.02):
        levels = {"a": 100.0, "b": 100.0 * (1 + gap), "c": 100.0}
        needed = judge(noisy_study(rng, levels, 8, 0.01), worthwhile=0.02).blocks_needed
        assert 5 < needed < 60
        assert judge(noisy_study(rng, levels, 2 * needed, 0.01), worthwhile=0.02).outcome is not Outcome.UNRESOLVED


def test_the_blocks_needed_grow_with_the_square_of_the_noise():
    quiet, loud = (judge(study(wiggle=[f * x for x in WIGGLE], a=100, b=100, c=100)).blocks_needed for f in (4, 8))
    assert loud / quiet == pytest.approx(4, rel=0.2)


def noisy_study(rng, levels, blocks, sd):
    drift = rng.normal(scale=0.05, size=blocks)
    return [
        Observation(block, name, level * math.exp(drift[block] + rng.normal(scale=sd)))
        for block in range(blocks)
        for name, level in levels.items()
    ]


levels = st.sampled_from([90.0, 99.0, 100.0, 100.5, 101.0, 112.0])


@st.composite
def designs(draw):
    names = "abcd"[: draw(st.integers(2, 4))]
    level = {name: draw(levels) for name in names}
    noise = draw(st.sampled_from([0.0005, 0.005, 0.03]))
    seed = draw(st.integers(0, 1000))
    seen = noisy_study(np.random.default_rng(seed), level, draw(st.integers(1, 5)), noise)
    kept = [one for one in seen if draw(st.integers(0, 9)) > 0]
    twins = [frozenset(draw(st.permutations(names))[:2])] if draw(st.booleans()) else []
    return kept, names, twins


@settings(max_examples=60)
@given(designs(), st.data())
def test_names_order_and_unit_change_no_verdict(design, data):
    seen, names, twins = design
    found = judge(seen, names, one=twins)
    renamed = dict(zip(names, data.draw(st.permutations("pqrstuv")), strict=False))
    moved = [
        Observation(("again", one.stratum), renamed[one.candidate], one.throughput * 60)
        for one in data.draw(st.permutations(seen))
    ]
    again = decide(
        moved,
        data.draw(st.permutations([renamed[name] for name in names])),
        renamed["a"],
        alpha=0.05,
        worthwhile=0.01,
        one=[frozenset(renamed[name] for name in group) for group in twins],
    )
    assert again.outcome is found.outcome
    assert again.states == {renamed[name]: state for name, state in found.states.items()}
    assert set(again.winners) == {renamed[name] for name in found.winners}
    assert again.blocks == found.blocks
    assert (again.detectable is None) == (found.detectable is None)


@settings(max_examples=60)
@given(designs())
def test_outcome_winners_and_states_agree(design):
    seen, names, twins = design
    found = judge(seen, names, one=twins)
    states = [state for state in found.states.values() if state is not State.FAILED]
    wins, ties, opens = (states.count(state) for state in (State.WINS, State.TIES, State.OPEN))
    assume(states)
    if found.outcome is Outcome.WINNER:
        assert (wins, ties, opens, len(found.winners)) == (1, 0, 0, 1)
    elif found.outcome is Outcome.TIE:
        assert (wins, opens) == (0, 0)
        assert len(found.winners) == ties < len(states)
    elif found.outcome is Outcome.NO_WORTHWHILE_DIFFERENCE:
        assert ties == len(states)
    else:
        assert opens > 0
    assert all(found.states[name] in {State.WINS, State.TIES} for name in found.winners)
    for a, b in itertools.combinations(found.winners, 2):
        assert found.throughput[a] is not None
        assert found.throughput[b] is not None
