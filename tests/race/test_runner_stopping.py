"""A study that is asked to stop after its block: it ends between two blocks, and goes on where it stood."""

import pytest

from dialin.errors import ExitCode, InterruptedStudyError
from dialin.model.study import Until
from dialin.model.trial import Purpose, TrialState
from dialin.sentences.log_sentences import log_text
from fixtures.simulated_runs import proving, raced, shorter, simulated


def asked_in_trial(number, **others):
    """Trials during one of which somebody asks for an end, and what tells of it."""
    asked = []

    def before(trial):
        if trial.id == number:
            asked.append(trial)

    return simulated(before=before, **others), lambda: bool(asked)


def test_the_block_under_way_is_finished_and_no_other_begun(study, spec):
    trials, asked = asked_in_trial(2)
    with pytest.raises(InterruptedStudyError, match="after a block, as requested") as stopped:
        study(trials, shorter(spec), stop_asked=asked)
    assert stopped.value.exit_code is ExitCode.INTERRUPTED
    assert stopped.value.resumable
    assert len(trials.ran) == 3


def test_it_goes_on_where_it_stood(study, spec):
    question = shorter(spec, until=Until.BEST)
    trials, asked = asked_in_trial(4)
    with pytest.raises(InterruptedStudyError):
        study(trials, question, stop_asked=asked)
    assert len(trials.ran) == 5
    _, record = study(simulated(), question)
    assert {trial.state for trial in record.trials} == {TrialState.DONE}
    assert len(raced(record, 3)) == 2
    assert any("Stopped between two blocks" in log_text(line) for line in record.log)
    places = [(trial.block, trial.candidate) for trial in record.trials]
    assert len(places) == len(set(places))


def test_a_study_that_is_decided_by_its_last_block_has_its_verdict_all_the_same(study, spec):
    trials, asked = asked_in_trial(11, four=1300)
    verdict, record = study(trials, proving(spec), stop_asked=asked)
    assert verdict.winners == ["4"]
    assert record.looks[-1].decided


def test_fresh_trials_and_those_for_waits_are_blocks_too(study, spec):
    trials, asked = asked_in_trial(7, four=1300)
    with pytest.raises(InterruptedStudyError):
        study(trials, spec.model_copy(update={"confirm": True, "minutes": 30}), stop_asked=asked)
    assert {trial.purpose for trial in trials.ran} == {Purpose.RACE}
    assert len(trials.ran) == 7


def test_asked_in_the_last_block_that_the_budget_holds_the_study_ends_with_its_verdict(study, spec):
    budget = shorter(spec)
    whole, record = study(simulated(), budget, directory="whole")
    trials, asked = asked_in_trial(record.trials[-1].id)
    verdict, stopped = study(trials, budget, stop_asked=asked)
    assert asked()
    assert verdict.headline == whole.headline
    assert len(stopped.trials) == len(record.trials)


def test_asked_in_the_last_fresh_block_that_the_budget_holds_the_choice_is_judged(study, spec):
    budget = spec.model_copy(update={"confirm": True, "minutes": 4})
    whole, record = study(simulated(four=1300), budget, directory="whole")
    last = record.trials[-1]
    assert last.purpose is Purpose.CONFIRM
    assert any("budget ended" in log_text(line) for line in record.log)
    trials, asked = asked_in_trial(last.id, four=1300)
    verdict, _ = study(trials, budget, stop_asked=asked)
    assert asked()
    assert verdict.headline == whole.headline
