"""Which candidates the blocks of a study have."""

import random
from collections import Counter
from dataclasses import replace

import pytest

from dialin.model.study import AA, Candidate, Goal, StudySpec, Until
from dialin.model.trial import Purpose, Sample, Step, Trial, TrialState
from dialin.model.workload import WorkloadSpec
from dialin.search.proposer import Contenders, History, Room
from dialin.stats.trial_figures import figures

LEVELS = {"a": 1000.0, "b": 1100.0, "c": 1090.0, "d": 700.0, "e": 720.0}


def question(names=tuple(LEVELS), **changes):
    candidates = tuple(Candidate(name=name, setting={"sync_binlog": n}, server="mysql@9.7") for n, name in enumerate(names))
    return StudySpec(candidates=candidates, baseline="a", workload=WorkloadSpec(kind="sysbench"), **changes)


def proposed(history, block=1):
    return [candidate.name for candidate in Contenders().propose(history, Room(block, 100))]


def run(history, block, names, levels=None, noise=0.01):
    """The history after a block of these candidates, each trial at its level with some noise."""
    levels = levels or LEVELS
    trials, measured = list(history.trials), dict(history.figures)
    for position, name in enumerate(names, start=1):
        number = len(trials) + 1
        chance = random.Random(number)
        level = levels[name] * (1 + chance.gauss(0, noise))
        steps = {Step.WARM_UP: 5.0, Step.MEASURE: 10.0}
        trial = Trial(number, block, 1, position, name, TrialState.DONE, 20.0 * number, steps, purpose=Purpose.RACE)
        seconds = [level * (1 + chance.gauss(0, 0.02)) for _ in range(10)]
        trials.append(trial)
        measured[number] = figures(
            [Sample(n, trial.started + n, Step.MEASURE, tps, 0, 0, 0, 2e4 / tps, 0, 0) for n, tps in enumerate(seconds)]
        )
    return replace(history, trials=trials, figures=measured)


def course(spec, blocks, **others):
    """The blocks of a study that has so many."""
    history, ran = History(spec), []
    for block in range(1, blocks + 1):
        ran.append(proposed(history, block))
        history = run(history, block, ran[-1], **others)
    return ran


def test_the_first_block_has_all_candidates_and_the_later_ones_two():
    ran = course(question(), 12)
    assert ran[0] == list(LEVELS)
    assert {len(block) for block in ran[1:]} == {2}


@pytest.mark.parametrize("goal", [Goal.THROUGHPUT, Goal.LATENCY])
def test_trials_go_to_those_that_may_be_the_best_and_none_is_forgotten(goal):
    counts = Counter(name for block in course(question(goal=goal), 25) for name in block)
    assert min(counts["b"], counts["c"]) > 2 * max(counts[name] for name in "ade")
    assert counts["b"] + counts["c"] > 0.6 * counts.total()
    assert min(counts.values()) >= 1


def test_the_leader_is_in_the_second_block():
    assert all("b" in block for block in course(question(), 3, levels=LEVELS | {"c": 900.0})[:2])


def test_two_candidates_are_in_every_block():
    assert course(question(("a", "b")), 5) == [["a", "b"]] * 5


def test_an_a_a_study_has_all_candidates_in_every_block():
    assert course(question(question=AA()), 5) == [list(LEVELS)] * 5


def test_the_same_history_gives_the_same_answer_in_whatever_order_its_trials_are_listed():
    history = History(question())
    for block in range(1, 8):
        history = run(history, block, proposed(history, block))
        listed = replace(history, trials=history.trials[::-1])
        assert proposed(history, block) == proposed(history, block) == proposed(listed, block)


def test_one_that_is_out_is_in_no_block_even_the_leader():
    history = run(run(History(question()), 1, LEVELS), 2, LEVELS)
    assert "b" in proposed(history)
    assert "b" not in proposed(replace(history, out={"b"}))
    assert proposed(replace(history, out=set("bcde"))) == ["a"]


def test_one_that_has_no_trial_yet_is_in_the_next_block():
    history = run(run(History(question()), 1, "abcd"), 2, "ab")
    assert "e" in proposed(history)
    assert proposed(run(History(question()), 1, "abc")) == ["d", "e"]


def test_where_nothing_does_anything_blocks_go_on():
    history = run(History(question()), 1, LEVELS, levels=dict.fromkeys(LEVELS, 0.0001), noise=0)
    still = replace(
        history,
        figures={
            trial.id: figures([Sample(n, n, Step.MEASURE, 0.0, 0, 0, 0, 0.0, 0, 0) for n in range(10)])
            for trial in history.trials
        },
    )
    assert len(proposed(still)) == 2


def test_a_choice_that_is_to_be_shown_better_than_the_baseline_runs_against_it():
    levels = LEVELS | {"c": 800.0}
    history = History(question(until=Until.BETTER))
    for block in (1, 2, 3):
        history = run(history, block, LEVELS, levels=levels)
    assert sorted(proposed(history)) == ["a", "b"]
