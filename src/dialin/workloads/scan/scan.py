"""A scan: a large table, and a query over it that is timed, run by run."""

from __future__ import annotations

import functools
import statistics
from contextlib import suppress
from typing import Any

from dialin.answers import whole
from dialin.errors import ServerError, UserError, WorkloadError
from dialin.model.cause import Cause, CauseCode
from dialin.model.query import Query
from dialin.model.workload import LoadLimit, LoadTraits, Runs, WorkloadSpec
from dialin.servers.account import Account
from dialin.servers.connection import RefusedError, connect, quote_identifier
from dialin.servers.load_sessions import on_record
from dialin.text import size
from dialin.workloads.base import Target, Workload
from dialin.workloads.scan import cold, table
from dialin.workloads.scan.load import LONGEST_RUN, ScanLoad
from dialin.workloads.scan.scan_options import SCAN, UNIT, ScanOptions, read_scan_options

_DATA_VERSION = 2
"""Version of the way in which tables are made."""

_STATEMENT_LIMIT = 3600.0
"""Seconds that one statement of the preparation of data may take."""

_READY_WITHIN = 300.0
"""Seconds that one statement of the preparation of a run may take."""

_CACHED = "cached_share"
_COLD = LoadLimit(gauge=_CACHED, most=0.01, code="not_cold")

_COPY = "scan_copy"
"""The prefix of the names of tables that no run has read yet."""

_RATE = {True: 150 * 1024**2, False: 400 * 1024**2}
"""Bytes per second that a plan assumes, by whether runs are cold; conservative, because the study uses what it measures."""


