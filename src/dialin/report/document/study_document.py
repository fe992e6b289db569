"""A study as a document: built once, rendered as terminal text, HTML and Markdown."""

from __future__ import annotations

from dialin.evidence.server_metrics import ServerMetrics, server_metrics
from dialin.model.record import StudyRecord
from dialin.model.trial import TrialState
from dialin.model.why import Why
from dialin.report.charts.style import styles
from dialin.report.charts.trial_series import Series, all_series
from dialin.report.document.candidates_section import candidates_section
from dialin.report.document.live_section import live_section
from dialin.report.document.method_section import method_section
from dialin.report.document.parts import Document
from dialin.report.document.replay_section import replay_section
from dialin.report.document.time_section import time_section
from dialin.report.document.tune_section import tune_section
from dialin.report.document.verdict_section import verdict_section
from dialin.report.document.why_section import why_section
from dialin.sentences import verdict_sentences
from dialin.sentences.names import naming
from dialin.text import moment, visible


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
