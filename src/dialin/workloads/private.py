"""Keeps passwords private: drivers inherit none from the environment, and files that hold one are their owner's only."""

from __future__ import annotations

import os
from pathlib import Path


def environment() -> dict[str, str]:
    """Return a driver's environment, without MYSQL_PWD: the driver would use it for an account that has no password."""
    return {name: value for name, value in os.environ.items() if name != "MYSQL_PWD"}


def write(path: Path, text: str) -> None:
    """Write a file that nobody else can read at any time; it replaces a file of that name."""
    path.unlink(missing_ok=True)
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)  # never another's file
    with open(descriptor, "w", encoding="utf-8") as file:  # noqa: PTH123 - a descriptor
        file.write(text)
