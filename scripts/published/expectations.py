"""Whether a run of ours says what was published: computed from its trials and their raw waits, by today's method."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum

from dialin.evidence import measured
from dialin.evidence.measured import block_figures, figures_of
from dialin.measures.of_trials import goal_ratio
from dialin.model.evidence import ALL, WaitRow
from dialin.model.record import StudyRecord
from dialin.model.study import Goal
from dialin.model.trial import Purpose, TrialState
from dialin.model.verdict import Estimate
from dialin.recipes.library import Expectation, ExpectationRule
from dialin.sentences.changes import with_interval
from dialin.stats.intervals import typical
from dialin.stats.trial_figures import by_threads
from dialin.text import change, number, percent
from dialin.verdict import comparison


class Agreement(StrEnum):
    """Whether a run agrees with the published result, disagrees, shows neither, or could not show it on so few CPUs."""

    AGREES = "agrees"
    DIFFERS = "differs"
    CANNOT = "cannot"
    INCONCLUSIVE = "inconclusive"


@dataclass(frozen=True, slots=True)
class Result:
    """What a run says of one expectation.

    Attributes:
        narrower: how many times narrower the intervals must be to answer it; 1 where it is answered, infinity where more trials
            are not known to help.
    """

    expectation: Expectation
    agreement: Agreement
    figures: str
    narrower: float

    @property
    def why(self) -> str:
        """Why that is to be expected, in the recipe's words."""
        chosen = {
            Agreement.AGREES: self.expectation.agrees,
            Agreement.DIFFERS: self.expectation.differs,
            Agreement.CANNOT: self.expectation.differs,
            Agreement.INCONCLUSIVE: self.expectation.inconclusive,
        }
        return " ".join(chosen[self.agreement].split())


@dataclass(frozen=True, slots=True)
class _Checked:
    agreement: Agreement
    figures: str
    narrower: float = math.inf


_Ratios = Mapping[str, Estimate | None]
_Rule = Callable[[Expectation, StudyRecord], _Checked]
_NOTHING = _Checked(Agreement.INCONCLUSIVE, "it was not measured")


def check(expectation: Expectation, record: StudyRecord) -> Result:
    """Hold a study against something that was published.

    A claim is answered only where whole intervals lie inside or outside its range. They are those of a verdict by the measure
    that the claim is about, whatever the study's goal was; each needs two trials or more. They hold for all candidates together
    and for all looks: an open claim is looked at after each session, of which the k-th may err by a share of 1 / (k (k + 1)).
    """
    sessions = max((trial.session for trial in record.trials), default=1)
    checked = _RULES[expectation.rule](expectation, _together(record, sessions * (sessions + 1)))
    agreement = checked.agreement
    if agreement is Agreement.DIFFERS and record.host.get("cpus", expectation.cpus) < expectation.cpus:
        agreement = Agreement.CANNOT
    is_open = agreement is Agreement.INCONCLUSIVE
    return Result(expectation, agreement, checked.figures, checked.narrower if is_open else 1.0)


def _together(record: StudyRecord, claims: int) -> StudyRecord:
    """Return a study whose intervals hold together with those of so many claims (Bonferroni)."""
    return replace(record, spec=record.spec.model_copy(update={"claims": claims * record.spec.claims}))


def _all_of(each: Sequence[Agreement]) -> Agreement:
    """Return the agreement of several candidates together: AGREES only if all agree, DIFFERS if one differs."""
    if Agreement.DIFFERS in each:
        return Agreement.DIFFERS
    return Agreement.INCONCLUSIVE if not each or Agreement.INCONCLUSIVE in each else Agreement.AGREES


def _between(ratio: Estimate | None, low: float, high: float) -> Agreement:
    """Return AGREES if the whole interval of a ratio lies in a range, DIFFERS if none of it does, else INCONCLUSIVE."""
    if ratio is None or ratio.low is None or ratio.high is None:
        return Agreement.INCONCLUSIVE
    if low <= ratio.low and ratio.high <= high:
        return Agreement.AGREES
    return Agreement.DIFFERS if ratio.high < low or ratio.low > high else Agreement.INCONCLUSIVE


