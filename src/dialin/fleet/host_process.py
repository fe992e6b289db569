"""The process on a host that runs trials. It reads orders from its standard input, and writes its reports to a journal.

If no order comes for a while, nobody waits for its trials any more, and it ends by itself, with its trial and server.
`host_agent` starts it with the directory of the journal.
"""

from __future__ import annotations

import os
import pickle
import queue
import signal
import sys
import threading
import time
from collections.abc import Mapping
from contextlib import closing, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, BinaryIO

from dialin.cause_sentences import sentence
from dialin.errors import DialinError, machine_error
from dialin.fleet.journal import JournalWriter
from dialin.fleet.local_worker import LocalWorker, local_worker
from dialin.fleet.stop_signals import stopping_cleanly
from dialin.fleet.worker import BlockRequest, WorkerHost
from dialin.model.cause import Cause
from dialin.model.load_driver import FIRST_DRIVER
from dialin.model.study import StudySpec
from dialin.model.trial import EffectiveSettings
from dialin.places.sandbox.check import resume_sandboxed
from dialin.preflight.checked import check_cpus
from dialin.question.plan import plan
from dialin.trials.events import Event, TrialEnded
from dialin.trials.tools import Tools
from dialin.workloads import kinds

SILENCE = 20.0
"""Seconds without an order after which the coordinator counts as gone; the trial under way ends a few seconds later."""


@dataclass(frozen=True, slots=True)
class HostStudy:
    """What a host must know of a study, before its first block; it can be pickled.

    Attributes:
        load_facts: what was recorded about the load when the study began.
    """

    host: str
    spec: StudySpec
    inspected: Mapping[str, EffectiveSettings]
    load_facts: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class RunBlock:
    """An order to run trials. Turns are numbered from 1."""

    turn: int
    request: BlockRequest


@dataclass(frozen=True, slots=True)
class BreakOff:
    """An order to end the trial under way of a turn, and to run no more of it."""

    turn: int


@dataclass(frozen=True, slots=True)
class StillThere:
    """A sign of life and not an order: somebody still waits for the reports of this host."""


@dataclass(frozen=True, slots=True)
class Message:
    """A line of text about the preparation."""

    text: str


@dataclass(frozen=True, slots=True)
class Ready:
    """The site is ready for blocks."""

    host: WorkerHost


@dataclass(frozen=True, slots=True)
class TrialEvent:
    """An event of a turn; `file` is the content of its file of raw waits, if it has one."""

    turn: int
    event: Event
    file: bytes | None = None


@dataclass(frozen=True, slots=True)
class TurnEnded:
    """All trials of a turn were run, or it was broken off and its server is gone."""

    turn: int


@dataclass(frozen=True, slots=True)
class HostFailed:
    """The host can run no block: the process ends."""

    cause: Cause


Report = Message | Ready | TrialEvent | TurnEnded | HostFailed
"""A record of the journal."""


class Orders:
    """Orders from a stream, read by a thread; SIGTERM stops the process if the stream ends, or falls silent for too long."""

    def __init__(self, stream: BinaryIO, silence: float = SILENCE) -> None:
        self._stream = stream
        self._silence = silence
        self._last_order = time.monotonic()
        self._queue: queue.Queue[RunBlock | HostStudy] = queue.Queue()
        self.broken_off = 0
        for work in (self._read, self._watch):
            threading.Thread(target=work, daemon=True).start()

    def next(self) -> Any:
        """Wait for the next order that is not carried out at once: first the study, then its blocks."""
        return self._queue.get()

    def _read(self) -> None:
        with suppress(EOFError, OSError, pickle.UnpicklingError):
            while True:
                order = pickle.load(self._stream)  # noqa: S301 - from the process that started this one
                self._last_order = time.monotonic()
                if isinstance(order, BreakOff):
                    self.broken_off = max(self.broken_off, order.turn)
                elif not isinstance(order, StillThere):
                    self._queue.put(order)
        os.kill(os.getpid(), signal.SIGTERM)

    def _watch(self) -> None:
        while time.monotonic() - self._last_order < self._silence:
            time.sleep(self._silence / 20)
        os.kill(os.getpid(), signal.SIGTERM)


def serve(orders: Orders, journal: JournalWriter, directory: Path) -> None:
    """Prepare the site of a study, then run its blocks until a signal stops the process."""
    study: HostStudy = orders.next()
    tools, workload = Tools.open(lambda text: journal.append(Message(text))), kinds.make_workload(study.spec.workload)
    check_cpus(study.spec)
    workload.check()
    first_driver = study.load_facts.get(FIRST_DRIVER)
    if first_driver is not None and workload.version() != first_driver:
        raise DialinError(
            f"The load driver here is {workload.version()}, and the study's is {first_driver}", "Install the same version"
        )
    ready = resume_sandboxed(study.spec, plan(study.spec), tools, workload, study.inspected)
    with local_worker(ready, study.load_facts, directory, tools, tools.say, name=study.host) as worker:
        journal.append(Ready(worker.host))
        while True:
            _run(worker, orders.next(), orders, journal)


def _run(worker: LocalWorker, order: RunBlock, orders: Orders, journal: JournalWriter) -> None:
    with closing(worker.run_block(order.request)) as events:
        for event in events:
            if orders.broken_off >= order.turn:
                break
            journal.append(_happened(order.turn, event))
    journal.append(TurnEnded(order.turn))


def _happened(turn: int, event: Event) -> TrialEvent:
    """Return the report of an event, with the content of the file that it names: the path is of no use on another host."""
    if not isinstance(event, TrialEnded) or event.evidence.waits_file is None:
        return TrialEvent(turn, event)
    content = event.evidence.waits_file.read_bytes()
    event.evidence.waits_file.unlink()
    return TrialEvent(turn, replace(event, evidence=replace(event.evidence, waits_file=None)), content)


def _raise_priority(journal: JournalWriter) -> None:
    """Raise this process, and so servers and load, to normal priority: Ray lowers the priority of its processes."""
    try:
        os.setpriority(os.PRIO_PROCESS, 0, 0)
    except PermissionError:
        niceness = os.getpriority(os.PRIO_PROCESS, 0)
        journal.append(Message(f"Servers and load run with a niceness of {niceness}: start Ray with RAY_worker_niceness=0"))


def main() -> None:
    directory = Path(sys.argv[1])
    journal = JournalWriter(directory / "journal")
    try:
        if os.getpriority(os.PRIO_PROCESS, 0) > 0:
            _raise_priority(journal)
        with stopping_cleanly():
            serve(Orders(sys.stdin.buffer), journal, directory)
    except KeyboardInterrupt:
        pass
    except Exception as error:
        failed = error if isinstance(error, DialinError) else machine_error(error)
        fault = Cause.quoted(f"A fault of dialin itself: {type(error).__name__}: {error}")
        cause = fault if failed is None else failed.cause
        sys.stderr.write(f"{sentence(cause)}\n")  # the journal may be what cannot be written
        with suppress(OSError):
            journal.append(HostFailed(cause))
        if failed is None:
            raise
