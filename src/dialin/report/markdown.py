"""`report.md`: the verdict for a pull request. Foreign text is shown as text: no markup, no table broken, nobody pinged."""

from __future__ import annotations

import html
import re
from collections.abc import Sequence

from dialin.model.record import StudyRecord
from dialin.model.verdict import CandidateVerdict, Verdict
from dialin.model.why import Why
from dialin.report import facts, markdown_why
from dialin.report.figures import Column, columns
from dialin.report.optionfile import changes
from dialin.report.pareto import trade_off
from dialin.report.words import (
    SCOPE,
    compared,
    confirmation,
    goal,
    headline,
    left,
    length,
    naming,
    no_change,
    outcome,
    reason,
    state_of,
    sureness,
)
from dialin.text import moment, visible, visible_lines

_SPECIAL = re.compile(r"[\\`*\[\]<>|~#&]|(?<!\w)_|_(?!\w)|(?<!\w)@")
_MOST_FAILURES = 8


def render(record: StudyRecord, why: Why | None = None) -> str:
    """Return the report as GitHub-flavoured Markdown.

    Args:
        record: the study.
        why: what explains its verdict; None where nobody looked.
    """
    verdict = record.verdict
    parts = [f"# {prose(headline(record))}", prose(reason(record)), _setting(record)]
    if verdict is not None:
        parts += [prose(confirmation(verdict)), _table(record, verdict), _race(record, verdict)]
    parts.append(markdown_why.render(record, why, prose))
    if verdict is not None:
        parts += [_remarks(verdict), _facts(record, verdict)]
    parts.append(_failures(record))
    parts.append(f"Repeat it with:\n\n{fenced(record.command)}")
    parts.append(
        f"{outcome(record)}. Made by dialin {prose(record.dialin_version)} from a study begun {moment(record.created)}."
    )
    return "\n\n".join(part for part in parts if part) + "\n"


def prose(text: str) -> str:
    """Return a sentence in which no character is markup, HTML or a mention."""
    return _SPECIAL.sub(lambda match: f"&#{ord(match[0])};" if match[0] in "@<>&|`" else f"\\{match[0]}", visible(text))


def fenced(text: str, language: str = "") -> str:
    """Return lines in a code block that none of them can end."""
    shown = visible_lines(text)
    longest = max((len(run) for run in re.findall("`+", shown)), default=0)
    fence = "`" * max(3, longest + 1)
    return f"{fence}{language}\n{shown}\n{fence}"


def _setting(record: StudyRecord) -> str:
    changed = changes(record)
    lines = [item.line for item in changed if item.line is not None]
    parts = [fenced("\n".join(["[mysqld]", *lines]), "ini")] if lines else []
    parts += [f"Remove the line that sets {prose(item.name)}." for item in changed if item.value is None]
    parts += [f"{prose(item.name)} cannot be written as a line: {item.refusal}." for item in changed if item.refusal]
    return "\n\n".join(parts) or prose(no_change(record))


def _table(record: StudyRecord, verdict: Verdict) -> str:
    names = naming(record.spec)
    every = columns(verdict)
    titles = [f"{column.title} ({column.better})" if column.better else column.title for column in every]
    rows = [_row((names.subject or "candidate", *titles, "state")), "|---|" + "---:|" * len(every) + "---|"]
    rows += [_row(_cells(candidate, verdict, every, names.labels[candidate.name])) for candidate in verdict.candidates]
    return "\n".join(rows)


def _race(record: StudyRecord, verdict: Verdict) -> str:
    """Return what is to be chosen between, and who left the race."""
    labels = naming(record.spec).labels
    parts = [("Trade-off", trade_off(verdict, labels)), ("Left the race", left(verdict, labels))]
    return "\n\n".join(f"**{label}:** {prose(text.rstrip('.'))}." for label, text in parts if text)


def _row(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cells)} |"


def _cells(candidate: CandidateVerdict, verdict: Verdict, every: Sequence[Column], label: str) -> list[str]:
    name = prose(label)
    return [
        f"**{name}**" if candidate.name == verdict.recommended_candidate else name,
        *(prose(column.of(candidate).full) for column in every),
        state_of(candidate, verdict),
    ]


def _remarks(verdict: Verdict) -> str:
    notes = [f"- Confound: {prose(note.text)}" for note in verdict.confounds]
    notes += [f"- Warning: {prose(note.text)}" for note in verdict.warnings]
    return "\n".join(["**What was not shown**", "", *notes, f"- {SCOPE}"])


def _facts(record: StudyRecord, verdict: Verdict) -> str:
    lines = [
        f"- Goal: {goal(record)}",
        f"- Compared: {prose(compared(record))}",
        f"- How sure: {prose(sureness(verdict))}",
        f"- Took: {length(verdict)} {facts.time_sentence(record.trials)}",
        *(f"- Machine: {prose(label)}: {prose(text)}" for label, text in facts.inventory(record.host)),
    ]
    return "<details><summary>How it was made</summary>\n\n" + "\n".join(lines) + "\n\n</details>"


def _failures(record: StudyRecord) -> str:
    """Return what failed and why, trials of one candidate and one reason together, with the newest log."""
    alike: dict[tuple[str, str], list[facts.Failed]] = {}
    for one in facts.failures(record.trials):
        alike.setdefault((one.candidate, one.reason), []).append(one)
    parts = []
    for (candidate, reason_of), failed in list(alike.items())[:_MOST_FAILURES]:
        trials = ", ".join(str(one.id) for one in failed)
        summary = html.escape(f"{candidate} failed in trial {trials}: {reason_of}")
        tail = fenced(failed[-1].log_tail) if failed[-1].log_tail else "Nothing was logged."
        parts.append(f"<details><summary>{summary}</summary>\n\n{tail}\n\n</details>")
    if len(alike) > _MOST_FAILURES:
        parts.append(f"{len(alike) - _MOST_FAILURES} more kinds of failure are in `report.html`.")
    return "\n\n".join(parts)
