"""Stores what a worker reports, passes it on to the watcher, and writes the progress; nothing else writes a study's trials."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from typing import Any

from sqlalchemy.exc import SQLAlchemyError

from dialin.clock import Clock
from dialin.errors import DialinError, InterruptedStudyError, OutOfTimeError, machine_error
from dialin.model.progress import HostProgress, Progress, SessionState, Standing, Watcher
from dialin.model.study import StudySpec
from dialin.model.trial import Sample, Step, Trial, TrialState
from dialin.model.verdict import Verdict
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


_MANY_HOSTS = 8
"""Number of hosts from which on progress is stored once per second: with hundreds it changes far more often than it is read."""


class ProgressWriter:
    """A watcher that passes everything on to another one, and stores the study's progress."""

    def __init__(self, store: Store, clock: Clock, watcher: Watcher) -> None:
        self._store = store
        self._clock = clock
        self._watcher = watcher
        self._stored_at = 0.0
        self._is_behind = False
        before = store.progress()
        self._progress = Progress(SessionState.RUNNING, clock.now(), standings=before.standings if before else {})

    @contextmanager
    def session(self) -> Iterator[None]:
        """Store that a session begins, and how it ends; one that is killed stores no end."""
        self._store_progress()
        try:
            yield
        except (KeyboardInterrupt, GeneratorExit, InterruptedStudyError):
            self._store_progress(session=SessionState.STOPPED, step=None)
            raise
        except OutOfTimeError:
            self._store_progress(session=SessionState.FINISHED, step=None)
            raise
        except Exception as error:
            known = error if isinstance(error, DialinError) else machine_error(error)
            reason = known.what if known is not None else f"A fault of dialin itself: {type(error).__name__}"
            self._store_progress(session=SessionState.FAILED, step=None, reason=reason)
            raise
        self._store_progress(session=SessionState.FINISHED, step=None)

    def study_began(self, spec: StudySpec, blocks_planned: int, seconds_planned: float) -> None:
        self._watcher.study_began(spec, blocks_planned, seconds_planned)
        self._store_progress(blocks=blocks_planned, ends=self._clock.now() + seconds_planned)

    def hosts_changed(self, hosts: Sequence[str]) -> None:
        self._watcher.hosts_changed(hosts)
        new = HostProgress(since=self._clock.now())
        self._store_progress(hosts={name: self._progress.hosts.get(name, new) for name in hosts})

    def candidates_entered(self, spec: StudySpec) -> None:
        """Pass the event on; the store has the candidates already."""
        self._watcher.candidates_entered(spec)

    def message(self, text: str) -> None:
        """Pass the text on; the store's log has it already."""
        self._watcher.message(text)

    def trial_began(self, trial: Trial, seconds_left: float) -> None:
        self._watcher.trial_began(trial, seconds_left)
        now = self._clock.now()
        self._store_soon(ends=now + seconds_left, step=None, hosts=self._hosts(trial, lambda one: one.began(trial, now)))

    def step_began(self, trial: Trial, step: Step) -> None:
        self._watcher.step_began(trial, step)
        now = self._clock.now()
        hosts = self._hosts(trial, lambda one: one.at_step(step, now))
        self._store_soon(step=step, step_began=now, hosts=hosts)

    def sampled(self, trial: Trial, sample: Sample) -> None:
        """Pass the sample on; the store has it already, but perhaps not the progress of its host."""
        self._watcher.sampled(trial, sample)
        if self._is_behind:
            self._store_soon()

    def trial_ended(self, trial: Trial, standings: Mapping[str, Standing]) -> None:
        self._watcher.trial_ended(trial, standings)
        hosts = self._hosts(trial, lambda one: one.ended(self._clock.now()))
        self._store_soon(standings=dict(standings), step=None, hosts=hosts)

    def study_ended(self, verdict: Verdict) -> None:
        self._watcher.study_ended(verdict)

    def _hosts(self, trial: Trial, change: Callable[[HostProgress], HostProgress]) -> dict[str, HostProgress]:
        """Return the progress of all hosts after that of one has changed; a host that was lost meanwhile is not added."""
        hosts = dict(self._progress.hosts)
        if trial.host in hosts or not hosts:
            hosts[trial.host] = change(hosts.get(trial.host, HostProgress()))
        return hosts

    def _store_soon(self, **changes: Any) -> None:
        """Store what has changed at once; with many hosts, with the first event that is a second after the last write."""
        self._progress = replace(self._progress, **changes)
        self._is_behind = len(self._progress.hosts) >= _MANY_HOSTS and self._clock.now() < self._stored_at + 1
        if not self._is_behind:
            self._store_progress()

    def _store_progress(self, **changes: Any) -> None:
        self._progress = replace(self._progress, **changes)
        self._stored_at = self._clock.now()
        # A full disk must not keep a trial from ending in order; storing its samples reports the problem soon enough.
        with suppress(DialinError, SQLAlchemyError):
            self._store.save_progress(self._progress)
