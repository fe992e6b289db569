"""Selects the candidate that a verdict recommends, with the reason as a code and its figures."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from dialin.model.durability import DurabilityLoss, as_data
from dialin.model.study import StudySpec
from dialin.model.verdict import AgainstBest, Note, Outcome, ReasonCode
from dialin.stats.decide import Decision
from dialin.verdict import driver_delay, late_effect


@dataclass(frozen=True, slots=True)
class Recommendation:
    """The candidate to use, and why; `data` holds the figures of the reason that the verdict does not hold elsewhere."""

    candidate: str
    code: ReasonCode
    data: Mapping[str, Any] = field(default_factory=dict)


def recommend(
    spec: StudySpec,
    outcome: Outcome,
    decision: Decision,
    weaker: Mapping[str, Sequence[DurabilityLoss]],
    serious: Sequence[Note],
    *,
    hosts_disagree: bool = False,
    withheld: bool = False,
) -> Recommendation:
    """Return the candidate to use. A candidate that weakens durability is chosen only where the user accepted that.

    `withheld`: all hosts together show a gain that not each kind of host shows.
    """
    base = spec.baseline
    has_failed = decision.states[base] is AgainstBest.FAILED
    if spec.aa:
        return Recommendation(base, ReasonCode.IDENTICAL_CANDIDATES)
    if outcome is Outcome.NO_WORTHWHILE_DIFFERENCE:
        if has_failed and decision.choice is not None:
            return Recommendation(decision.choice, ReasonCode.ANY_BUT_FAILED_BASELINE)
        return Recommendation(base, ReasonCode.NOTHING_TO_GAIN)
    if outcome is Outcome.TIE and base in decision.winners:
        return Recommendation(base, ReasonCode.BASELINE_AMONG_BEST)
    if hosts_disagree and not serious:
        return Recommendation(base, ReasonCode.HOSTS_DISAGREE)
    if withheld and outcome is Outcome.INCONCLUSIVE and not serious and not decision.better:
        return Recommendation(base, ReasonCode.NOT_ON_EACH_KIND)
    if outcome is Outcome.INCONCLUSIVE:
        return _while_inconclusive(spec, decision, weaker, serious)
    best = _by_level(decision, decision.winners or (decision.choice or base,))
    for name in best:
        if weaker.get(name) and not spec.accept_weaker_durability:
            continue
        if name == base:
            return Recommendation(base, ReasonCode.BASELINE_IS_BEST)
        if decision.ratios.get(name) is None:
            return Recommendation(name, ReasonCode.BEST_BUT_FAILED_BASELINE)
        codes = {Outcome.SAFE_CHOICE: ReasonCode.NEAR_THE_BEST, Outcome.WINNER: ReasonCode.OTHERS_WORSE}
        return Recommendation(name, codes.get(outcome, ReasonCode.AMONG_BEST))
    refused = (decision.winners or (decision.choice or base,))[0]
    data = {"candidate": refused, "losses": as_data(weaker[refused]), "is_better": refused in decision.better}
    durable = _by_level(decision, _shown_better(decision, base, weaker))
    return Recommendation(durable[0] if durable else base, ReasonCode.WEAKER_DURABILITY, data)


def _while_inconclusive(
    spec: StudySpec, decision: Decision, weaker: Mapping[str, Sequence[DurabilityLoss]], serious: Sequence[Note]
) -> Recommendation:
    base = spec.baseline
    if any(note.code == driver_delay.CODE for note in serious):
        return Recommendation(base, ReasonCode.DRIVER_DELAYED)
    late = next((note for note in serious if note.code == late_effect.CODE), None)
    if late is not None:
        return Recommendation(base, ReasonCode.LATE_EFFECT, {"since": late.data["since"]})
    if serious:
        return Recommendation(base, ReasonCode.CONFOUNDED, {"can_be_held": any(note.data["hold"] for note in serious)})
    if decision.states[base] is AgainstBest.FAILED:
        return Recommendation(base, ReasonCode.BASELINE_FAILED)
    if {state for name, state in decision.states.items() if name != base} == {AgainstBest.UNSAFE}:
        return Recommendation(base, ReasonCode.OTHERS_UNSAFE)
    broken = [name for name, state in decision.states.items() if state is AgainstBest.FAILED]
    if broken and len(decision.levels) < 3:
        return Recommendation(base, ReasonCode.OTHERS_FAILED, {"candidates": broken})
    better = _shown_better(decision, base, weaker)
    if better:
        likeliest = max(better, key=lambda name: decision.chances.get(name, 0.0))
        return Recommendation(likeliest, ReasonCode.SHOWN_BETTER, {"candidates": better})
    return Recommendation(base, ReasonCode.NOTHING_SHOWN)


def _shown_better(decision: Decision, base: str, weaker: Mapping[str, Sequence[DurabilityLoss]]) -> list[str]:
    return [name for name in decision.better if name != base and not weaker.get(name)]


def _by_level(decision: Decision, names: Sequence[str]) -> list[str]:
    def level(name: str) -> float:
        # The ratio is preferred, because levels include drift.
        estimate = decision.ratios.get(name) or decision.levels.get(name)
        return -estimate.mean if estimate else 0.0

    return sorted(names, key=level)
