"""The watchdog of a capture: a separate process, which ends the log whatever happens to the dialin that began the capture.

It is started before the first variable is set, in its own session. A pipe connects it to the capturing dialin; the kernel
closes the pipe when that process ends, however it ends. Where the server's log has times to the second only, the watchdog also
records the length of the log over time.
"""

from __future__ import annotations

import json
import os
import select
import signal
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from dialin.capture.log_place import free_space, log_size
from dialin.clock import SystemClock
from dialin.errors import DialinError, UserError
from dialin.model.capture import StopReason
from dialin.paths import Home, parse_json
from dialin.servers.attached.entry import read
from dialin.servers.attached.quick_restore import QuickRestore
from dialin.servers.attached.undo import UndoLog, find_attached
from dialin.servers.attached.undo_journal import WrittenJournal
from dialin.servers.origin import machine

_LOOK = 0.2
"""Seconds between two checks of the limits."""

_LOOK_AT_LENGTH = 0.001
"""Seconds between two readings of the log's length where it is recorded."""

_ASKED = 2.0
"""Seconds that the capturing dialin has to end the log itself: it reads the counters first."""

_DONE = b"done\n"
_TRIES = 10
_BETWEEN_TRIES = 2.0
_ANSWER_WITHIN = 5.0


@dataclass(frozen=True, slots=True)
class WatchOrder:
    """What to watch.

    Attributes:
        entry: the ID of the undo entry.
        times: the file for the log's length over time; None where the log has exact times.
        max_bytes: the length at which the log ends.
        min_free: the free bytes of its disk below which it ends.
        deadline: when the log ends, by the monotonic clock, which all processes of a machine share.
        session_settings: statements that each new connection runs first.
    """

    entry: str
    log: str
    times: str | None
    max_bytes: int
    min_free: int
    deadline: float
    session_settings: list[str]


class Watchdog:
    """Watches one capture.

    Args:
        stop_log: puts the server's variables back at once.
        say: sends a message to the capturing dialin.
        free: the bytes of a directory's disk that are free.
    """

    def __init__(
        self,
        order: WatchOrder,
        stop_log: Callable[[], None],
        say: Callable[[dict[str, str]], None],
        free: Callable[[Path], int] = free_space,
    ) -> None:
        self._log = Path(order.log)
        self._order = order
        self._deadline = order.deadline
        self._stop_log = stop_log
        self._say = say
        self._free = free
        self._times = LogTimes(Path(order.times)) if order.times else None
        self._is_stopped = False
        self._asked: float | None = None
        self.was_asked_to_stop = False

    def watch(self, commands: BinaryIO) -> bool:
        """Watch until the capturing dialin has finished, or is gone.

        Returns:
            Whether it has finished; where it is gone, the watchdog has tried to put the variables back.
        """
        look_at = 0.0
        partial = b""
        try:
            while True:
                if select.select([commands], [], [], _LOOK_AT_LENGTH if self._times else _LOOK)[0]:
                    received = os.read(commands.fileno(), 4096)
                    if not received:
                        self._stop(None)
                        return False
                    *lines, partial = (partial + received).split(b"\n")
                    if _DONE.strip() in lines:
                        return True
                    for line in lines:
                        self._obey(line)
                self._note_length()
                if time.monotonic() >= look_at:
                    look_at = time.monotonic() + _LOOK
                    self._look()
        finally:
            self._close_times()

    def _obey(self, command: bytes) -> None:
        """Obey a command: `off` says that the log is off, and a number is a new deadline."""
        if command == b"off":
            self._is_stopped = True
            self._note_length()
            self._close_times()
            self._say({"closed": ""})
        else:
            self._deadline = float(command)

    def _note_length(self) -> None:
        if self._times:
            self._times.note(log_size(self._log), time.time())

    def _close_times(self) -> None:
        if self._times:
            self._times.close()
            self._times = None

    def _look(self) -> None:
        """Where the log has to end, ask the capturing dialin to end it; end it here at the deadline, or without a response."""
        reason = None if self._is_stopped else self.reason_to_stop()
        if reason is None:
            return
        if self._asked is None and reason is not StopReason.DEADLINE:
            self._asked = time.monotonic()
            self._say({"stop": reason.value})
        elif self._asked is None or time.monotonic() > self._asked + _ASKED:
            self._stop(reason)

    def reason_to_stop(self) -> StopReason | None:
        """Return why the log has to end now; None where it may continue."""
        if self.was_asked_to_stop:
            return StopReason.WATCHDOG_ENDED
        if log_size(self._log) >= self._order.max_bytes:
            return StopReason.MAX_SIZE
        if time.monotonic() >= self._deadline:
            return StopReason.DEADLINE
        with suppress(OSError):
            if self._free(self._log.parent) < self._order.min_free:
                return StopReason.DISK
        return None

    def _stop(self, reason: StopReason | None) -> None:
        """Put the variables back; the capturing dialin, if it still runs, does the rest."""
        with suppress(DialinError):
            self._stop_log()
            self._is_stopped = True
        if reason:
            self._say({"stop": reason.value})


