"""What a workload is to a study."""

from __future__ import annotations

import hashlib
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol, Self

from dialin.errors import UserError
from dialin.model.load_driver import DriverChoice
from dialin.model.traffic import TrafficSecond
from dialin.model.workload import LoadTraits
from dialin.servers.account import Account


@dataclass(frozen=True, slots=True)
class Target:
    """The server that a load is applied to.

    Attributes:
        directory: a private directory, where the driver's log, process number and options go.
        database: the schema with the workload's tables.
        data: the server's data directory, where dialin started it; None of one that it is attached to.
    """

    account: Account
    directory: Path
    database: str = "sbtest"
    data: Path | None = None


@dataclass(frozen=True, slots=True)
class Second:
    """What a driver reports of one second, or of one run of a timed query, which takes `seconds`.

    Rates are per second, the percentile in milliseconds.

    Attributes:
        codes: the errors by the server's number, where it is known.
        times: returns for each kind of transaction how many took how long (ms), under `ALL_KINDS` where there is one kind; to
            be called after the measurement; raises WorkloadError where the figures cannot be read.
        choice: what the driver has chosen so far; None of one that chooses nothing.
        traffic: all that was read of a live server; None of a load that dialin applies.
    """

    number: int
    tps: float
    reads: float
    writes: float
    other: float
    latency_ms: float
    errors: float
    reconnects: float
    seconds: float = 1.0
    codes: Mapping[int, float] = field(default_factory=dict, kw_only=True)
    times: Callable[[], Mapping[str, Mapping[float, int]]] = field(default=dict, kw_only=True, compare=False)
    choice: DriverChoice | None = field(default=None, kw_only=True)
    traffic: TrafficSecond | None = field(default=None, kw_only=True)

    @property
    def is_choosing(self) -> bool:
        """Whether the driver has yet to choose how it applies the load."""
        return self.choice is not None and self.choice.gather is None


def digest_of(paths: Iterable[Path]) -> str:
    """Return a digest of the texts of files.

    Raises:
        UserError: one cannot be read.
    """
    try:
        return hashlib.sha256(b"\0".join(path.read_bytes() for path in paths)).hexdigest()
    except OSError as error:
        raise UserError(f"{error.filename} cannot be read: {error.strerror}", "Restore the file") from error


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
    """The data of a workload: what it is, how large, and how a server is filled with it. It is made once, kept and restored."""

    @abstractmethod
    def describe_data(self) -> str:
        """Return what is prepared, in a few words."""

    @abstractmethod
    def data_facts(self) -> dict[str, Any]:
        """Return all that decides what the prepared data is; two workloads with the same facts share a dataset."""

    @abstractmethod
    def expected_bytes(self) -> int:
        """Return about how many bytes the prepared data takes."""

    @property
    def smaller(self) -> str:
        """What to give for less data, such as `a smaller --table-size`; empty where nothing makes it less."""
        return ""

    @property
    def copied_data(self) -> Path | None:
        """Data of another server, which are copied: a data directory, or a dump; None where dialin makes its own."""
        return None

    @property
    def table_names(self) -> tuple[str, ...]:
        """The tables that the load needs; empty where they are not known before it runs."""
        return ()

    @abstractmethod
    def prepare(self, target: Target) -> None:
        """Fill a server with the data.

        Raises:
            WorkloadError: it failed.
        """


class LoadSource(ABC):
    """What applies a load, second by second."""

    def check(self) -> None:  # noqa: B027 - what needs nothing has nothing to check
        """Make sure that it can run, before anything is started.

        Raises:
            UserError: a program, a script or an option is not there.
        """

    def check_account(self, account: Account) -> None:  # noqa: B027 - most drivers take any account
        """Make sure that the driver can connect as an account.

        Raises:
            UserError: it cannot take its password, or the TLS that it needs.
        """

    def call_load_hosts(self) -> Iterator[str]:
        """Have the other hosts that apply it log in to their server, and yield the address of each after it has done so.

        Raises:
            UserError: one cannot be reached, has another token or build, or cannot log in.
        """
        return iter(())

    def digest(self) -> str:
        """Return a digest of its own file, so that another text is noticed; empty where it has none.

        Raises:
            UserError: the file cannot be read.
        """
        return ""

    def temporary_bytes(self) -> int:
        """Return about how many bytes of temporary files a trial needs beside its data."""
        return 0

    @property
    def traits(self) -> LoadTraits:
        """What a study has to know of it."""
        return LoadTraits()

    @property
    def patience(self) -> float:
        """Seconds without any report after which its driver is called hung."""
        return 30.0

    def pinned(self, choice: DriverChoice | None, warmup: float) -> Self:  # noqa: ARG002 - most drivers choose nothing
        """Return this source for one trial.

        Args:
            choice: what the driver chose in the study's first trial, to be used again; None where it has to choose now.
            warmup: the seconds of warm-up by whose end it chooses.
        """
        return self

    @property
    def is_choosing(self) -> bool:
        """Whether its driver is going to choose how it applies the load; its seconds say when it has."""
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
