"""Confirming a choice in confirmation trials, and studies of one setting under several names."""

import pytest

from dialin.model.study import AA
from dialin.model.trial import Purpose, TrialState
from dialin.model.verdict import CandidateState
from dialin.race.budget import MAY_OVERRUN
from dialin.race.runner import CONFIRMING_BLOCKS
from dialin.sentences.log_sentences import log_text
from fixtures.simulated_runs import FORCED, Killed, kill_at, raced, shorter, simulated

# Confirming a choice in confirmation trials.


def fresh(record):
    return [trial for trial in record.trials if trial.purpose is Purpose.CONFIRM]


def test_a_choice_is_confirmed_against_the_baseline_in_fresh_trials_that_decide_nothing(study, spec):
    plain, race = study(simulated(four=1300), spec.model_copy(update={"minutes": 12}), directory="plain")
    verdict, record = study(simulated(four=1300), spec.model_copy(update={"minutes": 12, "confirm": True}))
    assert raced(record) == raced(race)
    own = fresh(record)
    assert len(own) == 2 * CONFIRMING_BLOCKS
    first = 1 + max(block.number for block in race.blocks)
    assert {trial.block for trial in own} == set(range(first, first + CONFIRMING_BLOCKS))
    orders = [[t.candidate for t in own if t.block == block] for block in range(first, first + CONFIRMING_BLOCKS)]
    assert all(order in (["1", "4"], ["4", "1"]) for order in orders)
    assert (verdict.confirmed.candidate, verdict.confirmed.blocks) == ("4", CONFIRMING_BLOCKS)
    assert verdict.confirmed.ratio.low < 1.3 < verdict.confirmed.ratio.high
    assert verdict.candidates == plain.candidates
    assert (verdict.headline, record.looks) == (plain.headline, race.looks)


def test_a_baseline_that_is_kept_needs_no_confirming(study, spec):
    verdict, record = study(simulated(one=1300), spec.model_copy(update={"confirm": True}))
    assert (verdict.recommended_candidate, verdict.confirmed) == ("1", None)
    assert fresh(record) == []


def test_a_confirmation_that_the_budget_does_not_hold_is_left_out_and_said(study, spec):
    verdict, record = study(simulated(four=1300), shorter(spec, confirm=True))
    assert verdict.confirmed.blocks == 3
    assert "The budget ended before the confirmation trials were complete" in [log_text(line) for line in record.log]
    assert sum(sum(trial.steps.values()) for trial in record.trials) <= MAY_OVERRUN * 240


def test_a_study_killed_while_it_confirms_goes_on_with_that(study, spec):
    question = spec.model_copy(update={"minutes": 12, "confirm": True})
    with pytest.raises(Killed):
        study(kill_at(13, four=1300), question)
    second = simulated(four=1300)
    verdict, record = study(second, question)
    done = [(trial.block, trial.candidate) for trial in fresh(record) if trial.state is TrialState.DONE]
    assert len(done) == len(set(done)) == 2 * CONFIRMING_BLOCKS
    assert len(second.ran) == 2 * CONFIRMING_BLOCKS - (13 - 1 - 7), "the race took 7, and the 13th was killed"
    assert verdict.confirmed.blocks == CONFIRMING_BLOCKS - 1, "the block that was cut in two holds no pair"
    assert [look.decided for look in record.looks] == [False, False, True]


def test_a_finished_study_may_be_confirmed_later(study, spec):
    study(simulated(four=1300))
    more = spec.model_copy(update={"minutes": 12, "confirm": True})
    later = simulated(four=1300)
    verdict, _ = study(later, more)
    assert {trial.purpose for trial in later.ran} == {Purpose.CONFIRM}
    assert verdict.confirmed.blocks == CONFIRMING_BLOCKS


# One setting under several names.


def test_an_a_a_study_runs_its_whole_budget_and_claims_nothing(study, spec):
    trials = simulated()
    trials.in_force = {name: {"innodb_buffer_pool_instances": "1"} for name in FORCED}
    verdict, record = study(trials, shorter(spec, question=AA()))
    assert [sorted(raced(record, block)) for block in (1, 2, 3, 4)] == [["1", "16", "4"]] * 4
    claimed = {CandidateState.BETTER, CandidateState.WORSE}
    assert not claimed & {one.state for one in verdict.candidates}
    assert (verdict.winners, verdict.recommended_candidate) == ([], "1")
    assert "no difference is claimed" in verdict.headline
    assert verdict.trial_noise == pytest.approx(0.013, rel=0.5)
    assert "same_in_force" not in {note.code for note in verdict.warnings}


def test_an_a_a_study_in_which_all_come_out_alike_measures_on_too(study, spec):
    verdict, record = study(simulated(noise=0.0002, jitter=0.0002), shorter(spec, question=AA()))
    assert len(record.trials) == 12
    assert any(look.decided for look in record.looks)
    assert verdict.blocks == 4


def test_an_a_a_study_that_finds_a_difference_says_that_the_machine_cannot_be_trusted(study, spec):
    verdict, record = study(simulated(four=1300), shorter(spec, question=AA()))
    assert len(record.trials) == 12, "each has all its trials"
    assert "cannot be trusted" in verdict.headline


def test_an_a_a_study_that_is_resumed_runs_nothing_twice(study, spec):
    first, record = study(simulated(), shorter(spec, question=AA()))
    again = simulated()
    second, after = study(again, shorter(spec, question=AA()))
    assert again.ran == []
    assert second == first
    assert after.looks == record.looks
