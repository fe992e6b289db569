"""The section on a live server under its own traffic: the offered load beside the result, every period, every guard trip."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from dialin.cause_sentences import guard_reason
from dialin.measures.table import COSTS, MEASURES, measure_of_study
from dialin.model.record import LogCode, StudyRecord
from dialin.model.study import Goal
from dialin.model.verdict import Estimate, LiveCandidate, LiveFindings
from dialin.report.charts.live_chart import LivePeriod, live_charts, live_periods
from dialin.report.charts.style import Style
from dialin.report.document.parts import (
    NO_INTERVAL,
    Cell,
    Column,
    Fold,
    Group,
    Paragraph,
    Part,
    Role,
    Row,
    RowRole,
    Section,
    SectionKey,
    Table,
)
from dialin.sentences.changes import interval
from dialin.sentences.log_sentences import log_text
from dialin.sentences.names import Naming
from dialin.text import NOTHING, change, clock_time, counted, number, percent, visible

_SOURCES = {
    "histogram": "the statement histogram of the performance schema",
    "summary": "the statement summary of the performance schema",
    "response_time": "query_response_time",
}


def live_section(record: StudyRecord, names: Naming, style: Mapping[str, Style]) -> Section:
    """Return the section; it is empty for a study whose load dialin applies."""
    if not record.spec.is_live:
        return Section(SectionKey.LIVE, "", ())
    periods = live_periods(record)
    findings = record.verdict.live if record.verdict is not None else None
    parts: list[Part] = [
        Paragraph(f"{visible(log_text(line)).rstrip('.')}.") for line in record.log if line.code is LogCode.OBSERVED
    ]
    if findings is not None:
        parts.append(Paragraph(_summary(record, findings), Role.LEAD))
        parts.append(Group("live-effect", "Effect and offered load", [_effects(record, findings, names)]))
    parts.append(Group("live-guard", "Guard", [_trips(periods, names)]))
    parts += live_charts(periods, style, record.spec.workload.percentile)
    parts.append(Fold("live-periods", f"Every period ({len(periods)})", [_periods(periods, names)]))
    return Section(SectionKey.LIVE, "Live, own traffic", parts)


def _summary(record: StudyRecord, findings: LiveFindings) -> str:
    facts = next((one for one in record.servers.values() if "latency_source" in one), {})
    source = str(facts.get("latency_source", ""))
    read = f", whose latency was read from {_SOURCES[source]}" if source in _SOURCES else ""
    digests = facts.get("digests", ())
    mix = f" The mix of statements: {counted(len(digests), 'digest')} by themselves, the rest by kind." if digests else ""
    cpu = "" if findings.cpu_share is None else f" The server used {percent(findings.cpu_share)} of its machine's CPU"
    verb = " and had" if cpu else " The server had"
    running = "" if findings.running is None else f"{verb} {findings.running:.1f} running threads"
    saturated = f"; it was saturated in {percent(findings.saturated)} of the periods" if findings.saturated else ""
    used = f"{cpu}{running}{saturated}." if cpu or running else ""
    return (
        f"Clients sent {number(findings.statements_per_s)} statements/s{read}.{mix}{used} dialin applied no load; the server "
        f"spent {percent(findings.own_share)} of the measured time on its readings."
    )


def _effects(record: StudyRecord, findings: LiveFindings, names: Naming) -> Table:
    goal = record.spec.goal
    aim, load = measure_of_study(record.spec), record.spec.workload
    shown = [cost for cost in COSTS if cost != goal and any(cost in one.costs for one in findings.candidates)]
    titles = {cost: MEASURES[cost].filled(load.percentile, load.traits.unit).short for cost in shown}
    has_latency = goal is not Goal.LATENCY
    title = "latency" if goal is Goal.LATENCY else aim.short
    has_tripped = any(one.trips for one in findings.candidates)
    columns = [
        Column("candidate", "value" if names.subject else "candidate"),
        Column("with", title, is_figure=True),
        Column("without", "without the load", 2, is_figure=True),
        *([Column("latency", "latency", 1, is_figure=True)] if has_latency else []),
        *([] if goal is Goal.THROUGHPUT else [Column("load", "offered load", 1, is_figure=True)]),
        *(Column(cost.value, titles[cost], place, is_figure=True) for place, cost in enumerate(shown, start=3)),
        *([Column("trips", "guard trips", is_figure=True)] if has_tripped else []),
    ]
    width = len(columns) - 1 - has_tripped

    def ratios(one: LiveCandidate) -> list[Cell]:
        if one.name == record.spec.baseline:
            return [Cell("baseline"), *([Cell("")] * (width - 1))]
        beside = [*([one.latency] if has_latency else []), *([] if goal is Goal.THROUGHPUT else [one.load])]
        return [_ratio(each) for each in (one.with_load, one.without_load, *beside, *(one.costs.get(cost) for cost in shown))]

    rows = [
        Row(
            [
                Cell(names.labels[one.name], candidate=one.name),
                *ratios(one),
                *([Cell(str(one.trips) if one.trips else "", order=one.trips)] if has_tripped else []),
            ],
            RowRole.BAD if one.trips else RowRole.PLAIN,
        )
        for one in findings.candidates
    ]
    halves = " of second halves of periods" if findings.second_halves else ""
    caption = (
        f"Against the baseline, in {counted(findings.quads, 'pair')} of blocks in mirrored order{halves}, with the offered "
        f"load and its mix counted in, and without; {aim.direction}. Latency: the mean in one mix of statements. Offered load: "
        "statements that clients sent per second, which no candidate should change. The rest is what a statement cost the "
        f"server.{_when(record, findings)}"
    )
    return Table("live-effect-table", caption, columns, rows, is_wide=True)


def _when(record: StudyRecord, findings: LiveFindings) -> str:
    """Return how long after a change effects were measured; later effects are in no figure."""
    if findings.washout is None or record.spec.measure is None:
        return ""
    first = findings.washout + (record.spec.measure / 2 if findings.second_halves else 0.0)
    return f" Effects are those from {first:g} to {findings.washout + record.spec.measure:g} s after a change of the value."


def _ratio(ratio: Estimate | None) -> Cell:
    if ratio is None:
        return Cell(NOTHING)
    ends = interval(ratio, change) or NO_INTERVAL
    return Cell(change(ratio.mean), [ends], interval(ratio, change, is_bare=True), ratio.mean)


def _trips(periods: Sequence[LivePeriod], names: Naming) -> Table:
    columns = [
        Column("time", "time"),
        Column("candidate", "candidate"),
        Column("after", "after the change, s", is_figure=True),
        Column("restored", "restored within, s", is_figure=True),
        Column("reason", "what the guard saw"),
    ]
    rows = [
        Row(
            [
                Cell(clock_time(one.trial.started)),
                Cell(names.labels[one.trial.candidate], candidate=one.trial.candidate),
                Cell(f"{figures['after']:.1f}"),
                Cell("NOT restored" if figures["restored_in"] is None else f"{figures['restored_in']:.2f}"),
                Cell(visible(guard_reason(figures))),
            ],
            RowRole.BAD,
        )
        for one in periods
        if one.is_tripped and one.trial.failure is not None
        for figures in (one.trial.failure.cause.figures,)
    ]
    caption = "Every time that the guard restored the baseline."
    return Table("live-guard-table", caption, columns, rows, "It had no reason to act.", is_wide=True)


def _periods(periods: Sequence[LivePeriod], names: Naming) -> Table:
    columns = [
        Column("period", "period", is_figure=True),
        Column("time", "time"),
        Column("candidate", "candidate"),
        Column("latency", "mean ms", is_figure=True),
        Column("p95", "p95 ms", 2, is_figure=True),
        Column("load", "statements/s", is_figure=True),
        Column("running", "threads running", 3, is_figure=True),
        Column("end", "end", 1),
    ]
    caption = (
        "In order of time. Mean latency is that in one mix of statements; p95 is of all statements, where the server has it."
    )
    rows = [_period(one, names) for one in periods]
    return Table("live-periods-table", caption, columns, rows, "No period has ended.", is_sortable=True, is_wide=True)


def _period(one: LivePeriod, names: Naming) -> Row:
    trial, traffic = one.trial, one.traffic
    load, p95, running = (traffic.totals.per_second, traffic.p95_ms, traffic.running) if traffic else (None, None, None)
    return Row(
        [
            Cell(str(trial.id), order=trial.id),
            Cell(clock_time(trial.started)),
            Cell(names.labels[trial.candidate], candidate=trial.candidate),
            *(Cell(number(value), order=value) for value in (one.latency, p95, load, running)),
            Cell("ended by the guard" if one.is_tripped else str(trial.state)),
        ],
        RowRole.BAD if one.is_tripped else RowRole.PLAIN,
    )
