"""The section on a replay: whether what was measured was the captured load, the worst part first."""

from __future__ import annotations

import statistics
from collections.abc import Sequence

from dialin.evidence.load_figures import LoadFigure, load_figures
from dialin.model.evidence import Gauge, load_gauge
from dialin.model.record import StudyRecord
from dialin.model.trial import TrialState
from dialin.report.document.parts import Cell, Column, Paragraph, Part, Role, Row, RowRole, Section, SectionKey, Table
from dialin.report.replay_sentences import COUNTS, RATIOS, SHARES, ReplayPart, fidelity
from dialin.text import NOTHING, counted, number

_CAPTION = (
    "Each trial against the capture: shares with the warm-up, ratios to the capture without it. Of a ratio, the candidate "
    "nearest to 1 is judged."
)
_OF_STATEMENTS = ("replay_new_errors", "replay_missing_errors", "replay_other_rows", "replay_time_elsewhere")
_WHICH_STATEMENTS = "To see which statements differ most from the capture, run: dialin capture check CAPTURE --data DIR"


def replay_section(record: StudyRecord) -> Section:
    """Return the section; it is empty for a study that replays no capture, and before its first trial has ended."""
    done = [trial for trial in record.trials if trial.state is TrialState.DONE]
    limits = [limit for limit in record.spec.workload.traits.limits if limit.gauge in SHARES or limit.gauge in RATIOS]
    figures = load_figures(limits, done, record.watched)
    if not figures:
        return Section(SectionKey.REPLAY, "", ())
    lead = fidelity([ReplayPart(figure.limit, figure.judged) for figure in figures], f" in {counted(len(done), 'trial')}")
    columns = [
        Column("figure", "per trial"),
        Column("mean", "mean", is_figure=True),
        Column("worst", "worst trial", is_figure=True),
        Column("limit", "limit", 1, is_figure=True),
    ]
    rows = [_part(figure) for figure in figures]
    for name in COUNTS:
        gauges = [gauge for trial in done if (gauge := load_gauge(record.watched.get(trial.id, {}), name))]
        rows += [_count(name, gauges)] if gauges else []
    parts: list[Part] = [Paragraph(lead, Role.LEAD), Table("replay", _CAPTION, columns, rows)]
    if any(figure.limit.gauge in _OF_STATEMENTS and figure.limit.is_exceeded(figure.judged) for figure in figures):
        parts.append(Paragraph(_WHICH_STATEMENTS))
    return Section(SectionKey.REPLAY, "Replay", parts)


def _part(figure: LoadFigure) -> Row:
    limit, gauges = figure.limit, figure.gauges.values()
    mean = ReplayPart(limit, statistics.fmean(gauge.mean for gauge in gauges))
    worst = ReplayPart(limit, max((value for gauge in gauges for value in (gauge.least, gauge.most)), key=limit.distance))
    cells = [
        Cell(mean.name),
        Cell(mean.shown),
        Cell(worst.shown, order=worst.distance),
        Cell(worst.limit_shown),
    ]
    return Row(cells, RowRole.BAD if limit.is_exceeded(figure.judged) else RowRole.PLAIN)


def _count(name: str, gauges: Sequence[Gauge]) -> Row:
    worst = max(gauge.most for gauge in gauges)
    mean = statistics.fmean(gauge.mean for gauge in gauges)
    return Row([Cell(COUNTS[name]), Cell(number(mean)), Cell(number(worst), order=worst), Cell(NOTHING)])
