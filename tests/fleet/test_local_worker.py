"""The first completed trial of a study chooses for all later ones; servers and load are invented."""

import pytest

from dialin.fleet.local_worker import LocalWorker
from dialin.fleet.worker import BlockRequest, WorkerHost
from dialin.model.load_driver import DriverChoice
from dialin.model.trial import Trial, TrialState
from dialin.trials.events import TrialEnded
from fixtures.choosing_load import ChoosingLoad
from fixtures.fake_trial import FakeStage, trial_context


class FakeSite:
    """A site whose servers are there at once."""

    def add_candidates(self, spec, effective):
        pass

    def stage(self, trial):
        return FakeStage()


@pytest.fixture
def ran(spec, clock):
    """Run a block of three trials; what each was started with, and how each ended."""

    def call(load, *choices):
        context = trial_context(spec, clock, load)
        trials = tuple(Trial(number, 1, 1, number, "4", TrialState.RUNNING, 0.0) for number in (1, 2, 3))
        events = LocalWorker(FakeSite(), context, WorkerHost("here", {})).run_block(BlockRequest(spec, {}, trials, choices))
        ended = [event.trial for event in events if isinstance(event, TrialEnded)]
        return [choice for _, choice in load.started], ended

    return call


def test_the_first_trial_of_a_block_chooses_for_the_others(ran, clock, spec):
    started, ended = ran(ChoosingLoad(clock))
    chosen = DriverChoice(spec.workload.threads, 3, True)
    assert started == [None, chosen, chosen]
    assert [trial.driver_choices for trial in ended] == 3 * [(chosen,)]


def test_a_trial_that_failed_chooses_for_nobody(ran, clock, spec):
    started, ended = ran(ChoosingLoad(clock, fails=[20]))
    assert [trial.state for trial in ended] == [TrialState.FAILED, TrialState.DONE, TrialState.DONE]
    assert started == [None, None, DriverChoice(spec.workload.threads, 3, True)]


def test_each_trial_begins_when_the_one_before_it_has_ended(ran, clock):
    """Drift is estimated from the middles of trials, which a common start time would move to the beginning of the block."""
    began = clock.now()
    _, ended = ran(ChoosingLoad(clock))
    lasted = [sum(trial.steps.values()) for trial in ended]
    assert min(lasted) > 0
    assert [trial.started for trial in ended] == pytest.approx([began, began + lasted[0], began + sum(lasted[:2])])
    assert all(trial.started < trial.middle < trial.started + seconds for trial, seconds in zip(ended, lasted, strict=True))


def test_earlier_choices_of_the_study_hold_for_every_trial(ran, clock, spec):
    chosen = DriverChoice(spec.workload.threads, 1, False)
    started, _ = ran(ChoosingLoad(clock), chosen)
    assert started == [chosen, chosen, chosen]
