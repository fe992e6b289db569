"""A trial: one candidate, once; and its samples, one a second."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum


class Step(StrEnum):
    """The steps of a trial, in their order: a sandbox is restored and booted, an attached server is set."""

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


class WarmUpEnd(StrEnum):
    """Why a warm-up ended."""

    STEADY = "steady"
    LIMIT = "limit"


@dataclass(frozen=True, slots=True)
class Sample:
    """One second of a trial, as the load driver reported it.

    Attributes:
        second: counted from 1 as they arrive; a driver's own clock may name one twice when it is late.
        at: when it arrived, seconds since the epoch.
        step: `WARM_UP` or `MEASURE`.
        tps: transactions a second.
        reads: read queries a second.
        writes: write queries a second.
        other: other queries a second (begin, commit).
        p95_ms: the second's 95th percentile of transaction latency, milliseconds.
        errors: ignored errors a second (deadlocks, lock wait time-outs).
        reconnects: connections made anew, a second.
    """

    second: int
    at: float
    step: Step
    tps: float
    reads: float
    writes: float
    other: float
    p95_ms: float
    errors: float
    reconnects: float


@dataclass(frozen=True, slots=True)
class Failure:
    """Why a trial failed.

    Attributes:
        step: where it was.
        fault: `server` or `workload`.
        reason: one line.
        log_tail: the last lines of the log that tells of it.
    """

    step: Step
    fault: str
    reason: str
    log_tail: str = ""


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
    """

    seconds: float
    driver_cpu: float
    server_cpu: float | None
    machine_busy: float
    cpus: int
    driver_cpus: int


@dataclass(frozen=True, slots=True)
class Trial:
    """One candidate, once.

    Attributes:
        id: its number in the study, from 1.
        block: the number of its block, from 1.
        session: which run of dialin measured it; a study that was resumed has several.
        position: its place in the block's order, from 1.
        candidate: the candidate's name.
        state: how it stands.
        started: when it began, seconds since the epoch.
        steps: wall-clock seconds of each step that ended.
        warm_up_end: why the warm-up ended, once it has.
        in_force: every variable that the server reported once it was ready.
        real: what was counted of the real objects behind variables, by variable: `{"innodb_buffer_pool_instances": "1"}` where
            there is one pool, whatever the variable says. Only what this build lets us count.
        costs: of the measured window, once it has ended.
        conditions: of the host, before and after (`{"before": {...}, "after": {...}}`).
        failure: why it failed, where it did.
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
    conditions: Mapping[str, Mapping[str, float]] = field(default_factory=dict)
    failure: Failure | None = None
