"""Whose fault it is that a trial ended, and what becomes of the trial: only the server itself can show that a setting fails."""

import errno
import os
from contextlib import contextmanager
from dataclasses import asdict

import pytest

from dialin.errors import (
    DialinError,
    DriverKilledError,
    GuardTrippedError,
    LostConnectionError,
    MachineError,
    NoAnswerError,
    ServerError,
    SettingRefusedError,
    UserError,
    WorkloadError,
)
from dialin.model.cause import Cause, CauseCode, Danger, Fault, Trip
from dialin.model.trial import Trial, TrialState
from dialin.servers.connection import RefusedError, TurnedAwayError
from dialin.store.store import Store
from dialin.trials.trial_steps import run
from dialin.workloads import driver_process
from fixtures.fake_trial import FakeLoad, FakeStage, trial_context
from fixtures.recorded import recorded

FULL, MANY, BROKEN = (OSError(number, os.strerror(number), "/a/file") for number in (errno.ENOSPC, errno.EMFILE, errno.EIO))
LOST = NoAnswerError("The connection broke")
CLOSED = LostConnectionError("The connection was closed")
KILLED = driver_process.killed("dialin-load", 9, "")


class Breaking(FakeStage):
    """A stage that an error ends while its server is made ready; `answers` says what a new connection meets then."""

    def __init__(self, error=None, *, answers=None, pid=None, ended=lambda: False, tail=""):
        super().__init__(ended)
        self.error, self.answers, self.pid, self.tail = error, answers, pid, tail

    def ready(self):
        yield from ()
        if self.error is not None:
            raise self.error
        return self

    @contextmanager
    def connect(self, timeout=10.0):
        if self.answers is not None and timeout == 5.0:
            raise self.answers
        yield lambda statement, arguments=(): []

    def log_tail(self):
        return self.tail


class LockingOut(FakeStage):
    """A stage whose server does not accept the account any more after the first connection."""

    connections = 0

    @contextmanager
    def connect(self, timeout=10.0):
        self.connections += 1
        if self.connections > 1:
            raise TurnedAwayError("Access denied", "", 1045)
        yield lambda statement, arguments=(): []


class BreakingLoad(FakeLoad):
    """A load that ends with an error in its third second."""

    def __init__(self, clock, error):
        super().__init__(clock, 1000, lambda number: 100.0)
        self.error = error

    def read(self, timeout):
        if self.number == 2:
            raise self.error
        return super().read(timeout)


@pytest.fixture
def store(tmp_path, spec):
    with Store.create(tmp_path, spec, created=0, dialin_version="0", command="", host={}, servers={}) as made:
        yield made


@pytest.fixture
def ended(spec, clock, store):
    """Run a trial; how it ended."""

    def call(stage=None, load=None, **changes):
        steady = FakeLoad(clock, 1000, lambda number: 100.0)
        context = trial_context(spec, clock, load or steady, stage=lambda trial: stage or FakeStage(), **changes)
        number = store.next_trial_id()
        return recorded(store, clock, run(context, Trial(number, 1, 1, 1, "4", TrialState.RUNNING, 0.0)))

    return call


@pytest.mark.parametrize("error", [FULL, MANY, BROKEN, MemoryError(), RuntimeError("can't start new thread")], ids=repr)
def test_a_refusal_of_this_machine_ends_a_trial_that_is_run_again(ended, error):
    trial = ended(Breaking(error))
    assert (trial.state, trial.failure.fault, trial.failure.is_evidence) == (TrialState.INTERRUPTED, Fault.MACHINE, False)
    assert ended(Breaking(error), is_last_try=True).state is TrialState.INTERRUPTED, "the machine is never a candidate's fault"


def test_a_record_of_the_undo_that_cannot_be_written_says_nothing_of_the_candidate(ended):
    error = MachineError.of(FULL, "The record for undoing changes cannot be written", "Check that the disk has space")
    trial = ended(Breaking(error))
    assert trial.state is TrialState.INTERRUPTED
    assert trial.failure.cause.code is CauseCode.MACHINE
    assert trial.failure.cause.figures["advice"] == "Check that the disk has space"


@pytest.mark.parametrize("error", [LOST, RefusedError("Query execution was interrupted", "", 1317)], ids=repr)
def test_a_lost_connection_to_a_server_that_still_runs_ends_a_trial_that_is_run_again(ended, error):
    trial = ended(Breaking(error))
    assert (trial.state, trial.failure.fault) == (TrialState.INTERRUPTED, Fault.CONNECTION)


def test_a_connection_that_is_lost_in_every_try_fails_the_trial_and_is_no_evidence(ended):
    trial = ended(Breaking(LOST), is_last_try=True)
    assert (trial.state, trial.failure.fault, trial.failure.is_evidence) == (TrialState.FAILED, Fault.CONNECTION, False)


def test_a_lost_connection_to_a_server_that_ended_is_the_servers_fault(ended):
    trial = ended(Breaking(LOST, ended=lambda: True))
    assert (trial.state, trial.failure.cause.code) == (TrialState.FAILED, CauseCode.SERVER_ENDED)
    assert trial.failure.is_evidence


def test_a_server_of_this_machine_that_does_not_answer_hangs(ended):
    trial = ended(Breaking(LOST, answers=LOST, pid=4711))
    assert (trial.state, trial.failure.fault, trial.failure.cause.code) == (
        TrialState.FAILED,
        Fault.SERVER,
        CauseCode.UNRESPONSIVE,
    )


