"""The simulated worker keeps what every worker promises; `tests_live` asks the same of those that start servers."""

from contextlib import nullcontext

from dialin.fleet.worker import BlockRequest
from dialin.model.study import Candidate, StudySpec
from dialin.model.trial import Purpose, Trial, TrialState
from dialin.testing.worker_conformance import WorkerConformance
from fixtures.simulated_trials import SimulatedTrials

PAIR = tuple(Candidate(name=str(n), setting={"innodb_io_capacity": n}, server="mysql@9.7") for n in (200, 400))


class TestSimulatedTrials(WorkerConformance):
    def open_worker(self):
        return nullcontext(SimulatedTrials({"200": 1000, "400": 1100}, fails={"400"}))

    def make_request(self):
        spec = StudySpec(candidates=PAIR, baseline="200")
        trials = (
            Trial(number, 1, 1, number, candidate.name, TrialState.RUNNING, 0.0, purpose=Purpose.RACE)
            for number, candidate in enumerate(PAIR, 1)
        )
        return BlockRequest(spec, {}, tuple(trials))