def _narrower(ratio: Estimate | None, low: float, high: float) -> float:
    """Return how many times narrower an interval must be to lie inside or outside a range, if its middle stays where it is."""
    if ratio is None or not ratio.low or ratio.high is None or ratio.mean <= 0:
        return math.inf
    middle = math.log(ratio.mean)
    room = min(abs(middle - math.log(bound)) for bound in (low, high) if 0 < bound < math.inf)
    return math.log(ratio.high / ratio.low) / 2 / room if room else math.inf


def _ratios(ratios: _Ratios, expectation: Expectation, what: str, baseline: str = "") -> _Checked:
    if not any(ratios.values()):
        return _NOTHING
    low, high = expectation.range
    show = change if baseline else number
    figures = ", ".join(f"{_figure(ratio, show)} with {name}" for name, ratio in ratios.items())
    against = f", against {baseline}" if baseline else ""
    asked = f"; agreement would be {change(low)} to {change(high)}" if expectation.low or expectation.high else ""
    each = [_between(ratio, low, high) for ratio in ratios.values()]
    still = [_narrower(ratio, low, high) for ratio, one in zip(ratios.values(), each, strict=True) if one is _OPEN]
    return _Checked(_all_of(each), f"{what} {figures}{against}{asked}", max(still, default=1.0))


_OPEN = Agreement.INCONCLUSIVE


def _figure(estimate: Estimate | None, show: Callable[[float], str]) -> str:
    return with_interval(estimate, show) if estimate else "not measured"


def _compared(record: StudyRecord, goal: Goal, baseline: str) -> _Ratios:
    """Return the measure of a goal under each candidate, as a ratio to a baseline's, by the study's own trials."""
    spec = record.spec.model_copy(update={"goal": goal, "baseline": baseline})
    figures = figures_of(record, comparison.racing(record.trials))
    if goal is Goal.THROUGHPUT:
        return comparison.decide_by(spec, goal, record.trials, figures).ratios
    ratios = comparison.figures_by(spec, goal, record.trials, figures).ratios
    return {name: goal_ratio(ratio, goal) for name, ratio in ratios.items()}


def _chosen(ratios: _Ratios, expectation: Expectation, baseline: str) -> _Ratios:
    return {name: ratios.get(name) for name in expectation.candidates if name != baseline}


def _throughput(expectation: Expectation, record: StudyRecord) -> _Checked:
    return _by_verdict(expectation, record, Goal.THROUGHPUT, "throughput")


def _steadier(expectation: Expectation, record: StudyRecord) -> _Checked:
    return _by_verdict(expectation, record, Goal.STABILITY, "variation")


def _by_verdict(expectation: Expectation, record: StudyRecord, goal: Goal, what: str) -> _Checked:
    baseline = record.spec.baseline
    compared = max(1, len({*expectation.candidates} - {baseline}))
    ratios = _compared(_together(record, compared), goal, baseline)
    return _ratios(_chosen(ratios, expectation, baseline), expectation, what, baseline)


def _best(expectation: Expectation, record: StudyRecord) -> _Checked:
    """Compare a candidate with the fastest of the others: it is the best only if all of them are slower."""
    (name,) = expectation.candidates
    if name not in record.spec.names:
        return _NOTHING
    ratios = _compared(_together(record, len(record.spec.names) - 1), Goal.THROUGHPUT, name)
    rivals = {other: ratio for other, ratio in ratios.items() if other != name and ratio}
    if not rivals:
        return _NOTHING
    low, high = expectation.range
    first = max(rivals, key=lambda other: rivals[other].mean)
    each = [_between(ratio, 0.0, 1.0) for ratio in rivals.values()]
    agreement = _all_of(each)
    if agreement is _OPEN and all(_between(ratio, low, high) is Agreement.AGREES for ratio in rivals.values()):
        agreement = Agreement.DIFFERS  # all of them are equal
    figures = f"the fastest of the others is {first}: throughput {_figure(rivals[first], change)}, against {name}"
    still = min(_narrower(rivals[first], 0.0, 1.0), _narrower(rivals[first], low, high))
    return _Checked(agreement, figures, still)


