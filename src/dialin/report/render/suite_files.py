"""The files of a suite: `report.html`, `report.md`, `suite.csv` and `suite.json`."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator
from dataclasses import replace

from dialin import json_documents
from dialin.model.suite import Suite, SuiteResult
from dialin.model.verdict import Estimate
from dialin.report.document.parts import Code, Paragraph, Table
from dialin.report.document.suite_document import suite_document, suite_style
from dialin.report.render.html import Body, document_body, page_of
from dialin.report.render.markdown import to_markdown
from dialin.sentences.suite_sentences import COSTS
from dialin.text import csv_cell

_COLUMNS = ("workload", "weight", "candidate", "baseline", "unit", "ratio", "low", "high", "state", "margin", "trials")


def texts(suite: Suite) -> dict[str, str]:
    """Return the text of each file of a suite with a result, by its name."""
    return {
        "suite.json": json_documents.render(suite),
        "report.html": page_of(suite_body(suite), "suite report"),
        "report.md": markdown(suite),
        "suite.csv": _csv(suite.result) if suite.result else "",
    }


def suite_body(suite: Suite) -> Body:
    """Return the content of a page on a suite with a result, for its report and for its live page."""
    return document_body(suite_document(suite), suite_style(suite.result) if suite.result else {})


def markdown(suite: Suite, *, is_whole: bool = True) -> str:
    """Return a suite with a result as Markdown: its table and its command for a ticket, and all else folded away."""
    document = suite_document(suite)
    verdict, *others = document.sections
    command = [part for section in others for part in section.parts if isinstance(part, Code)]
    shown = [part for part in verdict.parts if isinstance(part, (Table, Paragraph))]
    rest = [part for part in verdict.parts if part not in shown]
    brief = replace(document, sections=[replace(verdict, parts=[*shown, *command])])
    return to_markdown(brief, [replace(verdict, parts=rest), *others] if is_whole else ())


def _csv(result: SuiteResult) -> str:
    """Return a row for each workload and candidate; costs are per operation, in µs, counts and KiB, with their ratios."""
    out = io.StringIO()
    table = csv.writer(out, lineterminator="\n")
    of_costs = [f"{name.replace(' ', '_')}{suffix}" for name in COSTS for suffix in ("", "_ratio")]
    table.writerow([*_COLUMNS, *of_costs])
    table.writerows(_rows(result))
    return out.getvalue()


def _rows(result: SuiteResult) -> Iterator[list[object]]:
    for row in result.rows:
        for cell in row.cells:
            level = row.baseline.mean if row.baseline else ""
            costs = {cost.name: cost.per_transaction.get(cell.candidate) for cost in row.costs}
            figures: list[object] = []
            for name in COSTS:
                cost = costs.get(name)
                figures += [cost.level.mean if cost else "", cost.ratio.mean if cost and cost.ratio else ""]
            of_row = [row.name, row.weight, cell.candidate, level, row.unit, *_ends(cell.ratio)]
            yield [
                csv_cell(one) if isinstance(one, str) else one
                for one in (*of_row, cell.state, cell.margin, cell.trials, *figures)
            ]
    for one in result.others:
        yield ["all, weighted", "", csv_cell(one.name), "", "", *_ends(one.mean), one.state, "", "", *[""] * 2 * len(COSTS)]


def _ends(ratio: Estimate | None) -> list[object]:
    return (
        [""] * 3
        if ratio is None
        else [ratio.mean, "" if ratio.low is None else ratio.low, "" if ratio.high is None else ratio.high]
    )
