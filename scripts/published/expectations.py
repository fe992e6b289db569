"""Whether a run of ours says what was published: computed from its verdict, its trials and its waits."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum

from dialin.evidence import measured
from dialin.evidence.block_figures import block_figures
from dialin.model.evidence import ALL
from dialin.model.record import StudyRecord
from dialin.model.verdict import CandidateState, CandidateVerdict, Estimate, Outcome, Verdict
from dialin.model.why import WaitSummary, Why
from dialin.recipes.library import Expectation, ExpectationRule
from dialin.sentences.changes import with_interval
from dialin.stats.trial_figures import by_threads
from dialin.text import change, exact_percent, number, percent


class Agreement(StrEnum):
    """Whether a run agrees with the published result, disagrees, or shows neither."""

    AGREES = "agrees"
    DIFFERS = "differs"
    INCONCLUSIVE = "inconclusive"


@dataclass(frozen=True, slots=True)
class Result:
    """What a run says of one expectation."""

    expectation: Expectation
    agreement: Agreement
    figures: str

    @property
    def one_trial(self) -> bool:
        """Whether it rests on one trial of each candidate, so that there is no interval."""
        return self.expectation.rule in _ONE_TRIAL

    @property
    def why(self) -> str:
        """Why that is to be expected, in the recipe's words."""
        chosen = {
            Agreement.AGREES: self.expectation.agrees,
            Agreement.DIFFERS: self.expectation.differs,
            Agreement.INCONCLUSIVE: self.expectation.inconclusive,
        }
        return " ".join(chosen[self.agreement].split())


_Checked = tuple[Agreement, str]
_Rule = Callable[[Expectation, StudyRecord, Verdict, Why], _Checked]
_NOTHING: _Checked = (Agreement.INCONCLUSIVE, "it was not measured")
_ONE_TRIAL = {ExpectationRule.MEAN_ABOVE_P99, ExpectationRule.TAIL_SHRINKS, ExpectationRule.P90_ALIKE}


def check(expectation: Expectation, record: StudyRecord, why: Why) -> Result:
    """Hold a finished study against something that was published.

    Differences count as shown only where their whole interval says so; intervals are those of the study's verdict, which hold
    for all its candidates together. What is said of raw waits has no interval: each candidate has one trial that collects them.
    """
    verdict = record.verdict
    if verdict is None:
        return Result(expectation, *_NOTHING)
    return Result(expectation, *_RULES[expectation.rule](expectation, record, verdict, why))


def _all_of(each: Sequence[Agreement]) -> Agreement:
    """Return the agreement of several candidates together: AGREES only if all agree, DIFFERS if one differs."""
    if Agreement.DIFFERS in each:
        return Agreement.DIFFERS
    return Agreement.INCONCLUSIVE if not each or Agreement.INCONCLUSIVE in each else Agreement.AGREES


def _candidates(expectation: Expectation, verdict: Verdict) -> list[CandidateVerdict]:
    by_name = {candidate.name: candidate for candidate in verdict.candidates}
    return [by_name[name] for name in expectation.candidates if name in by_name]


def _between(ratio: Estimate | None, low: float, high: float) -> Agreement:
    """Return AGREES if the whole interval of a ratio lies in a range, DIFFERS if none of it does, else INCONCLUSIVE."""
    if ratio is None or ratio.low is None or ratio.high is None:
        return Agreement.INCONCLUSIVE
    if low <= ratio.low and ratio.high <= high:
        return Agreement.AGREES
    return Agreement.DIFFERS if ratio.high < low or ratio.low > high else Agreement.INCONCLUSIVE


def _ratios(ratios: Mapping[str, Estimate | None], low: float, high: float, what: str, baseline: str) -> _Checked:
    figures = ", ".join(f"{_figure(ratio, change)} with {name}" for name, ratio in ratios.items())
    agreement = _all_of([_between(ratio, low, high) for ratio in ratios.values()])
    return (agreement, f"{what} {figures}, against {baseline}") if ratios else _NOTHING


_LIES = {
    Agreement.AGREES: "is inside",
    Agreement.DIFFERS: "is outside",
    Agreement.INCONCLUSIVE: "may be inside or outside",
}