class LogTimes:
    """Writes lines of a time, in microseconds since 1970, and the length in bytes that the log had then.

    Two lines enclose each growth: the last reading before it, and the one that saw it. Between them the log is taken to have
    grown evenly.
    """

    def __init__(self, path: Path) -> None:
        path.touch(mode=0o600)
        self._file = path.open("a", encoding="ascii", buffering=1 << 16)
        self._length = 0
        self._looked = self._written = 0

    def note(self, length: int, now: float) -> None:
        """Record the length that the log has at a time, in seconds since 1970."""
        at = int(now * 1e6)
        if length > self._length:
            if self._looked > self._written:
                self._file.write(f"{self._looked} {self._length}\n")
            self._file.write(f"{at} {length}\n")
            self._length, self._written = length, at
        self._looked = at

    def close(self) -> None:
        self._file.close()


def main() -> None:
    """Watch the capture that the first line of standard input describes, and undo what its dialin leaves behind if it dies.

    The only argument is the PID of that dialin, which may be gone by the time this begins.
    """
    owner = int(sys.argv[1])
    commands = sys.stdin.buffer.raw  # type: ignore[union-attr]
    first = _first_line(commands)
    has_finished = first == _DONE
    if first and not has_finished:
        try:
            has_finished = _watch(WatchOrder(**parse_json(first)), commands)
        except DialinError as error:
            _say({"failed": error.what})
            has_finished = _first_line(commands) == _DONE
    for _ in range(0 if has_finished else _TRIES):
        if _undo(owner):
            return
        time.sleep(_BETWEEN_TRIES)


def _watch(order: WatchOrder, commands: BinaryIO) -> bool:
    """Watch a capture; return whether the capturing dialin has finished it.

    Raises:
        DialinError: the capture cannot be watched.
    """
    path = Home.of().undo / f"{order.entry}.json"
    entry = read(path)
    if entry is None:
        raise UserError(f"{path} is gone", "Try again")
    clock = SystemClock()
    attached = find_attached(entry, os.environ, clock, timeout=_ANSWER_WITHIN, patience=_ANSWER_WITHIN)
    attached.session_settings = tuple(order.session_settings)
    attached.bind(entry.server)
    with QuickRestore(attached, clock) as quick:

        def stop_log() -> None:
            newest = read(path)
            if newest is not None:
                attached.journal = WrittenJournal(newest, lambda _: None)
                quick.restore()

        watchdog = Watchdog(order, stop_log, _say)

        def end(_number: int, _frame: object) -> None:
            watchdog.was_asked_to_stop = True

        signal.signal(signal.SIGTERM, end)
        _say({"ready": str(quick.connection)})
        return watchdog.watch(commands)


def _undo(owner: int) -> bool:
    """Undo what a dialin that is gone left behind; return whether nothing of it is left."""
    clock = SystemClock()
    log = UndoLog(Home.of().undo, clock)
    try:
        for entry in log.entries():
            if entry.owner == owner and entry.machine == machine():
                log.undo(entry, find_attached(entry, os.environ, clock, timeout=_ANSWER_WITHIN, patience=_ANSWER_WITHIN))
    except DialinError:
        return False
    return True


def _first_line(commands: BinaryIO) -> bytes:
    line = b""
    while not line.endswith(b"\n"):
        byte = commands.read(1)
        if not byte:
            return b""
        line += byte
    return line


def _say(message: dict[str, str]) -> None:
    with suppress(OSError):  # the other side is gone
        sys.stdout.write(json.dumps(message) + "\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main()
