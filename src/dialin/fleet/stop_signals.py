"""Signals to a study: SIGTERM, SIGHUP and Ctrl-C give up the trial under way; Ctrl-Z is refused."""

from __future__ import annotations

import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from types import FrameType


@contextmanager
def stopping_cleanly() -> Iterator[None]:
    """Take SIGTERM and SIGHUP like Ctrl-C: the trial under way is given up, its server ended, the rest is safe.

    From the first of the three on SIGTERM and SIGHUP do nothing, so that being told twice cuts no tidying short; Ctrl-C does.
    """
    signals = [signal.SIGTERM, signal.SIGHUP]

    def nothing(_number: int, _frame: FrameType | None) -> None:
        """Not SIG_IGN, which what is started while tidying would inherit."""

    def stop(_number: int, _frame: FrameType | None) -> None:
        for number in (signal.SIGTERM, signal.SIGHUP):
            signal.signal(number, nothing)
        raise KeyboardInterrupt

    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:  # a shell has what it starts in the background ignore it
        signals.append(signal.SIGINT)
    before = {number: signal.signal(number, stop) for number in signals}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


@contextmanager
def not_suspended(say: Callable[[str], None]) -> Iterator[None]:
    """Refuse Ctrl-Z (SIGTSTP): the server and its load would go on while nobody reads what they do."""

    def refuse(_number: int, _frame: FrameType | None) -> None:
        with suppress(RuntimeError):  # it came in the middle of another line
            say("A study cannot be suspended, because its server and load would run on. Ctrl-C stops it, and it can be resumed")

    before = signal.signal(signal.SIGTSTP, refuse)
    try:
        yield
    finally:
        signal.signal(signal.SIGTSTP, before)
