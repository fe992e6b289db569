"""The undo of an attached server as the end of a block, however that ends."""

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
def undone_at_the_end(
    log: UndoLog, entry: UndoEntry, attached: Attached, say: Callable[[str], None], restart_command: str | None = None
) -> Iterator[None]:
    """Put a server back when this is over, however it ends."""

    def tell(text: str) -> None:
        with suppress(DialinError, OSError):  # neither a full disk nor a lost terminal may interrupt the undo
            say(text)

    def undo() -> None:
        with uninterrupted(tell):
            tell("Putting the server back as it was")
            for line in log.undo(entry, attached, restart_command=restart_command):
                tell(line)

    try:
        yield
    except BaseException:
        # What ended the study is what the user must hear of; what then stood in the way of the undo is said beside it.
        try:
            undo()
        except DialinError as fault:
            tell(f"NOT put back: {fault}")
        raise
    undo()


@contextmanager
def uninterrupted(say: Callable[[str], None]) -> Iterator[None]:
    """Put off Ctrl-C and its like until this is over: a server that is half put back helps nobody.

    Raises:
        KeyboardInterrupt: at the end, where one came.
    """
    asked: list[int] = []

    def wait(number: int, _frame: FrameType | None) -> None:
        asked.append(number)
        say("Restoring the server; dialin ends when that is done")

    before = {number: signal.signal(number, wait) for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
    if asked:
        raise KeyboardInterrupt
