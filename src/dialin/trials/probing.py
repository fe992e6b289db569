"""What is watched in every trial: the probes that suit a server."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from pathlib import Path
from typing import Any, Protocol, Self

from dialin.clock import Clock
from dialin.errors import MachineError, NoAnswerError
from dialin.model.query import Query
from dialin.model.trial import Trial
from dialin.probes.innodb_mutex import InnodbMutexProbe
from dialin.probes.innodb_status import InnodbStatusProbe
from dialin.probes.machine import MachineProbe
from dialin.probes.metrics import MetricsProbe
from dialin.probes.probe import Probe
from dialin.probes.probe_watch import Watch
from dialin.probes.process import ProcessProbe
from dialin.probes.statement_digests import StatementProbe
from dialin.probes.status import StatusProbe
from dialin.probes.wait_summary import WaitSummaryProbe
from dialin.servers.capabilities import Versioned
from dialin.servers.instance import Instance
from dialin.trials.events import Evidence

_ANSWER_WITHIN = 5.0
"""Seconds after which a reading is given up: a probe must never hold a statement open on a server that is in trouble."""

ClientCpu = Callable[[], float]
"""Returns the CPU seconds that the load driver has used so far."""


class Watching(Protocol):
    """What watches a trial."""

    def window(self) -> AbstractContextManager[None]:
        """Watch while this is open: the load is measured then."""

    def evidence(self, trial_id: int) -> Evidence:
        """Return what was observed; called once the trial has been measured.

        Raises:
            DialinError: a file of the evidence cannot be written.
        """


TrialWatcher = Callable[[Trial, Instance, Versioned, ClientCpu], AbstractContextManager[Watching]]
"""Sets up what watches a trial; opened before its load starts and closed after it was measured."""


class NoProbes:
    def window(self) -> AbstractContextManager[None]:
        return nullcontext()

    def evidence(self, trial_id: int) -> Evidence:  # noqa: ARG002 - as the protocol has it
        return Evidence()


def watch_nothing(
    _trial: Trial, _instance: Instance, _build: Versioned, _client_cpu: ClientCpu
) -> AbstractContextManager[Watching]:
    return nullcontext(NoProbes())


class Probed(Watch):
    def evidence(self, trial_id: int) -> Evidence:  # noqa: ARG002 - as the protocol has it
        return Evidence(tuple(self.taken()), self.points())


def by_probes(clock: Clock) -> TrialWatcher:
    """Return a watcher that uses every probe that suits a trial's server."""

    @contextmanager
    def watcher(_trial: Trial, instance: Instance, _build: Versioned, client_cpu: ClientCpu) -> Iterator[Watching]:
        pid = instance.pid
        with (
            ProbeConnection(instance) as session,
            Probed(probes_of(session, pid, client_cpu, instance.data_directory), clock) as watch,
        ):
            yield watch

    return watcher


class ProbeConnection:
    """The probes' own connection, opened at its first use and again after it broke. Use it as a context manager."""

    def __init__(self, instance: Instance) -> None:
        self._instance = instance
        self._connection: AbstractContextManager[Query] | None = None
        self._query: Query | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __call__(self, statement: str, arguments: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
        """Run one statement; raise ServerError where it is refused, or takes longer than a probe may."""
        if self._query is None:
            self._connection = self._instance.connect(_ANSWER_WITHIN)
            self._query = self._connection.__enter__()
        try:
            return self._query(statement, arguments)
        except (NoAnswerError, MachineError):
            self.close()
            raise

    def close(self) -> None:
        if self._connection is not None:
            self._connection.__exit__(None, None, None)
        self._connection = self._query = None


def probes_of(query: Query, pid: int | None, client_cpu: ClientCpu, directory: Path | None) -> Sequence[Probe]:
    """Return the probes of a trial; each determines for itself what this server lets it read.

    The server's process and data directory are None where they are not on this machine.
    """
    here: list[Probe] = [MachineProbe(directory)] if pid is None else [ProcessProbe(pid, client_cpu), MachineProbe(directory)]
    return [
        *here,
        StatusProbe(query),
        InnodbStatusProbe(query),
        MetricsProbe(query),
        InnodbMutexProbe(query),
        StatementProbe(query),
        WaitSummaryProbe(query),
    ]
