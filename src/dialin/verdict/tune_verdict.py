"""Reaches the verdict of a tune: the recommendation of its search, judged by its proof, which is a study of fresh trials."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from statistics import median

from dialin.evidence.proof_view import candidate_of
from dialin.measures.of_trials import goal_ratio
from dialin.measures.of_verdict import deciding, improvement, measure_of
from dialin.measures.table import MEASURES
from dialin.model.record import StudyRecord
from dialin.model.setting import Setting, Value, same_value
from dialin.model.study import Candidate, StudySpec
from dialin.model.trial import Step, TrialState, seconds_of
from dialin.model.verdict import (
    CandidateState,
    Estimate,
    FigureSource,
    Outcome,
    ReasonCode,
    ResponsePoint,
    TunedVariable,
    TuneFindings,
    TuneOutcome,
    Verdict,
)
from dialin.sentences.load_notes import DriverDelay
from dialin.sentences.notes import serious
from dialin.sentences.reasons import FewestChanges, GainExcluded, GainNotShown
from dialin.sentences.result_notes import Inconclusive, OddTrials
from dialin.sentences.verdict_sentences import add_sentences
from dialin.stats.trial_figures import Figures
from dialin.stats.trial_fit import TrialFit
from dialin.verdict.candidate_states import Claim, candidate_states
from dialin.verdict.reach_verdict import reach_verdict
from dialin.verdict.recommendation import Recommendation, confounded_by

_OUTCOMES = {
    TuneOutcome.GAIN: Outcome.GAIN,
    TuneOutcome.NOTHING: Outcome.NO_WORTHWHILE_DIFFERENCE,
    TuneOutcome.INCONCLUSIVE: Outcome.INCONCLUSIVE,
    TuneOutcome.RUNNING: Outcome.INCONCLUSIVE,
}
_UNDECIDED = (TuneOutcome.INCONCLUSIVE, TuneOutcome.RUNNING)
_LEAST_MORE, _MOST_MORE = 1.2, 10
"""An inconclusive proof needs at least this many times its time; the time of a tune is not named beyond this many budgets."""


def tune_verdict(record: StudyRecord, known: Mapping[int, Figures], findings: TuneFindings) -> Verdict:
    """Return the verdict of a tune.

    The search selects the recommended setting, and the gain that is quoted is measured by the proof's fresh trials. Where the
    proof does not show a gain, or gives a reason to distrust it, the baseline is recommended.

    `record` is the record of the proof; see `evidence.proof_view`.
    """
    spec = record.spec
    trials = {trial.id for trial in record.trials}
    judgement = reach_verdict(record, {number: one for number, one in known.items() if number in trials})
    judged = judgement.verdict
    best = _proven(spec, findings.best)
    chosen = _proven(spec, findings.recommended)
    if best is not None:
        findings = findings.model_copy(update={"gain": deciding(judged.candidate(best.name), judged), "expected": None})
    if chosen is not None and judgement.fit is not None:
        findings = _with_carried(findings, record, judged, judgement.fit, chosen)
    objection = _objection(record, judged, findings, chosen) if findings.outcome is TuneOutcome.GAIN else None
    if objection is not None:
        findings = _without_recommendation(findings)
    reason = objection or _reason(record, judged, findings, chosen)
    is_gain = reason.candidate != spec.baseline
    claim = Claim(
        outcome=_OUTCOMES[findings.outcome],
        choice=None if findings.outcome in _UNDECIDED else reason.candidate,
        baseline=spec.baseline,
        worthwhile=findings.worthwhile,
        is_withheld=reason.reason.code is ReasonCode.CONFOUNDED,
    )
    # Fresh trials prove the recommended setting, which was chosen before them.
    proven = {reason.candidate} if is_gain else set()
    compared = [replace(one, is_better=one.is_better or one.name in proven) for one in judgement.compared]
    states = candidate_states(compared, claim)
    verdict = judged.model_copy(
        update={
            "candidates": [one.model_copy(update={"state": states[one.name]}) for one in judged.candidates],
            "verdict": _OUTCOMES[findings.outcome],
            "recommended": dict(spec.candidate(reason.candidate).setting),
            "recommended_candidate": reason.candidate,
            "winners": [reason.candidate] if is_gain else [],
            "shown_better": is_gain,
            "shown_best": False,
            "reason_code": reason.reason.code,
            "reason_data": reason.reason.model_dump(mode="json", exclude={"code"}),
            # It says how long the proof needs to find the best of its candidates, which is not the question of a tune.
            "warnings": [
                *(note for note in judged.warnings if note.code != Inconclusive.code),
                *(note.stored() for note in _left_out_notes(record, known, findings.left_out)),
            ],
            **_minutes(record),
            "tune": findings,
        }
    )
    return add_sentences(spec, verdict)


def _left_out_notes(record: StudyRecord, known: Mapping[int, Figures], left_out: Sequence[int]) -> Iterator[OddTrials]:
    """Yield a note on each trial that the proof leaves out, with its measure as a ratio to the median of its candidate's."""
    of_trial = MEASURES[record.spec.goal].of_trial
    of_all = {trial.id: trial for trial in record.course.trials} if record.course else {}
    for number in left_out:
        name, its = of_all[number].candidate, of_trial(known[number])
        others = [of_trial(known[trial.id]) for trial in record.trials if trial.candidate == name and trial.id in known]
        compared = [one for one in others if one]
        if its and compared:
            ratios = (its / median(compared),)
            yield OddTrials(candidate=name, of=len(others) + 1, ratios=ratios, trials=(number,), left_out=True)


def _proven(spec: StudySpec, changes: Setting) -> Candidate | None:
    base = spec.candidate(spec.baseline).setting
    return candidate_of(spec, {**base, **changes}) if changes else None


