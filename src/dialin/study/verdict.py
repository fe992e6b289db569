"""From what the store holds to the verdict: the statistics say who wins, this says what that means for the user."""

from __future__ import annotations

import math
import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from dialin.evidence.limits import client_limits, other_load
from dialin.model.progress import Standing
from dialin.model.record import StudyRecord
from dialin.model.study import StudySpec
from dialin.model.trial import Sample, Step, Trial, TrialState
from dialin.model.verdict import CandidateState, CandidateVerdict, Estimate, Note, Outcome, Verdict
from dialin.stats.blocks import Observation
from dialin.stats.decide import Decision, decide
from dialin.stats.series import Window, window
from dialin.stats.warmup import drifts
from dialin.study import comparison, words
from dialin.study.comparison import Seen
from dialin.variables import rules


@dataclass(frozen=True, slots=True)
class Judgement:
    """A verdict, and whether more blocks could still change what it decides."""

    verdict: Verdict
    decided: bool


def judge(record: StudyRecord, alpha: float) -> Judgement:
    """Return the verdict on all trials that ended well.

    Args:
        record: the study as it stands.
        alpha: the error that this look is allowed.
    """
    spec = record.spec
    done = [trial for trial in record.trials if trial.state is TrialState.DONE]
    measured = {trial.id: _measured(record.samples.get(trial.id, ())) for trial in done}
    windows = {trial.id: window([sample.tps for sample in measured[trial.id]]) for trial in done}
    names = [candidate.name for candidate in spec.candidates]
    first = {trial.candidate: Seen(trial.in_force, trial.real) for trial in reversed(done)}
    seen = {trial.candidate: Seen(trial.in_force, trial.real) for trial in done}
    # One is only what was one from the first trials to the last.
    at_first = comparison.same(spec, first)
    one = [group for group in comparison.same(spec, seen) if group in at_first]
    decision = decide(
        [Observation((t.block, t.session), t.candidate, windows[t.id].location) for t in done],
        names,
        spec.baseline,
        alpha=alpha,
        worthwhile=spec.worthwhile,
        one=one,
    )
    confounds = comparison.confounds(spec, seen)
    known = {note.data["variable"] for note in confounds}
    confounds += [note for note in comparison.confounds(spec, first) if note.data["variable"] not in known]
    forced = {name: seen[name].in_force for name in names if name in seen}
    weaker = {name: _weaker(name, forced, spec.baseline) for name in forced}
    serious = [note for note in confounds if note.data["could_explain"]]
    outcome = decision.outcome
    states = dict(decision.states)
    # What could explain a difference could hide one as well; only candidates that are one leave no question.
    if serious and outcome is not Outcome.UNRESOLVED and not any(len(group) == len(names) for group in one):
        outcome = Outcome.UNRESOLVED
        states = {name: s if s is CandidateState.FAILED else CandidateState.OPEN for name, s in states.items()}
    candidates = [
        _candidate(
            record,
            name,
            decision,
            [t for t in done if t.candidate == name],
            measured,
            windows,
            state=states[name],
            weaker=weaker.get(name, []),
        )
        for name in names
    ]
    winners = list(decision.winners) if outcome is not Outcome.UNRESOLVED else []
    chosen, reason = words.recommend(spec, outcome, decision, weaker, serious)
    warnings = _warnings(record, done, measured, decision, first, seen, one, weaker, winners)
    wall = sum(sum(trial.steps.values()) for trial in record.trials) / 60
    verdict = Verdict(
        verdict=outcome,
        headline=words.headline(spec, outcome, decision, one, confounds, weaker),
        reason=reason,
        recommended=dict(spec.candidate(chosen).setting),
        recommended_candidate=chosen,
        winners=winners,
        baseline=spec.baseline,
        candidates=candidates,
        blocks=decision.blocks,
        minutes_of_load=sum(t.steps.get(Step.MEASURE, 0.0) for t in done) / 60,
        minutes_of_wall_clock=wall,
        confidence=spec.confidence,
        worthwhile=spec.worthwhile,
        detectable=decision.detectable,
        trial_noise=decision.sd,
        warnings=warnings,
        confounds=confounds,
        server={"builds": {server: dict(facts) for server, facts in record.servers.items()}},
        host=dict(record.host),
        workload={**spec.workload.model_dump(mode="json"), "text": spec.workload.describe()},
    )
    return Judgement(verdict, decision.outcome is not Outcome.UNRESOLVED)


