"""Files of /proc and /sys, read so that one which is not there, or not ours to read, is merely empty."""

from __future__ import annotations

import os
from pathlib import Path

_MOST = 1 << 16
"""Bytes asked for at once."""


def read(path: Path) -> str:
    """Return the text of a file, without the white space around it; empty where it cannot be read."""
    # What `open` sets up for text takes three times as long as the kernel takes to tell it.
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return ""
    try:
        return b"".join(iter(lambda: os.read(descriptor, _MOST), b"")).decode(errors="replace").strip()
    except OSError:
        return ""
    finally:
        os.close(descriptor)


def number(text: str) -> int | None:
    """Return a whole number; None where the text is something else."""
    text = text.strip()
    return int(text) if text.removeprefix("-").isdecimal() else None


def chosen(text: str) -> str | None:
    """Return the word that a kernel file marks, `b` of `a [b] c`; its only word where it marks none; else None."""
    if marked := text.partition("[")[2].partition("]")[0]:
        return marked
    return text if text and len(text.split()) == 1 else None
