"""Reads files of /proc and /sys. A file that does not exist, or that this user may not read, reads as empty."""

from __future__ import annotations

import os
import re
from pathlib import Path

_MOST = 1 << 16
"""Bytes that are read at once."""


def read(path: Path) -> str:
    """Return the text of a file, without the white space around it; empty where it cannot be read."""
    # `os.open` is used because the setup of Python's `open` takes three times as long as the kernel takes to produce the text.
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


def unescaped(text: str) -> str:
    """Return a path as it is, from the kernel's table of mounts, where white space and backslashes are octal."""
    return re.sub(r"\\([0-7]{3})", lambda found: chr(int(found[1], 8)), text)


def mounts_within(directory: Path) -> list[str]:
    """Return the paths at and below a directory that something is mounted on in this mount namespace, the deepest last.

    Raises:
        OSError: this machine has no room to find out.
    """
    lines = Path("/proc/self/mountinfo").read_text(encoding="utf-8", errors="replace").splitlines()
    places = [unescaped(line.split(" ")[4]) for line in lines]
    root = os.path.realpath(directory)
    return sorted(place for place in places if place == root or place.startswith(f"{root}/"))


def number(text: str) -> int | None:
    """Return a whole number; None where the text is something else."""
    text = text.strip()
    return int(text) if text.removeprefix("-").isdecimal() else None


def selected_word(text: str) -> str | None:
    """Return the word that a kernel file marks, such as `b` in `a [b] c`; its only word where none is marked; else None."""
    if marked := text.partition("[")[2].partition("]")[0]:
        return marked
    return text if text and len(text.split()) == 1 else None
