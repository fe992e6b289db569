"""Trials on the time axis: differences between candidates on a machine that drifts, each candidate with its own noise.

The model is log(value) = candidate + drift(time) + noise. Drift is a smooth curve for each unbroken run of trials, not a step
for each block: it takes two or three degrees of freedom where blocks take one each, and all trials inform each other.

Levels and ratios of every figure are estimated by `figures_of_fit` and nowhere else, so that a reader who divides two levels
gets the ratio that is printed beside them.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaln, ndtr, ndtri, stdtr, stdtrit

from dialin.model.verdict import Estimate
from dialin.stats.blocks import WIDEST, Observation, estimate_of_logs, log_values, summed_dof
from dialin.stats.drift import Drift, Sums, drift_of, solve, sums_of
from dialin.stats.summaries import geometric_mean

_Array = NDArray[np.float64]

_LIKENESS = np.array([3.0, 6.0, 12.0, 24.0, 1e5])
"""Degrees of freedom by which each candidate's variance may be drawn towards the common one: from little to completely."""
_KNOWN = np.array([0.3, 4.0, 16.0])
"""Degrees of freedom that the noise expected of a trial may be worth."""
_OVER_SECONDS = 1.4
"""The variance of a trial that is expected before any is repeated, as a multiple of what its own seconds show."""
_OF_STARTS = 0.005
"""What is expected in addition: the standard deviation from start to start, low for published repeats (0.4 to 3.5 %)."""
_MUCH_NOISIER = 3.0
"""The ratio to the usual variance within trials from which on a candidate's seconds are noisier beyond doubt."""
_LEAST, _BY_NOISE, _MOST = 1.05, 4.0, 1.25
"""The least half-width of an interval, in normal deviates of its confidence: `_LEAST`, and `_BY_NOISE` times the noise of a
trial more, up to `_MOST`. A study stops when its figures look settled, and these are then further from the truth than after a
number of trials that was fixed beforehand; the less a trial varies, the more seldom (benchmarks/decide.py)."""
_RATIO_OF_THE_CHOICE = 1.4
"""The same for the ratio of the choice: of seven equals, those chosen over the baseline are covered in 65 to 90 % by 1.25, and
in 88 to 97 % by this, in the worlds of benchmarks/foreign_worlds.py where ten or more of 100 studies choose one."""
_LEVEL_OF_THE_CHOICE = 1.8
"""The same for the level of the choice. A study stops when its choice looks good, and this level is then too high by 1.3
standard errors on average: `_MOST` alone covers 76 to 93 %."""
_MORE_DOF = 1.25
"""Degrees of freedom are multiplied by this for intervals: they do not count that a trial's own seconds show its noise, too."""
FEWEST_TO_CLAIM = 3
"""Trials that each side of a claim needs: one or two of a candidate may all have met the same bad start of a server."""
_FAR_BELOW = 3.0
"""Standard deviations of a trial below the median candidate from which on a candidate's only trial is doubted: its start may
have gone wrong, and nothing else would have spoken against the candidate."""
_ROUNDS = 3
"""Times that drift and variances are estimated from each other; the third changes intervals by less than a hundredth."""


@dataclass(frozen=True, slots=True)
class TimedTrial:
    """A completed trial.

    Attributes:
        run: the unbroken run of trials on one machine that it belongs to, e.g. (session, host): each has its own drift.
        at: the middle of its measured window, seconds on any clock of that machine.
        value: what it measured, in any unit that is the same for all trials, the higher the better; zero or more.
        error: relative standard error of the value by the trial's own seconds; 0 where it is not known.
    """

    run: Hashable
    candidate: str
    at: float
    value: float
    error: float = 0.0


@dataclass(frozen=True, slots=True)
class IntervalWidth:
    """How far an interval reaches: as Student's quantile says, but at least so far.

    Attributes:
        least: the least half-width, in normal deviates of the confidence.
        more_dof: by what the degrees of freedom are multiplied.
    """

    least: float = _MOST
    more_dof: float = 1.0

    def errors(self, dof: float, alpha: float, least: float = 0.0) -> float:
        """Return the half-width of an interval at 1 - alpha in standard errors; `least` is another least half-width."""
        deviate = max(self.least, least) * float(ndtri(1 - alpha / 2))
        return max(float(stdtrit(self.more_dof * dof, 1 - alpha / 2)), deviate)


