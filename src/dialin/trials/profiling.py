"""Trials that profile the server: perf samples the stacks of its threads while the load is measured.

The probes run as in the trials that decide, so that both differ in nothing but perf.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, suppress
from dataclasses import replace

from dialin.answers import whole
from dialin.clock import Clock
from dialin.errors import DialinError, MachineError, UserError
from dialin.model.profile import Profile, Slice
from dialin.model.query import Query
from dialin.model.trial import Purpose, Trial
from dialin.probes import perf
from dialin.probes.perf_stacks import Sample, add_up
from dialin.scratch import scratch
from dialin.servers.capabilities import Versioned
from dialin.servers.instance import Instance
from dialin.servers.processes import threads_by_inner_id
from dialin.trials.events import Evidence
from dialin.trials.probing import ClientCpu, ProbeConnection, TrialWatcher, Watching

_SLICES = 20
"""The most slices of a window."""

_SHORTEST = 1.0
"""Seconds of a slice at least: the load driver reports no shorter times."""

_THREADS = "SELECT THREAD_OS_ID, NAME FROM performance_schema.threads WHERE THREAD_OS_ID IS NOT NULL"


def by_purpose(watched: TrialWatcher, clock: Clock) -> TrialWatcher:
    """Return a watcher that also profiles the server in the trials for that; `watched` is used for all trials."""

    @contextmanager
    def watcher(trial: Trial, instance: Instance, build: Versioned, client_cpu: ClientCpu) -> Iterator[Watching]:
        with watched(trial, instance, build, client_cpu) as watching:
            if trial.purpose is not Purpose.PROFILE:
                yield watching
                return
            if instance.pid is None:
                raise MachineError("The process of the server was not found on this machine")
            with ProbeConnection(instance) as query, scratch() as directory:
                file = directory / "profile"
                with perf.recording(instance.pid, file) as recording:
                    profiler = Profiler(watching, recording, query, instance.pid, clock)
                    yield profiler
                profiler.add_up(perf.stacks(file))  # while the server still runs, whose maps name its functions

    return watcher


class Profiler:
    """Profiles one trial, which `watching` watches as well."""

    def __init__(self, watching: Watching, recording: perf.Recording, query: Query, pid: int, clock: Clock) -> None:
        self._watching = watching
        self._recording = recording
        self._query = query
        self._pid = pid
        self._clock = clock
        self._slices: list[Slice] = []
        self._threads: dict[int, str] = {}
        self._profile: Profile | None = None

    def window(self) -> AbstractContextManager[None]:
        return self._window()

    @contextmanager
    def _window(self) -> Iterator[None]:
        self._name_threads()
        with self._watching.window(), self._recording.window():
            began = self._clock.now()
            yield
            self._slices += _slices(began, self._clock.now())
        self._name_threads()

    def _name_threads(self) -> None:
        """Take the names that the server has for its threads; older servers have none, and the kernel's are used."""
        with suppress(DialinError):
            names = {whole(number): str(name) for number, name in self._query(_THREADS)}
            threads = threads_by_inner_id(self._pid)
            self._threads.update({threads[number]: name for number, name in names.items() if number in threads})

    def add_up(self, samples: Iterable[Sample]) -> None:
        """Take the samples of the recording, once all windows are over.

        Raises:
            MachineError: there is none.
        """
        offset = self._clock.now() - self._clock.monotonic()
        self._profile = Profile(perf.PERIOD, self._slices, add_up(samples, self._slices, self._threads, offset))
        if not self._profile.samples:
            raise MachineError("perf saw no thread of the server use the CPU")

    def evidence(self, trial_id: int) -> Evidence:
        return replace(self._watching.evidence(trial_id), profile=self._profile)


def _slices(began: float, ended: float) -> Sequence[Slice]:
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
