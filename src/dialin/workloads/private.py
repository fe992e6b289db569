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
    path.touch(mode=0o600)
    path.write_text(text, encoding="utf-8")
