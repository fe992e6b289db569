"""sysbench: the load that the published experiments use."""

from __future__ import annotations

import os
import re
import shutil
from functools import cached_property
from pathlib import Path
from typing import Any

from dialin.errors import UserError, WorkloadError
from dialin.model.cause import Cause, CauseCode
from dialin.model.workload import LoadTraits, WorkloadSpec
from dialin.readers.sysbench_log import interval_figures
from dialin.servers.account import Account
from dialin.servers.load_sessions import UnreportedSessions
from dialin.workloads import driver_process, private, sysbench_account
from dialin.workloads.base import Second, Target, Workload, digest_of
from dialin.workloads.driver_process import DriverLoad, DriverProcess, EndedError
from dialin.workloads.sysbench_workloads import (
    BULK_INSERT,
    GROWING,
    SYSBENCH_SCRIPTS,
    SysbenchTables,
    check_options,
    data_options,
    size_keys,
    tables_of,
)

_DATA_VERSION = 2
"""Version of the facts of prepared data: 2 since tables that start empty are distinguished from those with rows."""


class Sysbench(Workload):
    """A sysbench script with its sizes."""

    def __init__(self, spec: WorkloadSpec, binary: str = "sysbench") -> None:
        self._spec = spec
        self._binary = binary

    @property
    def _script_file(self) -> Path | None:
        return None if self._spec.name in SYSBENCH_SCRIPTS else Path(self._spec.name)

    @property
    def _tables(self) -> SysbenchTables:
        return tables_of(self._spec)

    def check(self) -> None:
        if self._script_file is not None and not self._script_file.is_file():
            raise UserError(
                f"There is no workload or file {self._spec.name!r}",
                f"Use one of {', '.join(SYSBENCH_SCRIPTS)}, another workload of `dialin sweep --help`, or the path of a "
                "workload file (TOML) or of a sysbench Lua script",
            )
        if shutil.which(self._binary) is None:
            raise UserError("sysbench is not installed", "Install it: apt-get install sysbench")
        check_options(self._spec.options, of_file=False)
        for name in self._spec.options:
            if name not in self._known_options:
                raise UserError(
                    f"The workload {self._spec.name} has no option {name!r}",
                    f"It has {', '.join(sorted(self._known_options)) or 'none'}",
                )

    def check_account(self, account: Account) -> None:
        """Raise UserError where sysbench cannot log in: it supports neither every password nor every use of TLS."""
        sysbench_account.check(account)

    @cached_property
    def _known_options(self) -> frozenset[str]:
        """The script's own options, from its help; sysbench treats underscores and dashes alike."""
        done = driver_process.call([self._binary, self._script, "help"], self._environment)
        return frozenset(
            match.replace("_", "-") for match in re.findall(r"^\s+--([a-z][a-z0-9_-]*)", done.stdout, re.MULTILINE)
        )

    @property
    def _environment(self) -> dict[str, str]:
        """The environment of sysbench, in which a user's script finds the modules next to it."""
        inherited = private.environment()
        if self._script_file is None:
            return inherited
        return {**inherited, "LUA_PATH": f"{self._script_file.absolute().parent}/?.lua;{inherited.get('LUA_PATH', ';')}"}

    @property
    def _script(self) -> str:
        return str(self._script_file.absolute()) if self._script_file else self._spec.name

    def version(self) -> str:
        done = driver_process.call([self._binary, "--version"], private.environment())
        return " ".join(done.stdout.split()[:2]) or "sysbench"

    def describe_data(self) -> str:
        return f"{self._tables.describe() if self._has_sizes else 'the data'} for {self._spec.name}"

    @property
    def table_names(self) -> tuple[str, ...]:
        return () if self._script_file is not None or self._spec.name == BULK_INSERT else self._tables.names

    def data_facts(self) -> dict[str, Any]:
        """Return everything that determines the prepared data, including the text of a user's script."""
        facts: dict[str, Any] = {**data_options(self._spec, self._tables), "made": _DATA_VERSION}
        if digest := self.digest():
            facts["digest"] = digest
            facts["threads"] = self._spec.threads
        return facts

    def digest(self) -> str:
        """Return a digest of a user's script and of all scripts next to it, which it may load.

        Raises:
            UserError: a script cannot be read.
        """
        if self._script_file is None:
            return ""
        return digest_of([self._script_file, *sorted(self._script_file.absolute().parent.glob("*.lua"))])

    @property
    def traits(self) -> LoadTraits:
        """What a study must know about this load; a user's script may do anything to its data, so the data may grow."""
        return LoadTraits(
            grows=self._script_file is not None or self._spec.name in GROWING,
            size=self._tables.describe() if self._has_sizes else "",
            size_keys=size_keys(self._spec, self._tables),
        )

    @property
    def _has_sizes(self) -> bool:
        """Whether the study's sizes decide what is prepared; a user's script may not have these options."""
        return self._script_file is None or {"tables", "table-size"} <= self._known_options

    def expected_bytes(self) -> int:
        return self._tables.expected_bytes if self._has_sizes else 0

    @property
    def how_to_shrink(self) -> str:
        """The option that reduces the data; empty where the size is not known, or tables start empty."""
        return "a smaller --table-size" if self.expected_bytes() else ""

    def _arguments(self, target: Target, *, threads: int) -> list[str]:
        options: dict[str, object] = {
            **sysbench_account.options(target.account, target.directory),
            "db-driver": "mysql",
            "mysql-db": target.database,
            "threads": threads,
            **self._spec.options,
        }
        if "tables" in self._known_options:
            options["tables"] = self._spec.tables
        if "table-size" in self._known_options:
            options["table-size"] = self._spec.table_size
        if self._spec.rand_type:
            options["rand-type"] = self._spec.rand_type
        return [self._script, *(f"--{name}={value}" for name, value in options.items())]

    def prepare(self, target: Target) -> None:
        """Fill a server with the script's tables.

        Raises:
            UserError: sysbench cannot log in as the account.
            WorkloadError: sysbench failed; its last lines are in the error.
        """
        # bulk_insert makes a table for each thread; the others fill their tables in parallel.
        threads = self._spec.threads if self._spec.name == BULK_INSERT else min(self._spec.tables, os.cpu_count() or 1)
        script, *options = self._arguments(target, threads=threads)
        command = [self._binary, script, *options, "--rand-seed=1", "prepare"]
        words = driver_process.prepare("sysbench", command, target, self._environment, _sessions(target, threads))
        if words is not None:
            failed = Cause(CauseCode.DATA_NOT_PREPARED, {"driver": "sysbench", "words": _fatal(words)})
            raise WorkloadError(failed, sysbench_account.remedy(words), words)

    def start(self, target: Target, *, threads: int, seed: int, cpus: str | None) -> SysbenchLoad:
        """Start the load; it runs until it is stopped. Raise UserError where sysbench cannot log in as the account."""
        script, *options = self._arguments(target, threads=threads)
        options += [
            "--time=0",
            "--events=0",
            "--report-interval=1",
            f"--percentile={self._spec.percentile}",
            f"--rand-seed={seed}",
        ]
        if self._spec.rate:
            options.append(f"--rate={self._spec.rate}")
        arguments = [self._binary, script, *options, "run"]
        sessions = _sessions(target, threads)
        return SysbenchLoad(DriverProcess.start(arguments, target, cpus=cpus, environment=self._environment), sessions)


