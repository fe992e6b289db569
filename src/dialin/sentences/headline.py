"""A verdict in one sentence, built from its codes and figures: what changes, by how much, and how sure that is."""

from __future__ import annotations

from dialin.measures.of_verdict import deciding, measure_of
from dialin.model.study import Goal, StudySpec
from dialin.model.traffic import ALL_SATURATED
from dialin.model.verdict import CandidateState, CandidateVerdict, DecidedBy, LiveFindings, Outcome, Verdict
from dialin.sentences.changes import change_with_confidence, detectable_difference, is_too_noisy
from dialin.sentences.host_notes import HostsDisagree, NotOnEachKind
from dialin.sentences.live_notes import GuardTripped
from dialin.sentences.load_notes import DriverDelay, LateEffect
from dialin.sentences.load_units import units
from dialin.sentences.names import name_in_sentence, names_in_sentence
from dialin.sentences.notes import among, serious
from dialin.sentences.result_notes import Unsafe
from dialin.sentences.setting_notes import Confound, InertConfound, SameInForce
from dialin.sentences.tune_words import tune_headline
from dialin.text import change, counted, exact_percent, listed, percent

_LEADS = 0.5
"""The probability from which on the headline of an inconclusive study names a leading candidate."""
_NOT_COMPARED = (CandidateState.NOT_MEASURED, CandidateState.UNSAFE)


def headline(spec: StudySpec, verdict: Verdict) -> str:
    """Return a verdict in one sentence, and one more for each candidate that is unsafe."""
    return " ".join([_headline(spec, verdict), *_unsafe(spec, verdict)])


def before_and_after(verdict: Verdict, candidate: CandidateVerdict, spec: StudySpec) -> str:
    """Return the goal's figure under the baseline and under a candidate: `2,437 → 2,860 tps`; empty where one is missing."""
    aim = measure_of(verdict)
    before, after = aim.level(verdict.candidate(verdict.baseline)), aim.level(candidate)
    if before is None or after is None:
        return ""
    figures = f"{aim.show(before.mean)} → {aim.figure(after.mean, units(spec.workload).title)}"
    return figures if aim.unit is None else f"{aim.noun} {figures}"


def gain(spec: StudySpec, verdict: Verdict, candidate: CandidateVerdict) -> str:
    """Return what a candidate gains over the baseline, absolute and relative; empty where they cannot be compared.

    Where no interval of a safe choice excludes zero, only its interval is given: the figure of the one that leads among equals
    is lucky.
    """
    ratio = deciding(candidate, verdict)
    if ratio is None:
        return ""
    typical = candidate.typical_ratio if verdict.decided_by is DecidedBy.TYPICAL_SPEED else None
    may_be_luck = not ratio.excludes_one and not (typical and typical.excludes_one)
    if verdict.verdict is Outcome.SAFE_CHOICE and may_be_luck and ratio.low is not None and not is_too_noisy(ratio):
        return f"no gain is shown ({exact_percent(verdict.confidence)} CI {change(ratio.low)} to {change(ratio.high)})"
    figures = before_and_after(verdict, candidate, spec)
    relative = change_with_confidence(ratio, verdict.confidence, candidate.trials)
    return f"{figures} ({relative}{_typical(candidate, verdict)})" if figures else relative


def _typical(candidate: CandidateVerdict, verdict: Verdict) -> str:
    """Return the change of the typical speed where that decided and throughput alone does not show a gain yet."""
    typical, ratio = candidate.typical_ratio, candidate.ratio
    is_shown = ratio is not None and ratio.low is not None and ratio.low > 1
    if verdict.decided_by is not DecidedBy.TYPICAL_SPEED or typical is None or is_shown:
        return ""
    shown = change_with_confidence(typical, verdict.confidence, candidate.trials)
    is_same = ratio is not None and shown == change_with_confidence(ratio, verdict.confidence, candidate.trials)
    return "" if is_same else f"; typical speed {shown}"


def _headline(spec: StudySpec, verdict: Verdict) -> str:
    if verdict.tune is not None:
        return tune_headline(verdict, verdict.tune, gain(spec, verdict, verdict.chosen))
    near = f"within {exact_percent(verdict.worthwhile)} of the best"
    if spec.is_aa:
        return _of_identical(verdict)
    if verdict.verdict is Outcome.NO_WORTHWHILE_DIFFERENCE:
        if any(len(note.candidates) == len(verdict.candidates) for note in among(SameInForce, verdict.warnings)):
            return "No worthwhile difference: all candidates have identical effective settings."
        return f"No worthwhile difference: {_why_no_difference(verdict, near)}."
    if verdict.verdict is Outcome.TIE:
        winners = names_in_sentence(spec, verdict.winners)
        return f"A tie for the best: {winners} differ by less than {exact_percent(verdict.worthwhile)}."
    if verdict.verdict is Outcome.INCONCLUSIVE:
        return f"Inconclusive: {_why_inconclusive(spec, verdict, near)}."
    chosen = subject(verdict) or verdict.chosen
    name = name_in_sentence(spec, chosen.name)
    why = _claim(spec, verdict, chosen)
    if chosen.name == verdict.baseline:
        role = "what the server has now" if chosen.name == spec.initial else "the baseline"
        return f"Keep {name}, {role}: {why}."
    return f"{name}: {why}." if verdict.verdict is Outcome.WINNER else f"{name} is a safe choice: {why}."


