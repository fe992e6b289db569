"""What a study answers, as a document of one screen: what to set, what that changes, why, and the first caveats."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from dialin.model.measure import capital
from dialin.model.record import StudyRecord
from dialin.model.verdict import CandidateState, CandidateVerdict, Verdict
from dialin.model.why import ReasonKind, Why
from dialin.report import headline, verdict_sentences
from dialin.report.charts.chart import Chart
from dialin.report.document import why_sentences
from dialin.report.document.before_after import MainFigure, main_figures
from dialin.report.document.parts import (
    Caveats,
    Cell,
    Code,
    Column,
    Document,
    Group,
    Pairs,
    Paragraph,
    Part,
    Reasons,
    Row,
    Section,
    SectionKey,
    Table,
    every_part,
    find,
)
from dialin.report.document.study_document import study_document
from dialin.report.document.verdict_section import consequences
from dialin.text import counted, exact_percent

_MOST_ROWS = 9
"""A forest plot of more candidates has no room."""

_MOST_CAVEATS = 2
_SERIOUS = ("confound", "warning")

_LEFT_OUT = ("queries", "p50", "p95", "p99", "memory")
"""The keys of main figures that are only in the whole report; the percentile that the study reports has a key of its own."""


def summary_document(record: StudyRecord, why: Why, document: Document | None = None) -> Document:
    """Return the summary of a study; of one without a verdict, its state and how to go on.

    `document` is the whole report of the study, where the caller has it.
    """
    whole = study_document(record, why) if document is None else document
    parts = list(_parts(record, record.verdict, whole, why) if record.verdict else whole.section(SectionKey.VERDICT).parts)
    outcome = verdict_sentences.circumstances(record, record.verdict) if record.verdict else whole.outcome
    return replace(whole, outcome=outcome, sections=[Section(SectionKey.VERDICT, "", parts)])


def _parts(record: StudyRecord, verdict: Verdict, whole: Document, why: Why) -> Iterator[Part]:
    parts = whole.section(SectionKey.VERDICT).parts
    yield from (part for part in parts if isinstance(part, Paragraph))
    yield from (part for part in _group(parts, "apply") if isinstance(part, (Code, Paragraph)))
    if any(isinstance(part, Pairs) for part in _group(parts, "apply")):
        yield Paragraph(f"{capital('; '.join(f'{label} {text}' for label, text in consequences(record)))}.")
    yield _figures(record, verdict, whole, why)
    charts = [part for part in every_part(whole.section(SectionKey.CANDIDATES).parts) if isinstance(part, Chart)]
    yield from [one for one in charts if one.forest and len(one.forest.rows) <= _MOST_ROWS][:1]
    yield Pairs([("Why", _strongest(record, whole, why))])
    every = [one for part in _group(parts, "caveats") if isinstance(part, Caveats) for one in part.caveats]
    serious = [replace(one, data=()) for one in every if one.kind in _SERIOUS]
    yield Caveats(serious[:_MOST_CAVEATS])
    if len(serious) > _MOST_CAVEATS:
        yield Paragraph(f"The whole report has {counted(len(serious) - _MOST_CAVEATS, 'more caveat')}.")


def _group(parts: Sequence[Part], key: str) -> Sequence[Part]:
    found = find(parts, key)
    return found.parts if isinstance(found, Group) else ()


def _figures(record: StudyRecord, verdict: Verdict, whole: Document, why: Why) -> Table:
    """Return the main figures of the baseline and, beside it, of the candidate that the verdict is about."""
    other, baseline = _beside_baseline(verdict), whole.candidates[verdict.baseline]
    every = main_figures(record, verdict, why)
    figures = [one for one in every if one.key not in _LEFT_OUT and verdict.baseline in one.of]
    columns = [
        Column("figure", ""),
        Column("before", baseline if baseline == "baseline" else f"{baseline} (baseline)", is_figure=True),
    ]
    if other is not None:
        is_found = bool(record.spec.tune) and other.name == verdict.recommended_candidate
        columns.append(Column("after", "recommended" if is_found else whole.candidates[other.name], is_figure=True))
        columns.append(Column("change", f"change ({exact_percent(verdict.confidence)} CI)"))
    return Table("summary-figures", "", columns, [_row(one, verdict, other) for one in figures])


def _row(figure: MainFigure, verdict: Verdict, other: CandidateVerdict | None) -> Row:
    cells = [f"{figure.title} {figure.unit}".rstrip(), figure.show(figure.of[verdict.baseline].level.mean)]
    if other is not None:
        beside = figure.of.get(other.name)
        cells.append(figure.show(beside.level.mean) if beside else "")
        cells.append(verdict_sentences.change_with_interval(beside.ratio, other.trials) if beside and beside.ratio else "")
    return Row([Cell(text) for text in cells])


def _beside_baseline(verdict: Verdict) -> CandidateVerdict | None:
    """Return the candidate of the headline, else the one that comes next."""
    named = headline.subject(verdict)
    if named is not None and named.name != verdict.baseline:
        return named
    others = [
        one for one in verdict.candidates if one.name != verdict.baseline and one.tps and one.state is not CandidateState.UNSAFE
    ]
    return max(others, key=lambda one: one.probability or 0.0, default=None)


def _strongest(record: StudyRecord, whole: Document, why: Why) -> str:
    parts = whole.section(SectionKey.WHY).parts
    cards = [card for part in every_part(parts) if isinstance(part, Reasons) for card in part.cards]
    # That something was never used explains no difference.
    return next((card.text for card in cards if card.kind is not ReasonKind.UNUSED), why_sentences.summary(why, record))
