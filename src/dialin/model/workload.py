"""What load a study applies: what it prepares, and what it runs."""

from __future__ import annotations

from collections.abc import Mapping

from pydantic import BaseModel, ConfigDict, Field

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
"""The workloads that sysbench 1.0.20 brings."""

RAND_TYPES = ("uniform", "gaussian", "special", "pareto", "zipfian")
"""The distributions that sysbench 1.0.20 draws row numbers from."""


class WorkloadSpec(BaseModel):
    """The load of a study.

    Attributes:
        name: one of `SYSBENCH_SCRIPTS`, or the path of a sysbench Lua script.
        threads: connections that work at once; the most of them, where there are levels.
        levels: several numbers of threads, each of which every trial measures in turn; empty where there is one only.
        tables: how many tables are prepared.
        table_size: rows of each table.
        rand_type: the distribution that row numbers are drawn from; None leaves sysbench's own default.
        rate: transactions a second to ask for; 0 means as many as go.
        percentile: which percentile of transaction latency the driver reports each second.
        options: further options of the sysbench script, by name without dashes in front.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    name: str = "oltp_read_write"
    threads: int = Field(default=16, ge=1, le=65_535)
    levels: tuple[int, ...] = ()
    tables: int = Field(default=4, ge=1, le=10_000)
    table_size: int = Field(default=100_000, ge=1)
    rand_type: str | None = None
    rate: int = Field(default=0, ge=0)
    percentile: int = Field(default=95, ge=1, le=99)
    options: Mapping[str, str] = Field(default_factory=dict)

    @property
    def data_options(self) -> dict[str, str]:
        """The options that decide what the prepared data is; two workloads with the same ones share a dataset.

        Every `oltp_*` and `select_random_*` script prepares the same tables (sysbench's own oltp_common), and draws a column
        from the distribution in use.
        """
        shared = self.name.startswith(("oltp_", "select_random_")) and self.name in SYSBENCH_SCRIPTS
        return {
            "script": "oltp_common" if shared else self.name,
            "tables": str(self.tables),
            "table-size": str(self.table_size),
            "rand-type": self.rand_type or "default",
            **dict(sorted(self.options.items())),
        }

    @property
    def size(self) -> str:
        """How much data there is, in words."""
        return f"{self.tables} {'table' if self.tables == 1 else 'tables'} of {self.table_size:,} rows"

    def describe(self) -> str:
        """Return the workload in one line."""
        threads = " and ".join(filter(None, [", ".join(map(str, self.levels[:-1])), str(self.threads)]))
        parts = [self.name, f"{threads} {'thread' if self.threads == 1 else 'threads'}", self.size]
        if self.rand_type:
            parts.append(self.rand_type)
        if self.rate:
            parts.append(f"{self.rate} transactions/s asked for")
        parts += [f"{name}={value}" for name, value in self.options.items()]
        return ", ".join(parts)
