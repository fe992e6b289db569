"""File locks, exclusive or shared. The kernel releases them however the process ends."""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


def lock(descriptor: int, *, shared: bool = False) -> None:
    """Lock an open file; wait until no other process holds a conflicting lock."""
    fcntl.flock(descriptor, fcntl.LOCK_SH if shared else fcntl.LOCK_EX)


def try_lock(descriptor: int) -> bool:
    """Lock an open file exclusively without waiting; return False where another process has locked it."""
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


@contextmanager
def opened(path: Path) -> Iterator[int]:
    """Yield a descriptor of a lock file, which is created if it is missing. A link is not followed: it may lead to any file.

    Raises:
        OSError: it cannot be opened.
    """
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC, 0o666)
    try:
        yield descriptor
    finally:
        os.close(descriptor)


@contextmanager
def locked(path: Path, *, shared: bool = False) -> Iterator[None]:
    """Hold a lock on a lock file, which is created if it is missing; wait until no other process holds a conflicting lock."""
    with opened(path) as descriptor:
        lock(descriptor, shared=shared)
        yield
