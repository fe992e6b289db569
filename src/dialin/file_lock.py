"""Locks on files: held by one process, or by several readers; the kernel lets go of them however the process ends."""

from __future__ import annotations

import fcntl
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


def lock(descriptor: int, *, shared: bool = False) -> None:
    """Lock an open file, and wait for whoever holds it."""
    fcntl.flock(descriptor, fcntl.LOCK_SH if shared else fcntl.LOCK_EX)


def try_lock(descriptor: int) -> bool:
    """Lock an open file for this process alone; False where another one holds it."""
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


@contextmanager
def locked(path: Path, *, shared: bool = False) -> Iterator[None]:
    """Hold a lock file, made where it is missing; wait for whoever holds it."""
    with path.open("w") as file:
        lock(file.fileno(), shared=shared)
        yield
