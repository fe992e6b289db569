"""What a server and its machine did over a trial's time: a chart of one trial at a time, and a table of all trials."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from dialin.evidence.server_metrics import MetricLine, MetricPanel, ServerMetrics, TrialMetrics
from dialin.report.charts import server_metrics_chart
from dialin.report.document.parts import Cell, Column, Fold, Group, Link, Part, Row, Table
from dialin.report.load_units import Units
from dialin.text import counted, number


def metrics_group(metrics: ServerMetrics, labels: Mapping[str, str], unit: Units, baseline: str, choice: str) -> Sequence[Part]:
    """Return the group; nothing where no trial has readings over time."""
    chart = server_metrics_chart.chart(metrics, labels, unit, baseline, choice)
    if chart is None:
        return ()
    table = Fold("metrics", f"Server metrics of {counted(len(metrics.trials), 'trial')}", [_table(metrics, labels)])
    return [Group("metrics", "Server metrics", [chart, table])]


def link(metrics: ServerMetrics, trial: int) -> Link | None:
    """Return where a page shows a trial's metrics; None where it has none."""
    has_some = any(one.trial.id == trial for one in metrics.trials)
    return Link(f"{server_metrics_chart.KEY}-title", trial) if has_some else None


def _table(metrics: ServerMetrics, labels: Mapping[str, str]) -> Table:
    lines = [(panel, line) for panel in metrics.panels for line in panel.lines]
    columns = [
        Column("trial", "trial", is_figure=True),
        Column("candidate", "candidate"),
        *(Column(line.key, _title(panel, line), rank, is_figure=True) for rank, (panel, line) in enumerate(lines, start=1)),
    ]
    caption = "The mean of each trial's measured time, and beside it the highest step."
    return Table("metrics-table", caption, columns, [_row(one, lines, labels) for one in metrics.trials])


def _row(one: TrialMetrics, lines: Sequence[tuple[MetricPanel, MetricLine]], labels: Mapping[str, str]) -> Row:
    trial = Cell(str(one.trial.id), link=Link(f"{server_metrics_chart.KEY}-title", one.trial.id))
    name = Cell(labels[one.trial.candidate], candidate=one.trial.candidate)
    return Row([trial, name, *(_figure(one, line.key) for _, line in lines)])


def _figure(one: TrialMetrics, key: str) -> Cell:
    mean, most = one.mean(key), one.most(key)
    return Cell(number(mean), [] if most is None else [f"most {number(most)}"])


def _title(panel: MetricPanel, line: MetricLine) -> str:
    name = f"{panel.title}, {line.label}" if len(panel.lines) > 1 else panel.title
    return f"{name}, {panel.unit}"
