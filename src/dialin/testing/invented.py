"""The builder behind `records`: trials, samples and figures of a study that nobody ran."""

from __future__ import annotations

import math
import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from statistics import fmean, median, pstdev, stdev
from typing import Any

from dialin.model.record import LogLine, Look, StudyRecord
from dialin.model.setting import Value
from dialin.model.study import Candidate, StudySpec
from dialin.model.trial import Costs, Failure, Sample, Step, Trial, TrialState, WarmUpEnd
from dialin.model.verdict import CandidateState, CandidateVerdict, Estimate, Note, Outcome, Verdict
from dialin.model.workload import WorkloadSpec

BEGAN = 1_788_350_400.0
"""When every invented study began, seconds since the epoch."""

HOSTILE = "<script>alert('x')</script>|`$(reboot)`[bold]\x1b[31m\x07\u202e{{7*7}}"
"""Text that must never be more than text: HTML, Markdown, markup and control sequences of terminals, templates."""

VARIABLE = "innodb_buffer_pool_instances"
BUILD = "mysql@9.7.4"
_THREADS = 16

_HOST: dict[str, Any] = {
    "system": "Debian GNU/Linux 12 (bookworm)",
    "kernel": "6.1.0-38-amd64",
    "machine": "x86_64",
    "cpu": "AMD EPYC 7302P 16-Core Processor",
    "cpus": 32,
    "memory_bytes": 135_291_469_824,
    "swap_bytes": 0,
    "open_files_limit": 1_048_576,
    "file_system": "xfs",
    "disk": "INTEL SSDPE2KX010T8",
    "disk_rotational": "no",
    "governor": "performance",
}


@dataclass(frozen=True, slots=True)
class Shape:
    """How one invented candidate behaves.

    Attributes:
        name: the candidate's name.
        setting: what it sets.
        level: transactions a second when warm.
        noise: standard deviation of a second, relative.
        stalls: seconds of each trial at a fraction of the level.
        fails: where every trial of it fails, or None.
        state: how it came out.
        weaker: variables by which it gives up durability.
        build: what it runs on.
    """

    name: str
    setting: Mapping[str, Value]
    level: float
    noise: float = 0.04
    stalls: int = 0
    fails: Step | None = None
    state: CandidateState = CandidateState.TIES
    weaker: tuple[str, ...] = ()
    build: str = BUILD


@dataclass(frozen=True, slots=True)
class Words:
    """What the verdict of an invented study says."""

    outcome: Outcome
    headline: str
    reason: str
    recommended: str
    winners: tuple[str, ...] = ()
    warnings: tuple[Note, ...] = ()
    confounds: tuple[Note, ...] = ()


@dataclass(frozen=True, slots=True)
class Plan:
    """How long an invented study ran, in blocks and in seconds of each trial."""

    blocks: int = 5
    warm_up: int = 20
    measure: int = 60
    seed: int = 7
    between: float = 0.006
    fixed: Mapping[str, Value] = field(default_factory=lambda: {"innodb_buffer_pool_size": "8G"})


def build(shapes: Sequence[Shape], words: Words | None, plan: Plan) -> StudyRecord:
    """Return the record of a study of these candidates, the first being the baseline; without words it has no verdict yet."""
    rng = random.Random(plan.seed)  # noqa: S311
    spec = _spec(shapes, plan)
    trials: list[Trial] = []
    samples: dict[int, list[Sample]] = {}
    at = BEGAN + 41.0
    for block in range(1, plan.blocks + 1):
        order = list(shapes)
        rng.shuffle(order)
        for position, shape in enumerate(order, start=1):
            number = len(trials) + 1
            trial, seconds = _trial(rng, shape, plan, number, (block, position), at)
            trials.append(trial)
            samples[number] = seconds
            at += sum(trial.steps.values()) + 0.4
    record = StudyRecord(
        directory="/srv/bench/dialin-pool-instances",
        spec=spec,
        created=BEGAN,
        dialin_version="0.1.0",
        host=_HOST,
        servers={
            name: {"version": name.partition("@")[2], "origin": "installed by dialin", "flavour": name.partition("@")[0]}
            for name in dict.fromkeys(shape.build for shape in shapes)
        },
        command=f"dialin sweep {VARIABLE}=1,4,16 --server {BUILD} --threads {_THREADS} --minutes 60",
        trials=trials,
        samples=samples,
        looks=[Look(number, blocks, 0.005) for number, blocks in enumerate(range(2, plan.blocks + 1), start=1)],
        log=_log(trials),
    )
    return record if words is None else _with_verdict(record, shapes, words)


