"""The main figures of a study, and the table of them: the baseline, and beside it the candidate that the verdict is about."""

from __future__ import annotations

from collections.abc import Callable, Container, Mapping
from dataclasses import dataclass

from dialin.measures.of_verdict import capital, measure_of
from dialin.model.load_driver import ALL_KINDS
from dialin.model.record import StudyRecord
from dialin.model.study import Goal
from dialin.model.verdict import CandidateState, CandidateVerdict, ComparedFigure, Estimate, Verdict
from dialin.model.why import TransactionLatency, Why
from dialin.model.workload import MEAN, latency_name
from dialin.report.document.parts import Cell, Column, Row, Table
from dialin.sentences import headline
from dialin.sentences.changes import change_with_interval, is_too_noisy
from dialin.sentences.load_units import Units, seconds_a_run, units_of_record
from dialin.text import bare_change, change, exact_percent, number, size

_CPU = "server CPU"
"""The name of the cost that is the server's CPU time per query."""

_OF_SECONDS = "The mean of the seconds' percentiles."
"""The remark on a percentile where the load driver reports no histogram of transactions."""


@dataclass(frozen=True, slots=True)
class MainFigure:
    """A figure that the report shows first, under each candidate that has it.

    Attributes:
        show: writes a level.
        brief: what names it, unit included, where there is little room.
        remark: a sentence on how it is meant, by candidate.
    """

    key: str
    title: str
    unit: str
    show: Callable[[float], str]
    of: Mapping[str, ComparedFigure]
    remark: str = ""
    brief: str = ""


def main_figures(record: StudyRecord, verdict: Verdict, why: Why) -> list[MainFigure]:
    """Return the main figures, those of the goal first; each level divided by the baseline's is the ratio beside it."""
    unit, aim = units_of_record(record), measure_of(verdict)
    title, brief = ("Offered load", f"offered {unit.title}") if verdict.is_throughput_offered else ("Throughput", unit.title)
    of_throughput = _of(verdict, lambda one: (one.tps, one.ratio))
    figures = [MainFigure("throughput", title, unit.title, number, of_throughput, brief=brief)]
    if verdict.goal not in (Goal.THROUGHPUT, Goal.LATENCY):  # both are shown in any case
        of = _of(verdict, lambda one: (aim.level(one), one.goal_ratio))
        figures.append(MainFigure("goal", capital(aim.noun), aim.unit_or(unit.title), aim.show, of))
    if unit.by_run:
        figures.append(_run_time(verdict, unit))
    else:
        figures += [*_queries(verdict), *_latencies(verdict, why)]
    cpu = [one for one in why.costs if one.name == _CPU]
    figures += [
        MainFigure("cpu", "Server CPU per query", one.unit, number, one.per_query, brief=f"CPU/query {one.unit}") for one in cpu
    ]
    figures.append(MainFigure("memory", "Server memory (RSS)", "", size, why.memory))
    return figures


def _of(
    verdict: Verdict, pair: Callable[[CandidateVerdict], tuple[Estimate | None, Estimate | None]]
) -> Mapping[str, ComparedFigure]:
    pairs = {one.name: pair(one) for one in verdict.candidates}
    return {name: ComparedFigure(level=level, ratio=ratio) for name, (level, ratio) in pairs.items() if level is not None}


def _run_time(verdict: Verdict, unit: Units) -> MainFigure:
    def pair(one: CandidateVerdict) -> tuple[Estimate | None, Estimate | None]:
        return seconds_a_run(one.tps, verdict), one.ratio.inverted() if one.ratio and one.ratio.mean > 0 else None

    return MainFigure("run-time", f"Time of a {unit.one}", "s", number, _of(verdict, pair))


def _queries(verdict: Verdict) -> list[MainFigure]:
    """Return the queries per second; nothing where a transaction is one query, so that they are the throughput."""
    base, chosen = verdict.candidate(verdict.baseline).queries_per_transaction, verdict.chosen.queries_per_transaction
    each = [number(one) for one in dict.fromkeys((base, chosen)) if one]
    if set(each) <= {number(1.0)}:
        return []

    def pair(one: CandidateVerdict) -> tuple[Estimate | None, Estimate | None]:
        queries = one.queries_per_transaction
        return one.qps, one.ratio.scaled(queries / base) if one.ratio and queries and base else None

    remark = f"{' → '.join(dict.fromkeys(each))} queries per transaction."
    return [MainFigure("queries", "Queries", "QPS", number, _of(verdict, pair), remark)]


