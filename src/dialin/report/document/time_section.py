"""The section on what was measured second by second, with what the server and its machine did meanwhile."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from dialin.evidence.server_metrics import MetricLine, MetricPanel, ServerMetrics, TrialMetrics
from dialin.model.record import StudyRecord
from dialin.model.workload import latency_name
from dialin.report.charts import captions, over_time, server_metrics_chart, windows
from dialin.report.charts.style import Style
from dialin.report.charts.trial_series import Series
from dialin.report.document.parts import (
    Cell,
    Column,
    Fold,
    Grid,
    Group,
    Link,
    MeasureSwitch,
    Paragraph,
    Part,
    Role,
    Row,
    Section,
    SectionKey,
    Table,
)
from dialin.sentences.load_units import Units, units_of_record
from dialin.sentences.names import Naming
from dialin.text import counted, number

_READING = "Each trial second by second, all candidates on one scale. Shaded: the warm-up, which is not measured."
_ONE_PERCENTILE = "This is not the latency of single transactions: the load program reports one percentile per second."


def time_section(
    record: StudyRecord,
    series: Sequence[Series],
    names: Naming,
    style: Mapping[str, Style],
    metrics: ServerMetrics,
    *,
    has_histograms: bool,
) -> Section:
    """Return the section; `series` are the trials that charts over time show.

    Latency per second is summed up here only where there are no histograms of transactions.
    """
    latency = windows.latency(record, style)
    choice = record.verdict.recommended_candidate if record.verdict else record.spec.baseline
    parts: list[Part] = [Paragraph(f"{_READING} {captions.key(series)}".rstrip(), Role.LEAD)]
    if latency:
        parts.append(MeasureSwitch(latency_name(record.spec.workload.percentile)))
    parts += [
        Grid(over_time.over_time(record, series, style)),
        over_time.combined(record, series, style),
        *metrics_group(metrics, names.labels, units_of_record(record), record.spec.baseline, choice),
        *([boxes] if (boxes := windows.windows(record, series, style)) else []),
    ]
    if latency and not has_histograms:
        parts += [latency, Paragraph(_ONE_PERCENTILE, Role.SMALL)]
    return Section(SectionKey.OVER_TIME, "Over time", parts)


def metrics_group(metrics: ServerMetrics, labels: Mapping[str, str], unit: Units, baseline: str, choice: str) -> Sequence[Part]:
    """Return the group; nothing where no trial has readings over time."""
    chart = server_metrics_chart.chart(metrics, labels, unit, baseline, choice)
    if chart is None:
        return ()
    table = Fold("metrics", f"Server metrics of {counted(len(metrics.trials), 'trial')}", [_table(metrics, labels)])
    return [Group("metrics", "Server metrics", [chart, table])]


def metrics_link(metrics: ServerMetrics, trial: int) -> Link | None:
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
