import pytest

from dialin.model.progress import Silent
from dialin.model.trial import Step, TrialState
from dialin.testing import records


@pytest.fixture(params=sorted(records.EVERY))
def record(request):
    return records.EVERY[request.param]()


def test_they_are_the_same_at_every_call(record):
    name = next(name for name, make in records.EVERY.items() if make() is record)
    assert records.EVERY[name].__wrapped__() == record


def test_each_block_runs_every_candidate_once(record):
    names = sorted(candidate.name for candidate in record.spec.candidates)
    for block in {trial.block for trial in record.trials}:
        assert sorted(trial.candidate for trial in record.trials if trial.block == block) == names


def test_seconds_follow_one_another_and_the_warm_up_comes_first(record):
    for samples in record.samples.values():
        assert [sample.second for sample in samples] == list(range(1, len(samples) + 1))
        steps = [sample.step for sample in samples]
        assert steps == sorted(steps, key=[Step.WARM_UP, Step.MEASURE].index)


def test_failed_trials_say_why(record):
    assert all((trial.failure is not None) == (trial.state is TrialState.FAILED) for trial in record.trials)


def test_a_driven_study_tells_every_second_and_every_trial(record):
    heard = []

    class Listening(Silent):
        def sampled(self, trial, sample):
            heard.append((trial.id, sample.second))

        def trial_ended(self, trial, standings):
            heard.append(trial.id)

    records.drive(record, Listening())
    assert heard == [
        one
        for trial in record.trials
        for one in [*((trial.id, sample.second) for sample in record.samples[trial.id]), trial.id]
    ]