def _spec(shapes: Sequence[Shape], plan: Plan) -> StudySpec:
    return StudySpec(
        candidates=tuple(Candidate(name=shape.name, setting=dict(shape.setting), server=shape.build) for shape in shapes),
        baseline=shapes[0].name,
        fixed=dict(plan.fixed),
        workload=WorkloadSpec(threads=_THREADS, tables=8, table_size=1_000_000, rand_type="pareto"),
        minutes=60,
        measure=plan.measure,
        warmup=plan.warm_up,
    )


def _trial(
    rng: random.Random, shape: Shape, plan: Plan, number: int, place: tuple[int, int], started: float
) -> tuple[Trial, list[Sample]]:
    steps = {Step.RESTORE: 4.2 + rng.random(), Step.BOOT: 2.1 + rng.random(), Step.VERIFY: 0.2}
    if shape.fails is Step.BOOT:
        del steps[Step.VERIFY]
    warm, measured = plan.warm_up, plan.measure
    if shape.fails is Step.WARM_UP:
        warm, measured = warm // 2, 0
    elif shape.fails is Step.MEASURE:
        measured //= 3
    elif shape.fails is Step.BOOT:
        warm = measured = 0
    level = shape.level * (1 + rng.gauss(0, plan.between)) * (1 + 0.01 * math.sin(started / 1700))
    samples = _samples(rng, shape, level, started + sum(steps.values()), (warm, measured))
    if warm:
        steps[Step.WARM_UP] = float(warm)
    if measured:
        steps[Step.MEASURE] = float(measured)
    steps[Step.STOP] = 1.4
    done = shape.fails is None
    return Trial(
        id=number,
        block=place[0],
        session=1,
        position=place[1],
        candidate=shape.name,
        state=TrialState.DONE if done else TrialState.FAILED,
        started=started,
        steps=steps,
        warm_up_end=(WarmUpEnd.LIMIT if number in (4, 19) else WarmUpEnd.STEADY) if measured else None,
        in_force=_in_force(shape, plan) if shape.fails is not Step.BOOT else {},
        costs=Costs(measured, 0.9 * measured, 11.0 * measured, 12.4 * measured, 32, 8) if done else None,
        conditions={"before": {"load_1m": 0.1}, "after": {"load_1m": 11.0}},
        failure=None if shape.fails is None else _failure(shape, shape.fails),
    ), samples


def _failure(shape: Shape, step: Step) -> Failure:
    if step is Step.BOOT:
        tail = "[ERROR] [MY-012956] [InnoDB] Cannot allocate memory for the buffer pool\n[ERROR] Plugin initialization aborted"
        return Failure(step, "server", "the server did not start: it cannot allocate memory for the buffer pool", tail)
    tail = f"[ERROR] signal 9\n{HOSTILE if HOSTILE in shape.name else 'Killed process 4021 (mysqld)'}\nlast line"
    return Failure(step, "server", f"the server died in {step}: killed by signal 9", tail)


def _in_force(shape: Shape, plan: Plan) -> dict[str, str]:
    asked = {name: str(value) for name, value in {**plan.fixed, **shape.setting}.items()}
    sizes = {name: str(int(value[:-1]) * 1024**3) for name, value in asked.items() if value[:-1].isdigit() and value[-1] == "G"}
    return {"version": shape.build.partition("@")[2], VARIABLE: "8", "innodb_flush_log_at_trx_commit": "1", **asked, **sizes}


def _samples(rng: random.Random, shape: Shape, level: float, begins: float, lengths: tuple[int, int]) -> list[Sample]:
    warm, measured = lengths
    stalled = {warm + 5 + int(rng.random() * max(1, measured - 8)) for _ in range(shape.stalls if measured else 0)}
    drift = 0.0
    samples = []
    for second in range(1, warm + measured + 1):
        drift = 0.5 * drift + rng.gauss(0, shape.noise * 0.85)
        ramp = 1 - 0.45 * math.exp(-second / max(1.0, warm / 4))
        tps = max(0.0, level * ramp * (1 + drift) * (rng.uniform(0.05, 0.35) if second in stalled else 1))
        samples.append(
            Sample(
                second=second,
                at=begins + second,
                step=Step.WARM_UP if second <= warm else Step.MEASURE,
                tps=round(tps, 2),
                reads=round(14 * tps, 2),
                writes=round(4 * tps, 2),
                other=round(2 * tps, 2),
                latency_ms=round(1.7 * 1000 * _THREADS / max(tps, 1.0), 2),
                errors=0.02 if second % 50 == 0 else 0.0,
                reconnects=0.0,
            )
        )
    return samples