def _throughput(expectation: Expectation, _record: StudyRecord, verdict: Verdict, _why: Why) -> _Checked:
    low, high = expectation.range
    ratios = {candidate.name: candidate.ratio for candidate in _candidates(expectation, verdict)}
    agreement, figures = _ratios(ratios, low, high, "throughput", verdict.baseline)
    if expectation.low is None or expectation.high is None or not ratios:
        return agreement, figures
    lies = ", ".join(f"{name} {_LIES[_between(ratio, low, high)]}" for name, ratio in ratios.items())
    return agreement, f"{figures}; agreement would be {change(low)} to {change(high)}: {lies}"


def _steadier(expectation: Expectation, _record: StudyRecord, verdict: Verdict, _why: Why) -> _Checked:
    base = next((candidate.cv for candidate in verdict.candidates if candidate.name == verdict.baseline), None)
    candidates = _candidates(expectation, verdict)
    if base is None or not candidates:
        return _NOTHING
    figures = ", ".join(f"{_figure(each.cv, percent)} with {each.name}" for each in candidates)
    return _all_of(
        [_below(each.cv, base) for each in candidates]
    ), f"variation {figures}, {_figure(base, percent)} with {verdict.baseline}"


def _below(mine: Estimate | None, its: Estimate) -> Agreement:
    """Return AGREES if the whole interval lies below the other one, DIFFERS if above it, else INCONCLUSIVE."""
    if mine is None or mine.low is None or mine.high is None or its.low is None or its.high is None:
        return Agreement.INCONCLUSIVE
    if mine.high < its.low:
        return Agreement.AGREES
    return Agreement.DIFFERS if mine.low > its.high else Agreement.INCONCLUSIVE


def _figure(estimate: Estimate | None, show: Callable[[float], str]) -> str:
    return with_interval(estimate, show) if estimate else "not measured"


_STANDS = {
    CandidateState.BETTER: (Agreement.INCONCLUSIVE, "was shown to be better than the baseline"),
    CandidateState.LIKELY_BETTER: (Agreement.INCONCLUSIVE, "is likely better than the baseline"),
    CandidateState.SAFE_CHOICE: (Agreement.INCONCLUSIVE, "is a safe choice"),
    CandidateState.EQUAL: (Agreement.INCONCLUSIVE, "equals the baseline"),
    CandidateState.TOO_CLOSE: (Agreement.INCONCLUSIVE, "is too close to the baseline to tell"),
    CandidateState.LIKELY_WORSE: (Agreement.INCONCLUSIVE, "is very probably not the best, without proof"),
    CandidateState.WORSE: (Agreement.DIFFERS, "was shown to be worse than the best"),
    CandidateState.UNSAFE: (Agreement.INCONCLUSIVE, "is unsafe: its server failed more often than the baseline's"),
    CandidateState.NO_CLAIM: (Agreement.INCONCLUSIVE, "is not compared: nothing is claimed"),
    CandidateState.NOT_MEASURED: (Agreement.INCONCLUSIVE, "was not measured"),
}


def _stands(candidate: CandidateVerdict, verdict: Verdict) -> tuple[Agreement, str]:
    """Return how a candidate stands as the best one: only a winner is shown to be that."""
    if verdict.verdict is Outcome.WINNER and candidate.name in verdict.winners:
        return Agreement.AGREES, "was shown to be better than all others"
    if verdict.verdict is Outcome.WINNER:
        return Agreement.DIFFERS, "was shown to be worse than the best"
    return _STANDS[candidate.state]


def _best(expectation: Expectation, _record: StudyRecord, verdict: Verdict, _why: Why) -> _Checked:
    candidates = _candidates(expectation, verdict)
    if not candidates:
        return _NOTHING
    states = "; ".join(f"{each.name} {_stands(each, verdict)[1]}{_chance(each, verdict)}" for each in candidates)
    return _all_of([_stands(each, verdict)[0] for each in candidates]), states


def _chance(candidate: CandidateVerdict, verdict: Verdict) -> str:
    if candidate.probability is None:
        return ""
    near = exact_percent(verdict.worthwhile)
    return f", within {near} of the best with a probability of {percent(candidate.probability)}"