def _with_carried(
    findings: TuneFindings, record: StudyRecord, judged: Verdict, fit: TrialFit, chosen: Candidate
) -> TuneFindings:
    """Return findings in which what the proof measured of a variable is said in the figures of the verdict.

    The model's response of such a variable is drawn through what the proof measured.
    """
    spec = record.spec

    def carried(one: TunedVariable) -> TunedVariable:
        rest = {name: value for name, value in findings.recommended.items() if name != one.name}
        without = candidate_of(spec, {**spec.candidate(spec.baseline).setting, **rest})
        if one.carries_by is not FigureSource.PROOF or without is None or not {chosen.name, without.name} <= set(fit.names):
            return one
        ratio = (
            deciding(judged.candidate(chosen.name), judged)
            if without.name == spec.baseline
            else goal_ratio(fit.ratio(chosen.name, without.name, spec.alpha), spec.goal)
        )
        if ratio is None:
            return one
        response = _through(one.response, one.recommended, ratio)
        means = [point.ratio.mean for point in response]
        effect = max(means) / min(means) - 1 if means else None
        return one.model_copy(update={"carries": ratio, "response": response, "effect": effect})

    return findings.model_copy(update={"variables": [carried(one) for one in findings.variables]})


def _through(response: Sequence[ResponsePoint], value: Value | None, measured: Estimate) -> list[ResponsePoint]:
    """Return a response of the model, stretched on the log scale so that it has the measured ratio at a value.

    It is empty where the model and the measurement do not even agree on the direction.
    """
    at_value = next((point.ratio.mean for point in response if value is not None and same_value(point.value, value)), 1.0)
    if math.log(at_value) * math.log(measured.mean) <= 0:
        return []
    power = math.log(measured.mean) / math.log(at_value)

    def stretched(point: ResponsePoint) -> ResponsePoint:
        if value is not None and same_value(point.value, value):
            return point.model_copy(update={"ratio": measured})
        ends = {name: None if end is None else end**power for name, end in point.ratio.model_dump().items()}
        return point.model_copy(update={"ratio": Estimate(**ends)})

    return [stretched(point) for point in response]


def _minutes(record: StudyRecord) -> dict[str, float]:
    """Return how long the whole tune took, including the search before its proof."""
    trials = record.course.trials if record.course else record.trials
    done = [trial for trial in trials if trial.state is TrialState.DONE]
    return {
        "minutes_of_load": sum(trial.steps.get(Step.MEASURE, 0.0) for trial in done) / 60,
        "minutes_of_wall_clock": seconds_of(trials) / 60,
    }


def _objection(record: StudyRecord, judged: Verdict, findings: TuneFindings, chosen: Candidate | None) -> Recommendation | None:
    """Return why the baseline is recommended instead of the gain that the search claims; None where the gain holds."""
    base = judged.baseline
    if chosen is None:
        return Recommendation.of(base, ReasonCode.CHOICE_NOT_PROVEN)
    candidate = judged.candidate(chosen.name)
    confounds = serious(judged.confounds)
    if any(isinstance(note, DriverDelay) for note in confounds):
        return Recommendation.of(base, ReasonCode.DRIVER_DELAYED)
    if confounded := confounded_by(confounds):
        return Recommendation(base, confounded)
    if candidate.state in (CandidateState.UNSAFE, CandidateState.NOT_MEASURED):
        return Recommendation.of(base, ReasonCode.CHOICE_UNSAFE)
    ratio = deciding(candidate, judged)
    if ratio is None or improvement(ratio, judged) < 1:
        return _gain_not_shown(record, judged, findings)
    return None


def _without_recommendation(findings: TuneFindings) -> TuneFindings:
    nothing = {"recommended": None, "carries": None, "carries_by": None}
    return findings.model_copy(
        update={
            "outcome": TuneOutcome.INCONCLUSIVE,
            "recommended": {},
            "variables": [one.model_copy(update=nothing) for one in findings.variables],
            "interactions": [],
        }
    )


def _reason(record: StudyRecord, judged: Verdict, findings: TuneFindings, chosen: Candidate | None) -> Recommendation:
    base = record.spec.baseline
    if findings.outcome is TuneOutcome.GAIN and chosen is not None:
        return Recommendation(chosen.name, FewestChanges(worthwhile=findings.worthwhile))
    if findings.outcome is TuneOutcome.NOTHING:
        return Recommendation(base, GainExcluded(worthwhile=findings.worthwhile))
    return _gain_not_shown(record, judged, findings)


def _gain_not_shown(record: StudyRecord, judged: Verdict, findings: TuneFindings) -> Recommendation:
    minutes = _minutes_to_decide(record, judged, findings.gain)
    return Recommendation(record.spec.baseline, GainNotShown(minutes=minutes))


def _minutes_to_decide(record: StudyRecord, judged: Verdict, gain: Estimate | None) -> int | None:
    """Return about how many minutes in all may show a gain or that there is none; None where that is unknown, or very many.

    The width of an interval falls with the square root of the proof's time. A new proof begins with fresh trials; it has half
    of what is left after all trials so far, or the share of all minutes that this one had.
    """
    if gain is None or gain.low is None or gain.high is None or gain.low <= 0:
        return None
    level = math.log(gain.mean) if measure_of(judged).higher_is_better else -math.log(gain.mean)
    enough = max(level, math.log1p(judged.worthwhile) - level)
    times = max(_LEAST_MORE, (math.log(gain.high / gain.low) / 2 / enough) ** 2)
    proof, budget = seconds_of(record.trials) / 60, record.spec.minutes
    minutes = math.ceil(max(budget + 2 * times * proof, times * budget))
    return minutes if minutes <= _MOST_MORE * budget else None
