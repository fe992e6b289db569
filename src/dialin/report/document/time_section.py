"""The section on what was measured second by second."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from dialin.evidence.server_metrics import ServerMetrics
from dialin.model.record import StudyRecord
from dialin.model.workload import latency_name
from dialin.report.charts import captions, over_time, windows
from dialin.report.charts.style import Style
from dialin.report.charts.trial_series import Series
from dialin.report.document.metrics_section import metrics_group
from dialin.report.document.parts import Grid, MeasureSwitch, Paragraph, Part, Role, Section, SectionKey
from dialin.report.load_units import units_of_record
from dialin.report.names import Naming

_READING = (
    "Every trial of a candidate, second by second, all candidates on one scale. Shaded: the warm-up, which is not measured."
)
_ONE_PERCENTILE = (
    "This is not the latency of single transactions: of this study one percentile per second is stored, and sysbench reports "
    "no more."
)


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
        windows.windows(record, series, style),
    ]
    if latency and not has_histograms:
        parts += [latency, Paragraph(_ONE_PERCENTILE, Role.SMALL)]
    return Section(SectionKey.OVER_TIME, "Over time", parts)
