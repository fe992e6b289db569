"""A trial that is broken off is stored as interrupted, unless it had ended."""

from dataclasses import replace

import pytest

from dialin.model.cause import Cause, CauseCode, Fault
from dialin.model.trial import Failure, Step, Trial, TrialState
from dialin.race.recorder import Recorder
from dialin.store.store import Store
from dialin.trials.events import StepBegan, TrialBegan, TrialEnded
from fixtures.silent_watcher import Silent

TRIAL = Trial(1, 1, 1, 1, "4", TrialState.RUNNING, 5.0)
FAILURE = Failure(Step.MEASURE, Fault.SERVER, Cause(CauseCode.HUNG, {"seconds": 60}), "")


@pytest.fixture
def store(tmp_path, spec):
    with Store.create(tmp_path, spec, created=1.0, dialin_version="0", command="dialin sweep", host={}, servers={}) as made:
        yield made


def test_a_trial_under_way_is_interrupted_with_the_seconds_of_its_steps(store, clock):
    recorder = Recorder(store, clock, Silent())
    recorder.record(TrialBegan(TRIAL))
    recorder.record(StepBegan(Step.MEASURE))
    clock.sleep(7)
    assert recorder.interrupt().state is TrialState.INTERRUPTED
    (stored,) = store.trials()
    assert (stored.state, stored.steps) == (TrialState.INTERRUPTED, {Step.MEASURE: 7.0})
    assert recorder.interrupt() is None


@pytest.mark.parametrize("is_saved", [True, False])
def test_a_trial_whose_end_is_being_saved_stays_as_it_ended(store, clock, monkeypatch, is_saved):
    recorder = Recorder(store, clock, Silent())
    recorder.record(TrialBegan(TRIAL))
    ended = replace(TRIAL, state=TrialState.FAILED, failure=FAILURE)
    save = store.save_trial

    def ctrl_c(trial):
        if is_saved:
            save(trial)
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(store, "save_trial", ctrl_c)
        with pytest.raises(KeyboardInterrupt):
            recorder.record(TrialEnded(ended))
    assert recorder.interrupt() == ended
    assert store.trials() == [ended]
