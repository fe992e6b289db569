"""The sentences of a verdict, all in one place so that they agree."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from dialin.model.record import StudyRecord
from dialin.model.study import Goal, StudySpec
from dialin.model.trial import Purpose, TrialState
from dialin.model.verdict import CandidateState, DecidedBy, Estimate, Note, Outcome
from dialin.stats.decide import Decision
from dialin.stats.safety import Failures
from dialin.stats.trial_figures import natural
from dialin.text import change, counted, exact_percent, listed, percent
from dialin.variables import rules

_BEST = {Goal.THROUGHPUT: "the fastest", Goal.STABILITY: "the steadiest", Goal.LATENCY: "the quickest to answer"}
_MEASURED = {Goal.THROUGHPUT: "throughput ", Goal.STABILITY: "", Goal.LATENCY: ""}

_NAMED = 0.5
"""The chance from which on a candidate is said to lead an unresolved study."""


def interval(estimate: Estimate) -> str:
    """Return a ratio with its interval, as differences in percent."""
    if estimate.low is None or estimate.high is None:
        return f"{change(estimate.mean)} (no interval yet)"
    return f"{change(estimate.mean)} ({change(estimate.low)} to {change(estimate.high)})"


def named(spec: StudySpec, name: str) -> str:
    """Return a candidate's name for a sentence: `innodb_buffer_pool_instances = 4`, or its own name."""
    setting = spec.candidate(name).setting
    if len(setting) == 1 and len(spec.variables_under_test) == 1 and not spec.compares_builds:
        ((variable, value),) = setting.items()
        if str(value) in name:
            return f"{variable} = {value}"
    return name


def several(spec: StudySpec, names: Sequence[str]) -> str:
    """Return candidates' names for a sentence; values of one variable share its name."""
    full = [named(spec, name) for name in names]
    heads = {text.partition(" = ")[0] for text in full}
    if len(names) > 1 and len(heads) == 1 and full != list(names):
        return f"{heads.pop()} = {listed([text.partition(' = ')[2] for text in full])}"
    return listed(full)


def unsafe_sentences(spec: StudySpec, decision: Decision, failures: Mapping[str, Failures]) -> list[str]:
    """Return a sentence for each candidate whose server failed more often than the baseline's."""
    return [
        f"{named(spec, name)} is unsafe: its server failed in {failures[name].failed} of "
        f"{counted(failures[name].trials, 'trial')}."
        for name, state in decision.states.items()
        if state is CandidateState.UNSAFE
    ]


def headline(
    spec: StudySpec,
    outcome: Outcome,
    decision: Decision,
    identical: Sequence[frozenset[str]],
    confounds: Sequence[Note],
    weaker: Mapping[str, Sequence[str]],
) -> str:
    """Return the verdict in one sentence."""
    serious = [note for note in confounds if note.data["could_explain"]]
    followers = [str(note.data["variable"]) for note in confounds if not note.data["could_explain"] and not note.data["inert"]]
    names = [candidate.name for candidate in spec.candidates]
    if spec.aa:
        return _of_one_setting(spec, decision)
    if outcome is Outcome.NO_WORTHWHILE_DIFFERENCE:
        if any(len(group) == len(names) for group in identical):
            return "No worthwhile difference: all candidates come to the same setting in force."
        return f"No worthwhile difference: no candidate differs from the best by {exact_percent(spec.worthwhile)} or more."
    if outcome is Outcome.WINNER:
        (winner,) = decision.winners
        if winner == spec.baseline:
            return f"{named(spec, winner)}, the baseline, is {_BEST[spec.goal]}; every other candidate was shown to be worse."
        gain = gain_in_words(spec, decision, winner)
        along = f" (with {listed(followers)}, which the server derives from it)" if followers else ""
        price = ", but it gives up durability" if weaker.get(winner) else ""
        figure = f": {gain} against the baseline{_sharper(decision, winner)}" if gain else ""
        return f"{named(spec, winner)} wins{along}{figure}{price}."
    if outcome is Outcome.SAFE_CHOICE and decision.choice is not None:
        return _safe(spec, decision, decision.choice, weaker)
    if outcome is Outcome.TIE:
        return f"A tie for the best: {several(spec, decision.winners)}; no worthwhile difference between them."
    if serious:
        return f"Unresolved: {serious[0].data.get('variable', 'another variable')} differs too, and could explain the result."
    out = (CandidateState.FAILED, CandidateState.UNSAFE)
    safe = [name for name in names if decision.states[name] not in out]
    if len(safe) < 2 and CandidateState.UNSAFE in decision.states.values():
        return "Unresolved: no safe candidate is left to compare with the baseline."
    if len(safe) < 2:
        return f"Unresolved: only {listed(safe)} could be measured; nothing could be compared."
    leading = _leaders(decision)
    if not leading or decision.sd is None:
        return "Unresolved: there are too few trials to tell the candidates apart."
    if decision.leader is not None and decision.chances[decision.leader] >= _NAMED:
        chance = percent(decision.chances[decision.leader])
        return (
            f"Unresolved within the budget: {named(spec, decision.leader)} leads, near the best with a probability of {chance}."
        )
    return f"Unresolved within the budget: {several(spec, leading)} could each be the best."


