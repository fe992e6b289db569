"""Runs the blocks of a study until the verdict is sure enough or the budget is spent."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from dialin.errors import InterruptedStudyError, ServerError
from dialin.model.record import Look
from dialin.model.trial import Purpose, Trial, TrialState
from dialin.model.verdict import Verdict
from dialin.question.plan import WAIT_TRIALS, block_order, wait_trial_seconds
from dialin.race.state import RaceState
from dialin.stats.looks import FIRST_LOOK, allowance
from dialin.trials import trial as trials
from dialin.trials.raw_waits import told
from dialin.trials.trial import TrialContext
from dialin.verdict import changed_during_trial, elimination
from dialin.verdict.verdict import reach_verdict, standings

MAY_OVERRUN = 1.03
"""By how much a budget may be overrun to finish a block."""

CONFIRMING_BLOCKS = 6
"""Fresh blocks of the choice and the baseline that confirm it; each is two trials."""

_ENDED = (TrialState.DONE, TrialState.FAILED)
_WAIT_TRIES = 2
"""Times that a trial for raw waits is run where the host itself stood still for most of it."""


class Runner:
    """Runs a study, from its beginning or from where it stood.

    Args:
        laboratory: what the trials share.
        session: which run of dialin this is.
        run_trial: runs one trial; tests give one that needs no server.
        stop_asked: whether somebody asks for an end after the block under way; asked before each block that the budget holds.
    """

    def __init__(
        self,
        laboratory: TrialContext,
        session: int,
        run_trial: Callable[[TrialContext, Trial], Trial] = trials.run,
        stop_asked: Callable[[], bool] = lambda: False,
    ) -> None:
        self._lab = laboratory
        self._session = session
        self._trial_of = run_trial
        self._stop_asked = stop_asked
        self._names = [candidate.name for candidate in laboratory.spec.candidates]
        self._to_go: int | None = None
        self._began = laboratory.clock.monotonic()

    def run(self) -> Verdict:
        """Run blocks until the study is decided, then keep and return its verdict.

        Raises:
            ServerError: no candidate could be measured at all.
            ChangedByOthersError: somebody else keeps changing a variable under test.
            InterruptedStudyError: somebody asked for an end after the block under way.
        """
        lab = self._lab
        self._began = lab.clock.monotonic()
        self._state = RaceState(lab.store)
        lab.watcher.study_began(lab.spec, lab.plan.blocks, self._seconds_left())
        block = 1
        while not self._decided():
            inside = self._in_the_race()
            if not inside:
                raise self._all_failed()
            # With one left nothing is to be compared; what is still missing of a block was begun and is finished.
            if len(inside) < 2 or not self._run_block(block, inside, Purpose.RACE):
                break
            self._look_if_due(block)
            block += 1
        verdict = self._conclude()
        if lab.spec.confirm and not lab.spec.aa:
            verdict = self._confirm(verdict)
        if lab.spec.waits:
            self._collect_waits()
        lab.watcher.study_ended(verdict)
        return verdict

    def _decided(self) -> bool:
        return not self._lab.spec.aa and any(look.decided for look in self._state.looks)

    def _run_block(self, block: int, names: Sequence[str], purpose: Purpose) -> bool:
        """Run what a block still lacks; a trial that the host spoiled is run again. False where the budget does not hold it."""
        begun = False
        while missing := self._missing(block, names, purpose):
            if not self._fits(len(missing)):
                return False
            if not begun:
                self._stop_where_asked()  # only here: where no block fits any more the study ends with its verdict
                begun = True
            for position, name in missing:
                self._run_trial(block, position, name, purpose)
            self._check_still_running(block, purpose)
        return True

    def _stop_where_asked(self) -> None:
        """End the session between two blocks, where somebody asks for it.

        Raises:
            InterruptedStudyError: they do.
        """
        if self._stop_asked():
            self.say("Stopped between two blocks, as it was asked for")
            raise InterruptedStudyError("Stopped after a block, as it was asked for", resumable=True)

    def _check_still_running(self, block: int, purpose: Purpose) -> None:
        """End a study in which everything fails that did not before: what broke is not a candidate.

        Raises:
            ServerError: every trial of the block failed, of candidates that could be measured before.
        """
        trials = self._state.trials
        measured = {t.candidate for t in trials if t.state is TrialState.DONE}
        # A study that goes on with more minutes gives blocks the numbers that its trials for raw waits have.
        own = [t for t in trials if (t.block, t.purpose) == (block, purpose) and t.state is not TrialState.INTERRUPTED]
        failures = [t.failure for t in own if t.failure and t.candidate in measured]
        if own and len(failures) == len(own):
            raise ServerError(
                f"Every trial of block {block} failed, of candidates that could be measured before: {failures[-1].reason}",
                "Correct that",
                failures[-1].log_tail,
                resumable=True,
            )

    def _missing(self, block: int, names: Sequence[str], purpose: Purpose) -> list[tuple[int, str]]:
        """Return what a block still lacks, in its order; a finished trial is never run again."""
        own = [t for t in self._state.trials if t.block == block and t.purpose is purpose]
        finished = {t.candidate for t in own if t.state in _ENDED}
        order = [name for name in block_order(self._lab.spec.seed, block, self._names) if name in names]
        return [(place, name) for place, name in enumerate(order, start=1) if name not in finished]

    def _in_the_race(self) -> list[str]:
        """Return the candidates that have not left the race, and were not given up."""
        left, raced = self._state.left, self._state.raced
        return [name for name in self._names if name not in left and not elimination.given_up(name, raced)]

    def _run_trial(self, block: int, position: int, name: str, purpose: Purpose) -> Trial:
        lab = self._lab
        planned = Trial(
            id=0,
            block=block,
            session=self._session,
            position=position,
            candidate=name,
            state=TrialState.RUNNING,
            started=lab.clock.now(),
            purpose=purpose,
        )
        lab.watcher.trial_began(planned, self._seconds_left())
        ended = self._trial_of(lab, planned)
        if ended.failure:
            self.say(f"Trial {ended.id} ({name}) failed at {ended.failure.step}: {ended.failure.reason}")
        elif ended.state is TrialState.INTERRUPTED and not ended.is_disturbed:
            self.say(f"Trial {ended.id} ({name}) is run again: the host itself stood still for most of it")
        for line in changed_during_trial.in_words(ended):
            self.say(line)
        self._state.add(ended)
        lab.watcher.trial_ended(ended, standings(lab.spec, self._state.trials, self._state.figures, self._state.left))
        changed_during_trial.check_not_contested(self._state.trials, self._session)
        return ended

    def say(self, text: str) -> None:
        """Tell the watcher, and the study's log."""
        self._lab.store.say(self._lab.clock.now(), text)
        self._lab.watcher.message(text)

    def _look_if_due(self, block: int) -> None:
        """Tell who left the race, and look at the data; the last look of the budget is taken when it is over."""
        gone = [name for name, after in self._state.left.items() if after == block]
        if gone:
            self.say(f"After block {block} out of the race, very probably not among the best: {', '.join(gone)}")
        looked = any(look.trials >= len(self._state.ended) for look in self._state.looks)
        if block >= FIRST_LOOK and not looked and self._fits(len(self._in_the_race())):
            self._look(block, last=False)

    def _look(self, blocks: int, *, last: bool) -> Verdict:
        lab, state, budget = self._lab, self._state, self._lab.spec.minutes * 60
        taken, ended = state.looks, state.ended
        if not taken or taken[-1].decided is not None or taken[-1].trials != len(ended):  # else dialin was killed in this look
            seen = ended[: taken[-1].trials] if taken else []
            before = self._spent(seen) / budget
            now = max(before, 1.0 if last else self._spent(state.raced) / budget)
            alpha = allowance(sum(look.alpha for look in taken), 1 - lab.spec.confidence, before, now)
            state.add_look(Look(len(taken) + 1, blocks, alpha, trials=len(ended)))
        judgement = reach_verdict(state.record, state.looks[-1].alpha, state.figures, state.left)
        state.save_verdict(judgement.verdict, decided=judgement.decided)
        self._to_go = None
        if not judgement.decided and not lab.spec.aa:
            self._to_go = elimination.blocks_to_go(lab.spec, state.raced, state.figures, judgement.verdict.decided_by)
        return judgement.verdict

    def _conclude(self) -> Verdict:
        """Return the verdict of all blocks; a look is taken where the last one came before the last trial."""
        state = self._state
        finished = [trial.block for trial in state.raced if trial.state is TrialState.DONE]
        if not finished:
            raise self._all_failed()
        last = state.looks[-1] if state.looks else None
        judged = (
            last is not None and last.decided is not None and last.trials == len(state.ended) and last.blocks >= max(finished)
        )
        return state.verdict if state.verdict and judged else self._look(max(finished), last=True)

    def _confirm(self, verdict: Verdict) -> Verdict:
        """Measure a choice other than the baseline afresh against it, as far as the budget goes; no look is spent on it."""
        chosen, baseline = verdict.recommended_candidate, verdict.baseline
        if chosen == baseline:
            return verdict
        looked = max(look.blocks for look in self._state.looks)
        first = looked + 1 + looked % 2  # an odd one, so that each order is followed by its reverse
        self.say(f"Confirming {chosen} against the baseline in fresh trials")
        for block in range(first, first + CONFIRMING_BLOCKS):
            if not self._run_block(block, (chosen, baseline), Purpose.CONFIRM):
                self.say("The budget is over before all that was to confirm the choice is measured")
                break
        look = self._state.looks[-1]
        judgement = reach_verdict(self._state.record, look.alpha, self._state.figures, self._state.left)
        self._state.save_verdict(judgement.verdict, decided=bool(look.decided))
        return judgement.verdict

    def _collect_waits(self) -> None:
        """Run a trial for raw waits of each candidate that could be measured; what becomes of them changes no verdict."""
        lab = self._lab
        block = elimination.block_of_waits(self._state.trials)
        measured = {t.candidate for t in elimination.racing(self._state.trials) if t.state is TrialState.DONE}
        left = [name for name in self._without_waits(self._state.trials) if name in measured]
        if left:
            self._stop_where_asked()
        for position, name in enumerate(left, start=1):
            for _ in range(_WAIT_TRIES):
                ended = self._run_trial(block, position, name, Purpose.WAITS)
                if ended.state is not TrialState.INTERRUPTED:
                    break
            if waits := lab.store.waits().get(ended.id):
                self.say(told(name, waits))

    def _without_waits(self, done: Sequence[Trial]) -> list[str]:
        """Return the candidates that were not given up, and had no trial for raw waits yet."""
        if not self._lab.spec.waits:
            return []
        ended = {t.candidate for t in done if t.purpose is Purpose.WAITS and t.state in _ENDED}
        raced = elimination.racing(done)
        return [name for name in self._names if name not in ended and not elimination.given_up(name, raced)]

    def _all_failed(self) -> ServerError:
        failures = [t.failure for t in self._state.trials if t.failure]
        last = failures[-1] if failures else None
        if last is None and any(trial.is_disturbed for trial in self._state.trials):
            return ServerError(
                "No candidate could be measured: somebody else changed what is under test",
                "Find what sets it and stop that",
                resumable=True,
            )
        if last is None:
            return ServerError(
                "No candidate could be measured: the host itself stood still for most of every trial",
                "See dialin doctor",
                resumable=True,
            )
        return ServerError(
            f"No candidate could be measured; the last failure: {last.reason}",
            "See the log lines above and the study's report; correct the setting or the workload, then start a new study",
            last.log_tail,
        )

    def _spent(self, done: Sequence[Trial]) -> float:
        return sum(sum(t.steps.values()) for t in done)

    def _between(self, done: Sequence[Trial]) -> float:
        """Return the seconds of this session that belong to no trial: judging, writing down, making ready."""
        own = self._spent([t for t in done if t.session == self._session])
        return max(0.0, self._lab.clock.monotonic() - self._began - own)

    def _trial_seconds(self, done: Sequence[Trial]) -> float:
        """How long a trial takes, with what lies between it and the next: as measured in this study, else as planned."""
        own = [sum(t.steps.values()) for t in elimination.clean(done) if t.state is TrialState.DONE]
        in_session = sum(t.session == self._session for t in done)
        between = self._between(done) / in_session if in_session else 0.0
        return sum(own) / len(own) + between if own else self._lab.plan.trial_seconds

    def _fits(self, count: int) -> bool:
        """Whether the next trials fit the budget, beside those that are to collect raw waits; they may overrun it a little."""
        done = self._state.trials
        needed = count * self._trial_seconds(done) + self._reserved(done)
        return self._spent(done) + self._between(done) + needed <= MAY_OVERRUN * self._lab.spec.minutes * 60

    def _reserved(self, done: Sequence[Trial]) -> float:
        """Return the seconds that the trials for raw waits are left which did not run yet."""
        return len(self._without_waits(done)) * WAIT_TRIALS * wait_trial_seconds(self._lab.spec, self._trial_seconds(done))

    def _seconds_left(self) -> float:
        """About how long it will take: the blocks that a decision is expected to need, and no more than the budget holds."""
        done = self._state.trials
        left = max(0.0, self._lab.spec.minutes * 60 - self._spent(done) - self._between(done))
        if self._to_go is None:
            return left
        return min(left, self._to_go * len(self._in_the_race()) * self._trial_seconds(done) + self._reserved(done))
