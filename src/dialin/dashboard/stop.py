"""Stops the process that runs a study, as Ctrl-C would."""

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
    """Signal the process that runs a study to stop cleanly; return False where it is gone, or belongs to another user.

    The owner of the directory can write any process id into the lock file. The process must therefore have that file open too,
    so that no other process is ever signalled.
    """
    try:
        process = os.pidfd_open(holder.pid)
    except (OSError, OverflowError):
        return False
    try:
        is_alive = holder.identity and identity(holder.pid) == holder.identity
        if not is_alive or not _has_open(holder.pid, directory / lock.LOCK_FILE):
            return False
        # Not SIGINT: a process that a shell started in the background ignores it. dialin treats both signals alike.
        send(process, signal.SIGTERM)
    except OSError:
        return False
    finally:
        os.close(process)
    return True


def _has_open(pid: int, path: Path) -> bool:
    """Return whether a process has a file open. A symbolic link does not count: it could lead to a file that any process opens.

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
