"""Runs the blocks of a study until the verdict is sure enough or the budget is spent."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from dialin.errors import ServerError
from dialin.model.progress import Standing
from dialin.model.record import Look
from dialin.model.trial import Trial, TrialState
from dialin.model.verdict import Verdict
from dialin.stats.looks import allowance, is_look
from dialin.study import trial as trials
from dialin.study.plan import block_order
from dialin.study.trial import Laboratory
from dialin.study.verdict import judge, standings

MAY_OVERRUN = 1.03
"""By how much a budget may be overrun to finish a block."""

GIVE_UP_AFTER = 2
"""A candidate whose first trials all failed is out after this many: the same boot would fail the same way again."""


class Runner:
    """Runs a study, from its beginning or from where it stood.

    Args:
        laboratory: what the trials share.
        session: which run of dialin this is.
        run_trial: runs one trial; tests give one that needs no server.
    """

    def __init__(
        self, laboratory: Laboratory, session: int, run_trial: Callable[[Laboratory, Trial], Trial] = trials.run
    ) -> None:
        self._lab = laboratory
        self._session = session
        self._trial_of = run_trial
        self._names = [candidate.name for candidate in laboratory.spec.candidates]

    def run(self) -> Verdict:
        """Run blocks until the study is decided, then keep and return its verdict.

        Raises:
            ServerError: no candidate could be measured at all.
        """
        lab = self._lab
        lab.watcher.study_began(lab.spec, lab.plan.blocks, self._seconds_left())
        block = 1
        while not any(look.decided for look in lab.store.looks()):
            done = lab.store.trials()
            racing = self._in_the_race(done)
            if not racing:
                raise self._all_failed()
            if len(racing) < 2:  # nothing is left to compare it with
                break
            missing = self._missing(block, racing, done)
            if missing:
                if not self._fits(len(missing), done):
                    break
                for position, name in missing:
                    self._run_trial(block, position, name)
                self._check_still_running(block)
            self._look_if_due(block)
            block += 1
        return self._conclude()

    def _check_still_running(self, block: int) -> None:
        """End a study in which everything fails that did not before: what broke is not a candidate.

        Raises:
            ServerError: every trial of the block failed, of candidates that could be measured before.
        """
        trials = self._lab.store.trials()
        measured = {t.candidate for t in trials if t.state is TrialState.DONE}
        own = [t for t in trials if t.block == block and t.state is not TrialState.INTERRUPTED]
        failures = [t.failure for t in own if t.failure and t.candidate in measured]
        if len(failures) == len(own):
            raise ServerError(
                f"Every trial of block {block} failed, of candidates that could be measured before: {failures[-1].reason}",
                "Mend that, then: dialin resume DIR",
                failures[-1].log_tail,
            )

    def _missing(self, block: int, racing: Sequence[str], done: Sequence[Trial]) -> list[tuple[int, str]]:
        """Return what a block still lacks, in its order; a finished trial is never run again."""
        finished = {t.candidate for t in done if t.block == block and t.state in (TrialState.DONE, TrialState.FAILED)}
        order = block_order(self._lab.spec.seed, block, self._names)
        return [(place, name) for place, name in enumerate(order, start=1) if name in racing and name not in finished]

    def _in_the_race(self, done: Sequence[Trial]) -> list[str]:
        """Return the candidates that were not given up."""
        states = {name: [t.state for t in done if t.candidate == name] for name in self._names}
        return [name for name, own in states.items() if TrialState.DONE in own or own.count(TrialState.FAILED) < GIVE_UP_AFTER]

    def _run_trial(self, block: int, position: int, name: str) -> None:
        lab = self._lab
        planned = Trial(
            id=0,
            block=block,
            session=self._session,
            position=position,
            candidate=name,
            state=TrialState.RUNNING,
            started=lab.clock.now(),
        )
        lab.watcher.trial_began(planned, self._seconds_left())
        ended = self._trial_of(lab, planned)
        if ended.failure:
            self.say(f"Trial {ended.id} ({name}) failed at {ended.failure.step}: {ended.failure.reason}")
        lab.watcher.trial_ended(ended, self._standings())

    def _standings(self) -> dict[str, Standing]:
        return standings(self._lab.spec, self._lab.store.trials(), self._lab.store.samples())

    def say(self, text: str) -> None:
        """Tell the watcher, and the study's log."""
        self._lab.store.say(self._lab.clock.now(), text)
        self._lab.watcher.said(text)

    def _look_if_due(self, block: int) -> None:
        """Look at the data where a look is due; the last one of the budget is taken when it is over."""
        lab = self._lab
        if not is_look(block) or any(look.blocks >= block for look in lab.store.looks()):
            return
        done = lab.store.trials()
        if self._fits(len(self._in_the_race(done)), done):
            self._look(block, last=False)

    def _look(self, blocks: int, *, last: bool) -> Verdict:
        lab = self._lab
        taken = lab.store.looks()
        share = self._spent(lab.store.trials()) / (lab.spec.minutes * 60)
        alpha = allowance(sum(look.alpha for look in taken), 1 - lab.spec.confidence, share, last=last)
        look = Look(len(taken) + 1, blocks, alpha)
        lab.store.add_look(look)
        judgement = judge(lab.store.read(), look.alpha)
        lab.store.save_verdict_of(look, judgement.verdict, decided=judgement.decided)
        return judgement.verdict

    def _conclude(self) -> Verdict:
        """Return the verdict of all blocks; a look is taken where the last one came before the last trial."""
        lab = self._lab
        taken = lab.store.looks()
        finished = [t.block for t in lab.store.trials() if t.state is TrialState.DONE]
        if not finished:
            raise self._all_failed()
        record = lab.store.read()
        judged = taken and taken[-1].decided is not None and taken[-1].blocks >= max(finished)
        verdict = record.verdict if record.verdict and judged else self._look(max(finished), last=True)
        lab.watcher.study_ended(verdict)
        return verdict

    def _all_failed(self) -> ServerError:
        failures = [t.failure for t in self._lab.store.trials() if t.failure]
        last = failures[-1] if failures else None
        return ServerError(
            f"No candidate could be measured; the last failure: {last.reason if last else 'unknown'}",
            "See the log lines above and the study's report; mend the setting or the workload, then begin anew",
            last.log_tail if last else "",
        )

    def _spent(self, done: Sequence[Trial]) -> float:
        return sum(sum(t.steps.values()) for t in done)

    def _trial_seconds(self, done: Sequence[Trial]) -> float:
        """How long a trial takes: as measured in this study, else as planned."""
        own = [sum(t.steps.values()) for t in done if t.state is TrialState.DONE]
        return sum(own) / len(own) if own else self._lab.plan.trial_seconds

    def _fits(self, count: int, done: Sequence[Trial]) -> bool:
        """Whether the next trials fit the budget; they may overrun it a little."""
        return self._spent(done) + count * self._trial_seconds(done) <= MAY_OVERRUN * self._lab.spec.minutes * 60

    def _seconds_left(self) -> float:
        """The most that is left of the budget; an early decision ends it sooner."""
        return max(0.0, self._lab.spec.minutes * 60 - self._spent(self._lab.store.trials()))
