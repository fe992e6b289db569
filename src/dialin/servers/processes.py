"""Starts, finds and ends the processes that dialin runs: servers and load drivers."""

from __future__ import annotations

import fcntl
import os
import signal
import subprocess
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import IO, Any

import psutil

from dialin.death_signal import dying_by
from dialin.errors import MachineError
from dialin.probes.kernel_files import read

MARK = "DIALIN_SANDBOX"
"""The environment variable that holds the private directory of a process."""

_SAME_TIME = 5.0
"""Seconds that the start of a process and the writing of its PID file may differ."""

_PATIENCE = 10.0
"""Seconds that a killed process may take to be gone."""

_KILLED_WITHIN = 120.0
"""Seconds that a killed child may take to be gone: the kernel first frees a large buffer pool, and waits for the disk."""

_NOT_WRITTEN = 71
"""The exit code of a process that could not write its PID, and ended: it could not have been found again."""

_NOT_EXECUTED = (126, 127)
"""The exit codes of the shell for a program that could not be executed."""

_WRITE_PID = f'echo $$ > "$0" || exit {_NOT_WRITTEN}; exec "$@"'


def identity(pid: int) -> str:
    """Return what distinguishes a process from any other with the same PID: the machine's boot id and its start since boot.

    Both come from the kernel and do not change when the clock is set. Empty if there is no such process, or only a zombie.
    """
    try:
        boot = Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii").strip()
        # The program name, in parentheses, may contain anything; the start time, field 22, is the 20th field after it.
        fields = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace").rpartition(")")[2].split()
        return "" if fields[0] == "Z" else f"{boot}/{fields[19]}"
    except (OSError, IndexError):
        return ""


def threads_by_inner_id(pid: int | None) -> dict[int, int]:
    """Return the ids of a process's threads, by the ids that they have in its own PID namespace, such as a container's.

    A server knows only the latter. Empty where the process is not on this machine, or its kernel does not say.
    """
    threads: dict[int, int] = {}
    with suppress(OSError):
        for path in Path(f"/proc/{pid}/task").iterdir():
            for line in read(path / "status").splitlines():
                if line.startswith("NSpid:"):
                    threads[int(line.split()[-1])] = int(path.name)
    return threads


def processes(directory: Path) -> list[psutil.Process]:
    """Return the live processes that wrote their PID into a directory and have its path in their environment.

    Raises:
        OSError: that cannot be found out at the moment.
    """
    live = []
    for path in directory.glob("*.pid"):
        try:
            process = psutil.Process(int(path.read_text(encoding="ascii")))
            if process.status() != psutil.STATUS_ZOMBIE and _belongs(process, directory, path):
                live.append(process)
        except (FileNotFoundError, ProcessLookupError, ValueError, psutil.NoSuchProcess):
            continue
    return live


def _belongs(process: psutil.Process, directory: Path, written: Path) -> bool:
    try:
        return bool(process.environ().get(MARK) == str(directory))
    except psutil.AccessDenied:
        # The environment of a binary with file capabilities is hidden; its process must have started with its PID file.
        return abs(process.create_time() - written.stat().st_mtime) < _SAME_TIME


def end(process: psutil.Process) -> None:
    """Kill a process and wait until it is gone. Its data is private and will be deleted, so it need not stop cleanly."""
    try:
        process.send_signal(signal.SIGKILL)
        process.wait(_PATIENCE)
    except (psutil.NoSuchProcess, psutil.TimeoutExpired):
        return


def kill(process: subprocess.Popen[Any], name: str) -> None:
    """Kill a process that dialin started, and wait until it is gone; `name` says in the error what it is.

    Raises:
        MachineError: the kernel does not end it.
    """
    process.kill()
    try:
        process.wait(_KILLED_WITHIN)
    except subprocess.TimeoutExpired:
        words = f"{name} (process {process.pid}) was killed, but still runs after {_KILLED_WITHIN:.0f} s"
        raise MachineError(words, "Look for a disk that does not answer in the kernel's log (dmesg)") from None


_MOST_OUTPUT = 16 * 1024**2
_SHORTEN_EVERY = 0.25
"""Bytes that a file of output holds before it is emptied, so that a program that prints without end fills no disk; and seconds
between two looks at it."""


def shorten(output: int) -> None:
    """Empty a file where more than 16 MiB of output are in it; the program that got this descriptor may go on writing."""
    if os.fstat(output).st_size > _MOST_OUTPUT:
        fcntl.fcntl(output, fcntl.F_SETFL, fcntl.fcntl(output, fcntl.F_GETFL) | os.O_APPEND)  # else it would leave a hole
        os.ftruncate(output, 0)


def wait_shortening(process: subprocess.Popen[Any], limit: float, output: int) -> int:
    """Wait for the end of a process whose output goes to a file, and keep that file short.

    Raises:
        subprocess.TimeoutExpired: it did not end within `limit` seconds.
    """
    until = time.monotonic() + limit
    while True:
        left = until - time.monotonic()
        try:
            return process.wait(max(0.0, min(left, _SHORTEN_EVERY)))
        except subprocess.TimeoutExpired:
            if left <= 0:
                raise subprocess.TimeoutExpired(process.args, limit) from None
        shorten(output)


def signal_name(number: int) -> str:
    """Return the name of a signal, such as `SIGKILL`; its number where it has no name."""
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"


def spawn(
    arguments: Sequence[str],
    directory: Path,
    name: str,
    output: IO[bytes] | int,
    *,
    feed: IO[bytes] | int = subprocess.DEVNULL,
    cpus: str | None = None,
    dies_by: str | None = "KILL",
    environment: Mapping[str, str] = os.environ,
    work: Path | None = None,
) -> subprocess.Popen[bytes]:
    """Start a program so that it can be found again: a shell writes its PID to a file, then executes the program.

    It runs in a new session, so that Ctrl-C at the terminal reaches only dialin, which then ends its processes in order.

    Args:
        arguments: the program and its arguments.
        directory: the private directory that it belongs to.
        name: its PID is written to `NAME.pid` there.
        output: where its standard output and error go.
        feed: its standard input.
        cpus: the CPUs it may use, such as `0-3,8`.
        dies_by: the signal that it gets from the kernel when dialin dies, None for none; this needs setpriv.
        environment: the environment that it inherits, to which `MARK` is added.
        work: the directory that it runs in; `directory` where None is given.
    """
    prefix = dying_by(dies_by) if dies_by is not None else []
    prefix += ["/bin/sh", "-c", _WRITE_PID, str(directory / f"{name}.pid")]
    if cpus:
        prefix += ["taskset", "--cpu-list", cpus]
    return subprocess.Popen(
        [*prefix, *arguments],
        stdin=feed,
        stdout=output,
        stderr=subprocess.STDOUT,
        start_new_session=True,
        cwd=work or directory,
        env={**environment, MARK: str(directory)},
    )


def was_not_run(code: int | None) -> bool:
    """Return whether this exit code says that a program which was started by `spawn` could not be run at all."""
    return code == _NOT_WRITTEN or code in _NOT_EXECUTED


def tail(path: Path, lines: int = 30) -> str:
    """Return the last lines of a log; empty if it cannot be read."""
    try:
        with path.open("rb") as file:
            file.seek(0, os.SEEK_END)
            file.seek(max(0, file.tell() - 64 * 1024))
            text = file.read().decode("utf-8", "replace")
    except OSError:
        return ""
    return "\n".join(text.splitlines()[-lines:])
