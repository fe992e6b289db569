"""The analysis of logs as a document: what the folder is, the verdict, each run, and how sure it is."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from dialin.model.analysis import Analysis, FileStatus, FolderKind
from dialin.model.verdict import Note
from dialin.report.charts.analysis_charts import RunSeries, analysis_charts, looks
from dialin.report.document import analysis_tables
from dialin.report.document.parts import (
    Caveat,
    Caveats,
    Document,
    Group,
    Pairs,
    Paragraph,
    Part,
    Role,
    Section,
    SectionKey,
    text_table,
)
from dialin.sentences.state_sentences import OUTCOMES
from dialin.text import counted, duration, exact_percent, percent, visible

_FIRST = 3
"""Findings and caveats beside the verdict."""
_FILES = 40
"""Files that are listed at most; JSON has them all."""
_IMPORTANT = (
    "copy_in_two_candidates",
    "shared_start",
    "one_after_the_other",
    "at_other_hours",
    "of_other_lengths",
    "on_other_hosts",
    "never_ended",
    "depends_on_cell",
    "options_differ",
    "differ_together",
    "candidates_differ_in",
    "more_errors",
    "course_collapse",
    "course_dead",
    "less_steady",
    "differs_too",
    "moved_between_runs",
    "ratios_by_cell",
    "periodic_dips",
    "redo_log_full",
    "server_faults",
    "status_differs",
    "single_runs",
    "copies",
)
"""Codes of notes that come first, the most important one first."""
_MINOR = ("different_lengths", "long_warm_up", "course_oscillation", "not_randomised")
"""Codes of notes that come last."""
STATUSES = {
    FileStatus.USED: "used",
    FileStatus.COPY: "copy",
    FileStatus.FAILED: "failed",
    FileStatus.ENDED_EARLY: "ended early",
    FileStatus.SUMMARY_ONLY: "summary only",
    FileStatus.TOO_SHORT: "too short",
    FileStatus.UNREADABLE: "unreadable",
    FileStatus.TOO_LARGE: "too large",
    FileStatus.BESIDE: "read beside the logs",
    FileStatus.NO_LOG: "not a log",
}
_KINDS = {
    FolderKind.ALTERNATIVES: "Alternatives",
    FolderKind.SUITE: "Suite",
    FolderKind.SCALING: "Scaling of one server",
    FolderKind.RATE_RAMP: "Ramp of requested rates",
}


def analysis_document(analysis: Analysis, series: Sequence[RunSeries] = ()) -> Document:
    """Return an analysis as a document; `series` are the runs' figures over time, where charts are wanted."""
    notes = _by_importance(analysis)
    outcome = f"{OUTCOMES[analysis.verdict]}, by {analysis.goal}" if analysis.verdict else _KINDS[analysis.kind]
    sections = [
        Section(SectionKey.VERDICT, "Verdict", _verdict(analysis, notes[:_FIRST])),
        Section(SectionKey.CANDIDATES, "Each run", _runs(analysis)),
        Section(SectionKey.OVER_TIME, "Charts", analysis_charts(analysis, series)),
        Section(SectionKey.HOW, "How sure", _how(analysis, notes[_FIRST:])),
    ]
    return Document(
        headline=visible(analysis.headline),
        outcome=outcome,
        outcome_key=str(analysis.verdict or "none"),
        colophon=f"Made by dialin from {counted(len(analysis.runs), 'run')} that it did not make.",
        sections=sections,
        candidates={name: look.label for name, look in looks(analysis).items()},
        baseline=analysis.baseline,
    )


def _verdict(analysis: Analysis, notes: Sequence[Note]) -> list[Part]:
    parts: list[Part] = [Paragraph(visible(analysis.reason), Role.REASON)]
    assumed = "; ".join(note.text for note in analysis.assumptions)
    taken_as = [*analysis.taken_as, *([f"Assumed, as no file shows it: {assumed}."] if assumed else [])]
    parts.append(Paragraph(visible(" ".join(taken_as)), Role.SMALL))
    parts += _main_tables(analysis)
    if notes:
        parts.append(_caveats(analysis, notes))
    return parts


