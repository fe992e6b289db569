"""Runs the blocks of a study until the verdict is sure enough or the budget is spent."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import closing
from itertools import takewhile
from typing import Any

from dialin.cause_sentences import with_advice
from dialin.clock import Clock
from dialin.errors import DialinError, InterruptedStudyError, ServerError
from dialin.fleet.worker import BlockRequest, Worker
from dialin.model.progress import Standing, Watcher
from dialin.model.record import LogCode, LogLine, Look
from dialin.model.study import Candidate, StudySpec, Until
from dialin.model.trial import Block, Purpose, Trial, TrialState, first_driver_choices
from dialin.model.verdict import Verdict
from dialin.preflight.admission import Admit, refuse
from dialin.question.plan import WAIT_TRIALS, Plan, block_order, wait_trial_seconds
from dialin.race.recorder import Recorder
from dialin.race.state import RaceState
from dialin.report.log_sentences import log_text
from dialin.search.proposer import CONTENDERS, Proposer, Room
from dialin.stats.allocation import SIZE
from dialin.stats.looks import is_due
from dialin.store.store import Store
from dialin.verdict import changed_during_trial, comparison
from dialin.verdict.effective_settings import EffectiveSettings
from dialin.verdict.reach_verdict import reach_verdict, standings

MAY_OVERRUN = 1.03
"""By how much a budget may be overrun to finish a block."""

CONFIRMING_BLOCKS = 6
"""Fresh blocks of the choice and the baseline that confirm it; each is two trials."""

_ENDED = (TrialState.DONE, TrialState.FAILED)
_PROPOSALS = 3
"""The most times that a proposer is asked for one block, where its new candidates cannot enter."""

_ROUNDING = 1e-9
"""Of a trial: what floating point may be off where the budget holds a whole number of trials."""

_FAILURES_IN_A_ROW = 3
"""Failed trials in a row, of several candidates that could be measured before, that end a study."""

_WAIT_TRIES = 2
"""Times that a trial for raw waits is run where the host itself stood still for most of it."""


class Runner:
    """Runs a study, from its beginning or from where it was interrupted.

    `session` is the number of this run of dialin, and `inspected` the effective settings of the candidates at their inspection.
    `admit` checks a candidate that the study does not have yet. `stop_asked` is called before each block that the budget holds.
    """

    def __init__(
        self,
        store: Store,
        clock: Clock,
        watcher: Watcher,
        plan: Plan,
        worker: Worker,
        session: int,
        *,
        proposer: Proposer = CONTENDERS,
        admit: Admit = refuse,
        inspected: Mapping[str, EffectiveSettings] | None = None,
        stop_asked: Callable[[], bool] = lambda: False,
    ) -> None:
        self._store = store
        self._clock = clock
        self._watcher = watcher
        self._plan = plan
        self._worker = worker
        self._session = session
        self._proposer = proposer
        self._admit = admit
        self._inspected = dict(inspected or {})
        self._refused: dict[str, str] = {}
        self._stop_asked = stop_asked
        self._recorder = Recorder(store, clock, watcher, self._seconds_left)
        self._to_go: int | None = None
        self._began = clock.monotonic()

    @property
    def _spec(self) -> StudySpec:
        return self._state.spec

    def run(self) -> Verdict:
        """Run blocks until the study is decided, then store and return its verdict.

        Raises:
            ServerError: no candidate could be measured at all.
            ChangedByOthersError: somebody else keeps changing a variable under test.
            InterruptedStudyError: somebody asked for an end after the block under way.
        """
        self._began = self._clock.monotonic()
        self._state = RaceState(self._store)
        self._watcher.study_began(self._spec, self._blocks_planned(), self._seconds_left())
        number = 1
        while not self._decided():
            block = self._state.block(number, Purpose.RACE) or self._propose(number)
            if block is None or not self._run_block(block):
                break
            self._look_if_due(number)
            number += 1
        verdict = self._conclude()
        if self._spec.confirm and not self._spec.aa:
            verdict = self._confirm(verdict)
        if self._spec.waits:
            self._collect_waits()
        self._watcher.study_ended(verdict)
        return verdict

    def _blocks_planned(self) -> int:
        """Return about how many blocks the budget holds: a first one of all candidates, then those of contenders."""
        count = len(self._spec.candidates)
        if self._spec.aa:
            return self._plan.blocks
        return 1 + (self._plan.blocks - 1) * count // min(SIZE, count)

    def _decided(self) -> bool:
        return not self._spec.aa and any(look.decided for look in self._state.looks)

    def _propose(self, number: int) -> Block | None:
        """Begin a block of the candidates that are proposed; None where the race is over or the budget does not hold it.

        Raises:
            ServerError: no candidate is left that could be measured.
        """
        for _ in range(_PROPOSALS):
            history = self._state.history(self._refused)
            if not history.in_the_race:
                raise self._all_failed()
            room = Room(number, self._trials_that_fit())
            named = {candidate.name: candidate for candidate in self._proposer.propose(history, room)}
            known = {candidate.name for candidate in self._spec.candidates}
            unknown = [candidate for name, candidate in named.items() if name not in known]
            if len(named) < 2 or not self._fits(len(named)):  # one alone is compared with nothing
                return None
            entering = [admitted for candidate in unknown if (admitted := self._admitted(candidate, number)) is not None]
            if len(entering) == len(unknown):
                names = [name for name in named if name in known] + [candidate.name for candidate in entering]
                return self._begin_block(number, names, Purpose.RACE, entering)
        self.log(LogCode.PROPOSALS_REFUSED, block=number, times=_PROPOSALS)
        return None

    def _admitted(self, candidate: Candidate, number: int) -> Candidate | None:
        try:
            named, settings = self._admit(self._spec, candidate)
        except DialinError as error:
            self._refused[candidate.name] = error.what
            self.log(LogCode.CANDIDATE_REFUSED, candidate=candidate.name, cause=error.cause.as_stored())
            return None
        if settings is not None:
            self._inspected[named.name] = settings
        self.log(LogCode.CANDIDATE_JOINS, candidate=named.name, block=number, setting=dict(named.setting))
        return named.model_copy(update={"born": number})

    def _begin_block(self, number: int, names: Collection[str], purpose: Purpose, entering: Sequence[Candidate] = ()) -> Block:
        """Write a block down with its order, after the budget was found to hold it."""
        self._stop_where_asked()
        candidates = (*self._spec.candidates, *entering)
        members = [candidate.name for candidate in candidates if candidate.name in names]
        block = Block(number, purpose, tuple(block_order(self._spec.seed, number, members)))
        self._state.begin_block(block, entering)
        if entering:
            self._watcher.candidates_entered(self._spec)
        return block

    def _run_block(self, block: Block) -> bool:
        """Run the trials that a block still lacks. False where the budget does not hold them."""
        while missing := self._missing(block):
            if not self._fits(len(missing)):
                return False
            self._run_trials(block.number, missing, block.purpose)
            self._check_still_running()
        return True

    def _stop_where_asked(self) -> None:
        """Raise InterruptedStudyError between two blocks, where a stop was requested."""
        if self._stop_asked():
            self.log(LogCode.STOPPED)
            raise InterruptedStudyError("Stopped after a block, as requested", resumable=True)

    def _check_still_running(self) -> None:
        """End a study in which everything fails that did not before: what broke is not a candidate.

        Raises:
            ServerError: the newest trials all failed, of several candidates that could be measured before.
        """
        measured = {t.candidate for t in self._state.trials if t.state is TrialState.DONE}
        ended = [t for t in self._state.trials if t.state in _ENDED]
        failed = list(takewhile(lambda trial: trial.failure is not None and trial.candidate in measured, reversed(ended)))
        enough = min(_FAILURES_IN_A_ROW, len(self._state.in_the_race))
        if len(failed) >= enough and len({trial.candidate for trial in failed}) > 1:
            last = failed[0].failure
            reason = with_advice(last.cause) if last else "unknown"
            what = f"The last {len(failed)} trials failed, of candidates that could be measured before: {reason}"
            raise ServerError(what, "Correct that", last.log_tail if last else "", resumable=True)

    def _trials_of(self, block: Block) -> list[Trial]:
        # A study that goes on with more minutes gives blocks the numbers that its trials for raw waits have.
        return [t for t in self._state.trials if (t.block, t.purpose) == (block.number, block.purpose)]

    def _missing(self, block: Block) -> list[tuple[int, str]]:
        """Return what a block still lacks, each with its place; a finished trial is never run again."""
        finished = {t.candidate for t in self._trials_of(block) if t.state in _ENDED}
        return [(place, name) for place, name in enumerate(block.order, start=1) if name not in finished]

    def _run_trials(
        self,
        block: int,
        places: Sequence[tuple[int, str]],
        purpose: Purpose,
        measure: float | None = None,
        floor: float = 0.0,
    ) -> None:
        first, now = self._store.next_trial_id(), self._clock.now()
        trials = tuple(
            Trial(number, block, self._session, position, name, TrialState.RUNNING, now, purpose=purpose)
            for number, (position, name) in enumerate(places, start=first)
        )
        try:
            choices = first_driver_choices(self._state.trials)
            request = BlockRequest(self._spec, self._inspected, trials, choices, measure, floor)
            with closing(self._worker.run_block(request)) as events:
                for event in events:
                    if ended := self._recorder.record(event):
                        self._take(ended)
        except BaseException:
            self._recorder.break_off()
            raise

    def _take(self, ended: Trial) -> None:
        """Add a trial that has ended.

        Raises:
            ChangedByOthersError: somebody else keeps changing a variable under test.
        """
        if ended.failure and ended.state is TrialState.INTERRUPTED:
            cause = ended.failure.cause.as_stored()
            self.log(LogCode.SERVER_WENT_AWAY, trial=ended.id, candidate=ended.candidate, cause=cause)
        elif ended.failure:
            failed = {"step": ended.failure.step, "cause": ended.failure.cause.as_stored()}
            self.log(LogCode.TRIAL_FAILED, trial=ended.id, candidate=ended.candidate, **failed)
        elif ended.state is TrialState.INTERRUPTED and not ended.is_disturbed:
            self.log(LogCode.TRIAL_REPEATED, trial=ended.id, candidate=ended.candidate)
        for code, changes in changed_during_trial.to_log(ended).items():
            self.log(code, trial=ended.id, candidate=ended.candidate, changes=changes)
        state = self._state
        state.add(ended)
        self._watcher.trial_ended(ended, self._standings())
        changed_during_trial.check_not_contested(state.trials, self._session)

    def _standings(self) -> Mapping[str, Standing]:
        return standings(self._spec, self._state.trials, self._state.figures)

    def log(self, code: LogCode, **figures: Any) -> None:
        """Add a line to the study's log, and pass its sentence on to the watcher."""
        line = LogLine(self._clock.now(), code, figures)
        self._store.add_line(line)
        self._watcher.message(log_text(line))

    def _look_if_due(self, block: int) -> None:
        """Take a look, unless there is no room for another block: the last look is taken when the budget is over."""
        looks = self._state.looks
        looked = looks[-1].trials if looks and looks[-1].decided is not None else 0
        ended = len(self._state.ended)
        if ended > looked and is_due(ended, looked) and self._fits(min(SIZE, len(self._state.in_the_race))):
            self._look(block)

    def _look(self, blocks: int) -> Verdict:
        state, spec = self._state, self._spec
        taken, ended = state.looks, state.ended
        if not taken or taken[-1].decided is not None or taken[-1].trials != len(ended):  # else dialin was killed in this look
            state.add_look(Look(len(taken) + 1, blocks, trials=len(ended)))
        judgement = reach_verdict(state.record, state.figures)
        state.save_verdict(judgement.verdict, decided=judgement.decided)
        self._to_go = None
        if not judgement.decided and not spec.aa and spec.until is Until.SAFE:
            needed = comparison.trials_needed(spec, state.raced, state.figures, judgement.verdict.decided_by)
            self._to_go = None if needed is None else max(SIZE, needed - len(state.ended))
        return judgement.verdict

    def _conclude(self) -> Verdict:
        """Return the verdict of all blocks, after a further look where trials ended since the last one."""
        state = self._state
        finished = [trial.block for trial in state.raced if trial.state is TrialState.DONE]
        if not finished:
            raise self._all_failed()
        last = state.looks[-1] if state.looks else None
        judged = (
            last is not None and last.decided is not None and last.trials == len(state.ended) and last.blocks >= max(finished)
        )
        return state.verdict if state.verdict and judged else self._look(max(finished))

    def _confirm(self, verdict: Verdict) -> Verdict:
        """Measure a choice other than the baseline afresh against it, as far as the budget goes; no look is spent on it."""
        chosen, baseline = verdict.recommended_candidate, verdict.baseline
        if chosen == baseline:
            return verdict
        looked = max(look.blocks for look in self._state.looks)
        first = looked + 1
        self.log(LogCode.CONFIRMING, candidate=chosen)
        for block in range(first, first + CONFIRMING_BLOCKS):
            fresh = self._state.block(block, Purpose.CONFIRM)
            if fresh is None and self._fits(2):
                fresh = self._begin_block(block, (chosen, baseline), Purpose.CONFIRM)
            if fresh is None or not self._run_block(fresh):
                self.log(LogCode.CONFIRMING_CUT)
                break
        look = self._state.looks[-1]
        judgement = reach_verdict(self._state.record, self._state.figures)
        self._state.save_verdict(judgement.verdict, decided=bool(look.decided))
        return judgement.verdict

    def _collect_waits(self) -> None:
        """Run a trial for raw waits of each candidate that could be measured; they do not affect the verdict."""
        state = self._state
        block = comparison.block_of_waits(state.trials)
        measured = {t.candidate for t in comparison.racing(state.trials) if t.state is TrialState.DONE}
        left = [name for name in self._without_waits(state.trials) if name in measured]
        if left:
            self._stop_where_asked()
        for position, name in enumerate(left, start=1):
            for _ in range(_WAIT_TRIES):
                self._run_trials(block, [(position, name)], Purpose.WAITS)
                ended = state.trials[-1]
                if ended.state is not TrialState.INTERRUPTED:
                    break
            if waits := self._store.waits().get(ended.id):
                collected = {"pattern": waits.pattern, "events": waits.events, "lost": waits.lost}
                self.log(LogCode.WAITS_COLLECTED, candidate=name, **collected)

    def _without_waits(self, done: Sequence[Trial]) -> list[str]:
        if not self._spec.waits:
            return []
        ended = {t.candidate for t in done if t.purpose is Purpose.WAITS and t.state in _ENDED}
        raced = comparison.racing(done)
        names = [candidate.name for candidate in self._spec.candidates]
        return [name for name in names if name not in ended and not comparison.given_up(name, raced)]

    def _all_failed(self) -> ServerError:
        failures = [t.failure for t in self._state.trials if t.failure]
        last = failures[-1] if failures else None
        if last is None and any(trial.is_disturbed for trial in self._state.trials):
            return ServerError(
                "No candidate could be measured: something other than dialin changed the variables under test",
                "Find the program that sets it and stop it",
                resumable=True,
            )
        if last is None:
            return ServerError(
                "No candidate could be measured: the host itself stalled for most of every trial",
                "Run dialin doctor",
                resumable=True,
            )
        return ServerError(
            f"No candidate could be measured; the last failure: {with_advice(last.cause)}",
            "See the log lines above and the study's report; correct the setting or the workload, then start a new study",
            last.log_tail,
        )

    def _spent(self, done: Sequence[Trial]) -> float:
        return sum(t.seconds for t in done)

    def _between(self, done: Sequence[Trial]) -> float:
        """Return the seconds of this session outside trials."""
        in_trials = sum(sum(t.steps.values()) for t in done if t.session == self._session)
        return max(0.0, self._clock.monotonic() - self._began - in_trials)

    def _trial_seconds(self, done: Sequence[Trial]) -> float:
        """Return how long a trial takes, with the time up to the next one: as measured in this study, else as planned."""
        durations = [t.seconds for t in comparison.clean(done) if t.state is TrialState.DONE]
        in_session = sum(t.session == self._session for t in done)
        between = self._between(done) / in_session if in_session else 0.0
        return sum(durations) / len(durations) + between if durations else self._plan.trial_seconds

    def _fits(self, count: int) -> bool:
        """Return whether the next trials fit the budget beside those for raw waits; they may overrun it a little."""
        return count <= self._trials_that_fit()

    def _trials_that_fit(self) -> int:
        done = self._state.trials
        left = MAY_OVERRUN * self._spec.minutes * 60 - self._spent(done) - self._between(done) - self._reserved(done)
        return max(0, math.floor(left / self._trial_seconds(done) + _ROUNDING))

    def _reserved(self, done: Sequence[Trial]) -> float:
        """Return the seconds that outstanding trials for raw waits take."""
        return len(self._without_waits(done)) * WAIT_TRIALS * wait_trial_seconds(self._spec, self._trial_seconds(done))

    def _seconds_left(self) -> float:
        """Estimate the seconds left: the trials that a safe choice is expected to need, else what the budget holds."""
        done = self._state.trials
        left = max(0.0, self._spec.minutes * 60 - self._spent(done) - self._between(done))
        if self._to_go is None:
            return left
        return min(left, self._to_go * self._trial_seconds(done) + self._reserved(done))
