"""The section on the verdict: what to set, the main figures, and what keeps it from being taken at face value."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from dialin.apply import form_file, sql_file
from dialin.apply.option_file import Change, changes
from dialin.model.record import StudyRecord
from dialin.model.verdict import Note, Verdict
from dialin.model.why import Why
from dialin.report.charts import forest_chart
from dialin.report.charts.style import Style
from dialin.report.document import facts, why_sentences
from dialin.report.document.main_figures import figures_table
from dialin.report.document.parts import (
    MARKDOWN,
    Beside,
    Caveat,
    Caveats,
    Code,
    Copies,
    Fold,
    Group,
    Pairs,
    Paragraph,
    Part,
    Role,
    Section,
    SectionKey,
)
from dialin.sentences import verdict_sentences
from dialin.sentences.live_notes import CarriesOver, GuardTripped, LoadDisagrees
from dialin.sentences.load_notes import BusyLoadThread, ClientLimit, ClientSharesMachine, OtherLoad
from dialin.sentences.names import Naming
from dialin.sentences.notes import among, note_text, serious
from dialin.sentences.result_notes import NotSteady
from dialin.sentences.setting_notes import InertConfound
from dialin.text import listed, visible
from dialin.variables.durability import loss_text, losses_text

IN_BRIEF = "why-in-brief"
"""The key of the strongest reason and the first caveat, which a rendering with all of them leaves out."""

MOST_ROWS = 12
"""A forest plot of more candidates does not stand beside what to set, but below."""


def verdict_section(record: StudyRecord, why: Why, names: Naming, style: Mapping[str, Style]) -> Section:
    """Return the section, whose first screen is the answer; the headline itself is the document's."""
    verdict = record.verdict
    reason = Paragraph(verdict_sentences.reason(record), Role.REASON)
    if verdict is None:
        return Section(SectionKey.VERDICT, "Verdict", [reason])
    shown = f"{verdict_sentences.confirmation(verdict)} {verdict_sentences.proof(verdict)} {verdict_sentences.noise(verdict)}"
    figures = figures_table(record, verdict, why, names.labels)
    answer = Group("apply", "What to set", [*_apply(record, verdict), figures])
    forest = [forest_chart.forest(verdict, style)] if len(verdict.candidates) <= MOST_ROWS else []
    caveats = _caveats(record, verdict)
    worst = next((one.text for one in caveats if one.kind not in ("checked", "without effect")), "")
    parts: list[Part] = [
        reason,
        Beside([answer, *forest]),
        Pairs([("Why", why_sentences.strongest(why, record)), ("Caveat", worst)], IN_BRIEF),
        *_files(record),
        Group("caveats", "How sure, and caveats", [Paragraph(shown.strip(), Role.SMALL), Caveats(caveats)]),
    ]
    return Section(SectionKey.VERDICT, "Verdict", parts)


def _apply(record: StudyRecord, verdict: Verdict) -> list[Part]:
    changed = changes(record)
    lines = [item.line for item in changed if item.line is not None]
    unwritten = [item for item in changed if item.line is None]
    parts: list[Part] = []
    if lines:
        parts.append(Code("setting", "\n".join(["[mysqld]", *lines]), "Lines for my.cnf", "ini"))
    parts += [Paragraph(unwritten_text(item)) for item in unwritten]
    if not changed:
        parts.append(Paragraph(verdict_sentences.no_change(record)))
    items = sql_file.statements(record)
    sql = [("Copy SQL", "statements")] if any(one.do for one in items) else []
    parts.append(Copies([*sql, ("Copy as Markdown", MARKDOWN)]))
    parts += [Paragraph(f"Caution: {text}", Role.LEAD) for text in _cautions(items, record)]
    sure = ("how sure", ". ".join(verdict_sentences.certainty(record, verdict)))
    return [*parts, Pairs([*(consequences(record) if changed else []), sure])]


def _files(record: StudyRecord) -> list[Part]:
    """Return the statements for a running server, folded away, and what else was written; nothing where nothing changes."""
    items = sql_file.statements(record)
    code = Code("statements", sql_file.commented(items), "SQL statements", "sql")
    fold: list[Part] = [Fold("statements-fold", "SQL for a running server", [code])] if any(one.do for one in items) else []
    text = f"{sql_file.files_sentence(record)} {form_file.sentence(record)}".strip()
    return [*fold, Paragraph(text, Role.SMALL)] if changes(record) else fold


