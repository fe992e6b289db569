"""Invented study records for tests of reports and for screenshots: no server, no clock, the same at every call."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from functools import cache
from statistics import fmean

from dialin.model.progress import Standing, Watcher
from dialin.model.record import StudyRecord
from dialin.model.trial import Step, TrialState
from dialin.model.verdict import CandidateState, Note, Outcome
from dialin.testing.invented import HOSTILE, VARIABLE, Plan, Shape, Words, build


@cache
def winner() -> StudyRecord:
    """Return a study in which one of seven values wins, and the smallest ones stall."""
    levels = {1: 1180, 2: 1215, 4: 1262, 8: 1318, 16: 1405, 32: 1371, 64: 1322}
    shapes = [
        Shape(
            str(value),
            {VARIABLE: value},
            level,
            noise=0.09 if value <= 2 else 0.04,
            stalls={1: 3, 2: 1}.get(value, 0),
            state=CandidateState.WINS if value == 16 else CandidateState.LOSES,
        )
        for value, level in levels.items()
    ]
    words = Words(
        Outcome.WINNER,
        f"{VARIABLE} = 16 wins: +25 % (+21 % to +29 %) against the baseline.",
        f"{VARIABLE} = 16 gives +25 % (+21 % to +29 %) throughput against the baseline.",
        "16",
        ("16",),
        warnings=(
            Note(
                code="warm_up_limit",
                text="2 of 35 trials were still not steady when their warm-up reached its limit.",
                data={"trials": [4, 19]},
            ),
        ),
    )
    return build(shapes, words, Plan())


@cache
def no_difference() -> StudyRecord:
    """Return a study of three alike candidates."""
    shapes = [Shape(str(value), {VARIABLE: value}, 1320, noise=0.03) for value in (1, 4, 16)]
    words = Words(
        Outcome.NO_WORTHWHILE_DIFFERENCE,
        "No worthwhile difference: no value differs from the baseline by more than 1 %.",
        "The baseline does as well as any other, so there is no reason to change it.",
        shapes[0].name,
    )
    return build(shapes, words, Plan(blocks=6, between=0.003))


@cache
def unresolved() -> StudyRecord:
    """Return a study whose budget ended after one block: figures, but no intervals yet."""
    shapes = [Shape(str(value), {VARIABLE: value}, 1300 + value, noise=0.12, state=CandidateState.OPEN) for value in (1, 4, 16)]
    words = Words(
        Outcome.UNRESOLVED,
        "Unresolved: one block is not enough to tell these candidates apart.",
        "Nothing is proven, so the baseline stays; about 5 more blocks would resolve 2 %.",
        shapes[0].name,
        warnings=(Note(code="few_blocks", text="Only 1 block was complete when the budget ended.", data={"blocks": 1}),),
    )
    return build(shapes, words, Plan(blocks=1, between=0.03))


@cache
def failed_candidate() -> StudyRecord:
    """Return a study in which one candidate never started and another's trials died under load."""
    shapes = [
        Shape("pool 8G", {"innodb_buffer_pool_size": "8G"}, 1290, state=CandidateState.LOSES),
        Shape("pool 16G", {"innodb_buffer_pool_size": "16G"}, 1384, state=CandidateState.WINS),
        Shape("pool 90G", {"innodb_buffer_pool_size": "90G"}, 1400, fails=Step.MEASURE, state=CandidateState.FAILED),
        Shape("pool 900G", {"innodb_buffer_pool_size": "900G"}, 1400, fails=Step.BOOT, state=CandidateState.FAILED),
    ]
    words = Words(
        Outcome.WINNER,
        "pool 16G wins: 7 % faster than the baseline; two candidates failed.",
        "It is the fastest of those that ran.",
        "pool 16G",
        ("pool 16G",),
        warnings=(
            Note(code="candidate_failed", text="pool 90G failed in all 4 trials.", data={"candidate": "pool 90G"}),
            Note(code="candidate_failed", text="pool 900G failed in all 4 trials.", data={"candidate": "pool 900G"}),
        ),
        confounds=(
            Note(
                code="other_variable_differs",
                text="innodb_buffer_pool_chunk_size differs between candidates too, though nobody asked for it.",
                data={"variable": "innodb_buffer_pool_chunk_size", "values": {"pool 8G": "134217728", "pool 16G": "268435456"}},
            ),
        ),
    )
    return build(shapes, words, Plan(blocks=4, fixed={}))


@cache
def weaker_durability() -> StudyRecord:
    """Return a study whose fastest candidate can lose commits, and is therefore not recommended."""
    variable = "innodb_flush_log_at_trx_commit"
    shapes = [
        Shape("1", {variable: 1}, 640, state=CandidateState.LOSES),
        Shape("2", {variable: 2}, 1710, state=CandidateState.WINS, weaker=(variable,)),
    ]
    words = Words(
        Outcome.WINNER,
        f"{variable} = 2 is 167 % faster, but it can lose commits that the baseline keeps; it is not recommended.",
        "The fastest candidate gives up durability, which nobody accepted; the baseline stays.",
        shapes[0].name,
        (shapes[1].name,),
        warnings=(
            Note(
                code="weaker_durability",
                text=f"{variable} = 2 can lose up to a second of commits when the machine or its power fails.",
                data={"candidate": shapes[1].name, "variables": [variable]},
            ),
        ),
    )
    return build(shapes, words, Plan(blocks=4, measure=40))


