"""Sums up the reasons in one sentence."""

from __future__ import annotations

from collections.abc import Sequence

from dialin.evidence.measured import MeasuredTrial
from dialin.evidence.reasons.rule import SPELLED_BY_SERVER
from dialin.evidence.reasons.significance import Pair
from dialin.measures.table import measure_of_study
from dialin.model.record import StudyRecord
from dialin.model.why import Reason


def summary(
    record: StudyRecord, trials: Sequence[MeasuredTrial], changes: Sequence[Reason], count: int, compared: Pair | None
) -> str:
    """Return one sentence: what changed with the verdict, or that nothing did.

    `changes` are the changes that are shown, the strongest first; `count` is the number of all changes.
    """
    goal = measure_of_study(record.spec).name
    if not any(one.watched for one in trials):
        return "No probe ran while load was measured, so no reason is available."
    if compared is None:
        return "No candidate can be compared with the baseline, so no reason is available."
    if not changes:
        if len({one.trial.stratum for one in trials}) < 2:
            return "One block is too little to separate what changed with the verdict from noise."
        if compared.differ:
            return f"No metric changed with {goal}: no recorded metric explains the difference, or it is noise."
        return f"No metric changed, and no difference in {goal} was detected."
    first = changes[0].subject
    subject = f"{count:,} metrics" if count > 1 else first
    most = f", {first} most" if count > 1 else ""
    strongest = "the strongest is" if len(changes) == 1 else f"the {len(changes)} strongest are"
    shown = f"; {strongest} shown" if count > len(changes) else ""
    if not compared.differ:
        return f"No difference in {goal} was detected, though {subject} changed{most}{shown}."
    if changes[0].correlation is None:
        text = f"{subject} changed{most}{shown}."
    else:
        r = f"{changes[0].correlation:.2f}".replace("-", "−")
        text = f"{subject} changed with {goal}{most} (r = {r}; correlation, not cause){shown}."
    return text if count == 1 and changes[0].code in SPELLED_BY_SERVER else f"{text[:1].upper()}{text[1:]}"
