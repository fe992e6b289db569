"""A study uses what the load driver chose in its first completed trial for every later one."""

from dataclasses import replace

import pytest

from dialin.model.load_driver import DriverChoice
from dialin.model.trial import Purpose, TrialState
from fixtures.simulated_runs import FORCED, Killed
from fixtures.simulated_trials import SimulatedTrials


class Choosing(SimulatedTrials):
    """Trials whose driver chooses, another way each time that it is not told; `asked` has what each block was given."""

    def run_block(self, request):
        self.asked.append((request.trials[0].purpose, request.driver_choices))
        choice = request.driver_choices or (DriverChoice(16, 10 + request.trials[0].id, True),)
        self.end = lambda trial: replace(trial, driver_choices=choice)
        yield from super().run_block(request)


def choosing(**others):
    trials = Choosing({"1": 1000, "4": 1300, "16": 1000}, in_force=FORCED, **others)
    trials.asked = []
    return trials


FIRST = (DriverChoice(16, 11, True),)


def test_every_later_block_is_given_what_the_first_trial_chose(study, spec):
    trials = choosing()
    verdict, record = study(trials, spec.model_copy(update={"confirm": True, "minutes": 20, "waits": "wait/io%"}))
    assert trials.asked[0] == (Purpose.RACE, ())
    assert {choices for _, choices in trials.asked[1:]} == {FIRST}
    assert {purpose for purpose, _ in trials.asked[1:]} == {Purpose.RACE, Purpose.CONFIRM, Purpose.WAITS}
    assert {trial.driver_choices for trial in record.trials} == {FIRST}
    assert verdict.workload["threads"] == spec.workload.threads


@pytest.mark.parametrize("killed", [2, 3, 5])
def test_a_resumed_study_keeps_it(study, killed):
    def kill(trial):
        if trial.id == killed:
            raise Killed

    with pytest.raises(Killed):
        study(choosing(before=kill))
    trials = choosing()
    _, record = study(trials)
    assert {choices for _, choices in trials.asked} == {FIRST}
    assert {trial.driver_choices for trial in record.trials if trial.state is TrialState.DONE} == {FIRST}


def test_a_study_that_was_killed_in_its_first_trial_has_nothing_to_keep(study):
    def kill(trial):
        if trial.id == 1:
            raise Killed

    with pytest.raises(Killed):
        study(choosing(before=kill))
    trials = choosing()
    study(trials)
    assert trials.asked[0] == (Purpose.RACE, ())
    assert {choices for _, choices in trials.asked[1:]} == {(DriverChoice(16, 12, True),)}
