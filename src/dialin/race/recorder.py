"""Stores what a worker reports, and passes it on to the watcher; nothing else writes a study's trials."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace

from dialin.clock import Clock
from dialin.errors import DialinError
from dialin.model.progress import Watcher
from dialin.model.trial import Step, Trial, TrialState
from dialin.store.store import Store
from dialin.trials.events import Event, Evidence, Sampled, StepBegan, TrialBegan, Verified


class Recorder:
    """Takes the events of one trial after another.

    Each event goes to the watcher, except the end of a trial, which the race evaluates first. `seconds_left` estimates the
    seconds until the end of the study.
    """

    def __init__(self, store: Store, clock: Clock, watcher: Watcher, seconds_left: Callable[[], float] = lambda: 0.0) -> None:
        self._store = store
        self._clock = clock
        self._watcher = watcher
        self._seconds_left = seconds_left
        self._running: Trial | None = None
        self._steps: dict[Step, float] = {}
        self._step: tuple[Step, float] | None = None

    def record(self, event: Event) -> Trial | None:
        """Store an event, and return the trial that it ends.

        Raises:
            DialinError: the store cannot be written.
        """
        if isinstance(event, TrialBegan):
            self._running, self._steps, self._step = event.trial, {}, None
            self._store.begin_trial(event.trial)
            self._watcher.trial_began(event.trial, self._seconds_left())
            return None
        if self._running is None:
            raise RuntimeError(f"no trial runs to which {type(event).__name__} belongs")
        if isinstance(event, StepBegan):
            self._end_step()
            self._step = (event.step, self._clock.monotonic())
            self._watcher.step_began(self._running, event.step)
        elif isinstance(event, Verified):
            self._running = replace(self._running, in_force=event.in_force, real=event.real)
        elif isinstance(event, Sampled):
            self._store.add_sample(self._running.id, event.sample)
            self._watcher.sampled(self._running, event.sample)
        else:
            self._store_evidence(event.trial.id, event.evidence)
            self._running = event.trial  # a Ctrl-C during the save keeps it as it ended
            self._store.save_trial(event.trial)
            self._running = None
            return event.trial
        return None

    def interrupt(self) -> Trial | None:
        """Store the trial that runs as interrupted, and return it; None where none runs. One that has ended stays as it is."""
        if self._running is None:
            return None
        self._end_step()
        ended = self._running
        if ended.state is TrialState.RUNNING:
            ended = replace(ended, state=TrialState.INTERRUPTED, steps=dict(self._steps))
        self._running = None
        # The user must see what interrupted the trial, even where the disk is full and the trial cannot be saved.
        with suppress(DialinError):
            self._store.save_trial(ended)
        return ended

    def _end_step(self) -> None:
        if self._step is not None:
            step, began = self._step
            self._steps[step] = self._steps.get(step, 0.0) + self._clock.monotonic() - began
            self._step = None

    def _store_evidence(self, trial_id: int, evidence: Evidence) -> None:
        if evidence.watched:
            self._store.save_watched(trial_id, evidence.watched, evidence.points)
        if evidence.waits is not None:
            self._store.save_waits(trial_id, evidence.waits, evidence.waits_file)
        if evidence.profile is not None:
            self._store.save_profile(trial_id, evidence.profile)
