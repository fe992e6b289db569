"""A running load driver: its output line by line, the CPU time that it uses, and its end."""

from __future__ import annotations

import functools
import os
import select
import signal
import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import IO, TypeVar

from dialin.errors import DialinError, DriverKilledError, MachineError, UserError, WorkloadError, os_error
from dialin.model.cause import Cause, CauseCode
from dialin.probes import host
from dialin.servers.load_sessions import UnreportedSessions, end_left
from dialin.servers.processes import kill, signal_name, spawn, tail, wait_shortening
from dialin.workloads.base import Target

_LOG_LIMIT = 16 * 1024**2
"""Bytes of a driver's output that are stored at most, so that a flood of output cannot fill the disk."""

_CHUNK, _CHUNKS_OF_A_PIPE = 65_536, 16
"""Bytes that are read at once; a pipe holds at most 1 MiB."""

_CALL_LIMIT = 60.0
_PREPARE_LIMIT = 6 * 3600.0

_LOOKS, _LOOK_AFTER = 10, 0.5
"""How often, and after how many seconds each, the sessions of a driver that prepares data are looked for."""

_END_WITHIN = 20.0
"""Seconds in which a driver ends its statements on the server; dialin-load waits a second for their end, and 5 s after KILL."""

_Read = TypeVar("_Read")


def _nothing() -> None:
    pass


