"""Trials that profile the server: perf samples the stacks of its threads while the load is measured.

For the first eighth of the window perf traces where threads wait and their system calls instead, where it may. The probes run
as in the trials that decide, so that both differ in nothing but perf.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager, suppress
from dataclasses import dataclass, field, replace
from pathlib import Path

from dialin.answers import whole
from dialin.clock import Clock
from dialin.errors import DialinError, MachineError, UserError
from dialin.model.profile import Profile, Slice
from dialin.model.query import Query
from dialin.model.trial import Purpose, Trial
from dialin.probes import host, perf
from dialin.probes.perf_stacks import Call, Sample, add_up
from dialin.scratch import scratch
from dialin.servers.capabilities import Versioned
from dialin.servers.instance import Instance
from dialin.servers.processes import threads_by_inner_id
from dialin.trials.events import Evidence
from dialin.trials.probing import ClientCpu, ProbeConnection, TrialWatcher, Watching

_SLICES = 20
"""The most slices of a stretch of time in which stacks are sampled."""

_SHORTEST = 1.0
"""Seconds of a slice at least: the load driver reports no shorter times."""

_SHORTEST_TRACED, _LONGEST_TRACE = 4.0, 8.0
"""Seconds of a window below which nothing is traced, and of a trace at most. Traces are large, and cost a tenth of throughput:
from the start to the end of perf, which records switches between threads all the time. So it ends before stacks are sampled."""

_THREADS = "SELECT THREAD_OS_ID, NAME FROM performance_schema.threads WHERE THREAD_OS_ID IS NOT NULL"

Wait = Callable[[threading.Event, float | None], bool]
"""Waits until an event or for seconds; returns whether it was the event."""


@dataclass(slots=True)
class Recorder:
    """A perf that records in some slices of the windows, and its file.

    Attributes:
        per_sample: seconds of CPU time; None where they follow from `cpu_seconds`, which the server used in the slices.
    """

    recording: perf.Recording
    file: Path
    per_sample: float | None = None
    slices: list[Slice] = field(default_factory=list)
    cpu_seconds: float = 0.0


@dataclass(slots=True)
class Recorders:
    """What samples stacks, and what traces waits and system calls; where nothing does that, why.

    Attributes:
        end_trace: ends the perf that traces; its file is complete then.
    """

    stacks: Recorder
    trace: Recorder | None = None
    untraced: str = ""
    end_trace: Callable[[], None] = lambda: None

    def give_up_trace(self, error: MachineError) -> None:
        self.trace, self.untraced = None, error.what


def traced_seconds(measure: float) -> float:
    """Return for how many of a trial's measured seconds waits are traced: whole ones, none in a short trial."""
    return float(min(max(1, measure // 8), _LONGEST_TRACE)) if measure >= _SHORTEST_TRACED else 0.0


def by_purpose(watched: TrialWatcher, clock: Clock, traced: float) -> TrialWatcher:
    """Return a watcher that also profiles the server in the trials for that; `watched` is used for all trials.

    Waits are traced for the first `traced` seconds.
    """

    @contextmanager
    def watcher(trial: Trial, instance: Instance, build: Versioned, client_cpu: ClientCpu) -> Iterator[Watching]:
        with watched(trial, instance, build, client_cpu) as watching:
            if trial.purpose is not Purpose.PROFILE:
                yield watching
                return
            if instance.pid is None:
                raise MachineError("The process of the server was not found on this machine")
            with ProbeConnection(instance) as query, scratch() as directory:
                with _ready(instance.pid, directory, traced) as both:
                    profiler = Profiler(instance.pid, watching, both, query, clock, traced)
                    yield profiler
                profiler.add_up()  # while the server still runs, whose maps name its functions

    return watcher


@contextmanager
def _ready(pid: int, directory: Path, traced: float) -> Iterator[Recorders]:
    """Keep perf ready for the windows of a trial.

    Raises:
        MachineError: perf does not start, or is not allowed.
    """
    stacks, trace = directory / "stacks", directory / "trace"
    with ExitStack() as opened:
        recording, per_sample = opened.enter_context(perf.recording_stacks(pid, stacks))
        both = Recorders(Recorder(recording, stacks, per_sample))
        of_trace = opened.enter_context(ExitStack())
        try:
            if traced:
                both.trace = Recorder(of_trace.enter_context(perf.recording(pid, trace, perf.TRACE)), trace)
                both.end_trace = of_trace.close
            else:
                both.untraced = f"trials measured for less than {_SHORTEST_TRACED:.0f} s"
        except MachineError as error:
            both.give_up_trace(error)
        yield both


class Profiler:
    """Profiles one trial, which `watching` watches as well."""

    def __init__(
        self,
        pid: int,
        watching: Watching,
        recorders: Recorders,
        query: Query,
        clock: Clock,
        traced: float,
        wait: Wait = lambda event, seconds: event.wait(seconds),
    ) -> None:
        self._watching = watching
        self._recorders = recorders
        self._query = query
        self._pid = pid
        self._clock = clock
        self._traced = traced
        self._wait = wait
        self._threads: dict[int, str] = {}
        self._profile: Profile | None = None

    def window(self) -> AbstractContextManager[None]:
        return self._window()

    @contextmanager
    def _window(self) -> Iterator[None]:
        self._name_threads()
        began, ended, failures = threading.Event(), threading.Event(), list[MachineError]()
        thread = threading.Thread(target=self._record, args=(began, ended, failures), name="profile", daemon=True)
        with self._watching.window():
            thread.start()
            began.wait()
            try:
                yield
            finally:
                ended.set()
                thread.join()
            if failures:
                raise failures[0]
        self._name_threads()

    def _record(self, began: threading.Event, ended: threading.Event, failures: list[MachineError]) -> None:
        """Trace in the first window, and sample after that until the window has ended."""
        both = self._recorders
        try:
            if both.trace is not None and not both.trace.slices:
                is_over = False
                try:
                    is_over = self._in_slices(both.trace, began, ended, self._traced)
                except MachineError as error:
                    both.give_up_trace(error)
                both.end_trace()
                if is_over:
                    return
            self._in_slices(both.stacks, began, ended, None)
        except MachineError as error:
            failures.append(error)
        finally:
            began.set()

    def _in_slices(self, one: Recorder, began: threading.Event, ended: threading.Event, seconds: float | None) -> bool:
        """Let one perf record for seconds, or until the window ends; return whether that has ended."""
        with one.recording.window():
            since, used = self._clock.now(), host.cpu_seconds(self._pid)
            began.set()
            is_over = self._wait(ended, seconds)
            slices = _slices(since, self._clock.now())
            one.slices += slices
            one.cpu_seconds += host.cpu_seconds(self._pid) - used if slices else 0.0
        return is_over

    def _name_threads(self) -> None:
        """Take the names that the server has for its threads; older servers have none, and the kernel's are used."""
        with suppress(DialinError):
            names = {whole(number): str(name) for number, name in self._query(_THREADS)}
            threads = threads_by_inner_id(self._pid)
            self._threads.update({threads[number]: name for number, name in names.items() if number in threads})

    def add_up(self) -> None:
        """Read what perf recorded of the server, once all windows are over.

        Raises:
            MachineError: there is no sample.
        """
        stacks, waits, calls = self._recorders.stacks, None, None
        profile = self._added(stacks, perf.stacks(stacks.file, self._pid), stacks.per_sample or 0.0)
        if not profile.samples:
            raise MachineError("perf saw no thread of the server use the CPU")
        if stacks.per_sample is None:
            profile = replace(profile, per_sample=stacks.cpu_seconds / profile.samples)
        if (trace := self._recorders.trace) is not None and trace.slices:
            try:
                of_calls: list[Sample] = []
                waits = self._added(trace, _without_calls(perf.trace(trace.file, self._pid), of_calls), 1e-6)
                calls = self._added(trace, of_calls, perf.CALLS_PER_RECORD)
            except MachineError as error:
                self._recorders.give_up_trace(error)
        self._profile = replace(profile, waits=waits, calls=calls, untraced=self._recorders.untraced)

    def _added(self, one: Recorder, samples: Iterable[Sample], per_sample: float) -> Profile:
        offset = self._clock.now() - self._clock.monotonic()
        return Profile(per_sample, tuple(one.slices), add_up(samples, one.slices, self._threads, offset))

    def evidence(self, trial_id: int) -> Evidence:
        return replace(self._watching.evidence(trial_id), profile=self._profile)


def _without_calls(recorded: Iterable[Sample], calls: list[Sample]) -> Iterator[Sample]:
    """Yield the waits of a trace, of which there may be millions; add its system calls to a list."""
    for one in recorded:
        if isinstance(one, Call):
            calls.append(one)
        else:
            yield one


def _slices(began: float, ended: float) -> Sequence[Slice]:
    """Cut a stretch of time into slices; none of one that is too short for a figure of its own."""
    if ended - began < _SHORTEST / 2:
        return []
    count = max(1, min(_SLICES, int((ended - began) / _SHORTEST)))
    length = (ended - began) / count
    return [Slice(began + number * length, began + (number + 1) * length) for number in range(count)]


def check(instance: Instance | None) -> list[str]:
    """Make sure that servers can be profiled: that of an attached instance, else those that dialin starts.

    Returns:
        Notes on what profiles will lack.

    Raises:
        UserError: perf is missing or not allowed, or the server is on another machine.
    """
    if instance is not None and instance.pid is None:
        raise UserError(
            "--profile needs the server's threads, and its process was not found on this machine",
            "Run dialin on the server's machine, as root or as the server's user, or leave out --profile",
        )
    return perf.check_perf(instance.pid if instance is not None else None)
