"""The figures of a candidate, the same in every table: the title of each, its cell in each length, and its sort order."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import Any

from dialin.measures.of_verdict import deciding, measure_of
from dialin.model.study import Goal
from dialin.model.verdict import CandidateVerdict, Estimate, Verdict
from dialin.model.workload import latency_name
from dialin.report.document.parts import NO_INTERVAL, Cell, Column, Term
from dialin.sentences.changes import interval, is_too_noisy, is_too_noisy_level, too_noisy
from dialin.sentences.load_units import Units, mib_a_second, seconds_a_run, units_of_verdict
from dialin.sentences.verdict_sentences import chance
from dialin.text import NOTHING, change, exact_percent, number, percent


class Word(StrEnum):
    """The keys of the terms."""

    BLOCK = "block"
    CV = "cv"
    STALL = "stall"
    NEAR_BEST = "near-best"
    HOST_STALL = "host-stall"


TERMS = (
    Term(
        Word.BLOCK,
        "block",
        "trials close together in time, in random order: one of each candidate, later of the two contenders; of two candidates "
        "in all, each is drawn by a coin",
    ),
    Term(Word.CV, "CV", "coefficient of variation: the standard deviation of a trial's seconds, as a share of their mean"),
    Term(
        Word.STALL,
        "stall",
        "a measured second below half of its trial's median, or below a tenth of the trial's 90th percentile",
    ),
    Term(Word.NEAR_BEST, "P(within N %)", "the probability that a candidate is within `--worthwhile` of the best"),
    Term(
        Word.HOST_STALL,
        "host stall",
        "a second in which the host itself stalled or its hypervisor took the CPU; it does not count",
    ),
)
"""The terms, in the order in which a report lists them."""


_NARROW = 0.1


@dataclass(frozen=True, slots=True)
class FigureColumn(Column):
    """A column of the candidates' table; it is charted if the verdict was reached by its figure, which `of` makes a cell of."""

    of: Callable[[CandidateVerdict], Cell] = field(kw_only=True)


def _column(title: str, of: Callable[[CandidateVerdict], Cell], rank: int, hint: str = "", **more: Any) -> FigureColumn:
    return FigureColumn(title, title, rank, hint, is_figure=True, of=of, **more)


def columns(verdict: Verdict) -> list[FigureColumn]:
    """Return the columns of a verdict's table, those of the goal first."""
    aim = measure_of(verdict)

    def to_baseline(candidate: CandidateVerdict, ratio: Estimate | None) -> Cell:
        return Cell("baseline", order=1.0) if candidate.name == verdict.baseline else _ratio(ratio, candidate.trials)

    unit = units_of_verdict(verdict)
    tps = _column(unit.title, lambda c: _estimate(c.tps, number), 1, bare_first=True)
    cv = _column("CV", lambda c: _estimate(c.cv, percent, 100), 3, term=Word.CV)
    worst = _column("worst second", lambda c: Cell(number(c.worst_second_tps), order=c.worst_second_tps), 9)
    stalls = _column("stalls/1000 s", lambda c: _estimate(c.stall_seconds_per_1000, number), 6, term=Word.STALL)
    latency = _column(f"{latency_name(verdict.percentile)} ms", lambda c: _estimate(c.latency_ms, number), 2)
    near_best = f"P(within {exact_percent(verdict.worthwhile)})"
    rest = [
        _column(near_best, lambda c: Cell(chance(c.probability), order=c.probability), 4, term=Word.NEAR_BEST),
        _column("errors/s", lambda c: Cell(number(c.errors_per_s), order=c.errors_per_s), 10),
        _column("trials", lambda c: _trials(c, unit), 8),
    ]
    if unit.by_run:
        # A run is one sample, so that its seconds, stalls and percentile add nothing to the time of a run.
        took = _column(f"s/{unit.one}", lambda c: _estimate(seconds_a_run(c.tps, verdict), number), 5)
        speed = _column("MiB/s", lambda c: _estimate(mib_a_second(c.tps, verdict), number), 2)
        speeds = [took, *([speed] if verdict.workload.get("bytes_a_query") else [])]
        by = "to baseline" if verdict.goal is Goal.THROUGHPUT else f"{aim.short} to baseline"
        better = "" if aim.higher_is_better else aim.direction
        decides = _column(by, lambda c: to_baseline(c, deciding(c, verdict)), 0, is_charted=True, hint=better)
        return [tps, decides, *speeds, cv, *rest]
    if verdict.goal is Goal.THROUGHPUT:
        decides = _column("to baseline", lambda c: to_baseline(c, c.ratio), 0, is_charted=True)
        return [tps, decides, cv, worst, stalls, latency, *rest]
    decides = _column(
        f"{aim.short} to baseline", lambda c: to_baseline(c, c.goal_ratio), 0, is_charted=True, hint=aim.direction
    )
    ratio = _column(f"{unit.title} to baseline", lambda c: to_baseline(c, c.ratio), 7)
    beside = [tps, ratio, latency, cv, worst, stalls]
    of_goal = _column(aim.title, lambda c: _estimate(aim.level(c), aim.show), -1)
    of_goal = next((one for one in beside if one.title == aim.title), of_goal)
    return [decides, of_goal, *(one for one in beside if one is not of_goal), *rest]


