"""The budget of a study: minutes of wall clock, in which every host runs trials one after another."""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Callable
from dataclasses import dataclass

from dialin.clock import Clock
from dialin.evidence import measured
from dialin.evidence.reasons.significance import choose_pair
from dialin.model.trial import Purpose, TrialState
from dialin.question.plan import Plan, profile_trials, wait_trial_seconds
from dialin.race.state import RaceState
from dialin.stats.allocation import SIZE
from dialin.verdict import comparison

MAY_OVERRUN = 1.03
"""By how much a budget may be overrun to finish a block."""

_ROUNDING = 1e-9
"""The share of a trial by which floating point may be off where the budget holds a whole number of trials."""


@dataclass(slots=True)
class _Run:
    """How many trials of a session have ended on a host, and their seconds."""

    trials: int = 0
    seconds: float = 0.0


@dataclass(slots=True)
class Pace:
    """How long trials took beside what was planned, over all studies that share a budget."""

    planned: float = 0.0
    taken: float = 0.0

    def add(self, planned: float, taken: float) -> None:
        """Add a completed trial, in seconds."""
        self.planned += planned
        self.taken += taken

    @property
    def ratio(self) -> float:
        """How many times as long as planned trials take; 1 until one is completed."""
        return self.taken / self.planned if self.planned else 1.0


