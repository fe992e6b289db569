"""What a verdict recommends and why, and the notes on its outcome."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from dialin.model.record import StudyRecord
from dialin.model.study import Goal, StudySpec
from dialin.model.trial import Purpose, TrialState
from dialin.model.verdict import CandidateState, Note, Outcome
from dialin.report.headline import change_with_confidence
from dialin.report.names import named, several
from dialin.stats.decide import Decision
from dialin.stats.safety import Failures
from dialin.stats.trial_figures import goal_ratio
from dialin.text import counted, percent
from dialin.variables import rules

_MEASURED = {Goal.THROUGHPUT: "throughput ", Goal.STABILITY: "", Goal.LATENCY: ""}


def gain_in_words(spec: StudySpec, decision: Decision, name: str) -> str:
    """Return by how much a candidate differs from the baseline in the goal's measure; empty where that is not known."""
    ratio = goal_ratio(decision.ratios.get(name), spec.goal)
    if ratio is None:
        return ""
    what = {Goal.STABILITY: "variation ", Goal.LATENCY: f"p{spec.workload.percentile} latency "}.get(spec.goal, "")
    return f"{what}{change_with_confidence(ratio, spec.confidence)}"


def recommend(
    spec: StudySpec,
    outcome: Outcome,
    decision: Decision,
    weaker: Mapping[str, Sequence[str]],
    serious: Sequence[Note],
) -> tuple[str, str]:
    """Return the candidate to use, and why. One that gives up durability is chosen only where that was accepted."""
    base = spec.baseline
    failed = decision.states[base] is CandidateState.FAILED
    if spec.aa:
        return base, "Nothing is recommended: the candidates are identical."
    if outcome is Outcome.NO_WORTHWHILE_DIFFERENCE:
        if failed and decision.choice is not None:
            return decision.choice, "The baseline could not be measured; any of the others will do."
        return base, "There is nothing to gain: keep the baseline."
    if outcome is Outcome.TIE and base in decision.winners:
        return base, "The baseline is among the best: keep it."
    if outcome is Outcome.UNRESOLVED:
        return _while_unresolved(spec, decision, weaker, serious)
    best = decision.winners or (decision.choice or base,)
    for name in _by_level(decision, best):
        lost = weaker.get(name, [])
        if lost and not spec.accept_weaker_durability:
            continue
        if name == base:
            return base, "No other candidate is better: keep the baseline."
        gain = gain_in_words(spec, decision, name)
        if gain and outcome is Outcome.SAFE_CHOICE:  # the headline has the gain
            text = "Which of the candidates near the best is the very best is inconclusive; more minutes can show it."
        elif gain and outcome is Outcome.WINNER:
            text = "Every other candidate was shown to be worse."
        elif gain:
            text = f"{named(spec, name)} gives {_MEASURED[spec.goal]}{gain} against the baseline."
        else:
            text = f"The baseline could not be measured; {named(spec, name)} is the best choice among the others."
        if lost:
            text += f" It gives up durability, which you accepted: {rules.loses(lost[0])}."
        return name, text
    safe = _by_level(decision, _shown_better(decision, base, weaker))
    lost = weaker[best[0]]
    shown = "is better" if best[0] in decision.better else "may be better"
    refusal = (
        f"{named(spec, best[0])} {shown} but gives up durability ({', '.join(lost)}: {rules.loses(lost[0])}), "
        "so it is not recommended unless you give --accept-weaker-durability."
    )
    if safe:
        gain = gain_in_words(spec, decision, safe[0])
        return safe[0], f"{refusal} {named(spec, safe[0])} gives {gain} and stays as durable as the baseline."
    return base, refusal