def _main_tables(analysis: Analysis) -> list[Part]:
    match analysis.kind:
        case FolderKind.SUITE:
            return [analysis_tables.suite_table(analysis)] if analysis.suite else []
        case FolderKind.SCALING:
            return [analysis_tables.scaling_table(analysis)] if analysis.scaling else []
        case FolderKind.RATE_RAMP:
            return [analysis_tables.ramp_table(ramp) for ramp in analysis.ramps]
        case FolderKind.ALTERNATIVES:
            one_each = len(analysis.candidates) == len(analysis_tables.used_runs(analysis))
            if one_each or len(analysis.candidates) < 2:
                return []
            return [analysis_tables.candidates_table(analysis)]


def _runs(analysis: Analysis) -> list[Part]:
    parts: list[Part] = []
    if analysis.kind is FolderKind.ALTERNATIVES:
        if len(analysis.cells) > 1:
            parts += analysis_tables.cells_table(analysis)
        if analysis.scaling:
            parts.append(analysis_tables.scaling_table(analysis))
        parts += [analysis_tables.ramp_table(ramp) for ramp in analysis.ramps]
    return [*parts, *analysis_tables.runs_table(analysis)]


def _how(analysis: Analysis, notes: Sequence[Note]) -> list[Part]:
    counts = Counter(entry.status for entry in analysis.files)
    read = f"{', '.join(f'{counts[status]} {words}' for status, words in STATUSES.items() if counts[status])}."
    parts: list[Part] = [_caveats(analysis, notes)] if notes else []
    parts.append(Pairs([("Read", _read(analysis)), ("Files", read), *_sureness(analysis)]))
    unlike = [entry for entry in analysis.files if entry.status not in (FileStatus.USED, FileStatus.BESIDE)]
    if unlike:
        rows = [(visible(entry.file), STATUSES[entry.status], visible(entry.detail)) for entry in unlike[:_FILES]]
        table = text_table("files", "Files that were not simply used.", ("file", "was", "why"), rows)
        parts.append(Group("files-group", "Files that were not simply used", [table]))
    if len(unlike) > _FILES:
        parts.append(Paragraph(f"{len(unlike) - _FILES} more files are not listed; --json has all.", Role.SMALL))
    return parts


def _by_importance(analysis: Analysis) -> list[Note]:

    def place(note: Note) -> int:
        if note.code in _IMPORTANT:
            return _IMPORTANT.index(note.code)
        return len(_IMPORTANT) + (1 + _MINOR.index(note.code) if note.code in _MINOR else 0)

    return sorted([*analysis.findings, *analysis.confounds, *analysis.warnings], key=place)


def _caveats(analysis: Analysis, notes: Sequence[Note]) -> Caveats:
    return Caveats(
        [Caveat("finding" if note in analysis.findings else "caveat", note.code, f"{visible(note.text)}.") for note in notes]
    )


def _read(analysis: Analysis) -> str:
    used = analysis_tables.used_runs(analysis)
    copies = sum(run.copy_of is not None for run in analysis.runs)
    of = f" of {counted(len(analysis.candidates), 'candidate')}" if analysis.candidates else ""
    beside = f", and {copies} {'copy' if copies == 1 else 'copies'}" if copies else ""
    return f"{counted(len(used), 'run')}{of}{beside}, {duration(sum(run.seconds for run in used))} in all."


def _sureness(analysis: Analysis) -> list[tuple[str, str]]:
    if analysis.verdict is None:
        return []
    text = f"The intervals of all candidates hold together at {exact_percent(analysis.confidence)} confidence, "
    text += "if differences between runs are chance and repeats are separate starts of the server"
    if analysis.run_noise is not None:
        text += f"; the standard deviation of one run is {percent(analysis.run_noise)}"
    return [("How sure", f"{text}. The smallest difference that matters is {exact_percent(analysis.worthwhile)}.")]