def standings(spec: StudySpec, trials: Sequence[Trial], samples: Mapping[int, Sequence[Sample]]) -> dict[str, Standing]:
    """Return each candidate's figures so far, without intervals: for watching, not for deciding."""
    done = [trial for trial in trials if trial.state is TrialState.DONE]
    level = {t.id: window([s.tps for s in _measured(samples.get(t.id, ()))]).location for t in done}
    found = {}
    for candidate in spec.candidates:
        own = [t for t in done if t.candidate == candidate.name]
        logs = [
            math.log(level[t.id] / level[other.id])
            for t in own
            for other in done
            if other.candidate == spec.baseline and other.block == t.block and level[t.id] > 0 and level[other.id] > 0
        ]
        found[candidate.name] = Standing(
            trials=len(own),
            failed=sum(t.candidate == candidate.name and t.state is TrialState.FAILED for t in trials),
            tps=statistics.fmean(level[t.id] for t in own) if own else None,
            ratio=math.exp(statistics.fmean(logs)) if logs else None,
        )
    return found


def _weaker(name: str, forced: Mapping[str, Mapping[str, str]], baseline: str) -> list[str]:
    """Return the variables by which a candidate gives up durability that the baseline has; any other, where that failed."""
    references = [baseline] if baseline in forced else [other for other in forced if other != name]
    lost = [variable for other in references for variable in rules.weaker_durability(forced[name], forced[other])]
    return list(dict.fromkeys(lost))


def _measured(samples: Sequence[Sample]) -> list[Sample]:
    return [sample for sample in samples if sample.step is Step.MEASURE]


def _candidate(
    record: StudyRecord,
    name: str,
    decision: Decision,
    done: Sequence[Trial],
    measured: Mapping[int, Sequence[Sample]],
    windows: Mapping[int, Window],
    *,
    state: CandidateState,
    weaker: Sequence[str],
) -> CandidateVerdict:
    """Put together what is known of one candidate."""
    spec = record.spec
    candidate = spec.candidate(name)
    own = [windows[trial.id] for trial in done]
    seconds = [sample for trial in done for sample in measured[trial.id]]
    values, counted = (done[-1].in_force, done[-1].real) if done else ({}, {})
    shown = spec.asked_variables
    return CandidateVerdict(
        name=name,
        server=candidate.server,
        setting=dict(candidate.setting),
        in_force={variable: values[variable] for variable in shown if variable in values},
        real={variable: counted[variable] for variable in shown if variable in counted},
        tps=decision.throughput.get(name),
        ratio=decision.ratios.get(name),
        cv=_bare(statistics.fmean(w.cv for w in own)) if own else None,
        worst_second_tps=min((w.worst for w in own), default=None),
        stall_seconds_per_1000=_bare(1000 * sum(w.stalls for w in own) / len(seconds)) if seconds else None,
        latency_ms=_bare(_p95(seconds) or 0.0) if seconds else None,
        errors_per_s=statistics.fmean(s.errors for s in seconds) if seconds else None,
        trials=len(done),
        failed=sum(t.candidate == name and t.state is TrialState.FAILED for t in record.trials),
        state=state,
        weaker_durability=list(weaker),
    )


def _bare(mean: float) -> Estimate:
    return Estimate(mean=mean, low=None, high=None)


def _p95(seconds: Sequence[Sample]) -> float | None:
    """Return the mean of the seconds' 95th percentiles, each weighed by its transactions: the driver gives no better."""
    total = sum(sample.tps for sample in seconds)
    return sum(sample.latency_ms * sample.tps for sample in seconds) / total if total > 0 else None


def _warnings(
    record: StudyRecord,
    done: Sequence[Trial],
    measured: Mapping[int, Sequence[Sample]],
    decision: Decision,
    first: Mapping[str, Seen],
    seen: Mapping[str, Seen],
    one: Sequence[frozenset[str]],
    weaker: Mapping[str, Sequence[str]],
    winners: Sequence[str],
) -> list[Note]:
    """Return all that keeps the verdict from being taken at face value, the gravest first."""
    notes: list[Note] = []
    spec = record.spec
    notes += words.durability_notes(spec, weaker, winners)
    notes += comparison.deviations(spec, seen, comparison.catalogues_of(record.catalogues))
    notes += comparison.same_notes(spec, seen, one)
    notes += comparison.changed_notes(spec, first, seen)
    notes += words.build_notes(spec)
    notes += words.failure_notes(record)
    notes += client_limits(spec, done)
    notes += other_load(done)
    notes += words.drift_notes(done, [t for t in done if drifts([sample.tps for sample in measured[t.id]])])
    if decision.outcome is Outcome.UNRESOLVED:
        notes += words.unresolved_notes(spec, decision)
    return notes