def claim(spec: StudySpec, verdict: Verdict) -> str:
    """Return the verdict for a place that names the recommendation: `Winner:` and its figures; else the whole headline."""
    if verdict.verdict is Outcome.GAIN:
        return " ".join(
            [f"Gain proven: {gain(spec, verdict, verdict.chosen) or 'by confirmation trials'}.", *_unsafe(spec, verdict)]
        )
    words = {Outcome.WINNER: "Winner", Outcome.SAFE_CHOICE: "Safe choice"}.get(verdict.verdict)
    chosen = subject(verdict) or verdict.chosen
    if words is None or verdict.tune is not None or spec.is_aa or chosen.name != verdict.recommended_candidate:
        return headline(spec, verdict)
    return " ".join([f"{words}: {_claim(spec, verdict, chosen)}.", *_unsafe(spec, verdict)])


def _claim(spec: StudySpec, verdict: Verdict, chosen: CandidateVerdict) -> str:
    """Return what a winner or a safe choice gains, or why the baseline is one."""
    is_winner, near = verdict.verdict is Outcome.WINNER, f"within {exact_percent(verdict.worthwhile)} of the best"
    if chosen.name == verdict.baseline:
        worse = f"every other candidate is {measure_of(verdict).worse}"
        return worse if is_winner else _why_baseline(spec, verdict, chosen, near)
    figures = gain(spec, verdict, chosen) or "the best of those that could be measured"
    price = "; but it weakens durability" if chosen.weaker_durability else ""
    return f"{figures}{_derived_clause(verdict) if is_winner else f'; {_how_near(chosen, near)}'}{price}"


def _why_no_difference(verdict: Verdict, near: str) -> str:
    """Return what is claimed: a fact where every interval that is shown is so narrow, else a probability."""
    if are_equal(verdict):
        return f"no candidate differs from the baseline by {exact_percent(verdict.worthwhile)} or more"
    if verdict.probability_all_near is None:
        return f"no difference of {exact_percent(verdict.worthwhile)} or more is shown"
    return f"all candidates are {near} with {probability(verdict.probability_all_near)} probability"


def are_equal(verdict: Verdict) -> bool:
    """Return whether every candidate that was compared is equal to the baseline within what is worthwhile."""
    return {one.state for one in verdict.candidates} <= {CandidateState.EQUAL, *_NOT_COMPARED}


def probability(share: float | None) -> str:
    """Return a probability in whole percent; an estimate is never shown as 0 % or 100 %."""
    if share is None:
        return "unknown"
    if share < 0.01:
        return "<1 %"
    return ">99 %" if share > 0.99 else f"{100 * share:.0f} %"


def _how_near(one: CandidateVerdict, near: str) -> str:
    """Return how probably a candidate is near the best, and what choosing it costs on average."""
    text = f"{near} with {probability(one.probability)} probability"
    if one.shortfall is None:
        return text
    behind = "less than 0.1 %" if one.shortfall < 0.001 else percent(one.shortfall)
    return f"{text}, {behind} behind it on average"


def _why_baseline(spec: StudySpec, verdict: Verdict, baseline: CandidateVerdict, near: str) -> str:
    leader = _leader(verdict)
    is_safest = leader is None or leader.name == baseline.name
    if baseline.probability is not None and (is_safest or baseline.probability >= verdict.confidence):
        return f"it is {_how_near(baseline, near)}"
    other = name_in_sentence(spec, leader.name) if leader and leader.name != baseline.name else "another candidate"
    return f"{other} is as safe a choice, but was not shown to be better"