def _moves_up(expectation: Expectation, record: StudyRecord, verdict: Verdict, _why: Why) -> _Checked:
    """Compare each trial's gain from the fewest threads to the most with the baseline's gain."""
    levels = record.spec.workload.levels
    if len(levels) < 2:
        return _NOTHING
    trials = measured.of(record)
    gains = {one.trial.id: gain for one in trials if (gain := _gain(one, record, levels)) is not None}
    ratios = {name: figure.ratio for name, figure in block_figures(gains, trials, record).items()}
    what = f"gain from {levels[0]} to {levels[-1]} threads"
    return _ratios({name: ratios.get(name) for name in expectation.candidates}, 1.0, float("inf"), what, verdict.baseline)


def _gain(one: measured.MeasuredTrial, record: StudyRecord, levels: Sequence[int]) -> float | None:
    by_level = by_threads(record.samples[one.trial.id], rate=record.spec.workload.rate)
    if levels[0] not in by_level or levels[-1] not in by_level:
        return None
    few, many = (by_level[level].throughput for level in (levels[0], levels[-1]))
    return many / few if few > 0 else None


def _waits(expectation: Expectation, record: StudyRecord, why: Why) -> list[WaitSummary]:
    part = (record.spec.waits or "").strip("%").rpartition("/")[2]
    rows = {row.candidate: row for row in why.waits if row.operation == ALL and part in row.instrument and row.count}
    summaries = [rows[name] for name in expectation.candidates if name in rows]
    return summaries if len(summaries) == len(expectation.candidates) else []


def _mean_above_p99(expectation: Expectation, record: StudyRecord, _verdict: Verdict, why: Why) -> _Checked:
    rows = _waits(expectation, record, why)
    if not rows:
        return _NOTHING
    each = ", ".join(f"{number(row.mean_ns)} and {number(row.p99_ns)} ns with {row.candidate}" for row in rows)
    return _holds_for([row.mean_ns > row.p99_ns for row in rows]), f"mean and 99th percentile are {each}"


def _holds_for(each: Sequence[bool]) -> Agreement:
    """Return the agreement of single trials: AGREES if it holds for all, DIFFERS if for none, else INCONCLUSIVE."""
    if all(each):
        return Agreement.AGREES
    return Agreement.INCONCLUSIVE if any(each) else Agreement.DIFFERS


def _tail_shrinks(expectation: Expectation, record: StudyRecord, _verdict: Verdict, why: Why) -> _Checked:
    rows = _waits(expectation, record, why)
    if len(rows) < 2:
        return _NOTHING
    each = ", ".join(f"{percent(row.worst_share)} with {row.candidate}" for row in rows)
    figures = f"the longest 1 % are of the total wait time {each}"
    shares = [row.worst_share for row in rows]
    if all(later < earlier for earlier, later in itertools.pairwise(shares)):
        return Agreement.AGREES, figures
    return Agreement.DIFFERS if shares[-1] >= shares[0] else Agreement.INCONCLUSIVE, figures


def _p90_alike(expectation: Expectation, record: StudyRecord, _verdict: Verdict, why: Why) -> _Checked:
    rows = _waits(expectation, record, why)
    p90 = [row.p90_ns for row in rows]
    if len(rows) < 2 or min(p90) <= 0:
        return _NOTHING
    figures = ", ".join(f"{number(row.p90_ns)} ns with {row.candidate}" for row in rows)
    alike = max(p90) / min(p90) <= 1 + expectation.within
    return Agreement.AGREES if alike else Agreement.DIFFERS, f"90th percentile {figures}"


_RULES: Mapping[ExpectationRule, _Rule] = {
    ExpectationRule.FASTER: _throughput,
    ExpectationRule.SLOWER: _throughput,
    ExpectationRule.ALIKE: _throughput,
    ExpectationRule.STEADIER: _steadier,
    ExpectationRule.BEST: _best,
    ExpectationRule.MOVES_UP: _moves_up,
    ExpectationRule.MEAN_ABOVE_P99: _mean_above_p99,
    ExpectationRule.TAIL_SHRINKS: _tail_shrinks,
    ExpectationRule.P90_ALIKE: _p90_alike,
}