def _log(trials: Sequence[Trial]) -> list[LogLine]:
    failures = [
        LogLine(trial.started + 9, f"Trial {trial.id} ({trial.candidate}) failed: {trial.failure.reason}")
        for trial in trials
        if trial.failure is not None
    ]
    return [LogLine(BEGAN, "Data is prepared: 8 tables of 1,000,000 rows, 1.9 GiB in 38 s."), *failures]


def _measured(record: StudyRecord, name: str) -> dict[int, list[float]]:
    """Return the measured seconds of a candidate's trials that ended well, by block."""
    return {
        trial.block: [sample.tps for sample in record.samples[trial.id] if sample.step is Step.MEASURE]
        for trial in record.trials
        if trial.candidate == name and trial.state is TrialState.DONE
    }


def _estimate(values: Sequence[float]) -> Estimate | None:
    if not values:
        return None
    mean = fmean(values)
    if len(values) < 2:
        return Estimate(mean=mean, low=None, high=None)
    half = 3.2 * stdev(values) / math.sqrt(len(values))
    return Estimate(mean=mean, low=mean - half, high=mean + half)


def _candidate(record: StudyRecord, shape: Shape) -> CandidateVerdict:
    blocks = _measured(record, shape.name)
    base = _measured(record, record.spec.baseline)
    ratios = [fmean(values) / fmean(base[block]) for block, values in blocks.items() if block in base]
    ratio = _estimate(ratios)
    if shape.name == record.spec.baseline and ratio is not None:
        ratio = Estimate(mean=1.0, low=1.0, high=1.0)
    seconds = [value for values in blocks.values() for value in values]
    floors = {block: median(values) / 2 for block, values in blocks.items()}
    stalled = sum(1 for block, values in blocks.items() for value in values if value < floors[block])
    return CandidateVerdict(
        name=shape.name,
        server=shape.build,
        setting=dict(shape.setting),
        in_force={} if shape.fails is Step.BOOT else {name: _in_force(shape, Plan())[name] for name in shape.setting},
        tps=_estimate([fmean(values) for values in blocks.values()]),
        ratio=ratio,
        cv=fmean(pstdev(values) / fmean(values) for values in blocks.values()) if blocks else None,
        worst_second_tps=min(seconds) if seconds else None,
        stall_seconds_per_1000=1000 * stalled / len(seconds) if seconds else None,
        latency_ms=1.7 * 1000 * _THREADS / fmean(seconds) if seconds else None,
        errors_per_s=0.004 if seconds else None,
        trials=len(blocks),
        failed=sum(1 for trial in record.trials if trial.candidate == shape.name and trial.state is TrialState.FAILED),
        state=shape.state,
        weaker_durability=list(shape.weaker),
    )


def _with_verdict(record: StudyRecord, shapes: Sequence[Shape], words: Words) -> StudyRecord:
    loaded = sum(trial.steps.get(Step.MEASURE, 0.0) for trial in record.trials)
    last = record.trials[-1]
    blocks = max(trial.block for trial in record.trials)
    verdict = Verdict(
        verdict=words.outcome,
        headline=words.headline,
        reason=words.reason,
        recommended=dict(next(shape.setting for shape in shapes if shape.name == words.recommended)),
        recommended_candidate=words.recommended,
        winners=list(words.winners),
        baseline=record.spec.baseline,
        candidates=[_candidate(record, shape) for shape in shapes],
        blocks=blocks,
        minutes_of_load=loaded / 60,
        minutes_of_wall_clock=(last.started + sum(last.steps.values()) - record.created) / 60,
        confidence=record.spec.confidence,
        worthwhile=record.spec.worthwhile,
        detectable=0.012 if blocks > 1 else None,
        trial_noise=0.006 if blocks > 1 else None,
        warnings=list(words.warnings),
        confounds=list(words.confounds),
        server={"builds": {name: dict(known) for name, known in record.servers.items()}},
        host=dict(record.host),
        workload={**record.spec.workload.model_dump(mode="json"), "text": record.spec.workload.describe()},
    )
    return replace(record, verdict=verdict)
