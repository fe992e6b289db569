"""`recommended.cnf`: the lines that turn the baseline into what is recommended, ready for a server's option file."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from dialin.errors import UserError
from dialin.model.measure import deciding
from dialin.model.record import StudyRecord
from dialin.model.setting import Setting, Value, same_value
from dialin.model.trial import TrialState
from dialin.model.verdict import Verdict
from dialin.text import visible, wrapped
from dialin.variables import optionfile
from dialin.variables.rules import loses
from dialin.variables.size_units import in_units

WIDTH = 100
"""Columns that a comment may fill. A server reads a line in pieces of 4 KiB, so a comment must never grow past one."""


@dataclass(frozen=True, slots=True)
class Comments:
    """What the comments of the files say.

    Attributes:
        reasons: the verdict and what it rests on, a sentence each.
        gain: what the recommendation gains over the baseline.
        no_change: what to say where no variable changes.
    """

    reasons: Sequence[str]
    gain: str
    no_change: str


@dataclass(frozen=True, slots=True)
class Change:
    """One variable whose value the recommendation changes.

    Attributes:
        value: what is recommended, or None where the baseline's line is to be removed.
        before: the baseline's value, or None where it is not known.
        line: the line for an option file, or None where there is none to write.
        refusal: why a value has no line, or nothing.
        reported: whether `before` is only what a sandbox of the study reported: the server to be changed may have another.
    """

    name: str
    value: Value | None
    before: Value | None
    line: str | None
    refusal: str = ""
    reported: bool = False


def changes(record: StudyRecord) -> list[Change]:
    """Return what the recommendation changes of the baseline; nothing where that is recommended, or there is no verdict."""
    verdict = record.verdict
    if verdict is None or verdict.recommended_candidate == verdict.baseline:
        return []
    base = record.spec.candidate(record.spec.baseline).setting
    in_force = _in_force(record, verdict.baseline)
    is_sandbox = record.spec.attachment is None
    changed = [
        _change(name, value, base.get(name, in_force.get(name)), reported=is_sandbox and name not in base)
        for name, value in verdict.recommended.items()
        if name not in base or not same_value(value, base[name])
    ]
    removed = [Change(name, None, value, None) for name, value in base.items() if name not in verdict.recommended]
    return changed + removed


def render(record: StudyRecord, comments: Comments) -> str:
    """Return the option file of a verdict: only what differs from the baseline, each line with its reason as a comment."""
    verdict = record.verdict
    if verdict is None:
        raise ValueError("a study without a verdict recommends nothing")
    lines = _comment(f"Written by dialin {record.dialin_version} from the study {record.directory}")
    changed = changes(record)
    texts = [*comments.reasons, *(warnings(verdict) if changed else [comments.no_change])]
    lines += [line for text in texts if text for line in _comment(text)]
    lines.append("[mysqld]")
    together = "Together these give " if len(changed) > 1 else "Gives "
    figure = (together if deciding(verdict.chosen, verdict) else "") + comments.gain
    for item in changed:
        lines += ["", *_lines_of(item, figure)]
    return "\n".join(lines) + "\n"


def warnings(verdict: Verdict) -> list[str]:
    """Return a warning for each recommended variable that weakens durability."""
    weaker = verdict.chosen.weaker_durability
    return [f"CAREFUL: {variable} as below gives up durability: {loses(variable)}." for variable in weaker]


def _lines_of(item: Change, figure: str) -> list[str]:
    before = "" if item.before is None else f" (was {in_units(item.name, item.before)})"
    if item.value is None:
        return _comment(f"{item.name}{before}: remove this line, so that the server's default applies. {figure}")
    if item.line is None:
        return _comment(f"{item.name} is not written here: {item.refusal}")
    return [*_comment(f"{item.name}{before}. {figure}"), item.line]


def _comment(text: str) -> list[str]:
    return wrapped(visible(text), WIDTH, indent="# ", hanging="#   ")


def _change(name: str, value: Value, before: Value | None, *, reported: bool) -> Change:
    try:
        return Change(name, value, before, optionfile.line(name, in_units(name, value)), reported=reported)
    except UserError as error:
        return Change(name, value, before, None, error.what, reported)


def _in_force(record: StudyRecord, name: str) -> Setting:
    for trial in record.trials:
        if trial.candidate == name and trial.state is TrialState.DONE:
            return dict(trial.in_force)
    return {}
