"""dialin-load: dialin's load driver, a separate program (crates/dialin-load)."""

from __future__ import annotations

import copy
import itertools
import os
import re
import subprocess
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from functools import cached_property
from pathlib import Path
from typing import Any, Self

from dialin.errors import UserError, WorkloadError
from dialin.model.cause import Cause, CauseCode
from dialin.model.load_driver import DriverChoice
from dialin.model.setting import whole_number
from dialin.model.workload import LoadTraits, WorkloadSpec
from dialin.paths import read_toml
from dialin.servers.account import Account
from dialin.workloads import dialin_load_account, driver_process, load_binary, private
from dialin.workloads.base import Second, Target, Workload, digest_of
from dialin.workloads.dialin_load_lines import OTHER_STREAM, STREAM, ErrorLine, Report, parse_stream_line
from dialin.workloads.driver_process import DriverLoad, DriverProcess, EndedError
from dialin.workloads.load_binary import LOAD_WORKLOADS, WITH_ONE_TABLE, WORKLOAD_FILE
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
"""Version of the data that the driver prepares for sysbench's workloads: 2 since it reports as many tables as it makes."""

_BUILD = re.compile(r"\(build ([^\s,]+)")
"""The build in the output of `--version`."""

_RECONNECT_FOR = 1
"""Seconds without any connection after which the driver ends: a trial whose server died has failed."""

_NOOP = "noop"

_NO_SCHEMA = "Unknown database"
"""The server's error where the schema does not exist."""

_FIXED_SIZE = (_NOOP,)
"""dialin-load's own workloads whose data neither grows nor shrinks."""

_ASSUMED_BYTES = 256 * 1024**2
"""Size assumed for the data of workloads whose options only the driver understands."""

_TPCC_LIKE = "tpcc-like"
_TPCC_SIZES = {"warehouses": 1, "districts": 10, "customers": 3000, "items": 100_000}
"""The sizes of tpcc-like that decide how much data it has, and their defaults (crates/dialin-load/workloads/tpcc-like.toml)."""

_BYTES_PER_ITEM, _BYTES_PER_STOCK, _BYTES_PER_CUSTOMER = 180, 440, 2620
"""Of tpcc-like, as measured on MySQL 9.7: an item, its stock in a warehouse, a customer with the initial orders."""


_RECENT = 10
"""Latest seconds whose slowest transaction an unfinished one is compared with: a slow warm-up must not hide a final stall."""


