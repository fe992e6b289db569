"""The measure that decides a verdict: its name, whether higher or lower is better, and the ratio that is compared."""

from __future__ import annotations

from dataclasses import dataclass

from dialin.model.study import Goal, StudySpec
from dialin.model.verdict import CandidateVerdict, Estimate, Verdict
from dialin.model.workload import MEAN, latency_name

_COSTS = {
    Goal.CPU: ("CPU per statement", "CPU/statement"),
    Goal.IO: ("I/O per statement", "I/O/statement"),
    Goal.PAGES: ("pages read per statement", "pages/statement"),
    Goal.ROWS: ("rows read per statement", "rows/statement"),
}


@dataclass(frozen=True, slots=True)
class Measure:
    """What decides: `noun` in a sentence, `short` in a table, `aim` for the goal with its measure."""

    noun: str
    aim: str
    short: str
    higher_is_better: bool

    @property
    def direction(self) -> str:
        return "higher is better" if self.higher_is_better else "lower is better"

    @property
    def phrase(self) -> str:
        """The noun as it stands in a sentence before `against the baseline`, with the direction where lower is better."""
        return self.noun if self.higher_is_better else f"{self.noun}, {self.direction},"


def measure(goal: Goal, percentile: int) -> Measure:
    """Return what a goal measures; latency by the percentile that the load driver reported, or by its mean."""
    if goal is Goal.STABILITY:
        return Measure("variation (CV)", "stability, by the variation (CV) of seconds", "CV", higher_is_better=False)
    if goal is Goal.LATENCY:
        name = latency_name(percentile)
        mix = " in one mix of statements" if percentile == MEAN else ""
        return Measure(f"{name} latency", f"latency, by its {name}{mix}", name, higher_is_better=False)
    if goal in _COSTS:
        noun, short = _COSTS[goal]
        return Measure(noun, noun, short, higher_is_better=False)
    return Measure("throughput", "throughput", "tps", higher_is_better=True)


def figure_title(spec: StudySpec) -> str:
    """Return the title of the column of latency, or of the cost per statement where that is the goal."""
    if spec.goal in _COSTS:
        return f"{_COSTS[spec.goal][1]} {cost_unit(spec.goal)}".rstrip()
    return f"{latency_name(spec.workload.percentile)} ms"


def cost_unit(goal: Goal) -> str:
    """Return the unit of the cost per statement: ms for CPU; empty for the other costs, which are numbers."""
    return "ms" if goal is Goal.CPU else ""


def measure_of(verdict: Verdict) -> Measure:
    return measure(verdict.goal, verdict.percentile)


def deciding(candidate: CandidateVerdict, verdict: Verdict) -> Estimate | None:
    """Return the candidate's ratio to the baseline that decides the verdict."""
    return candidate.ratio if verdict.goal is Goal.THROUGHPUT else candidate.goal_ratio


def improvement(ratio: Estimate, verdict: Verdict) -> int:
    """Return 1 where the whole interval is better than the baseline, -1 where all of it is worse, else 0."""
    if not ratio.excludes_one:
        return 0
    return 1 if (ratio.mean > 1) == measure_of(verdict).higher_is_better else -1


def band(verdict: Verdict) -> tuple[float, float]:
    """Return the ratios between which a difference is too small to matter."""
    return 1 / (1 + verdict.worthwhile), 1 + verdict.worthwhile


def capital(noun: str) -> str:
    """Return a noun with a capital first letter; the rest of it stays as it is."""
    return noun[:1].upper() + noun[1:]