def _while_unresolved(
    spec: StudySpec, decision: Decision, weaker: Mapping[str, Sequence[str]], serious: Sequence[Note]
) -> tuple[str, str]:
    base = spec.baseline
    if serious:
        how = "start a new study with --hold" if any(note.data["hold"] for note in serious) else "pin that variable"
        return base, f"No winner is claimed while another variable differs: keep the baseline, and {how}."
    if decision.states[base] is CandidateState.FAILED:
        return base, "The baseline could not be measured, so nothing is recommended: fix that, then start a new study."
    if {state for name, state in decision.states.items() if name != base} == {CandidateState.UNSAFE}:
        return base, "Every other candidate is unsafe: keep the baseline."
    broken = [name for name, state in decision.states.items() if state is CandidateState.FAILED]
    if broken and len(decision.levels) < 3:
        return base, f"{several(spec, broken)} could not be measured (see the caveats): keep the baseline, or fix that."
    better = _shown_better(decision, base, weaker)
    if better:
        likeliest = max(better, key=lambda name: decision.chances.get(name, 0.0))
        gain = gain_in_words(spec, decision, likeliest)
        others = " Which of the better ones is the best is inconclusive." if len(better) > 1 else ""
        return likeliest, f"{named(spec, likeliest)} was shown to be better than the baseline: {gain}.{others}"
    return base, "No candidate was shown to be better: keep the baseline, or give the study more minutes."


def _shown_better(decision: Decision, base: str, weaker: Mapping[str, Sequence[str]]) -> list[str]:
    return [name for name in decision.better if name != base and not weaker.get(name)]


def durability_notes(spec: StudySpec, weaker: Mapping[str, Sequence[str]], winners: Sequence[str]) -> list[Note]:
    """Return a warning for each candidate that gives up durability, winners first."""
    order = sorted((name for name in weaker if weaker[name]), key=lambda name: name not in winners)
    return [
        Note(
            code="weaker_durability",
            text=f"{named(spec, name)} gives up durability that the baseline has: {rules.loses(variable)}",
            data={"candidate": name, "variable": variable},
        )
        for name in order
        for variable in weaker[name]
    ]


def build_notes(spec: StudySpec) -> list[Note]:
    """Return a note that candidates run on different builds."""
    if not spec.compares_builds:
        return []
    text = "Candidates run on different builds: every default that differs between them is part of the comparison"
    return [Note(code="different_builds", text=text, data={"builds": sorted({c.server for c in spec.candidates})})]


def unsafe_notes(spec: StudySpec, decision: Decision, failures: Mapping[str, Failures]) -> list[Note]:
    """Return a warning for each candidate whose server failed more often than the baseline's."""
    base = failures[spec.baseline]
    beside = f"the baseline's failed in {base.failed} of {base.trials}"
    return [
        Note(
            code="unsafe",
            text=f"{named(spec, name)} is never recommended: its server failed in {failures[name].failed} of "
            f"{counted(failures[name].trials, 'trial')}; {beside}",
            data={"candidate": name, "failed": failures[name].failed, "trials": failures[name].trials},
        )
        for name, state in decision.states.items()
        if state is CandidateState.UNSAFE
    ]


def failure_notes(record: StudyRecord) -> list[Note]:
    """Return a warning for each candidate with failed trials, with the newest reason."""
    notes = []
    for candidate in record.spec.candidates:
        failed = [
            t
            for t in record.trials
            if t.candidate == candidate.name and t.state is TrialState.FAILED and t.purpose is not Purpose.WAITS
        ]
        if not failed:
            continue
        last = failed[-1].failure
        reason = last.reason if last else "unknown"
        notes.append(
            Note(
                code="failed_trials",
                text=f"{named(record.spec, candidate.name)}: {counted(len(failed), 'trial')} failed; {reason}",
                data={"candidate": candidate.name, "failed": len(failed), "reason": reason},
            )
        )
    return notes


def unresolved_notes(spec: StudySpec, decision: Decision, needed: int | None) -> list[Note]:
    """Return what it would take to resolve the study; `needed` is about how many trials a choice takes in all."""
    if decision.detectable is None:
        return []
    text = (
        f"With this noise, {counted(decision.trials, 'trial')} can detect differences of {percent(decision.detectable)} or more"
    )
    data: dict[str, float | int] = {"detectable": decision.detectable, "trials": decision.trials}
    if needed and decision.trials:
        minutes = math.ceil(spec.minutes * max(1.2, needed / decision.trials))
        text += f"; a choice may take about {needed:,} trials: dialin resume DIR --minutes {minutes}"
        data["trials_needed"] = needed
    return [Note(code="unresolved", text=f"{text}. Or start a new study with a larger --worthwhile", data=data)]


def _by_level(decision: Decision, names: Sequence[str]) -> list[str]:
    def level(name: str) -> float:
        # Within blocks where that goes: levels drift.
        estimate = decision.ratios.get(name) or decision.levels.get(name)
        return -estimate.mean if estimate else 0.0

    return sorted(names, key=level)