class DialinLoad(Workload):
    """A workload of dialin-load with its sizes; `binary` is the program, None for the one that is installed."""

    def __init__(self, spec: WorkloadSpec, binary: Path | None = None) -> None:
        self._spec = spec
        self._asked_binary = binary
        self._choice: DriverChoice | None = None
        self._warmup = 0

    @cached_property
    def _binary(self) -> Path:
        return self._asked_binary or load_binary.need()

    @property
    def _workload_file(self) -> Path | None:
        return Path(self._spec.name) if self._spec.name.endswith(WORKLOAD_FILE) else None

    @property
    def _is_sysbench_workload(self) -> bool:
        return self._spec.name in SYSBENCH_SCRIPTS

    @property
    def table_names(self) -> tuple[str, ...]:
        return self._tables.names if self._is_sysbench_workload else ()

    @property
    def _tables(self) -> SysbenchTables:
        return tables_of(self._spec, WITH_ONE_TABLE)

    @property
    def _size(self) -> str:
        return self._tables.describe() if self._is_sysbench_workload else ""

    def check(self) -> None:
        """Raise UserError where workload, option or driver is not there or of another build, or the file has a mistake."""
        if self._workload_file is not None and not self._workload_file.is_file():
            raise UserError(f"There is no workload file {self._workload_file}", "Name a workload file (docs/workload-files.md)")
        if self._workload_file is None and not self._is_sysbench_workload and self._spec.name not in LOAD_WORKLOADS:
            raise UserError(
                f"dialin-load has no workload {self._spec.name!r}",
                f"It has {', '.join((*SYSBENCH_SCRIPTS, *LOAD_WORKLOADS))}, and workload files (TOML)",
            )
        _check_load_hosts(self._spec)
        check_options(self._spec.options, of_file=not self._is_sysbench_workload)
        self.check_stream()
        # The driver reads the workload with its options, and refuses unknown ones.
        done = self._call("show", self._spec.name, "--json", *self._options(self._spec.threads))
        if done.returncode != 0:
            if self._workload_file is not None and _describes_program(self._workload_file):
                what = f"{self._workload_file} describes a load program"
                raise UserError(what, f"Give --workload command:{self._workload_file}")
            error = _find_error(done.stdout)
            raise UserError(error.what, error.remedy)

    def check_stream(self) -> None:
        """Raise UserError where the driver is of another build than dialin."""
        if f"stream {STREAM})" not in self._call("--version").stdout:
            raise UserError(OTHER_STREAM.what, f"{OTHER_STREAM.remedy}; the program is {self._binary}")

    def check_account(self, account: Account) -> None:
        dialin_load_account.check(account)

    def call_load_hosts(self) -> Iterator[str]:
        for address in self._spec.load_hosts or ():
            login = ["run", _NOOP, "--json", "--connections=1", "--transactions=1", *_agents(self._spec, [address])]
            done = self._call(*login)
            if done.returncode != 0 and _NO_SCHEMA not in done.stdout:  # the study may create it
                error = _find_error(done.stdout)
                raise UserError(error.what, error.remedy)
            yield address

    def _call(self, *words: str) -> subprocess.CompletedProcess[str]:
        return driver_process.call([self._binary, *words], private.environment())

    def version(self) -> str:
        """Return the driver's name and build, such as `dialin-load 0.1.0+5f1c`: the version with a digest of its sources."""
        build = _BUILD.search(self._call("--version").stdout)
        return f"{load_binary.NAME} {build[1]}" if build else load_binary.NAME

    def describe_data(self) -> str:
        options = ", ".join(f"{name}={value}" for name, value in self._spec.options.items())
        return " ".join(filter(None, [self._size or "the data", "for", self._spec.name, f"({options})" if options else ""]))

    def data_facts(self) -> dict[str, Any]:
        """Return everything that determines the prepared data, including the text of a workload file.

        Tables made by sysbench have the same shape but other rows, so that the two drivers never share a dataset.
        """
        facts: dict[str, Any] = {**data_options(self._spec, self._tables), "driver": load_binary.NAME}
        if self._is_sysbench_workload:
            facts["made"] = _DATA_VERSION
        else:
            facts["version"] = self.version().partition("+")[0]
        if digest := self.digest():
            facts["digest"] = digest
        return facts

    def digest(self) -> str:
        return digest_of([self._workload_file]) if self._workload_file is not None else ""

    @property
    def traits(self) -> LoadTraits:
        """What a study must know about this load; a workload file may do anything to its data, so the data may grow."""
        grows = self._spec.name in GROWING if self._is_sysbench_workload else self._spec.name not in _FIXED_SIZE
        keys = size_keys(self._spec, self._tables) if self._is_sysbench_workload else {}
        return LoadTraits(grows=grows, size=self._size, size_keys=keys)

    def expected_bytes(self) -> int:
        if self._is_sysbench_workload:
            return self._tables.expected_bytes
        if self._spec.name == _NOOP:
            return 0
        return _tpcc_bytes(self._spec.options) if self._spec.name == _TPCC_LIKE else _ASSUMED_BYTES

    @property
    def how_to_shrink(self) -> str:
        if not self.expected_bytes():
            return ""
        if self._is_sysbench_workload:
            return "a smaller --table-size"
        if self._spec.name == _TPCC_LIKE:
            return "a smaller --workload-option warehouses"
        return "smaller sizes of the workload (--workload-option)"

    def _options(self, threads: int) -> list[str]:
        options: dict[str, object] = {}
        if self._is_sysbench_workload:
            options["threads"] = threads
            if self._spec.name != BULK_INSERT:
                options |= {"table-size": self._spec.table_size, "tables": self._tables.count}
        options |= self._spec.options
        if self._spec.rand_type:
            options["rand-type"] = self._spec.rand_type
        return [word for name, value in options.items() for word in ("--option", f"{name}={value}")]

    @property
    def separate_tables(self) -> tuple[str, ...]:
        return self.table_names if self._spec.name != BULK_INSERT else ()

    def prepare_tables(self, target: Target, names: Sequence[str]) -> None:
        self._prepare(target, f"--only={','.join(names)}")

    def prepare(self, target: Target) -> None:
        self._prepare(target)

    def _prepare(self, target: Target, *only: str) -> None:
        account = dialin_load_account.options(target, target.database)
        words = [str(self._binary), "prepare", self._spec.name, *account, "--json", *only, *self._options(self._spec.threads)]
        output = driver_process.prepare("dialin-load", words, target, private.environment())
        if output is not None:
            error = _find_error(output)
            raise WorkloadError(
                Cause(CauseCode.DATA_NOT_PREPARED, error.figures),
                error.remedy,
                _without_stream(output) or error.what,
                fault=error.fault,
            )

    def pinned(self, choice: DriverChoice | None, warmup: float) -> Self:
        """Return this load with the driver's choice in the first trial; without one it chooses by the end of its warm-up."""
        pinned = copy.copy(self)
        # The driver decides one second early: only a second that begins after the decision reports it.
        pinned._choice, pinned._warmup = choice, max(0, round(warmup) - 1)
        return pinned

    @property
    def is_choosing(self) -> bool:
        """Whether the driver decides by the end of its warm-up if it gathers answers.

        It never does so at a fixed rate, nor on load hosts, which might decide differently.
        """
        return self._choice is None and not self._spec.rate and not self._spec.load_hosts

    def _choice_options(self) -> list[str]:
        if self._spec.load_hosts:
            return ["--gather=off"]
        if self._choice is not None:
            return [f"--load-threads={self._choice.load_threads}", f"--gather={'on' if self._choice.gather else 'off'}"]
        return [f"--warmup={self._warmup}"] if self.is_choosing else []

    def start(self, target: Target, *, threads: int, seed: int, cpus: str | None) -> DialinLoadRun:
        if self._spec.load_hosts:
            source = [f"--sessions-file={target.sessions_file}", *_agents(self._spec, self._spec.load_hosts)]
        else:
            source = dialin_load_account.options(target, target.database)
        words = [str(self._binary), "run", self._spec.name, *source, "--json", f"--connections={threads}", "--time=0"]
        words += [f"--reconnect-for={_RECONNECT_FOR}", *self._choice_options()]
        words += [f"--seed={seed}", *([f"--rate={self._spec.rate}"] if self._spec.rate else []), *self._options(threads)]
        driver = DriverProcess.start(words, target, cpus=cpus, environment=private.environment(), ends_statements=True)
        return DialinLoadRun(driver, self._spec.percentile)