READ_ONCE = IntervalWidth(1.05, 1.5)
"""Of intervals after a number of trials that was fixed beforehand, which did not choose what they are of. Degrees of freedom
count half more: the trials of the search tell the noise of those of the proof, too (benchmarks/results/tune.md)."""


@dataclass(frozen=True, slots=True)
class FittedDifference:
    """The difference of two candidates on the log scale.

    Attributes:
        mean: the first one's effect minus the second one's.
        error: its standard error.
        dof: degrees of freedom of the error.
        width: that of its interval.
        trials: number of trials of the candidate that has fewer; infinite where it is no difference of trials.
        own_dof: degrees of freedom that the two candidates' own trials have; infinite where it is no difference of trials.
    """

    mean: float
    error: float
    dof: float
    width: IntervalWidth = IntervalWidth()
    trials: float = math.inf
    own_dof: float = math.inf

    def z(self, margin: float = 0.0) -> float:
        """Return by how many standard errors the difference exceeds -margin, as a standard normal variable.

        It is Student's t turned into the normal deviate of the same probability, so that thresholds do not depend on `dof`.
        """
        t = (self.mean + margin) / self.error
        dof = max(min(self.dof, self.own_dof), 1.0)
        return math.copysign(-float(ndtri(max(float(stdtr(dof, -abs(t))), 1e-300))), t)

    def shows(self, deviate: float, margin: float = 0.0) -> bool:
        """Return whether the difference is shown to exceed -margin: by so many standard errors, with three trials a side."""
        return self.trials >= FEWEST_TO_CLAIM and self.z(margin) >= deviate

    def ratio(self, alpha: float, least: float = 0.0) -> Estimate:
        """Return the difference as a ratio, with the interval of this one ratio at 1 - alpha; `least` as in `width`."""
        return estimate_of_logs(self.mean, self.width.errors(self.dof, alpha, least) * self.error)

    def nearest(self, deviate: float, left_out: float, ends_at: float, alpha: float) -> float:
        """Return the ratio nearest to 1 that a study may exclude which ended when its difference happened to be large enough.

        On a noisy machine the difference is then about as many standard errors from its truth as that end needs: half of the
        intervals of trials of 30 s missed under a job every 300 s. An end by a large deviate, in the t of a claim, holds at all
        looks together (repeated confidence intervals: Jennison and Turnbull, JRSS B 51, 1989). A truth beyond which most
        differences end the study at this look cannot have ended it by luck: it is excluded where so large a difference is
        unlikely among those that do (conditional intervals: Fan and DeMets, J. Biopharmaceutical Statistics 16, 2006).

        Args:
            deviate: by how many standard errors the ratio reaches towards 1, at most.
            left_out: what of that is left out, on the log scale.
            ends_at: the deviate from which on a difference ends the study at this look.
            alpha: the error that an interval may make.
        """
        dof, size = max(min(self.dof, self.own_dof), 1.0), abs(self.mean)
        furthest, ends_from = (float(stdtrit(dof, float(ndtr(one)))) * self.error for one in (deviate, ends_at))
        end = size - min(max(furthest - left_out, 0.0), WIDEST)

        def excess(truth: float) -> float:
            larger, ending = (float(stdtr(dof, (truth - one) / self.error)) for one in (size, ends_from))
            return larger - alpha / 2 * ending

        if excess(end) < 0:
            from scipy.optimize import brentq  # takes a while to import, which most commands need not wait for

            end = float(brentq(excess, end, size))
        return math.exp(math.copysign(1.0, self.mean) * end)


