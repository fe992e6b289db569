"""Warnings as sentences, made of their codes and figures when they are shown, so that an old study reads as a new one does."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from dialin.model.verdict import Note
from dialin.text import percent

NOISIER = "noisier_than_expected"
"""The code of the warning that trials varied more than was expected."""


def noisier(noise: float, expected: float) -> str:
    """Return the sentence on a study that was noisier than expected; both are standard deviations of a trial, relative."""
    return (
        f"Noise was {percent(noise)}, expected {percent(expected)} from earlier studies: something disturbs this machine, so "
        "only larger differences than planned can be detected. Run dialin doctor to look for the cause"
    )


_SENTENCES: Mapping[str, Callable[[Mapping[str, Any]], str]] = {
    NOISIER: lambda data: noisier(float(data["noise"]), float(data["expected"])),
}


def note_text(note: Note) -> str:
    """Return a warning or a confound as a sentence; one of a code that is not known here, or without its figures, as stored."""
    sentence = _SENTENCES.get(note.code)
    try:
        return sentence(note.data) if sentence else note.text
    except (KeyError, TypeError, ValueError):  # written by another dialin
        return note.text
