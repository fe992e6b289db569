"""What load a study applies: what it prepares, and what it runs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from pydantic import Field

from dialin.model.frozen import FrozenModel

SYSBENCH_SCRIPTS = (
    "bulk_insert",
    "oltp_delete",
    "oltp_insert",
    "oltp_point_select",
    "oltp_read_only",
    "oltp_read_write",
    "oltp_update_index",
    "oltp_update_non_index",
    "oltp_write_only",
    "select_random_points",
    "select_random_ranges",
)
"""The workloads that sysbench 1.0.20 brings; dialin-load has them as well."""

LOAD_WORKLOADS = ("bank-transfer", "feed", "noop", "queue", "tpcc-like")
"""The workloads that dialin-load brings beside those of sysbench."""

BULK_INSERT = "bulk_insert"
"""The one of sysbench's whose tables begin empty: one for each connection."""

_ON_ONE_TABLE = ("select_random_points", "select_random_ranges")
"""Those that read the first table only; dialin-load makes no other."""

_ON = ("on", "true", "1")
"""How sysbench and dialin-load are told yes."""

RAND_TYPES = ("uniform", "gaussian", "special", "pareto", "zipfian")
"""The distributions that sysbench 1.0.20 draws row numbers from."""


SCAN = "scan"
"""The workload that times queries; dialin applies it itself."""


class Driver(StrEnum):
    """The program that applies a load."""

    DIALIN_LOAD = "dialin-load"
    SYSBENCH = "sysbench"
    DIALIN = "dialin"


def _driver(told: Mapping[str, Any]) -> Driver:
    return Driver.DIALIN if told.get("name") == SCAN else Driver.SYSBENCH


class LoadUnit(StrEnum):
    """What a load is counted in, and what one sample of it is."""

    TRANSACTION = "transaction"
    RUN = "run"


@dataclass(frozen=True, slots=True)
class Runs:
    """The runs of a timed query that a trial is made of.

    Attributes:
        warm_up: how many come first and are not measured.
        measured: how many are.
        most: how many may be measured at most, to make up for those that the host lost.
        seconds: about how long one takes, for the plan; the study goes by what it measures.
    """

    warm_up: int
    measured: int
    most: int
    seconds: float


class LoadTraits(FrozenModel):
    """What a study has to know of its load; stored with it.

    Attributes:
        runs: how many runs of a timed query a trial is made of; None where a trial is measured by the second.
        restarts: why each trial must start a server, in a sentence without its full stop; None where it need not.
        grows: its data grows or drains without end while it runs, so that trials must not follow each other on it.
    """

    runs: Runs | None = None
    restarts: str | None = None
    grows: bool = False
    unit: LoadUnit = LoadUnit.TRANSACTION


class WorkloadSpec(FrozenModel):
    """The load of a study.

    Attributes:
        name: one of `SYSBENCH_SCRIPTS` or `LOAD_WORKLOADS`, `scan`, or the path of a sysbench Lua script or a workload file.
        threads: connections that work at once; the most of them, where there are levels.
        levels: several numbers of threads, each of which every trial measures in turn; empty where there is one only.
        tables: how many tables are asked for; see `tables_made`.
        table_size: rows that are asked for in each of them; see `rows_made`.
        rand_type: the distribution that row numbers are drawn from; None leaves sysbench's own default.
        rate: transactions a second to ask for; 0 means as many as go.
        percentile: which percentile of transaction latency the driver reports each second.
        options: further options of the workload, by name without dashes in front.
        traits: what the study has to know of it; the program that applies it says so.
    """

    name: str = "oltp_read_write"
    driver: Driver = Field(default_factory=_driver)
    threads: int = Field(default=16, ge=1, le=65_535)
    levels: tuple[int, ...] = ()
    tables: int = Field(default=4, ge=1, le=10_000)
    table_size: int = Field(default=100_000, ge=1)
    rand_type: str | None = None
    rate: int = Field(default=0, ge=0)
    percentile: int = Field(default=95, ge=1, le=99)
    options: Mapping[str, str] = Field(default_factory=dict)
    traits: LoadTraits = LoadTraits()

    @property
    def tables_made(self) -> int:
        """How many tables are prepared."""
        if self.name == BULK_INSERT:
            return self.threads
        return 1 if self.has_one_table else self.tables

    @property
    def rows_made(self) -> int:
        """How many rows each table is prepared with.

        `oltp_insert` begins with empty tables where it numbers its rows itself: it could meet those that are there.
        """
        numbers_them = self.name == "oltp_insert" and self.options.get("auto-inc", "on") not in _ON
        return 0 if self.name == BULK_INSERT or numbers_them else self.table_size

    @property
    def has_one_table(self) -> bool:
        """Whether its driver makes one table, however many are asked for."""
        return self.driver is Driver.DIALIN_LOAD and self.name in _ON_ONE_TABLE

    @property
    def data_options(self) -> dict[str, str]:
        """The options that decide what the prepared data is; two workloads with the same ones share a dataset.

        The `oltp_*` and `select_random_*` scripts prepare tables of the same shape (sysbench's own oltp_common), and draw a
        column from the distribution in use.
        """
        shared = self.name.startswith(("oltp_", "select_random_")) and self.name in SYSBENCH_SCRIPTS
        return {
            "script": "oltp_common" if shared else self.name,
            "tables": str(self.tables_made),
            "table-size": str(self.rows_made),
            "rand-type": self.rand_type or "default",
            **dict(sorted(self.options.items())),
        }

    @property
    def full_name(self) -> str:
        """Its name as a study asks for it."""
        both = self.driver is Driver.SYSBENCH and self.name in SYSBENCH_SCRIPTS
        return f"{self.driver}:{self.name}" if both else self.name

    @property
    def is_sized_by_tables(self) -> bool:
        """Whether `tables` and `table_size` tell its data.

        Workloads of dialin-load's own have options for that, and `bulk_insert` goes by its connections.
        """
        return self.name != BULK_INSERT and (self.driver is not Driver.DIALIN_LOAD or self.name in SYSBENCH_SCRIPTS)

    @property
    def size(self) -> str:
        """How much data there is, in words; empty where options tell it."""
        if not self.is_sized_by_tables and self.name != BULK_INSERT:
            return ""
        noun = "table" if self.tables_made == 1 else "tables"
        rows = self.rows_made
        return f"{self.tables_made} {noun} of {rows:,} rows" if rows else f"{self.tables_made} empty {noun}"

    def describe(self) -> str:
        """Return the workload in one line."""
        threads = " and ".join(filter(None, [", ".join(map(str, self.levels[:-1])), str(self.threads)]))
        parts = [self.full_name, f"{threads} {'thread' if self.threads == 1 else 'threads'}"]
        parts += [self.size] if self.size else []
        if self.rand_type:
            parts.append(self.rand_type)
        if self.rate:
            parts.append(f"{self.rate} transactions/s asked for")
        parts += [f"{name}={value}" for name, value in self.options.items()]
        return ", ".join(parts)
