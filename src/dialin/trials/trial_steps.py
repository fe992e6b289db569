"""A trial from its beginning to its end: restore, boot, verify, warm up, measure, stop."""

from __future__ import annotations

import re
import statistics
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from itertools import chain

from dialin.clock import Clock
from dialin.errors import (
    DialinError,
    LostConnectionError,
    MachineError,
    ServerError,
    WorkloadError,
    machine_error,
    server_failure,
)
from dialin.measures.costs import costs_per_transaction
from dialin.model.cause import PASSING, Cause, CauseCode, Fault
from dialin.model.cpus import parse_cpus
from dialin.model.evidence import Gauge, Watched
from dialin.model.load_driver import DriverChoice
from dialin.model.query import Query
from dialin.model.study import StudySpec
from dialin.model.traffic import as_watched
from dialin.model.trial import Costs, Failure, Sample, Step, Trial, TrialState, WarmUpEnd
from dialin.probes import host
from dialin.probes.hiccups import HiccupProbe, Hiccups
from dialin.question.plan import Plan, level_order, load_seed
from dialin.servers.capabilities import Capability, has
from dialin.servers.connection import global_variables, is_server_error, status
from dialin.servers.instance import Instance
from dialin.servers.objects import real_objects
from dialin.stats.warm_up import is_steady
from dialin.trials import network
from dialin.trials.change_detector import VariablesChangedError
from dialin.trials.driver_share import driver_share, kind_gauges, transaction_times
from dialin.trials.events import Event, Evidence, Sampled, StepBegan, TrialBegan, TrialEnded, Verified
from dialin.trials.hang_detector import HangDetector
from dialin.trials.measured_window import MeasuredWindow
from dialin.trials.probing import TrialWatcher, Watching, watch_nothing
from dialin.trials.site import Stage
from dialin.trials.warmth import Warmth
from dialin.workloads.base import Load, LoadSource, Second

_POOL_PATIENCE = 120.0
"""Seconds in which the load of the buffer pool's pages must go on; the warm-up begins when it is over."""

_READ_BACK_WITHIN = 30.0
"""Seconds that connections of a load that was ended may still fill `max_connections`."""

_ANSWERS_WITHIN = 5.0
"""Seconds within which a server that completes no transaction must answer a new connection. One that is busy flushing
answers at once; one that is stopped or cut off never does."""

_PASSES_WITHIN = 2.0
"""Seconds to wait after a failure of the network or of this machine: what passes is often over by then."""

_SILENT = (CauseCode.UNRESPONSIVE, CauseCode.NO_ANSWER)
"""The causes of a server that gave no answer, so that it is not asked for its variables any more."""

_LOADING_POOL = re.compile(r"Loading buffer pool\(s\) from |Loaded \d+/\d+ pages")


def is_loading_pool(text: str) -> bool:
    """Return whether a text of `Innodb_buffer_pool_load_status` says that pages are being loaded.

    The text begins with the current activity (MySQL 5.6, MariaDB 10.0 and later); a path may follow, whose words mean nothing.
    """
    return _LOADING_POOL.match(text) is not None


@dataclass(frozen=True, slots=True)
class TrialContext:
    """What every trial of a study shares on one host.

    Attributes:
        check: makes sure, before each trial, that the load is still the one that the study began with.
        driver_choices: what the load driver chose in the study's first completed trial; empty where this trial chooses.
        counted: per candidate, the real objects that can be counted only with instruments that no trial runs with.
        floor: transactions per second; a trial that stays below them for `BELOW_FLOOR` measured seconds ends. 0 for no limit.
        is_last_try: whether this trial has failed where a connection or the load driver is lost once more. That is no evidence
            against the candidate, but it cannot be measured.
    """

    spec: StudySpec
    plan: Plan
    clock: Clock
    workload: LoadSource
    stage: Callable[[Trial], Stage]
    check: Callable[[], None] = lambda: None
    counted: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    driver_choices: tuple[DriverChoice, ...] = ()
    hiccups: Callable[[Clock], HiccupProbe] = HiccupProbe
    watch: TrialWatcher = watch_nothing
    host: str = ""
    floor: float = 0.0
    is_last_try: bool = False


