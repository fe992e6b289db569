"""Private temporary directories. One that a killed dialin left is removed by the next.

A dialin holds a lock on its directory for as long as it uses it; the kernel releases the lock however it ends.
"""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from dialin.file_lock import lock, try_lock

_PREFIX = "dialin-scratch-"
_DIRECTORY = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW


@contextmanager
def scratch() -> Iterator[Path]:
    """Yield a new, empty directory, and remove it at the end of the `with` block.

    Raises:
        OSError: it cannot be made.
    """
    directory, descriptor = _locked()
    try:
        yield directory
    finally:
        shutil.rmtree(directory, ignore_errors=True)
        os.close(descriptor)


def _locked() -> tuple[Path, int]:
    """Make a directory and lock it; anew if another dialin has taken it for one that was left before it was locked."""
    while True:
        directory = Path(tempfile.mkdtemp(prefix=_PREFIX))
        descriptor = -1
        try:
            descriptor = os.open(directory, _DIRECTORY)
            with suppress(OSError):  # a file system without locks, where nobody can take it for one that was left
                lock(descriptor)
            if os.path.samestat(os.fstat(descriptor), directory.stat()):
                return directory, descriptor
        except FileNotFoundError:
            pass
        except BaseException:
            shutil.rmtree(directory, ignore_errors=True)
            raise
        if descriptor >= 0:
            os.close(descriptor)


def remove_left() -> None:
    """Remove the directories of this user that no dialin uses any more; what cannot be removed stays."""
    with suppress(OSError):
        for directory in Path(tempfile.gettempdir()).glob(f"{_PREFIX}*"):
            with suppress(OSError):
                descriptor = os.open(directory, _DIRECTORY)
                try:
                    if os.fstat(descriptor).st_uid == os.geteuid() and try_lock(descriptor):
                        shutil.rmtree(directory, ignore_errors=True)
                finally:
                    os.close(descriptor)
