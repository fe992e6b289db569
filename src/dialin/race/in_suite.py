"""How a study runs as one of a suite: it pauses between its blocks, and shares a budget with the others."""

from __future__ import annotations

from collections.abc import Callable, Generator
from dataclasses import dataclass

from dialin.model.verdict import Verdict
from dialin.verdict.reach_verdict import Judgement


@dataclass(frozen=True, slots=True)
class InSuite:
    """How a study depends on the other studies of its suite.

    Attributes:
        is_decided: returns whether a judgement decides it, so that it needs no more blocks.
        seconds_elsewhere: returns how many seconds of the suite's budget the other studies have used; infinity ends the study.
    """

    is_decided: Callable[[Judgement], bool] = lambda judgement: judgement.decided
    seconds_elsewhere: Callable[[], float] = lambda: 0.0


ALONE = InSuite()


def finished(blocks: Generator[None, None, Verdict]) -> Verdict:
    """Run a study that pauses between blocks to its end, without a pause; return its verdict."""
    while True:
        try:
            next(blocks)
        except StopIteration as end:
            verdict: Verdict = end.value
            return verdict
