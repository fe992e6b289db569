"""Whether the gain of a choice that was set by SET lasts: it is measured in a long window, beside the baseline.

Where the server lives on, a value has been in force for half a minute when its trial ends. What comes later, such as a redo log
that fills up or a pool that turns over, is in no trial.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from dialin.model.record import StudyRecord
from dialin.model.study import StudySpec, Switch
from dialin.model.trial import Purpose, Sample, Step, Trial, TrialState
from dialin.model.verdict import Verdict
from dialin.sentences.load_notes import LateEffect
from dialin.stats.contrasts import AFTER_SHARE, LateChange, late_change
from dialin.stats.throughput import by_typical_speed
from dialin.stats.trial_figures import Figures, figures, trial_speeds
from dialin.stats.trial_fit import TimedTrial, fit_trials
from dialin.verdict import comparison

ROUNDS = 4
"""The most times that long windows of a choice and the baseline are measured, whatever becomes the choice meanwhile."""

_PAIRS = 2
"""Long windows of each where the first ones show, or leave open, that the gain is lost."""

_STILL = 1e-3
"""Transactions per second of a window in which nothing was done."""

_LONGEST = 240.0
"""Seconds of a long window."""

_OF_BUDGET = 8
"""A long window takes no more than this part of the budget."""

_AT_LEAST = 3
"""A window shorter than so many of the study's own shows nothing new."""


def long_window(spec: StudySpec, measure: float) -> float:
    """Return the seconds of the long windows of a study whose trials measure `measure` seconds; 0 where it has none.

    It has none where each trial starts the server, where the load adds data or has no seconds of one level to compare, and
    where throughput does not show what the server can do: at a requested rate.
    """
    load = spec.workload
    is_other = spec.switch is not Switch.SET or spec.is_aa or spec.is_live or spec.tuned
    if is_other or load.traits.grows or load.traits.runs is not None or load.number_of_levels > 1 or load.rate:
        return 0.0
    seconds = float(round(min(_LONGEST, spec.minutes * 60 / _OF_BUDGET)))
    return seconds if seconds >= _AT_LEAST * measure else 0.0


@dataclass(frozen=True, slots=True)
class LongWindows:
    """The long windows of the baseline and of a choice, in pairs of one run; `change` is None before there is a pair."""

    pairs: Sequence[tuple[Trial, Trial]] = ()
    ratio: float = 1.0
    change: LateChange | None = None


def _pairs(trials: Sequence[Trial], baseline: str, choice: str) -> list[tuple[Trial, Trial]]:
    """Return the windows that are compared: in another run of trials the machine is in another state."""
    done = [trial for trial in trials if trial.purpose is Purpose.LONG and trial.state is TrialState.DONE]
    runs = dict.fromkeys(trial.run for trial in done)
    of = {
        name: {run: [one for one in done if (one.run, one.candidate) == (run, name)] for run in runs}
        for name in (baseline, choice)
    }
    return [pair for run in runs for pair in zip(of[baseline][run], of[choice][run], strict=False)]


def long_windows(
    spec: StudySpec,
    trials: Sequence[Trial],
    known: Mapping[int, Figures],
    samples: Mapping[int, Sequence[Sample]],
    choice: str,
) -> LongWindows:
    """Return the long windows of a choice and of the baseline; `known` are the figures of the study's trials."""
    pairs = _pairs(trials, spec.baseline, choice)
    late = [(first, second) for one, other in pairs if (first := _late(one, samples)) and (second := _late(other, samples))]
    speeds = by_typical_speed(trial_speeds(comparison.racing(trials), known))
    fitted = fit_trials(speeds, spec.names) if late else None
    if fitted is None or not {spec.baseline, choice} <= set(fitted.names):
        return LongWindows(pairs)
    windows = {spec.baseline: [one for one, _ in late], choice: [other for _, other in late]}
    ratio = math.exp(fitted.difference(choice, spec.baseline).mean)
    return LongWindows(pairs, ratio, late_change(fitted, speeds, windows, choice, spec.baseline))


def places_left(record: StudyRecord, known: Mapping[int, Figures], choice: str) -> list[tuple[int, str]]:
    """Return the long windows that a study needs next, each with its place; none where the baseline is the choice.

    The second pair has the other order, so that what drifts or grows is not taken for an effect.
    """
    spec = record.spec
    if choice == spec.baseline:
        return []
    windows = long_windows(spec, record.trials, known, record.samples, choice)
    again = windows.change is not None and windows.change.is_suspect(math.log1p(spec.worthwhile))
    if len(windows.pairs) >= (_PAIRS if again else 1):
        return []
    order = (choice, spec.baseline) if windows.pairs else (spec.baseline, choice)
    return list(enumerate(order, start=1))


def still_asked(verdict: Verdict, choice: str) -> str:
    """Return the candidate that is asked about after a pair of windows: the same one where they leave only the baseline."""
    return choice if verdict.recommended_candidate == verdict.baseline else verdict.recommended_candidate


def has_windows(trials: Sequence[Trial]) -> bool:
    """Return whether a long window was begun, for any choice."""
    return any(trial.purpose is Purpose.LONG for trial in trials)


def confounds(
    spec: StudySpec, trials: Sequence[Trial], known: Mapping[int, Figures], samples: Mapping[int, Sequence[Sample]]
) -> Iterator[LateEffect]:
    """Yield a confound for each choice that loses in its long windows what it gained in the trials."""
    measured = {trial.candidate for trial in trials if trial.purpose is Purpose.LONG} - {spec.baseline}
    for name in sorted(measured):
        windows = long_windows(spec, trials, known, samples, name)
        if windows.change is None or not windows.change.is_lost(math.log1p(spec.worthwhile)):
            continue
        seconds = windows.pairs[0][1].steps[Step.MEASURE]
        yield LateEffect(
            candidate=name,
            ratio=windows.ratio,
            late_ratio=math.exp(windows.change.late),
            seconds=seconds,
            since=seconds * AFTER_SHARE,
        )


def _late(trial: Trial, samples: Mapping[int, Sequence[Sample]]) -> TimedTrial | None:
    measured = [sample for sample in samples.get(trial.id, ()) if sample.step is Step.MEASURE]
    summed = figures(measured[round(len(measured) * AFTER_SHARE) :])
    if summed is None:
        return None
    return TimedTrial(trial.run, trial.candidate, trial.middle, max(summed.typical, _STILL), summed.error)
