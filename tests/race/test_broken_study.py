"""What a study does where this machine or the network ends its trials: it repeats them, blames nobody, and can be resumed."""

from dataclasses import replace

import pytest

from dialin.errors import ExitCode, MachineError, OutOfTimeError, ServerError
from dialin.model.cause import Cause, CauseCode, Fault
from dialin.model.record import LogCode
from dialin.model.trial import Block, Failure, Purpose, Step, Trial, TrialState
from dialin.model.verdict import CandidateState
from dialin.race.broken_study import disturbed_in_a_row, last_tries_of
from dialin.race.runner import InSuite
from dialin.sentences.log_sentences import log_text
from dialin.store.store import Store
from fixtures.simulated_runs import Killed, kill_at, proving, shorter, simulated

FULL = Cause(CauseCode.MACHINE, {"words": "/undo/entry: No space left on device", "advice": "Free disk space"})


def disturbed(trial, fault=Fault.MACHINE):
    return replace(trial, state=TrialState.INTERRUPTED, failure=Failure(Step.SET, fault, FULL))


def disturbing(is_disturbed, fault=Fault.MACHINE, **others):
    """Trials of which those are disturbed that `is_disturbed` returns true for."""
    return simulated(end=lambda trial: disturbed(trial, fault) if is_disturbed(trial) else trial, **others)


@pytest.mark.parametrize("fault", [Fault.MACHINE, Fault.CONNECTION, Fault.OUTSIDE])
def test_a_trial_that_is_disturbed_once_is_run_again_and_its_candidate_can_win(study, spec, fault):
    trials = disturbing(lambda trial: trial.id == 2, fault, four=1300)
    verdict, record = study(trials, proving(spec))
    assert [trial.id for trial in record.trials if trial.state is TrialState.INTERRUPTED] == [2]
    assert all(trial.state is TrialState.DONE for trial in record.trials if trial.id != 2)
    assert verdict.winners == ["4"]
    assert all(candidate.state is not CandidateState.UNSAFE and not candidate.failed for candidate in verdict.candidates)
    (line,) = [line for line in record.log if line.code is LogCode.TRIAL_DISTURBED]
    assert log_text(line).endswith("its candidate is not to blame: /undo/entry: No space left on device. Free disk space")


def test_a_machine_that_fails_again_and_again_ends_the_study_with_the_reason_and_it_can_be_resumed(study, spec, tmp_path):
    with pytest.raises(MachineError, match=r"4 trials in a row could not be run: .*No space left on device") as raised:
        study(disturbing(lambda trial: trial.id > 3, four=1300), proving(spec))
    error = raised.value
    assert (error.remedy, error.resumable, error.exit_code) == ("Free disk space", True, ExitCode.NO_VERDICT)
    with Store.open(tmp_path / "study") as store:
        assert [trial.state for trial in store.trials()] == [TrialState.DONE] * 3 + [TrialState.INTERRUPTED] * 4
    verdict, record = study(simulated(four=1300), proving(spec))
    assert verdict.winners == ["4"]
    assert all(candidate.state is not CandidateState.UNSAFE for candidate in verdict.candidates)
    assert not [trial for trial in record.trials if trial.state is TrialState.FAILED]


def test_failures_of_an_earlier_session_do_not_count_against_a_machine_that_was_fixed(study, spec):
    with pytest.raises(MachineError):
        study(disturbing(lambda _: True), proving(spec))
    verdict, _ = study(disturbing(lambda trial: trial.id == 4, four=1300), proving(spec))
    assert verdict.winners == ["4"]


def trial(number, candidate="a", fault=Fault.CONNECTION, *, session=1, host="h"):
    plain = Trial(number, 1, session, "ab".index(candidate) + 1, candidate, TrialState.RUNNING, 0.0, host=host)
    return disturbed(plain, fault)


def test_a_trial_whose_connections_were_lost_twice_has_one_try_left():
    block = Block(1, Purpose.RACE, ("a", "b"))
    assert last_tries_of([trial(1), trial(2, "b")], block, "h", 1) == frozenset()
    assert last_tries_of([trial(1), trial(2, "b"), trial(3)], block, "h", 1) == {1}
    assert last_tries_of([trial(1), trial(2)], block, "h", 2) == frozenset(), "a resumed study tries again"
    assert last_tries_of([trial(1, host="other"), trial(2)], block, "h", 1) == frozenset()


def test_a_network_that_fails_whichever_candidate_is_tried_ends_the_study_and_blames_none(study, spec, tmp_path):
    with pytest.raises(MachineError, match=r"\d trials in a row could not be run") as raised:
        study(disturbing(lambda trial: trial.id > 3, Fault.CONNECTION, four=1300), proving(spec))
    assert raised.value.resumable
    with Store.open(tmp_path / "study") as store:
        assert all(trial.state is not TrialState.FAILED for trial in store.trials())
    verdict, _ = study(simulated(four=1300), proving(spec))
    assert verdict.winners == ["4"]


def test_a_network_that_fails_one_candidate_only_ends_no_study():
    one, two = [trial(1), trial(2), trial(3)], [trial(1), trial(2, "b"), trial(3)]
    assert disturbed_in_a_row(one, "h", 1) == []
    assert len(disturbed_in_a_row(two, "h", 1)) == 3
    assert disturbed_in_a_row(two[:2], "h", 1) == disturbed_in_a_row(two, "h", 2) == disturbed_in_a_row(two, "other", 1) == []
    assert len(disturbed_in_a_row([trial(n, fault=Fault.MACHINE) for n in (1, 2, 3)], "h", 1)) == 3, "the machine fails for all"


def test_the_reason_why_nothing_was_measured_is_the_host_only_where_a_trial_came_to_its_end(study, spec):
    with pytest.raises(ServerError, match="the host itself stalled for most of every trial"):
        study(simulated(end=lambda trial: replace(trial, state=TrialState.INTERRUPTED)), shorter(spec))
    with pytest.raises(Killed):
        study(kill_at(1), shorter(spec), directory="killed")
    with pytest.raises(OutOfTimeError, match="The minutes were used up before a trial was completed") as raised:
        study(simulated(), shorter(spec), directory="killed", suite=InSuite(seconds_elsewhere=lambda: 240.0))
    error = raised.value
    assert (error.remedy, error.resumable, error.exit_code) == ("Give more --minutes", True, ExitCode.NO_VERDICT)