def _cautions(items: Sequence[sql_file.Statements], record: StudyRecord) -> list[str]:
    """Return what the user must know before setting the values, which comments in copied code might hide."""
    verdict = record.verdict
    weaker = verdict.chosen.weaker_durability if verdict else []
    texts = [f"weaker durability ({visible(listed(one.variables))}): {loss_text(one)}." for one in weaker]
    texts += [note for one in items if one.needs_start or not one.do for note in one.notes if note]
    return texts + [note for one in items if one.do and not one.needs_start for note in one.notes[1:] if note]


def consequences(record: StudyRecord) -> list[tuple[str, str]]:
    """Return whether what is recommended needs a restart, and whether it weakens durability, each with its label."""
    items = sql_file.statements(record)
    at_start = [one.name for one in items if one.needs_start or not one.do]
    restart = f"needed, for {listed(at_start)}" if at_start else "not needed"
    weaker = record.verdict.chosen.weaker_durability if record.verdict else []
    durability = f"weaker than the baseline's: {losses_text(weaker)}" if weaker else "not weaker than the baseline's"
    return [("restart", restart), ("durability", durability)]


def unwritten_text(item: Change) -> str:
    """Return what to do about a change that no line of an option file makes."""
    if item.value is None:
        return f"Remove the line that sets {visible(item.name)}."
    return f"{visible(item.name)} cannot be written as a line: {visible(item.refusal)}."


def _caveats(record: StudyRecord, verdict: Verdict) -> list[Caveat]:
    def caveat(kind: str, note: Note) -> Caveat:
        text = visible(note_text(record.spec, note, record.directory)).rstrip(".")
        known = {name: value for name, value in note.data.items() if value is not None}
        return Caveat(kind, visible(note.code), f"{text}.", facts.inventory(known))

    differing = [note for note in verdict.confounds if note.code != InertConfound.code]
    grave = [note for note in differing if serious([note])]
    derived = [note for note in differing if note not in grave]
    inert = _inert_sentence(list(among(InertConfound, verdict.confounds)))
    checked = ruled_out(verdict, saw_machine=_saw_machine(record))
    return [
        *(caveat("confound", note) for note in grave),
        *(caveat("warning", note) for note in verdict.warnings),
        *(caveat("confound", note) for note in derived),
        *([Caveat("without effect", "inert_confounds", inert)] if inert else []),
        *([Caveat("checked", "checked", checked)] if checked else []),
        Caveat("scope", "scope", verdict_sentences.scope(record)),
    ]


def _inert_sentence(notes: Sequence[InertConfound]) -> str:
    """Return one sentence on all variables that differ and cannot explain a difference, by reason; empty if there are none."""
    by_reason: dict[str, list[str]] = {}
    for note in notes:
        by_reason.setdefault(note.why, []).append(note.variable)
    parts = [f"{listed(names)} ({reason})" for reason, names in by_reason.items()]
    return f"{visible('; '.join(parts))} {'differs' if len(notes) == 1 else 'differ'} too." if parts else ""


def _saw_machine(record: StudyRecord) -> bool:
    """Return whether some trial measured the CPU time of the server, and so that of all other programs."""
    costs = [trial.costs for trial in record.trials if trial.costs]
    return any(one.seconds > 0 and one.server_cpu is not None for one in costs)


def ruled_out(verdict: Verdict, *, saw_machine: bool) -> str:
    """Return the sentence that names the problems that were checked for and not found; empty if all were found.

    `saw_machine` is whether the CPU time of other programs was measured: on another machine it cannot be.
    """
    codes = {note.code for note in verdict.warnings}
    of_the_load = {
        "a load driver at its limit": bool(codes & {ClientLimit.code, ClientSharesMachine.code, BusyLoadThread.code}),
        **({"other load on the machine": OtherLoad.code in codes} if saw_machine else {}),
        "trials that did not become steady": any(candidate.unsteady for candidate in verdict.candidates)
        or NotSteady.code in codes,
    }
    of_live_traffic = {
        "harm that made the guard restore the baseline": GuardTripped.code in codes,
        "an offered load that depends on the candidate": LoadDisagrees.code in codes,
        "effects that carry over into other periods": CarriesOver.code in codes,
    }
    problems = {
        "other variables that differ": bool(verdict.confounds),
        **(of_the_load if verdict.live is None else of_live_traffic),
        "failed trials": any(candidate.failed for candidate in verdict.candidates),
        "host stalls": verdict.lost_seconds > 0,
    }
    absent = [problem for problem, is_present in problems.items() if not is_present]
    return f"Ruled out: {listed(absent)}." if absent else ""
