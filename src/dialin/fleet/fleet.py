"""The hosts of a study: each runs one block at a time, and all report to the one process that stores."""

from __future__ import annotations

from collections.abc import Generator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Protocol

from dialin.errors import DialinError, machine_error
from dialin.fleet.worker import BlockRequest, Worker, WorkerHost
from dialin.model.cause import Cause, Fault
from dialin.trials.events import Event


@dataclass(frozen=True, slots=True)
class Reported:
    """A host's worker reports an event of the trial that runs there."""

    host: str
    event: Event


@dataclass(frozen=True, slots=True)
class BlockEnded:
    """A host has run all trials of its request, and is idle."""

    host: str


@dataclass(frozen=True, slots=True)
class HostJoined:
    """A host is ready for its first block; it may have been lost before."""

    host: WorkerHost


@dataclass(frozen=True, slots=True)
class HostLost:
    """A host runs no more blocks; its current block does not continue there."""

    host: str
    cause: Cause


@dataclass(frozen=True, slots=True)
class HostRefused:
    """A machine cannot be a host of this study."""

    host: str
    cause: Cause


def setup_failed(host: str, error: BaseException) -> HostLost | HostRefused:
    """Return what becomes of a host that failed while it was set up: it is tried again where its machine lacked something."""
    known = error if isinstance(error, DialinError) else machine_error(error)
    if known is None:
        lines = str(error).splitlines() or [type(error).__name__]
        return HostRefused(host, Cause.quoted(lines[0]))
    return HostLost(host, known.cause) if known.fault is Fault.MACHINE else HostRefused(host, known.cause)


FleetEvent = Reported | BlockEnded | HostJoined | HostLost | HostRefused
"""What hosts report. Events of one host keep their order; those of several hosts are interleaved."""


class Fleet(Protocol):
    """Workers on any number of hosts. A fleet neither numbers nor stores anything: its caller does."""

    @property
    def hosts(self) -> Sequence[WorkerHost]:
        """The hosts that are ready, those at work included. It changes only with an event that `next_event` returned."""

    def begin_block(self, host: str, request: BlockRequest) -> None:
        """Have an idle host run trials."""

    def next_event(self) -> FleetEvent:
        """Wait for the next event of any host.

        Raises:
            DialinError: the study cannot continue, for example because no host is left.
        """

    def leave_out(self, host: str) -> None:
        """Give a host no more blocks: the block that it runs is ended, and it is no longer among `hosts`."""

    def interrupt(self) -> None:
        """End the trials under way on all hosts; their servers are gone when this returns, where a host can be reached."""


class FleetOfOne:
    """A fleet of one worker, which works only while the caller waits for the next event."""

    def __init__(self, worker: Worker) -> None:
        self._worker = worker
        self._events: Generator[Event, None, None] | None = None

    @property
    def hosts(self) -> Sequence[WorkerHost]:
        return (self._worker.host,)

    def begin_block(self, host: str, request: BlockRequest) -> None:  # noqa: ARG002 - there is one
        self._events = self._worker.run_block(request)

    def next_event(self) -> FleetEvent:
        if self._events is None:
            raise RuntimeError("no block was begun")
        with suppress(StopIteration):
            return Reported(self._worker.host.name, next(self._events))
        self._events = None
        return BlockEnded(self._worker.host.name)

    def leave_out(self, host: str) -> None:
        raise RuntimeError(f"{host} is the only host")

    def interrupt(self) -> None:
        if self._events is not None:
            events, self._events = self._events, None
            events.close()