class DialinLoadRun(DriverLoad):
    """A running dialin-load; `percentile` is the percentile of latency that its seconds have."""

    def __init__(self, driver: DriverProcess, percentile: int) -> None:
        super().__init__(driver)
        self._percentile = percentile
        self._timers = 0
        self._late_ms = 0.0
        self._latest_ms = 0.0
        self._dropped = 0
        self._unprepared = 0
        self._last: Report | None = None
        self._recent_ms: deque[float] = deque(maxlen=_RECENT)
        self._longest_ms = 0.0
        self._failed_ms = 0.0
        self._seconds_read = 0.0
        self._thread_cpu: list[float] = []
        self._completed = 0.0
        self._latency_sum_ms = 0.0
        self._queued_sum_ms = 0.0

    def read(self, timeout: float) -> Second | None:
        report = self._next(timeout)
        if report is None:
            return None
        self._count(report)
        return report.second

    def _next(self, timeout: float) -> Report | None:
        try:
            report: Report | ErrorLine | None = self._driver.read(self._parse, timeout)
        except EndedError as ended:
            error, tail = _find_error(ended.words), _without_stream(ended.words)
            if ended.signal:
                raise driver_process.killed(load_binary.NAME, ended.signal, tail) from None
            raise WorkloadError(Cause(CauseCode.DRIVER_ENDED, error.figures), error.remedy, tail, fault=error.fault) from None
        if isinstance(report, ErrorLine):
            cause = Cause(CauseCode.DRIVER_ERROR, report.figures)
            raise WorkloadError(cause, report.remedy, f"{report.what}\n{report.remedy}", fault=report.fault)
        return report

    def _parse(self, line: str) -> Report | ErrorLine | None:
        return parse_stream_line(line, self._percentile)

    def _count(self, report: Report) -> None:
        self._timers += report.timers.count
        self._late_ms += report.timers.late_ms
        self._latest_ms = max(self._latest_ms, report.timers.most_ms)
        self._dropped += report.dropped
        self._unprepared += report.unprepared
        self._last = report
        self._recent_ms.append(report.longest_ms)
        self._longest_ms = max(self._longest_ms, report.longest_ms)
        self._failed_ms = max(self._failed_ms, report.failed_ms)
        self._seconds_read += report.second.seconds
        self._completed += report.second.tps * report.second.seconds
        self._latency_sum_ms += report.latency_sum_ms
        self._queued_sum_ms += report.queued_sum_ms
        pairs = itertools.zip_longest(self._thread_cpu, report.thread_cpu, fillvalue=0.0)
        self._thread_cpu = [before + cpu for before, cpu in pairs]

    def facts(self) -> Mapping[str, float]:
        """Return what the latencies of this load leave out, and how late the driver's own timers were.

        `unfinished` transactions were open at the end, the oldest for `unfinished_ms`; both are 0 unless that is longer than
        the slowest transaction of the last `_RECENT` seconds took. `failed_ms` is the time of the slowest failed transaction; 0
        unless it exceeds that of the slowest successful one. `busiest_thread` is the share of a CPU that the busiest load
        thread used. `dropped` transactions never began. `unprepared` statements were sent as text. Transactions waited for a
        connection for `queued_ms` on average, which is the share `queued_share` of their latency.
        Timers were late by `late_ms` on average and `latest_ms` at most; both are missing where the driver had no timers.
        """
        last = self._last
        is_stalled = last is not None and last.oldest_ms > max(self._recent_ms)
        facts = {
            "unfinished": float(last.unfinished) if last and is_stalled else 0.0,
            "unfinished_ms": last.oldest_ms if last and is_stalled else 0.0,
            "failed_ms": self._failed_ms if self._failed_ms > self._longest_ms else 0.0,
            "dropped": float(self._dropped),
            "unprepared": float(self._unprepared),
            "busiest_thread": max(self._thread_cpu) / self._seconds_read if self._thread_cpu else 0.0,
            "queued_ms": self._queued_sum_ms / self._completed if self._completed else 0.0,
            "queued_share": self._queued_sum_ms / self._latency_sum_ms if self._latency_sum_ms else 0.0,
        }
        if self._timers:
            facts |= {"late_ms": self._late_ms / self._timers, "latest_ms": self._latest_ms}
        return facts


