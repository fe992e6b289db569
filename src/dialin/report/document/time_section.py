"""The section on what was measured second by second."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from dialin.model.record import StudyRecord
from dialin.report.charts import captions, over_time, windows
from dialin.report.charts.style import Style
from dialin.report.charts.trial_series import Series
from dialin.report.document.parts import Grid, MeasureSwitch, Paragraph, Part, Role, Section, SectionKey

_READING = (
    "Every trial of a candidate, second by second, all candidates on one scale. Shaded: the warm-up, which is not measured."
)


def time_section(record: StudyRecord, series: Sequence[Series], style: Mapping[str, Style]) -> Section:
    """Return the section; `series` are the trials that decide or confirm."""
    latency = windows.latency(record, style)
    parts: list[Part] = [Paragraph(f"{_READING} {captions.key(series)}".rstrip(), Role.LEAD)]
    if latency:
        parts.append(MeasureSwitch(record.spec.workload.percentile))
    parts += [
        Grid(over_time.over_time(record, series, style)),
        over_time.combined(record, series, style),
        windows.windows(record, series, style),
    ]
    if latency:
        parts.append(latency)
    return Section(SectionKey.OVER_TIME, "Over time", parts)
