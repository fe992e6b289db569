"""Starting, finding and ending the processes that dialin is answerable for: servers and load drivers."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import IO

import psutil

MARK = "DIALIN_SANDBOX"
"""The environment variable by which a process tells which directory it belongs to."""

_SAME_TIME = 5.0
"""Seconds within which a process must have begun to be the one that wrote its number."""

_PATIENCE = 10.0
"""Seconds that a killed process may take to be gone."""

_WRITE_OWN_NUMBER = 'echo $$ > "$0"; exec "$@"'


def identity(pid: int) -> str:
    """Return what distinguishes a process from any other with the same PID: the boot of the machine and its start since then.

    Both are the kernel's and do not change when a clock is set. Empty where there is no such process, or it has ended and
    nobody has collected it yet.
    """
    try:
        boot = Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii").strip()
        # The name of the program, in brackets, may hold anything; the 22nd field is the 20th behind it.
        fields = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace").rpartition(")")[2].split()
        return "" if fields[0] == "Z" else f"{boot}/{fields[19]}"
    except (OSError, IndexError):
        return ""


def processes(directory: Path) -> list[psutil.Process]:
    """Return the live processes that wrote their number into a directory and carry its path in their environment."""
    live = []
    for path in directory.glob("*.pid"):
        try:
            process = psutil.Process(int(path.read_text(encoding="ascii")))
            if process.status() != psutil.STATUS_ZOMBIE and _belongs(process, directory, path):
                live.append(process)
        except (OSError, ValueError, psutil.Error):
            continue
    return live


def _belongs(process: psutil.Process, directory: Path, written: Path) -> bool:
    try:
        return bool(process.environ().get(MARK) == str(directory))
    except psutil.AccessDenied:
        # A binary with capabilities of its own hides its environment; then it must have begun when its number was written.
        return abs(process.create_time() - written.stat().st_mtime) < _SAME_TIME


def end(process: psutil.Process) -> None:
    """Kill a process and wait until it is gone. Its data is private and thrown away, so nothing is asked of it first."""
    try:
        process.send_signal(signal.SIGKILL)
        process.wait(_PATIENCE)
    except (psutil.NoSuchProcess, psutil.TimeoutExpired):
        return


def spawn(
    arguments: Sequence[str],
    directory: Path,
    name: str,
    output: IO[bytes] | int,
    *,
    feed: IO[bytes] | int = subprocess.DEVNULL,
    cpus: str | None = None,
    dies_with_parent: bool = True,
    environment: Mapping[str, str] = os.environ,
) -> subprocess.Popen[bytes]:
    """Start a program that can be found again: it writes its own process number before it becomes what it is.

    It gets a session of its own, so that Ctrl-C at the terminal reaches dialin alone, which ends it in its own order.

    Args:
        arguments: the program and its arguments.
        directory: the private directory that it belongs to.
        name: its PID is written to `NAME.pid` there.
        output: where its standard output and error go.
        feed: its standard input.
        cpus: the CPUs it may use, as `0-3,8`.
        dies_with_parent: the kernel kills it when dialin dies, where setpriv is installed.
        environment: what it inherits.
    """
    before: list[str] = []
    if dies_with_parent and (setpriv := shutil.which("setpriv")):
        before += [setpriv, "--pdeathsig", "KILL", "--"]
    before += ["/bin/sh", "-c", _WRITE_OWN_NUMBER, str(directory / f"{name}.pid")]
    if cpus:
        before += ["taskset", "--cpu-list", cpus]
    return subprocess.Popen(
        [*before, *arguments],
        stdin=feed,
        stdout=output,
        stderr=subprocess.STDOUT,
        start_new_session=True,
        cwd=directory,
        env={**environment, MARK: str(directory)},
    )


def tail(path: Path, lines: int = 30) -> str:
    """Return the last lines of a log, or nothing where there is none."""
    try:
        with path.open("rb") as file:
            file.seek(0, os.SEEK_END)
            file.seek(max(0, file.tell() - 64 * 1024))
            text = file.read().decode("utf-8", "replace")
    except OSError:
        return ""
    return "\n".join(text.splitlines()[-lines:])
