"""The statistics of the proof on trials of known truth."""

import itertools
import math

import numpy as np
import pytest

from dialin.model.tune import TuneStage
from dialin.search import proof
from dialin.search.trial_records import Ask, TrialOutcome
from dialin.stats.trial_fit import TimedTrial

WORTHWHILE = 0.02
NAMES = ["baseline", "set 1", "set 2"]


def trials(levels: dict[str, float], blocks: int, seed: int = 1, sd: float = 0.02) -> list[TimedTrial]:
    rng = np.random.default_rng(seed)
    return [
        TimedTrial(0, name, 200.0 * block + 40 * place, 1000 * math.exp(level + rng.normal(scale=sd)), error=0.85 * sd)
        for block in range(blocks)
        for place, (name, level) in enumerate(levels.items())
    ]


def outcomes(*candidates: str) -> list[TrialOutcome]:
    return [TrialOutcome(Ask({}, 30, TuneStage.PROOF, candidate=name), True, 1000, 1, 40) for name in candidates]


def test_one_disturbed_trial_of_five_of_a_candidate_does_not_count() -> None:
    five = outcomes(*["baseline", "set 1"] * 5)
    assert proof.left_out(five, [2]) == [2]
    assert proof.left_out(five, [2, 3]) == [2, 3], "one of each"
    assert proof.left_out(five, [2, 4]) == [], "a candidate that is slow twice is slow by itself"
    assert proof.left_out(five[:8], [2]) == [], "four are too few"
    assert proof.left_out(outcomes(*[""] * 9), [2]) == [], "the search has its own way with them"


def test_a_gain_is_shown_and_its_interval_holds_it() -> None:
    decision = proof.decide_proof(trials({"baseline": 0, "set 1": 0.3, "set 2": 0.3}, 5), NAMES, "baseline", WORTHWHILE)
    assert set(decision.better) == {"set 1", "set 2"}
    ratio = decision.ratios["set 1"]
    assert ratio is not None
    assert ratio.low < math.exp(0.3) < ratio.high


def test_the_first_block_has_all_and_later_ones_the_contenders_and_the_baseline() -> None:
    assert proof.next_candidates([], NAMES, "baseline", WORTHWHILE) == NAMES
    done = trials({"baseline": 0, "set 1": 0.3, "set 2": 0.1}, 4)
    assert proof.next_candidates(done, NAMES, "baseline", WORTHWHILE) == ["baseline", "set 1"]
    close = trials({"baseline": 0, "set 1": 0.3, "set 2": 0.3}, 3, sd=0.05)
    assert proof.next_candidates(close, NAMES, "baseline", WORTHWHILE) == NAMES


@pytest.mark.parametrize(("level", "blocks", "excluded"), [(0.0, 40, True), (0.0, 3, False), (0.03, 40, False)])
def test_a_gain_is_excluded_where_all_intervals_lie_below_what_is_worthwhile(level: float, blocks: int, excluded: bool) -> None:
    decision = proof.decide_proof(
        trials({"baseline": 0, "set 1": level, "set 2": -0.05}, blocks), NAMES, "baseline", WORTHWHILE
    )
    assert proof.excludes_gain(decision, ["set 1", "set 2"], WORTHWHILE) is excluded


def orders(statics, blocks, seed=1, running=None):
    ran = []
    for block in range(blocks):
        order = proof.proof_block_order(list(statics), list(statics.values()), running, ran, seed, is_last=block == blocks - 1)
        ran.append(order)
        running = statics[order[-1]]
    return ran


def test_a_set_and_the_baseline_take_turns_by_a_coin_and_have_as_many_trials_each():
    for statics in ({"baseline": (1,), "set 1": (1,)}, {"baseline": (1,), "set 1": (2,)}):
        ran = [orders(statics, 6, seed) for seed in range(60)]
        assert all(sum(order.count("baseline") for order in one) == 6 for one in ran)
        assert len({tuple(one[1]) for one in ran}) == 4


def test_of_more_sets_those_that_share_a_start_of_the_server_run_in_a_row_the_running_ones_first():
    statics = {"baseline": (1,), "set 1": (2,), "set 2": (1,), "set 3": (2,)}
    ran = orders(statics, 40)
    assert all(sorted(order) == sorted(statics) for order in ran)
    of_start = [[statics[name] for name in order] for order in ran]
    assert all(one in ([(1,)] * 2 + [(2,)] * 2, [(2,)] * 2 + [(1,)] * 2) for one in of_start)
    assert all(before[-1] == after[0] for before, after in itertools.pairwise(of_start))
    assert len({tuple(order) for order in ran}) == 8
