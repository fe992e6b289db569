"""Any program that applies load: prepares its data, runs it until it is stopped, and reads what it reports."""

from __future__ import annotations

import shutil
import signal
import socket
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import ExitStack, suppress
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import Any

from dialin.errors import UserError, WorkloadError
from dialin.model.cause import Cause, CauseCode
from dialin.model.workload import LoadLimit, LoadTraits, WorkloadSpec
from dialin.readers.load_rows import MEAN, LoadRow, belongs
from dialin.servers.account import Account
from dialin.servers.load_sessions import UnreportedSessions
from dialin.servers.processes import spawn, tail
from dialin.servers.sandbox import free_port, tcp_account
from dialin.variables import optionfile
from dialin.workloads import driver_process, private
from dialin.workloads.base import Second, Target, Workload, digest_of
from dialin.workloads.command import load_file
from dialin.workloads.command.growing_file import GrowingFile
from dialin.workloads.command.intervals import Intervals
from dialin.workloads.command.load_file import HOST, PASSWORD, PORT, SOCKET, LoadFile
from dialin.workloads.command.preset_names import path_of
from dialin.workloads.command.process_group import ProcessGroup
from dialin.workloads.driver_process import DriverLoad, DriverProcess, EndedError

_FOREVER = 7 * 24 * 3600
"""Seconds that a program is asked to run; it is stopped when its trial ends."""

_SERVICE_WITHIN = 60.0
_CHECK_WITHIN = 600.0
_PREPARE_WITHIN = 6 * 3600.0
_OPTION_FILE = "load.cnf"
_MOST_KINDS = 200
_MOST_FALLS = 3
"""How often totals may begin again: a program may reset them once it has started all its clients."""
_LONGEST_LINE = 64 * 1024
"""Characters of a line in which figures are looked for: an expression may take long on more."""


_COMPARE = "Compare what it prints with output in the file"
_BUFFERED = (
    "Many programs keep lines in a buffer while they write to a pipe: have it write each line at once, such as by "
    "`stdbuf -oL PROGRAM` or `python -u`"
)