def _why_inconclusive(spec: StudySpec, verdict: Verdict, near: str) -> str:
    confounds = serious(verdict.confounds)
    if any(isinstance(note, DriverDelay) for note in confounds):
        return "what the load driver itself added to latency could explain the result"
    if late := next((note for note in confounds if isinstance(note, LateEffect)), None):
        return f"{name_in_sentence(spec, late.candidate)} does not keep its gain when it is in force for longer"
    if confound := next((note for note in confounds if isinstance(note, Confound)), None):
        return f"{confound.variable} differs too and could explain the result"
    if disagree := next(among(HostsDisagree, verdict.warnings), None):
        return f"hosts disagree on {name_in_sentence(spec, disagree.candidate)}: {disagree.by_host}"
    if unequal := next(among(NotOnEachKind, verdict.warnings), None):
        name = name_in_sentence(spec, unequal.candidate)
        return f"{name} is not shown to be better on every kind of host: {unequal.by_host}"
    measured = [one.name for one in verdict.candidates if one.state not in _NOT_COMPARED]
    if len(measured) < 2 and any(one.state is CandidateState.UNSAFE for one in verdict.candidates):
        return "no safe candidate is left to compare with the baseline"
    if len(measured) < 2:
        return f"only {listed(measured)} could be measured, so nothing could be compared"
    if verdict.trial_noise is None:
        return "too few trials to compare the candidates"
    if verdict.live is not None and (why := _why_nothing_is_claimed(spec, verdict, verdict.live)):
        return why
    leader = named_leader(verdict)
    if leader is not None:
        figures = "" if leader.name == verdict.baseline else gain(spec, verdict, leader)
        name = f"{name_in_sentence(spec, leader.name)}{', the baseline,' if leader.name == verdict.baseline else ''}"
        return f"{name} leads{f', {figures}' if figures else ''}; {near} with {probability(leader.probability)} probability"
    worse = (CandidateState.WORSE, CandidateState.LIKELY_WORSE, *_NOT_COMPARED)
    may_be_best = [one.name for one in verdict.candidates if one.state not in worse]
    if len(may_be_best) < 2:
        return "too few trials to compare the candidates"
    return f"{names_in_sentence(spec, may_be_best)} could each be the best"


def _why_nothing_is_claimed(spec: StudySpec, verdict: Verdict, live: LiveFindings) -> str:
    """Return what forbids any claim on live traffic; empty where nothing does."""
    if live.quads < live.quads_needed:
        return f"{counted(live.quads, 'pair')} of blocks are too few to tell an effect from a change of the load"
    if names := [one.name for one in live.candidates if one.disagrees]:
        return f"the offered load differs with {names_in_sentence(spec, names)} and could explain the result"
    if names := [one.name for one in live.candidates if one.lasts]:
        return f"the effect of {names_in_sentence(spec, names)} takes too long to settle for periods of this length"
    if verdict.goal is Goal.THROUGHPUT and live.saturated < ALL_SATURATED:
        return "the server was not saturated, so that its clients decided the throughput"
    return ""


def _of_identical(verdict: Verdict) -> str:
    if any(one.state in (CandidateState.WORSE, CandidateState.BETTER) for one in verdict.candidates):
        return "Identical candidates came out as different: comparisons on this machine cannot be trusted."
    names = f"{len(verdict.candidates)} identical candidates"
    if verdict.trial_noise is None or verdict.detectable is None:
        return f"{names}: too few trials to measure the noise."
    return (
        f"{names}: no difference is claimed, as it should be. Trial-to-trial SD {percent(verdict.trial_noise)}; "
        f"{detectable_difference(verdict.trials, verdict.detectable)}."
    )


def _unsafe(spec: StudySpec, verdict: Verdict) -> list[str]:
    """Return a sentence for each candidate whose server failed more often than the baseline's, or that tripped the guard."""
    tripped = {note.candidate: note for note in among(GuardTripped, verdict.warnings)}
    failures = {note.candidate: note for note in among(Unsafe, verdict.warnings)}
    sentences = []
    for one in verdict.candidates:
        if one.state is CandidateState.UNSAFE and one.name in tripped:
            sentences.append(f"{name_in_sentence(spec, one.name)} is unsafe: {tripped[one.name].trips_text}.")
        elif one.state is CandidateState.UNSAFE:
            note = failures.get(one.name)
            failed, trials = (note.failed, note.trials) if note else (one.failed, one.failed + one.trials)
            of = counted(trials, "trial")
            sentences.append(f"{name_in_sentence(spec, one.name)} is unsafe: its server failed in {failed} of {of}.")
    return sentences


def _derived_clause(verdict: Verdict) -> str:
    differing = [note for note in among(Confound, verdict.confounds) if not isinstance(note, InertConfound)]
    derived = [note.variable for note in differing if not note.could_explain]
    return f", with {listed(derived)}, which the server derives from it" if derived else ""


def subject(verdict: Verdict) -> CandidateVerdict | None:
    """Return the candidate that the headline is about; None where it names none, or several."""
    if verdict.verdict is Outcome.INCONCLUSIVE:
        return named_leader(verdict)
    return verdict.candidate(verdict.winners[0]) if verdict.winners else _choice(verdict)


def named_leader(verdict: Verdict) -> CandidateVerdict | None:
    """Return the candidate that the headline of an inconclusive study names; None where it names none."""
    leader = _leader(verdict)
    return leader if leader is not None and (leader.probability or 0.0) >= _LEADS else None


def _leader(verdict: Verdict) -> CandidateVerdict | None:
    known = [one for one in verdict.candidates if one.probability is not None]
    return max(known, key=lambda one: one.probability or 0.0, default=None)


def _choice(verdict: Verdict) -> CandidateVerdict:
    """Return the safe choice: the recommended candidate, or a leader that is not recommended only for its durability."""
    leader = _leader(verdict)
    return leader if leader is not None and leader.weaker_durability else verdict.chosen
