"""The exit codes of verdicts. They are not in `console`, which is imported without the model."""

from __future__ import annotations

from dialin.errors import ExitCode
from dialin.model.verdict import Outcome


def exit_code(outcome: Outcome | None) -> ExitCode:
    """Return the exit code of a verdict; `outcome` is None where there is no verdict."""
    return ExitCode.NO_VERDICT if outcome in (None, Outcome.INCONCLUSIVE) else ExitCode.VERDICT
