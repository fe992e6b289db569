"""Selects the figures that changed between two candidates, by more than chance and enough to matter."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from dialin.evidence import measured
from dialin.evidence.measured import MeasuredTrial, block_figures, by_candidate, values_of
from dialin.evidence.reasons.rule import SPELLED_BY_SERVER, ReasonRule
from dialin.measures.table import MEASURES
from dialin.model.record import StudyRecord
from dialin.model.verdict import Estimate
from dialin.model.why import Reason, ReasonChart, ReasonKind
from dialin.stats import blocks
from dialin.text import change, number, percent, size, visible

MOST = 6
"""The most reasons that are shown."""

_MOST_PER_THEME = {"waits": 2, "semaphores": 2}
"""The most reasons that are shown on a theme; on any other theme one, because one cause, such as a page that is not in memory,
changes many figures."""

_LEAST_CORRELATION = 0.5
"""The smallest correlation with the goal, positive or negative, at which a figure counts as having changed with the verdict."""

_FEWEST_TRIALS = 4
"""The smallest number of trials for a correlation."""

_UNITS = {size: "bytes", percent: "share"}
"""The unit of a chart, by the format of the sentence."""

_AS_FACTOR = 3.0
"""The ratio from which a rise is shown as a factor, because a percentage of four digits is hard to read."""


@dataclass(frozen=True, slots=True)
class Pair:
    """The two candidates that reasons compare.

    Attributes:
        other: the recommended candidate; where that is the baseline, the candidate whose goal figure differs most from it.
        differ: whether the goal's figures differ by more than chance.
    """

    baseline: str
    other: str
    differ: bool


@dataclass(frozen=True, slots=True)
class _Followed:
    rule: ReasonRule
    values: Mapping[int, float]
    fits: tuple[blocks.Fit, ...]


def choose_pair(record: StudyRecord, trials: Sequence[MeasuredTrial]) -> Pair | None:
    """Return the two candidates that are compared; None where no other can be compared with the baseline."""
    baseline = record.spec.baseline
    values = {one.trial.id: one.value for one in trials if one.value is not None}
    fit = _fit(values, trials, baseline, measured.names(trials, record))
    if fit is None:
        return None
    others = [name for name in fit.names if name != baseline]
    alpha = record.spec.alpha
    verdict = record.verdict
    if verdict is not None and verdict.recommended_candidate in others:
        other = verdict.recommended_candidate
    else:
        other = max(others, key=lambda name: abs(math.log(fit.ratio(name, baseline, alpha).mean)))
    judged = next((one.goal_ratio or one.ratio for one in verdict.candidates if one.name == other), None) if verdict else None
    return Pair(baseline, other, (judged or fit.ratio(other, baseline, alpha)).excludes_one)


def strongest(changes: Sequence[tuple[str, Reason]]) -> list[Reason]:
    """Return the changes that are shown as reasons: one or two per theme, at most six in all."""
    reasons: list[Reason] = []
    themes: list[str] = []
    for theme, reason in changes:
        if themes.count(theme) < _MOST_PER_THEME.get(theme, 1) and len(reasons) < MOST:
            reasons.append(reason)
            themes.append(theme)
    return reasons


def all_changes(
    rules: Sequence[ReasonRule], record: StudyRecord, trials: Sequence[MeasuredTrial], compared: Pair
) -> list[tuple[str, Reason]]:
    """Return all changes between two candidates, each with its theme, strongest first.

    A figure is compared within blocks on the ratio scale, as throughput is. With a hundred or more figures, some change by
    chance alone. Therefore Benjamini and Hochberg's procedure selects the figures, and their intervals are those of Benjamini
    and Yekutieli for selected parameters (JASA 100, 2005), on top of Tukey's intervals for the pairs of candidates. Of the
    selected figures, the expected share that changed by chance is at most the study's error, 5 % by default. Where no candidate
    differs in anything, a change is reported in at most that share of studies.

    Figures below their rule's floor are left out before the selection and do not count in it. For a selected figure, the
    interval, and that of its guard, excludes "no change"; the figure changed by at least its rule's `least`; and where the
    goal's figures differ, it correlates with the goal (0.5 or more in absolute value, over trials less the mean of their
    block). The changes are ordered by the end of their interval that is nearer to no change.
    """
    names = measured.names(trials, record)
    followed = [one for rule in rules if (one := _follow(rule, trials, names, compared)) is not None]
    selected = _selected(followed, compared, record.spec.alpha)
    higher_is_better = MEASURES[record.spec.goal].higher_is_better
    goals = {one.trial.id: one.value if higher_is_better else 1 / one.value for one in trials if one.value}
    reasons = []
    for one, ratio in selected:
        r = correlation(one.values, goals, trials)
        if compared.differ and r is not None and abs(r) < _LEAST_CORRELATION:
            continue
        reasons.append((one.rule.theme, _reason(one, ratio, r, trials, record, compared)))
    return sorted(reasons, key=lambda one: -one[1].strength)


def correlation(values: Mapping[int, float], goals: Mapping[int, float], trials: Sequence[MeasuredTrial]) -> float | None:
    """Return Pearson's correlation of two figures over trials, both as logarithms less the mean of their block.

    None where there are fewer than four trials, or one of the figures does not vary.
    """
    used = [one for one in trials if one.trial.id in values and goals.get(one.trial.id, 0.0) > 0]
    if len(used) < _FEWEST_TRIALS:
        return None
    left = _less_block([values[one.trial.id] for one in used], used)
    right = _less_block([goals[one.trial.id] for one in used], used)
    norms = float(np.linalg.norm(left) * np.linalg.norm(right))
    return float(np.clip(left @ right / norms, -1, 1)) if norms > 1e-12 else None


def _less_block(values: Sequence[float], used: Sequence[MeasuredTrial]) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
    logs = blocks.log_values(
        [blocks.Observation(None, one.trial.candidate, value) for one, value in zip(used, values, strict=True)]
    )
    if logs is None:
        return np.zeros(len(values))
    strata = [one.trial.stratum for one in used]
    means = {stratum: float(np.mean([x for x, s in zip(logs, strata, strict=True) if s == stratum])) for stratum in set(strata)}
    return np.asarray([x - means[s] for x, s in zip(logs, strata, strict=True)])


def _follow(rule: ReasonRule, trials: Sequence[MeasuredTrial], names: Sequence[str], compared: Pair) -> _Followed | None:
    values = values_of(rule.of, trials)
    means = {name: float(np.mean(figures)) for name, figures in by_candidate(values, trials, names).items()}
    if not means or max(means.values()) < rule.floor or max(means.values()) <= 0:
        return None
    if not {compared.baseline, compared.other} <= means.keys():
        return None
    fits = [_fit(values, trials, compared.baseline, names)]
    if rule.guard is not None:
        fits.append(_fit(values_of(rule.guard, trials), trials, compared.baseline, names))
    usable = tuple(fit for fit in fits if fit is not None and compared.other in fit.names and fit.dof > 0)
    return _Followed(rule, values, usable) if len(usable) == len(fits) else None


def _fit(
    values: Mapping[int, float], trials: Sequence[MeasuredTrial], baseline: str, names: Sequence[str]
) -> blocks.Fit | None:
    observations = [one.observation(values[one.trial.id]) for one in trials if one.trial.id in values]
    return blocks.fit_connected(observations, names, {baseline})


def _selected(followed: Sequence[_Followed], compared: Pair, alpha: float) -> list[tuple[_Followed, Estimate]]:
    """Return the figures that changed, with intervals that allow for the selection.

    Of m figures, Benjamini and Hochberg's procedure selects the largest number R whose intervals at alpha R / m exclude "no
    change". The search for R starts at m and goes down.
    """
    count = len(followed)
    changed: list[tuple[_Followed, Estimate]] = []
    many = count
    while many:
        share = max(alpha * many / count, 1e-9)
        changed = [(one, ratio) for one in followed if (ratio := _ratio_of_change(one, compared, share)) is not None]
        if len(changed) >= many:
            break
        many = len(changed)
    return [(one, ratio) for one, ratio in changed if abs(math.log(ratio.mean)) >= math.log1p(one.rule.least)]


def _ratio_of_change(one: _Followed, compared: Pair, alpha: float) -> Estimate | None:
    ratios = [fit.ratio(compared.other, compared.baseline, alpha) for fit in one.fits]
    same_direction = len({ratio.mean > 1 for ratio in ratios}) == 1
    return ratios[0] if same_direction and all(ratio.excludes_one for ratio in ratios) else None


def smallest_change(ratio: Estimate) -> float:
    """Return the smallest change in the interval, in doublings or halvings; 0 where the interval includes no change."""
    if ratio.low is None or ratio.high is None or ratio.low <= 1 <= ratio.high:
        return 0.0
    return abs(math.log2(ratio.low if ratio.low > 1 else ratio.high))


def _reason(
    one: _Followed,
    ratio: Estimate,
    r: float | None,
    trials: Sequence[MeasuredTrial],
    record: StudyRecord,
    compared: Pair,
) -> Reason:
    rule = one.rule
    unit = rule.unit.format(one=record.spec.workload.traits.unit)
    figures = block_figures(one.values, trials, record)
    level, ratio_shown = figures[compared.baseline].level.mean, figures[compared.other].ratio
    other_level = figures[compared.other].level.mean
    baseline, other = visible(compared.baseline), visible(compared.other)
    more = rule.more(trials, record, compared.other) if rule.more else ""
    interval = _interval(ratio) if ratio_shown is not None and ratio_shown.low is not None else ""
    text = (
        f"{rule.name}: {rule.form(level)} {unit} with {baseline}, "
        f"{rule.form(other_level) if other_level > 0 else 'none'} with {other}"
        f"{interval}{f'; {more}' if more else ''}."
    )
    return Reason(
        code=rule.code,
        kind=ReasonKind.MOVED,
        subject=rule.name,
        text=text if rule.code in SPELLED_BY_SERVER else text[0].upper() + text[1:],
        source=rule.source,
        strength=smallest_change(ratio),
        correlation=r,
        chart=ReasonChart(
            title=f"{rule.name}, {unit}",
            unit=_UNITS.get(rule.form, ""),
            values=by_candidate(one.values, trials, list(figures)),
            levels={name: figure.level.mean for name, figure in figures.items()},
        ),
    )


def _interval(ratio: Estimate) -> str:
    if ratio.low is None or ratio.high is None:
        return ""
    if ratio.mean >= _AS_FACTOR:
        return f" ({number(ratio.mean)} times as much; {number(ratio.low)} to {number(ratio.high)})"
    return f" ({change(ratio.mean)}; {change(ratio.low)} to {change(ratio.high)})"
