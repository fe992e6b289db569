"""From runs to the verdict on them: what can be compared, and what may be claimed. Pure."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass

from dialin.errors import UserError
from dialin.model.analysis import Analysis, CandidateAnalysis, RunAnalysis
from dialin.model.study import WORTHWHILE, Goal
from dialin.model.verdict import CandidateState, Estimate
from dialin.stats.blocks import Observation
from dialin.stats.intervals import stall_share, typical
from dialin.stats.runs import Comparison, compare, judge
from dialin.study.analysis import notes, words
from dialin.study.analysis.figures import Figures, figures
from dialin.study.analysis.logs import Folder, incomplete
from dialin.study.analysis.sort import Rule, Sorted, sort
from dialin.text import listed

_NEVER_ZERO = 1e-9


@dataclass(frozen=True, slots=True)
class Request:
    """What is asked of logs.

    Attributes:
        rule: how candidates are told.
        goal: what decides.
        baseline: the candidate that others are measured against; None for the first.
        confidence: how sure all intervals together are.
        worthwhile: the smallest relative difference that matters; None for the goal's own.
        skip: seconds to leave out at the start of each run; None where the end of its warm-up is to be found.
    """

    rule: Rule = Rule()  # noqa: RUF009 - frozen
    goal: Goal = Goal.THROUGHPUT
    baseline: str | None = None
    confidence: float = 0.95
    worthwhile: float | None = None
    skip: float | None = None


@dataclass(frozen=True, slots=True)
class _Compared:
    """The runs that count, and what they say of candidates.

    Attributes:
        counted: the runs that count.
        met: those of them that ran as runs of another candidate did, by name.
        throughput: candidates compared by it.
        decisive: candidates compared by what the goal is about, more being better.
        alike: whether all logs report at the same interval, so that variation and stalls can be compared.
        latency: whether all logs hold the same percentile of latency.
    """

    counted: Sequence[Figures]
    met: Collection[str]
    throughput: Comparison
    decisive: Comparison
    alike: bool
    latency: bool


def analyze(folder: Folder, request: Request) -> Analysis:
    """Judge runs by their logs.

    Args:
        folder: the runs, and every file that was looked at.
        request: what is asked.

    Raises:
        UserError: a candidate, an expression or a pattern fits nothing, or the logs do not hold what the goal is about.
    """
    runs = folder.runs
    found = sort(runs, request.rule)
    baseline = _baseline(request.baseline, found)
    told = [
        figures(run, found.labels[run.name], found.of.get(run.name), found.others.get(run.name, {}), request.skip)
        for run in runs
    ]
    compared = _compare([one for one in told if one.run.file in found.settings], found, request.goal)
    counted = [one.run for one in compared.counted]
    alpha, names = 1 - request.confidence, found.names
    worthwhile = WORTHWHILE[request.goal] if request.worthwhile is None else request.worthwhile
    barred = notes.one_after_the_other(counted, found.ordered, compared.decisive)
    standings = judge(compared.decisive, names, baseline, alpha=alpha, worthwhile=worthwhile, barred=barred)
    longest = max((length for one in compared.counted for length in one.stalls), default=0.0)
    candidates = [_candidate(name, compared, request.goal, baseline, longest, standings.states[name], alpha) for name in names]
    ratios = {one.name: one.goal_ratio for one in candidates}
    broken = [text for run in runs if run.name in found.settings and (text := incomplete(run))]
    return Analysis(
        verdict=standings.outcome,
        goal=request.goal,
        headline=words.headline(request.goal, standings, ratios, baseline, compared.decisive, barred),
        reason=words.reason(standings, worthwhile),
        winners=list(standings.winners),
        baseline=baseline,
        confidence=request.confidence,
        worthwhile=worthwhile,
        run_noise=compared.decisive.sd,
        candidates=candidates,
        runs=[one.run for one in told],
        files=list(folder.files),
        findings=notes.less_steady([run for run in counted if run.file in compared.met], candidates) if compared.alike else [],
        confounds=[*found.confounds, *notes.varying(counted, names, compared.decisive), *notes.in_order(barred)],
        warnings=[
            *found.warnings,
            *notes.single_runs(names, counted, compared.decisive),
            *notes.moved_between_runs(counted, found, compared.throughput, by_file=request.rule.by_file),
            *notes.not_random(counted, found.ordered, names),
            *notes.unsettled(counted),
            *notes.long_warm_up(counted),
            *notes.courses(counted),
            *notes.different_logs(counted),
            *map(notes.incomplete, broken),
            *notes.hint(found, by_file=request.rule.by_file),
        ],
    )


def _baseline(asked: str | None, found: Sorted) -> str:
    if asked is None:
        return found.names[0]
    baseline = found.of.get(asked, asked)  # the name of its log says which candidate is meant as well
    if baseline not in found.names:
        shown = listed(found.names) if len(found.names) <= 12 else f"{', '.join(found.names[:12])} and others"
        raise UserError(f"The baseline {asked!r} is not one of the candidates", f"They are {shown}")
    return baseline


def _compare(counted: Sequence[Figures], found: Sorted, goal: Goal) -> _Compared:
    runs = [one.run for one in counted]
    alike = len({run.interval for run in runs}) == 1
    latency = len({run.percentile for run in runs} - {None}) <= 1 and all(run.latency_ms is not None for run in runs)
    if goal is Goal.STABILITY and not alike:
        raise UserError("The logs report at different intervals, so variation cannot be compared", "Take logs of one interval")
    if goal is Goal.LATENCY and not latency:
        raise UserError("The logs do not all hold the same percentile of latency", "Take logs of one --percentile")
    throughput = compare(_observations(runs, Goal.THROUGHPUT), found.names)
    together: dict[tuple[str, ...], set[str | None]] = {}
    for run in runs:
        together.setdefault(_alike(run), set()).add(run.candidate)
    return _Compared(
        counted=counted,
        met=frozenset(run.file for run in runs if len(together[_alike(run)]) > 1),
        throughput=throughput,
        decisive=throughput if goal is Goal.THROUGHPUT else compare(_observations(runs, goal), found.names),
        alike=alike,
        latency=latency,
    )


def _alike(run: RunAnalysis) -> tuple[str, ...]:
    return tuple(run.others.values())


def _observations(runs: Sequence[RunAnalysis], goal: Goal) -> list[Observation]:
    """Return one observation for each run, beside those that ran with all else alike; more of it is better."""
    figure: dict[Goal, Callable[[RunAnalysis], float]] = {
        Goal.THROUGHPUT: lambda run: run.tps,
        Goal.STABILITY: lambda run: 1 / max(run.cv, _NEVER_ZERO) if run.tps > 0 else _NEVER_ZERO,
        Goal.LATENCY: lambda run: 1 / max(run.latency_ms or 0.0, _NEVER_ZERO),
    }
    return [Observation(_alike(run), run.candidate or "", figure[goal](run)) for run in runs]


def _candidate(
    name: str, compared: _Compared, goal: Goal, baseline: str, longest: float, state: CandidateState, alpha: float
) -> CandidateAnalysis:
    own = [one for one in compared.counted if one.run.candidate == name]
    met = [one for one in own if one.run.file in compared.met]
    shown = met or own
    runs = [one.run for one in shown]
    better = compared.decisive.ratio(name, baseline, alpha)
    each = alpha / len(compared.decisive.met)  # so that all of them hold together
    seconds = sum(run.seconds - run.warm_up_seconds for run in runs)
    stalled = stall_share([length for one in shown for length in one.stalls], seconds, longest, each)
    return CandidateAnalysis(
        name=name,
        runs=len(own),
        compared=len(met),
        tps=typical([run.tps for run in runs], each),
        ratio=compared.throughput.ratio(name, baseline, alpha),
        goal_ratio=better if goal is Goal.THROUGHPUT or better is None else _inverse(better),
        cv=typical([run.cv for run in runs], each) if compared.alike else None,
        stall_seconds_per_1000=_times(stalled, 1000) if compared.alike else None,
        worst_tps=min(run.worst_tps for run in runs),
        latency_ms=typical([run.latency_ms or 0.0 for run in runs], each) if compared.latency else None,
        state=state,
    )


def _inverse(ratio: Estimate) -> Estimate:
    if ratio.low is None or ratio.high is None:
        return Estimate(mean=1 / ratio.mean, low=None, high=None)
    return Estimate(mean=1 / ratio.mean, low=1 / ratio.high, high=1 / ratio.low)


def _times(share: Estimate, by: float) -> Estimate:
    if share.low is None or share.high is None:
        return Estimate(mean=by * share.mean, low=None, high=None)
    return Estimate(mean=by * share.mean, low=by * share.low, high=by * share.high)