def _latencies(verdict: Verdict, why: Why) -> list[MainFigure]:
    """Return p50, p95 and p99 from histograms, and the percentile that the study reports."""
    reported = latency_name(verdict.percentile)
    every = [one for one in why.latencies if one.transaction == ALL_KINDS]

    def of_transactions(name: str) -> Mapping[str, ComparedFigure]:
        found = {one.candidate: percentile_of(one, name) for one in every}
        return {candidate: figure for candidate, figure in found.items() if figure is not None}

    title = "Mean" if verdict.percentile == MEAN else reported
    remark = "" if every or verdict.percentile == MEAN else _OF_SECONDS
    of_verdict = _of(verdict, lambda one: (one.latency_ms, one.latency_ratio))
    figures = {name: MainFigure(name, f"{name} latency", "ms", number, of_transactions(name)) for name in ("p50", "p95", "p99")}
    brief = f"{title} ms" if verdict.percentile != MEAN else ""
    figures[reported] = MainFigure("latency", f"{title} latency", "ms", number, of_verdict, remark, brief)
    return [figures[name] for name in sorted(figures, key=lambda name: name[1:].zfill(2))]


def percentile_of(one: TransactionLatency, name: str) -> ComparedFigure | None:
    """Return one of the percentiles p50, p95, p99 and p99.9."""
    return {"p50": one.p50_ms, "p95": one.p95_ms, "p99": one.p99_ms, "p99.9": one.p999_ms}[name]


def figures_table(
    record: StudyRecord, verdict: Verdict, why: Why, labels: Mapping[str, str], *, left_out: Container[str] = ()
) -> Table:
    """Return the main figures of the baseline and, beside it, of the candidate that the verdict is about.

    With `left_out`, the keys of figures that are not shown, the others have brief names.
    """
    other, baseline = _beside_baseline(verdict), labels[verdict.baseline]
    every = main_figures(record, verdict, why)
    figures = [one for one in every if one.key not in left_out and verdict.baseline in one.of]
    title = baseline if baseline == "baseline" else f"{baseline} (baseline)"
    columns = [Column("figure", ""), Column("before", title, is_figure=True, candidate=verdict.baseline)]
    if other is not None:
        found = "recommended" if other.name == verdict.recommended_candidate else "best setting"
        title = labels[other.name] if not record.spec.tuned else found  # the headline has its changes
        columns.append(Column("after", title, is_figure=True, candidate=other.name))
        columns.append(Column("change", f"change ({exact_percent(verdict.confidence)} CI)"))
    return Table("main-figures", "", columns, [_row(one, verdict, other, is_brief=bool(left_out)) for one in figures])


def _row(figure: MainFigure, verdict: Verdict, other: CandidateVerdict | None, *, is_brief: bool) -> Row:
    cells = [figure.show(figure.of[verdict.baseline].level.mean)]
    if other is not None:
        beside = figure.of.get(other.name)
        cells.append(figure.show(beside.level.mean) if beside else "")
        cells.append(_change(beside.ratio, other) if beside and beside.ratio else "")
    title = (figure.brief if is_brief else "") or f"{figure.title} {figure.unit}".rstrip()
    return Row([Cell(text) for text in (title, *cells)])


def _change(ratio: Estimate, other: CandidateVerdict) -> str:
    """Return a change with its interval, in few characters: `+17.0 % (+9.0 to +25.5)`."""
    if ratio.low is None or ratio.high is None or is_too_noisy(ratio):
        return change_with_interval(ratio, other.trials)
    return f"{change(ratio.mean)} ({bare_change(ratio.low)} to {bare_change(ratio.high)})"


def _beside_baseline(verdict: Verdict) -> CandidateVerdict | None:
    """Return the candidate of the headline, else the one that comes next."""
    named = headline.subject(verdict)
    if named is not None and named.name != verdict.baseline:
        return named
    others = [
        one for one in verdict.candidates if one.name != verdict.baseline and one.tps and one.state is not CandidateState.UNSAFE
    ]
    return max(others, key=lambda one: one.probability or 0.0, default=None)