@dataclass(frozen=True, slots=True, eq=False)
class TrialFit:
    """The fit of the candidates that have trials; equal is only the very same one, so that what is computed of it can be kept.

    Attributes:
        names: the candidates, in the order of all that follows.
        effects: the level of each on the log scale, at the machine's mean state over all trials.
        covariance: covariance of the effects; it includes the uncertainty of the drift.
        variances: variance of one trial of each candidate about the drift.
        dof: degrees of freedom of each variance.
        total_dof: degrees of freedom of all variances together.
        trials: number of trials of each candidate.
        residual_sd: standard deviation of one trial about the drift, of all candidates together and by these trials alone.
        residual_dof: degrees of freedom of `residual_sd`.
        width: that of the intervals of all but the choice of a study.
        residuals: what levels and drift leave of each trial, on the log scale, in the order of the trials; empty where unknown.
        own_dof: degrees of freedom of each candidate's own trials; empty where these are not trials of one study.
    """

    names: tuple[str, ...]
    effects: _Array
    covariance: _Array
    variances: _Array
    dof: _Array
    total_dof: float
    trials: NDArray[np.int64]
    residual_sd: float
    residual_dof: float
    width: IntervalWidth = IntervalWidth()
    residuals: _Array = field(default_factory=lambda: np.zeros(0))
    own_dof: _Array = field(default_factory=lambda: np.zeros(0))

    @property
    def sd(self) -> float:
        """Standard deviation of one trial about the drift, on the log scale: the typical candidate's."""
        return _typical_sd(self.variances)

    @property
    def doubted(self) -> tuple[str, ...]:
        """The candidates whose only trial lies so far below those of the others that it is to be repeated, the lowest first."""
        low = float(np.median(self.effects)) - _FAR_BELOW * np.sqrt(self.variances)
        far = [int(index) for index in np.argsort(self.effects) if self.trials[index] == 1 and self.effects[index] < low[index]]
        return tuple(self.names[index] for index in far)

    def times(self, more: float) -> TrialFit:
        """Return what the fit would be of so many times as many trials with the same results."""
        return replace(
            self,
            covariance=self.covariance / more,
            dof=self.dof * more,
            total_dof=self.total_dof * more,
            trials=np.ceil(self.trials * more).astype(self.trials.dtype),
            own_dof=self.own_dof * more,
            residuals=self.residuals[:0],
        )

    def difference(self, a: str, b: str) -> FittedDifference:
        """Return the difference of two candidates; degrees of freedom are Satterthwaite's (Biometrics Bulletin 2, 1946).

        They are never more than the two candidates' trials, for a claim never more than what their levels and the drift leave
        of these: what other candidates' trials and seconds lend to a variance does not show how often a start goes wrong.
        Without this, twice as many claims are false where starts fall into two modes.

        Raises:
            ValueError: a name is not one of the fit's.
        """
        i, j = self.names.index(a), self.names.index(b)
        squared = self.covariance[i, i] + self.covariance[j, j] - 2 * self.covariance[i, j]
        dof = float(summed_dof(self.variances[[i, j]] / self.trials[[i, j]], self.dof[[i, j]]))
        return FittedDifference(
            float(self.effects[i] - self.effects[j]),
            math.sqrt(max(float(squared), 1e-24)),
            float(min(dof, self.total_dof, self.trials[i] + self.trials[j])),
            self.width,
            int(min(self.trials[i], self.trials[j])),
            float(self.own_dof[i] + self.own_dof[j]) if self.own_dof.size else math.inf,
        )

    def ratio(self, a: str, b: str, alpha: float, *, is_choice: bool = False) -> Estimate:
        """Return the value of one candidate as a ratio to another's, with the interval of this one ratio at 1 - alpha.

        Args:
            a: the candidate.
            b: the other one.
            alpha: the error that the interval may make.
            is_choice: whether the study chose `a`, perhaps because it was lucky: the interval is then wider.

        Raises:
            ValueError: a name is not one of the fit's.
        """
        if a == b:
            return Estimate(mean=1.0, low=1.0, high=1.0)
        return self.difference(a, b).ratio(alpha, _RATIO_OF_THE_CHOICE if is_choice else 0.0)

    def effect(self, name: str) -> FittedDifference:
        """Return the logarithm of a candidate's level at the machine's mean state over all trials: its difference from 1.

        Raises:
            ValueError: the name is not one of the fit's.
        """
        index = self.names.index(name)
        error = math.sqrt(float(self.covariance[index, index]))
        trials = int(self.trials[index])
        return FittedDifference(float(self.effects[index]), error, min(float(self.dof[index]), trials), self.width, trials)

    def level(self, name: str, alpha: float, *, is_choice: bool = False) -> Estimate:
        """Return a candidate's level at the machine's mean state over all trials, in the unit of the values.

        Its ratio to another level is the ratio of the two candidates. The interval is that of this one level at 1 - alpha;
        `is_choice` is that of `ratio`.
        """
        return self.effect(name).ratio(alpha, _LEVEL_OF_THE_CHOICE if is_choice else 0.0)


def _typical_sd(variances: _Array) -> float:
    return float(np.sqrt(np.median(variances)))


