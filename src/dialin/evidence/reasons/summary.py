"""The reasons in one sentence."""

from __future__ import annotations

from collections.abc import Sequence

from dialin.evidence.measured import Measured
from dialin.evidence.reasons.phrases import GOALS
from dialin.evidence.reasons.significance import Pair
from dialin.model.record import StudyRecord
from dialin.model.why import Reason


def summary(record: StudyRecord, trials: Sequence[Measured], changes: Sequence[Reason], compared: Pair | None) -> str:
    """Return one sentence: what changed with the verdict, or that nothing did."""
    goal = GOALS[record.spec.goal]
    if not any(one.watched for one in trials):
        return "Nothing was watched while load was measured, so no reason can be told."
    if compared is None:
        return "No candidate can be compared with the baseline, so no reason can be told."
    if not changes:
        if len({one.stratum for one in trials}) < 2:
            return "One block is too little to tell what moved with the verdict and what by itself."
        if compared.differ:
            return f"Nothing that was watched moved with {goal}: what made the difference is not in these figures, or is noise."
        return f"Nothing that was watched moved, and neither did {goal} by what can be told."
    first = _subject(changes[0])
    which = f"{len(changes)} figures moved, most of all {first}" if len(changes) > 1 else f"{first} moved"
    if not compared.differ:
        return f"{goal.capitalize()} does not differ by what can be told, though {which}."
    if changes[0].correlation is None:
        return f"{which[:1].upper()}{which[1:]}."
    together = f"{changes[0].correlation:.2f}".replace("-", "−")
    return f"With {goal} {which} (correlation {together}, which is no proof)."


def _subject(reason: Reason) -> str:
    subject = reason.text.partition(": ")[0]
    # The name of a lock or a file keeps its spelling; a sentence's own first word loses its capital.
    return f"{subject[:1].lower()}{subject[1:]}" if subject[1:2].islower() else subject
