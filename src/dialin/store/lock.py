"""The lock of a study: one dialin at a time runs it, and any number may read it and see who runs it."""

from __future__ import annotations

import errno
import fcntl
import os
import struct
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from dialin.errors import UserError

LOCK_FILE = "study.lock"

CHECKS = "checks"
"""Written in place of the identity of a process that only checks whether the study could be resumed."""

_FLOCK = struct.Struct("hhqqi4x")
"""The kernel's `struct flock`: kind, whence, start, length, process."""

_WHOLE_FILE = _FLOCK.pack(fcntl.F_WRLCK, os.SEEK_SET, 0, 0, 0)


@dataclass(frozen=True, slots=True)
class Holder:
    """The process that runs a study.

    Attributes:
        pid: 0 if it is not recorded yet.
        identity: what distinguishes that process from a later one with the same PID; empty where unknown.
    """

    pid: int
    identity: str = ""

    @property
    def only_checks(self) -> bool:
        """Whether it runs nothing and only checks whether the study could be resumed."""
        return self.identity == CHECKS


@contextmanager
def sole_runner(directory: Path, identity: str = "") -> Iterator[None]:
    """Hold the study for this process; the kernel releases it however the process ends.

    `identity` distinguishes this process from a later one with the same PID; it is `CHECKS` where nothing is run.

    Raises:
        UserError: a live dialin is running the study.
    """
    try:  # of a link, what it leads to would be overwritten
        descriptor = os.open(directory / LOCK_FILE, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o644)
    except OSError as error:
        if error.errno != errno.ELOOP:
            raise
        raise UserError(f"{directory / LOCK_FILE} is a link, and dialin makes none", "Remove it") from None
    try:
        try:
            # The lock belongs to the open file and not to the process: a second try from the same process is refused too.
            fcntl.fcntl(descriptor, fcntl.F_OFD_SETLK, _WHOLE_FILE)
        except (BlockingIOError, PermissionError):
            pid = _read_holder(descriptor).pid or "unknown"
            raise UserError(
                f"{directory} is in use by a running study (process {pid})",
                "Wait for it to end, or stop it with Ctrl-C there",
            ) from None
        os.ftruncate(descriptor, 0)
        os.pwrite(descriptor, f"{os.getpid()} {identity}".encode("ascii"), 0)
        yield
    finally:
        os.close(descriptor)


def holder(directory: Path) -> Holder | None:
    """Return the process that runs a study, or None. This takes no lock, so it never delays a study that begins."""
    try:
        descriptor = os.open(directory / LOCK_FILE, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)  # a pipe would be waited for
    except OSError:
        return None
    try:
        kind, *_ = _FLOCK.unpack(fcntl.fcntl(descriptor, fcntl.F_OFD_GETLK, _WHOLE_FILE))
        return None if kind == fcntl.F_UNLCK else _read_holder(descriptor)
    finally:
        os.close(descriptor)


def _read_holder(descriptor: int) -> Holder:
    pid, _, identity = os.pread(descriptor, 200, 0).decode("ascii", "replace").strip().partition(" ")
    return Holder(int(pid) if pid.isascii() and pid.isdigit() else 0, identity)