class Command(Workload):
    """The load of a program that a file describes."""

    def __init__(self, spec: WorkloadSpec) -> None:
        self._spec = spec
        self._path = path_of(spec.name)

    @cached_property
    def file(self) -> LoadFile:
        return load_file.read(self._path)

    @property
    def _options(self) -> dict[str, str]:
        return {name: str(value) for name, value in {**self.file.options, **self._spec.options}.items()}

    def check(self) -> None:
        """Raise UserError where one of its programs is not installed, a path is relative, or the file has mistakes."""
        for name, value in self._options.items():
            path = Path(value)
            if not path.is_absolute() and (path.suffix or "/" in value) and path.is_file():
                raise UserError(
                    f"{self.file.name} runs in a directory of its own, where {name}={value} is not found",
                    f"Give --workload-option {name}={path.absolute()}",
                )
        for part, words in self.file.commands.items():
            program = self._filled_early(words[0])
            if "/" in program and not Path(program).is_absolute():
                raise UserError(
                    f"{self.file.name} runs in a directory of its own, where the program {program} of {part} is not found",
                    "Give its absolute path, or {file_directory}/PROGRAM if it is beside the workload file",
                )
            if shutil.which(program) is None:
                raise UserError(
                    f"{self.file.name}: the program {program} of {part} is not installed, or is not executable",
                    self.file.install or "Install it, or correct its path in the file",
                )

    def _filled_early(self, word: str) -> str:
        """Return a word with what is known without a server."""
        return load_file.fill(word, {**self._options, "file_directory": str(self._path.absolute().parent)})

    def _files_in(self, parts: Iterable[str]) -> list[Path]:
        """Return the files that are arguments of some of its programs, such as a script."""
        arguments = [word for part in parts for word in self.file.commands.get(part, ())[1:]]
        return [path for path in map(Path, map(self._filled_early, arguments)) if path.is_file()]

    def check_account(self, account: Account) -> None:
        """Raise UserError where it uses the socket of an account that has none, or host and port of one with a socket."""
        uses = self.file.placeholders
        if account.socket is not None and uses & {HOST, PORT}:
            raise UserError(f"{self.file.name} connects to {{host}} and {{port}}", "Give host and port instead of a socket")
        if account.socket is None and SOCKET in uses:
            raise UserError(f"{self.file.name} connects to {{socket}}", "Give the server's socket, or use {host} and {port}")

    def version(self) -> str:
        return f"{self.file.name} ({Path(self.file.run[0]).name})"

    @property
    def needs_port(self) -> bool:
        return self.file.needs_port

    def describe_data(self) -> str:
        options = ", ".join(f"{name}={value}" for name, value in self._options.items())
        return f"the data of {self.file.name}{f' ({options})' if options else ''}"

    def data_facts(self) -> dict[str, Any]:
        used = [word for word in (*self.file.prepare, *self.file.environment.values()) if "{" in word]
        options = {name: value for name, value in self._options.items() if any(f"{{{name}}}" in word for word in used)}
        files = digest_of(self._files_in(["prepare"]))
        return {"command": list(self.file.prepare), "options": options, "name": self.file.name, "files": files}

    def expected_bytes(self) -> int:
        return self.file.data_bytes(self._options)

    def digest(self) -> str:
        return digest_of([self._path, *self._files_in(["service", "run", "check", "cleanup"])])

    @property
    def patience(self) -> float:
        return max(30.0, 5 * self.file.interval)

    @property
    def traits(self) -> LoadTraits:
        """What a study must know about this load: how often it reports, and what its figures do not show."""
        file, percentile = self.file, self.file.percentile(self._spec.percentile)
        sentences = {
            "long_interval": f"{file.name} reports every {file.interval:g} s: shorter stalls are not visible, and samples, "
            "stalls and variation are of such intervals",
            "no_percentile": f"{file.name} reports no p{self._spec.percentile} latency: the latency shown is its mean"
            if percentile == MEAN
            else f"{file.name} reports neither p{self._spec.percentile} latency nor its mean: no latency is shown",
            "mixed_percentile": f"{file.name} reports latency by kind of transaction: the latency shown is the mean of the "
            "kinds' percentiles, weighted by transactions",
            "other_interval": f"{file.name} usually reports less often than every {file.interval:g} s, the interval in its "
            "file: its samples are longer, and its trials take longer than planned",
            "password_in_arguments": f"{file.name} takes the password on its command line, where every user of the machine can "
            "read it",
            "missing_share": f"{file.name} reported nothing for up to {{share}} of the time in {{trials}}; those seconds are "
            "not in its figures",
        }
        limits = [LoadLimit(gauge=f"command_{name}", most=0.01, code=name, text=text) for name, text in sentences.items()]
        return LoadTraits(
            grows=file.data == "grows",
            unit=file.unit,
            limits=tuple(limits),
            interval=file.interval,
            has_latency=percentile is not None,
        )

    def _values(self, target: Target, threads: int, seed: int) -> dict[str, str]:
        """Return the values of all placeholders, and write the option file if it is used."""
        account = target.account
        values = {
            **self._options,
            HOST: "127.0.0.1" if account.host == "localhost" else account.host,
            PORT: str(account.port),
            SOCKET: str(account.socket or ""),
            "user": account.user,
            PASSWORD: account.password,
            "option_file": str(target.directory / _OPTION_FILE),
            "database": target.database,
            "threads": str(threads),
            "seconds": str(_FOREVER),
            "rate": str(self._spec.rate),
            "seed": str(seed),
            "directory": str(target.directory),
            "file_directory": str(self._path.absolute().parent),
        }
        if "app_port" in self.file.placeholders:
            values["app_port"] = str(free_port())
        if "option_file" in self.file.placeholders:
            names = (SOCKET,) if account.socket else (HOST, PORT)
            client = {name: values[name] for name in (*names, "user", PASSWORD) if values[name]}
            private.write(target.directory / _OPTION_FILE, optionfile.render({"client": client}))
        return values

    def _environment(self, values: Mapping[str, str], group: ProcessGroup) -> dict[str, str]:
        given = {name: load_file.fill(text, values) for name, text in self.file.environment.items()}
        password = {"MYSQL_PWD": values[PASSWORD]} if values[PASSWORD] else {}
        return {**private.environment(), **password, **given, **group.environment}

    def _reached(self, target: Target) -> Target:
        """Return the server as the program reaches it: of a sandbox with a port, through an account of its own."""
        if not self.needs_port or target.account.socket is None:
            return target
        return replace(target, account=tcp_account(target.account, target.database), record=target.sessions_file)

    def prepare(self, target: Target) -> None:
        if self.file.prepare:
            self._run("prepare", self.file.prepare, target, CauseCode.DATA_NOT_PREPARED, _PREPARE_WITHIN)

    def check_data(self, target: Target) -> None:
        if self.file.check:
            self._run("check", self.file.check, target, CauseCode.DATA_NOT_CONSISTENT, _CHECK_WITHIN)

    def _run(self, step: str, words: Sequence[str], target: Target, failed: CauseCode, limit: float) -> None:
        """Run a program to its end; nothing of it is left. Raise WorkloadError where it failed."""
        reached, group = self._reached(target), ProcessGroup()
        values = self._values(reached, self._spec.threads, 1)
        filled = [load_file.fill(word, values) for word in words]
        try:
            group.guard()
            name, environment = f"{self.file.name} ({step})", self._environment(values, group)
            output = driver_process.prepare(name, filled, reached, environment, limit=limit)
        finally:
            group.end(signal.SIGKILL, 0.0, lambda: None)
        if output is not None:
            figures = {"driver": self.file.name, "words": _last_line(output)}
            raise WorkloadError(Cause(failed, figures), "See its last lines", output)

    def start(self, target: Target, *, threads: int, seed: int, cpus: str | None) -> CommandLoad:
        """Start the service, if the file has one, and then the program; they run until they are stopped.

        Raises:
            WorkloadError: the service did not start.
        """
        reached, group = self._reached(target), ProcessGroup()
        values = self._values(reached, threads, seed)
        environment = self._environment(values, group)

        def filled(words: Sequence[str]) -> list[str]:
            return [load_file.fill(word, values) for word in words]

        output = None
        if self.file.output.file:  # a relative path is the program's
            output = GrowingFile.anew(target.directory / load_file.fill(self.file.output.file, values))
        sessions = UnreportedSessions(reached.account, reached.database, threads, reached.sessions_file)
        driver = None
        try:
            if self.file.service:
                self._start_service(filled(self.file.service), reached, cpus, environment, group, values.get("app_port"))
            driver = DriverProcess.start(filled(self.file.run), reached, cpus=cpus, environment=environment)
            group.guard(driver.pid)
        except BaseException:
            group.end(signal.SIGKILL, 0.0, lambda: None)
            if driver is not None:
                driver.stop()
            raise

        def clean_up() -> None:
            if self.file.cleanup:
                name = f"{self.file.name} (cleanup)"
                driver_process.prepare(name, filled(self.file.cleanup), reached, environment, limit=_CHECK_WITHIN)

        return CommandLoad(driver, self.file, self._spec.percentile, group, sessions, output, clean_up)

    def _start_service(
        self,
        words: Sequence[str],
        target: Target,
        cpus: str | None,
        environment: Mapping[str, str],
        group: ProcessGroup,
        port: str | None,
    ) -> None:
        log = target.directory / "service.log"
        with ExitStack() as opened:
            output = opened.enter_context(log.open("wb"))
            process = spawn(words, target.directory, "service", output, cpus=cpus, environment=environment)
            opened.pop_all()  # the group closes it
        group.adopt(process, output)
        limit = time.monotonic() + _SERVICE_WITHIN
        while port is not None:
            with suppress(OSError), socket.create_connection(("127.0.0.1", int(port)), 1.0):
                return
            printed = driver_process.without_password(tail(log), target.account.password)
            if group.log_of_failed_service() is not None:
                raise _service_ended(self.file.name, printed)
            if time.monotonic() > limit:
                what = f"The service of {self.file.name} does not listen on 127.0.0.1:{port} after {_SERVICE_WITHIN:.0f} s"
                raise WorkloadError(what, "Have it listen on the port {app_port}", printed)
            time.sleep(0.1)