@cache
def hostile() -> StudyRecord:
    """Return a study whose values, names and log lines try to be more than text."""
    shapes = [
        Shape("as it is", {}, 1000),
        Shape(
            f"init {HOSTILE}",
            {"init_connect": HOSTILE, "ft_stopword_file": "a#b 'c' \"d\" \\e"},
            1100,
            state=CandidateState.WINS,
        ),
        Shape(
            f"dead {HOSTILE}",
            {"init_file": f"/x\n[mysqld]\nskip-grant-tables {HOSTILE}"},
            900,
            fails=Step.WARM_UP,
            state=CandidateState.FAILED,
        ),
    ]
    words = Words(
        Outcome.WINNER,
        f"{shapes[1].name} wins.",
        f"Because {HOSTILE}.",
        shapes[1].name,
        (shapes[1].name,),
        warnings=(Note(code="log", text=f"The server wrote: {HOSTILE}", data={"line": HOSTILE}),),
        confounds=(Note(code="other_variable_differs", text=f"init_file: {HOSTILE}", data={"values": [HOSTILE]}),),
    )
    return build(shapes, words, Plan(blocks=3, measure=30))


@cache
def unfinished() -> StudyRecord:
    """Return a study that was killed in its second block: no verdict yet."""
    shapes = [Shape(str(value), {VARIABLE: value}, 1300) for value in (1, 4, 16)]
    return build(shapes, None, Plan(blocks=2))


@cache
def builds() -> StudyRecord:
    """Return a study of two builds with the same setting."""
    shapes = [
        Shape("mysql@8.0.43", {}, 1190, state=CandidateState.LOSES, build="mysql@8.0.43"),
        Shape("mysql@9.7.4", {}, 1265, state=CandidateState.WINS, build="mysql@9.7.4"),
    ]
    words = Words(
        Outcome.WINNER,
        "mysql@9.7.4 wins: 6 % faster than mysql@8.0.43.",
        "It is the faster build.",
        "mysql@9.7.4",
        ("mysql@9.7.4",),
    )
    return build(shapes, words, Plan(blocks=4, measure=40))


EVERY: Mapping[str, Callable[[], StudyRecord]] = {
    "winner": winner,
    "no_difference": no_difference,
    "unresolved": unresolved,
    "failed_candidate": failed_candidate,
    "weaker_durability": weaker_durability,
    "hostile": hostile,
    "unfinished": unfinished,
    "builds": builds,
}
"""Every invented study by its name."""


def drive(record: StudyRecord, watcher: Watcher, tick: Callable[[float], None] = lambda _: None) -> None:
    """Tell a watcher a study from its beginning to its end, as if it ran.

    Args:
        record: the study.
        watcher: who listens.
        tick: called before each event with the time of it, seconds since the epoch, to move a clock.
    """
    candidates = len(record.spec.candidates)
    total = sum(sum(trial.steps.values()) for trial in record.trials)
    tick(record.created)
    watcher.study_began(record.spec, len(record.trials) // candidates, total)
    watcher.said(record.log[0].text)
    left = total
    for number, trial in enumerate(record.trials, start=1):
        tick(trial.started)
        watcher.trial_began(trial, left)
        at = trial.started
        for step, spent in trial.steps.items():
            tick(at)
            watcher.step_began(trial, step)
            at += spent
            for sample in record.samples.get(trial.id, ()):
                if sample.step is step:
                    tick(sample.at)
                    watcher.sampled(trial, sample)
        left -= sum(trial.steps.values())
        watcher.trial_ended(trial, _standings(record, number))
    if record.verdict is not None:
        watcher.study_ended(record.verdict)


def _standings(record: StudyRecord, ended: int) -> dict[str, Standing]:
    so_far = record.trials[:ended]
    standings = {}
    for candidate in record.spec.candidates:
        means, base = (
            {
                trial.block: fmean(sample.tps for sample in record.samples[trial.id] if sample.step is Step.MEASURE)
                for trial in so_far
                if trial.candidate == name and trial.state is TrialState.DONE
            }
            for name in (candidate.name, record.spec.baseline)
        )
        logs = [math.log(mean / base[block]) for block, mean in means.items() if block in base]
        standings[candidate.name] = Standing(
            trials=len(means),
            failed=sum(1 for trial in so_far if trial.candidate == candidate.name and trial.state is TrialState.FAILED),
            tps=fmean(means.values()) if means else None,
            ratio=math.exp(fmean(logs)) if logs else None,
        )
    return standings


__all__ = [
    "EVERY",
    "HOSTILE",
    "builds",
    "drive",
    "failed_candidate",
    "hostile",
    "no_difference",
    "unfinished",
    "unresolved",
    "weaker_durability",
    "winner",
]
