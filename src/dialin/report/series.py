"""The samples of a study made ready to draw: thinned, placed on the study's clock, and summed up for box plots."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from statistics import fmean, quantiles
from typing import Any

from dialin.model.record import StudyRecord
from dialin.model.trial import Purpose, Sample, Step, Trial, TrialState
from dialin.report.thin import thin
from dialin.report.units import SECONDS, Units, units_in

POINTS_OF_A_STUDY = 70_000
"""How many points all charts together may have, so that a report stays a few MB however long the study was."""

UNSTEADY = "not_steady"
"""The code of the warning whose data names the trials that did not become steady."""

_FEWEST, _MOST = 120, 2_000
_MOST_LOST = 60
_PAUSE_SHOWN = 60.0


@dataclass(frozen=True, slots=True)
class Box:
    """What a box plot shows of a trial's measured seconds but those lost: percentiles, the lowest second and the mean."""

    low: float
    first: float
    median: float
    third: float
    high: float
    worst: float
    mean: float


@dataclass(frozen=True, slots=True)
class Series:
    """One trial, ready to draw.

    Attributes:
        trial: the trial.
        seconds: the driver's seconds of the points.
        tps: transactions a second at each.
        warm: how many of the points belong to the warm-up; they come first.
        zero: the last second of the warm-up, of the first where there are several; measuring began after it.
        base: where the driver's second 0 lies on the study's clock, in seconds.
        box: of the measured seconds of a trial that ended well, or None.
        lost: measured seconds that the host lost, with their transactions a second; of very many, some.
        lost_seconds: how many these are in all.
        steady: whether nothing says that the trial did not become steady.
        gaps: points before which a line breaks, where a trial measured several numbers of threads, one after another.
        units: what its samples are counted in.
    """

    trial: Trial
    seconds: Sequence[int]
    tps: Sequence[float]
    warm: int
    zero: int
    base: float
    box: Box | None
    lost: Sequence[tuple[int, float]] = ()
    lost_seconds: int = 0
    steady: bool = True
    gaps: Sequence[int] = ()
    units: Units = SECONDS

    @property
    def is_fresh(self) -> bool:
        """Whether it confirms a choice that was made before it."""
        return self.trial.purpose is Purpose.CONFIRM

    @property
    def remarks(self) -> list[str]:
        """What is to be known of the trial beside its figures."""
        return [*(["fresh"] if self.is_fresh else []), *([] if self.steady else ["not steady"])]

    def embedded(self) -> dict[str, Any]:
        """Return what the page's script draws from, in short names, for there may be many."""
        own: dict[str, Any] = {
            "n": self.trial.block,
            "s": list(self.seconds),
            "v": [_short(value) for value in self.tps],
            "w": self.warm,
            "z": self.zero,
            "b": self.base,
        }
        if self.lost:
            own["l"] = [[second, _short(value)] for second, value in self.lost]
        if self.gaps:
            own["g"] = list(self.gaps)
        if self.remarks:
            own["k"] = ", ".join(self.remarks)
        return own


def all_series(record: StudyRecord) -> list[Series]:
    """Return every trial's series, in the order they ran."""
    most = min(_MOST, max(_FEWEST, POINTS_OF_A_STUDY // max(1, len(record.trials))))
    shift = pauses(record.trials)
    origin = record.trials[0].started if record.trials else record.created
    moving, unit = unsteady(record), units_in(record)
    found = [
        _series(
            trial,
            _by_the_clock(record.samples.get(trial.id, ()), unit),
            most,
            origin + shift[trial.session],
            steady=trial.id not in moving,
        )
        for trial in record.trials
    ]
    return [replace(one, units=unit) for one in found]


def _by_the_clock(samples: Sequence[Sample], unit: Units) -> Sequence[Sample]:
    """Return samples numbered by the seconds since the first began: runs take more of them than one, or less."""
    if unit is SECONDS or not samples:
        return samples
    began = samples[0].at - samples[0].seconds
    return [replace(sample, second=max(1, round(sample.at - began))) for sample in samples]


def unsteady(record: StudyRecord) -> frozenset[int]:
    """Return the trials that the verdict says did not become steady."""
    notes = record.verdict.warnings if record.verdict else []
    named = [note.data.get("trials", []) for note in notes if note.code == UNSTEADY]
    return frozenset(trial for trials in named if isinstance(trials, (list, tuple)) for trial in trials if type(trial) is int)


def pauses(trials: Sequence[Trial]) -> Mapping[int, float]:
    """Return for each session what to take off its times, so that the pauses between sessions shrink to a minute."""
    shift: dict[int, float] = {}
    taken, ended = 0.0, None
    for trial in trials:
        if trial.session not in shift:
            if ended is not None:
                taken += max(0.0, trial.started - ended - _PAUSE_SHOWN)
            shift[trial.session] = taken
        ended = trial.started + sum(trial.steps.values())
    return shift


def box(values: Sequence[float]) -> Box | None:
    """Return the box of a trial's measured seconds, or None where there are none."""
    if not values:
        return None
    if len(values) == 1:
        return Box(*[values[0]] * 7)
    cuts = quantiles(values, n=20, method="inclusive")
    return Box(cuts[0], cuts[4], cuts[9], cuts[14], cuts[18], min(values), fmean(values))


def _series(trial: Trial, samples: Sequence[Sample], most: int, origin: float, *, steady: bool) -> Series:
    warm = [sample for sample in samples if sample.step is Step.WARM_UP]
    measured = [sample for sample in samples if sample.step is Step.MEASURE]
    share = most if not warm else max(_FEWEST // 2, most * len(measured) // (len(warm) + len(measured)))
    drawn_warm = [warm[index] for index in thin([sample.tps for sample in warm], max(_FEWEST // 2, most - share))]
    drawn = [measured[index] for index in thin([sample.tps for sample in measured], share)]
    begins = measured[0].second if measured else None
    lost = [sample for sample in measured if sample.lost]
    first = samples[0] if samples else None
    return Series(
        trial=trial,
        seconds=[sample.second for sample in (*drawn_warm, *drawn)],
        tps=[sample.tps for sample in (*drawn_warm, *drawn)],
        warm=len(drawn_warm),
        zero=max((sample.second for sample in warm if begins is None or sample.second < begins), default=0),
        base=round((first.at - first.second if first else trial.started) - origin, 1),
        box=box([sample.tps for sample in measured if not sample.lost]) if trial.state is TrialState.DONE else None,
        lost=[(lost[index].second, lost[index].tps) for index in thin([sample.tps for sample in lost], _MOST_LOST)],
        lost_seconds=round(sum(sample.seconds for sample in lost)),
        steady=steady,
        gaps=_gaps((drawn_warm, drawn)),
    )


def _gaps(parts: Sequence[Sequence[Sample]]) -> list[int]:
    """Return where lines break: at the points that begin another number of threads, and between the parts of such a trial."""
    if len({sample.threads for part in parts for sample in part}) < 2:
        return []
    points = [(place, sample.threads) for place, part in enumerate(parts) for sample in part]
    return [index for index, (before, own) in enumerate(pairwise(points), start=1) if before != own]


def _short(value: float) -> float | int:
    rounded = round(value, 1 if value >= 10 else 3 if value >= 1 else 6)
    return int(rounded) if rounded == int(rounded) else rounded
