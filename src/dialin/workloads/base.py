"""The interfaces of a workload: its data, the source of its load, and the seconds that a running load reports."""

from __future__ import annotations

import hashlib
from abc import ABC, abstractmethod
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol, Self

from dialin.errors import UserError, os_error
from dialin.model.load_driver import DriverChoice, KindFigures
from dialin.model.traffic import TrafficSecond
from dialin.model.workload import LoadTraits
from dialin.servers.account import Account


@dataclass(frozen=True, slots=True)
class Target:
    """The server that a load is applied to.

    Attributes:
        directory: a private directory for the driver's log, process ID and options.
        database: the schema with the workload's tables.
        data: the data directory of a server that dialin started; None for an attached server.
        record: where the sessions of the load are recorded; see `servers.load_sessions`. None for a file in `directory`.
    """

    account: Account
    directory: Path
    database: str = "sbtest"
    data: Path | None = None
    record: Path | None = None

    @property
    def sessions_file(self) -> Path:
        return self.record or self.directory / "load.sessions"


@dataclass(frozen=True, slots=True)
class Second:
    """What a driver reports about one second, or about one run of a timed query, which takes `seconds`.

    Rates are per second, the latency in milliseconds.

    Attributes:
        codes: errors per second by the server's error number, where it is known.
        times: returns for each kind of transaction how many took how long (ms), under `ALL_KINDS` where there is one kind; to
            be called after the measurement; raises WorkloadError where the figures cannot be read.
        undelayed: likewise returns how long the transactions of all kinds took without what the driver itself added; nothing
            where the driver does not report it.
        choice: what the driver has chosen so far; None for a driver that chooses nothing.
        traffic: everything that was read from a live server; None for a load that dialin applies.
        kinds: what each kind of transaction did, where the driver reports that without histograms.
    """

    number: int
    tps: float
    reads: float = 0.0
    writes: float = 0.0
    other: float = 0.0
    latency_ms: float = 0.0
    errors: float = 0.0
    reconnects: float = 0.0
    seconds: float = 1.0
    codes: Mapping[int, float] = field(default_factory=dict, kw_only=True)
    times: Callable[[], Mapping[str, Mapping[float, int]]] = field(default=dict, kw_only=True, compare=False)
    undelayed: Callable[[], Mapping[float, int]] = field(default=dict, kw_only=True, compare=False)
    choice: DriverChoice | None = field(default=None, kw_only=True)
    traffic: TrafficSecond | None = field(default=None, kw_only=True)
    kinds: Mapping[str, KindFigures] = field(default_factory=dict, kw_only=True)

    @property
    def is_choosing(self) -> bool:
        """Whether the driver has yet to choose how it applies the load."""
        return self.choice is not None and self.choice.gather is None


def times_by_kind(seconds: Iterable[Second]) -> dict[str, Counter[float]]:
    """Return how many transactions of each kind took how long over some seconds; errors are those of `Second.times`."""
    counts: defaultdict[str, Counter[float]] = defaultdict(Counter)
    for second in seconds:
        for kind, times in second.times().items():
            counts[kind].update(times)
    return dict(counts)


def digest_of(paths: Iterable[Path]) -> str:
    """Return a digest of the contents of files, of any size; raise UserError where a file cannot be read."""
    digest = hashlib.sha256()
    try:
        for place, path in enumerate(paths):
            digest.update(b"\0" if place else b"")
            with path.open("rb") as file:
                while chunk := file.read(1024**2):
                    digest.update(chunk)
        return digest.hexdigest()
    except OSError as error:
        request = UserError(f"{error.filename} cannot be read: {error.strerror}", "Restore the file")
        raise os_error(error, request) from error


class Load(Protocol):
    """A load that is running."""

    def read(self, timeout: float) -> Second | None:
        """Return the next second's report, or None where none came within `timeout` seconds.

        Raises:
            WorkloadError: the driver died, or reported an error that ends it.
            ServerError: the server hung.
        """

    def cpu_seconds(self) -> float:
        """Return the CPU seconds, user and system, that the driver has used so far."""

    def facts(self) -> Mapping[str, float]:
        """Return figures of the load itself, by name; empty where there are none."""

    def stop(self) -> None:
        """End the load; it is gone when this returns."""


