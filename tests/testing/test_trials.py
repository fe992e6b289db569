from statistics import fmean, pstdev
from types import SimpleNamespace

import pytest

from dialin.model.trial import Step, Trial, TrialState
from dialin.testing.trials import SimulatedTrials


class Kept:
    """A store that only keeps."""

    def __init__(self):
        self.samples = []

    def begin_trial(self, trial):
        return trial

    def add_sample(self, trial, sample):
        self.samples.append(sample)

    def save_trial(self, trial):
        self.saved = trial


@pytest.fixture
def measured(clock):
    """Run one trial of a candidate and return its measured seconds."""

    def run(trials, candidate="4", seconds=200):
        store = Kept()
        spec, plan = SimpleNamespace(seed=1), SimpleNamespace(measure=seconds)
        planned = Trial(1, 1, 1, 1, candidate, TrialState.RUNNING, clock.now())
        trials(SimpleNamespace(store=store, clock=clock, spec=spec, plan=plan), planned)
        return [sample for sample in store.samples if sample.step is Step.MEASURE]

    return run


def test_a_candidate_may_be_less_steady_than_the_others(measured):
    trials = SimulatedTrials({"1": 1000, "4": 1000}, noise=0, jitters={"4": 0.2})
    calm, wild = ([sample.tps for sample in measured(trials, name)] for name in ("1", "4"))
    assert pstdev(calm) / fmean(calm) == pytest.approx(0.03, rel=0.2)
    assert pstdev(wild) / fmean(wild) == pytest.approx(0.2, rel=0.2)


def test_seconds_in_which_the_host_stands_still_are_as_many_as_asked_for_and_are_lost(measured):
    samples = measured(SimulatedTrials({"4": 1000}, lost=7))
    assert sum(sample.lost for sample in samples) == 7
    assert max(sample.tps for sample in samples if sample.lost) < 200


def test_the_faster_a_server_the_lower_its_latency(measured):
    slow, fast = (measured(SimulatedTrials({"4": level})) for level in (500, 1000))
    assert fmean(sample.latency_ms for sample in fast) < 0.6 * fmean(sample.latency_ms for sample in slow)
