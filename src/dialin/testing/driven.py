"""Tells a watcher a study that nobody runs, as if it ran."""

from __future__ import annotations

import math
from collections.abc import Callable
from statistics import fmean

from dialin.model.progress import Standing, Watcher
from dialin.model.record import StudyRecord
from dialin.model.trial import Purpose, Step, TrialState


def drive(record: StudyRecord, watcher: Watcher, tick: Callable[[float], None] = lambda _: None) -> None:
    """Tell a watcher a study from its beginning to its end, as if it ran.

    Args:
        record: the study.
        watcher: who listens.
        tick: called before each event with the time of it, seconds since the epoch, to move a clock.
    """
    total = sum(sum(trial.steps.values()) for trial in record.trials)
    tick(record.created)
    blocks = max((trial.block for trial in record.trials if trial.purpose is Purpose.RACE), default=0)
    watcher.study_began(record.spec, blocks, total)
    watcher.said(record.log[0].text)
    left = total
    for number, trial in enumerate(record.trials, start=1):
        tick(trial.started)
        watcher.trial_began(trial, left)
        at = trial.started
        for step, spent in trial.steps.items():
            tick(at)
            watcher.step_began(trial, step)
            at += spent
            for sample in record.samples.get(trial.id, ()):
                if sample.step is step:
                    tick(sample.at)
                    watcher.sampled(trial, sample)
        left -= sum(trial.steps.values())
        watcher.trial_ended(trial, _standings(record, number))
    if record.verdict is not None:
        watcher.study_ended(record.verdict)


def _standings(record: StudyRecord, ended: int) -> dict[str, Standing]:
    so_far = [trial for trial in record.trials[:ended] if trial.purpose is Purpose.RACE]
    over = record.trials[ended].block - 1 if ended < len(record.trials) else record.trials[-1].block
    judged_on = record.verdict.candidates if record.verdict else []
    gone = {one.name for one in judged_on if one.left_after is not None and one.left_after <= over}
    standings = {}
    for candidate in record.spec.candidates:
        means, base = (
            {
                trial.block: fmean(
                    sample.tps for sample in record.samples[trial.id] if sample.step is Step.MEASURE and not sample.lost
                )
                for trial in so_far
                if trial.candidate == name and trial.state is TrialState.DONE
            }
            for name in (candidate.name, record.spec.baseline)
        )
        logs = [math.log(mean / base[block]) for block, mean in means.items() if block in base]
        standings[candidate.name] = Standing(
            trials=len(means),
            failed=sum(1 for trial in so_far if trial.candidate == candidate.name and trial.state is TrialState.FAILED),
            tps=fmean(means.values()) if means else None,
            ratio=math.exp(fmean(logs)) if logs else None,
            left=candidate.name in gone,
        )
    return standings
