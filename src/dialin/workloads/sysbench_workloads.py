"""sysbench's workloads, which dialin-load has as well: the tables that they prepare, and the names of their options."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass

from dialin.errors import UserError
from dialin.model.workload import WorkloadSpec
from dialin.workloads.kind import LoadRequest

SYSBENCH_SCRIPTS = (
    "bulk_insert", "oltp_delete", "oltp_insert", "oltp_point_select", "oltp_read_only", "oltp_read_write", "oltp_update_index",
    "oltp_update_non_index", "oltp_write_only", "select_random_points", "select_random_ranges",
)  # fmt: skip
"""The workloads of sysbench 1.0.20."""

BULK_INSERT = "bulk_insert"
"""The workload whose tables start empty, one for each connection."""

GROWING = (BULK_INSERT, "oltp_delete", "oltp_insert")
"""Workloads that add or remove rows; the others that write replace each row that they delete."""

BYTES_PER_ROW = 270
"""Bytes per row of sysbench's oltp table with its index in InnoDB, as measured on MySQL 9.7 (DYNAMIC rows, latin1 to
utf8mb4 alike)."""

RAND_TYPES = ("uniform", "gaussian", "special", "pareto", "zipfian")
"""The distributions that sysbench 1.0.20 draws row numbers from."""

_STATEMENTS = (
    "delete-inserts", "delta", "distinct-ranges", "index-updates", "non-index-updates", "number-of-ranges", "order-ranges",
    "point-selects", "random-points", "range-selects", "range-size", "reconnect", "simple-ranges", "skip-trx", "sum-ranges",
)  # fmt: skip
"""Options of the scripts that choose statements, and leave the prepared data as it is."""

_ON = ("on", "true", "1")
"""The spellings of yes that sysbench and dialin-load take."""

_WITH_KEYS = ("tables", "table-size", "threads", "rand-type")
"""Options of sysbench for which a study file has keys."""


@dataclass(frozen=True, slots=True)
class SysbenchTables:
    """The tables that a workload prepares, each with `rows` rows."""

    count: int
    rows: int

    @property
    def expected_bytes(self) -> int:
        """About how many bytes they take."""
        return self.count * self.rows * BYTES_PER_ROW

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(f"sbtest{number}" for number in range(1, self.count + 1))

    def describe(self) -> str:
        noun = "table" if self.count == 1 else "tables"
        return f"{self.count} {noun} of {self.rows:,} rows" if self.rows else f"{self.count} empty {noun}"


def tables_of(spec: WorkloadSpec, with_one_table: Collection[str] = ()) -> SysbenchTables:
    """Return the tables that a workload prepares.

    `oltp_insert` starts with empty tables where it numbers its rows itself: its numbers could collide with existing rows. For
    the workloads `with_one_table` the driver prepares one table only.
    """
    if spec.name == BULK_INSERT:
        return SysbenchTables(spec.threads, 0)
    numbers_its_rows = spec.name == "oltp_insert" and spec.options.get("auto-inc", "on") not in _ON
    return SysbenchTables(1 if spec.name in with_one_table else spec.tables, 0 if numbers_its_rows else spec.table_size)


def size_keys(spec: WorkloadSpec, tables: SysbenchTables) -> dict[str, int]:
    """Return the study-file keys that size the tables; none for `bulk_insert`, which has a table per connection."""
    return {} if spec.name == BULK_INSERT else {"tables": tables.count, "table-size": spec.table_size}


def data_options(spec: WorkloadSpec, tables: SysbenchTables) -> dict[str, str]:
    """Return the options that determine the prepared data; two workloads with the same ones share a dataset.

    The `oltp_*` and `select_random_*` scripts prepare tables of the same shape (sysbench's own oltp_common), and draw a
    column from the distribution in use.
    """
    shared = spec.name.startswith(("oltp_", "select_random_")) and spec.name in SYSBENCH_SCRIPTS
    of_data = {name: value for name, value in sorted(spec.options.items()) if not (shared and name in _STATEMENTS)}
    return {
        "script": "oltp_common" if shared else spec.name,
        "tables": str(tables.count),
        "table-size": str(tables.rows),
        "rand-type": spec.rand_type or "default",
        **of_data,
    }


def check_request(request: LoadRequest, options: Mapping[str, str]) -> None:
    """Raise UserError where an option has a study-file key, which would override it, or `bulk_insert` is given a size."""
    for name in _WITH_KEYS:
        if name in options:
            raise UserError(
                f"{name} is not given as a workload's option", f"Give --{name} {options[name]} (in a study file: {name})"
            )
    if request.name == BULK_INSERT:
        request.refuse_table_sizes("It uses one empty table for each of its --threads: leave the sizes out")


_OPTION = re.compile(r"[a-z][a-z0-9_-]*")
"""The name of an option of sysbench."""

_SIZE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
"""The name of a size in a workload file, as dialin-load accepts it; the file's author chooses it."""


def check_options(names: Iterable[str], *, of_file: bool) -> None:
    """Raise UserError for an option of a workload whose name no driver accepts.

    `of_file` says whether the options are sizes of a workload file, those of dialin-load's own files included.
    """
    for name in names:
        if not (_SIZE if of_file else _OPTION).fullmatch(name):
            example = "warehouses=10" if of_file else "range-size=100"
            raise UserError(f"{name!r} cannot be an option of a workload", f"Write it like {example}")
