"""The figures of each completed trial with the readings of its probes: the input of all evidence."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from dialin.measures.of_trials import value
from dialin.model.cpus import count_cpus
from dialin.model.evidence import Gauge, Watched
from dialin.model.record import StudyRecord, once
from dialin.model.trial import Purpose, Step, Trial, TrialState
from dialin.model.verdict import ComparedFigure, Estimate
from dialin.stats import blocks, trial_figures
from dialin.stats.blocks import Observation
from dialin.stats.throughput import by_mean
from dialin.stats.trial_figures import Figures
from dialin.stats.trial_fit import CandidateFigures, candidate_figures


@dataclass(frozen=True, slots=True)
class MeasuredTrial:
    """A completed trial.

    Attributes:
        value: the figure that the goal compares candidates by, the higher the better; None where the trial does not show it.
        transactions: per second, over every measured second; seconds that the host lost count, because the probes include them.
        figures: of the seconds that count; None where none does.
        watched: what each probe read, by the probe's name.
        windows: the number of measured stretches: one for each number of threads.
        server_cpus: how many CPUs the server may use; None for all.
    """

    trial: Trial
    value: float | None
    transactions: float
    figures: Figures | None = None
    watched: dict[str, Watched] = field(default_factory=dict)
    windows: int = 1
    server_cpus: float | None = None

    def rate(self, probe: str, name: str) -> float | None:
        watched = self.watched.get(probe)
        if watched is None or watched.seconds <= 0 or name not in watched.counters:
            return None
        return watched.counters[name] / watched.seconds

    def rise(self, probe: str, name: str) -> float | None:
        watched = self.watched.get(probe)
        return None if watched is None else watched.counters.get(name)

    def gauge(self, probe: str, name: str) -> Gauge | None:
        watched = self.watched.get(probe)
        return None if watched is None else watched.gauges.get(name)

    def setting(self, name: str) -> float | None:
        """Return the effective value of a variable as a number; None where it is unknown or not a number."""
        try:
            return float(self.trial.in_force[name])
        except (KeyError, ValueError):
            return None

    def observation(self, value: float) -> Observation:
        return Observation(self.trial.stratum, self.trial.candidate, value)


FigureOf = Callable[[MeasuredTrial], float | None]
"""Returns a trial's figure, zero or more; None where the trial does not have it."""


def figures_of(record: StudyRecord, trials: Sequence[Trial]) -> dict[int, Figures]:
    """Return the figures of completed trials with at least one second that counts, by trial id."""
    load, samples, watched = record.spec.workload, record.samples, record.watched
    by_trial = ((trial.id, trial_figures.figures_of_trial(trial, samples, load, watched.get(trial.id))) for trial in trials)
    return {number: of_trial for number, of_trial in by_trial if of_trial is not None}


@once
def figures(record: StudyRecord) -> Mapping[int, Figures]:
    """Return those of all trials of a record that is complete."""
    return figures_of(record, record.trials)


def of(record: StudyRecord, purpose: Purpose = Purpose.RACE) -> list[MeasuredTrial]:
    """Return the completed trials of a purpose that measured at least one second, in the order that they ran."""
    trials = []
    for trial in record.trials:
        samples = [sample for sample in record.samples.get(trial.id, ()) if sample.step is Step.MEASURE]
        covered = sum(sample.seconds for sample in samples)
        if trial.purpose is not purpose or trial.state is not TrialState.DONE or covered <= 0:
            continue
        summed = figures(record).get(trial.id)
        transactions = sum(sample.tps * sample.seconds for sample in samples) / covered
        trials.append(
            MeasuredTrial(
                trial=trial,
                value=value(summed, record.spec.goal) if summed else 0.0,
                transactions=transactions,
                figures=summed,
                watched=dict(record.watched.get(trial.id, {})),
                windows=max(1, len(record.spec.workload.levels)),
                server_cpus=count_cpus(record.spec.server_cpus) if record.spec.server_cpus else None,
            )
        )
    return trials


