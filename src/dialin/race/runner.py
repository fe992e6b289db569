"""Runs the blocks of a study on its hosts until the verdict is sure enough or the budget is spent."""

from __future__ import annotations

from collections.abc import Callable, Collection, Generator, Mapping
from dataclasses import dataclass, field

from dialin.fleet.fleet import BlockEnded, HostJoined
from dialin.model.place import LivePlace, ManagedPlace
from dialin.model.progress import Standing
from dialin.model.record import LogCode, Look
from dialin.model.study import Switch, Until
from dialin.model.trial import Block, Purpose, TrialState
from dialin.model.verdict import Verdict
from dialin.question.plan import block_order
from dialin.race.broken_study import all_failed, disturbed_in_a_row, failed_in_a_row, keeps_failing, now_failing
from dialin.race.budget import Budget, Pace, to_run
from dialin.race.study_run import StudyRun
from dialin.search.proposer import CONTENDERS, Proposer, Room
from dialin.stats.allocation import SIZE
from dialin.stats.forecast import fewest_trials
from dialin.stats.standings import is_due
from dialin.stats.switchback import QUADS_TO_DECIDE
from dialin.verdict import comparison, late_effect
from dialin.verdict.live_periods import observed_figures
from dialin.verdict.reach_verdict import Judgement, reach_verdict


@dataclass(frozen=True, slots=True)
class InSuite:
    """How a study depends on the other studies of its suite.

    Attributes:
        is_decided: returns whether a judgement decides it, so that it needs no more blocks.
        seconds_elsewhere: returns how many seconds of the suite's budget the other studies have used; infinity ends the study.
        pace: that of all studies of the suite; None where there are no others.
    """

    is_decided: Callable[[Judgement], bool] = lambda judgement: judgement.decided
    seconds_elsewhere: Callable[[], float] = lambda: 0.0
    pace: Pace | None = None


ALONE = InSuite()


def finished(blocks: Generator[None, None, Verdict]) -> Verdict:
    """Run a study that pauses between blocks to its end, without a pause; return its verdict."""
    while True:
        try:
            next(blocks)
        except StopIteration as end:
            verdict: Verdict = end.value
            return verdict


CONFIRMING_BLOCKS = 6
"""Fresh blocks of the choice and the baseline that confirm it; each is two trials."""

_FEWEST_TRIALS = 2
"""Fewest trials of a block: one candidate alone is compared with nothing."""

_MANY_HOSTS = 8
"""Number of hosts from which on figures and looks wait until there is one more trial per host."""

_TRIES = 2
"""Times that a trial with costly instruments is run where it is interrupted, as when the host stalled for most of it."""


