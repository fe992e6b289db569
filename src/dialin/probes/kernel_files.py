"""Files of /proc and /sys, read so that one which is not there, or not ours to read, is merely empty."""

from __future__ import annotations

from pathlib import Path


def read(path: Path) -> str:
    """Return the text of a file, without the white space around it; empty where it cannot be read."""
    try:
        return path.read_text(encoding="utf-8", errors="replace").strip()
    except OSError:
        return ""


def number(text: str) -> int | None:
    """Return a whole number; None where the text is something else."""
    text = text.strip()
    return int(text) if text.removeprefix("-").isdecimal() else None


def chosen(text: str) -> str | None:
    """Return the word that a kernel file marks, `b` of `a [b] c`; its only word where it marks none; else None."""
    if marked := text.partition("[")[2].partition("]")[0]:
        return marked
    return text if text and len(text.split()) == 1 else None
