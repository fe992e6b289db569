"""The samples of a study made ready to draw: thinned, placed on the study's clock, and summed up for box plots."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from statistics import median
from typing import Any

from dialin.model.record import StudyRecord, once
from dialin.model.trial import Purpose, Sample, Step, Trial, TrialState
from dialin.report.charts.course_chart import CourseChart, course, short
from dialin.report.charts.plotly_data import thin
from dialin.sentences.load_units import SECONDS, Units, units_of_record
from dialin.sentences.notes import among
from dialin.sentences.result_notes import NotSteady
from dialin.stats.summaries import BoxFigures, box, window_of
from dialin.stats.trial_figures import throughput_of_trial

POINTS_OF_A_STUDY = 45_000
"""How many points of throughput all charts may have, so that a report stays a few MB however long the study was."""

_FEWEST, _MOST = 120, 1_500
_OF_LATENCY = 0.5
"""Points of latency for each point of throughput."""
_MOST_LOST = 60
_PAUSE_SHOWN = 60.0


@dataclass(frozen=True, slots=True)
class Series:
    """One trial, ready to draw.

    Attributes:
        tps: transactions per second over the trial's seconds.
        latency: the percentile of latency over the trial's seconds, milliseconds.
        zero: the last second of the warm-up, or of the first one where there are several; measuring began after it.
        base: where the driver's second 0 lies on the study's clock, in seconds.
        boxes: boxes of the measured seconds of a completed trial, by number of threads; empty for any other trial.
        lost: measured seconds that the host lost, with throughput and latency; only some of them if there are very many.
        steady: False where the verdict says that the trial did not become steady.
        mean: transactions per second over the measured seconds that count; None for a trial not completed.
        latency_median: the median of the measured seconds, milliseconds; None for a trial not completed or without latency.
        window: samples that its rolling means are taken over; None where it has none.
        units: what its samples are counted in.
    """

    trial: Trial
    tps: CourseChart
    latency: CourseChart
    zero: int
    base: float
    boxes: Mapping[int, BoxFigures]
    lost: Sequence[tuple[int, float, float]] = ()
    lost_seconds: int = 0
    steady: bool = True
    mean: float | None = None
    latency_median: float | None = None
    window: int | None = None
    units: Units = SECONDS

    @property
    def is_fresh(self) -> bool:
        """Whether the trial confirms a choice that was made before it."""
        return self.trial.purpose is Purpose.CONFIRM

    @property
    def remarks(self) -> list[str]:
        """Remarks on the trial: `confirmation`, `not steady`."""
        return [*(["confirmation"] if self.is_fresh else []), *([] if self.steady else ["not steady"])]

    def embedded(self) -> dict[str, Any]:
        """Return the data that the page's script draws, under short keys, because there may be many trials."""
        embedded: dict[str, Any] = {"n": self.trial.block, "z": self.zero, "b": self.base, "tps": self.tps.embedded()}
        if latency := self.latency.embedded():
            embedded["latency"] = latency
        if self.lost:
            embedded["l"] = [[second, short(tps), short(latency)] for second, tps, latency in self.lost]
        if self.remarks:
            embedded["k"] = ", ".join(self.remarks)
        return embedded


@once
def all_series(record: StudyRecord) -> list[Series]:
    """Return the series of every trial, in the order in which the trials ran."""
    most = min(_MOST, max(_FEWEST, POINTS_OF_A_STUDY // max(1, len(record.trials))))
    shift = pauses(record.trials)
    origin = record.trials[0].started if record.trials else record.created
    unsteady_trials, unit = unsteady(record), units_of_record(record)
    window = window_of([_length(record.samples.get(trial.id, ())) for trial in record.trials if trial.state is TrialState.DONE])
    series = [
        _series(
            trial,
            _by_the_clock(record.samples.get(trial.id, ()), unit),
            most,
            None if unit.by_run else window,
            origin + shift[trial.session],
        )
        for trial in record.trials
    ]
    return [replace(one, units=unit, steady=one.trial.id not in unsteady_trials) for one in series]


def _length(samples: Sequence[Sample]) -> int:
    counts = [len(list(group)) for _, group in groupby(sample.threads for sample in samples if sample.step is Step.MEASURE)]
    return round(median(counts)) if counts else 0


def _by_the_clock(samples: Sequence[Sample], unit: Units) -> Sequence[Sample]:
    """Return samples; runs of a timed query are numbered by seconds since the first began, as a run may take any time."""
    if not unit.by_run or not samples:
        return samples
    began = samples[0].at - samples[0].seconds
    return [replace(sample, second=max(1, round(sample.at - began))) for sample in samples]


def unsteady(record: StudyRecord) -> frozenset[int]:
    """Return the trials that the verdict says did not become steady."""
    notes = record.verdict.warnings if record.verdict else []
    return frozenset(trial for note in among(NotSteady, notes) for trial in note.trials)


def pauses(trials: Sequence[Trial]) -> Mapping[int, float]:
    """Return the seconds to subtract from the times of each session, so that pauses between sessions shrink to a minute."""
    shift: dict[int, float] = {}
    taken, ended = 0.0, None
    for trial in trials:
        if trial.session not in shift:
            if ended is not None:
                taken += max(0.0, trial.started - ended - _PAUSE_SHOWN)
            shift[trial.session] = taken
        ended = trial.started + sum(trial.steps.values())
    return shift


def measured(samples: Sequence[Sample]) -> list[Sample]:
    """Return the seconds that count: those measured, host stalls left out."""
    return [sample for sample in samples if sample.step is Step.MEASURE and not sample.lost]


def by_threads(samples: Sequence[Sample]) -> dict[int, list[Sample]]:
    """Return samples by number of threads, the fewest first."""
    by_count: dict[int, list[Sample]] = {}
    for sample in samples:
        by_count.setdefault(sample.threads, []).append(sample)
    return dict(sorted(by_count.items()))


def boxes(samples: Sequence[Sample]) -> dict[int, BoxFigures]:
    """Return a box of throughput for each number of threads."""
    boxes_by_threads = {threads: box([sample.tps for sample in seconds]) for threads, seconds in by_threads(samples).items()}
    return {threads: one for threads, one in boxes_by_threads.items() if one}


def _series(trial: Trial, samples: Sequence[Sample], most: int, window: int | None, origin: float) -> Series:
    begins = next((sample.second for sample in samples if sample.step is Step.MEASURE), None)
    warm = [sample.second for sample in samples if sample.step is Step.WARM_UP]
    lost = [sample for sample in samples if sample.step is Step.MEASURE and sample.lost]
    first = samples[0] if samples else None
    timed = [sample for sample in samples if sample.latency_ms > 0]
    latency_box = box([sample.latency_ms for sample in measured(timed)]) if trial.state is TrialState.DONE else None
    return Series(
        trial=trial,
        tps=course(samples, lambda sample: sample.tps, most, window),
        latency=course(timed, lambda sample: sample.latency_ms, round(_OF_LATENCY * most), window),
        zero=max((second for second in warm if begins is None or second < begins), default=0),
        base=round((first.at - first.second if first else trial.started) - origin, 1),
        boxes=boxes(measured(samples)) if trial.state is TrialState.DONE else {},
        lost=[
            (lost[index].second, lost[index].tps, lost[index].latency_ms)
            for index in thin([sample.tps for sample in lost], _MOST_LOST)
        ],
        lost_seconds=round(sum(sample.seconds for sample in lost)),
        mean=throughput_of_trial(samples) if trial.state is TrialState.DONE else None,
        latency_median=latency_box.median if latency_box else None,
        window=window,
    )
