"""The section on the verdict: what to set, the main figures, and what keeps it from being taken at face value."""

from __future__ import annotations

from dialin.apply import sql_file
from dialin.apply.option_file import Change, changes
from dialin.model.measure import deciding
from dialin.model.record import StudyRecord
from dialin.model.verdict import Note, Outcome, Verdict
from dialin.report import verdict_sentences
from dialin.report.charts.trial_series import UNSTEADY
from dialin.report.document import facts
from dialin.report.document.parts import (
    Caveat,
    Caveats,
    Code,
    Fold,
    Group,
    Paragraph,
    Part,
    Role,
    Section,
    SectionKey,
    Tile,
    Tiles,
)
from dialin.text import change, counted, duration, exact_percent, listed, visible


def verdict_section(record: StudyRecord) -> Section:
    """Return the section; the headline itself is the document's."""
    verdict = record.verdict
    parts: list[Part] = [
        Paragraph(verdict_sentences.reason(record), Role.REASON),
        Group("apply", "What to set", _apply(record)),
    ]
    if verdict is not None:
        parts += [Tiles(_tiles(record, verdict)), Group("caveats", "Caveats", [Caveats(_caveats(verdict))])]
    return Section(SectionKey.VERDICT, "Verdict", parts)


def _apply(record: StudyRecord) -> list[Part]:
    changed = changes(record)
    lines = [item.line for item in changed if item.line is not None]
    unwritten = [item for item in changed if item.line is None]
    parts: list[Part] = []
    if lines:
        parts.append(Code("setting", "\n".join(["[mysqld]", *lines]), "Lines for my.cnf", "ini"))
    parts += [Paragraph(_unwritten(item)) for item in unwritten]
    if not changed:
        parts.append(Paragraph(verdict_sentences.no_change(record)))
    statements = [line for one in sql_file.statements(record) for line in one.do]
    sentence = sql_file.files_sentence(record)
    said: list[Part] = [Paragraph(sentence)] if sentence else []
    if not statements:
        return parts + said
    code = Code("statements", "\n".join(statements), "SQL statements", "sql")
    return [*parts, Fold("statements-fold", "As statements for a running server", [code]), *said]


def _unwritten(item: Change) -> str:
    if item.value is None:
        return f"Remove the line that sets {visible(item.name)}."
    return f"{visible(item.name)} cannot be written as a line: {visible(item.refusal)}."


def _tiles(record: StudyRecord, verdict: Verdict) -> list[Tile]:
    figure, gain = _gain(record, verdict)
    answers = [
        ("gain", "What it gains", figure, gain),
        ("sure", "How sure", _sure(verdict), verdict_sentences.sureness(verdict)),
        ("took", "How long it took", duration(60 * verdict.minutes_of_wall_clock), verdict_sentences.length(verdict)),
        (
            "compared",
            "What was compared",
            counted(len(verdict.candidates), "candidate"),
            f"{verdict_sentences.compared(record)} The goal is {verdict_sentences.goal(record)}",
        ),
    ]
    return [Tile(key, label, figure, _after(figure, sentence)) for key, label, figure, sentence in answers]


def _caveats(verdict: Verdict) -> list[Caveat]:
    def caveat(kind: str, note: Note) -> Caveat:
        return Caveat(kind, visible(note.code), f"{visible(note.text).rstrip('.')}.", facts.inventory(note.data))

    checked = not_found(verdict)
    return [
        *(caveat("confound", note) for note in verdict.confounds),
        *(caveat("warning", note) for note in verdict.warnings),
        *([Caveat("checked", "checked", checked)] if checked else []),
        Caveat("scope", "scope", verdict_sentences.SCOPE),
    ]


def not_found(verdict: Verdict) -> str:
    """Return the sentence that names the problems that were looked for and not found; empty if all were found."""
    codes = {note.code for note in verdict.warnings}
    spoiled = {
        "other variables that differ": bool(verdict.confounds),
        "a load driver at its limit": bool(codes & {"client_limit", "client_shares_machine", "busy_load_thread"}),
        "other load on the machine": "other_load" in codes,
        "failed trials": any(candidate.failed for candidate in verdict.candidates),
        "trials that did not become steady": any(candidate.unsteady for candidate in verdict.candidates) or UNSTEADY in codes,
        "seconds lost to the host": verdict.lost_seconds > 0,
    }
    absent = [what for what, is_present in spoiled.items() if not is_present]
    return f"Looked for and not found: {listed(absent)}." if absent else ""


def _gain(record: StudyRecord, verdict: Verdict) -> tuple[str, str]:
    """Return the gain in figures and its sentence: of fresh trials if there are any, since choosing inflates a gain."""
    ratio = deciding(verdict.chosen, verdict)
    if verdict.confirmed:
        sentence = (
            f"{verdict_sentences.confirmation(verdict)} In the race it was {verdict_sentences.change_with_interval(ratio)}."
        )
        return change(verdict.confirmed.ratio.mean), sentence
    is_unchanged = verdict.recommended_candidate == verdict.baseline
    return "no change" if is_unchanged else change(ratio.mean if ratio else None), verdict_sentences.gain(record, verdict)


def _sure(verdict: Verdict) -> str:
    if verdict.verdict is Outcome.UNRESOLVED:
        return "not yet"
    if verdict.verdict is Outcome.SAFE_CHOICE:
        return verdict_sentences.chance(verdict.chosen.probability)
    return exact_percent(verdict.confidence)


def _after(figure: str, sentence: str) -> str:
    rest = sentence.removeprefix(figure).lstrip()
    return rest[:1].upper() + rest[1:]
