"""All processes of a program: those that it forks are watched and ended with it, and none outlives dialin."""

from __future__ import annotations

import os
import signal
import subprocess
import time
import uuid
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import IO

import psutil

from dialin.probes.kernel_files import read
from dialin.servers.processes import kill, shorten

_TOKEN = "DIALIN_LOAD_GROUP"  # noqa: S105 - the name of a variable
_KILLED_WITHIN = 5.0
_POLL = 0.05

_GUARD = r"""read -r _
[ "$0" = 0 ] || kill -s KILL -- "-$0"
for process in /proc/[0-9]*; do
  tr '\0' '\n' < "$process/environ" | grep -qxF -e "$1" && kill -s KILL "${process#/proc/}"
done"""
"""Waits for the end of its standard input, which dialin holds open; then it kills a process group, and all with a token."""


class ProcessGroup:
    """The processes of one program: those of its session, and those with its token in their environment.

    A program that forks and leaves its session keeps the token, unless it clears its environment as well.
    """

    def __init__(self, monotonic: Callable[[], float] = time.monotonic, sleep: Callable[[float], None] = time.sleep) -> None:
        self._mark = f"{_TOKEN}={uuid.uuid4().hex}"
        self._leaders: set[int] = set()
        self._guards: list[subprocess.Popen[bytes]] = []
        self._services: list[subprocess.Popen[bytes]] = []
        self._logs: list[IO[bytes]] = []
        self._monotonic = monotonic
        self._sleep = sleep

    @property
    def environment(self) -> dict[str, str]:
        name, _, token = self._mark.partition("=")
        return {name: token}

    def guard(self, leader: int = 0) -> None:
        """Add the leader of a session, if there is one; its process group is killed if dialin dies, by whatever signal.

        So are all processes with the token.
        """
        self._leaders |= {leader} - {0}
        words = ["/bin/sh", "-c", _GUARD, str(leader), self._mark]
        self._guards.append(subprocess.Popen(words, stdin=subprocess.PIPE, stderr=subprocess.DEVNULL, start_new_session=True))

    def adopt(self, service: subprocess.Popen[bytes], log: IO[bytes]) -> None:
        """Guard a service, too, which nobody else waits for, with the file that it writes to."""
        self._services.append(service)
        self._logs.append(log)
        self.guard(service.pid)

    def shorten_logs(self) -> None:
        """Keep what services print from filling the disk: some print a line for each request."""
        for log in self._logs:
            shorten(log.fileno())

    def log_of_failed_service(self) -> Path | None:
        """Return the file that a service has written to which failed; one may start others, and end well itself."""
        failed = (log for service, log in zip(self._services, self._logs, strict=True) if service.poll() not in (None, 0))
        return next((Path(log.name) for log in failed), None)

    def members(self) -> Iterator[psutil.Process]:
        mark = self._mark.encode()
        for pid in psutil.pids():
            with suppress(OSError, psutil.Error):
                # Reading the environment of a process of somebody else is refused; then the session decides.
                if os.getsid(pid) in self._leaders or mark in Path(f"/proc/{pid}/environ").read_bytes().split(b"\0"):
                    process = psutil.Process(pid)
                    if process.status() != psutil.STATUS_ZOMBIE:
                        yield process

    def cpu_seconds(self) -> float:
        """Return the CPU seconds, user and system, that they and their ended children have used."""
        total = 0.0
        for process in self.members():
            with suppress(psutil.Error):
                times = process.cpu_times()
                total += times.user + times.system + times.children_user + times.children_system
        return total

    def switches(self) -> float:
        """Return the context switches of the threads that they have now."""
        total = 0
        for process in self.members():
            for status in Path(f"/proc/{process.pid}/task").glob("*/status"):
                lines = read(status).splitlines()
                total += sum(int(line.split()[-1]) for line in lines if "voluntary_ctxt_switches" in line)
        return float(total)

    def end(self, by: signal.Signals, grace: float, drain: Callable[[], None]) -> bool:
        """Ask them to end, and kill those that have not after `grace` seconds; return whether one had to be killed.

        `drain` is called meanwhile, so that a program whose output nobody reads can end.
        """
        self._signal(by)
        limit = self._monotonic() + grace
        while (left := [*self.members()]) and self._monotonic() < limit:
            drain()
            self._sleep(_POLL)
        limit = self._monotonic() + _KILLED_WITHIN
        while [*self.members()] and self._monotonic() < limit:
            self._signal(signal.SIGKILL)
            self._sleep(_POLL)
        for service in self._services:
            kill(service, "A service of the load")
        self._services.clear()
        for log in self._logs:
            log.close()
        self._logs.clear()
        for guard in self._guards:
            kill(guard, "A guard of the load")
            if guard.stdin:
                guard.stdin.close()
        self._guards.clear()
        return bool(left)

    def _signal(self, number: signal.Signals) -> None:
        for process in self.members():
            with suppress(psutil.Error):
                process.send_signal(number)
