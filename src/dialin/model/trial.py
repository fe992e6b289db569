"""A trial: one candidate, once; and its samples, one per second."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from dialin.model.cause import Cause, Fault
from dialin.model.load_driver import DriverChoice, TransactionTimes


class Step(StrEnum):
    """The steps of a trial, in order: a sandbox is restored and booted; a running server, attached or not, is set.

    `WAIT` is for an attached server that does not answer when the trial is about to begin. In a `PAUSE` a live server keeps the
    baseline: until hours in which it may be changed, or until it is as usual again.
    """

    WAIT = "wait"
    PAUSE = "pause"
    RESTORE = "restore"
    BOOT = "boot"
    SET = "set"
    VERIFY = "verify"
    WARM_UP = "warm_up"
    MEASURE = "measure"
    STOP = "stop"


class TrialState(StrEnum):
    """How a trial stands. An interrupted trial counts for nothing and is run again."""

    RUNNING = "running"
    DONE = "done"
    FAILED = "failed"
    INTERRUPTED = "interrupted"


class Purpose(StrEnum):
    """What a trial is for. Only trials of the race decide; those that confirm are fresh, so that selection does not bias them.

    Trials for waits and for a profile run with costly instruments on: they explain a verdict, and never decide it. Those of a
    search find the settings that a race then proves. A live server is observed before anything is changed. A long window shows
    whether the effect of a choice lasts.
    """

    RACE = "race"
    CONFIRM = "confirm"
    WAITS = "waits"
    PROFILE = "profile"
    SEARCH = "search"
    OBSERVE = "observe"
    LONG = "long"

    @property
    def is_instrumented(self) -> bool:
        """Whether costly instruments are on."""
        return self in (Purpose.WAITS, Purpose.PROFILE)

    @property
    def is_clean(self) -> bool:
        """Whether it is a trial of a candidate without costly instruments; the observation of a live server is none."""
        return not self.is_instrumented and self is not Purpose.OBSERVE

    @property
    def is_charted(self) -> bool:
        """Whether charts show its seconds beside those of the others: it is clean, and as long as they are."""
        return self.is_clean and self is not Purpose.LONG


@dataclass(frozen=True, slots=True)
class Block:
    """A block as it was begun: the order in which the trials of its candidates run. Each purpose numbers its own from 1."""

    number: int
    purpose: Purpose
    order: tuple[str, ...]


class WarmUpEnd(StrEnum):
    """Why a warm-up ended."""

    STEADY = "steady"
    LIMIT = "limit"


LOST_GAP = 0.3
"""Seconds that one stall of the host must last for the second to be lost: a tenth of that is ordinary scheduling."""

LOST_OF_A_RUN = 0.02
"""The share of a long run that one stall of the host must last for the run to be lost: a shorter one changes it little."""

LOST_STOLEN = 0.25
"""The share of a second's CPU time that a hypervisor must steal for the second to be lost."""


@dataclass(frozen=True, slots=True)
class Sample:
    """One second of a trial, as the load driver reported it; of a timed query, one run of it.

    Attributes:
        second: counted from 1 as samples arrive, because a driver that is late may report one of its own seconds twice.
        at: when it arrived, seconds since the epoch.
        step: `WARM_UP` or `MEASURE`.
        tps: transactions per second.
        other: other queries per second (begin, commit).
        latency_ms: the second's percentile of transaction latency (`WorkloadSpec.percentile`), milliseconds.
        errors: ignored errors per second (deadlocks, lock wait time-outs).
        reconnects: new connections per second.
        gap: the longest stall of the host itself within this second, seconds, by a heartbeat beside the load.
        stolen: the share of the machine's CPU time that its hypervisor gave to others, 0 to 1; None where unknown.
        pressure: the share of the second in which some task waited for a CPU, 0 to 1; None where unknown.
        threads: how many connections worked at once.
        seconds: the seconds that it covers: 1, or the time of a run of a timed query.
    """

    second: int
    at: float
    step: Step
    tps: float
    reads: float
    writes: float
    other: float
    latency_ms: float
    errors: float
    reconnects: float
    gap: float = 0.0
    stolen: float | None = None
    pressure: float | None = None
    threads: int = 0
    seconds: float = 1.0

    @property
    def lost(self) -> bool:
        """Whether the host, not the server, spoiled this second or run: such seconds do not enter the verdict."""
        stalled = self.gap >= LOST_GAP and self.gap >= LOST_OF_A_RUN * self.seconds
        return stalled or (self.stolen or 0.0) >= LOST_STOLEN


@dataclass(frozen=True, slots=True)
class Failure:
    """Why a trial failed, or was interrupted by what says nothing of its candidate.

    Attributes:
        fault: whose fault it is; only that of the server or of the setting is evidence against the candidate.
        log_tail: the last lines of the server's or the driver's log.
    """

    step: Step
    fault: Fault
    cause: Cause
    log_tail: str = ""

    @property
    def is_evidence(self) -> bool:
        """Whether the server itself showed it: by its end, its log, or by refusing a value."""
        return self.fault in (Fault.SERVER, Fault.SETTING)


@dataclass(frozen=True, slots=True)
class VariableChange:
    """A variable whose value changed though dialin did not change it.

    Attributes:
        before: its value when dialin read it last.
        under_test: whether the study sets it, or the server derives it from one that the study sets. A trial in which such a
            variable changed is no evidence: it is interrupted, and run again.
        step: when the change was noticed: `SET` before the trial's own values were set, `VERIFY` before the load began, and
            `STOP` after the load had ended.
    """

    variable: str
    before: str
    after: str
    under_test: bool
    step: Step


