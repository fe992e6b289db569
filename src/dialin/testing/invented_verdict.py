"""The verdict of an invented study: its figures are those of its samples, its words are given."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from statistics import fmean, median, pstdev, stdev

from dialin.model.record import StudyRecord
from dialin.model.study import Goal
from dialin.model.trial import Purpose, Sample, Step, TrialState
from dialin.model.verdict import CandidateState, CandidateVerdict, Confirmation, Estimate, Outcome, Verdict
from dialin.stats.figures import FIGURE_OF
from dialin.testing.invented import Plan, Shape, Words, in_force

_CHANCES = {
    CandidateState.WINS: 0.9995,
    CandidateState.TIES: 0.93,
    CandidateState.OPEN: 0.41,
    CandidateState.LOSES: 0.0,
    CandidateState.BEHIND: 0.006,
    CandidateState.UNSAFE: None,
    CandidateState.FAILED: None,
}
_WIDE = 3.2

_Blocks = Mapping[int, Sequence[Sample]]


def judged(record: StudyRecord, shapes: Sequence[Shape], words: Words, plan: Plan) -> StudyRecord:
    """Return the record with the verdict that these words give."""
    last = record.trials[-1]
    racing = [trial for trial in record.trials if trial.purpose is Purpose.RACE]
    blocks = max(trial.block for trial in racing)
    candidates = _with_front([_candidate(record, shape, plan) for shape in shapes])
    verdict = Verdict(
        verdict=words.outcome,
        goal=plan.goal,
        decided_by=FIGURE_OF[plan.goal],
        percentile=plan.percentile,
        headline=words.headline,
        reason=words.reason,
        recommended=dict(next(shape.setting for shape in shapes if shape.name == words.recommended)),
        recommended_candidate=words.recommended,
        winners=list(words.winners),
        baseline=record.spec.baseline,
        candidates=candidates,
        blocks=blocks,
        minutes_of_load=sum(trial.steps.get(Step.MEASURE, 0.0) for trial in record.trials) / 60,
        minutes_of_wall_clock=(last.started + sum(last.steps.values()) - record.created) / 60,
        confidence=record.spec.confidence,
        worthwhile=record.spec.worthwhile,
        detectable=0.012 if blocks > 1 else None,
        detectable_planned=0.015 if words.outcome is Outcome.SAFE_CHOICE else None,
        confirmed=_confirmation(record, words.recommended, plan) if plan.fresh else None,
        lost_seconds=sum(candidate.lost_seconds for candidate in candidates),
        trial_noise=0.006 if blocks > 1 else None,
        warnings=list(words.warnings),
        confounds=list(words.confounds),
        server={"builds": {name: dict(known) for name, known in record.servers.items()}},
        host=dict(record.host),
        workload={**record.spec.workload.model_dump(mode="json"), "text": record.spec.workload.describe()},
    )
    return replace(record, verdict=verdict)


def _blocks_of(record: StudyRecord, name: str, purpose: Purpose) -> _Blocks:
    """Return the measured seconds of a candidate's trials that ended well, by block."""
    return {
        trial.block: [sample for sample in record.samples[trial.id] if sample.step is Step.MEASURE]
        for trial in record.trials
        if trial.candidate == name and trial.state is TrialState.DONE and trial.purpose is purpose
    }


def _kept(blocks: _Blocks) -> dict[int, list[Sample]]:
    return {block: [sample for sample in samples if not sample.lost] for block, samples in blocks.items()}


def _mean(samples: Sequence[Sample]) -> float:
    return fmean(sample.tps for sample in samples)


def _variation(samples: Sequence[Sample]) -> float:
    values = [sample.tps for sample in samples]
    return pstdev(values) / fmean(values)


def _latency(samples: Sequence[Sample]) -> float:
    return sum(sample.latency_ms * sample.tps for sample in samples) / sum(sample.tps for sample in samples)


_MEASURES: Mapping[Goal, Callable[[Sequence[Sample]], float]] = {
    Goal.THROUGHPUT: _mean,
    Goal.STABILITY: _variation,
    Goal.LATENCY: _latency,
}


