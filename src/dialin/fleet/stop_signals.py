"""What ends a study or a worker from outside: SIGTERM, SIGHUP and Ctrl-C, each of which gives up the trial under way."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from contextlib import contextmanager
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
