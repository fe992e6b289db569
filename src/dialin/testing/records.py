"""Invented study records for tests of reports and for screenshots: no server, no clock, the same at every call."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cache

from dialin.model.record import StudyRecord
from dialin.model.study import Goal
from dialin.model.trial import Step
from dialin.model.verdict import CandidateState, Note, Outcome
from dialin.testing.invented import HOSTILE, VARIABLE, Plan, Shape, Words, build
from dialin.testing.invented_verdict import judged


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
    return _judged(shapes, words, Plan())


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
    return _judged(shapes, words, Plan(blocks=6, between=0.003))


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
    return _judged(shapes, words, Plan(blocks=1, between=0.03))


@cache
def failed_candidate() -> StudyRecord:
    """Return a study in which one candidate never started and another's trials died under load."""
    shapes = [
        Shape("pool 8G", {"innodb_buffer_pool_size": "8G"}, 1290, state=CandidateState.LOSES),
        Shape("pool 16G", {"innodb_buffer_pool_size": "16G"}, 1384, state=CandidateState.WINS),
        Shape("pool 90G", {"innodb_buffer_pool_size": "90G"}, 1400, fails=Step.MEASURE, state=CandidateState.UNSAFE),
        Shape("pool 900G", {"innodb_buffer_pool_size": "900G"}, 1400, fails=Step.BOOT, state=CandidateState.FAILED),
    ]
    words = Words(
        Outcome.WINNER,
        "pool 16G wins: 7 % faster than the baseline. pool 90G is unsafe: its server failed in 4 of 4 trials.",
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
    return _judged(shapes, words, Plan(blocks=4, fixed={}))


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
    return _judged(shapes, words, Plan(blocks=4, measure=40))


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
    return _judged(shapes, words, Plan(blocks=3, measure=30))


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
    return _judged(shapes, words, Plan(blocks=4, measure=40))


@cache
def safe_choice() -> StudyRecord:
    """Return a study that stopped when its choice was safe, dropped four values on the way, and confirmed its choice afresh."""
    gone = {2: 3, 4: 4, 64: 5, 8: 6}
    levels = {1: 1240, 2: 1262, 4: 1318, 8: 1362, 16: 1404, 32: 1398, 64: 1370}
    states = {1: CandidateState.LOSES, 2: CandidateState.LOSES, 16: CandidateState.OPEN, 32: CandidateState.OPEN}
    shapes = [
        Shape(
            str(value),
            {VARIABLE: value},
            level,
            noise={1: 0.07, 8: 0.022, 64: 0.06}.get(value, 0.035),
            stalls=2 if value == 1 else 0,
            state=states.get(value, CandidateState.BEHIND),
            left_after=gone.get(value),
            chance={16: 0.97, 32: 0.78}.get(value),
            lost={8: 2, 16: 3}.get(value, 0),
        )
        for value, level in levels.items()
    ]
    words = Words(
        Outcome.SAFE_CHOICE,
        f"{VARIABLE} = 16 is a safe choice: within 1 % of the best at 97 % probability.",
        f"{VARIABLE} = 16 is probably the best or within 1 % of it; not every other value was shown to be slower.",
        "16",
        warnings=(Note(code="host_lost", text="The host itself stood still for 5 s of load.", data={"seconds": 5}),),
    )
    return _judged(shapes, words, Plan(blocks=7, between=0.01, fresh=6))


@cache
def tie() -> StudyRecord:
    """Return a study in which two of four values are the best, and alike."""
    levels = {1: 1180, 8: 1322, 16: 1319, 64: 1240}
    shapes = [
        Shape(str(value), {VARIABLE: value}, level, state=CandidateState.TIES if value in (8, 16) else CandidateState.LOSES)
        for value, level in levels.items()
    ]
    words = Words(
        Outcome.TIE,
        f"A tie for the best: {VARIABLE} = 8 and 16; no worthwhile difference between them.",
        f"{VARIABLE} = 8 gives +12 % throughput against the baseline.",
        "8",
        ("8", "16"),
    )
    return _judged(shapes, words, Plan(blocks=6, between=0.003))


@cache
def by_stability() -> StudyRecord:
    """Return a study of steadiness: 8 instances remove the stalls, 64 give the most throughput."""
    levels = {1: 1190, 8: 1290, 32: 1330, 64: 1440}
    states = {8: CandidateState.WINS, 1: CandidateState.LOSES}
    shapes = [
        Shape(
            str(value),
            {VARIABLE: value},
            level,
            noise={1: 0.08, 8: 0.02, 32: 0.045}.get(value, 0.07),
            stalls={1: 3, 64: 1}.get(value, 0),
            state=states.get(value, CandidateState.BEHIND),
            left_after=4 if value == 64 else None,
        )
        for value, level in levels.items()
    ]
    words = Words(
        Outcome.WINNER,
        f"{VARIABLE} = 8 wins by stability: its seconds vary far less than the baseline's.",
        f"{VARIABLE} = 8 has the lowest coefficient of variation.",
        "8",
        ("8",),
        warnings=(
            Note(
                code="not_steady",
                text="2 of 22 trials did not become steady (64).",
                data={"trials": [8, 15], "candidates": ["64"]},
            ),
        ),
    )
    return _judged(shapes, words, Plan(blocks=6, goal=Goal.STABILITY, unsteady=(8, 15)))


@cache
def by_latency() -> StudyRecord:
    """Return a study of the 99th percentile of latency, its choice confirmed in a few fresh trials."""
    variable = "innodb_io_capacity"
    levels = {200: 1300, 2000: 1402, 20000: 1298}
    states = {2000: CandidateState.WINS, 20000: CandidateState.BEHIND}
    shapes = [
        Shape(str(value), {variable: value}, level, state=states.get(value, CandidateState.LOSES))
        for value, level in levels.items()
    ]
    words = Words(
        Outcome.WINNER,
        f"{variable} = 2000 wins by latency: p99 8 % lower than the baseline's.",
        f"{variable} = 2000 has the lowest p99.",
        "2000",
        ("2000",),
    )
    return _judged(shapes, words, Plan(blocks=4, measure=40, between=0.02, goal=Goal.LATENCY, percentile=99, fresh=3))


@cache
def a_a() -> StudyRecord:
    """Return a study of one setting under four names, in which nothing is claimed."""
    shapes = [Shape(name, {VARIABLE: 8}, 1320) for name in ("same 1", "same 2", "same 3", "same 4")]
    words = Words(
        Outcome.NO_WORTHWHILE_DIFFERENCE,
        "No difference between four names of one setting, as there is none.",
        "This study shows the noise itself.",
        shapes[0].name,
    )
    return _judged(shapes, words, Plan(blocks=4, measure=40, between=0.004, aa=True))


EVERY: Mapping[str, Callable[[], StudyRecord]] = {
    "winner": winner,
    "no_difference": no_difference,
    "unresolved": unresolved,
    "failed_candidate": failed_candidate,
    "weaker_durability": weaker_durability,
    "hostile": hostile,
    "unfinished": unfinished,
    "builds": builds,
    "safe_choice": safe_choice,
    "tie": tie,
    "by_stability": by_stability,
    "by_latency": by_latency,
    "a_a": a_a,
}
"""Every invented study by its name."""


def _judged(shapes: Sequence[Shape], words: Words, plan: Plan) -> StudyRecord:
    return judged(build(shapes, words, plan), shapes, words, plan)


__all__ = [
    "EVERY",
    "HOSTILE",
    "a_a",
    "builds",
    "by_latency",
    "by_stability",
    "failed_candidate",
    "hostile",
    "no_difference",
    "safe_choice",
    "tie",
    "unfinished",
    "unresolved",
    "weaker_durability",
    "winner",
]
