"""Phrases that reasons share."""

from __future__ import annotations

from collections.abc import Sequence

from dialin.evidence.block_figures import block_figures
from dialin.evidence.measured import FigureOf, MeasuredTrial, throughput, values_of
from dialin.evidence.reasons.rule import More
from dialin.model.record import StudyRecord
from dialin.text import change, listed, number, percent, visible

_MANY = 4


def holding_for(names: Sequence[str], record: StudyRecord) -> str:
    """Return the end of a sentence, which names the candidates that the sentence is true of; empty where it is true of all."""
    if len(names) == len(record.spec.candidates):
        return ""
    shown = [visible(name) for name in names[:_MANY]]
    rest = len(names) - len(shown)
    return f", with {listed([*shown, f'{rest} more'] if rest else shown)}"


_SAME = 0.03
"""The relative difference below which bytes are called the same."""

_PARTS = {2: "half", 3: "a third of", 4: "a quarter of", 8: "an eighth of", 16: "a sixteenth of"}


def describe_reads(calls: FigureOf, amount: FigureOf) -> More:
    """Return a phrase on the bytes read, the number of calls, and the time per transaction."""

    def describe(trials: Sequence[MeasuredTrial], record: StudyRecord, other: str) -> str:
        call_ratio, byte_ratio = (block_figures(values_of(of, trials), trials, record)[other].ratio for of in (calls, amount))
        if call_ratio is None or byte_ratio is None:
            return ""
        read = "the same bytes" if abs(byte_ratio.mean - 1) < _SAME else f"{change(byte_ratio.mean)} bytes"
        return f"{read}, {_times(call_ratio.mean)} the calls, {_time(trials, record, other)} with {visible(other)}"

    return describe


def _times(ratio: float) -> str:
    for parts, words in _PARTS.items():
        if abs(ratio * parts - 1) < 2 * _SAME:
            return words
    return f"{number(ratio)} times" if ratio >= 1 else f"1/{number(1 / ratio)} of"


def _time(trials: Sequence[MeasuredTrial], record: StudyRecord, other: str) -> str:
    """Return by how much the time per transaction differs: the inverse of throughput."""
    ratio = throughput(record, trials).ratios[other]
    if ratio is None or not ratio.excludes_one:
        return "no detectable difference in time"
    return f"{percent(abs(1 / ratio.mean - 1))} {'more' if ratio.mean < 1 else 'less'} time"
