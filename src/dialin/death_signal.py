"""Lets the kernel end the programs that dialin starts when dialin itself dies, however it dies."""

from __future__ import annotations

import shutil


def dying_by(name: str = "KILL") -> list[str]:
    """Return what stands before a command so that it gets this signal when dialin dies; nothing without setpriv."""
    setpriv = shutil.which("setpriv")
    return [setpriv, "--pdeathsig", name, "--"] if setpriv else []