def fit_trials(trials: Iterable[TimedTrial], names: Sequence[str]) -> TrialFit | None:
    """Estimate the levels of the named candidates that have trials.

    A run's drift is a straight line and half waves with normal priors; their sizes, from none to fifty times the noise, in a
    wandering and in a smooth shape, are averaged by their marginal likelihood, so that the intervals include the uncertainty of
    the drift. The variances of candidates have a scaled inverse chi-squared prior about a common one, its weight averaged
    likewise (Smyth, Statistical Applications in Genetics 3, 2004, there with an estimated weight). A candidate whose seconds
    are noisier beyond doubt starts with a higher variance. No variance is lower than what a candidate's own seconds show.

    The last few fits are kept: a look, the standings and the next block are about the same trials.

    Returns:
        The fit; None where fewer than two candidates have trials, no candidate has two, or no trial has a value above zero.

    Raises:
        ValueError: a value is negative or not a number.
    """
    return _fit_trials(tuple(trials), tuple(names))


@lru_cache(maxsize=8)
def _fit_trials(trials: tuple[TimedTrial, ...], names: tuple[str, ...]) -> TrialFit | None:
    compared = frozenset(names)
    used = [trial for trial in trials if trial.candidate in compared]
    measured = {trial.candidate for trial in used}
    present = tuple(name for name in names if name in measured)
    # A trial that did nothing counts as a hundredth of what is typical of its own candidate: others may differ by more.
    logs = log_values([Observation(trial.candidate, trial.candidate, trial.value) for trial in used])
    if logs is None or len(present) < 2 or len(used) == len(present):
        return None
    index_of = {name: index for index, name in enumerate(present)}
    candidates = np.array([index_of[trial.candidate] for trial in used])
    within = np.bincount(candidates, weights=[trial.error**2 for trial in used]) / np.bincount(candidates)
    centre = float(logs.mean())
    drift = _drift(tuple(trial.run for trial in used), tuple(trial.at for trial in used))
    return _fit(present, sums_of(candidates, drift, logs - centre, within), drift, centre)


@lru_cache(maxsize=4)
def _drift(runs: tuple[Hashable, ...], at: tuple[float, ...]) -> Drift:
    """Return the model of the drift of trials, which throughput, typical speed and what stalls cost have in common."""
    return drift_of(runs, np.array(at))


def _fit(names: tuple[str, ...], sums: Sums, drift: Drift, centre: float) -> TrialFit:
    usual = sums.usual
    noisier = np.where(sums.within > _MUCH_NOISIER * usual, sums.within / usual, 1.0)
    prior = drift.prior + np.log(drift.precisions).sum(axis=(1, 2)) / 2
    variances, scale = noisier, 1.0
    for _ in range(_ROUNDS):
        solution = solve(sums, drift.precisions, variances / math.exp(float(np.log(variances).mean())))
        evidence = prior - solution.log_determinant / 2
        # Two degrees of freedom of the usual noise are added, so that no assumption is infinitely likely where nothing is left.
        left_over = np.maximum(solution.left_over, 1e-12) + 2 * usual
        evidence -= (len(sums.logs) - len(names) + 2) / 2 * np.log(left_over)
        weights = _shares(evidence)
        explained = (weights @ solution.levels)[sums.candidates]
        explained += (drift.columns * np.tensordot(weights, solution.coefficients, 1)[drift.runs]).sum(axis=1)
        left = sums.logs - explained
        residuals = np.bincount(sums.candidates, weights=left**2)
        residual_dof = np.maximum(sums.counts - weights @ solution.leverages, 1e-3)
        common = _common_variance(residuals / noisier, residual_dof, _OVER_SECONDS * usual + _OF_STARTS**2)
        variances = np.maximum(common.variances * noisier, np.maximum(sums.within, 1e-14))
        scale = math.exp(float(np.log(variances).mean()))
    mean = weights @ solution.effects
    apart = solution.effects - mean
    return TrialFit(
        names=names,
        effects=mean + centre,
        covariance=scale * np.tensordot(weights, solution.covariances, 1) + np.einsum("m,mi,mj->ij", weights, apart, apart),
        variances=variances,
        dof=np.maximum(np.minimum(residual_dof + common.likeness, common.dof), 1.0),
        total_dof=max(common.dof, 1.0),
        trials=sums.counts,
        residual_sd=math.sqrt(max(float(residuals.sum() / residual_dof.sum()), 1e-14)),
        residual_dof=max(float(residual_dof.sum()), 1.0),
        width=IntervalWidth(min(_LEAST + _BY_NOISE * _typical_sd(variances), _MOST), _MORE_DOF),
        residuals=left,
        own_dof=residual_dof,
    )


