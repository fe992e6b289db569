"""A tuner whose trials are those of a study: it returns the next one, and learns from the study's trials alone.

Its answers depend only on the study's plan, budget and seed and on the trials that ended, so a tune that was killed continues
as it would have without that.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from dialin.cause_sentences import with_advice
from dialin.measures.of_trials import value
from dialin.measures.table import MEASURES
from dialin.model.setting import Setting, Value, changed, parse_value, same_value
from dialin.model.study import StudySpec
from dialin.model.trial import Purpose as TrialPurpose
from dialin.model.trial import Step, Trial, TrialState
from dialin.model.tune import TuneAsk, TunePlan, TuneStage, ask_finder
from dialin.model.verdict import TuneFailure
from dialin.search.constraints import Constraints
from dialin.search.space import Space
from dialin.search.trial_records import Ask, Options, TrialOutcome
from dialin.search.tuner import Tuner
from dialin.stats.trial_figures import Figures

_UNREAD = "no second of it counts, or its probes did not read the measure of the goal"
_OF_TUNE = (TrialPurpose.SEARCH, TrialPurpose.RACE)


@dataclass(frozen=True, slots=True)
class TrialAnswer:
    """A trial that was asked for and has ended.

    Attributes:
        life: number of the server's life in which it ran.
        cost: seconds of the budget that it took, with everything since the trial before.
    """

    ask: TuneAsk
    trial: Trial
    life: int
    cost: float


class StudyTuner:
    """The tuner of one study."""

    def __init__(self, spec: StudySpec, plan: TunePlan) -> None:
        self._plan, self._base = plan, spec.candidate(spec.baseline).setting
        self._levels = spec.workload.number_of_levels
        self.goal = spec.goal
        self.space = Space(plan.variables)
        self.failures: list[TuneFailure] = []
        self._trials: list[int] = []
        self._arguments = (self.space, make_constraints(plan), make_options(spec, plan), spec.seed)
        self.tuner = Tuner(*self._arguments)

    def replay(self, spec: StudySpec, answers: Sequence[TrialAnswer], figures: Mapping[int, Figures]) -> None:
        """Learn from all trials that have ended; `figures` has those of each completed trial, by trial id."""
        outcomes = [self._outcome(spec, answer, figures) for answer in answers]
        self.tuner = Tuner.resume(*self._arguments, outcomes)

    def next_trial(self) -> Ask | None:
        """Return the next trial, its seconds for each number of threads; None when the budget is over or the answer known."""
        ask = self.tuner.ask()
        if ask is None:
            return None
        block = ask.block + self._plan.searched if ask.block else 0
        return replace(ask, seconds=ask.seconds / self._levels, block=block)

    def learn(self, spec: StudySpec, answer: TrialAnswer, figures: Mapping[int, Figures]) -> None:
        """Learn from the trial that was asked for last."""
        self.tuner.tell(self._outcome(spec, answer, figures))

    @property
    def left_out(self) -> list[int]:
        """The ids of the proof's trials that do not count: something slowed them down."""
        return [self._trials[place] for place in self.tuner.left_out()]

    @property
    def seconds_left(self) -> float:
        return max(0.0, self.tuner.seconds_left)

    def _outcome(self, spec: StudySpec, answer: TrialAnswer, figures: Mapping[int, Figures]) -> TrialOutcome:
        requested, trial = answer.ask, answer.trial
        self._trials.append(trial.id)
        setting = changed(spec.candidate(requested.candidate).setting, self._base)
        measured = figures.get(trial.id) if trial.state is TrialState.DONE else None
        figure = None if measured is None else value(measured, self.goal)
        if measured is None or figure is None:
            reason = with_advice(trial.failure.cause) if trial.failure else _UNREAD
            self.failures.append(TuneFailure(trial=trial.id, setting=setting, reason=reason))
        effective = effective_point(self.space, setting, trial.in_force) if measured is not None else setting
        is_proof = requested.stage is TuneStage.PROOF and requested.number > self._plan.searched
        stage = TuneStage.SEARCH if requested.stage is TuneStage.PROOF and not is_proof else requested.stage
        ask = Ask(
            effective,
            requested.seconds * self._levels,
            stage,
            requested.improvement if stage is TuneStage.SEARCH else None,
            block=requested.block - self._plan.searched if is_proof else 0,
            candidate=requested.subset if is_proof else "",
        )
        if measured is None or figure is None:
            return TrialOutcome(ask, ok=False, throughput=0.0, life=answer.life, cost=answer.cost)
        error = MEASURES[self.goal].error(measured)
        return TrialOutcome(ask, ok=True, throughput=figure, life=answer.life, cost=answer.cost, error=error)


def answers(asks: Sequence[TuneAsk], trials: Sequence[Trial]) -> Iterator[TrialAnswer]:
    """Yield each trial that was asked for and has ended, in order.

    The cost of a trial is the time since the one before ended in the same session, so that preparation counts, and so does a
    trial that was broken off and run again. Seconds that a trial waited do not count.
    """
    find = ask_finder(asks)
    ended: dict[tuple[int, str], float] = {}
    life, spent = 0, 0.0
    for trial in trials:
        if trial.purpose not in _OF_TUNE or trial.state is TrialState.RUNNING:
            continue
        life += Step.BOOT in trial.steps
        took = sum(trial.steps.values())
        end = trial.started + took
        spent += max(took, end - ended.get(trial.run, trial.started)) - trial.waited
        ended[trial.run] = end
        ask = find(trial)
        if ask is not None and trial.has_ended:
            yield TrialAnswer(ask, trial, life, spent)
            spent = 0.0


def effective_point(space: Space, setting: Setting, in_force: Mapping[str, str]) -> dict[str, Value]:
    """Return the effective setting: where the server rounded or clamped a value, the value that was measured.

    A value that the search cannot place, such as a word that is not in its list, stays as requested.
    """
    effective = dict(setting)
    for dimension in space.dimensions:
        name, default = dimension.name, space.defaults[dimension.name]
        if name not in in_force:
            continue
        value = parse_value(in_force[name])
        if same_value(value, setting.get(name, default)):
            continue
        if same_value(value, default):
            effective.pop(name, None)
        elif dimension.takes(value):
            effective[name] = value
    return effective


def make_constraints(plan: TunePlan) -> Constraints:
    return Constraints(plan.memory, plan.order, plan.acts_from)


def make_options(spec: StudySpec, plan: TunePlan) -> Options:
    levels = spec.workload.number_of_levels
    return Options(
        spec.minutes,
        search_seconds=levels * plan.search_seconds,
        proof_seconds=levels * plan.proof_seconds,
        start_seconds=plan.start_seconds,
        set_seconds=plan.set_seconds,
        noise=MEASURES[spec.goal].noise,
        worthwhile=spec.worthwhile,
        resumed=plan.searched,
        proofs=plan.proofs,
    )
