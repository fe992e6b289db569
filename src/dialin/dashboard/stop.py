"""Telling the process that runs a study to stop, as Ctrl-C would."""

from __future__ import annotations

import os
import signal
import stat
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from dialin.store import lock
from dialin.store.lock import Holder

Signal = Callable[[int, int], None]


def stop_now(holder: Holder, directory: Path, identity: Callable[[int], str], send: Signal = signal.pidfd_send_signal) -> bool:
    """Tell the process that runs a study to stop in its own order; False where it is gone, or not this user's.

    Who owns the directory writes what it says of the process, so it must have the study's lock open as well: nobody else's
    process is told.
    """
    try:
        process = os.pidfd_open(holder.pid)
    except (OSError, OverflowError):
        return False
    try:
        is_alive = holder.identity and identity(holder.pid) == holder.identity
        if not is_alive or not _has_open(holder.pid, directory / lock.LOCK_FILE):
            return False
        # Not SIGINT: what a shell starts in the background ignores that, and dialin takes both alike.
        send(process, signal.SIGTERM)
    except OSError:
        return False
    finally:
        os.close(process)
    return True


def _has_open(pid: int, path: Path) -> bool:
    """Return whether a process has a file open; a link in its place could lead to one that anybody has.

    Raises:
        OSError: the file is gone, or the process, or it is another user's.
    """
    facts = path.lstat()
    if not stat.S_ISREG(facts.st_mode):
        return False
    for descriptor in Path(f"/proc/{pid}/fd").iterdir():
        with suppress(OSError):  # closed meanwhile
            if os.path.samestat(descriptor.stat(), facts):
                return True
    return False
