"""Selects the candidate that a verdict recommends, with the reason as a code and its figures."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from dialin.model.durability import DurabilityLoss
from dialin.model.study import StudySpec
from dialin.model.verdict import AgainstBest, Outcome, ReasonCode
from dialin.sentences.load_notes import DriverDelay, LateEffect
from dialin.sentences.note import Confounding
from dialin.sentences.reasons import ComesLate, Confounded, OthersFailed, Reason, ShownBetter, WeakensDurability
from dialin.sentences.setting_notes import Confound
from dialin.stats.decide import Decision


@dataclass(frozen=True, slots=True)
class Recommendation:
    """The candidate to use, and why."""

    candidate: str
    reason: Reason

    @classmethod
    def of(cls, candidate: str, code: ReasonCode) -> Recommendation:
        return cls(candidate, Reason(code=code))


def recommend(
    spec: StudySpec,
    outcome: Outcome,
    decision: Decision,
    weaker: Mapping[str, Sequence[DurabilityLoss]],
    serious: Sequence[Confounding],
    *,
    hosts_disagree: bool = False,
    withheld: bool = False,
) -> Recommendation:
    """Return the candidate to use. A candidate that weakens durability is chosen only where the user accepted that.

    `withheld`: all hosts together show a gain that not each kind of host shows.
    """
    base = spec.baseline
    has_failed = decision.states[base] is AgainstBest.FAILED
    if spec.is_aa:
        return Recommendation.of(base, ReasonCode.IDENTICAL_CANDIDATES)
    if outcome is Outcome.NO_WORTHWHILE_DIFFERENCE:
        if has_failed and decision.choice is not None:
            return Recommendation.of(decision.choice, ReasonCode.ANY_BUT_FAILED_BASELINE)
        return Recommendation.of(base, ReasonCode.NOTHING_TO_GAIN)
    if outcome is Outcome.TIE and base in decision.winners:
        return Recommendation.of(base, ReasonCode.BASELINE_AMONG_BEST)
    if hosts_disagree and not serious:
        return Recommendation.of(base, ReasonCode.HOSTS_DISAGREE)
    if withheld and outcome is Outcome.INCONCLUSIVE and not serious and not decision.better:
        return Recommendation.of(base, ReasonCode.NOT_ON_EACH_KIND)
    if outcome is Outcome.INCONCLUSIVE:
        return _while_inconclusive(spec, decision, weaker, serious)
    best = _by_level(decision, decision.winners or (decision.choice or base,))
    for name in best:
        if weaker.get(name) and not spec.accept_weaker_durability:
            continue
        if name == base:
            return Recommendation.of(base, ReasonCode.BASELINE_IS_BEST)
        if decision.ratios.get(name) is None:
            return Recommendation.of(name, ReasonCode.BEST_BUT_FAILED_BASELINE)
        codes = {Outcome.SAFE_CHOICE: ReasonCode.NEAR_THE_BEST, Outcome.WINNER: ReasonCode.OTHERS_WORSE}
        return Recommendation.of(name, codes.get(outcome, ReasonCode.AMONG_BEST))
    refused = (decision.winners or (decision.choice or base,))[0]
    reason = WeakensDurability(candidate=refused, losses=tuple(weaker[refused]))
    durable = _by_level(decision, _shown_better(decision, base, weaker))
    return Recommendation(durable[0] if durable else base, reason)


def _while_inconclusive(
    spec: StudySpec, decision: Decision, weaker: Mapping[str, Sequence[DurabilityLoss]], serious: Sequence[Confounding]
) -> Recommendation:
    base = spec.baseline
    if any(isinstance(note, DriverDelay) for note in serious):
        return Recommendation.of(base, ReasonCode.DRIVER_DELAYED)
    late = next((note for note in serious if isinstance(note, LateEffect)), None)
    if late is not None:
        return Recommendation(base, ComesLate(since=late.since))
    if confounded := confounded_by(serious):
        return Recommendation(base, confounded)
    if decision.states[base] is AgainstBest.FAILED:
        return Recommendation.of(base, ReasonCode.BASELINE_FAILED)
    if {state for name, state in decision.states.items() if name != base} == {AgainstBest.UNSAFE}:
        return Recommendation.of(base, ReasonCode.OTHERS_UNSAFE)
    broken = [name for name, state in decision.states.items() if state is AgainstBest.FAILED]
    if broken and len(decision.levels) < 3:
        return Recommendation(base, OthersFailed(candidates=tuple(broken)))
    better = _shown_better(decision, base, weaker)
    if better:
        likeliest = max(better, key=lambda name: decision.chances.get(name, 0.0))
        return Recommendation(likeliest, ShownBetter(candidates=tuple(better)))
    return Recommendation.of(base, ReasonCode.NOTHING_SHOWN)


def confounded_by(serious: Sequence[Confounding]) -> Confounded | None:
    """Return the reason where another variable could explain a result; None where none could."""
    notes = [note for note in serious if isinstance(note, Confound)]
    return Confounded(variable=notes[0].variable, can_be_held=any(note.hold for note in notes)) if notes else None


def _shown_better(decision: Decision, base: str, weaker: Mapping[str, Sequence[DurabilityLoss]]) -> list[str]:
    return [name for name in decision.better if name != base and not weaker.get(name)]


def _by_level(decision: Decision, names: Sequence[str]) -> list[str]:
    def level(name: str) -> float:
        # The ratio is preferred, because levels include drift.
        estimate = decision.ratios.get(name) or decision.levels.get(name)
        return -estimate.mean if estimate else 0.0

    return sorted(names, key=level)