class SysbenchLoad(DriverLoad):
    """A running sysbench; `sessions` are recorded once it reports, because sysbench leaves its statements to the server."""

    def __init__(self, driver: DriverProcess, sessions: UnreportedSessions) -> None:
        super().__init__(driver)
        self._sessions = sessions

    def read(self, timeout: float) -> Second | None:
        try:
            second = self._driver.read(parse_line, timeout)
        except EndedError as error:
            words, number = error.words, error.signal
        else:
            if second is not None:
                self._sessions.record(self._driver.pid)
            return second
        if number:
            raise driver_process.killed("sysbench", number, words)
        ended = Cause(CauseCode.DRIVER_ENDED, {"driver": "sysbench", "words": _fatal(words)})
        raise WorkloadError(ended, sysbench_account.remedy(words), words)

    def stop(self) -> None:
        self._sessions.record(self._driver.pid)
        super().stop()


def parse_line(line: str) -> Second | None:
    """Read one interval report of sysbench 1.0.20; return None for any other line."""
    figures = interval_figures(line)
    return None if figures is None else Second(int(figures[0]), *figures[1:])


def _sessions(target: Target, threads: int) -> UnreportedSessions:
    return UnreportedSessions(target.account, target.database, threads, target.sessions_file)


def _fatal(text: str) -> str:
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    fatal = [line for line in lines if line.startswith(("FATAL", "ALERT"))]
    return (fatal or lines or ["it printed nothing"])[-1][:300]
