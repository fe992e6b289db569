"""Signals to a study: SIGTERM, SIGHUP and Ctrl-C give up the trial under way; Ctrl-Z is refused."""

from __future__ import annotations

import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from types import FrameType

from dialin.errors import DialinError


@contextmanager
def stopping_cleanly() -> Iterator[None]:
    """Take SIGTERM and SIGHUP like Ctrl-C: the trial under way is given up, its server ended, the rest is safe.

    After the first of the three, SIGTERM and SIGHUP do nothing, so that a second one does not cut the cleanup short; a second
    Ctrl-C does.

    Raises:
        KeyboardInterrupt: one of them came. Native libraries may turn it into an error of their own, which then counts as it.
    """
    is_stopped = False
    signals = [signal.SIGTERM, signal.SIGHUP]

    def ignore(_number: int, _frame: FrameType | None) -> None:
        """Do nothing. This is not SIG_IGN, which programs that are started during the cleanup would inherit."""

    def stop(_number: int, _frame: FrameType | None) -> None:
        nonlocal is_stopped
        is_stopped = True
        for number in (signal.SIGTERM, signal.SIGHUP):
            signal.signal(number, ignore)
        raise KeyboardInterrupt

    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:  # background jobs of a shell ignore it
        signals.append(signal.SIGINT)
    before = {number: signal.signal(number, stop) for number in signals}
    try:
        yield
    except (DialinError, OSError):
        raise
    except Exception as error:
        if is_stopped:
            raise KeyboardInterrupt from error
        raise
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


@contextmanager
def not_suspended(say: Callable[[str], None]) -> Iterator[None]:
    """Refuse Ctrl-Z (SIGTSTP): the server and its load would keep running while nothing records them."""

    def refuse(_number: int, _frame: FrameType | None) -> None:
        with suppress(RuntimeError):  # the signal came in the middle of another line
            say("A study cannot be suspended, because its server and load would run on. Ctrl-C stops it, and it can be resumed")

    before = signal.signal(signal.SIGTSTP, refuse)
    try:
        yield
    finally:
        signal.signal(signal.SIGTSTP, before)