def test_a_server_of_this_machine_whose_connections_are_closed_does_not_hang(ended):
    trial = ended(Breaking(LOST, answers=CLOSED, pid=4711))
    assert (trial.state, trial.failure.fault, trial.failure.is_evidence) == (TrialState.INTERRUPTED, Fault.CONNECTION, False)


def test_a_server_of_another_machine_that_does_not_answer_may_be_behind_a_network_that_is_down(ended):
    trial = ended(Breaking(LOST, answers=LOST, pid=None))
    assert (trial.state, trial.failure.fault) == (TrialState.INTERRUPTED, Fault.CONNECTION)


def test_a_server_that_cannot_be_asked_for_lack_of_open_files_is_not_blamed(ended):
    trial = ended(Breaking(LOST, answers=MachineError.of(MANY), pid=4711))
    assert (trial.state, trial.failure.fault) == (TrialState.INTERRUPTED, Fault.MACHINE)


@pytest.mark.parametrize(
    ("error", "fault"),
    [
        (SettingRefusedError("innodb_io_capacity cannot be x"), Fault.SETTING),
        (ServerError("It did not start"), Fault.SERVER),
        (TurnedAwayError("Too many connections", "", 1040), Fault.SERVER),
        (RefusedError("Out of memory", "", 1037), Fault.SERVER),
    ],
    ids=repr,
)
def test_evidence_is_what_the_server_itself_shows(ended, error, fault):
    trial = ended(Breaking(error))
    assert (trial.state, trial.failure.fault, trial.failure.is_evidence) == (TrialState.FAILED, fault, True)


def test_a_guard_that_tripped_and_a_load_that_fails_are_no_evidence_of_the_server(ended, clock):
    trip = asdict(Trip(Danger.NO_ANSWER, 0.0, 0.0, None, 1.0))
    tripped = ended(Breaking(GuardTrippedError(Cause(CauseCode.GUARD_TRIPPED, trip))))
    assert (tripped.state, tripped.failure.fault, tripped.failure.is_evidence) == (TrialState.FAILED, Fault.GUARD, False)
    failed = ended(load=BreakingLoad(clock, WorkloadError("Every transaction failed")))
    assert (failed.state, failed.failure.fault, failed.failure.is_evidence) == (TrialState.FAILED, Fault.WORKLOAD, False)


@pytest.mark.parametrize(
    "error",
    [
        UserError("The account may not set it"),
        TurnedAwayError("Access denied", "", 1045),
        RefusedError("Access denied", "", 1227),
        DialinError("Another server answers"),
    ],
    ids=repr,
)
def test_a_mistake_of_the_user_ends_the_study_and_fails_no_trial(ended, store, error):
    with pytest.raises(type(error), match=error.what):
        ended(Breaking(error))
    (trial,) = store.trials()
    assert (trial.state, trial.failure) == (TrialState.INTERRUPTED, None)


def test_an_account_that_is_refused_at_the_end_of_a_trial_is_not_tried_again(ended):
    stage = LockingOut()
    with pytest.raises(TurnedAwayError):
        ended(stage)
    assert stage.connections == 2


@pytest.mark.parametrize(
    ("error", "fault"),
    [
        (KILLED, Fault.OUTSIDE),
        (WorkloadError("The server cannot be reached", fault=Fault.CONNECTION), Fault.CONNECTION),
        (WorkloadError("epoll cannot be made", fault=Fault.MACHINE), Fault.MACHINE),
    ],
    ids=repr,
)
def test_a_driver_that_was_killed_or_lost_the_network_ends_a_trial_that_is_run_again(ended, clock, error, fault):
    trial = ended(load=BreakingLoad(clock, error))
    assert (trial.state, trial.failure.fault) == (TrialState.INTERRUPTED, fault)


def test_a_driver_that_lost_its_server_names_the_server(ended, clock):
    load = BreakingLoad(clock, WorkloadError("Connections are lost", fault=Fault.CONNECTION))
    trial = ended(Breaking(ended=lambda: load.number == 2), load)
    assert (trial.state, trial.failure.cause.code) == (TrialState.FAILED, CauseCode.SERVER_ENDED)


@pytest.mark.parametrize("text", ["OS errno 28 - No space left on device", 'Errcode: 122 "Disk quota exceeded"'])
def test_a_server_that_ended_on_a_full_disk_is_not_blamed(ended, text):
    trial = ended(Breaking(LOST, ended=lambda: True, tail=f"[ERROR] Disk is full writing ./ib_logfile0 ({text})"))
    assert (trial.state, trial.failure.fault) == (TrialState.INTERRUPTED, Fault.MACHINE)
    assert "The disk of the server is full" in trial.failure.cause.figures["words"]


@pytest.mark.parametrize(("number", "kind"), [(9, DriverKilledError), (15, DriverKilledError), (11, WorkloadError), (35, None)])
def test_a_driver_that_a_signal_ended_is_said_to_be_killed_by_it(number, kind):
    error = driver_process.killed("dialin-load", number, "")
    assert kind is None or type(error) is kind
    name = {9: "SIGKILL", 15: "SIGTERM", 11: "SIGSEGV", 35: "signal 35"}[number]
    assert error.what == f"dialin-load was killed by {name}"
