"""`report.html`: one file that contains all it shows, uses no network, and suits paper, phones and dark mode.

The content of its `<main>` and the data of its script are built apart from the page around them, because the live page of a
running study shows the same.
"""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from markupsafe import Markup

from dialin.evidence.server_metrics import server_metrics
from dialin.model.record import StudyRecord
from dialin.model.why import Why
from dialin.report.charts import server_metrics_chart
from dialin.report.charts.style import Style, styles
from dialin.report.charts.trial_series import all_series
from dialin.report.document.parts import MARKDOWN, Document
from dialin.report.document.study_document import charted_series, study_document
from dialin.report.render.markdown import summary
from dialin.report.render.markup import asset, embedded, library, packed_library, rendered


@dataclass(frozen=True, slots=True)
class Body:
    """The content of a page on a study.

    Attributes:
        title: the verdict in one sentence, or the state of the study; plain text.
        menu: the links to its sections.
        data: what the page's script draws: `trials`, `metrics`, `charts`; and the summary as Markdown, which it copies.
    """

    title: str
    main: Markup
    menu: Markup
    data: Mapping[str, Any]
    colophon: str = ""


@dataclass(frozen=True, slots=True)
class Assets:
    """The other parts of a page: its style sheet, its script, and the charts' library."""

    css: str
    script: str
    library: str


def assets() -> Assets:
    script = "".join(map(asset, ("tables.js", "flame_graph.js", "report.js")))
    return Assets(asset("report.css"), script, library())


def body(record: StudyRecord, why: Why | None = None) -> Body:
    """Return the content of a page on a study, whether it has ended, runs, or has not measured a second yet."""
    series = all_series(record)
    metrics = server_metrics(record)
    document = study_document(record, why, series, metrics)
    data: dict[str, Any] = {
        "trials": {one.trial.id: one.embedded() for one in charted_series(series)},
        "metrics": server_metrics_chart.embedded(metrics, record.spec.baseline),
        "charts": {chart.key: chart.figure for chart in document.charts()},
        "flames": {graph.key: graph.embedded() for graph in document.flame_graphs()},
    }
    if record.verdict is not None:
        data[MARKDOWN] = summary(record, why, document)
    main = rendered("body.html.j2", document=document, style=styles(record.spec))
    return Body(document.headline, main, rendered("menu.html.j2", document=document), data, document.colophon)


def render(record: StudyRecord, why: Why | None = None) -> str:
    """Return the report as one HTML document without any outside reference."""
    return page_of(body(record, why), "study report")


def document_body(document: Document, style: Mapping[str, Style]) -> Body:
    """Return a document that is not of a study as the content of a page; `style` has how its candidates look."""
    main = rendered("body.html.j2", document=document, style=style)
    data = {"trials": {}, "metrics": {}, "charts": {chart.key: chart.figure for chart in document.charts()}}
    return Body(document.headline, main, rendered("menu.html.j2", document=document), data, document.colophon)


def page_of(page: Body, what: str) -> str:
    """Return a content as one HTML document without any outside reference; `what` names it."""
    parts = assets()
    return str(
        rendered(
            "report.html.j2",
            policy=_policy(parts.script, parts.library),
            css=Markup(parts.css),  # noqa: S704
            script=Markup(parts.script),  # noqa: S704
            library=base64.b64encode(packed_library()).decode(),  # gzipped; the page's script unpacks it
            data=embedded(page.data),
            title=page.title,
            what=what,
            menu=page.menu,
            main=page.main,
            colophon=page.colophon,
        )
    )


def _policy(*scripts: str) -> str:
    """Return the content security policy: these scripts and no others, the page's own styles, and no network at all."""
    hashes = " ".join(f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'" for text in scripts)
    return (
        f"default-src 'none'; script-src {hashes}; style-src 'unsafe-inline'; img-src data: blob:; "
        "connect-src 'none'; form-action 'none'; base-uri 'none'"
    )
