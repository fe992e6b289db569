"""What a command says at its very end, however it ends: which attached servers it leaves changed."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from types import FrameType

_ENDS = (signal.SIGTERM, signal.SIGHUP)


def say() -> None:
    """Name the servers that are not restored; nothing where all are.

    Nothing is imported and no file is opened: this is said also when that fails. No signal cuts it short.
    """
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT, *_ENDS})
    try:
        still_changed = sys.modules.get("dialin.servers.attached.still_changed")
        for text in still_changed.last_words() if still_changed is not None else ():
            _write(f"{text}\n")
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _write(text: str) -> None:
    try:
        sys.stderr.write(text)
        sys.stderr.flush()
    except Exception:  # whatever is wrong with the stream, its descriptor may still work
        with suppress(OSError):
            os.write(2, text.encode("utf-8", "backslashreplace"))


@contextmanager
def at_signals() -> Iterator[None]:
    """Say it also where SIGTERM or SIGHUP ends the process: the signals that nothing else takes."""

    def end(number: int, _frame: FrameType | None) -> None:
        say()
        signal.signal(number, signal.SIG_DFL)
        os.kill(os.getpid(), number)

    taken = [number for number in _ENDS if signal.getsignal(number) is signal.SIG_DFL]
    for number in taken:
        signal.signal(number, end)
    try:
        yield
    finally:
        for number in taken:
            if signal.getsignal(number) is end:
                signal.signal(number, signal.SIG_DFL)
