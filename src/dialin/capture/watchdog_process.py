"""The capturing dialin's side of the watchdog: starts it, sends its order, reads its messages, and ends it."""

from __future__ import annotations

import json
import os
import select
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import asdict

from dialin.capture.watchdog import WatchOrder
from dialin.errors import ServerError
from dialin.model.capture import StopReason
from dialin.paths import parse_json
from dialin.text import visible

_READY_WITHIN = 30.0
_ENDS_WITHIN = 10.0


class WatchdogProcess:
    """A running watchdog.

    Attributes:
        connection: the ID of its connection to the server; None before it watches.
    """

    def __init__(self, process: subprocess.Popen[bytes]) -> None:
        self._process = process
        self._received = b""
        self.connection: int | None = None

    def begin(self, order: WatchOrder) -> None:
        """Send the watchdog its order, and wait until it watches.

        Raises:
            ServerError: it cannot watch; then nothing may be changed.
        """
        self._send(json.dumps(asdict(order)))
        message = self._read(_READY_WITHIN)
        if "ready" not in message:
            why = visible(message["failed"]) if "failed" in message else "it did not answer"
            raise ServerError(f"The watchdog of the capture could not be started: {why}", "Nothing was changed; try again")
        self.connection = int(message["ready"])

    def set_deadline(self, deadline: float) -> None:
        """Have the log end at another time, by the monotonic clock."""
        self._send(repr(deadline))

    def reason_to_stop(self, seconds: float = 0.0) -> StopReason | None:
        """Wait at most `seconds` for a reason why the log has to end: the watchdog sends one, or is gone itself."""
        if message := self._read(seconds):
            return StopReason(message["stop"])
        return StopReason.WATCHDOG_ENDED if self._process.poll() is not None else None

    def close_times(self) -> None:
        """Tell the watchdog that the log is off, and wait until the log's times are on disk."""
        self._send("off")
        while (message := self._read(_ENDS_WITHIN)) and "closed" not in message:
            pass

    def finish(self) -> None:
        """End the watchdog without any change of the server."""
        with suppress(OSError):
            self._send("done")
        with suppress(subprocess.TimeoutExpired):
            self._process.wait(_ENDS_WITHIN)

    def _send(self, line: str) -> None:
        if self._process.stdin is None:
            raise RuntimeError("the watchdog has no pipe")
        with suppress(BrokenPipeError):  # `reason_to_stop` says that it is gone
            self._process.stdin.write(line.encode() + b"\n")
            self._process.stdin.flush()

    def _read(self, seconds: float) -> dict[str, str]:
        """Return the next message; empty where none came."""
        if self._process.stdout is None:
            raise RuntimeError("the watchdog has no pipe")
        while b"\n" not in self._received:
            if not select.select([self._process.stdout], [], [], seconds)[0]:
                return {}
            more = os.read(self._process.stdout.fileno(), 4096)
            if not more:
                return {}
            self._received += more
        line, _, self._received = self._received.partition(b"\n")
        message: dict[str, str] = parse_json(line)
        return message


@contextmanager
def watchdog_process() -> Iterator[WatchdogProcess]:
    """Start a watchdog, which waits for its order; end it afterwards, whether or not it had one."""
    process = subprocess.Popen(
        [sys.executable, "-m", "dialin.capture.watchdog", str(os.getpid())],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        start_new_session=True,  # neither Ctrl-C nor a lost terminal reaches it
    )
    dog = WatchdogProcess(process)
    try:
        yield dog
    finally:
        dog.finish()
        for pipe in (process.stdin, process.stdout):
            if pipe is not None:
                with suppress(OSError):
                    pipe.close()
