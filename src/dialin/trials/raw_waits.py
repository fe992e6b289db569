"""Trials that collect raw waits: the instruments are on while the load is measured, and the server's ring is read in time.

The ring is read in slices of the server's own time, each from where the last one ended to a little before now, so that no wait
is read twice. The server counts all waits; those that were counted and not read are reported as lost.
"""

from __future__ import annotations

import os
import shutil
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, suppress
from pathlib import Path
from typing import Any

from dialin.answers import single, whole
from dialin.clock import Clock
from dialin.errors import DialinError, MachineError, ServerError, UserError
from dialin.model.build import Build
from dialin.model.cause import Cause
from dialin.model.evidence import ProbeNote, ProbeNoteCode, RawWaits
from dialin.model.query import Query
from dialin.model.trial import Purpose, Trial
from dialin.probes import host
from dialin.servers import instruments
from dialin.servers.capabilities import Versioned
from dialin.servers.instance import Instance
from dialin.servers.processes import threads_by_inner_id
from dialin.servers.wait_ring import WaitRing
from dialin.store import series, waits_file
from dialin.text import listed
from dialin.trials.events import Evidence
from dialin.trials.probing import ClientCpu, TrialWatcher, Watching
from dialin.trials.tools import Tools

_STATEMENT_LIMIT = 120.0
"""Seconds that writing the contents of the ring to a file may take, on a busy machine."""

_POLL = 0.25
"""Seconds between two looks at how many waits there were; each takes the server some milliseconds."""

_FULL = 4
"""The ring is read when one part in so many of it is new: the waits that end during the reading must fit as well."""

_LATE = 250_000_000_000
"""Picoseconds by which a wait may enter the ring after it ended, where its thread lost its CPU meanwhile."""

_TRUSTED = 20.0
"""Seconds after which the server's time is read again: its clock and ours differ in rate by some tenths of a percent."""

_LEAST_FREE = 2 * 1024**3
"""Bytes of disk that are left alone."""

_MOST = 100_000_000
"""Waits that one trial stores; later ones are only counted. Summing up so many takes 2.4 GB of memory."""

_SHARE = 2
"""Summing up takes no more than one part in so many of the free memory."""

_SMALLER = 2
"""While it is made, a file of waits takes no more than one part in so many of the bytes that the server wrote."""

_SETTLED_WITHIN = 5.0
"""Seconds that waits under way may take to end once the instruments are off."""

_BRIEFLY = 2.0
"""Seconds that an interrupted trial waits for a reading under way, whose result is no longer used."""

_IDLE = 28_800
"""Seconds for which the collector's connection may be idle, whatever the server's own wait_timeout is: a warm-up is long."""

_PS = 1e12

_OWN_THREAD = "SELECT THREAD_OS_ID FROM performance_schema.threads WHERE PROCESSLIST_ID = CONNECTION_ID()"
_PRIORITY = -15


def needs(build: Versioned, trial: Trial, pattern: str | None, memory: int) -> Mapping[str, str | int | float]:
    """Return the options that a trial's server is started with in addition to its setting; `memory` is the free bytes."""
    if trial.purpose is not Purpose.WAITS or pattern is None:
        return {}
    return instruments.start_options(build, pattern, memory)


def by_purpose(clean: TrialWatcher, pattern: str | None, clock: Clock, study: Path) -> TrialWatcher:
    """Return a watcher that collects raw waits in the trials for them, and uses `clean` for all others.

    `pattern` selects the instruments, None where no raw waits are requested; `study` is the study's directory.
    """

    def watcher(trial: Trial, instance: Instance, build: Versioned, client_cpu: ClientCpu) -> AbstractContextManager[Watching]:
        if trial.purpose is Purpose.WAITS and pattern is not None:
            return collecting(instance, pattern, clock, study)
        return clean(trial, instance, build, client_cpu)

    return watcher


@contextmanager
def collecting(instance: Instance, pattern: str, clock: Clock, study: Path) -> Iterator[Collector]:
    """Collect raw waits, while this is open, from a server that was started for that.

    Raises:
        ServerError: the server refuses.
    """
    with instance.connect(_STATEMENT_LIMIT) as query:
        query("SET SESSION wait_timeout = %s", (_IDLE,))
        raise_priority(query, threads_by_inner_id(instance.pid))
        yield Collector(query, pattern, clock, study)


