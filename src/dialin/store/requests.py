"""Requests to a running study, through a file in its directory that it looks for between its blocks."""

from __future__ import annotations

from pathlib import Path

STOP_FILE = "stop-after-block"


def ask_to_stop(directory: Path) -> None:
    """Ask the study to stop after the current block; resuming it withdraws this.

    Raises:
        OSError: the directory cannot be written to.
    """
    (directory / STOP_FILE).touch()


def withdraw_stop(directory: Path) -> None:
    """Withdraw the request to stop.

    Raises:
        OSError: the directory cannot be written to.
    """
    (directory / STOP_FILE).unlink(missing_ok=True)


def is_asked_to_stop(directory: Path) -> bool:
    """Return whether the study is asked to stop after the current block; False where the directory cannot be read."""
    try:
        (directory / STOP_FILE).stat()
    except OSError:
        return False
    return True