def _estimate(estimate: Estimate | None, show: Callable[[float], str], scale: float = 1.0) -> Cell:
    """Return a figure with its interval; in the brief form the interval's ends are multiplied by `scale` and have no unit."""
    if estimate is None:
        return Cell(NOTHING)
    if estimate.low is None or estimate.high is None:
        return Cell(show(estimate.mean), [NO_INTERVAL], "", estimate.mean)
    if estimate.low == estimate.high:
        return Cell(show(estimate.mean), order=estimate.mean)
    if is_too_noisy_level(estimate):
        return Cell(show(estimate.mean), [too_noisy()], "", estimate.mean)
    # Two digits are enough, except for an interval so narrow that they would hide it.
    brief = number if estimate.high - estimate.low < _NARROW * estimate.mean else _rough
    ends = f"{brief(scale * estimate.low)}–{brief(scale * estimate.high)}"
    return Cell(show(estimate.mean), [interval(estimate, show)], ends, estimate.mean)


def _ratio(ratio: Estimate | None, trials: int) -> Cell:
    if ratio is not None and is_too_noisy(ratio):
        return Cell("too noisy", [too_noisy(trials)], "", ratio.mean)
    figure = _estimate(ratio, change)
    return replace(figure, brief=interval(ratio, change, is_bare=True))


def _trials(candidate: CandidateVerdict, unit: Units) -> Cell:
    remarks = [
        *([f"{candidate.failed} failed"] if candidate.failed else []),
        *([f"{candidate.unsteady} unsteady"] if candidate.unsteady else []),
        *([f"{candidate.lost_seconds:,} s of host stalls"] if candidate.lost_seconds else []),
    ]
    seconds = candidate.effective_seconds
    independent = [] if seconds is None else [f"{number(seconds)} independent {unit.short}"]
    return Cell(str(candidate.trials), [*remarks, *independent], ", ".join(remarks), candidate.trials)


def _rough(value: float) -> str:
    return number(value) if value >= 100 or value < 1 else f"{value:.0f}" if value >= 10 else f"{value:.1f}"


def interval_cell(estimate: Estimate | None, show: Callable[[float], str]) -> Cell:
    """Return a figure with its interval; the brief one has a dash between its ends, and no percent signs."""
    if estimate is None:
        return Cell(NOTHING)
    ends = interval(estimate, show)
    return Cell(show(estimate.mean), [ends] if ends else [], interval(estimate, show, between="–", is_bare=True))


def change_cell(ratio: Estimate | None) -> Cell:
    """Return a ratio as a change with its interval."""
    if ratio is None:
        return Cell(NOTHING)
    ends = interval(ratio, change)
    return Cell(change(ratio.mean), [ends] if ends else [], interval(ratio, change, is_bare=True), ratio.mean)
