"""Whether a run of ours says what was published: computed from its verdict, its trials and its waits."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum

from dialin.evidence import cost, measured
from dialin.model.record import StudyRecord
from dialin.model.trial import Step
from dialin.model.verdict import CandidateState, CandidateVerdict, Estimate, Verdict
from dialin.model.why import WaitSummary, Why
from dialin.stats.blocks import Observation
from dialin.stats.series import window
from dialin.study.recipes import Expectation, Rule
from dialin.text import change, number, percent


class Agreement(StrEnum):
    """How a run stands to what was published: it says the same, the opposite, or neither."""

    AGREES = "agrees"
    DIFFERS = "differs"
    OPEN = "open"


@dataclass(frozen=True, slots=True)
class Found:
    """What a run says of one expectation.

    Attributes:
        expectation: what was published.
        agreement: how the run stands to it.
        figures: the run's own figures, in words.
    """

    expectation: Expectation
    agreement: Agreement
    figures: str

    @property
    def why(self) -> str:
        """Why that is to be expected, in the recipe's words."""
        chosen = {
            Agreement.AGREES: self.expectation.agrees,
            Agreement.DIFFERS: self.expectation.differs,
            Agreement.OPEN: self.expectation.open,
        }
        return " ".join(chosen[self.agreement].split())


_Judged = tuple[Agreement, str]
_Rule = Callable[[Expectation, StudyRecord, Verdict, Why], _Judged]
_NOTHING: _Judged = (Agreement.OPEN, "it was not measured")


def judge(expectation: Expectation, record: StudyRecord, why: Why) -> Found:
    """Hold a finished study against something that was published.

    Differences count as shown only where their whole interval says so; intervals are those of the study's verdict, which hold
    for all its candidates together.
    """
    verdict = record.verdict
    if verdict is None:
        return Found(expectation, *_NOTHING)
    return Found(expectation, *_RULES[expectation.rule](expectation, record, verdict, why))


def _all_of(each: Sequence[Agreement]) -> Agreement:
    """Return what several candidates say together: the same where all do, the opposite where one does."""
    if not each or Agreement.OPEN in each:
        return Agreement.DIFFERS if Agreement.DIFFERS in each else Agreement.OPEN
    return Agreement.DIFFERS if Agreement.DIFFERS in each else Agreement.AGREES


def _candidates(expectation: Expectation, verdict: Verdict) -> list[CandidateVerdict]:
    by_name = {candidate.name: candidate for candidate in verdict.candidates}
    return [by_name[name] for name in expectation.candidates if name in by_name]


def _between(ratio: Estimate | None, low: float, high: float) -> Agreement:
    """Tell whether a ratio lies in a range: agrees where its whole interval does, differs where none of it does."""
    if ratio is None or ratio.low is None or ratio.high is None:
        return Agreement.OPEN
    if low <= ratio.low and ratio.high <= high:
        return Agreement.AGREES
    return Agreement.DIFFERS if ratio.high < low or ratio.low > high else Agreement.OPEN


def _interval(ratio: Estimate | None) -> str:
    if ratio is None:
        return "not measured"
    ends = f" ({change(ratio.low)} to {change(ratio.high)})" if ratio.low is not None and ratio.high is not None else ""
    return f"{change(ratio.mean)}{ends}"


def _ratios(ratios: Mapping[str, Estimate | None], low: float, high: float, what: str, baseline: str) -> _Judged:
    told = "; ".join(f"{what} with {name} {_interval(ratio)}" for name, ratio in ratios.items())
    agreement = _all_of([_between(ratio, low, high) for ratio in ratios.values()])
    return (agreement, f"{told}, beside {baseline}") if ratios else _NOTHING


def _throughput(low: Callable[[float], float], high: Callable[[float], float]) -> _Rule:
    def rule(expectation: Expectation, _record: StudyRecord, verdict: Verdict, _why: Why) -> _Judged:
        ratios = {candidate.name: candidate.ratio for candidate in _candidates(expectation, verdict)}
        within = expectation.within
        return _ratios(ratios, low(within), high(within), "throughput", verdict.baseline)

    return rule


def _steadier(expectation: Expectation, _record: StudyRecord, verdict: Verdict, _why: Why) -> _Judged:
    base = next((candidate.cv for candidate in verdict.candidates if candidate.name == verdict.baseline), None)
    found = _candidates(expectation, verdict)
    if base is None or not found:
        return _NOTHING
    told = "; ".join(f"variation with {each.name} {_share(each.cv)}" for each in found)
    return _all_of([_below(each.cv, base) for each in found]), f"{told}, with {verdict.baseline} {_share(base)}"


def _below(mine: Estimate | None, its: Estimate) -> Agreement:
    """Tell whether one figure lies below another: intervals that do not meet say so."""
    if mine is None or mine.low is None or mine.high is None or its.low is None or its.high is None:
        return Agreement.OPEN
    if mine.high < its.low:
        return Agreement.AGREES
    return Agreement.DIFFERS if mine.low > its.high else Agreement.OPEN


