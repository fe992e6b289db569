"""Compares the candidates of runs that are alike but for the candidate and the cell. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from dialin.errors import UserError
from dialin.logs import factors, notes
from dialin.logs.assignment import AssignedRuns, AssignmentRule
from dialin.logs.cells import Cells
from dialin.logs.run_figures import RunFigures
from dialin.measures.table import MEASURES
from dialin.model.analysis import CandidateAnalysis, RunAnalysis, Starts
from dialin.model.study import Goal
from dialin.model.verdict import AgainstBest, CandidateState, Estimate
from dialin.stats.blocks import Observation, levels
from dialin.stats.intervals import stall_seconds_per_1000, typical
from dialin.stats.runs import START_SD, Comparison, Standings, compare, rank_candidates
from dialin.stats.summaries import geometric_mean
from dialin.text import listed
from dialin.verdict.candidate_states import Claim, Compared, candidate_states

_NEVER_ZERO = 1e-9


@dataclass(frozen=True, slots=True)
class Request:
    """The options of an analysis of logs.

    Attributes:
        rule: assigns each run to a candidate by its name.
        baseline: the candidate that the others are compared with; None for the first.
        confidence: the confidence, 0 to 1, with which all intervals hold together.
        worthwhile: the smallest relative difference that matters; None for the default of the goal.
        restarted: whether the server was started anew before each run, by the word of the user.
        skip: seconds to leave out at the start of each run; None to detect the end of its warm-up.
    """

    rule: AssignmentRule = AssignmentRule()  # noqa: RUF009 - frozen
    goal: Goal = Goal.THROUGHPUT
    baseline: str | None = None
    confidence: float = 0.95
    worthwhile: float | None = None
    skip: float | None = None
    restarted: bool = False

    @property
    def smallest(self) -> float:
        """The smallest relative difference that matters."""
        return MEASURES[self.goal].worthwhile if self.worthwhile is None else self.worthwhile


@dataclass(frozen=True, slots=True)
class ComparedRuns:
    """The runs that count, and the comparison of their candidates.

    Attributes:
        throughput: the candidates compared by throughput.
        decisive: the candidates compared by the goal's figure, the higher the better.
        same_interval: whether all logs report at the same interval, so that variation and stalls can be compared.
        same_percentile: whether all logs hold the same percentile of latency.
    """

    counted: Sequence[RunFigures]
    throughput: Comparison
    decisive: Comparison
    same_interval: bool
    same_percentile: bool


@dataclass(frozen=True, slots=True)
class Judgement:
    """What a comparison of candidates shows.

    Attributes:
        bars: the pairs of candidates about which nothing is claimed, by the code of the reason.
    """

    baseline: str
    compared: ComparedRuns
    bars: Mapping[str, Collection[frozenset[str]]]
    standings: Standings
    candidates: Sequence[CandidateAnalysis]
    cells: Cells

    @property
    def barred(self) -> frozenset[frozenset[str]]:
        return frozenset[frozenset[str]]().union(*self.bars.values())

    @property
    def runs(self) -> list[RunAnalysis]:
        """The runs that count."""
        return [one.run for one in self.compared.counted]

    @property
    def claims(self) -> bool:
        return any(state in (AgainstBest.LOSES, AgainstBest.TIES) for state in self.standings.states.values())


def judge(figures: Sequence[RunFigures], assigned: AssignedRuns, request: Request, baseline: str, alpha: float) -> Judgement:
    """Compare the candidates of runs; `alpha` is the probability of error that all intervals together may have.

    Raises:
        UserError: the logs lack the figure that the goal compares.
    """
    compared = _compare([one for one in figures if one.run.file in assigned.settings], assigned, request.goal)
    names, worthwhile = assigned.names, request.smallest
    runs = [one.run for one in compared.counted]
    bars = {
        "one_after_the_other": set(notes.one_after_the_other(runs, assigned, compared.decisive)),
        "at_other_hours": set(notes.at_other_hours(runs, assigned, compared.decisive)),
        "of_other_lengths": set(notes.of_other_lengths(runs, compared.decisive)),
        "on_other_hosts": set(notes.on_other_hosts(runs, compared.decisive)),
    }
    barred = frozenset[frozenset[str]]().union(*bars.values())
    standings = rank_candidates(compared.decisive, names, baseline, alpha=alpha, worthwhile=worthwhile, barred=barred)
    claim = Claim(
        outcome=standings.outcome,
        choice=(baseline if baseline in standings.winners else standings.winners[0]) if standings.winners else None,
        baseline=baseline,
        worthwhile=worthwhile,
    )
    states = candidate_states([_as_compared(name, compared, standings, baseline, alpha) for name in names], claim)
    return Judgement(
        baseline=baseline,
        compared=compared,
        bars=bars,
        standings=standings,
        candidates=[_candidate(name, compared, request.goal, baseline, states[name], alpha) for name in names],
        cells=Cells(tuple(factors.keys(assigned.conditions)), compared.decisive, request.goal, alpha),
    )


def baseline_of(named: str | None, assigned: AssignedRuns) -> str:
    """Return the baseline: as named, by its name or by that of one of its logs, else the first candidate.

    Raises:
        UserError: it is not a candidate.
    """
    if named is None:
        return assigned.names[0]
    baseline = assigned.candidate_of.get(named, named)  # the name of a log also identifies its candidate
    if baseline not in assigned.names:
        shown = listed(assigned.names) if len(assigned.names) <= 12 else f"{', '.join(assigned.names[:12])} and others"
        raise UserError(f"The baseline {named!r} is not one of the candidates", f"They are {shown}")
    return baseline


def _compare(counted: Sequence[RunFigures], assigned: AssignedRuns, goal: Goal) -> ComparedRuns:
    runs = [one.run for one in counted]
    same_interval = len({run.interval for run in runs}) == 1 and runs[0].interval > 0
    same_percentile = len({run.percentile for run in runs} - {None}) <= 1 and all(run.latency_ms is not None for run in runs)
    if goal is Goal.STABILITY and not same_interval:
        raise UserError("The logs report at different intervals, so variation cannot be compared", "Use logs with one interval")
    if goal is Goal.LATENCY and not same_percentile:
        raise UserError("The logs do not all hold the same percentile of latency", "Use logs with one --percentile")
    start_sd = {name: START_SD for name in assigned.names if starts_of(name, runs) is Starts.UNKNOWN}
    throughput = compare(_observations(runs, Goal.THROUGHPUT), assigned.names, start_sd)
    return ComparedRuns(
        counted=counted,
        throughput=throughput,
        decisive=throughput if goal is Goal.THROUGHPUT else compare(_observations(runs, goal), assigned.names, start_sd),
        same_interval=same_interval,
        same_percentile=same_percentile,
    )


def starts_of(name: str, runs: Sequence[RunAnalysis]) -> Starts:
    """Return whether the repeats of a candidate are separate starts; shared only where all that is known of them says so."""
    runs_of_it = [run for run in runs if run.candidate == name]
    count = Counter(run.cell for run in runs_of_it)
    states = {run.starts for run in runs_of_it if count[run.cell] > 1}
    return states.pop() if len(states) == 1 else Starts.UNKNOWN


def _observations(runs: Sequence[RunAnalysis], goal: Goal) -> list[Observation]:
    """Return one observation for each run, in its cell, the higher the better. Throughput is the plain mean.

    Repeats that share starts of a server are one observation: what its start gave all of them is in each.
    """
    measure = MEASURES[goal]

    def value(run: RunAnalysis) -> float:
        figure = measure.of_run(run) if measure.of_run else None
        return _NEVER_ZERO if figure is None else measure.compared(figure)

    starts: dict[tuple[tuple[str, ...], str, str], list[float]] = {}
    for run in runs:
        starts.setdefault((run.cell, run.candidate or "", run.shared_start or run.file), []).append(value(run))
    return [Observation(cell, candidate, geometric_mean(of)) for (cell, candidate, _), of in starts.items()]


def _as_compared(name: str, compared: ComparedRuns, standings: Standings, baseline: str, alpha: float) -> Compared:
    """Return what is known of a candidate; the winners are shown to be better than a baseline that is not one of them."""
    is_better = name in standings.winners and standings.states[baseline] is AgainstBest.LOSES
    return Compared(name, standings.states[name], compared.decisive.ratio(name, baseline, alpha), is_better)


def _candidate(
    name: str, compared: ComparedRuns, goal: Goal, baseline: str, state: CandidateState, alpha: float
) -> CandidateAnalysis:
    throughput = compared.throughput
    all_runs = [one for one in compared.counted if one.run.candidate == name]
    shared = throughput.shared(name, baseline) if name != baseline else throughput.cells
    in_shared_cells = [one for one in all_runs if one.run.cell in shared]
    shown = in_shared_cells or all_runs
    runs = [one.run for one in shown]
    better = compared.decisive.ratio(name, baseline, alpha)
    each = alpha / max(1, len(throughput.names))  # so that the intervals of all candidates hold together
    seconds = sum(run.measured_seconds for run in runs)
    longest = max((length for one in compared.counted for length in one.stalls), default=0.0)
    stalls = [length for one in shown for length in one.stalls]
    is_compared = name != baseline and bool(shared)
    return CandidateAnalysis(
        name=name,
        runs=len(all_runs),
        compared=throughput.met[name],
        cells=len({one.run.cell for one in in_shared_cells}),
        tps=_level(runs, throughput.level(name, baseline) if is_compared else None, each),
        baseline_tps=throughput.level(baseline, name) if is_compared else None,
        ratio=throughput.ratio(name, baseline, alpha),
        goal_ratio=MEASURES[goal].of_compared(better),
        cv=typical([run.cv for run in runs if run.cv is not None], each) if compared.same_interval else None,
        stall_seconds_per_1000=stall_seconds_per_1000(stalls, seconds, longest, each) if compared.same_interval else None,
        worst_tps=min((run.worst_tps for run in runs if run.worst_tps is not None), default=None),
        latency_ms=typical([run.latency_ms or 0.0 for run in runs], each) if compared.same_percentile else None,
        errors_per_s=sum(run.errors_per_s for run in runs) / len(runs),
        starts=starts_of(name, [one.run for one in all_runs]),
        state=state,
    )


def _level(runs: Sequence[RunAnalysis], level: float | None, alpha: float) -> Estimate:
    """Return the throughput of a candidate: `level` where it is given, else the mean of its runs, each cell counting once.

    It has Student's interval where all runs are in one cell and each completed transactions.
    """
    by_cell: dict[tuple[str, ...], list[float]] = {}
    for run in runs:
        by_cell.setdefault(run.cell, []).append(run.tps)
    if len(by_cell) == 1 and min(run.tps for run in runs) > 0:
        (estimate,) = levels(_observations(runs, Goal.THROUGHPUT), [runs[0].candidate or ""], alpha).values()
        return estimate
    mean = geometric_mean([geometric_mean(values) for values in by_cell.values()]) if level is None else level
    return Estimate.alone(mean)
