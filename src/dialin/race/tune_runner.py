"""Runs a tune: the trials that a search asks for one by one, those of its proof included, until the budget is spent."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace

from dialin.cause_sentences import with_advice
from dialin.errors import DialinError, ServerError, UserError
from dialin.evidence.proof_view import candidate_of, proof_view
from dialin.model.cause import PASSING, Cause, Fault
from dialin.model.progress import Standing
from dialin.model.record import LogCode, Look, TuneCourse
from dialin.model.setting import Value
from dialin.model.study import Candidate, StudySpec
from dialin.model.trial import Block, EffectiveSettings, Failure, Purpose, Step, Trial, TrialState
from dialin.model.tune import TuneAsk, TunePlan, TuneStage
from dialin.model.verdict import Verdict
from dialin.race.broken_study import keeps_failing
from dialin.race.study_run import StudyRun
from dialin.search.study_tuner import StudyTuner, answers
from dialin.search.trial_records import Ask
from dialin.search.tune_findings import final_findings, findings_so_far
from dialin.sentences.load_units import units
from dialin.sentences.tune_words import name_by_changes
from dialin.trials.events import TrialBegan, TrialEnded
from dialin.verdict import comparison
from dialin.verdict.reach_verdict import standings
from dialin.verdict.tune_verdict import tune_verdict

Admit = Callable[[Candidate], None]
"""Checks a setting that is to be tried; raises `UserError` where no server would take it."""
InspectCandidate = Callable[[StudySpec, str], EffectiveSettings | None]
"""Returns the effective settings of a candidate, for which it starts a server; None where the server does not start."""

_TRIES = 3
"""Times that a trial is run where the host stalled for most of it, or somebody else changed a variable."""
_FAILURES_IN_A_ROW = 8
"""Failed trials in a row that end a tune, because a setting is not the cause then. Four in a row may share the values that only
a start can change."""


@dataclass(eq=False)
class TuneRunner(StudyRun):
    """Runs a tune, from its beginning or from where it was interrupted.

    `admit` checks a setting before it enters; one that it refuses is a failed trial. `inspect` reads the effective settings of
    the settings in the proof.
    """

    admit: Admit = field(kw_only=True)
    inspect: InspectCandidate | None = field(default=None, kw_only=True)

    def __post_init__(self) -> None:
        super().__post_init__()
        self._asks: list[TuneAsk] = []
        self._best: Mapping[str, Value] = {}

    def run(self) -> Verdict:
        """Run trials until the search and its proof are over, then store and return the verdict.

        Raises:
            ServerError: everything fails.
            DialinError: the budget ended before a trial of the proof was completed.
            ChangedByOthersError: somebody else keeps changing a variable under test.
            InterruptedStudyError: somebody asked for an end after the trial under way.
        """
        self._begin()
        if not isinstance(self._spec.question, TunePlan):
            raise TypeError("this study names its candidates")
        self._tuner = StudyTuner(self._spec, self._spec.question)
        answered = list(answers(self.store.asks(), self._state.trials))
        self._asks = [answer.ask for answer in answered]  # a trial that has not ended is asked for again
        self._tuner.replay(self._spec, answered, self._state.figures)
        self._best = self._tuner.tuner.best()
        trials = len(self._asks) + round(self._seconds_left() / max(1.0, self.plan.trial_seconds))
        self.watcher.study_began(self._spec, trials, self._seconds_left())
        while (following := self._tuner.next_trial()) is not None:
            self._is_stopping()
            self._run_next(following)
            self._check_whether_all_fail()
        return self._end()

    def _run_next(self, following: Ask) -> None:
        is_proof = following.purpose is TuneStage.PROOF
        if is_proof and (not self._asks or self._asks[-1].stage is not TuneStage.PROOF):
            self.log(LogCode.SEARCH_ENDED, trials=len(self._asks))
        number = len(self._asks) + 1
        base = self._spec.candidate(self._spec.baseline)
        setting = {**base.setting, **following.setting}
        known = candidate_of(self._spec, setting)
        candidate = known or Candidate(
            name=name_by_changes(following.setting, self._spec.names), setting=setting, server=base.server
        )
        ask = TuneAsk(
            number,
            candidate.name,
            following.purpose,
            following.seconds,
            following.improvement,
            following.block,
            following.candidate,
        )
        began = self.clock.monotonic()
        refusal = None if known else self._refusal(candidate)
        self._state.begin_ask(ask, [] if known else [candidate])
        if known is None:
            self.watcher.candidates_entered(self._spec)
            self.log(LogCode.SETTING_CHOSEN, candidate=candidate.name, setting=dict(following.setting))
        if is_proof and candidate.name not in self.inspected:
            effective = self.inspect(self._spec, candidate.name) if self.inspect else None
            if effective is not None:
                self.inspected = {**self.inspected, candidate.name: effective}
        purpose = Purpose.RACE if is_proof else Purpose.SEARCH
        block = ask.block if is_proof else number
        position = 1 + sum(earlier.block == ask.block for earlier in self._asks) if is_proof else 1
        if refusal is not None:
            self._record_refusal(block, position, candidate.name, purpose, refusal, self.clock.monotonic() - began)
        else:
            self._run_until_ended(block, position, candidate.name, purpose, following.seconds)
        self._asks.append(ask)
        *_, answer = answers(self._asks, self._state.trials)
        self._tuner.learn(self._spec, answer, self._state.figures)
        self._save_findings()

    def _refusal(self, candidate: Candidate) -> str | None:
        """Return why a setting cannot run; None where it can."""
        try:
            self.admit(candidate)
        except UserError as error:
            return error.what
        return None

    def _record_refusal(self, block: int, position: int, candidate: str, purpose: Purpose, reason: str, seconds: float) -> None:
        """Store a setting that was refused as a failed trial: to the search it is like one that crashed."""
        trial = Trial(
            self.store.next_trial_id(),
            block,
            self.session,
            position,
            candidate,
            TrialState.RUNNING,
            self.clock.now(),
            purpose=purpose,
            host=self._hosts.hosts[0],
        )
        recorder = self._hosts.recorder(trial.host)
        recorder.record(TrialBegan(trial))
        failure = Failure(Step.VERIFY, Fault.SETTING, Cause.quoted(reason))
        ended = replace(trial, state=TrialState.FAILED, failure=failure, steps={Step.VERIFY: max(seconds, 0.1)})
        if recorded := recorder.record(TrialEnded(ended)):
            self._add(recorded)

    def _run_until_ended(self, block: int, position: int, candidate: str, purpose: Purpose, seconds: float) -> None:
        for _ in range(_TRIES):
            floor = 0.0 if candidate == self._spec.baseline else self._floor()
            self._run_trials(block, [(position, candidate)], purpose, seconds, floor)
            ended = self._state.trials[-1]
            if floor and ended.state is TrialState.DONE and ended.steps[Step.MEASURE] < seconds - 1:
                unit = units(self._spec.workload).title
                self.log(LogCode.TRIAL_CUT_SHORT, trial=ended.id, candidate=candidate, floor=floor, unit=unit)
            if ended.has_ended:
                return
        if ended.failure is not None and ended.failure.fault in PASSING:
            raise keeps_failing(ended.failure, _TRIES)
        raise ServerError(
            f"The host stalled, or another client changed variables, in {_TRIES} trials in a row",
            "See dialin doctor",
            resumable=True,
        )

    def _last_tries(self, block: Block, host: str) -> frozenset[int]:  # noqa: ARG002 - a search must not learn from such failures
        return frozenset()

    def _floor(self) -> float:
        """Return the throughput below which a trial ends early: what `--worst` leaves of the baseline's; 0 for no limit."""
        of_baseline = [trial.id for trial in self._state.trials if trial.candidate == self._spec.baseline]
        known = [self._state.figures[number].window.mean for number in of_baseline if number in self._state.figures]
        return (1 - self._spec.worst) * statistics.median(known) if self._spec.worst and known else 0.0

    def _check_whether_all_fail(self) -> None:
        """End a tune in which everything fails, or the baseline does.

        Raises:
            ServerError: the newest trials all failed, or all of the baseline.
        """
        newest = [trial for trial in self._state.trials if trial.has_ended][-_FAILURES_IN_A_ROW:]
        failures = [trial.failure for trial in newest if trial.failure is not None]
        of_baseline = [trial for trial in self._state.trials if trial.candidate == self._spec.baseline]
        reason = with_advice(failures[-1].cause) if failures else ""
        if len(failures) == _FAILURES_IN_A_ROW:
            what = f"The last {len(failures)} trials failed: {reason}"
        elif failures and comparison.is_given_up(self._spec.baseline, of_baseline):
            what = f"The baseline cannot be measured: {reason}"
        else:
            return
        raise ServerError(what, "Correct that", failures[-1].log_tail, resumable=True)

    def _save_findings(self) -> None:
        findings = findings_so_far(self._tuner)
        self.store.save_findings(findings)
        is_searching = self._asks[-1].stage is not TuneStage.PROOF  # what is being proven does not change any more
        if is_searching and findings.best and findings.best != self._best and findings.expected is not None:
            self.log(LogCode.BEST_SO_FAR, setting=findings.best, expected=findings.expected)
        self._best = findings.best

    def _standings(self) -> dict[str, Standing]:
        trials = [replace(trial, purpose=Purpose.RACE) for trial in self._state.trials]
        return standings(self._spec, trials, self._state.figures)

    def _seconds_left(self) -> float:
        return self._tuner.seconds_left

    def _end(self) -> Verdict:
        findings = final_findings(self._tuner)
        record = proof_view(replace(self._state.record, course=TuneCourse(asks=self._asks, findings=findings)))
        completed = [t for t in record.trials if t.purpose is Purpose.RACE and t.state is TrialState.DONE]
        if not completed:
            self.store.save_findings(findings)
            raise DialinError(
                "The budget ended before a trial of the proof was completed", "Give more --minutes", resumable=True
            )
        verdict = tune_verdict(record, self._state.figures, findings)
        self.store.save_findings(verdict.tune or findings)
        if not self._state.looks:
            self._state.add_look(Look(1, max(trial.block for trial in completed), trials=len(completed)))
        self._state.save_verdict(verdict, decided=True)
        self.watcher.study_ended(verdict)
        return verdict
