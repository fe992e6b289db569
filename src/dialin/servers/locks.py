"""Named locks, as files in a directory: each is held by one process, and released by the kernel however the process ends."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from dialin.clock import Clock
from dialin.errors import is_machine_fault
from dialin.file_lock import try_lock

_POLL = 0.05


class Locks:
    """The locks in a directory, as this process takes and releases them; the directory must exist when one is taken."""

    def __init__(self, directory: Path, clock: Clock) -> None:
        self._directory = directory
        self._clock = clock
        self._held: dict[str, int] = {}

    def take(self, name: str, patience: float = 1.0) -> bool:
        """Take a lock, or keep it where it is held already; False where another process holds it for `patience` seconds.

        Raises:
            OSError: the lock's file cannot be created.
        """
        if name in self._held and self._is_current(name):
            return True
        descriptor = os.open(self._path(name), os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
        limit = self._clock.monotonic() + patience
        while not try_lock(descriptor):
            if self._clock.monotonic() > limit:
                os.close(descriptor)
                return False
            self._clock.sleep(_POLL)
        self.release(name)
        self._held[name] = descriptor
        return True

    def is_free(self, name: str) -> bool:
        """Return whether no process holds a lock, this one included.

        Raises:
            OSError: this machine has no room to find out.
        """
        if name in self._held:
            return False
        try:
            descriptor = os.open(self._path(name), os.O_RDWR | os.O_CLOEXEC)
        except FileNotFoundError:
            return True
        except OSError as error:
            if is_machine_fault(error):
                raise
            return False  # the file belongs to another user, so a process of that user may hold it
        try:
            return try_lock(descriptor)
        finally:
            os.close(descriptor)

    def release(self, name: str) -> None:
        if (descriptor := self._held.pop(name, None)) is not None:
            os.close(descriptor)

    def remove(self, name: str) -> None:
        """Release a lock that is not needed any more, and remove its file."""
        try:
            self._path(name).unlink(missing_ok=True)
        finally:
            self.release(name)

    @contextmanager
    def held(self, name: str, patience: float) -> Iterator[bool]:
        """Hold a lock during the `with` block; yields whether it could be taken."""
        taken = self.take(name, patience)
        try:
            yield taken
        finally:
            if taken:
                self.release(name)

    def _is_current(self, name: str) -> bool:
        """Return whether the file that this process holds is still the one that others would open."""
        try:
            return os.path.samestat(os.fstat(self._held[name]), self._path(name).stat())
        except OSError:
            return False

    def _path(self, name: str) -> Path:
        return self._directory / f"{name}.lock"
