"""A study as a document: built once, rendered as terminal text, HTML and Markdown; and its summary of one screen."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from dialin.apply.option_file import changes
from dialin.evidence.server_metrics import ServerMetrics, server_metrics
from dialin.measures.of_verdict import capital, measure_of
from dialin.model.record import StudyRecord
from dialin.model.trial import TrialState
from dialin.model.verdict import Verdict
from dialin.model.why import Why
from dialin.report.charts.style import styles
from dialin.report.charts.trial_series import Series, all_series
from dialin.report.document import why_sentences
from dialin.report.document.candidates_section import candidates_section
from dialin.report.document.live_section import live_section
from dialin.report.document.main_figures import figures_table
from dialin.report.document.method_section import method_section
from dialin.report.document.parts import (
    Caveats,
    Code,
    Document,
    Group,
    Pairs,
    Paragraph,
    Part,
    Role,
    Section,
    SectionKey,
    find,
)
from dialin.report.document.replay_section import replay_section
from dialin.report.document.time_section import time_section
from dialin.report.document.tune_section import tune_section
from dialin.report.document.verdict_section import consequences, verdict_section
from dialin.report.document.why_section import why_section
from dialin.report.tune_effects import shown_effects, shown_text
from dialin.sentences import verdict_sentences
from dialin.sentences.names import naming
from dialin.text import counted, moment, visible


def study_document(
    record: StudyRecord, why: Why | None = None, series: list[Series] | None = None, metrics: ServerMetrics | None = None
) -> Document:
    """Return the report of a study, whether it has ended, runs, or has not measured a second yet.

    `series` are the study's trials ready to draw, and `metrics` those of its servers, where the caller has them.
    """
    trial_series = all_series(record) if series is None else series
    server = server_metrics(record) if metrics is None else metrics
    names, style, explanation = naming(record.spec), styles(record.spec), why or Why.empty()
    replay = replay_section(record)
    sections = [
        verdict_section(record, explanation, names, style),
        *([tune_section(record)] if record.course else []),
        *([live_section(record, names, style)] if record.spec.is_live else []),
        *([replay] if replay.parts else []),
        candidates_section(record, explanation, names, style),
        why_section(record, explanation, names.labels, style),
        time_section(record, charted_series(trial_series), names, style, server, has_histograms=bool(explanation.latencies)),
        method_section(record, trial_series, names, server),
    ]
    return Document(
        headline=verdict_sentences.headline(record),
        outcome=verdict_sentences.outcome(record),
        outcome_key=str(record.verdict.verdict) if record.verdict else "none",
        colophon=f"Made by dialin {visible(record.dialin_version)} from a study started {moment(record.created)}.",
        sections=sections,
        candidates=dict(names.labels),
        baseline=record.spec.baseline,
        circumstances=_circumstances(record),
    )


def _circumstances(record: StudyRecord) -> str:
    if record.verdict is None:
        return ""
    return f"{verdict_sentences.circumstances(record, record.verdict)} · {moment(record.created)}"


def charted_series(series: list[Series]) -> list[Series]:
    """Return the trials that charts over time show: no costly instrument ran in them, and they were not interrupted.

    The observation of a live server before its study is left out too, because it is no trial of a candidate, and long windows,
    beside which the others would be narrow.
    """
    return [one for one in series if one.trial.state is not TrialState.INTERRUPTED and one.trial.purpose.is_charted]


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
    circumstances = verdict_sentences.circumstances(record, record.verdict) if record.verdict else ""
    return replace(whole, circumstances=circumstances, sections=[Section(SectionKey.VERDICT, "", parts)])


def _parts(record: StudyRecord, verdict: Verdict, whole: Document, why: Why) -> Iterator[Part]:
    parts = whole.section(SectionKey.VERDICT).parts
    yield from (part for part in parts if isinstance(part, Paragraph) and part.role is Role.REASON)
    yield from (part for part in _group(parts, "apply") if isinstance(part, (Code, Paragraph)))
    if changes(record):
        yield Paragraph(f"{capital('; '.join(f'{label} {text}' for label, text in consequences(record)))}.")
    yield figures_table(record, verdict, why, whole.candidates, _LEFT_OUT)
    yield from [one for one in whole.charts() if one.forest and len(one.forest.rows) <= _MOST_ROWS][:1]
    if verdict.tune is not None:
        matters = shown_effects(verdict.tune, record.spec, measure_of(verdict))
        yield Paragraph(visible(shown_text(matters, len(verdict.tune.variables))))
    yield Pairs([("Why", why_sentences.strongest(why, record))])
    every = [one for part in _group(parts, "caveats") if isinstance(part, Caveats) for one in part.caveats]
    serious = [replace(one, data=()) for one in every if one.kind in _SERIOUS]
    yield Caveats(serious[:_MOST_CAVEATS])
    if len(serious) > _MOST_CAVEATS:
        yield Paragraph(f"The whole report has {counted(len(serious) - _MOST_CAVEATS, 'more caveat')}.")


def _group(parts: Sequence[Part], key: str) -> Sequence[Part]:
    found = find(parts, key)
    return found.parts if isinstance(found, Group) else ()