class Budget:
    """The minutes of a study, of which `state` and the clock show how many were used; the session begins now.

    `count_hosts` returns how many hosts run trials at once, and `seconds_elsewhere` how much other studies have used, whose
    trials, too, are in `pace`.
    """

    def __init__(
        self,
        state: RaceState,
        plan: Plan,
        clock: Clock,
        session: int,
        count_hosts: Callable[[], int],
        seconds_elsewhere: Callable[[], float] = lambda: 0.0,
        pace: Pace | None = None,
    ) -> None:
        self._state = state
        self._plan = plan
        self._clock = clock
        self._session = session
        self._count_hosts = count_hosts
        self._seconds_elsewhere = seconds_elsewhere
        self._pace = pace or Pace()
        self._began = clock.monotonic()
        self._counted = 0
        self._by_run: dict[tuple[int, str], _Run] = defaultdict(_Run)
        self._waited = 0.0
        self._completed = _Run()

    def replan(self, plan: Plan) -> None:
        """Use another plan: the trials so far no longer show how long one takes."""
        self._count()
        self._plan = plan
        self._completed = _Run()

    def blocks_planned(self) -> int:
        """Return about how many blocks the budget holds: a first one of all candidates per host, then those of contenders."""
        count, hosts = len(self._state.spec.candidates), max(1, self._count_hosts())
        if self._state.spec.is_aa:
            return self._plan.blocks * hosts
        return hosts * (1 + (self._plan.blocks - 1) * count // min(SIZE, count))

    def fits(self, count: int) -> bool:
        """Return whether one host can run `count` more trials within the budget, beside those with costly instruments."""
        return count <= self.trials_that_fit()

    def trials_that_fit(self) -> int:
        """Return how many trials one host can still run; they may overrun the budget a little."""
        left = MAY_OVERRUN * self._state.spec.minutes * 60 - self._seconds_gone() - self._reserved()
        if left < 0:  # the other studies may have used it up, or ended
            return 0
        return max(0, math.floor(left / self.trial_seconds() + _ROUNDING))

    def exclude(self, seconds: float) -> None:
        """Leave out seconds of this session in which the study was paused."""
        self._waited += seconds

    def _seconds_gone(self) -> float:
        return self.seconds_used() + self._seconds_elsewhere()

    def seconds_used(self) -> float:
        """Return the seconds of wall clock that were used: all of this session, and the trials of earlier sessions.

        Hosts run at the same time: an earlier session counts as long as the trials of its busiest host.
        """
        busiest: dict[int, float] = defaultdict(float)
        self._count()
        for (session, _), run in self._by_run.items():
            busiest[session] = max(busiest[session], run.seconds)
        in_session = busiest.pop(self._session, 0.0)
        return sum(busiest.values()) + max(in_session, self._seconds_of_session())

    def trial_seconds(self) -> float:
        """Return how long a trial takes, with the time up to the next one: as measured in this study.

        Until it has completed one: as planned, at the pace of the studies that share the budget.
        """
        self._count()
        if not self._completed.trials:
            return self._plan.trial_seconds * self._pace.ratio
        ours = [run for (session, _), run in self._by_run.items() if session == self._session]
        busiest = max(ours, key=lambda run: run.seconds, default=_Run())
        between = max(0.0, self._seconds_of_session() - busiest.seconds) / busiest.trials if busiest.trials else 0.0
        return self._completed.seconds / self._completed.trials + between

    def seconds_left(self, trials_needed: int | None) -> float:
        """Estimate the seconds left: the trials that a safe choice is expected to need, else what the budget holds."""
        left = max(0.0, self._state.spec.minutes * 60 - self._seconds_gone())
        if trials_needed is None:
            return left
        return min(left, trials_needed * self.trial_seconds() / max(1, self._count_hosts()) + self._reserved())

    def switch_seconds(self) -> float:
        """Return how long a trial takes beside its window."""
        return self.trial_seconds() - self._plan.measure

    def seconds_free(self) -> float:
        """Return the seconds left beside those that are kept for trials after the verdict."""
        return self.seconds_left(None) - self._reserved()

    def _seconds_of_session(self) -> float:
        """Return the seconds of this session, without those in which trials waited."""
        self._count()
        return self._clock.monotonic() - self._began - self._waited

    def _reserved(self) -> float:
        return reserved_seconds(self._state, self.trial_seconds())

    def _count(self) -> None:
        """Add the trials that have ended since the last time: with hundreds of hosts, adding up all of them takes long."""
        trials = self._state.trials[self._counted :]
        self._counted += len(trials)
        for trial in trials:
            runs = [self._by_run[trial.run]]
            if trial.state is TrialState.DONE and trial.purpose.is_charted:
                runs.append(self._completed)
                self._pace.add(self._plan.trial_seconds, trial.seconds)
            for run in runs:
                run.trials += 1
                run.seconds += trial.seconds
            if trial.session == self._session:
                self._waited += trial.waited


def to_run(state: RaceState, purpose: Purpose) -> list[list[str]]:
    """Return the candidates that lack a trial of a purpose, once there is a verdict, block by block.

    Raw waits are of every candidate that was measured, profiles of the baseline and the choice unless all are requested. Where
    the baseline is the choice, the candidate that differs most from it is profiled.
    """
    measured_names = {trial.candidate for trial in state.race_trials if trial.state is TrialState.DONE}
    if purpose is Purpose.WAITS:
        return [[name for name in names if name in measured_names] for names in _without_waits(state)]
    if not state.spec.is_profiled:
        return []
    if state.spec.profile_candidates:
        return _lacking(state, purpose, [name for name in state.spec.names if name in measured_names])
    record = state.record
    pair = choose_pair(record, measured.of(record))
    return _lacking(state, purpose, [pair.baseline, pair.other]) if pair else []


def reserved_seconds(state: RaceState, trial_seconds: float) -> float:
    """Return the seconds of the budget that the trials to come take; `trial_seconds` is the time of any other trial."""
    waits = sum(map(len, _without_waits(state))) * wait_trial_seconds(state.spec, trial_seconds)
    profiled = sum(trial.purpose is Purpose.PROFILE and trial.has_ended for trial in state.trials)
    return waits + max(0, profile_trials(state.spec) - profiled) * trial_seconds


def _without_waits(state: RaceState) -> list[list[str]]:
    """Return the candidates that lack trials for raw waits, block by block; none where the study collects no waits."""
    if not state.spec.waits:
        return []
    raced = state.race_trials
    names = [name for name in state.spec.names if not comparison.is_given_up(name, raced)]
    return _lacking(state, Purpose.WAITS, names, state.spec.wait_trials)


def _lacking(state: RaceState, purpose: Purpose, names: list[str], blocks: int = 1) -> list[list[str]]:
    """Return which of the names lack their trial in each of so many blocks; the first blocks are complete first."""
    ended = Counter(trial.candidate for trial in state.trials if trial.purpose is purpose and trial.has_ended)
    return [[name for name in names if ended[name] <= block] for block in range(blocks)]