def _estimate(values: Sequence[float]) -> Estimate | None:
    if not values:
        return None
    mean = fmean(values)
    if len(values) < 2:
        return Estimate(mean=mean, low=None, high=None)
    half = _WIDE * stdev(values) / math.sqrt(len(values))
    return Estimate(mean=mean, low=mean - half, high=mean + half)


def _typical(values: Sequence[float]) -> Estimate | None:
    """Return the median with an interval that is never below nothing."""
    if len(values) < 2:
        return _estimate(values)
    half = _WIDE * stdev(map(math.log, values)) / math.sqrt(len(values))
    middle = median(values)
    return Estimate(mean=middle, low=middle * math.exp(-half), high=middle * math.exp(half))


def _ratio(own: _Blocks, base: _Blocks, goal: Goal) -> Estimate | None:
    of = _MEASURES[goal]
    ratios = [of(samples) / of(base[block]) for block, samples in own.items() if block in base]
    return _estimate(ratios) if goal is Goal.THROUGHPUT else _typical(ratios)


def _stalls(blocks: _Blocks) -> Estimate | None:
    seconds = sum(map(len, blocks.values()))
    if not seconds:
        return None
    floors = {block: median(sample.tps for sample in samples) / 2 for block, samples in blocks.items()}
    count = sum(sample.tps < floors[block] for block, samples in blocks.items() for sample in samples)
    low, high = max(0.0, count - 2 * math.sqrt(count)), count + 2 * math.sqrt(count) + 3
    return Estimate(mean=1000 * count / seconds, low=1000 * low / seconds, high=1000 * high / seconds)


def _candidate(record: StudyRecord, shape: Shape, plan: Plan) -> CandidateVerdict:
    every = _blocks_of(record, shape.name, Purpose.RACE)
    blocks, base = _kept(every), _kept(_blocks_of(record, record.spec.baseline, Purpose.RACE))
    is_baseline = shape.name == record.spec.baseline
    one = Estimate(mean=1.0, low=1.0, high=1.0)
    seconds = [sample.tps for samples in blocks.values() for sample in samples]
    own = [trial for trial in record.trials if trial.candidate == shape.name and trial.purpose is Purpose.RACE]
    return CandidateVerdict(
        name=shape.name,
        server=shape.build,
        setting=dict(shape.setting),
        in_force={} if shape.fails is Step.BOOT else {name: in_force(shape, Plan())[name] for name in shape.setting},
        tps=_estimate([_mean(samples) for samples in blocks.values()]),
        ratio=one if is_baseline and blocks else _ratio(blocks, base, Goal.THROUGHPUT),
        goal_ratio=one if is_baseline and blocks else _ratio(blocks, base, plan.goal),
        probability=_CHANCES[shape.state] if shape.chance is None else shape.chance,
        left_after=shape.left_after,
        cv=_typical([_variation(samples) for samples in blocks.values()]),
        worst_second_tps=min(seconds) if seconds else None,
        stall_seconds_per_1000=_stalls(blocks),
        latency_ms=_typical([_latency(samples) for samples in blocks.values()]),
        effective_seconds=0.21 * len(seconds) if seconds else None,
        lost_seconds=sum(sample.lost for samples in every.values() for sample in samples),
        unsteady=sum(trial.id in plan.unsteady for trial in own),
        errors_per_s=0.004 if seconds else None,
        trials=len(blocks),
        failed=sum(trial.state is TrialState.FAILED for trial in own),
        state=shape.state,
        weaker_durability=list(shape.weaker),
    )


def _with_front(candidates: Sequence[CandidateVerdict]) -> list[CandidateVerdict]:
    """Return candidates, each with whether no other one is both faster and steadier."""
    figures = [(one.tps.mean, one.cv.mean) for one in candidates if one.tps and one.cv]
    return [
        one.model_copy(
            update={
                "pareto": bool(one.tps and one.cv)
                and not any(one.tps and one.cv and speed > one.tps.mean and cv < one.cv.mean for speed, cv in figures)
            }
        )
        for one in candidates
    ]


def _confirmation(record: StudyRecord, name: str, plan: Plan) -> Confirmation | None:
    own, base = (_kept(_blocks_of(record, one, Purpose.CONFIRM)) for one in (name, record.spec.baseline))
    ratio = _ratio(own, base, plan.goal)
    return Confirmation(candidate=name, ratio=ratio, blocks=len(own)) if ratio else None