def _tpcc_bytes(options: Mapping[str, str]) -> int:
    texts = {name: options.get(name, "") for name in _TPCC_SIZES}
    sizes = {name: _TPCC_SIZES[name] if (size := whole_number(text)) is None else size for name, text in texts.items()}
    customers = sizes["districts"] * sizes["customers"]
    per_warehouse = sizes["items"] * _BYTES_PER_STOCK + customers * _BYTES_PER_CUSTOMER
    return sizes["items"] * _BYTES_PER_ITEM + sizes["warehouses"] * per_warehouse


def _check_load_hosts(spec: WorkloadSpec) -> None:
    """Raise UserError where there are fewer connections than load hosts, or their token cannot be read."""
    if not spec.load_hosts:
        return
    fewest = min(spec.levels or (spec.threads,))
    if fewest < len(spec.load_hosts):
        raise UserError(
            f"{len(spec.load_hosts)} load hosts cannot share {fewest} connections: each takes at least one",
            "Give more --threads, or fewer --load-hosts",
        )
    if not spec.load_token or not os.access(spec.load_token, os.R_OK):
        raise UserError(
            f"The token {spec.load_token} cannot be read",
            "Make it as docs/fleet.md shows, and give each agent the same: head -c 32 /dev/urandom | base64 >load.token",
        )


def _agents(spec: WorkloadSpec, addresses: Sequence[str]) -> list[str]:
    """Return the options that have the agents at these addresses apply the load.

    Each agent logs in with its own account, from options given on its host: no password is ever sent to it.
    """
    return [f"--agents={','.join(addresses)}", f"--token-file={spec.load_token}"]


def _without_stream(text: str) -> str:
    return "\n".join(line for line in text.splitlines() if not line.startswith("{"))


def _describes_program(path: Path) -> bool:
    """Return whether a TOML file is one of the kind `command`."""
    with suppress(UserError):
        return {"run", "output"} <= read_toml(path, "").keys()
    return False


def _find_error(text: str) -> ErrorLine:
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    for line in reversed(lines):
        if isinstance(error := parse_stream_line(line), ErrorLine):
            return error
    last = [line for line in lines if not line.startswith("{")]
    return ErrorLine((last or ["it printed nothing"])[-1][:300], "See its log")
