"""Comparison of candidates that take turns on a live server under its own traffic, whatever trend the traffic has.

Candidates take turns in periods. Two blocks in mirrored order (A B B A, or B A A B at random) are a quad: whatever rises or
falls evenly within it, such as the load of the morning, adds as much to one candidate as to the other. The unit of evidence is
the quad; the seconds of a period depend on each other too much to be one.

Each period has an offered load and a mix of statements. Both move latency, and nobody controls them: they are covariates.
The effect is estimated with them and without them. Chance makes the two differ a little, which is what covariates are for.
Where the load itself depends on the candidate (clients that wait for answers send more to a faster server), the covariates
take away a part of the effect, or add one: then the two estimates disagree, and nothing is claimed.

An effect may take longer to settle than the washout. Where it differs between the halves of periods, the second halves alone
are compared, and the interval of such a candidate is extended by half of the change between the halves. That is enough for an
effect that settles exponentially, as long as the second half has no more than `_MOST_GROWTH` times the effect of the first.
Where it may have more, most of the effect may be still to come, and nothing is claimed: `washout_needed` returns how long a
washout must be, and the study continues with it.

Where no difference between the halves is seen, a small effect may settle slowly nevertheless: noise hides that. Unless the data
exclude it, the interval is extended to where the effect could grow, and to where the carry-over into later periods points.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial

import numpy as np
from numpy.typing import NDArray

from dialin.model.verdict import Estimate, Outcome
from dialin.stats.decide import Decision, Rules, decide
from dialin.stats.standings import without_claims
from dialin.stats.trial_fit import FittedDifference, TimedTrial, TrialFit

_Array = NDArray[np.float64]

FEWEST_QUADS = 4
"""Quads below which nothing is estimated: two degrees of freedom or less make no interval that is worth printing."""
QUADS_TO_DECIDE = 8
"""Quads from which on the load is a covariate and anything is chosen or claimed: with fewer, neither the load nor a carry-over
can be distinguished from chance, and an hour of a live server costs less than a wrong answer."""
_LOAD_DIFFERS = 2.5
"""The normal deviate from which on the offered load counts as dependent on the candidate."""
_CARRIES_OVER = 3.3
"""The normal deviate from which on a carry-over is reported: one in a thousand by chance, because every look tests it."""
_MAY_SETTLE = 1.0
"""The normal deviate from which on second halves alone are compared: low, because this costs precision only."""
_IS_CLEAR = 2.0
"""The normal deviate from which on an effect counts as real, so that most of it may be still to come."""
_AT_MOST = 1.645
"""The normal deviate of the upper limit for the change between the halves."""
_MOST_GROWTH = 5 / 3
"""The largest effect in the second half, as a multiple of that in the first, that `_STILL_TO_COME` is enough for."""
_STILL_TO_COME = 0.5
"""The most that may come after the second half, in units of the change between the halves: for time constants up to nine tenths
of half a period, which is where `_MOST_GROWTH` ends."""
_PERIODS_TO_SETTLE = 3.0
"""The washout, in periods, for effects that settle slowly: of an effect whose time constant is a whole period, three hundredths
are then still to come in the mean of a period. With two it is nine, and one interval in eight misses a large effect."""
_WIDER = 1.08
"""Intervals are this many times as wide as Student's quantile makes them: a study ends when its figures look settled, and these
are then further from the truth than after a number of pairs that was fixed beforehand (benchmarks/simulated_traffic.py)."""


@dataclass(frozen=True, slots=True)
class Period(TimedTrial):
    """One period of a candidate; its `value` is what the goal measures, the higher the better.

    Attributes:
        quad: the quad within which it is compared: two blocks in mirrored order.
        load: the covariates: the logarithm of the offered load, then what describes the mix.
        halves: the value of the first and of the second half; None where that is not known.
        late_load: the covariates of the second half; those of the whole period where it is empty.
        previous: the candidate of the period right before it; None where there was none, or a pause.
    """

    quad: Hashable = None
    load: tuple[float, ...] = ()
    halves: tuple[float, float] | None = None
    late_load: tuple[float, ...] = ()
    previous: str | None = None


@dataclass(frozen=True, slots=True)
class CarryOver:
    """What a change of the variable leaves behind in the periods after it.

    Attributes:
        settling: the effect in the second half of periods as a ratio to that in the first: not 1 where a washout is too short.
        after_other: the value of a period that follows one of this candidate as a ratio to that of one that follows the
            baseline, whichever candidate has it; None where it cannot be estimated.
        is_shown: whether `settling` or `after_other` is clearly not 1.
        is_slow: whether the effect may differ between the halves, so that the second ones alone are compared.
        lasts: whether most of the effect may be still to come at the end of a period, or its direction changes within one.
        to_come: how much of the effect may still come, on the log scale of the values: for a slow effect the most probable
            amount; otherwise the most that cannot be excluded, and 0 where that is little.
    """

    settling: Estimate | None
    after_other: Estimate | None
    is_shown: bool
    is_slow: bool = False
    lasts: bool = False
    to_come: float = 0.0


@dataclass(frozen=True, slots=True)
class Switchback:
    """The result of a switchback comparison.

    Attributes:
        decision: by the estimates that are adjusted for the load; without any claim where the periods do not allow one.
        plain: each candidate's ratio to the baseline without the load as a covariate, and `adjusted` with it.
        load: the offered load of each candidate as a ratio to the baseline's.
        disagreeing: the candidates for which the estimates with and without the load disagree.
        carry_over: the carry-over of each candidate but the baseline, where enough is known.
        is_late: whether second halves of periods alone were compared.
        quads: the number of quads that entered the comparison.
    """

    decision: Decision
    plain: Mapping[str, Estimate | None]
    adjusted: Mapping[str, Estimate | None]
    load: Mapping[str, Estimate | None]
    disagreeing: tuple[str, ...]
    carry_over: Mapping[str, CarryOver]
    is_late: bool
    quads: int


def decide_periods(
    periods: Sequence[Period],
    names: Sequence[str],
    baseline: str,
    rules: Rules,
    *,
    identical: Sequence[frozenset[str]] = (),
) -> Switchback:
    """Judge all candidates by their periods; arguments are those of `stats.decide.decide`, whose thresholds hold here too."""
    others = [name for name in names if name != baseline]
    carry = {name: effect for name in others if (effect := carry_over(periods, name, baseline, rules.alpha)) is not None}
    is_late = any(one.is_slow for one in carry.values())
    compared = second_halves(periods) if is_late else periods
    adjusted, plain = (partial(fit_periods, with_load=with_load) for with_load in (True, False))
    decision = decide(compared, names, baseline, rules, identical=identical, fit=adjusted)
    fits = adjusted(compared, names), plain(compared, names)
    loads = fit_periods([replace(one, value=math.exp(one.load[0])) for one in compared if one.load], names, with_load=False)
    disagreeing = tuple(name for name in others if _disagree(*fits, loads, name, baseline, rules.margin))

    def ratios(fitted: TrialFit | None, *, of_value: bool = True) -> dict[str, Estimate | None]:
        known = fitted.names if fitted is not None and baseline in fitted.names else ()
        estimates = {name: fitted.ratio(name, baseline, rules.alpha) if fitted and name in known else None for name in names}
        return {name: _with_what_comes(one, carry.get(name)) for name, one in estimates.items()} if of_value else estimates

    decision = replace(decision, ratios={name: _with_what_comes(one, carry.get(name)) for name, one in decision.ratios.items()})
    table = _means_of_quads(compared, names)
    quads = len(set(table[1])) if table else 0
    is_unsettled = any(one.lasts or _could_change(decision.ratios.get(name), one, rules.margin) for name, one in carry.items())
    if quads < QUADS_TO_DECIDE or disagreeing or is_unsettled:
        decision = without_any_claim(decision)
    return Switchback(
        decision=decision,
        plain=ratios(fits[1]),
        adjusted=ratios(fits[0]),
        load=ratios(loads, of_value=False),
        disagreeing=disagreeing,
        carry_over=carry,
        is_late=is_late,
        quads=quads,
    )


def washout_needed(result: Switchback, period: float, washout: float) -> float | None:
    """Return the washout, in seconds, that slow effects need to settle: those of which most may be still to come.

    Args:
        result: the result of the periods with the present washout.
        period: seconds of a period that count.
        washout: the present washout, in seconds.

    Returns:
        None where no effect is that slow, or the present washout is the longest already.
    """
    longest = _PERIODS_TO_SETTLE * period
    return longest if washout < longest and any(carry.lasts for carry in result.carry_over.values()) else None


def second_halves(periods: Sequence[Period]) -> list[Period]:
    """Return the periods with the values and the load of their second halves; those without halves are left out."""
    return [replace(one, value=one.halves[1], load=one.late_load or one.load) for one in periods if one.halves is not None]


def _with_what_comes(ratio: Estimate | None, carry: CarryOver | None) -> Estimate | None:
    """Return a ratio with the interval extended to where the effect may still go; none where most of it may be to come."""
    if ratio is None or carry is None or ratio.low is None or ratio.high is None:
        return ratio
    if carry.lasts:
        return Estimate.alone(ratio.mean)
    further = [0.0, carry.to_come]
    if carry.to_come and carry.after_other is not None:
        further.append(math.log(carry.after_other.mean))  # what is still to come shows in the periods that follow
    return Estimate(mean=ratio.mean, low=ratio.low * math.exp(min(further)), high=ratio.high * math.exp(max(further)))


def _could_change(ratio: Estimate | None, carry: CarryOver, margin: float) -> bool:
    """Return whether what may still come could move an effect past what is worthwhile, or past zero."""
    if ratio is None or not carry.is_slow:
        return False
    now = math.log(ratio.mean)
    then = now + carry.to_come
    return any(min(now, then) < limit < max(now, then) for limit in (-margin, 0.0, margin))


def fit_periods(periods: Sequence[TimedTrial], names: Sequence[str], *, with_load: bool = True) -> TrialFit | None:
    """Estimate log(value) = quad + candidate + coefficients of the load, by least squares of each quad's means.

    Returns:
        The fit of those of the candidates that were compared; None where fewer than two were, or in fewer than four quads.
    """
    table = _means_of_quads(periods, names)
    if table is None:
        return None
    present, quads, candidates, logs, load, counts = table
    within = _Centring(quads)
    covariates = within(load) if with_load and len(set(quads)) >= QUADS_TO_DECIDE else load[:, :0]
    covariates = covariates[:, covariates.std(axis=0) > 1e-9]
    indicators = within(np.eye(len(present))[candidates][:, 1:])
    design = np.hstack([indicators, covariates])
    dof = len(logs) - within.groups - design.shape[1]
    if dof < FEWEST_QUADS - 1 or np.linalg.matrix_rank(design) < design.shape[1]:
        return None
    inverse = np.linalg.inv(design.T @ design)
    centred = within(logs[:, None])[:, 0]
    coefficients = inverse @ design.T @ centred
    variance = max(_WIDER**2 * float(((centred - design @ coefficients) ** 2).sum()) / dof, 1e-14)
    k = len(present)
    turn = np.vstack([np.zeros(k - 1), np.eye(k - 1)])
    turn = turn - turn.mean(axis=0)
    of_level = float(logs.var(ddof=1)) / within.groups  # how far the level of these hours is from that of others
    per_quad = counts.sum() / len(logs)
    return TrialFit(
        names=present,
        effects=turn @ coefficients[: k - 1] + float(logs.mean()),
        covariance=variance * turn @ inverse[: k - 1, : k - 1] @ turn.T + of_level,
        variances=np.full(k, variance * per_quad),
        dof=np.full(k, float(dof)),
        total_dof=float(dof),
        trials=np.array([int(counts[candidates == index].sum()) for index in range(k)]),
        residual_sd=math.sqrt(variance * per_quad),
        residual_dof=float(dof),
    )


class _Centring:
    """Takes the mean of its quad from each row."""

    def __init__(self, quads: Sequence[Hashable]) -> None:
        order = {quad: index for index, quad in enumerate(dict.fromkeys(quads))}
        self._of = np.array([order[quad] for quad in quads])
        self._sizes = np.bincount(self._of)
        self.groups = len(order)

    def __call__(self, rows: _Array) -> _Array:
        sums = np.zeros((self.groups, rows.shape[1]))
        np.add.at(sums, self._of, rows)
        centred: _Array = rows - (sums / self._sizes[:, None])[self._of]
        return centred


_Table = tuple[tuple[str, ...], list[Hashable], NDArray[np.int64], _Array, _Array, NDArray[np.int64]]


def _means_of_quads(periods: Sequence[TimedTrial], names: Sequence[str]) -> _Table | None:
    """Return the candidates, and for each of them in each quad: quad, candidate, mean log, mean load, number of periods.

    Quads that are not whole yet are left out: nothing balances a trend in them, and their noise differs.
    """
    cells: dict[tuple[Hashable, str], list[Period]] = {}
    for one in periods:
        if isinstance(one, Period) and one.candidate in names and one.value > 0:
            cells.setdefault((one.quad, one.candidate), []).append(one)
    met: dict[Hashable, set[str]] = {}
    for quad, name in cells:
        met.setdefault(quad, set()).add(name)
    together = {quad: members for quad, members in met.items() if _is_whole([len(cells[quad, name]) for name in members])}
    present = tuple(name for name in names if any(name in members for members in together.values()))
    if len(present) < 2:
        return None
    keys = [key for key in cells if key[0] in together]
    width = min(len(one.load) for members in cells.values() for one in members)
    index_of = {name: index for index, name in enumerate(present)}
    return (
        present,
        [quad for quad, _ in keys],
        np.array([index_of[name] for _, name in keys]),
        np.array([np.mean([math.log(one.value) for one in cells[key]]) for key in keys]),
        np.array([np.mean([one.load[:width] for one in cells[key]], axis=0) for key in keys]).reshape(len(keys), width),
        np.array([len(cells[key]) for key in keys]),
    )


def _is_whole(periods: Sequence[int]) -> bool:
    return len(periods) > 1 and min(periods) == max(periods) == 2


def _disagree(
    adjusted: TrialFit | None, plain: TrialFit | None, loads: TrialFit | None, name: str, baseline: str, margin: float
) -> bool:
    """Return whether the load explains so much of a difference that the adjusted estimate cannot be trusted.

    That is so where the load differs between the candidates by more than chance and adjusting for it moves the estimate by more
    than half of what is worthwhile; or where both estimates are clear and have opposite signs.
    """
    if adjusted is None or plain is None or loads is None:
        return False
    if any(name not in fit.names or baseline not in fit.names for fit in (adjusted, plain, loads)):
        return False
    with_load, without, load = (fit.difference(name, baseline) for fit in (adjusted, plain, loads))
    opposite = with_load.mean * without.mean < 0 and min(_deviate(with_load), _deviate(without)) > _LOAD_DIFFERS
    moved = abs(with_load.mean - without.mean)
    return opposite or (_deviate(load) > _LOAD_DIFFERS and moved > margin / 2)


def _deviate(difference: FittedDifference) -> float:
    return abs(difference.z())


def without_any_claim(decision: Decision) -> Decision:
    """Return a decision that chooses and claims nothing; its figures stay."""
    states = without_claims(decision.states)
    return replace(decision, outcome=Outcome.INCONCLUSIVE, choice=None, winners=(), states=states, shown_best=False, better=())


def carry_over(periods: Sequence[Period], name: str, baseline: str, alpha: float) -> CarryOver | None:
    """Return the carry-over of one candidate into later periods; None where too little is known."""
    halves = [one for one in periods if one.halves is not None and min(one.halves) > 0]

    def fitted(half: int) -> TrialFit | None:
        return fit_periods([replace(one, value=one.halves[half]) for one in halves if one.halves], (baseline, name))

    ratio = [replace(one, value=one.halves[1] / one.halves[0]) for one in halves if one.halves]
    settling = fit_periods(ratio, (baseline, name), with_load=False)
    later = _after_other(periods, name, baseline)
    if settling is None and later is None:
        return None
    change = settling.difference(name, baseline) if settling else None
    first, second = fitted(0), fitted(1)
    is_slow = lasts = False
    to_come = 0.0
    if first and second and change and len({one.quad for one in halves}) >= QUADS_TO_DECIDE:
        early, late = first.difference(name, baseline), second.difference(name, baseline)
        doubt = _doubt(late, change, later)
        is_slow = max(_deviate(change), doubt) > _MAY_SETTLE or (later is not None and _deviate(later) > _CARRIES_OVER)
        most = _most_growth(change, late)
        to_come = _STILL_TO_COME * (change.mean if is_slow else most)
        still_grows = change.mean * late.mean > 0 and most != 0
        changes_sign = early.mean * late.mean < 0 and _deviate(change) > _CARRIES_OVER
        lasts = is_slow and max(_deviate(late), doubt) > _IS_CLEAR and (still_grows or changes_sign)
    return CarryOver(
        settling=change.ratio(alpha) if change else None,
        after_other=later.ratio(alpha) if later else None,
        is_shown=any(one is not None and _deviate(one) > _CARRIES_OVER for one in (change, later)),
        is_slow=is_slow,
        lasts=lasts,
        to_come=to_come,
    )


def _most_growth(change: FittedDifference, late: FittedDifference) -> float:
    """Return how far an effect may have grown within periods, with its sign; 0 where little of it can be still to come."""
    direction = math.copysign(1.0, late.mean)
    growth = direction * change.mean + _AT_MOST * change.error
    return direction * growth if growth > (1 - 1 / _MOST_GROWTH) * abs(late.mean) else 0.0


def _doubt(late: FittedDifference, change: FittedDifference, later: FittedDifference | None) -> float:
    """Return the normal deviate of both signs of a slow effect together: it grows within periods, and reaches into later ones.

    Either sign may be lost in the noise where the effect in the second half of periods, `late`, is still small. By chance the
    deviate is positive as often as negative.
    """
    signs = [one.z() for one in (change, later) if one is not None]
    return math.copysign(1.0, late.mean) * sum(signs) / math.sqrt(len(signs))


def _after_other(periods: Sequence[Period], name: str, baseline: str) -> FittedDifference | None:
    """Return the effect on a period of having this candidate, not the baseline, right before it, whichever runs in it.

    Candidate and predecessor are both in the model, as in a crossover design with first-order carry-over. Errors are those of
    whole quads: within a quad, a trend adds to one predecessor what it takes from the other; mirrored quads balance that.
    """
    pair = (name, baseline)
    used = [one for one in periods if one.candidate in pair and one.previous in pair and one.value > 0]
    within = _Centring([one.quad for one in used]) if used else None
    if within is None or within.groups < QUADS_TO_DECIDE:
        return None
    design = within(np.array([[one.previous == name, one.candidate == name] for one in used], dtype=float))
    logs = within(np.array([[math.log(one.value)] for one in used]))[:, 0]
    information = design.T @ design
    if np.linalg.matrix_rank(information) < 2:
        return None
    inverse = np.linalg.inv(information)
    coefficients = inverse @ design.T @ logs
    residuals = logs - design @ coefficients
    quads = [one.quad for one in used]
    scores = {quad: np.zeros(2) for quad in quads}
    for quad, row, residual in zip(quads, design, residuals, strict=True):
        scores[quad] += row * residual
    spread = sum((np.outer(score, score) for score in scores.values()), np.zeros((2, 2)))
    variance = (inverse @ spread @ inverse)[0, 0] * within.groups / (within.groups - 2)
    return FittedDifference(float(coefficients[0]), math.sqrt(max(float(variance), 1e-24)), float(within.groups - 2))
