"""`report.html`: one file that holds all it shows, asks no network, and reads well on paper, a phone and in the dark.

What stands inside its `<main>`, and what its script draws, is made apart from the document around it: the live page of a
running study shows the same.
"""

from __future__ import annotations

import base64
import gzip
import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any

from markupsafe import Markup
from plotly.offline import get_plotlyjs

from dialin.apply import sql_file
from dialin.apply.option_file import changes
from dialin.model.record import StudyRecord
from dialin.model.trial import Purpose, Trial, TrialState
from dialin.model.why import Why
from dialin.report import (
    captions,
    charts_compared,
    charts_over_time,
    charts_windows,
    facts,
    html_verdict,
    html_why,
    transactions_section,
    variables_shown,
    verdict_sentences,
)
from dialin.report.load_units import units_in
from dialin.report.markup import asset, embedded, rendered
from dialin.report.studyfile import study_file
from dialin.report.style import styles
from dialin.report.trial_series import all_series
from dialin.text import exact_percent, moment, visible, without_secrets


@dataclass(frozen=True, slots=True)
class Body:
    """What a page shows of a study.

    Attributes:
        title: the verdict's sentence, or where the study stands: plain text.
        main: what stands inside `<main>`.
        data: what the page's script draws from: `trials`, `charts`.
    """

    title: str
    main: Markup
    data: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Assets:
    """What a page needs beside its body: its style sheet, its script, and the charts' library."""

    css: str
    script: str
    library: str


def assets() -> Assets:
    """Return what every page of a report needs."""
    return Assets(asset("report.css"), asset("report.js"), get_plotlyjs())


def body(record: StudyRecord, why: Why | None = None) -> Body:
    """Return what a page shows of a study, whether it has ended, runs, or has not measured a second yet."""
    series = all_series(record)
    style = styles(record.spec)
    verdict = record.verdict
    counted_in = [one for one in series if one.trial.state is not TrialState.INTERRUPTED and _is_clean(one.trial)]
    over_time = charts_over_time.over_time(record, counted_in, style)
    combined = charts_over_time.combined(record, counted_in, style)
    windows = charts_windows.windows(record, counted_in, style)
    latency = charts_windows.latency(record, style)
    forest = charts_compared.forest(verdict, style) if verdict else None
    pareto = charts_compared.pareto(verdict, style) if verdict else None
    explained, why_charts = html_why.section(record, why, style)
    every = [forest, *why_charts, pareto, *over_time, combined, windows, latency]
    main = rendered(
        "body.html.j2",
        record=record,
        units=units_in(record),
        verdict=verdict,
        outcome=verdict_sentences.outcome(record),
        outcome_kind=str(verdict.verdict) if verdict else "none",
        headline=verdict_sentences.headline(record),
        reason=verdict_sentences.reason(record),
        setting=[item.line for item in changes(record) if item.line is not None],
        unwritten=[item for item in changes(record) if item.line is None],
        statements=[line for one in sql_file.statements(record) for line in one.do],
        files_sentence=sql_file.files_sentence(record),
        no_change=verdict_sentences.no_change(record),
        tiles=html_verdict.tiles(record, verdict) if verdict else [],
        remarks=html_verdict.remarks(verdict) if verdict else [],
        not_found=html_verdict.not_found(verdict) if verdict else "",
        scope=verdict_sentences.SCOPE,
        subject=verdict_sentences.naming(record.spec).subject,
        columns=html_verdict.titles(verdict) if verdict else [],
        rows=html_verdict.rows(record, verdict, style) if verdict else [],
        transaction_title=transactions_section.TITLE,
        transaction_reading=transactions_section.READING,
        transaction_titles=transactions_section.TITLES,
        transactions=transactions_section.rows(verdict) if verdict else [],
        gone=verdict_sentences.left(verdict, verdict_sentences.naming(record.spec).labels) if verdict else "",
        within=exact_percent(verdict.worthwhile) if verdict else "",
        forest=forest,
        pareto=pareto,
        why=explained,
        over_time=over_time,
        marks=captions.key(counted_in),
        combined=combined,
        windows=windows,
        latency=latency,
        percentile=record.spec.workload.percentile,
        style=style,
        block_order=facts.block_order(series),
        time_spent=facts.time_spent(record.trials),
        time_sentence=facts.time_sentence(record.trials),
        sureness=verdict_sentences.sureness(verdict) if verdict else "",
        forced=facts.requested_and_effective(record),
        host=facts.machine(record),
        servers=[(visible(name), facts.inventory(known)) for name, known in record.servers.items()],
        settings=facts.settings(record),
        trial_rows=facts.trial_rows(series),
        failures=facts.failures(record.trials),
        differing=variables_shown.differing(record),
        not_default=variables_shown.not_default(record),
        command=visible(without_secrets(record.command)),
        study_file=study_file(record.spec),
        log=facts.log_lines(record),
    )
    data = {
        "trials": {one.trial.id: one.embedded() for one in counted_in},
        "charts": {chart.id: chart.figure for chart in every if chart},
    }
    return Body(visible(verdict_sentences.headline(record)), main, data)


def render(record: StudyRecord, why: Why | None = None) -> str:
    """Return the report as one HTML document without any outside reference."""
    shown, parts = body(record, why), assets()
    return str(
        rendered(
            "report.html.j2",
            policy=_policy(parts.script, parts.library),
            css=Markup(parts.css),  # noqa: S704
            script=Markup(parts.script),  # noqa: S704
            library=_packed(parts.library),
            data=embedded(shown.data),
            title=shown.title,
            main=shown.main,
            version=visible(record.dialin_version),
            when=moment(record.created),
        )
    )


@cache
def _packed(library: str) -> str:
    """Return the charts' library gzipped and in base64, which halves the report; the page's script unpacks it."""
    return base64.b64encode(gzip.compress(library.encode(), 6, mtime=0)).decode()


def _is_clean(trial: Trial) -> bool:
    """Return whether no costly instrument ran, so that the seconds of the trial can be compared with others."""
    return trial.purpose is not Purpose.WAITS


def _policy(*scripts: str) -> str:
    """Return the content security policy: these scripts and no others, the page's own styles, and no network at all."""
    hashes = " ".join(f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'" for text in scripts)
    return (
        f"default-src 'none'; script-src {hashes}; style-src 'unsafe-inline'; img-src data:; "
        "connect-src 'none'; form-action 'none'; base-uri 'none'"
    )
