"""The verdict of a tune: what its search recommends, judged by the study that its proof is."""

from __future__ import annotations

from collections.abc import Mapping

from dialin.model.record import StudyRecord
from dialin.model.study import Candidate, StudySpec
from dialin.model.verdict import CandidateState, CandidateVerdict, Estimate, Outcome, TuneFindings, TuneOutcome, Verdict
from dialin.report.headline import headline
from dialin.stats.trial_figures import Figures
from dialin.store.proof_view import candidate_of
from dialin.text import exact_percent
from dialin.variables import rules
from dialin.verdict.reach_verdict import reach_verdict

_OUTCOMES = {
    TuneOutcome.GAIN: Outcome.SAFE_CHOICE,
    TuneOutcome.NOTHING: Outcome.NO_WORTHWHILE_DIFFERENCE,
    TuneOutcome.INCONCLUSIVE: Outcome.INCONCLUSIVE,
    TuneOutcome.RUNNING: Outcome.INCONCLUSIVE,
}


def tune_verdict(record: StudyRecord, known: Mapping[int, Figures], findings: TuneFindings) -> Verdict:
    """Return the verdict of a tune.

    The search names what it recommends. The gain that is quoted is that of the study of fresh trials, and where that study
    does not show one, or has a reason to distrust it, the baseline is recommended.

    Args:
        record: of the proof, see `store.proof_view`.
        known: figures by trial id.
        findings: what the search ended with.
    """
    spec = record.spec
    trials = {trial.id for trial in record.trials}
    judged = reach_verdict(record, {number: one for number, one in known.items() if number in trials}).verdict
    chosen = _recommended(spec, findings)
    objection = _objection(judged, chosen) if findings.outcome is TuneOutcome.GAIN else ""
    gain = _ratio(judged, chosen.name if chosen else _guess(spec))
    outcome = TuneOutcome.INCONCLUSIVE if objection else findings.outcome
    is_gain = outcome is TuneOutcome.GAIN and chosen is not None
    findings = findings.model_copy(
        update={"outcome": outcome, "gain": gain or findings.gain, "recommended": findings.recommended if is_gain else {}}
    )
    name = chosen.name if is_gain and chosen is not None else spec.baseline
    verdict = judged.model_copy(
        update={
            "verdict": _OUTCOMES[outcome],
            "recommended": dict(spec.candidate(name).setting),
            "recommended_candidate": name,
            "winners": [name] if is_gain else [],
            "shown_better": is_gain,
            "shown_best": False,
            "reason_code": None,
            "reason_data": {},
            "reason": objection or _reason(findings, _candidate(judged, name)),
            "tune": findings,
        }
    )
    return verdict.model_copy(update={"headline": headline(spec, verdict)})


def _recommended(spec: StudySpec, findings: TuneFindings) -> Candidate | None:
    """Return the candidate that the search recommends; None for the baseline."""
    base = spec.candidate(spec.baseline).setting
    return candidate_of(spec, {**base, **findings.recommended}) if findings.recommended else None


def _guess(spec: StudySpec) -> str:
    """Return the candidate of the proof that changes most: what is said where nothing is recommended."""
    others = [one for one in spec.candidates if one.name != spec.baseline]
    return max(others, key=lambda one: len(one.setting), default=spec.candidate(spec.baseline)).name


def _objection(judged: Verdict, chosen: Candidate | None) -> str:
    """Return why the gain that the search claims is not claimed; empty where it is."""
    if chosen is None:
        return "What the search recommends is none of the settings that were proven."
    one = _candidate(judged, chosen.name)
    serious = [note for note in judged.confounds if note.data.get("could_explain")]
    if serious:
        variable = serious[0].data.get("variable", "another variable")
        return f"No gain is claimed while {variable} differs too and could explain it: pin it with --set."
    if one.state in (CandidateState.UNSAFE, CandidateState.FAILED):
        return "The server of the recommended setting failed more often than the baseline's: keep the baseline."
    if one.ratio is None or one.ratio.low is None or one.ratio.low <= 1:
        return "Fresh trials do not exclude that the best setting is no better than the baseline; more minutes can show it."
    return ""


def _reason(findings: TuneFindings, chosen: CandidateVerdict) -> str:
    if findings.outcome is TuneOutcome.GAIN:
        lost = chosen.weaker_durability
        weaker = f" It gives up durability, which you accepted: {rules.loses(lost[0])}." if lost else ""
        return (
            f"Of the settings that were proven in fresh trials it changes the fewest variables among those within "
            f"{exact_percent(findings.worthwhile)} of the best.{weaker}"
        )
    if findings.outcome is TuneOutcome.NOTHING:
        return (
            f"Fresh trials exclude a gain of {exact_percent(findings.worthwhile)} of every setting that was proven: keep the "
            "baseline. Other variables, or another load, may have more to gain."
        )
    return "Fresh trials show neither a gain nor that there is none: keep the baseline, or give the tune more minutes."


def _candidate(judged: Verdict, name: str) -> CandidateVerdict:
    return next(one for one in judged.candidates if one.name == name)


def _ratio(judged: Verdict, name: str) -> Estimate | None:
    return None if name == judged.baseline else _candidate(judged, name).ratio
