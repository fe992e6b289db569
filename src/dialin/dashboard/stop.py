"""Telling the process that runs a study to stop, as Ctrl-C would."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable

from dialin.store.lock import Holder

Signal = Callable[[int, int], None]


def stop_now(holder: Holder, identity: Callable[[int], str], send: Signal = os.kill) -> bool:
    """Tell the process that runs a study to stop in its own order; False where it is gone, or not this user's.

    Args:
        holder: the process, as it wrote itself down.
        identity: what tells the process of a number from a later one with the same.
        send: sends a signal.
    """
    if not holder.identity or identity(holder.pid) != holder.identity:
        return False
    try:
        # Not SIGINT: what a shell starts in the background ignores that, and dialin takes both alike.
        send(holder.pid, signal.SIGTERM)
    except (ProcessLookupError, PermissionError):
        return False
    return True
