"""Passwords that load drivers must not read from elsewhere, nor show to others: in their environment and in files."""

from __future__ import annotations

import os
from pathlib import Path


def environment() -> dict[str, str]:
    """Return what a driver runs in; it would take the password of the environment where the account has none."""
    return {name: value for name, value in os.environ.items() if name != "MYSQL_PWD"}


def write(path: Path, text: str) -> None:
    """Write a file that nobody else can read at any time, in place of one of that name."""
    path.unlink(missing_ok=True)
    path.touch(mode=0o600)
    path.write_text(text, encoding="utf-8")
