"""The section on a replay: whether what was measured was the captured load, the worst part first."""

from __future__ import annotations

import statistics
from collections.abc import Sequence

from dialin.model.evidence import Gauge, load_gauge
from dialin.model.record import StudyRecord
from dialin.model.trial import TrialState
from dialin.report.document.parts import Cell, Column, Paragraph, Part, Role, Row, RowRole, Section, SectionKey, Table
from dialin.report.replay_sentences import COUNTS, SHARES, fidelity
from dialin.text import NOTHING, counted, number, percent

_CAPTION = "Each trial against the capture, warm-up included."


def replay_section(record: StudyRecord) -> Section:
    """Return the section; it is empty for a study that replays no capture, and before its first trial has ended."""
    done = [trial.id for trial in record.trials if trial.state is TrialState.DONE]
    gauges = {
        name: [gauge for trial in done if (gauge := load_gauge(record.watched.get(trial, {}), name))]
        for name in (*SHARES, *COUNTS)
    }
    worst = {name: max(gauge.most for gauge in found) for name, found in gauges.items() if found and name in SHARES}
    if not worst:
        return Section(SectionKey.REPLAY, "", ())
    limits = {limit.gauge: limit.most for limit in record.spec.workload.traits.limits}
    where = f" in the worst of {counted(len(done), 'trial')}"
    lead = fidelity(worst, record.spec.workload.traits.limits, where)
    columns = [
        Column("figure", "per trial"),
        Column("mean", "mean", is_figure=True),
        Column("worst", "worst trial", is_figure=True),
        Column("limit", "limit", 1, is_figure=True),
    ]
    rows = [_share(name, gauges[name], limits.get(name)) for name in worst]
    rows += [_count(name, gauges[name]) for name in COUNTS if gauges[name]]
    parts: list[Part] = [Paragraph(lead, Role.LEAD), Table("replay", _CAPTION, columns, rows)]
    return Section(SectionKey.REPLAY, "Replay", parts)


def _share(name: str, gauges: Sequence[Gauge], limit: float | None) -> Row:
    worst = max(gauge.most for gauge in gauges)
    cells = [
        Cell(SHARES[name]),
        Cell(percent(statistics.fmean(gauge.mean for gauge in gauges))),
        Cell(percent(worst), order=worst),
        Cell(NOTHING if limit is None else percent(limit)),
    ]
    return Row(cells, RowRole.BAD if limit is not None and worst > limit else RowRole.PLAIN)


def _count(name: str, gauges: Sequence[Gauge]) -> Row:
    worst = max(gauge.most for gauge in gauges)
    mean = statistics.fmean(gauge.mean for gauge in gauges)
    return Row([Cell(COUNTS[name]), Cell(number(mean)), Cell(number(worst), order=worst), Cell(NOTHING)])