class CommandLoad(DriverLoad):
    """A running program, with its service and all that they have started."""

    def __init__(
        self,
        driver: DriverProcess,
        file: LoadFile,
        percentile: int,
        group: ProcessGroup,
        sessions: UnreportedSessions,
        output: GrowingFile | None,
        clean_up: Callable[[], None],
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        super().__init__(driver)
        self._file = file
        self._group = group
        self._sessions = sessions
        self._output = output
        self._clean_up = clean_up
        self._monotonic = monotonic
        self._parse = file.output.reader()
        per = 60.0 if file.output.per == "minute" else 1.0
        self._percentile = file.percentile(percentile)
        self._wanted = percentile
        self.intervals = Intervals(file.interval, self._percentile, cumulative=file.output.cumulative, per=per)
        self._began = monotonic()
        self.intervals.begin(self._began)
        self._next: LoadRow | None = None
        self._kinds: set[str] = set()
        self._has_errors_apart = False
        self._last_line = ""
        self._cpu = 0.0
        self._read_seconds = 0.0
        self._is_stopped = False
        self.was_killed = False

    def read(self, timeout: float) -> Second:
        """Return the next sample.

        Raises:
            WorkloadError: the program or its service ended, or printed nothing that is read as figures for `timeout` seconds.
            UserError: what it prints as kinds, totals or intervals are none.
        """
        limit = self._monotonic() + timeout
        while (rows := self._rows(limit)) is not None:
            second = self.intervals.second(rows, self._monotonic())
            if second is not None:
                self._read_seconds += second.seconds
                self._group.shorten_logs()
                self._sessions.record(self._driver.pid)
                self._check_service()
                self._check_intervals()
                return second
            if self._monotonic() >= limit:  # errors without end are no sample
                break
        self._check_service()
        code = CauseCode.DRIVER_OTHER_FORM if self._last_line else CauseCode.DRIVER_SILENT
        figures = {"driver": self._file.name, "seconds": timeout, "words": self._driver.hide(self._last_line)[:300]}
        raise WorkloadError(Cause(code, figures), _COMPARE if self._last_line else _BUFFERED)

    def _check_service(self) -> None:
        if log := self._group.log_of_failed_service():
            raise _service_ended(self._file.name, self._driver.hide(tail(log)))

    def _check_intervals(self) -> None:
        if self.intervals.is_too_long:
            raise UserError(
                f"{self._file.name} reports more often than every {self._file.interval:g} s, the interval in its file",
                "Correct interval in the file",
            )
        if self.intervals.falls > _MOST_FALLS:
            raise UserError(
                f"The totals that {self._file.name} prints become smaller again and again",
                "Remove cumulative from the file where count is of one interval",
            )

    def _rows(self, limit: float) -> list[LoadRow] | None:
        """Return the rows of one interval; None where none came until `limit`."""
        first = self._next or self._row(limit)
        self._next = None
        if first is None:
            return None
        rows = [first]
        self._note_kind(first)
        self._has_errors_apart = self._has_errors_apart or first.has_only_errors
        if not (self._file.output.has_kinds or self._has_errors_apart):
            return rows
        # What did nothing is not printed, so only a pause or the next interval shows that all rows are here.
        pause = min(0.2, self._file.interval / 4)
        while (row := self._row(self._monotonic() + pause)) is not None:
            if not belongs(rows, row, self._file.interval / 2):
                self._next = row
                break
            rows.append(row)
            self._note_kind(row)
        return rows

    def _note_kind(self, row: LoadRow) -> None:
        self._kinds.add(row.kind)
        if len(self._kinds) > _MOST_KINDS:
            raise UserError(
                f"{self._file.name} reports more than {_MOST_KINDS:,} kinds of transactions",
                "Let the figure kind of the workload file match kinds alone",
            )

    def _row(self, limit: float) -> LoadRow | None:
        while True:
            left = limit - self._monotonic()
            wait = min(0.05, max(0.0, left)) if self._output is not None else min(1.0, max(0.0, left))
            try:
                row = self._driver.read(self._parse_output if self._output is None else self._note, wait)
            except EndedError as error:
                if self._output is None or not any(self._group.members()):
                    self._check_service()
                    raise self._ended(error) from None
                time.sleep(wait)  # what it has left behind goes on and writes the file
                row = None
            if row is None and self._output is not None:
                row = self._output.read(self._parse_output)
            if row is not None:
                return row
            if self._driver.has_ended and not [*self._group.members()]:
                raise self._ended(self._driver.ended())
            if self._monotonic() >= limit:
                return None

    def _parse_output(self, line: str) -> LoadRow | None:
        self._note(line)
        return self._parse(line[:_LONGEST_LINE])

    def _note(self, line: str) -> None:
        self._last_line = line.strip()[:_LONGEST_LINE] or self._last_line

    def _ended(self, error: EndedError) -> WorkloadError:
        if error.signal:
            return driver_process.killed(self._file.name, error.signal, error.words)
        figures = {"driver": self._file.name, "words": _last_line(error.words)}
        return WorkloadError(Cause(CauseCode.DRIVER_ENDED, figures), "See its last lines", error.words)

    def cpu_seconds(self) -> float:
        self._cpu = max(self._cpu, self._group.cpu_seconds())  # a child that nobody waited for takes its time with it
        return self._cpu

    def facts(self) -> Mapping[str, float]:
        """Return what the figures do not show, as shares of 1 where they have a caveat, and the context switches."""
        covered, missing = self._read_seconds or 1.0, self.intervals.missing
        return {
            "command_long_interval": float(self._file.interval > 1),
            "command_no_percentile": float(self._percentile != self._wanted),
            "command_mixed_percentile": float(self._file.output.has_kinds and self._percentile not in (None, MEAN)),
            "command_other_interval": float(self.intervals.usual >= 1.5 * self._file.interval),
            "command_password_in_arguments": float(self._file.puts_password_in_arguments),
            "command_missing_share": missing / (missing + covered),
            "switches_per_second": self._group.switches() / max(1e-9, self._monotonic() - self._began),
        }

    def stop(self) -> None:
        if self._is_stopped:
            return
        self._is_stopped = True
        self.cpu_seconds()
        self._sessions.record(self._driver.pid)
        by = signal.SIGINT if self._file.stop == "INT" else signal.SIGTERM
        self.was_killed = self._group.end(by, self._file.grace, self._driver.drain)
        super().stop()
        if self._output is not None:
            self._output.close()
        self._clean_up()


def _service_ended(name: str, printed: str) -> WorkloadError:
    figures = {"driver": f"The service of {name}", "words": _last_line(printed)}
    return WorkloadError(Cause(CauseCode.DRIVER_ENDED, figures), "See its last lines", printed)


def _last_line(text: str) -> str:
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return (lines or ["it printed nothing"])[-1][:300]
