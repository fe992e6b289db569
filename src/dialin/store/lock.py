"""One dialin at a time runs a study; any number may read it."""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from dialin.errors import UserError

FILE = "study.lock"


@contextmanager
def sole_runner(directory: Path) -> Iterator[None]:
    """Hold the study for this process; the kernel lets go of it however the process ends.

    Raises:
        UserError: a live dialin is running the study.
    """
    descriptor = os.open(directory / FILE, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
    try:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            holder = os.pread(descriptor, 20, 0).decode("ascii", "replace").strip() or "unknown"
            raise UserError(
                f"{directory} is in use by a running study (process {holder})",
                "Wait for it to end, or stop it with Ctrl-C there",
            ) from None
        os.ftruncate(descriptor, 0)
        os.pwrite(descriptor, str(os.getpid()).encode("ascii"), 0)
        yield
    finally:
        os.close(descriptor)
