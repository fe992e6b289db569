"""The section on a replay: whether what was measured was the captured load, and how long its statements took."""

from __future__ import annotations

import statistics
from collections import defaultdict
from collections.abc import Mapping, Sequence

from dialin.evidence.load_limits import LoadFigure, load_figures
from dialin.model.evidence import Gauge, load_gauge
from dialin.model.load_driver import DIGEST_CAPTURED_MS, DIGEST_MS, DIGEST_STATEMENTS
from dialin.model.record import StudyRecord
from dialin.model.trial import Trial, TrialState
from dialin.report.document.parts import Cell, Column, Paragraph, Part, Role, Row, RowRole, Section, SectionKey, Table
from dialin.sentences.replay_sentences import AMOUNTS, COUNTS, RATIOS, SHARES, ReplayPart, fidelity
from dialin.text import NOTHING, counted, number, span, visible

_CAPTION = (
    "Each trial against the capture: shares with the warm-up, ratios to the capture without it. Of a ratio, the candidate "
    "nearest to 1 is judged; amounts per transaction should be the same in all trials."
)
_DIGEST_CAPTION = (
    "Time of a statement on the server, in milliseconds: from sending it to its answer, as the load driver measured it, the "
    "warm-up included; means over the trials of a candidate. The times of the capture are those of its own server."
)
_MOST_DIGESTS = 10
_OF_STATEMENTS = (
    "replay_new_errors",
    "replay_missing_errors",
    "replay_other_rows",
    "replay_other_changes",
    "replay_time_elsewhere",
)
_WHICH_STATEMENTS = "To see which statements differ most from the capture, run: dialin capture check CAPTURE --data DIR"


def replay_section(record: StudyRecord) -> Section:
    """Return the section; it is empty for a study that replays no capture, and before its first trial has ended."""
    done = [trial for trial in record.trials if trial.state is TrialState.DONE]
    known = {**SHARES, **RATIOS, **AMOUNTS}
    limits = [limit for limit in record.spec.workload.traits.limits if limit.gauge in known]
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
    parts += _digests(record, done)
    return Section(SectionKey.REPLAY, "Replay", parts)


def _part(figure: LoadFigure) -> Row:
    limit, gauges = figure.limit, figure.gauges.values()
    if limit.is_equal:
        return _amount(figure)
    mean = ReplayPart(limit, statistics.fmean(gauge.mean for gauge in gauges))
    worst = ReplayPart(limit, max((value for gauge in gauges for value in (gauge.least, gauge.most)), key=limit.distance))
    cells = [Cell(mean.name), Cell(mean.shown), Cell(worst.shown, order=worst.distance), Cell(worst.limit_shown)]
    return Row(cells, RowRole.BAD if limit.is_exceeded(figure.judged) else RowRole.PLAIN)


def _amount(figure: LoadFigure) -> Row:
    gauges = figure.gauges.values()
    difference = ReplayPart(figure.limit, figure.judged)
    ends = span([gauge.mean for gauge in gauges], number)
    cells = [
        Cell(difference.name),
        Cell(number(statistics.fmean(gauge.mean for gauge in gauges))),
        Cell(ends, order=figure.judged),
        Cell(f"{difference.limit_shown} apart"),
    ]
    return Row(cells, RowRole.BAD if figure.limit.is_exceeded(figure.judged) else RowRole.PLAIN)


def _digests(record: StudyRecord, done: Sequence[Trial]) -> list[Table]:
    """Return the table of the digests that took most time, by candidate; none where the driver reports no digest."""
    by_digest: defaultdict[str, defaultdict[str, defaultdict[str, list[float]]]] = defaultdict(
        lambda: defaultdict(lambda: defaultdict(list))
    )
    for trial in done:
        watched = record.watched.get(trial.id, {})
        for name, gauge in watched["load"].gauges.items() if "load" in watched else ():
            digest, _, figure = name.rpartition("/")  # the text of a digest may contain any character
            if figure in (DIGEST_MS, DIGEST_STATEMENTS, DIGEST_CAPTURED_MS):
                by_digest[digest][trial.candidate][figure].append(gauge.mean)
    columns = [
        Column("digest", "statement"),
        Column("candidate", "candidate"),
        Column("statements", "statements", 2, is_figure=True),
        Column("captured", "captured ms", 1, is_figure=True),
        Column("time", "ms", is_figure=True),
    ]
    names = [candidate.name for candidate in record.spec.candidates]
    longest = sorted(by_digest, key=lambda digest: -max(map(_time_of, by_digest[digest].values())))[:_MOST_DIGESTS]
    rows = [
        Row(
            [
                Cell(visible(digest)),
                Cell(name, candidate=name),
                Cell(number(_mean(figures[DIGEST_STATEMENTS]))),
                Cell(number(_mean(figures[DIGEST_CAPTURED_MS]))),
                Cell(number(_mean(figures[DIGEST_MS]))),
            ]
        )
        for digest in longest
        for name in names
        if (figures := by_digest[digest].get(name))
    ]
    return [Table("replay-digests", _DIGEST_CAPTION, columns, rows)] if rows else []


def _time_of(figures: Mapping[str, Sequence[float]]) -> float:
    return (_mean(figures[DIGEST_STATEMENTS]) or 0.0) * (_mean(figures[DIGEST_MS]) or 0.0)


def _mean(values: Sequence[float]) -> float | None:
    return statistics.fmean(values) if values else None


def _count(name: str, gauges: Sequence[Gauge]) -> Row:
    worst = max(gauge.most for gauge in gauges)
    mean = statistics.fmean(gauge.mean for gauge in gauges)
    return Row([Cell(COUNTS[name]), Cell(number(mean)), Cell(number(worst), order=worst), Cell(NOTHING)])