def _moves_up(expectation: Expectation, record: StudyRecord) -> _Checked:
    """Compare each trial's gain from the fewest threads to the most with the baseline's gain."""
    levels = record.spec.workload.levels
    if len(levels) < 2:
        return _NOTHING
    trials = measured.of(record)
    gains = {one.trial.id: gain for one in trials if (gain := _gain(one, record, levels)) is not None}
    ratios = {name: figure.ratio for name, figure in block_figures(gains, trials, record).items()}
    baseline, what = record.spec.baseline, f"gain from {min(levels)} to {max(levels)} threads"
    return _ratios(_chosen(ratios, expectation, baseline), expectation, what, baseline)


def _gain(one: measured.MeasuredTrial, record: StudyRecord, levels: Sequence[int]) -> float | None:
    by_level = by_threads(record.samples[one.trial.id], rate=record.spec.workload.rate)
    if min(levels) not in by_level or max(levels) not in by_level:
        return None
    few, many = (by_level[level].throughput for level in (min(levels), max(levels)))
    return many / few if few > 0 else None


def _of_waits(record: StudyRecord, read: Callable[[WaitRow], float]) -> dict[int, float]:
    """Return a figure of the raw waits of each completed trial that collected some, by its number."""
    part = (record.spec.waits or "").strip("%").rpartition("/")[2]
    rows = {
        trial.id: next((row for row in record.waits[trial.id].rows if row.operation == ALL and part in row.instrument), None)
        for trial in record.trials
        if trial.state is TrialState.DONE and trial.id in record.waits
    }
    return {number: read(row) for number, row in rows.items() if row is not None and row.count}


def _mean_above_p99(expectation: Expectation, record: StudyRecord) -> _Checked:
    values = _of_waits(record, lambda row: row.mean / row.p99 if row.p99 else math.inf)
    by_name = {
        name: [values[trial.id] for trial in record.trials if trial.candidate == name and trial.id in values]
        for name in expectation.candidates
    }
    alpha = record.spec.alpha / len(by_name)
    ratios = {name: typical(of_name, alpha) if of_name else None for name, of_name in by_name.items()}
    return _ratios(ratios, expectation, "mean wait by 99th percentile")


def _compared_waits(
    expectation: Expectation, record: StudyRecord, read: Callable[[WaitRow], float], what: str, show: Callable[[float], str]
) -> _Checked:
    values, baseline = _of_waits(record, read), record.spec.baseline
    figures = block_figures(values, measured.of(record, Purpose.WAITS), record)
    ratios = {name: figure.ratio for name, figure in figures.items()}
    checked = _ratios(_chosen(ratios, expectation, baseline), expectation, what, baseline)
    levels = ", ".join(f"{show(figure.level.mean)} with {name}" for name, figure in figures.items())
    return checked if checked is _NOTHING else _Checked(checked.agreement, f"{checked.figures} ({levels})", checked.narrower)


def _tail_shrinks(expectation: Expectation, record: StudyRecord) -> _Checked:
    what = "share of the longest 1 % in the total wait time"
    return _compared_waits(expectation, record, lambda row: row.worst_share, what, percent)


def _p90_alike(expectation: Expectation, record: StudyRecord) -> _Checked:
    def nanoseconds(picoseconds: float) -> str:
        return f"{number(picoseconds / 1000)} ns"

    return _compared_waits(expectation, record, lambda row: row.p90, "90th percentile", nanoseconds)


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
