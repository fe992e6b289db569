"""`report.md`: the verdict for a pull request. Foreign text is shown as text: no markup, no table broken, nobody pinged."""

from __future__ import annotations

import html
import re
from collections.abc import Sequence

from dialin.model.record import StudyRecord
from dialin.model.verdict import CandidateVerdict, Verdict
from dialin.report import facts
from dialin.report.optionfile import changes
from dialin.report.words import (
    SCOPE,
    compared,
    headline,
    length,
    naming,
    no_change,
    outcome,
    ratio_of,
    reason,
    state_of,
    sureness,
    trials_of,
    with_interval,
)
from dialin.text import moment, number, percent, visible, visible_lines

_SPECIAL = re.compile(r"[\\`*\[\]<>|~#&]|(?<!\w)_|_(?!\w)|(?<!\w)@")
_MOST_FAILURES = 8
_FIGURES = ("tps", "to baseline", "CV", "worst second", "stalls/1000 s", "p95 ms", "errors/s", "trials", "state")


def render(record: StudyRecord) -> str:
    """Return the report as GitHub-flavoured Markdown."""
    verdict = record.verdict
    parts = [f"# {prose(headline(record))}", prose(reason(record)), _setting(record)]
    if verdict is not None:
        parts += [_table(record, verdict), _remarks(verdict)]
        parts.append(_facts(record, verdict))
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
    head = (names.subject or "candidate", *_FIGURES)
    rows = [_row(head), "|---|" + "---:|" * 8 + "---|"]
    rows += [_row(_cells(candidate, verdict, names.labels[candidate.name])) for candidate in verdict.candidates]
    return "\n".join(rows)


def _row(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cells)} |"


def _cells(candidate: CandidateVerdict, verdict: Verdict, label: str) -> list[str]:
    name = prose(label)
    return [
        f"**{name}**" if candidate.name == verdict.recommended_candidate else name,
        with_interval(candidate.tps),
        ratio_of(candidate, verdict),
        percent(candidate.cv),
        number(candidate.worst_second_tps),
        number(candidate.stall_seconds_per_1000),
        number(candidate.p95_ms),
        number(candidate.errors_per_s),
        trials_of(candidate),
        state_of(candidate, verdict),
    ]


def _remarks(verdict: Verdict) -> str:
    notes = [f"- Confound: {prose(note.text)}" for note in verdict.confounds]
    notes += [f"- Warning: {prose(note.text)}" for note in verdict.warnings]
    return "\n".join(["**What was not shown**", "", *notes, f"- {SCOPE}"])


def _facts(record: StudyRecord, verdict: Verdict) -> str:
    lines = [
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
