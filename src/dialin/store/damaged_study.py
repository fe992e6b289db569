"""Studies that cannot be read: a file that is no longer a database, or rows that somebody altered by hand."""

from __future__ import annotations

from pathlib import Path

from pydantic import ValidationError

from dialin.errors import UserError
from dialin.model.record import StudyRecord

BAD_ROWS = (ValidationError, ValueError, TypeError, LookupError, AttributeError)
"""The errors that reading raises for rows that somebody altered by hand."""


def damaged(path: Path) -> UserError:
    """Return the error of a database that cannot be read."""
    return UserError(f"{path} is damaged and cannot be read", "Restore it from a backup, or start a new study")


def check_candidates(record: StudyRecord) -> None:
    """Raise LookupError if the baseline, a trial or the verdict names a candidate that the study does not have."""
    known = set(record.spec.names)
    named = {record.spec.baseline, *(trial.candidate for trial in record.trials)}
    if record.verdict is not None:
        named |= {candidate.name for candidate in record.verdict.candidates}
    if unknown := named - known:
        raise LookupError(unknown)