def run(context: TrialContext, planned: Trial) -> Iterator[Event]:
    """Run one trial from its beginning to its end, and yield what it reports.

    A trial whose server, setting or load fails has failed. A trial is interrupted, to be run again, if the host itself lost
    most of its seconds, if somebody else changed a variable under test, if its attached server went away, or if the network or
    this machine failed. A trial that anything else ends (Ctrl-C, an iterator that is closed) reports no end. The stage is
    cleaned up when this returns or raises.

    Raises:
        ServerAwayError: an attached server did not come back.
        UserError: the load is not what the study began with, or an account lacks a privilege.
    """
    trial = replace(planned, state=TrialState.RUNNING, host=context.host, started=context.clock.now())
    yield TrialBegan(trial)
    running = _RunningTrial(context, trial)
    failure = yield from running.run()
    is_failed = failure is not None and not running.may_pass
    is_done = failure is None and running.is_evidence
    state = TrialState.FAILED if is_failed else TrialState.DONE if is_done else TrialState.INTERRUPTED
    yield TrialEnded(replace(running.trial, state=state, failure=failure), running.evidence)


def _check_alive(instance: Instance) -> None:
    if instance.has_ended():
        raise server_failure(Cause(CauseCode.SERVER_ENDED, {"exit": instance.exit()}), instance.log_tail())


