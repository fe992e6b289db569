"""Restores an attached server at the end of a `with` block, however the block ends."""

from __future__ import annotations

import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from types import FrameType

from dialin.errors import DialinError
from dialin.servers.attached.entry import UndoEntry
from dialin.servers.attached.server import Attached
from dialin.servers.attached.undo import UndoLog


@contextmanager
def undo_at_exit(
    log: UndoLog, entry: UndoEntry, attached: Attached, say: Callable[[str], None], restart_command: str | None = None
) -> Iterator[None]:
    """Restore a server when the `with` block ends, however it ends."""

    def report(text: str) -> None:
        with suppress(DialinError, OSError):  # neither a full disk nor a lost terminal may interrupt the undo
            say(text)

    def undo() -> None:
        with uninterrupted(report):
            report("Putting the server back as it was")
            for line in log.undo(entry, attached, restart_command=restart_command):
                report(line)

    try:
        yield
    except BaseException:
        # The user must see the error that ended the study; an error of the undo is reported in addition.
        try:
            undo()
        except DialinError as fault:
            report(f"NOT put back: {fault}")
        except Exception as fault:
            report(f"NOT put back: internal error: {fault!r}")
        raise
    undo()


@contextmanager
def uninterrupted(say: Callable[[str], None]) -> Iterator[None]:
    """Postpone Ctrl-C, SIGTERM and SIGHUP until the `with` block ends: a half-restored server helps nobody.

    Raises:
        KeyboardInterrupt: at the end, if one of these signals came.
    """
    received: list[int] = []

    def postpone(number: int, _frame: FrameType | None) -> None:
        received.append(number)
        say("Restoring the server; dialin ends when that is done")

    before = {number: signal.signal(number, postpone) for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
    if received:
        raise KeyboardInterrupt