@dataclass(frozen=True, slots=True)
class _Variances:
    """Candidates' variances, how many degrees of freedom the common one lends to each, and those of all together."""

    variances: _Array
    likeness: float
    dof: float


def _common_variance(squares: _Array, dof: _Array, expected: float) -> _Variances:
    """Draw candidates' variances towards a common one, and that towards the expected one, as far as the data agree with it.

    Args:
        squares: each candidate's sum of squared residuals.
        dof: its degrees of freedom.
        expected: the variance that is expected before any trial is repeated.
    """
    total, total_dof = float(squares.sum()), float(dof.sum())
    agreement = gammaln((_KNOWN + total_dof) / 2) - gammaln(_KNOWN / 2) + _KNOWN / 2 * np.log(_KNOWN * expected)
    agreement -= (_KNOWN + total_dof) / 2 * np.log(_KNOWN * expected + total)
    known = math.exp(float(_shares(agreement) @ np.log(_KNOWN)))
    likeness = _LIKENESS[:, None]
    common = np.full(len(_LIKENESS), (total + known * expected) / (total_dof + known))
    for _ in range(6):  # the likeliest common variance for each likeness, by its own fixed point
        pull = likeness / (likeness * common[:, None] + squares)
        common = ((pull * squares).sum(axis=1) + known * expected / common) / ((pull * dof).sum(axis=1) + known / common)
    summed = likeness * common[:, None] + squares
    evidence = likeness / 2 * np.log(likeness * common[:, None] / 2) - gammaln(likeness / 2)
    evidence = evidence + gammaln((likeness + dof) / 2) - (likeness + dof) / 2 * np.log(summed / 2)
    weights = _shares(evidence.sum(axis=1))
    return _Variances(
        variances=np.exp(weights @ np.log(summed / (likeness + dof))),
        likeness=math.exp(float(weights @ np.log(np.minimum(_LIKENESS, 100.0)))),
        dof=total_dof + known,
    )


def _shares(log_likelihoods: _Array) -> _Array:
    weights = np.exp(log_likelihoods - log_likelihoods.max())
    shares: _Array = weights / weights.sum()
    return shares


@dataclass(frozen=True, slots=True)
class CandidateFigures:
    """One quantity under each candidate.

    Attributes:
        levels: in the unit of the trials, at the machine's mean state over all trials; None where a candidate has no trial.
        ratios: to the baseline's level; None where a candidate cannot be compared with it.
    """

    levels: dict[str, Estimate | None]
    ratios: dict[str, Estimate | None]


def candidate_figures(
    trials: Sequence[TimedTrial], names: Sequence[str], baseline: str, alpha: float, choice: str | None = None
) -> CandidateFigures:
    """Return the figures of the named candidates by a fit of their trials; the arguments are those of `figures_of_fit`."""
    return figures_of_fit(fit_trials(trials, names), trials, names, baseline, alpha, choice)


def figures_of_fit(
    fitted: TrialFit | None,
    trials: Sequence[TimedTrial],
    names: Sequence[str],
    baseline: str,
    alpha: float,
    choice: str | None = None,
) -> CandidateFigures:
    """Return the figures of the named candidates, each with the interval of this one figure at 1 - alpha.

    Where no fit is possible yet, a level is the geometric mean of the candidate's trials, and nothing has an interval. `choice`
    is the candidate that the study chose by this quantity, perhaps because it was lucky: its intervals are wider.
    """
    if fitted is None:
        return _without_intervals(trials, names, baseline)
    levels: dict[str, Estimate | None] = dict.fromkeys(names)
    ratios: dict[str, Estimate | None] = dict.fromkeys(names)
    for name in fitted.names:
        levels[name] = fitted.level(name, alpha, is_choice=name == choice)
        if baseline in fitted.names:
            ratios[name] = fitted.ratio(name, baseline, alpha, is_choice=name == choice)
    return CandidateFigures(levels, ratios)


def _without_intervals(trials: Sequence[TimedTrial], names: Sequence[str], baseline: str) -> CandidateFigures:
    values = {name: [trial.value for trial in trials if trial.candidate == name] for name in names}
    means = {name: geometric_mean(of_candidate) for name, of_candidate in values.items() if of_candidate}
    base = means.get(baseline)
    quotients = {name: mean / base for name, mean in means.items()} if base else {}
    return CandidateFigures({name: _point(means.get(name)) for name in names}, {n: _point(quotients.get(n)) for n in names})


def _point(value: float | None) -> Estimate | None:
    return None if value is None else Estimate.alone(value)
