"""Words that reasons share."""

from __future__ import annotations

from collections.abc import Sequence

from dialin.model.record import StudyRecord
from dialin.model.study import Goal
from dialin.model.workload import TRANSACTION
from dialin.text import listed, visible

_MANY = 4

GOALS = {Goal.THROUGHPUT: "throughput", Goal.STABILITY: "variation", Goal.LATENCY: "latency"}
"""What the measure of a study's goal is called in a sentence."""


def holding_for(names: Sequence[str], record: StudyRecord) -> str:
    """Return the end of a sentence that names the candidates it holds for; empty where it holds for all."""
    if len(names) == len(record.spec.candidates):
        return ""
    shown = [visible(name) for name in names[:_MANY]]
    rest = len(names) - len(shown)
    return f", with {listed([*shown, f'{rest} more'] if rest else shown)}"


def in_unit(text: str, record: StudyRecord) -> str:
    """Return a text with the load's own unit, such as runs of a timed query, in place of transactions."""
    return text.replace(f"per {TRANSACTION}", f"per {record.spec.workload.traits.unit}")
