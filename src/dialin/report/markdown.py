"""`report.md`: the verdict for a pull request. Foreign text is shown as text: no markup, no table broken, nobody pinged."""

from __future__ import annotations

from collections.abc import Sequence

from dialin.apply import sql_file
from dialin.apply.option_file import changes
from dialin.model.record import StudyRecord
from dialin.model.verdict import CandidateVerdict, Verdict
from dialin.model.why import Why
from dialin.report import facts, markdown_why, transactions_section
from dialin.report.figure_columns import FigureColumn, columns
from dialin.report.markdown_text import fenced, folded, prose, table
from dialin.report.trade_off import trade_off
from dialin.report.verdict_sentences import (
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
from dialin.text import moment, without_secrets

_MOST_FAILURES = 8
_OPEN_RANKS = 4
"""Columns up to this rank stand in the open; all are in the table that is folded away."""


def render(record: StudyRecord, why: Why | None = None) -> str:
    """Return the report as GitHub-flavoured Markdown."""
    verdict = record.verdict
    parts = [f"# {prose(headline(record))}", prose(reason(record)), _setting(record)]
    if verdict is not None:
        parts += [
            prose(confirmation(verdict)),
            _table(record, verdict, [column for column in columns(verdict) if column.rank <= _OPEN_RANKS]),
            _race(record, verdict),
            _remarks(verdict),
        ]
    parts.append(markdown_why.render(record, why))
    if verdict is not None:
        parts += [folded("All figures", _table(record, verdict, columns(verdict))), _transactions(record, verdict)]
        parts.append(_facts(record, verdict))
    parts.append(_failures(record))
    parts.append(folded("Repeat it", fenced(without_secrets(record.command))))
    parts.append(
        f"{outcome(record)}. Made by dialin {prose(record.dialin_version)} from a study begun {moment(record.created)}."
    )
    return "\n\n".join(part for part in parts if part) + "\n"


def _setting(record: StudyRecord) -> str:
    changed = changes(record)
    lines = [item.line for item in changed if item.line is not None]
    parts = [fenced("\n".join(["[mysqld]", *lines]), "ini")] if lines else []
    parts += [f"Remove the line that sets {prose(item.name)}." for item in changed if item.value is None]
    parts += [f"{prose(item.name)} cannot be written as a line: {prose(item.refusal)}." for item in changed if item.refusal]
    statements = [one for item in sql_file.statements(record) for one in item.do]
    if statements:
        sql = "\n\n".join([fenced("\n".join(statements), "sql"), prose(sql_file.files_sentence(record))])
        parts.append(folded("As statements for a running server", sql))
    return "\n\n".join(parts) or prose(no_change(record))


def _table(record: StudyRecord, verdict: Verdict, shown: Sequence[FigureColumn]) -> str:
    names = naming(record.spec)
    titles = [f"{column.title} ({column.better})" if column.better else column.title for column in shown]
    rows = [_cells(candidate, verdict, shown, names.labels[candidate.name]) for candidate in verdict.candidates]
    return table((names.subject or "candidate", *titles, "state"), rows, f"l{'r' * len(shown)}l")


def _race(record: StudyRecord, verdict: Verdict) -> str:
    labels = naming(record.spec).labels
    parts = [("Trade-off", trade_off(verdict, labels)), ("Left the race", left(verdict, labels))]
    return "\n\n".join(f"**{label}:** {prose(text.rstrip('.'))}." for label, text in parts if text)


def _cells(candidate: CandidateVerdict, verdict: Verdict, shown: Sequence[FigureColumn], label: str) -> list[str]:
    name = prose(label)
    return [
        f"**{name}**" if candidate.name == verdict.recommended_candidate else name,
        *(prose(column.of(candidate).full) for column in shown),
        state_of(candidate, verdict),
    ]


def _transactions(record: StudyRecord, verdict: Verdict) -> str:
    shown = transactions_section.table(verdict, naming(record.spec).labels)
    if not shown:
        return ""
    cells = [[prose(cell) for cell in row] for row in zip(*(column.cells for column in shown), strict=True)]
    listed = table([column.title for column in shown], cells, "llrrr")
    return folded(transactions_section.TITLE, f"{prose(transactions_section.READING)}\n\n{listed}")


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
        *([f"- Load driver: {prose(driver)}"] if (driver := facts.load_driver(record)) else []),
        *(f"- Machine: {prose(label)}: {prose(text)}" for label, text in facts.machine(record)),
    ]
    return folded("How it was made", "\n".join(lines))


def _failures(record: StudyRecord) -> str:
    alike: dict[tuple[str, str], list[facts.Failed]] = {}
    for one in facts.failures(record.trials):
        alike.setdefault((one.candidate, one.reason), []).append(one)
    parts = []
    for (candidate, reason_of), failed in list(alike.items())[:_MOST_FAILURES]:
        trials = ", ".join(str(one.id) for one in failed)
        tail = fenced(failed[-1].log_tail) if failed[-1].log_tail else "Nothing was logged."
        parts.append(folded(f"{candidate} failed in trial {trials}: {reason_of}", tail))
    if len(alike) > _MOST_FAILURES:
        parts.append(f"{len(alike) - _MOST_FAILURES} more kinds of failure are in `report.html`.")
    return "\n\n".join(parts)
