"""Whether the gain of a choice that was set by SET lasts: it is measured in a long window, beside the baseline.

Where the server lives on, a value has been in force for half a minute when its trial ends. What comes later, such as a redo log
that fills up or a pool that turns over, is in no trial.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from dialin.model.record import StudyRecord
from dialin.model.study import StudySpec, Switch
from dialin.model.trial import Purpose, Sample, Step, Trial, TrialState
from dialin.model.verdict import Note
from dialin.stats.late_effect import AFTER_SHARE, is_lost, is_suspect, late_change
from dialin.stats.throughput import by_typical_speed
from dialin.stats.trial_figures import Figures, figures, trial_speeds
from dialin.stats.trial_fit import FittedDifference, TimedTrial, fit_trials
from dialin.verdict import comparison

CODE = "late_effect"

MOST = 2
"""Long windows of each, where the first ones leave it open."""

_LONGEST = 240.0
"""Seconds of a long window."""

_OF_BUDGET = 8
"""A long window takes no more than this part of the budget."""

_AT_LEAST = 3
"""A window shorter than so many of the study's own shows nothing new."""


def long_window(spec: StudySpec, measure: float) -> float:
    """Return the seconds of the long windows of a study whose trials measure `measure` seconds; 0 where it has none.

    It has none where each trial starts the server, where the load has no seconds of one level to compare, and where throughput
    does not show what the server can do: at a requested rate.
    """
    load = spec.workload
    is_other = spec.switch is not Switch.SET or spec.aa or spec.live is not None or spec.tune is not None
    if is_other or load.traits.runs is not None or load.number_of_levels > 1 or load.rate:
        return 0.0
    seconds = float(round(min(_LONGEST, spec.minutes * 60 / _OF_BUDGET)))
    return seconds if seconds >= _AT_LEAST * measure else 0.0


@dataclass(frozen=True, slots=True)
class LongWindows:
    """The completed long windows of a choice and of the baseline, and what they say; `change` is None before both have one."""

    of: Mapping[str, Sequence[Trial]]
    ratio: float = 1.0
    change: FittedDifference | None = None

    def left(self, margin: float) -> list[tuple[int, str]]:
        """Return the windows that are to be measured, each with its place."""
        again = self.change is not None and is_suspect(self.change, margin) and not is_lost(self.change, margin)
        wanted = MOST if again else 1
        return [(place, name) for place, name in enumerate(self.of, start=1) if len(self.of[name]) < wanted]


def long_windows(
    spec: StudySpec,
    trials: Sequence[Trial],
    known: Mapping[int, Figures],
    samples: Mapping[int, Sequence[Sample]],
    choice: str,
) -> LongWindows:
    """Return the long windows of a choice and of the baseline; `known` are the figures of the study's trials."""
    done = [trial for trial in trials if trial.purpose is Purpose.LONG and trial.state is TrialState.DONE]
    of = {name: [trial for trial in done if trial.candidate == name] for name in (spec.baseline, choice)}
    late = {name: [one for trial in own if (one := _late(trial, samples.get(trial.id, ())))] for name, own in of.items()}
    if choice == spec.baseline or not all(late.values()):
        return LongWindows(of)
    speeds = by_typical_speed(trial_speeds(comparison.racing(trials), known))
    fitted = fit_trials(speeds, spec.names)
    if fitted is None or not late.keys() <= set(fitted.names):
        return LongWindows(of)
    ratio = math.exp(fitted.difference(choice, spec.baseline).mean)
    return LongWindows(of, ratio, late_change(fitted, speeds, late, choice, spec.baseline))


def places_left(record: StudyRecord, known: Mapping[int, Figures], choice: str) -> list[tuple[int, str]]:
    """Return the long windows that a study still needs, each with its place; none where the baseline is the choice."""
    spec = record.spec
    if choice == spec.baseline:
        return []
    return long_windows(spec, record.trials, known, record.samples, choice).left(math.log1p(spec.worthwhile))


def confounds(
    spec: StudySpec, trials: Sequence[Trial], known: Mapping[int, Figures], samples: Mapping[int, Sequence[Sample]]
) -> list[Note]:
    """Return a confound for each choice that loses in its long windows what it gained in the trials."""
    measured = {trial.candidate for trial in trials if trial.purpose is Purpose.LONG} - {spec.baseline}
    notes = []
    for name in sorted(measured):
        windows = long_windows(spec, trials, known, samples, name)
        if windows.change is None or not is_lost(windows.change, math.log1p(spec.worthwhile)):
            continue
        seconds = windows.of[name][0].steps[Step.MEASURE]
        data = {
            "candidate": name,
            "ratio": windows.ratio,
            "late_ratio": windows.ratio * math.exp(windows.change.mean),
            "seconds": seconds,
            "since": seconds * AFTER_SHARE,
        }
        notes.append(Note(code=CODE, data={**data, "could_explain": True, "inert": False, "hold": {}}))
    return notes


def _late(trial: Trial, samples: Sequence[Sample]) -> TimedTrial | None:
    measured = [sample for sample in samples if sample.step is Step.MEASURE]
    summed = figures(measured[round(len(measured) * AFTER_SHARE) :])
    if summed is None or summed.typical <= 0:
        return None
    return TimedTrial(trial.run, trial.candidate, trial.middle, summed.typical, summed.error)
