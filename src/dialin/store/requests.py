"""What may be asked of a study that runs, by a file in its directory that it looks at between its blocks."""

from __future__ import annotations

from pathlib import Path

FILE = "stop-after-block"


def ask_to_stop(directory: Path) -> None:
    """Ask the study to stop when the block under way has ended; resuming it takes this back.

    Raises:
        OSError: the directory cannot be written to.
    """
    (directory / FILE).touch()


def take_back(directory: Path) -> None:
    """Take back that the study is to stop.

    Raises:
        OSError: the directory cannot be written to.
    """
    (directory / FILE).unlink(missing_ok=True)


def is_asked_to_stop(directory: Path) -> bool:
    """Return whether the study is asked to stop when the block under way has ended; where it cannot be told, it is not."""
    try:
        (directory / FILE).stat()
    except OSError:
        return False
    return True