def call(
    words: Sequence[str | Path], environment: Mapping[str, str], limit: float = _CALL_LIMIT, stderr: int = subprocess.STDOUT
) -> subprocess.CompletedProcess[str]:
    """Run a short command of a driver to its end; its standard output includes its errors, unless `stderr` says otherwise.

    Raises:
        UserError: the program cannot be run.
        MachineError: this machine has no room for another process, or the command did not end within `limit` seconds.
    """
    try:
        return subprocess.run(
            words,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=stderr,
            text=True,
            errors="replace",
            timeout=limit,
            env=environment,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise cannot_run(words[0], error) from error


def cannot_run(program: str | Path, error: OSError | subprocess.TimeoutExpired) -> DialinError:
    """Return the error of a driver that could not be run, or did not end in time."""
    name, remedy = Path(program).name, f"Check that `{program} --version` works"
    if isinstance(error, subprocess.TimeoutExpired):
        return MachineError(f"{name} did not answer within {error.timeout:.0f} s", remedy)
    return os_error(error, UserError(f"{name} cannot be run: {error.strerror or error}", remedy))


def prepare(
    driver: str,
    words: Sequence[str],
    target: Target,
    environment: Mapping[str, str],
    sessions: UnreportedSessions | None = None,
    limit: float = _PREPARE_LIMIT,
    feed: IO[bytes] | int = subprocess.DEVNULL,
) -> str | None:
    """Have a driver load data into a server; return its last lines of output where it failed, else None.

    `sessions` are those of a driver that does not record them itself, and `feed` is its standard input. However it ends, no
    statement of it goes on.

    Raises:
        WorkloadError: the driver did not end within `limit` seconds, or was killed.
    """
    log = target.directory / "prepare.log"
    with log.open("wb") as output:
        process = spawn(words, target.directory, "prepare", output, feed=feed, environment=environment)
        try:
            code = _wait(process, sessions, limit, output)
        except subprocess.TimeoutExpired:
            slow = Cause(CauseCode.PREPARING_SLOW, {"driver": driver, "seconds": limit})
            raise WorkloadError(slow) from None
        finally:
            kill(process, driver)
            end_left(target.account, target.sessions_file)
    words = without_password(tail(log), target.account.password)
    if code < 0:
        raise killed(driver, -code, words)
    return words if code != 0 else None


def without_password(text: str, password: str) -> str:
    return text.replace(password, "…") if password else text


def _wait(process: subprocess.Popen[bytes], sessions: UnreportedSessions | None, limit: float, output: IO[bytes]) -> int:
    if sessions is not None:
        for _ in range(_LOOKS):
            with suppress(subprocess.TimeoutExpired):
                return process.wait(_LOOK_AFTER)
            if sessions.record(process.pid):
                break
    return wait_shortening(process, limit, output.fileno())


_CRASHES = (signal.SIGSEGV, signal.SIGABRT, signal.SIGBUS, signal.SIGILL, signal.SIGFPE, signal.SIGSYS)
"""The signals of a defect of the driver itself; any other one comes from outside, such as the kernel's out-of-memory killer."""


def killed(driver: str, number: int, words: str) -> WorkloadError:
    """Return the error of a driver that a signal ended; `words` are the last lines that it printed."""
    cause = Cause(CauseCode.DRIVER_KILLED, {"driver": driver, "signal": signal_name(number)})
    if number in _CRASHES:
        return WorkloadError(cause, "Report this, with its log", words)
    return DriverKilledError(cause, "Look for what ended it: who may, and 'Out of memory' in the kernel's log (dmesg)", words)


class EndedError(Exception):
    """The driver ended without being stopped.

    Attributes:
        words: the last lines that it printed.
        signal: the number of the signal that ended it; 0 where it ended by itself.
    """

    def __init__(self, words: str, signal: int = 0) -> None:
        super().__init__(words)
        self.words = words
        self.signal = signal


class DriverProcess:
    """A running driver; its output comes from the pipe `output`, is stored in a log and read line by line.

    Args:
        ends_statements: whether it ends its statements on the server when it gets SIGTERM.
        when_ended: called once it has ended.
        password: the one that it got, which no error shows.
    """

    def __init__(
        self,
        process: subprocess.Popen[bytes],
        output: int,
        log: Path,
        monotonic: Callable[[], float] = time.monotonic,
        *,
        ends_statements: bool = False,
        when_ended: Callable[[], None] = _nothing,
        password: str = "",
    ) -> None:
        self._process = process
        self._password = password
        self._ends_statements = ends_statements
        self._when_ended = when_ended
        self._monotonic = monotonic
        self._written = 0
        self._output = output
        # A server that serves several trials keeps its directory: the log must not hold the lines of an earlier driver.
        self._log = log.open("wb")
        self._path = log
        self._pending, self._searched = bytearray(), 0
        self._cpu = 0.0

    @classmethod
    def start(
        cls,
        arguments: Sequence[str],
        target: Target,
        *,
        cpus: str | None,
        environment: Mapping[str, str],
        ends_statements: bool = False,
    ) -> DriverProcess:
        """Start a driver on some CPUs, as `0-3,8`, or all; its log and its PID are kept in the target's private directory.

        Once it has ended, what its sessions on record still execute is ended on the server.
        """
        directory = target.directory
        read_end, write_end = os.pipe()
        try:
            dies_by = "TERM" if ends_statements else "KILL"
            process = spawn(arguments, directory, "load", write_end, cpus=cpus, dies_by=dies_by, environment=environment)
        finally:
            os.close(write_end)
        when_ended = functools.partial(end_left, target.account, target.sessions_file)
        log = directory / "load.log"
        password = target.account.password
        return cls(process, read_end, log, ends_statements=ends_statements, when_ended=when_ended, password=password)

    @property
    def pid(self) -> int:
        return self._process.pid

    def read(self, parse: Callable[[str], _Read], timeout: float) -> _Read | None:
        """Return what `parse` makes of the next line, skipping those that it returns None for; None after `timeout` seconds.

        Raises:
            EndedError: the driver ended; one that has only closed its output goes on, and says nothing more.
        """
        limit, has_read = self._monotonic() + timeout, False
        while True:
            while (end := self._pending.find(b"\n", self._searched)) >= 0:
                line = self._pending[:end].decode("utf-8", "replace")
                del self._pending[: end + 1]
                self._searched = 0
                if (parsed := parse(line)) is not None:
                    return parsed
            if has_read and self._monotonic() >= limit:  # a flood of lines that say nothing has no end
                return None
            chunk = self._read_chunk(limit)
            if chunk is None:
                return None
            if not chunk:
                if self._runs_on(limit):
                    return None
                raise self.ended()
            self._searched = len(self._pending)
            self._pending += chunk
            if len(self._pending) > 2 * _LOG_LIMIT:  # a line without end
                del self._pending[:-_LOG_LIMIT]
                self._searched = 0
            has_read = True

    def _runs_on(self, limit: float) -> bool:
        """Wait until `limit` for the end of a driver that has closed its output; return whether it still runs."""
        try:
            self._process.wait(max(0.0, limit - self._monotonic()))
        except subprocess.TimeoutExpired:
            return True
        return False

    @property
    def has_ended(self) -> bool:
        """Whether the driver itself has ended; processes that it left behind may go on writing."""
        return self._process.poll() is not None

    def drain(self) -> None:
        """Read what the driver has written so far, a pipe of it at most, so that it never waits for a reader."""
        for _ in range(_CHUNKS_OF_A_PIPE):
            if not self._read_chunk(self._monotonic()):
                return

    def ended(self) -> EndedError:
        return EndedError(self.hide(tail(self._path)), max(0, -self._process.wait()))

    def hide(self, text: str) -> str:
        """Return what the driver printed without its password, which some programs print with their command line."""
        return without_password(text, self._password)

    def _read_chunk(self, limit: float) -> bytes | None:
        """Return what the driver writes next, empty where it has ended; None where nothing came until `limit`."""
        ready, _, _ = select.select([self._output], [], [], max(0.0, limit - self._monotonic()))
        if not ready:
            return None
        chunk = os.read(self._output, _CHUNK)
        if self._written < _LOG_LIMIT:
            self._written += self._log.write(chunk)
            self._log.flush()
        return chunk

    def cpu_seconds(self) -> float:
        self._cpu = max(self._cpu, host.cpu_seconds(self._process.pid))  # keeps the last value after the process ended
        return self._cpu

    def stop(self) -> None:
        if self._process.poll() is None and self._ends_statements:
            self._process.terminate()
            limit = self._monotonic() + _END_WITHIN
            while self._read_chunk(limit):  # a driver whose words nobody reads cannot end
                pass
        if self._process.poll() is None:
            kill(self._process, "The load driver")
        self._when_ended()
        os.close(self._output)
        self._log.close()


class DriverLoad:
    """A load that a driver process applies; subclasses parse its lines."""

    def __init__(self, driver: DriverProcess) -> None:
        self._driver = driver

    def cpu_seconds(self) -> float:
        return self._driver.cpu_seconds()

    def facts(self) -> Mapping[str, float]:
        return {}

    def stop(self) -> None:
        self._driver.stop()
