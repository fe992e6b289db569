"""Words that reasons share."""

from __future__ import annotations

from collections.abc import Sequence

from dialin.model.record import StudyRecord
from dialin.model.study import Goal
from dialin.model.workload import LoadUnit
from dialin.text import listed, visible

_MANY = 4

GOALS = {Goal.THROUGHPUT: "throughput", Goal.STABILITY: "variation", Goal.LATENCY: "latency"}
"""What the measure of a study's goal is called in a sentence."""


def holding_for(names: Sequence[str], record: StudyRecord) -> str:
    """Return which candidates something holds for, to stand at a sentence's end; nothing where it holds for all."""
    if len(names) == len(record.spec.candidates):
        return ""
    shown = [visible(name) for name in names[:_MANY]]
    rest = len(names) - len(shown)
    return f", with {listed([*shown, f'{rest} more'] if rest else shown)}"


def in_runs(text: str, record: StudyRecord) -> str:
    """Return words on transactions as words on runs, where the load is a timed query."""
    return text.replace("a transaction", "a run") if record.spec.workload.traits.unit is LoadUnit.RUN else text