def raise_priority(
    query: Query, threads: Mapping[int, int], set_priority: Callable[[int, int, int], None] = os.setpriority
) -> None:
    """Raise the priority of the server's thread that reads the ring above those that fill it; only root may.

    It is the thread of `query`'s connection; `threads` has the ids on this machine by those that the server knows.
    """
    with suppress(ServerError, OSError):  # older servers do not show which thread it is
        thread = threads.get(whole(single(query(_OWN_THREAD))))
        if thread is not None:
            set_priority(os.PRIO_PROCESS, thread, _PRIORITY)


class Collector:
    """Collects the raw waits of one trial.

    Nobody else uses the connection of `query` meanwhile; the waits go below `study`, the study's directory. `free` returns the
    free bytes of disk at a path, `memory` the free bytes of memory.

    Raises:
        ServerError: the server refuses a query, or to write files.
    """

    def __init__(
        self,
        query: Query,
        pattern: str,
        clock: Clock,
        study: Path,
        *,
        free: Callable[[Path], int] = lambda path: shutil.disk_usage(path).free,
        memory: Callable[[], int] = host.memory_available,
    ) -> None:
        self._query = query
        self._pattern = pattern
        self._clock = clock
        self._study = study
        self._free = free
        self._memory = memory
        self._names = instruments.matching_instruments(pattern, instruments.all_waits(query))
        self._timer = instruments.wait_timer(query)
        self._files: list[Path] = []
        self._background: set[int] = set()
        self._notes: list[ProbeNote] = []
        self._seconds = 0.0
        self._counted = 0
        self._read_upto = 0  # of the server's time
        self._read_at = 0  # of its count
        self._began_at = 0  # of its count, when the window opened
        self._most = 0  # waits that are kept; by the memory that is free when the first window opens
        self._anchor: tuple[float, int] | None = None
        self._ended = threading.Event()
        self._ring = WaitRing(query, self._names) if self._names else None
        if self._ring is None:
            self._note(ProbeNoteCode.NO_INSTRUMENT, pattern=pattern)
        else:
            self._ring.make_ready()

    @contextmanager
    def window(self) -> Iterator[None]:
        """Collect while this is open.

        Raises:
            ServerError: the server refuses.
        """
        if self._ring is None:
            yield
            return
        ring = self._ring
        ring.make_ready()
        before = self._began_at = self._read_at = ring.counted()
        self._most = self._most or max(ring.size, min(_MOST, self._memory() // _SHARE // waits_file.MEMORY))
        self._anchor = None
        self._ended.clear()
        thread = threading.Thread(target=self._keep_up, args=(ring,), name="waits", daemon=True)
        began = self._clock.monotonic()
        ring.switch(on=True)
        thread.start()
        try:
            yield
        except BaseException:
            self._ended.set()
            thread.join(_BRIEFLY)
            raise
        self._ended.set()
        thread.join()
        ring.switch(on=False)
        self._seconds += self._clock.monotonic() - began
        counted = self._settled(ring) - before
        self._drain(ring, None)
        self._counted += counted
        self._background |= set(ring.background())
        for name, lost in instruments.lost_instances(self._query).items():
            self._note(ProbeNoteCode.INSTANCES_LOST, counter=name, lost=lost)

    def _keep_up(self, ring: WaitRing) -> None:
        try:
            while not self._ended.is_set():
                self._clock.sleep(_POLL)
                self.look(ring)
        except Exception as error:  # nobody would see it raised in a thread
            cause = error.cause if isinstance(error, DialinError) else Cause.quoted(str(error) or type(error).__name__)
            self._note(ProbeNoteCode.RING_UNREADABLE, cause=cause.as_stored())

    def look(self, ring: WaitRing) -> None:
        """Read the ring if at least one part in `_FULL` of it is new."""
        count = ring.counted()
        if _FULL * (count - self._read_at) >= ring.size:
            self._drain(ring, self._a_little_before_now(ring))
            self._read_at = count

    def _a_little_before_now(self, ring: WaitRing) -> int:
        """Return a time of the server's clock so long ago that every wait that ended before it is in the ring."""
        if self._anchor is None or self._clock.monotonic() - self._anchor[0] > _TRUSTED:
            newest = ring.newest()
            if newest is None:
                return self._read_upto
            # Our time after the answer, not before: otherwise a slow answer would put our idea of the server's time ahead.
            self._anchor = (self._clock.monotonic(), newest)
        at, time = self._anchor
        return max(self._read_upto, time + int(_PS * (self._clock.monotonic() - at)) - _LATE)

    def _drain(self, ring: WaitRing, upto: int | None) -> None:
        if upto is not None and upto <= self._read_upto:
            return
        if self._has_no_room(ring):
            return
        self._files.append(ring.write_file(self._read_upto, upto))
        self._read_upto = upto or self._read_upto

    def _has_no_room(self, ring: WaitRing) -> bool:
        """Return whether no more waits can be stored, and add a note that says why."""
        if self._counted + self._read_at - self._began_at >= self._most:
            self._note(ProbeNoteCode.MOST_WAITS, most=self._most)
            return True
        try:
            written = sum(file.stat().st_size for file in self._files)
            tight = self._free(ring.directory) < _LEAST_FREE or self._free(self._study) < _LEAST_FREE + written // _SMALLER
        except OSError as error:
            raise MachineError.of(error, "The files of raw waits cannot be read") from error
        if tight:
            self._note(ProbeNoteCode.DISK_TIGHT)
        return tight

    def _settled(self, ring: WaitRing) -> int:
        """Return the server's count once the waits that were under way have ended."""
        limit = self._clock.monotonic() + _SETTLED_WITHIN
        count = ring.counted()
        while self._clock.monotonic() < limit:
            self._clock.sleep(_POLL)
            last, count = count, ring.counted()
            if count == last:
                break
        return count

    def _note(self, code: ProbeNoteCode, **figures: Any) -> None:
        if (note := ProbeNote(code, figures)) not in self._notes:
            self._notes.append(note)

    def evidence(self, trial_id: int) -> Evidence:
        """Write the waits to a file, and return it with a summary; this sends no statement to the server.

        Raises:
            MachineError: the file cannot be written.
        """
        path = self._study / "waits" / series.file_name(trial_id)
        try:
            written = waits_file.write(path, self._files, sorted(self._background))
            rows = waits_file.summarise(path)
        except OSError as error:
            raise MachineError.of(error, f"The raw waits cannot be written to {path}") from error
        if written.backward:
            self._note(ProbeNoteCode.BACKWARD, waits=written.backward, share=written.backward / written.stored)
        waits = RawWaits(
            pattern=self._pattern,
            seconds=self._seconds,
            events=written.stored,
            lost=max(0, self._counted - written.counted),
            timer=self._timer[0],
            frequency=self._timer[1],
            rows=rows,
            notes=tuple(self._notes),
        )
        return Evidence(waits=waits, waits_file=path)


def check(pattern: str | None, builds: Mapping[str, Build], tools: Tools) -> list[str]:
    """Check that the pattern matches an instrument of at least one build; each build is started on empty data for that.

    Returns:
        A note for each build that has no such instrument.

    Raises:
        UserError: no build has one; the error names the nearest ones.
        ServerError: a build does not start.
    """
    if pattern is None:
        return []
    unmatched: list[str] = []
    all_instruments: dict[str, None] = {}
    for name, build in builds.items():
        with tools.preparer.running(build, {"performance_schema": "ON"}) as sandbox, sandbox.connect() as query:
            available = instruments.all_waits(query)
        all_instruments.update(dict.fromkeys(available))
        if not instruments.matching_instruments(pattern, available):
            unmatched.append(name)
    if len(unmatched) == len(builds):
        nearest = instruments.nearest(pattern, list(all_instruments))
        remedy = f"The nearest are {listed(nearest)}" if nearest else "They are in performance_schema.setup_instruments"
        raise UserError(f"No wait instrument of {listed(sorted(builds))} matches {pattern!r}", remedy)
    return [f"{name} has no wait instrument that matches {pattern}: no raw waits are collected from it" for name in unmatched]
