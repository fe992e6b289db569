"""The builder behind `records`: trials, samples and figures of a study that nobody ran."""

from __future__ import annotations

import math
import random
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from dialin.model.record import LogLine, Look, StudyRecord
from dialin.model.setting import Value
from dialin.model.study import WORTHWHILE, Candidate, Goal, StudySpec
from dialin.model.trial import Costs, Failure, Purpose, Sample, Step, Trial, TrialState, WarmUpEnd
from dialin.model.verdict import CandidateState, Note, Outcome
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
        left_after: the block after which it left the race, or None.
        chance: that it is within what is worthwhile of the best; None for what its state suggests.
        lost: seconds of its trial of the second block that the host lost.
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
    left_after: int | None = None
    chance: float | None = None
    lost: int = 0


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
    """What an invented study was about, and how long it ran.

    Attributes:
        blocks: of the race.
        warm_up: seconds of each trial.
        measure: seconds of each trial.
        seed: of all that is drawn.
        between: standard deviation between trials, relative.
        fixed: set alike for all.
        goal: what decides.
        percentile: of latency.
        fresh: blocks that confirm the choice.
        unsteady: trials that did not become steady.
        aa: one setting under several names.
    """

    blocks: int = 5
    warm_up: int = 20
    measure: int = 60
    seed: int = 7
    between: float = 0.006
    fixed: Mapping[str, Value] = field(default_factory=lambda: {"innodb_buffer_pool_size": "8G"})
    goal: Goal = Goal.THROUGHPUT
    percentile: int = 95
    fresh: int = 0
    unsteady: tuple[int, ...] = ()
    aa: bool = False


def build(shapes: Sequence[Shape], words: Words | None, plan: Plan) -> StudyRecord:
    """Return the record of a study of these candidates, the first being the baseline; it has no verdict yet."""
    rng = random.Random(plan.seed)  # noqa: S311
    spec = _spec(shapes, plan)
    trials: list[Trial] = []
    samples: dict[int, list[Sample]] = {}
    at = BEGAN + 41.0
    for block, purpose, order in _blocks(rng, shapes, words, plan):
        for position, shape in enumerate(order, start=1):
            number = len(trials) + 1
            trial, seconds = _trial(rng, shape, plan, number, (block, position), at)
            trials.append(replace(trial, purpose=purpose))
            samples[number] = _hiccups(seconds, shape.lost if block == 2 else 0, number)
            at += sum(trial.steps.values()) + 0.4
    return StudyRecord(
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


def _blocks(
    rng: random.Random, shapes: Sequence[Shape], words: Words | None, plan: Plan
) -> Iterator[tuple[int, Purpose, list[Shape]]]:
    """Yield each block with its order: those still in the race, then the choice against the baseline, mirrored."""
    for block in range(1, plan.blocks + 1):
        order = list(shapes)
        rng.shuffle(order)
        yield block, Purpose.RACE, [shape for shape in order if shape.left_after is None or block <= shape.left_after]
    pair = [shape for shape in shapes if words and shape.name in (shapes[0].name, words.recommended)]
    for block in range(plan.blocks + 1, plan.blocks + plan.fresh + 1):
        yield block, Purpose.CONFIRM, pair if block % 2 else pair[::-1]


def _hiccups(samples: Sequence[Sample], count: int, number: int) -> list[Sample]:
    """Return samples of which so many measured ones are spoiled by the host, every third by its hypervisor."""
    measured = [index for index, sample in enumerate(samples) if sample.step is Step.MEASURE]
    spoiled = set(random.Random(number).sample(measured, min(count, len(measured))))  # noqa: S311
    found = []
    for index, sample in enumerate(samples):
        if index not in spoiled:
            found.append(sample)
        elif index % 3:
            found.append(replace(sample, tps=round(0.3 * sample.tps, 2), gap=0.7, stolen=0.01, pressure=0.2))
        else:
            found.append(replace(sample, tps=round(0.5 * sample.tps, 2), gap=0.1, stolen=0.45, pressure=0.6))
    return found


def _spec(shapes: Sequence[Shape], plan: Plan) -> StudySpec:
    return StudySpec(
        candidates=tuple(Candidate(name=shape.name, setting=dict(shape.setting), server=shape.build) for shape in shapes),
        baseline=shapes[0].name,
        fixed=dict(plan.fixed),
        workload=WorkloadSpec(threads=_THREADS, tables=8, table_size=1_000_000, rand_type="pareto", percentile=plan.percentile),
        minutes=60,
        measure=plan.measure,
        warmup=plan.warm_up,
        goal=plan.goal,
        worthwhile=WORTHWHILE[plan.goal],
        confirm=plan.fresh > 0,
        aa=plan.aa,
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
        in_force=in_force(shape, plan) if shape.fails is not Step.BOOT else {},
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


def in_force(shape: Shape, plan: Plan) -> dict[str, str]:
    """Return what a candidate's server said of its variables."""
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
