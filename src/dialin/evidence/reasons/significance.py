"""Selects the figures that changed between two candidates, by more than chance and enough to matter."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from dialin.evidence import measured
from dialin.evidence.measured import Measured, by_candidate, values_of
from dialin.evidence.reasons.phrases import in_unit
from dialin.evidence.reasons.rule import ReasonRule
from dialin.model.record import StudyRecord
from dialin.model.study import Goal
from dialin.model.verdict import Estimate
from dialin.model.why import Reason, ReasonChart, ReasonKind
from dialin.stats import blocks
from dialin.text import change, number, percent, size, visible

MOST = 6
"""The most reasons that are shown."""

_A_THEME = {"waits": 2, "semaphores": 2}
"""The most reasons of a theme; of others one, because a page that is not in memory shows in many figures."""

_TOGETHER = 0.5
"""The correlation with the goal from which on a figure changed with the verdict."""

_FEWEST = 4
"""Trials that a correlation takes."""

_UNITS = {size: "bytes", percent: "share"}
"""The unit of a chart, by the format of the sentence."""

_TIMES = 3.0
"""The ratio from which on a rise is shown as a factor: a percentage of four digits is hard to read."""

FAR = 50.0
"""The ratio from which on no interval is shown: next to nothing has no useful logarithm."""


@dataclass(frozen=True, slots=True)
class Pair:
    """The two candidates that reasons compare.

    Attributes:
        other: the recommended candidate; where that is the baseline, the one whose goal figure differs most from it.
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


def pair(record: StudyRecord, trials: Sequence[Measured]) -> Pair | None:
    """Return the two candidates that are compared; None where no other can be compared with the baseline."""
    baseline = record.spec.baseline
    fit = _fit({one.trial.id: one.value for one in trials}, trials, baseline, measured.names(trials, record))
    if fit is None:
        return None
    others = [name for name in fit.names if name != baseline]
    alpha = 1 - record.spec.confidence
    verdict = record.verdict
    if verdict is not None and verdict.recommended_candidate in others:
        other = verdict.recommended_candidate
    else:
        other = max(others, key=lambda name: abs(math.log(fit.ratio(name, baseline, alpha).mean)))
    judged = next((one.goal_ratio or one.ratio for one in verdict.candidates if one.name == other), None) if verdict else None
    return Pair(baseline, other, (judged or fit.ratio(other, baseline, alpha)).excludes_one)


def strongest(changes: Sequence[tuple[str, Reason]]) -> list[Reason]:
    """Return the reasons that are shown of all changes: one or two of a theme, six in all."""
    reasons: list[Reason] = []
    themes: list[str] = []
    for theme, reason in changes:
        if themes.count(theme) < _A_THEME.get(theme, 1) and len(reasons) < MOST:
            reasons.append(reason)
            themes.append(theme)
    return reasons


def all_changes(
    rules: Sequence[ReasonRule], record: StudyRecord, trials: Sequence[Measured], compared: Pair
) -> list[tuple[str, Reason]]:
    """Return all changes between two candidates, each with its theme, strongest first.

    A figure is compared within blocks on the ratio scale, as throughput is. With a hundred or more figures, some change by
    chance alone: their intervals are those of Benjamini and Yekutieli for what a search selected (JASA 100, 2005) by Benjamini
    and Hochberg's procedure, on top of Tukey's for the pairs of candidates. Of the selected figures no more than the study's
    error, 5 % by default, are expected to be chance; where no candidate differs in anything, a change is reported in no more
    than that share of studies.

    Figures too small to matter are left out before, and so do not count. The interval of a selected figure, and that of its
    guard, excludes no change; it changed by at least `least`; and where the goal's figures differ it correlates with the goal
    (0.5 at least, over trials less their block's mean). They are ordered by the nearer end of their interval.
    """
    names = measured.names(trials, record)
    followed = [one for rule in rules if (one := _follow(rule, trials, names, compared)) is not None]
    selected = _selected(followed, compared, 1 - record.spec.confidence)
    goals = {one.trial.id: _natural(one, record.spec.goal) for one in trials if one.value > 0}
    reasons = []
    for one, ratio in selected:
        together = correlation(one.values, goals, trials)
        if compared.differ and together is not None and abs(together) < _TOGETHER:
            continue
        reasons.append((one.rule.theme, _reason(one, ratio, together, trials, record, compared)))
    return sorted(reasons, key=lambda one: -one[1].strength)