class Dataset(ABC):
    """The data of a workload: what it is, how large it is, and how it is prepared. It is prepared once, cached and restored."""

    @abstractmethod
    def describe_data(self) -> str:
        """Return what is prepared, in a few words."""

    @abstractmethod
    def data_facts(self) -> dict[str, Any]:
        """Return everything that determines the prepared data; two workloads with the same facts share a dataset."""

    @abstractmethod
    def expected_bytes(self) -> int:
        """Return about how many bytes the prepared data takes."""

    @property
    def how_to_shrink(self) -> str:
        """The option that reduces the data, such as `a smaller --table-size`; empty where none does."""
        return ""

    @property
    def copied_data(self) -> Path | None:
        """The data of another server to copy: a data directory, or a dump; None where dialin makes the data."""
        return None

    @property
    def needs_port(self) -> bool:
        """Whether a server that dialin starts must listen on a TCP port of the loopback interface, too."""
        return False

    @property
    def table_names(self) -> tuple[str, ...]:
        """The tables that the load needs; empty where they are not known before it runs."""
        return ()

    @abstractmethod
    def prepare(self, target: Target) -> None:
        """Load the data into a server, which updates the statistics of its tables after that.

        Raises:
            WorkloadError: that failed.
        """

    @property
    def separate_tables(self) -> tuple[str, ...]:
        """All tables of the data if `prepare_tables` can prepare some of them; empty otherwise."""
        return ()

    def prepare_tables(self, target: Target, names: Sequence[str]) -> None:
        """As `prepare`, for some of `separate_tables`: each gets the same rows as if all were prepared together."""
        raise NotImplementedError


class LoadSource(ABC):
    """What applies a load, second by second."""

    def check(self) -> None:  # noqa: B027 - a load without needs has nothing to check
        """Raise UserError where a program, a script or an option does not exist; called before anything is started."""

    def check_account(self, account: Account) -> None:  # noqa: B027 - most drivers take any account
        """Raise UserError where the driver does not support an account's password, or the TLS that it needs."""

    def call_load_hosts(self) -> Iterator[str]:
        """Have each load host log in to the server, and yield its address once it has.

        Raises:
            UserError: a host cannot be reached, has another token or build, or cannot log in.
        """
        return iter(())

    def digest(self) -> str:
        """Return a digest of the load's file, so that a change is noticed; empty where it has no file.

        Raises:
            UserError: the file cannot be read.
        """
        return ""

    def temporary_bytes(self) -> int:
        """Return about how many bytes of temporary files a trial needs beside its data."""
        return 0

    @property
    def traits(self) -> LoadTraits:
        """What a study must know about this load."""
        return LoadTraits()

    @property
    def patience(self) -> float:
        """Seconds without any report after which the driver counts as hung."""
        return 30.0

    def pinned(self, choice: DriverChoice | None, warmup: float) -> Self:  # noqa: ARG002 - most drivers choose nothing
        """Return this source for one trial.

        Args:
            choice: what the driver chose in the study's first trial, to be used again; None where it must choose now.
            warmup: seconds of warm-up; the driver chooses by their end.
        """
        return self

    def check_data(self, target: Target) -> None:  # noqa: B027 - most loads have no condition of their own
        """Raise WorkloadError where the data does not meet the load's own conditions after it was measured and stopped."""

    @property
    def is_choosing(self) -> bool:
        """Whether the driver is going to choose how it applies the load; `Second.is_choosing` is false once it has."""
        return False

    @abstractmethod
    def start(self, target: Target, *, threads: int, seed: int, cpus: str | None) -> Load:
        """Start the load on `threads` connections; it runs until it is stopped.

        `cpus` are the CPUs that the driver may use, as `0-3,8`; None for all.
        """

    @abstractmethod
    def version(self) -> str:
        """Return the driver's name and version."""


class Workload(Dataset, LoadSource):
    """A kind of load with the data that it needs."""
