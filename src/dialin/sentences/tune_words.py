"""Texts about a tune that the headline, the report and the terminal share."""

from __future__ import annotations

from collections.abc import Collection, Mapping

from dialin.model.dimension import Dimension
from dialin.model.record import StudyRecord
from dialin.model.setting import Setting, Value, as_number
from dialin.model.tune import TuneStage
from dialin.model.verdict import TunedPair, TunedVariable, TuneFindings, TuneOutcome, Verdict
from dialin.sentences.changes import is_too_noisy, too_noisy
from dialin.text import change, counted, exact_percent, listed, visible
from dialin.variables.size_units import BYTES, unit_of, with_letter

_MOST_NAMED = 4
"""Changes that a headline names with their values."""
_MOST_NAMES = 3
"""Names in a headline where there are more changes than that."""

STAGES: Mapping[TuneStage, str] = {
    TuneStage.START: "first settings",
    TuneStage.ANCHOR: "baseline again",
    TuneStage.SEARCH: "search",
    TuneStage.REFINE: "refinement",
    TuneStage.PROOF: "proof",
}
"""What a trial of a tune is for."""


def value_text(name: str, value: Value) -> str:
    """Return a value as an option file would write it: bytes with a letter where one fits."""
    size = as_number(value)
    if unit_of(name) == BYTES and isinstance(size, int):
        return with_letter(size)
    return visible(value)


def setting_text(setting: Setting) -> str:
    """Return a setting in one line: `a = 1, b = 2M`; `the baseline` where it changes nothing."""
    return ", ".join(f"{visible(name)} = {value_text(name, value)}" for name, value in setting.items()) or "the baseline"


def name_by_changes(changes: Setting, names: Collection[str]) -> str:
    """Return a name for a setting of a tune that is none of `names`: `innodb_io_capacity = 4000 + 2 more`."""
    more = f" + {len(changes) - 1} more" if len(changes) > 1 else ""
    name = setting_text(dict(list(changes.items())[:1])) + more
    same = sum(other == name or other.startswith(f"{name} (") for other in names)
    return f"{name} ({same + 1})" if same else name


def brief_setting(setting: Setting) -> str:
    """Return a setting for a headline: with values where they are few, else the first names alone."""
    if len(setting) <= _MOST_NAMED:
        return setting_text(setting)
    first = [visible(name) for name in setting][:_MOST_NAMES]
    return f"{len(setting)} changes ({listed([*first, f'{len(setting) - len(first)} more'])})"


def tune_headline(verdict: Verdict, findings: TuneFindings, gain: str) -> str:
    """Return the verdict of a tune in one sentence; `gain` is the gain of the recommended setting, in figures."""
    if findings.outcome is TuneOutcome.GAIN:
        return f"{brief_setting(findings.recommended)}: {gain or 'a gain'}."
    if findings.outcome is TuneOutcome.NOTHING:
        return f"Nothing to gain here: no setting tried is better than the baseline by {exact_percent(findings.worthwhile)}."
    if not findings.best:
        return "Inconclusive: no setting tried promises more than the baseline."
    shown = _proven(findings, verdict.confidence)
    return f"Inconclusive: {brief_setting(findings.best)} is the best setting tried, and not shown to be a gain{shown}."


def _proven(findings: TuneFindings, confidence: float) -> str:
    gain = findings.gain
    if gain is None or gain.low is None or gain.high is None:
        return ""
    if is_too_noisy(gain):
        return f" ({too_noisy(findings.proven)})"
    interval = f"{exact_percent(confidence)} CI {change(gain.low)} to {change(gain.high)}"
    return f" ({change(gain.mean)}, {interval}, in confirmation trials)"


def interaction_text(pair: TunedPair) -> str:
    """Return how two recommended variables depend on each other, in a sentence."""
    first, second = pair.variables
    how = "need each other" if pair.ratio.mean > 1 else "can partly replace each other"
    more = "more" if pair.ratio.mean > 1 else "less"
    return (
        f"{first} and {second} {how}: together they gain {abs(100 * (pair.ratio.mean - 1)):.0f} % {more} than what each gains "
        "without the other, by the model."
    )


def not_separated(one: TunedVariable) -> str:
    """Return the remark that names the recommended variables which may carry this one's effect."""
    return f"not separated from {visible(listed(one.companions))}"


def best_so_far(record: StudyRecord) -> str:
    """Return the headline of a tune without a verdict: the best setting so far, not proven."""
    findings = record.course.findings if record.course else None
    if findings is None:
        return "No verdict yet: no trial of the search has ended."
    trials = counted(findings.searched + findings.proven, "trial")
    if not findings.best or findings.expected is None:
        return f"No verdict yet: after {trials} no setting promises more than the baseline."
    return (
        f"Best so far, not proven: {brief_setting(findings.best)} ({change(findings.expected)} by the model, after {trials})."
    )


def range_text(one: Dimension) -> str:
    """Return the values that a tune may try for a variable: `16M..1G, log scale`, or a list."""
    values = [value_text(one.name, value) for value in (one.values or one.special)]
    if one.values:
        return ", ".join(values)
    ends = f"{value_text(one.name, _whole(one.low))}..{value_text(one.name, _whole(one.high))}"
    return " or ".join([ends, *values]) + (", log scale" if one.log else "")


def _whole(end: float) -> Value:
    return int(end) if float(end).is_integer() else end
