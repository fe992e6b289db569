"""A study that nobody runs, written as one that runs is: what the tests of the live page share."""

from dataclasses import replace

from dialin.model.progress import Progress, SessionState, Standing
from dialin.model.trial import Sample, Step, Trial, TrialState
from dialin.store.store import Store
from fixtures.recorded import begun

TRIAL = Trial(0, 1, 1, 2, "4", TrialState.RUNNING, 1000.0)


def sample(second, step=Step.MEASURE, tps=100.0, **others):
    return Sample(second, 1000.0 + second, step, tps, 14 * tps, 4 * tps, 2 * tps, 20.0, 0.0, 0.0, **others)


RUNNING = Progress(
    SessionState.RUNNING,
    began=900.0,
    blocks=6,
    ends=1600.0,
    step=Step.MEASURE,
    step_began=1001.0,
    standings={"1": Standing(1, 0, 1000.0, None), "4": Standing(0, 1, None, None)},
)


class Study:
    """A study's directory, and what a dialin that runs it writes there."""

    def __init__(self, directory, spec):
        directory.mkdir()
        self.directory = directory
        self.store = Store.create(
            directory, spec, created=900.0, dialin_version="0", command="dialin sweep", host={}, servers={"mysql@9.7.4": {}}
        )
        self.trial = None

    def begin_trial(self, trial=TRIAL, seconds=3):
        self.trial = begun(self.store, trial)
        for second in range(1, 1 + seconds):
            self.store.add_sample(self.trial.id, sample(second))

    def end_trial(self):
        self.store.save_trial(replace(self.trial, state=TrialState.DONE, steps={Step.MEASURE: 3.0}))

    def stands(self, **changes):
        self.store.save_progress(replace(RUNNING, **changes))
