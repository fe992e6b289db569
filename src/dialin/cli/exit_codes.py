"""The exit codes of verdicts; apart from `console`, which starts without the model."""

from __future__ import annotations

from dialin.errors import ExitCode
from dialin.model.verdict import Outcome


def exit_code(outcome: Outcome | None) -> ExitCode:
    """Return the exit code of a verdict; None where there is none."""
    return ExitCode.NO_VERDICT if outcome in (None, Outcome.INCONCLUSIVE) else ExitCode.VERDICT