def _share(estimate: Estimate | None) -> str:
    if estimate is None:
        return "not measured"
    ends = f" ({percent(estimate.low)} to {percent(estimate.high)})" if estimate.low is not None else ""
    return f"{percent(estimate.mean)}{ends}"


_STANDS = {
    CandidateState.WINS: Agreement.AGREES,
    CandidateState.LOSES: Agreement.DIFFERS,
    CandidateState.BEHIND: Agreement.DIFFERS,
}


def _best(expectation: Expectation, _record: StudyRecord, verdict: Verdict, _why: Why) -> _Judged:
    found = _candidates(expectation, verdict)
    if not found:
        return _NOTHING
    agreement = _all_of([_STANDS.get(candidate.state, Agreement.OPEN) for candidate in found])
    return agreement, verdict.headline.rstrip(".")


def _moves_up(expectation: Expectation, record: StudyRecord, verdict: Verdict, _why: Why) -> _Judged:
    """Look at what each trial gains from the fewest threads to the most, as a ratio to what the baseline gains."""
    levels = record.spec.workload.levels
    if len(levels) < 2:
        return _NOTHING
    seen = [found for one in measured.of(record) if (found := _gain(one, record, levels)) is not None]
    names = [candidate.name for candidate in record.spec.candidates]
    ratios = cost.ratios(seen, names, verdict.baseline, 1 - record.spec.confidence)
    what = f"gain from {levels[0]} to {levels[-1]} sessions"
    return _ratios({name: ratios.get(name) for name in expectation.candidates}, 1.0, float("inf"), what, verdict.baseline)


def _gain(one: measured.Measured, record: StudyRecord, levels: Sequence[int]) -> Observation | None:
    own = [sample for sample in record.samples[one.trial.id] if sample.step is Step.MEASURE and not sample.lost]
    by_level = measured.by_threads(own)
    if levels[0] not in by_level or levels[-1] not in by_level:
        return None
    few, many = (window([sample.tps for sample in by_level[level]]).location for level in (levels[0], levels[-1]))
    return one.observation(many / few) if few > 0 else None


def _waits(expectation: Expectation, record: StudyRecord, why: Why) -> list[WaitSummary]:
    """Return the waits that were asked for, of all operations, candidate by candidate; nothing unless all have some."""
    part = (record.spec.waits or "").strip("%").rpartition("/")[2]
    rows = {row.candidate: row for row in why.waits if row.operation == "(all)" and part in row.instrument and row.count}
    found = [rows[name] for name in expectation.candidates if name in rows]
    return found if len(found) == len(expectation.candidates) else []


def _mean_above_p99(expectation: Expectation, record: StudyRecord, _verdict: Verdict, why: Why) -> _Judged:
    rows = _waits(expectation, record, why)
    if not rows:
        return _NOTHING
    told = "; ".join(
        f"with {row.candidate} mean {number(row.mean_ns)} ns, 99th percentile {number(row.p99_ns)} ns" for row in rows
    )
    return Agreement.AGREES if all(row.mean_ns > row.p99_ns for row in rows) else Agreement.DIFFERS, told


def _tail_shrinks(expectation: Expectation, record: StudyRecord, _verdict: Verdict, why: Why) -> _Judged:
    rows = _waits(expectation, record, why)
    if len(rows) < 2:
        return _NOTHING
    told = "; ".join(f"with {row.candidate} the longest 1 % are {percent(row.worst_share)} of all time waited" for row in rows)
    shares = [row.worst_share for row in rows]
    if all(later < earlier for earlier, later in itertools.pairwise(shares)):
        return Agreement.AGREES, told
    return Agreement.DIFFERS if shares[-1] >= shares[0] else Agreement.OPEN, told


def _p90_alike(expectation: Expectation, record: StudyRecord, _verdict: Verdict, why: Why) -> _Judged:
    rows = _waits(expectation, record, why)
    p90 = [row.p90_ns for row in rows]
    if len(rows) < 2 or min(p90) <= 0:
        return _NOTHING
    told = "; ".join(f"with {row.candidate} {number(row.p90_ns)} ns" for row in rows)
    return Agreement.AGREES if max(p90) / min(p90) <= 1 + expectation.within else Agreement.DIFFERS, told


_RULES: Mapping[Rule, _Rule] = {
    Rule.FASTER: _throughput(lambda _within: 1.0, lambda _within: float("inf")),
    Rule.SLOWER: _throughput(lambda _within: 0.0, lambda _within: 1.0),
    Rule.ALIKE: _throughput(lambda within: 1 - within, lambda within: 1 + within),
    Rule.STEADIER: _steadier,
    Rule.BEST: _best,
    Rule.MOVES_UP: _moves_up,
    Rule.MEAN_ABOVE_P99: _mean_above_p99,
    Rule.TAIL_SHRINKS: _tail_shrinks,
    Rule.P90_ALIKE: _p90_alike,
}
