"""What each kind of transaction did under each candidate, as a load program without histograms reports it, as a table."""

from __future__ import annotations

from collections.abc import Mapping

from dialin.model.study import StudySpec
from dialin.model.verdict import ComparedFigure
from dialin.model.why import TransactionKind, Why
from dialin.model.workload import latency_name
from dialin.report.document.costs import READING, cost_cell
from dialin.report.document.parts import Cell, Column, Row, Table
from dialin.text import visible

TITLE = "Kinds of transaction"


def table(why: Why, spec: StudySpec, labels: Mapping[str, str]) -> Table:
    """Return the table; a figure that no kind has is no column."""
    every: list[tuple[Column, list[ComparedFigure | None]]] = [
        (Column("rate", "per second", is_figure=True), [one.per_second for one in why.kinds]),
        (
            Column("percentile", f"{latency_name(spec.workload.percentile)} ms", 1, is_figure=True),
            [one.percentile_ms for one in why.kinds],
        ),
        (Column("mean", "mean ms", 2, is_figure=True), [one.mean_ms for one in why.kinds]),
        (Column("errors", "errors per second", 3, is_figure=True), [_known(one.errors) for one in why.kinds]),
    ]
    shown = [(column, figures) for column, figures in every if any(figures)]
    columns = [Column("transaction", "transaction"), Column("candidate", "candidate"), *(column for column, _ in shown)]
    rows = [
        Row([*_names(one, labels), *(cost_cell(figures[place]) for _, figures in shown)]) for place, one in enumerate(why.kinds)
    ]
    caption = f"As the load's program reports them; a percentile is the mean of those of its samples. {READING}"
    return Table("kinds-table", caption, columns, rows)


def _names(one: TransactionKind, labels: Mapping[str, str]) -> list[Cell]:
    return [Cell(visible(one.transaction)), Cell(labels[one.candidate], candidate=one.candidate)]


def _known(errors: ComparedFigure | None) -> ComparedFigure | None:
    return errors if errors is not None and errors.level.mean > 0 else None
