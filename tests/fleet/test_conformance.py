"""The simulated worker keeps what every worker promises; `tests_live` asks the same of those that start servers."""

import errno
from contextlib import nullcontext

import pytest

from dialin.errors import MachineError, UserError
from dialin.fleet.fleet import HostLost, HostRefused, setup_failed
from dialin.fleet.worker import BlockRequest
from dialin.model.cause import Cause
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


TOO_MANY = OSError(errno.EMFILE, "Too many open files")


@pytest.mark.parametrize(
    ("error", "expected"),
    [
        (TOO_MANY, HostLost("db2", MachineError.of(TOO_MANY).cause)),
        (MachineError("Its disk is full"), HostLost("db2", MachineError("Its disk is full").cause)),
        (UserError("It has no build"), HostRefused("db2", Cause.quoted("It has no build"))),
        (ValueError("first\nsecond"), HostRefused("db2", Cause.quoted("first"))),
        (KeyError(), HostRefused("db2", Cause.quoted("KeyError"))),
    ],
    ids=lambda one: type(one).__name__,
)
def test_a_host_whose_machine_lacked_something_is_tried_again_and_any_other_is_refused(error, expected):
    assert setup_failed("db2", error) == expected
