"""The reasons in one sentence."""

from __future__ import annotations

from collections.abc import Sequence

from dialin.evidence.measured import Measured
from dialin.evidence.reasons.judge import Pair
from dialin.evidence.reasons.words import GOALS
from dialin.model.record import StudyRecord
from dialin.model.why import Reason
from dialin.text import counted


def summary(record: StudyRecord, found: Sequence[Measured], moved: Sequence[Reason], compared: Pair | None) -> str:
    """Return what moved with the verdict, or that nothing did.

    Args:
        record: the study.
        found: its trials that ended well.
        moved: the reasons of that kind, strongest first.
        compared: what was compared; None where nothing could be.
    """
    goal = GOALS[record.spec.goal]
    if not any(one.watched for one in found):
        return "Nothing was watched while load was measured, so no reason can be told."
    if compared is None:
        return "No candidate can be compared with the baseline, so no reason can be told."
    if not moved:
        if len({one.stratum for one in found}) < 2:
            return "One block is too little to tell what moved with the verdict and what by itself."
        if compared.differ:
            return f"Nothing that was watched moved with {goal}: what made the difference is not in these figures, or is noise."
        return f"Nothing that was watched moved, and neither did {goal} by what can be told."
    first = moved[0].text.rstrip(".")
    rest = f" {counted(len(moved) - 1, 'more figure')} moved." if len(moved) > 1 else ""
    if not compared.differ:
        return f"{goal.capitalize()} does not differ by what can be told, though this moved: {first}.{rest}"
    if moved[0].correlation is None:
        return f"What moved most: {first}.{rest}"
    return f"What moved most with {goal} (correlation {moved[0].correlation:.2f}, which is no proof): {first}.{rest}".replace(
        "correlation -", "correlation −"
    )