class Scan(Workload):
    """A table and a query over it.

    Raises:
        UserError: an option is unknown or invalid.
    """

    def __init__(self, spec: WorkloadSpec) -> None:
        self._spec = spec
        self._options: ScanOptions = read_scan_options(spec.options)

    @property
    def _rows(self) -> int:
        return self._spec.table_size

    @property
    def _copies(self) -> int:
        """Number of identical tables, each of which is read once; 0 where one table is read again and again."""
        return self._options.runs * len(self._levels) if self._is_cold_innodb else 0

    @property
    def _levels(self) -> tuple[int, ...]:
        return self._spec.levels or (self._spec.threads,)

    @property
    def _is_cold_innodb(self) -> bool:
        return self._options.engine == "InnoDB" and self._options.is_cold

    def check_account(self, account: Account) -> None:  # noqa: ARG002 - any account that dialin can use will do
        """Raise UserError for cold runs: they need the server's files, or a restart for each trial, and so a sandbox."""
        if self._options.is_cold:
            raise UserError(
                "A cold scan drops the file cache of the server's tables or restarts the server: it works on sandboxes only",
                "Give --workload-option cache=warm, or study it on a sandbox with --server",
            )

    def describe_data(self) -> str:
        options = self._options
        copies = f", {self._copies} times" if self._copies else ""
        fragmented = f", {options.fragmented:.0%} fragmented" if options.fragmented else ""
        about = size(table.table_bytes(options, self._rows))
        return f"an {options.engine} table of {self._rows:,} {options.format} rows, about {about}{fragmented}{copies}"

    def data_facts(self) -> dict[str, Any]:
        options = self._options
        return {
            "workload": SCAN,
            "made": _DATA_VERSION,
            "engine": options.engine,
            "format": options.format,
            "row_bytes": options.row_bytes,
            "rows": self._rows,
            "fragmented": options.fragmented,
            "copies": self._copies,
        }

    def expected_bytes(self) -> int:
        seed = min(self._rows, table.CHUNK) * self._options.row_bytes * 2
        return table.table_bytes(self._options, self._rows) * max(1, self._copies) + seed

    @property
    def how_to_shrink(self) -> str:
        return "a smaller --workload-option size" if "size" in self._spec.options else "a smaller --table-size"

    def temporary_bytes(self) -> int:
        """Return how many bytes of temporary files a trial needs at most; what a query of the user's own needs is not known."""
        return max(self._levels) * table.sort_bytes(self._options, self._rows) if self._options.sorts else 0

    @property
    def traits(self) -> LoadTraits:
        """What a study must know about this load: a user's query may change the table, and cold InnoDB scans need a restart."""
        restarts = "the scans are cold, and no statement empties InnoDB's buffer pool"
        return LoadTraits(
            runs=self._runs(),
            restarts=restarts if self._is_cold_innodb else None,
            grows=self._options.may_write,
            unit=UNIT,
            size=f"{self._spec.tables} table of {self._rows:,} rows",
            size_keys={"tables": 1, **({} if "size" in self._spec.options else {"table-size": self._rows})},
            limits=(_COLD,) if self._options.is_cold else (),
        )

    @property
    def patience(self) -> float:
        """Seconds that one run may take; a server that is lost or hangs meanwhile is noticed sooner."""
        return LONGEST_RUN

    def _runs(self) -> Runs:
        options = self._options
        seconds = table.table_bytes(options, self._rows) / _RATE[options.is_cold]
        measured = options.runs
        return Runs(
            warm_up=0 if options.is_cold else 1,
            measured=measured,
            # What a run has read is no longer cold, and there are as many copies as runs.
            most=measured if self._is_cold_innodb else 2 * measured,
            # Threads that read the same table share the disk, and not the CPUs.
            seconds=seconds * statistics.fmean(max(1.0, threads / 2) for threads in self._levels),
        )

    def version(self) -> str:
        """Return the driver's name: the queries are sent by dialin itself."""
        return "dialin scan"

    def prepare(self, target: Target) -> None:
        """Make the table, or as many identical ones as cold runs need; raise WorkloadError where the server refuses it."""
        names = [f"{_COPY}{number}" for number in range(1, self._copies + 1)] or [table.TABLE]
        try:
            with (
                connect(target.account, timeout=_STATEMENT_LIMIT) as query,
                on_record(target.account, query, target.sessions_file),
            ):
                if target.data is not None:
                    self._set_sandbox(query)
                query(f"USE {quote_identifier(target.database)}")
                query("SET NAMES latin1")  # like the table's columns: some builds cannot mix them with another
                query(table.create(self._options, table.SEED))
                query(table.seed(self._options, self._rows))
                for name in names:
                    query(table.create(self._options, name))
                    for statement in table.fill(self._options, name, self._rows):
                        query(statement)
                    for statement in table.fragment(self._options, name, self._rows):
                        query(statement)
                query(f"DROP TABLE {table.SEED}")
        except RefusedError as error:
            raise WorkloadError(Cause(CauseCode.TABLE_NOT_CREATED, {"words": error.what}), error.remedy) from error

    def _set_sandbox(self, query: Query) -> None:
        """Give each table its own file; where runs are cold, dump no list of buffer pool pages for the next start."""
        variables = {"innodb_file_per_table": "ON"}
        if self._options.format == "compressed":
            variables["innodb_file_format"] = "Barracuda"
        if self._is_cold_innodb:
            variables["innodb_buffer_pool_dump_at_shutdown"] = "OFF"
        for name, value in variables.items():
            with suppress(RefusedError):  # a build without the variable does so anyway, or dumps nothing
                query(f"SET GLOBAL {name} = {value}")

    def start(self, target: Target, *, threads: int, seed: int, cpus: str | None) -> ScanLoad:  # noqa: ARG002 - nothing is random
        """Open the connections; each `ScanLoad.read` makes one run. Raise ServerError where the server does not answer."""
        before = functools.partial(self._make_ready, target, threads)
        return ScanLoad(target, table.query(self._options, self._rows), threads, before, cpus)

    def _make_ready(self, target: Target, threads: int) -> dict[str, float]:
        """Drop from memory what must be cold, and return the figures of the load that are known by then."""
        facts: dict[str, float] = {}
        with connect(target.account, timeout=_READY_WITHIN) as query:
            query(f"USE {quote_identifier(target.database)}")
            if self._options.is_cold and target.data is not None:
                if self._is_cold_innodb:
                    self._take_copy(query)
                else:
                    query(f"FLUSH TABLES {table.TABLE}")
                tables = (target.data / target.database).glob(f"{table.TABLE}.*")
                files = sorted(path for path in tables if path.is_file())
                cold.drop(files)
                size_of_files = sum(file.stat().st_size for file in files)
                facts[_CACHED] = cold.cached(files) / max(1, size_of_files)
            if self._options.sql is None:
                facts["bytes_a_run"] = float(threads * _table_bytes(query, target.database))
        return facts

    def _take_copy(self, query: Query) -> None:
        """Rename a copy that this server has not read yet to the name that queries use."""
        fresh = sorted(str(name) for (name,) in query(f"SHOW TABLES LIKE '{_COPY}%'"))
        if not fresh:
            raise ServerError(Cause(CauseCode.NO_COLD_COPY))
        number = self._copies - len(fresh)
        moves = [f"{table.TABLE} TO scan_read{number}"] if number else []
        query(f"RENAME TABLE {', '.join([*moves, f'{fresh[0]} TO {table.TABLE}'])}")


def _table_bytes(query: Query, database: str) -> int:
    with suppress(RefusedError):  # only builds that cache such figures, a day by default, have it
        query("SET SESSION information_schema_stats_expiry = 0")
    rows = query(
        "SELECT data_length FROM information_schema.tables WHERE table_schema = %s AND table_name = %s",
        (database, table.TABLE),
    )
    return whole(rows[0][0] or 0) if rows else 0