class _RunningTrial:
    """One trial under way. A step that takes time is a generator of events.

    Attributes:
        trial: what is known of it by now.
        may_pass: whether it is run again where it failed.
    """

    def __init__(self, context: TrialContext, trial: Trial) -> None:
        self.trial = trial
        self.may_pass = False
        self.evidence = Evidence()
        self._context = context
        self._stage = context.stage(trial)
        self._step = Step.RESTORE
        self._spoiled = False
        self._round_trips: list[float] = []
        self._load: Load | None = None
        self._hiccups: Callable[[], Hiccups] = Hiccups
        self._hang = HangDetector()
        self._threads = 0
        self._choice: DriverChoice | None = None
        self._is_choosing = False
        self._measured: dict[int, list[Second]] = {}
        self._samples: list[Sample] = []
        self._load_facts: list[Mapping[str, float]] = []
        self._seconds = 0
        self._well = False

    @property
    def is_evidence(self) -> bool:
        """Whether what was measured counts: neither the host nor somebody else spoiled it."""
        return not self._spoiled and not self.trial.is_disturbed

    def run(self) -> Generator[Event, None, Failure | None]:
        try:
            yield from self._run()
            self._well = True
        except VariablesChangedError as error:
            self.trial = replace(self.trial, changes=error.changes)
            self._well = True
        except Exception as error:
            known = error if isinstance(error, DialinError) else machine_error(error)
            if known is None or known.fault in (None, Fault.REQUEST):
                raise
            return self._failure(self._first_cause(known))
        finally:
            self._stop()
        return None

    def _first_cause(self, error: DialinError) -> DialinError:
        """Return the server's own failure where that is what ended a connection or a load driver, else the error."""
        if not isinstance(error, WorkloadError) and error.fault is not Fault.CONNECTION:
            return error
        try:
            self._check_answers()
        except (ServerError, MachineError) as of_server:
            return of_server
        return error

    def _run(self) -> Iterator[Event]:
        context = self._context
        context.check()
        instance = yield from self._make_ready()
        yield StepBegan(Step.VERIFY)
        self._verify(instance)
        yield Verified(self.trial.in_force, self.trial.real)
        watched = self._context.watch(self.trial, instance, self._stage.build, self._driver_cpu)
        with self._context.hiccups(self._context.clock) as probe, watched as watching:
            self._hiccups = probe.taken
            yield StepBegan(Step.WARM_UP)
            with self._timed(Step.WARM_UP):
                self._await_warm_pool(instance)
            for threads in self._levels():
                load = yield from self._warm_up(threads)
                yield from self._measure(instance, load, watching)
                self._load_facts.append(load.facts())
                if self._choice is not None:
                    choices = sorted((*self.trial.driver_choices, self._choice), key=lambda choice: choice.threads)
                    self.trial = replace(self.trial, driver_choices=tuple(choices))
                load.stop()
                self._load = None
                context.workload.check_data(self._stage.target())
                if self._spoiled:
                    break
        yield StepBegan(Step.STOP)
        self._read_back(instance)
        if self.is_evidence:  # otherwise the trial is run again, and its evidence is dropped
            with self._timed(Step.STOP):
                evidence, costs = watching.evidence(self.trial.id), self.trial.costs
                times = transaction_times(self._measured)
                if costs is not None:
                    per_transaction = costs_per_transaction(evidence.watched, evidence.points, self._samples)
                    costs = replace(costs, per_transaction=per_transaction)
                self.trial = replace(self.trial, transaction_times=times, costs=costs)
                self.evidence = replace(
                    evidence, watched=(*evidence.watched, *self._facts_of_the_load(), *self._facts_of_the_network())
                )

    @property
    def _is_observed(self) -> bool:
        return self._context.spec.workload.traits.observed

    def _make_ready(self) -> Generator[Event, None, Instance]:
        steps = self._stage.ready()
        try:
            step = next(steps)
            while True:
                yield StepBegan(step)
                with self._timed(step):
                    step = next(steps)
        except StopIteration as ready:
            instance: Instance = ready.value
            return instance

    def _facts_of_the_load(self) -> list[Watched]:
        """Return the load's own figures, over all numbers of threads; for live traffic, its measured seconds."""
        measured = chain.from_iterable(self._measured.values())
        if traffic := [second.traffic for second in measured if second.traffic is not None]:
            return [as_watched(traffic, self._context.plan.warmup)]
        if not any(self._load_facts):
            return []
        figures = {name: [facts[name] for facts in self._load_facts if name in facts] for name in self._load_facts[0]}
        gauges = {
            name: Gauge(values[0], values[-1], min(values), max(values), statistics.fmean(values))
            for name, values in figures.items()
        }
        seconds = [*chain.from_iterable(self._measured.values())]
        of_seconds = {**driver_share(seconds, self._context.spec.workload.percentile), **kind_gauges(seconds)}
        gauges |= {name: Gauge(value, value, value, value, value) for name, value in of_seconds.items()}
        return [Watched("load", self.trial.costs.seconds if self.trial.costs else 0.0, gauges=gauges)]

    def _facts_of_the_network(self) -> list[Watched]:
        trips = self._round_trips
        return [network.as_watched(trips[0], trips[-1])] if len(trips) > 1 else []

    def _failure(self, error: DialinError) -> Failure | None:
        """Return why the trial failed; None where somebody else changed a variable under test meanwhile."""
        failure = Failure(self._step, error.fault or Fault.SERVER, error.cause, error.log_tail)
        instance = self._stage.instance()
        if failure.fault in PASSING:
            self.may_pass = failure.fault is Fault.MACHINE or not self._context.is_last_try
            self._context.clock.sleep(_PASSES_WITHIN)
        with suppress(ServerError, MachineError):
            self.may_pass |= self._stage.went_away()
            may_answer = error.cause.code not in _SILENT
            if self.trial.in_force and may_answer and instance is not None and not instance.is_gone():
                self._read_back(instance)
        return None if self.trial.is_disturbed else failure

    def _read_back(self, instance: Instance) -> None:
        """Record what somebody else changed, once the load's connections had time to end and the server answers."""
        clock = self._context.clock
        with self._timed(Step.STOP):
            limit = clock.monotonic() + _READ_BACK_WITHIN
            while True:
                try:
                    with instance.connect() as query:
                        now = global_variables(query)
                        self._measure_round_trip(instance, query)
                    break
                except (ServerError, MachineError) as error:
                    if error.fault is Fault.REQUEST or instance.has_ended() or clock.monotonic() > limit:
                        raise
                    clock.sleep(0.5)
            _check_alive(instance)  # a restarted server has other values, which nobody set
            self.trial = replace(self.trial, changes=self._stage.detector.changes(now, Step.STOP))

    @contextmanager
    def _timed(self, step: Step) -> Iterator[None]:
        clock = self._context.clock
        self._step = step
        began = clock.monotonic()
        try:
            yield
        finally:
            steps = self.trial.steps
            self.trial = replace(self.trial, steps={**steps, step: steps.get(step, 0.0) + clock.monotonic() - began})

    def _verify(self, instance: Instance) -> None:
        with self._timed(Step.VERIFY), instance.connect() as query:
            variables = global_variables(query)
            self._stage.detector.check(variables, Step.VERIFY)
            self._measure_round_trip(instance, query)
            # Counting them on a live server may take long: the performance schema lists every lock of every page.
            real = {} if self._is_observed else real_objects(query, instance.pid, self._stage.build, variables)
        in_force = {name: self._stage.hide(value) for name, value in variables.items()}
        real = {**self._context.counted.get(self.trial.candidate, {}), **real}
        self.trial = replace(self.trial, in_force=in_force, real=real)

    def _measure_round_trip(self, instance: Instance, query: Query) -> None:
        if instance.pid is None and not self._is_observed:
            self._round_trips.append(network.round_trip_ms(query, self._context.clock))

    def _levels(self) -> Sequence[int]:
        workload = self._context.spec.workload
        trial = self.trial
        return level_order(self._context.spec.seed, trial.block, workload.levels, trial.purpose) or (workload.threads,)

    def _driver_cpu(self) -> float:
        return self._load.cpu_seconds() if self._load else 0.0

    def _warm_up(self, threads: int) -> Generator[Event, None, Load]:
        context = self._context
        yield StepBegan(Step.WARM_UP)
        with self._timed(Step.WARM_UP):
            limit = context.clock.monotonic() + context.plan.warmup
            seed = load_seed(context.spec.seed, self.trial.block)
            target, cpus = self._stage.target(), context.spec.load_cpus
            choice = next((choice for choice in context.driver_choices if choice.threads == threads), None)
            source = context.workload.pinned(choice, context.plan.warmup)
            self._load = load = source.start(target, threads=threads, seed=seed, cpus=cpus)
            self._is_choosing = source.is_choosing
            self._threads = threads
            self._hiccups()  # drops those from before the load
            if (runs := context.spec.workload.traits.runs) is not None:
                for _ in range(runs.warm_up):
                    yield from self._read(load, Step.WARM_UP)
                return load
            # At a fixed rate, throughput is flat at once, even if the server is not warm yet.
            is_whole = context.spec.whole_warmup or context.spec.workload.rate > 0
            series: list[float] = []
            warmth = Warmth(self._stage.instance(), context.spec.warmup)
            # The load must not change during the measurement, so the driver has to choose before it.
            while context.clock.monotonic() < limit or self._is_choosing:
                sample = yield from self._read(load, Step.WARM_UP)
                series.append(sample.tps)
                if not is_whole and not self._is_choosing and is_steady(series) and warmth.is_warm():
                    # With several numbers of threads, LIMIT stays if any of their warm-ups reached it.
                    self.trial = replace(self.trial, warm_up_end=self.trial.warm_up_end or WarmUpEnd.STEADY)
                    return load
            self.trial = replace(self.trial, warm_up_end=WarmUpEnd.LIMIT)
        return load

    def _await_warm_pool(self, instance: Instance) -> None:
        """Wait until the server, if it can, has loaded the pages that were in the pool when the data was prepared."""
        if self._is_observed or not has(self._stage.build, Capability.POOL_DUMP):
            return
        clock, last, limit = self._context.clock, "", 0.0
        with instance.connect() as query:
            while is_loading_pool(text := status(query, "Innodb_buffer_pool_load_status") or ""):
                if text != last:
                    last, limit = text, clock.monotonic() + _POOL_PATIENCE
                elif clock.monotonic() >= limit:
                    return
                clock.sleep(0.1)

    def _measure(self, instance: Instance, load: Load, watching: Watching) -> Iterator[Event]:
        context, pid = self._context, instance.pid
        _check_alive(instance)
        yield StepBegan(Step.MEASURE)
        with self._timed(Step.MEASURE), watching.window():
            began, driver, server, busy = (
                context.clock.monotonic(),
                load.cpu_seconds(),
                host.cpu_seconds(pid) if pid else None,
                host.busy_seconds(),
            )
            window = MeasuredWindow(
                context.spec, context.plan, context.floor, lambda: self._read(load, Step.MEASURE), self._hang.end_of_window
            )
            self._spoiled |= not (yield from window.read_enough())
            _check_alive(instance)  # a driver may wait a while for a server that died
            cpus = context.spec.load_cpus
            costs = Costs(
                seconds=context.clock.monotonic() - began,
                driver_cpu=load.cpu_seconds() - driver,
                server_cpu=host.cpu_seconds(pid) - server if pid and server is not None else None,
                machine_busy=host.busy_seconds() - busy,
                cpus=host.cpu_count(),
                driver_cpus=len(parse_cpus(cpus)) if cpus else host.cpu_count(),
            )
            self.trial = replace(self.trial, costs=costs if self.trial.costs is None else self.trial.costs.plus(costs))

    def _read(self, load: Load, step: Step) -> Generator[Event, None, Sample]:
        context = self._context
        second = load.read(context.workload.patience)
        self._seconds += 1
        if second is None:
            raise WorkloadError(Cause(CauseCode.DRIVER_SILENT, {"seconds": context.workload.patience}))
        hiccups = self._hiccups()
        sample = Sample(
            second=self._seconds,
            at=context.clock.now(),
            step=step,
            tps=second.tps,
            reads=second.reads,
            writes=second.writes,
            other=second.other,
            latency_ms=second.latency_ms,
            errors=second.errors,
            reconnects=second.reconnects,
            gap=hiccups.gap,
            stolen=hiccups.stolen,
            pressure=hiccups.pressure,
            threads=self._threads,
            seconds=second.seconds,
        )
        self._choice, self._is_choosing = second.choice, second.is_choosing
        if step is Step.MEASURE:
            self._samples.append(sample)
        if step is Step.MEASURE and not sample.lost:
            self._measured.setdefault(self._threads, []).append(second)
        yield Sampled(sample)
        if self._is_observed:
            return sample
        self._hang.add_second(second, self._check_answers, self._log_tail)
        return sample

    def _check_answers(self) -> None:
        """Make sure that the server runs and answers a new connection, if only with an error such as too many connections.

        Raises:
            ServerError: it does not.
            NoAnswerError: it runs on another machine, and either it or the network is the reason; or it runs on this one, and
                the connection was closed or reset, which a server that hangs does not do.
            MachineError: this machine has no room for a connection, or the disk of the server is full.
        """
        instance = self._stage.instance()
        if instance is None:
            return
        _check_alive(instance)
        try:
            with instance.connect(_ANSWERS_WITHIN) as query:
                query("SELECT 1")
        except ServerError as error:
            if is_server_error(error):
                return
            if instance.pid is None or isinstance(error, LostConnectionError):
                raise
            raise server_failure(Cause(CauseCode.UNRESPONSIVE, {"seconds": _ANSWERS_WITHIN}), instance.log_tail()) from error

    def _log_tail(self) -> str:
        instance = self._stage.instance()
        return instance.log_tail() if instance else ""

    def _stop(self) -> None:
        with self._timed(Step.STOP):
            if self._load is not None:
                self._load.stop()
            self._stage.end(well=self._well)
