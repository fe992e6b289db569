"""The block that each host runs, and what hosts report of it; trials get their numbers here."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from dialin.fleet.fleet import BlockEnded, Fleet, FleetEvent, HostLost, Reported
from dialin.fleet.worker import BlockRequest, WorkerHost
from dialin.model.trial import Block, Purpose, Trial, TrialState
from dialin.race.recorder import Recorder
from dialin.race.state import Slot


@dataclass(frozen=True, slots=True)
class Work:
    """The trials of a block that a host was given; the last of them has the number `last`."""

    block: Block
    last: int


class HostBlocks:
    """Gives blocks to the hosts of a fleet, and records what they report.

    `make_recorder` makes a recorder for the trials of one host, and `next_id` returns the number after those in the store.
    """

    def __init__(self, fleet: Fleet, make_recorder: Callable[[], Recorder], next_id: Callable[[], int]) -> None:
        self._fleet = fleet
        self._make_recorder = make_recorder
        self._next_id = next_id
        self._recorders: dict[str, Recorder] = {}
        self._work: dict[str, Work] = {}

    @property
    def inventory(self) -> Sequence[WorkerHost]:
        """The hosts that are ready, with the facts of each machine."""
        return self._fleet.hosts

    @property
    def hosts(self) -> list[str]:
        """The names of the hosts that are ready, those at work included."""
        return [host.name for host in self._fleet.hosts]

    @property
    def idle(self) -> list[str]:
        return [name for name in self.hosts if name not in self._work]

    @property
    def at_work(self) -> Mapping[str, Work]:
        return self._work

    def recorder(self, host: str) -> Recorder:
        return self._recorders.setdefault(host, self._make_recorder())

    def new_trials(self, block: int, purpose: Purpose, places: Sequence[Slot], session: int, now: float) -> tuple[Trial, ...]:
        """Return trials with numbers that no other trial has."""
        first = max([self._next_id(), *(work.last + 1 for work in self._work.values())])
        return tuple(
            Trial(number, block, session, position, name, TrialState.RUNNING, now, purpose=purpose)
            for number, (position, name) in enumerate(places, start=first)
        )

    def begin(self, host: str, block: Block, request: BlockRequest) -> None:
        self._work[host] = Work(block, request.trials[-1].id)
        self._fleet.begin_block(host, request)

    def next_event(self) -> tuple[FleetEvent, Trial | None, Work | None]:
        """Wait for the next event of any host; return it with the trial and the host's work that it ends, if any.

        A trial that a host was running when it was lost ends as interrupted.

        Raises:
            DialinError: the study cannot continue.
        """
        event = self._fleet.next_event()
        if isinstance(event, Reported):
            return event, self.recorder(event.host).record(event.event), None
        if isinstance(event, BlockEnded):
            return event, None, self._work.pop(event.host)
        if isinstance(event, HostLost):
            return event, *self._give_up(event.host)
        return event, None, None

    def leave_out(self, host: str) -> None:
        """Give an idle host no more blocks."""
        self._fleet.leave_out(host)

    def interrupt(self) -> None:
        """End every trial under way, and store it as interrupted."""
        try:
            self._fleet.interrupt()
        finally:
            for host in list(self._work):
                self._give_up(host)

    def _give_up(self, host: str) -> tuple[Trial | None, Work | None]:
        recorder = self._recorders.get(host)
        return recorder.interrupt() if recorder else None, self._work.pop(host, None)