@dataclass(frozen=True, slots=True)
class CostFigure:
    """What a transaction cost the server in a trial, in the unit of its measure.

    Attributes:
        error: relative standard error by the trial's own readings; 0 where they are too few.
    """

    value: float
    error: float = 0.0


@dataclass(frozen=True, slots=True)
class Costs:
    """What the measured window cost, in seconds of CPU and of wall clock.

    Attributes:
        seconds: wall clock of the window.
        driver_cpu: CPU seconds (user and system) of the load driver.
        server_cpu: CPU seconds of the server; None where it runs on another machine.
        machine_busy: CPU seconds of everything on the machine.
        cpus: how many CPUs the machine has.
        driver_cpus: how many CPUs the driver may use.
        per_transaction: what a transaction cost the server, by each goal that is a cost; empty where no probe ran.
    """

    seconds: float
    driver_cpu: float
    server_cpu: float | None
    machine_busy: float
    cpus: int
    driver_cpus: int
    per_transaction: Mapping[str, CostFigure] = field(default_factory=dict)

    def plus(self, other: Costs) -> Costs:
        """Return what two windows of the same machine cost together."""
        first, second = self.server_cpu, other.server_cpu
        return Costs(
            seconds=self.seconds + other.seconds,
            driver_cpu=self.driver_cpu + other.driver_cpu,
            server_cpu=None if first is None or second is None else first + second,
            machine_busy=self.machine_busy + other.machine_busy,
            cpus=self.cpus,
            driver_cpus=self.driver_cpus,
        )


@dataclass(frozen=True, slots=True)
class Trial:
    """One candidate, once.

    Attributes:
        id: its number in the study, from 1.
        block: the number of its block, from 1.
        session: which run of dialin measured it; a study that was resumed has several.
        position: its place in the block's order, from 1.
        started: when it began, seconds since the epoch.
        changes: the variables that changed though dialin did not change them, those under test first.
        steps: wall-clock seconds of each step that ended.
        warm_up_end: why the warm-up ended, once it has.
        in_force: every variable that the server reported once it was ready.
        real: the number of real objects behind variables, by variable: `{"innodb_buffer_pool_instances": "1"}` where there is
            one pool, whatever the variable says. Only those that this build lets dialin count.
        costs: the costs of the measured window, once it has ended.
        host: the name of the machine whose worker ran it.
        driver_choices: what the load driver chose or was asked to use, for each number of threads; empty for one that chooses
            nothing.
        transaction_times: the times of each kind of transaction; empty where the load driver reports no histograms.
    """

    id: int
    block: int
    session: int
    position: int
    candidate: str
    state: TrialState
    started: float
    steps: Mapping[Step, float] = field(default_factory=dict)
    warm_up_end: WarmUpEnd | None = None
    in_force: Mapping[str, str] = field(default_factory=dict)
    real: Mapping[str, str] = field(default_factory=dict)
    costs: Costs | None = None
    failure: Failure | None = None
    purpose: Purpose = Purpose.RACE
    changes: tuple[VariableChange, ...] = ()
    host: str = ""
    driver_choices: tuple[DriverChoice, ...] = ()
    transaction_times: tuple[TransactionTimes, ...] = ()

    @property
    def seconds(self) -> float:
        """Wall-clock seconds of its steps, without the waiting time."""
        return sum(self.steps.values()) - self.waited

    @property
    def waited(self) -> float:
        """Seconds that it waited for a server that went away, or until a live one could be changed; no budget counts them."""
        return self.steps.get(Step.WAIT, 0.0) + self.steps.get(Step.PAUSE, 0.0)

    @property
    def has_ended(self) -> bool:
        """Whether it was completed or failed, so that it is not run again."""
        return self.state in (TrialState.DONE, TrialState.FAILED)

    @property
    def run(self) -> tuple[int, str]:
        """The unbroken run of trials on one machine that it belongs to: its session and host."""
        return (self.session, self.host)

    @property
    def middle(self) -> float:
        """The middle of its measured window, seconds since the epoch."""
        until_stop = sum(seconds for step, seconds in self.steps.items() if step is not Step.STOP)
        return self.started + until_stop - self.steps.get(Step.MEASURE, 0.0) / 2

    @property
    def stratum(self) -> tuple[int, int, str]:
        """The group of trials that it is compared within, because they ran close together: its block, session and host."""
        return self.block, self.session, self.host

    @property
    def is_disturbed(self) -> bool:
        """Whether a variable under test changed while the trial ran, so that it is no evidence of its candidate."""
        return any(change.under_test for change in self.changes)


def first_driver_choices(trials: Iterable[Trial]) -> tuple[DriverChoice, ...]:
    """Return what the load driver chose in the first completed trial, which every later one uses; empty before there is one."""
    return next((trial.driver_choices for trial in trials if trial.state is TrialState.DONE and trial.driver_choices), ())


def seconds_of(trials: Iterable[Trial]) -> float:
    """Return how long trials took in all, without waiting: the one duration of a study, of its budget and of every report."""
    return sum(trial.seconds for trial in trials)


@dataclass(frozen=True, slots=True)
class EffectiveSettings:
    """The values that a candidate's server reported, and the counts of the objects that it created for them, by variable."""

    in_force: Mapping[str, str] = field(default_factory=dict)
    real: Mapping[str, str] = field(default_factory=dict)
