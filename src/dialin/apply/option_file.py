"""`recommended.cnf`: the option file lines that turn the baseline into the recommended setting."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass

from dialin.errors import UserError
from dialin.measures.of_verdict import deciding
from dialin.model.record import StudyRecord
from dialin.model.setting import Setting, Value, as_number, same_value
from dialin.model.trial import TrialState
from dialin.model.verdict import Verdict
from dialin.text import listed, visible, wrapped
from dialin.variables import optionfile
from dialin.variables.behaviour import LIMITS
from dialin.variables.durability import loss_text
from dialin.variables.size_units import in_units

WIDTH = 100
"""Width of comments in columns. A server reads lines in pieces of 4 KiB, so a line of a comment must not be longer than one."""


@dataclass(frozen=True, slots=True)
class Comments:
    """The text of the comments in the files.

    Attributes:
        reasons: the verdict and the facts that it rests on, a sentence each.
        gain: the gain of the recommendation over the baseline.
        no_change: the sentence for a recommendation that changes no variable.
    """

    reasons: Sequence[str]
    gain: str
    no_change: str


@dataclass(frozen=True, slots=True)
class Change:
    """One variable whose value the recommendation changes.

    Attributes:
        value: the recommended value, or None where the baseline's line is to be removed.
        before: the baseline's value, or None where it is not known.
        line: the line for an option file; None for a removal, and for a value that cannot be written to one.
        refusal: why the value cannot be written to an option file; empty where it can.
        reported: whether `before` is known only from a sandbox of the study: the server to be changed may have another value.
    """

    name: str
    value: Value | None
    before: Value | None
    line: str | None
    refusal: str = ""
    reported: bool = False


def changes(record: StudyRecord) -> list[Change]:
    """Return the recommended changes to the baseline; none where the baseline is recommended, or there is no verdict."""
    verdict = record.verdict
    if verdict is None or verdict.recommended_candidate == verdict.baseline:
        return []
    base = record.spec.candidate(record.spec.baseline).setting
    in_force = _in_force(record, verdict.baseline)
    is_sandbox = record.spec.is_sandboxed
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
    gain = (together if deciding(verdict.chosen, verdict) else "") + comments.gain
    for item in changed:
        lines += ["", *_lines_of(item, gain)]
    return "\n".join(lines) + "\n"


def warnings(verdict: Verdict) -> list[str]:
    """Return a warning for each thing that a crash can take from the recommended setting, but not from the baseline."""
    losses = verdict.chosen.weaker_durability
    return [f"CAREFUL: weaker durability ({listed(loss.variables)}): {loss_text(loss)}." for loss in losses]


def _lines_of(item: Change, gain: str) -> list[str]:
    before = "" if item.before is None else f" (was {in_units(item.name, item.before)})"
    if item.value is None:
        return _comment(f"{item.name}{before}: remove this line, so that the server's default applies. {gain}")
    if item.line is None:
        return _comment(f"{item.name} is not written here: {item.refusal}")
    return [*_comment(f"{item.name}{before}. {gain}"), item.line]


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


PAIRS = {name: limit.by for name, limit in LIMITS.items() if limit.is_kept}
"""Each variable whose value the server fits to another's, with that other one."""


def safe_order(changed: Sequence[Change]) -> list[Change]:
    """Return changes in an order in which the server cuts no value: a limit is raised first, or lowered last."""
    items = list(changed)
    names = [item.name for item in items]
    for limited, limit in PAIRS.items():
        if limited not in names or limit not in names:
            continue
        low, high = names.index(limited), names.index(limit)
        value, before = (None if each is None else as_number(each) for each in (items[high].value, items[high].before))
        is_raised = value is None or before is None or value >= before
        if is_raised == (low < high):
            items[low], items[high] = items[high], items[low]
            names = [item.name for item in items]
    return items


def with_partners(names: Sequence[str]) -> list[str]:
    """Return the names, and those of the variables that limit them or that they limit, each once."""
    pairs = [pair for pair in PAIRS.items() if not set(pair).isdisjoint(names)]
    return list(dict.fromkeys([*names, *(name for pair in pairs for name in pair)]))


def missing_partner_note(name: str, names: Collection[str]) -> str:
    """Return a note on a variable that is set without the other one of its pair; empty where there is nothing to note."""
    for limited, limit in PAIRS.items():
        if name in (limited, limit) and not {limited, limit} <= set(names):
            other, comparison, verb = (limit, "lower", "raise") if name == limited else (limited, "higher", "lower")
            return (
                f"{name}: if {other} on your server is {comparison}, {verb} it first; "
                "otherwise the server changes one of the two to fit the other."
            )
    return ""
