"""The words of a report that a reader may want explained, as docs/glossary.md has them."""

from __future__ import annotations

from enum import StrEnum

from dialin.report.document.parts import Term


class Word(StrEnum):
    """The keys of the terms."""

    BLOCK = "block"
    CV = "cv"
    STALL = "stall"
    NEAR_BEST = "near-best"
    HOST_STALL = "host-stall"


TERMS = (
    Term(
        Word.BLOCK,
        "block",
        "one trial of each candidate in it, in random order, close together in time; the first has all candidates, later ones "
        "the contenders",
    ),
    Term(Word.CV, "CV", "coefficient of variation: the standard deviation of a trial's seconds, as a share of their mean"),
    Term(
        Word.STALL,
        "stall",
        "a measured second below half of its trial's median, or below a tenth of the trial's 90th percentile",
    ),
    Term(Word.NEAR_BEST, "P(within N %)", "the probability that a candidate is within `--worthwhile` of the best"),
    Term(
        Word.HOST_STALL,
        "host stall",
        "a second in which the host itself stalled or its hypervisor took the CPU; it does not count",
    ),
)
"""The terms, in the order in which a report lists them."""