def names(trials: Sequence[MeasuredTrial], record: StudyRecord) -> list[str]:
    """Return the candidates of these trials, in the order of the study."""
    present = {one.trial.candidate for one in trials}
    return [name for name in record.spec.names if name in present]


def queries_by_candidate(trials: Sequence[MeasuredTrial]) -> dict[str, float]:
    """Return the queries per transaction of each candidate; 1 where the load counts none, as a timed query does."""
    by_name: dict[str, list[Figures]] = {}
    for one in trials:
        by_name.setdefault(one.trial.candidate, []).extend([one.figures] if one.figures else [])
    return {name: trial_figures.queries_per_transaction(of_name) or 1.0 for name, of_name in by_name.items()}


def throughput(record: StudyRecord, trials: Sequence[MeasuredTrial]) -> CandidateFigures:
    """Return the throughput of each candidate: that of the verdict, or the same of the trials so far where there is none."""
    if record.verdict is not None:
        candidates = record.verdict.candidates
        return CandidateFigures({one.name: one.tps for one in candidates}, {one.name: one.ratio for one in candidates})
    speeds = by_mean(trial_figures.trial_speeds([one.trial for one in trials if one.figures], figures(record)))
    return candidate_figures(speeds, record.spec.names, record.spec.baseline, record.spec.alpha)


def values_of(of: FigureOf, trials: Sequence[MeasuredTrial]) -> dict[int, float]:
    """Return a figure by trial id; trials without it are left out."""
    values = ((one.trial.id, of(one)) for one in trials)
    return {number: value for number, value in values if value is not None}


def by_candidate(values: Mapping[int, float], trials: Sequence[MeasuredTrial], names: Sequence[str]) -> dict[str, list[float]]:
    """Return a figure by candidate, in the order of `names`, the values in the order that the trials ran."""
    grouped: dict[str, list[float]] = {name: [] for name in names}
    for one in trials:
        if one.trial.id in values and one.trial.candidate in grouped:
            grouped[one.trial.candidate].append(values[one.trial.id])
    return {name: figures for name, figures in grouped.items() if figures}


LARGEST_RATIO_WITH_INTERVAL = 50.0
"""The ratio from which no interval is shown, because the logarithm of a value near 0 is not useful."""


def block_figures(
    values: Mapping[int, float], trials: Sequence[MeasuredTrial], record: StudyRecord
) -> dict[str, ComparedFigure]:
    """Return a figure of each candidate that has trials with it, in the order of the study.

    Costs, memory and the metrics of reasons all come from here. Candidates are compared within blocks, and a level is that of
    the mean block. The intervals of all candidates hold together at the study's confidence. Where some trial has next to
    nothing of the figure, logarithms mean nothing: then a level is the mean of its trials, and ratios have no interval. A
    candidate that no chain of blocks connects to the baseline has the mean of its trials and no ratio, one of 0 has no ratio.

    Args:
        values: by trial id; a trial that is missing does not count.
        trials: those that are compared.
        record: their study.
    """
    baseline = record.spec.baseline
    of_names = by_candidate(values, trials, names(trials, record))
    means = {name: statistics.fmean(of_name) for name, of_name in of_names.items()}
    observations = [
        one.observation(values[one.trial.id]) for one in trials if one.trial.id in values and means[one.trial.candidate] > 0
    ]
    fit = blocks.fit_connected(observations, [name for name in means if means[name] > 0], {baseline})
    if fit is None:
        return {name: ComparedFigure(level=Estimate.alone(mean), ratio=None) for name, mean in means.items()}
    is_exact = not blocks.has_standstill(observations)
    levels = {name: fit.level(name) if is_exact else means[name] for name in fit.names}
    figures = {}
    for name, mean in means.items():
        ratio = Estimate.alone(levels[name] / levels[baseline]) if name in levels and name != baseline else None
        if ratio is not None and is_exact and 1 / LARGEST_RATIO_WITH_INTERVAL < ratio.mean < LARGEST_RATIO_WITH_INTERVAL:
            ratio = fit.ratio(name, baseline, record.spec.alpha)
        figures[name] = ComparedFigure(level=Estimate.alone(levels.get(name, mean)), ratio=ratio)
    return figures