def correlation(values: Mapping[int, float], goals: Mapping[int, float], trials: Sequence[Measured]) -> float | None:
    """Return Pearson's correlation of two figures over trials, both as logarithms less the mean of their block.

    None where there are fewer than four trials, or one of the two does not vary.
    """
    used = [one for one in trials if one.trial.id in values and goals.get(one.trial.id, 0.0) > 0]
    if len(used) < _FEWEST:
        return None
    left = _less_block([values[one.trial.id] for one in used], used)
    right = _less_block([goals[one.trial.id] for one in used], used)
    size = float(np.linalg.norm(left) * np.linalg.norm(right))
    return float(np.clip(left @ right / size, -1, 1)) if size > 1e-12 else None


def _natural(one: Measured, goal: Goal) -> float:
    """Return the goal's own measure, above zero: variation and latency are compared as their inverses."""
    return one.value if goal is Goal.THROUGHPUT else 1 / one.value


def _less_block(values: Sequence[float], used: Sequence[Measured]) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
    logs = blocks.log_values(
        [blocks.Observation(None, one.trial.candidate, value) for one, value in zip(used, values, strict=True)]
    )
    if logs is None:
        return np.zeros(len(values))
    strata = [one.trial.stratum for one in used]
    means = {stratum: float(np.mean([x for x, s in zip(logs, strata, strict=True) if s == stratum])) for stratum in set(strata)}
    return np.asarray([x - means[s] for x, s in zip(logs, strata, strict=True)])


def _follow(rule: ReasonRule, trials: Sequence[Measured], names: Sequence[str], compared: Pair) -> _Followed | None:
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


def _fit(values: Mapping[int, float], trials: Sequence[Measured], baseline: str, names: Sequence[str]) -> blocks.Fit | None:
    observations = [one.observation(values[one.trial.id]) for one in trials if one.trial.id in values]
    return blocks.fit_connected(observations, names, {baseline})


def _selected(followed: Sequence[_Followed], compared: Pair, alpha: float) -> list[tuple[_Followed, Estimate]]:
    """Return the figures that changed, with intervals for what a search selected.

    The largest number R of figures whose intervals at alpha R / m exclude no change is what Benjamini and Hochberg's procedure
    selects of m; it is found from above.
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
    same = len({ratio.mean > 1 for ratio in ratios}) == 1
    return ratios[0] if same and all(ratio.excludes_one for ratio in ratios) else None


def at_least(ratio: Estimate) -> float:
    """Return the least change that the interval allows, in doublings or halvings; 0 where it allows none."""
    if ratio.low is None or ratio.high is None or ratio.low <= 1 <= ratio.high:
        return 0.0
    return abs(math.log2(ratio.low if ratio.low > 1 else ratio.high))


def _reason(
    one: _Followed,
    ratio: Estimate,
    together: float | None,
    trials: Sequence[Measured],
    record: StudyRecord,
    compared: Pair,
) -> Reason:
    rule = one.rule
    unit = in_unit(rule.unit, record)
    values = by_candidate(one.values, trials, measured.names(trials, record))
    here, there = (float(np.mean(values[name])) for name in (compared.baseline, compared.other))
    baseline, other = visible(compared.baseline), visible(compared.other)
    more = rule.more(trials, compared.baseline, compared.other) if rule.more else ""
    text = (
        f"{rule.name}: {rule.form(here)} {unit} with {baseline}, {rule.form(there) if there > 0 else 'none'} with {other}"
        f"{_interval(ratio) if max(here, there) < FAR * min(here, there) else ''}{f'; {more}' if more else ''}."
    )
    return Reason(
        code=rule.code,
        kind=ReasonKind.MOVED,
        text=text[0].upper() + text[1:] if not _is_name(rule) else text,
        source=rule.source,
        strength=at_least(ratio),
        correlation=together,
        chart=ReasonChart(title=f"{rule.name}, {unit}", unit=_UNITS.get(rule.form, ""), values=values),
    )


def _is_name(rule: ReasonRule) -> bool:
    """Return whether the sentence begins with a name in the server's spelling, which takes no capital letter."""
    return rule.code in ("event_waits", "mutex_os_waits")


def _interval(ratio: Estimate) -> str:
    if ratio.low is None or ratio.high is None:
        return ""
    if ratio.mean >= _TIMES:
        return f" ({number(ratio.mean)} times as much; {number(ratio.low)} to {number(ratio.high)})"
    return f" ({change(ratio.mean)}; {change(ratio.low)} to {change(ratio.high)})"