def _safe(spec: StudySpec, decision: Decision, choice: str, weaker: Mapping[str, Sequence[str]]) -> str:
    near = f"{exact_percent(spec.worthwhile)} of the best"
    chance = decision.chances[choice]
    if choice != spec.baseline:
        gain = gain_in_words(spec, decision, choice)
        figure = f": {gain} against the baseline{_sharper(decision, choice)}" if gain else ""
        price = "; but it gives up durability" if weaker.get(choice) else ""
        return f"{named(spec, choice)} is a safe choice{figure}; within {near} with a probability of {percent(chance)}{price}."
    if chance >= spec.confidence:
        return f"Keep {named(spec, choice)}, the baseline: it is within {near} with a probability of {percent(chance)}."
    other = named(spec, decision.leader) if decision.leader else "another"
    return f"Keep {named(spec, choice)}, the baseline: {other} is as safe a choice, but was not shown to be better."


def _sharper(decision: Decision, name: str) -> str:
    """Return the gain in typical speed where that decided and throughput alone does not show a gain yet."""
    typical = decision.typical_ratios.get(name)
    if decision.decided_by is not DecidedBy.TYPICAL_SPEED or typical is None or name in decision.better:
        return ""
    return f", typical speed {interval(typical)}"


def _of_one_setting(spec: StudySpec, decision: Decision) -> str:
    if any(state is CandidateState.LOSES for state in decision.states.values()):
        return "One setting under several names came out as different: this machine cannot be trusted with a comparison."
    if decision.sd is None or decision.detectable is None:
        return "There are too few trials to tell how large the noise is."
    return (
        f"One setting under {len(spec.candidates)} names: no difference is claimed. A trial varies by {percent(decision.sd)}; "
        f"{counted(decision.trials, 'trial')} can detect a difference of {percent(decision.detectable)}."
    )


def gain_in_words(spec: StudySpec, decision: Decision, name: str) -> str:
    """Return by how much a candidate differs from the baseline in the goal's measure; empty where that is not known."""
    ratio = natural(decision.ratios.get(name), spec.goal)
    if ratio is None:
        return ""
    what = {Goal.STABILITY: "variation ", Goal.LATENCY: f"p{spec.workload.percentile} latency "}.get(spec.goal, "")
    return f"{what}{interval(ratio)}"


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
        return base, "Nothing is recommended: the candidates are one setting."
    if outcome is Outcome.NO_WORTHWHILE_DIFFERENCE:
        if failed and decision.choice is not None:
            return decision.choice, "The baseline could not be measured; of the others each is as good as any."
        return base, "Nothing to gain: keep the baseline."
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
            return base, "The baseline is the best of those compared, or as good as any: keep it."
        gain = gain_in_words(spec, decision, name)
        if gain and outcome is Outcome.SAFE_CHOICE:  # the headline has the gain
            text = "Which of those near the best is the very best was not told apart; that would take more minutes."
        elif gain:
            text = f"{named(spec, name)} gives {gain} {_MEASURED[spec.goal]}against the baseline."
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
        "so it is not recommended; --accept-weaker-durability recommends it all the same."
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
        how = "start a new study with --hold" if any(note.data["hold"] for note in serious) else "hold that variable fixed"
        return base, f"No winner is claimed while another variable differs: keep the baseline, and {how}."
    if decision.states[base] is CandidateState.FAILED:
        return base, "The baseline could not be measured, so nothing is recommended: correct it, then start a new study."
    if {state for name, state in decision.states.items() if name != base} == {CandidateState.UNSAFE}:
        return base, "Every other candidate is unsafe: keep the baseline."
    broken = [name for name, state in decision.states.items() if state is CandidateState.FAILED]
    if broken and len(decision.levels) < 3:
        return base, f"{several(spec, broken)} could not be measured (see the warnings): keep the baseline, or mend that."
    better = _shown_better(decision, base, weaker)
    if better:
        likeliest = max(better, key=lambda name: decision.chances.get(name, 0.0))
        gain = gain_in_words(spec, decision, likeliest)
        others = " Which of the better ones is the best was not told apart." if len(better) > 1 else ""
        return likeliest, f"{named(spec, likeliest)} was shown to be better than the baseline: {gain}.{others}"
    return base, "Nothing was shown to be better: keep the baseline, or give the study more minutes."


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
    text = "Candidates run on different builds: every default that differs between these is part of the comparison"
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
    text = f"With this noise {counted(decision.trials, 'trial')} can detect differences of {percent(decision.detectable)}"
    data: dict[str, float | int] = {"detectable": decision.detectable, "trials": decision.trials}
    if needed and decision.trials:
        minutes = math.ceil(spec.minutes * max(1.2, needed / decision.trials))
        text += f"; a choice may take about {needed:,}: dialin resume DIR --minutes {minutes}"
        data["trials_needed"] = needed
    return [Note(code="unresolved", text=f"{text}. Or start a new study with a larger --worthwhile", data=data)]


def _leaders(decision: Decision) -> list[str]:
    return [name for name, state in decision.states.items() if state in (CandidateState.OPEN, CandidateState.TIES)]


def _by_level(decision: Decision, names: Sequence[str]) -> list[str]:
    def level(name: str) -> float:
        # Within blocks where that goes: levels drift.
        estimate = decision.ratios.get(name) or decision.levels.get(name)
        return -estimate.mean if estimate else 0.0

    return sorted(names, key=level)