@dataclass(eq=False)
class Runner(StudyRun):
    """Runs the race of named candidates, from its beginning or from where it was interrupted.

    `proposer` names those of each block, and `suite` is how the study depends on a suite's others.
    """

    proposer: Proposer = field(default=CONTENDERS, kw_only=True)
    suite: InSuite = field(default=ALONE, kw_only=True)

    def __post_init__(self) -> None:
        super().__post_init__()
        self._trials_to_go: int | None = None
        self._last_standings: Mapping[str, Standing] = {}
        self._trials_at_standings = 0

    def run(self) -> Verdict:
        """Run blocks until the study is decided, then store and return its verdict.

        Raises:
            ServerError: no candidate could be measured at all.
            ChangedByOthersError: somebody else keeps changing a variable under test.
            InterruptedStudyError: somebody asked for an end after the blocks under way.
        """
        return finished(self.blocks())

    def blocks(self) -> Generator[None, None, Verdict]:
        """Run the study as `run` does, but pause before each block while no host is at work; return its verdict.

        The budget excludes the pauses.
        """
        self._begin()
        self.watcher.study_began(self._spec, self._budget.blocks_planned(), self._seconds_left())
        if isinstance(self._spec.place, LivePlace):
            self._observe(self._spec.place)
            if self._state.verdict is not None and not self._decided():
                self._lengthen_washout(self._state.verdict)
        if self._state.blocks:  # dialin may have been killed before a look that was due
            self._look_if_due(max(block.number for block in self._state.blocks))
        if not self._decided():
            yield from self._run_blocks(Purpose.RACE, 1, self._propose)
        verdict = self._conclude()
        if self._spec.confirm and not self._spec.is_aa:
            verdict = yield from self._confirm(verdict)
        verdict = self._measure_long(verdict)
        for purpose in (Purpose.WAITS, Purpose.PROFILE):
            self._run_instrumented(purpose)
        self.watcher.study_ended(verdict)
        return verdict

    def _observe(self, live: LivePlace) -> None:
        """Watch a live server before anything is changed there, and say what periods of it can detect.

        Raises:
            ServerError: it could not be measured.
        """
        if any(trial.purpose is Purpose.OBSERVE and trial.state is TrialState.DONE for trial in self._state.trials):
            return
        self._run_trials(0, [(1, self._spec.baseline)], Purpose.OBSERVE, live.observe)
        ended = self._state.trials[-1]
        if ended.state is not TrialState.DONE:
            raise all_failed(self._state)
        self.log(LogCode.OBSERVED, **observed_figures(self._spec, self.plan, self.store.samples_of(ended.id)))

    def _begin(self) -> None:
        super()._begin()
        suite = self.suite
        self._budget = Budget(
            self._state,
            self.plan,
            self.clock,
            self.session,
            lambda: len(self._hosts.hosts),
            suite.seconds_elsewhere,
            suite.pace,
        )

    def _lengthen_washout(self, verdict: Verdict) -> None:
        """Continue with a longer washout where an effect on a live server settles slowly, if a comparison fits the budget so.

        Periods with the shorter washout are not compared with the others.
        """
        needed, place = verdict.live.washout_needed if verdict.live is not None else None, self._spec.place
        if not isinstance(place, LivePlace) or needed is None or needed <= place.washout or self._spec.is_aa:
            return
        longer = self.plan.with_washout(needed)
        if self._budget.seconds_left(None) >= 2 * QUADS_TO_DECIDE * len(self._state.in_the_race) * longer.trial_seconds:
            self.log(LogCode.WASHOUT_LENGTHENED, before=place.washout, washout=needed)
            self._state.change_place(place.model_copy(update={"washout": needed}))
            self.plan = longer
            self._budget.replan(longer)

    def _pause(self) -> Generator[None]:
        began = self.clock.monotonic()
        yield
        self._budget.exclude(self.clock.monotonic() - began)

    def _run_blocks(self, purpose: Purpose, since: int, propose: Callable[[str], Block | None]) -> Generator[None]:
        """Give every host one block after another, until the study is decided or there are none.

        Blocks that were begun and lack trials go first. `propose` begins the next block for a host, or returns None where
        there is none. Blocks with numbers below `since` are left alone. Pauses before each round that finds no host at work.
        """
        try:
            yield from self._pause()
            self._give_blocks(purpose, since, propose)
            while self._hosts.at_work or not self._hosts.hosts:  # without a host the fleet waits for one
                event, work = self._take_event()
                is_free = work is not None or isinstance(event, HostJoined)
                if isinstance(event, BlockEnded) and work is not None:
                    is_free = self._end_work(event.host, work.block)
                if is_free and purpose is Purpose.RACE and self._decided():
                    break
                if is_free:
                    if not self._hosts.at_work:
                        yield from self._pause()
                    self._give_blocks(purpose, since, propose)
        finally:
            self._hosts.interrupt()

    def _give_blocks(self, purpose: Purpose, since: int, propose: Callable[[str], Block | None]) -> None:
        hosts, at_work = self._hosts.hosts, {work.block for work in self._hosts.at_work.values()}
        waiting = [block for block in self._state.incomplete(purpose, since) if block not in at_work]
        may_begin = self._budget.fits(_FEWEST_TRIALS)  # computed once: near the end of the budget hundreds of hosts may be idle
        for host in self._hosts.idle:
            block = self._state.unfinished(host, waiting, hosts)
            if block is not None:
                waiting.remove(block)
            elif may_begin:
                block = propose(host)
            if block is not None:
                self._run_missing(host, block)

    def _run_missing(self, host: str, block: Block) -> None:
        places = self._state.missing(block, host)
        if places and self._budget.fits(len(places)):
            self._begin_trials(host, block, places)

    def _end_work(self, host: str, block: Block) -> bool:
        """Take the look that is due after a host's block; return whether the host is free for another block.

        It is not while the block lacks trials, even if the budget does not hold them any more.
        """
        self._check_still_running(host)
        if self._state.missing(block, host):  # some were interrupted, because the host stalled
            if host in self._hosts.hosts:
                self._run_missing(host, block)
                return False
            return True  # the host was left out, and another one takes its block
        if block.purpose is Purpose.RACE:
            self._look_if_due(block.number)
        return True

    def _propose(self, host: str) -> Block | None:
        """Begin a block of the candidates that are proposed; None where the race is over or the budget does not hold it.

        Raises:
            ServerError: no candidate is left that could be measured.
        """
        number = 1 + max((block.number for block in self._state.blocks if block.purpose is Purpose.RACE), default=0)
        first_on_host = all(trial.host != host for trial in self._state.race_trials)
        history = self._state.history
        if not history.in_the_race:
            raise all_failed(self._state)
        named = self.proposer.propose(history, Room(number, self._budget.trials_that_fit(), first_on_host))
        if len(named) < _FEWEST_TRIALS or not self._budget.fits(len(named)):
            return None
        return self._begin_block(host, number, [candidate.name for candidate in named], Purpose.RACE)

    def _begin_block(self, host: str, number: int, names: Collection[str], purpose: Purpose) -> Block | None:
        """Store a block with its order, once the budget is known to hold it; return None where a stop was requested."""
        if self._is_stopping():
            return None
        members = [name for name in self._spec.names if name in names]
        order = block_order(
            self._spec.seed,
            number,
            members,
            mirrored=self._spec.is_live,
            before=self._state.orders_on(host),
            goes_on=self._spec.switch is Switch.SET or isinstance(self._spec.place, ManagedPlace),
            is_last=not self._budget.fits(2 * len(members)),
        )
        block = Block(number, purpose, tuple(order))
        self._state.begin_block(block)
        return block

    def _check_still_running(self, host: str) -> None:
        """Leave out a host that fails, or on which candidates fail that could be measured before: the cause is not a candidate.

        Raises:
            MachineError: the host fails, and there is no other one.
            ServerError: candidates fail there, and there is no other host.
        """
        disturbed = disturbed_in_a_row(self._state.trials, host, self.session)
        if failures := disturbed or failed_in_a_row(self._state, host):
            if len(self._hosts.hosts) == 1:
                raise keeps_failing(failures[0], len(failures)) if disturbed else now_failing(failures)
            self.log(LogCode.HOST_LEFT_OUT, host=host, cause=failures[0].cause.as_stored())
            self._hosts.leave_out(host)
            self._name_hosts()

    def _standings(self) -> Mapping[str, Standing]:
        """Return each candidate's figures so far; with many hosts not always the newest, because each time fits all trials."""
        trials = len(self._state.trials)
        if len(self._hosts.hosts) < _MANY_HOSTS or self._is_due(trials, self._trials_at_standings):
            self._trials_at_standings = trials
            self._last_standings = super()._standings()
        return self._last_standings

    def _look_if_due(self, block: int) -> None:
        """Take a look if one is due and the budget holds another block; the last look is taken when the budget is over."""
        looks = self._state.looks
        looked = looks[-1].trials if looks and looks[-1].decided is not None else 0
        ended = len(self._state.ended)
        if ended > looked and self._is_due(ended, looked) and self._budget.fits(min(SIZE, len(self._state.in_the_race))):
            verdict = self._look(block)
            if not self._decided():
                self._lengthen_washout(verdict)

    def _is_due(self, trials: int, before: int) -> bool:
        """Return whether to fit the trials again; with many hosts, not before there is one more trial per host."""
        hosts = len(self._hosts.hosts)
        return is_due(trials, before) and (hosts < _MANY_HOSTS or trials >= before + hosts)

    def _look(self, blocks: int) -> Verdict:
        state, spec = self._state, self._spec
        taken, ended = state.looks, state.ended
        if not taken or taken[-1].decided is not None or taken[-1].trials != len(ended):  # else dialin was killed in this look
            state.add_look(Look(len(taken) + 1, blocks, trials=len(ended)))
        judgement = reach_verdict(state.record, state.figures)
        decided = self.suite.is_decided(judgement)
        state.save_verdict(judgement.verdict, decided=decided)
        self._trials_to_go = None
        enough = fewest_trials(len(spec.candidates), shares_start=spec.shares_start)  # fewer say little of the noise
        if not decided and not spec.is_aa and spec.until is Until.SAFE and len(ended) >= enough:
            needed = comparison.trials_needed(spec, state.race_trials, state.figures, judgement.verdict.decided_by)
            self._trials_to_go = None if needed is None else max(SIZE, needed - len(state.ended))
        return judgement.verdict

    def _conclude(self) -> Verdict:
        """Return the verdict of all blocks, after a further look where trials ended since the last one."""
        state = self._state
        finished = [trial.block for trial in state.race_trials if trial.state is TrialState.DONE]
        if not finished:
            raise all_failed(state)
        last = state.looks[-1] if state.looks else None
        judged = (
            last is not None and last.decided is not None and last.trials == len(state.ended) and last.blocks >= max(finished)
        )
        return state.verdict if state.verdict and judged else self._look(max(finished))

    def _confirm(self, verdict: Verdict) -> Generator[None, None, Verdict]:
        """Measure a choice other than the baseline again, against the baseline, within the budget; this spends no look."""
        chosen, baseline = verdict.recommended_candidate, verdict.baseline
        if chosen == baseline:
            return verdict
        first = 1 + max(look.blocks for look in self._state.looks)
        self.log(LogCode.CONFIRMING, candidate=chosen)
        numbers = range(first, first + CONFIRMING_BLOCKS)

        def propose(host: str) -> Block | None:
            number = next((n for n in numbers if self._state.block(n, Purpose.CONFIRM) is None), None)
            if number is None or not self._budget.fits(_FEWEST_TRIALS):
                return None
            return self._begin_block(host, number, (chosen, baseline), Purpose.CONFIRM)

        yield from self._run_blocks(Purpose.CONFIRM, first, propose)
        if not all(self._state.is_complete(number, Purpose.CONFIRM) for number in numbers):
            self.log(LogCode.CONFIRMING_CUT)
        return self._judge_again()

    def _measure_long(self, verdict: Verdict) -> Verdict:
        """Measure a choice by SET and the baseline in long windows, if these fit the budget; judge those of before, too."""
        verdict = self._judge_again() if late_effect.has_windows(self._state.trials) else verdict
        chosen, seconds = verdict.recommended_candidate, late_effect.long_window(self._spec, self.plan.measure)
        for _ in range(late_effect.ROUNDS if seconds and self.suite is ALONE else 0):
            places = late_effect.places_left(self._state.record, self._state.figures, chosen)
            if not places or self._budget.seconds_free() < len(places) * (seconds + self._budget.switch_seconds()):
                break
            self._is_stopping()
            self.log(LogCode.LONG_WINDOW, candidate=chosen, seconds=seconds)
            self._run_trials(self._state.ended[-1].block, places, Purpose.LONG, seconds)
            chosen = late_effect.still_asked(verdict := self._judge_again(), chosen)
        return verdict

    def _judge_again(self) -> Verdict:
        """Store and return the verdict with trials that came after the last look, which spend none."""
        judgement = reach_verdict(self._state.record, self._state.figures)
        self._state.save_verdict(judgement.verdict, decided=bool(self._state.looks[-1].decided))
        return judgement.verdict

    def _run_instrumented(self, purpose: Purpose) -> None:
        """Run the trials with costly instruments that the study still lacks; they do not affect the verdict."""
        first = comparison.first_instrumented_block(self._state.trials, purpose)
        for block, names in enumerate(to_run(self._state, purpose), start=first):
            if names:
                self._is_stopping()
            order = block_order(self._spec.seed, block, names) if block > first else names
            for position, name in enumerate(order, start=1):
                self._run_instrumented_trial(block, position, name, purpose)

    def _run_instrumented_trial(self, block: int, position: int, name: str, purpose: Purpose) -> None:
        for _ in range(_TRIES):
            self._run_trials(block, [(position, name)], purpose)
            ended = self._state.trials[-1]
            if ended.state is not TrialState.INTERRUPTED:
                break
        if waits := self.store.waits().get(ended.id):
            collected = {"pattern": waits.pattern, "events": waits.events, "lost": waits.lost}
            self.log(LogCode.WAITS_COLLECTED, candidate=name, **collected)

    def _seconds_left(self) -> float:
        return self._budget.seconds_left(self._trials_to_go)
