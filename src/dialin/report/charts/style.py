"""How each candidate looks, alike in every chart and table of a report, and each verdict in a terminal."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from dialin.model.study import StudySpec
from dialin.model.verdict import Outcome, Verdict
from dialin.sentences.names import naming
from dialin.text import distinct

HUES = 7
"""The number of colours besides the baseline's. The style sheet has as many, which the colour-blind can tell apart."""

_SYMBOLS = ("circle", "square", "triangle-up", "pentagon", "star-triangle-down", "hexagon2", "cross")
_DASHES = ("8 4", "2 3", "10 3 2 3", "5 2", "14 4", "8 3 2 3 2 3", "3 6")
"""How lines are broken: lengths of strokes and gaps, in CSS pixels. The line of the baseline is solid."""
_LABEL = 30
_HEADLINES = {
    Outcome.WINNER: "bold green",
    Outcome.SAFE_CHOICE: "bold green",
    Outcome.GAIN: "bold green",
    Outcome.TIE: "bold cyan",
    Outcome.NO_WORTHWHILE_DIFFERENCE: "bold cyan",
    Outcome.INCONCLUSIVE: "bold yellow",
}


@dataclass(frozen=True, slots=True)
class Style:
    """How a candidate looks in every chart and table: no two look alike without colour until there are more than eight.

    Attributes:
        dash: lengths of strokes and gaps of its lines, in CSS pixels; empty for a solid line.
    """

    label: str
    colour: str
    symbol: str
    dash: str = ""

    def marker(self, size: float, *, is_hollow: bool = False) -> dict[str, Any]:
        """Return the candidate's mark, `size` CSS pixels wide; a single trial is hollow, as nothing shows how trials vary."""
        mark = {"symbol": self.symbol, "size": size, "color": self.colour}
        return {**mark, "symbol": f"{self.symbol}-open", "line": {"width": 1.8}} if is_hollow else mark


def styles(spec: StudySpec) -> dict[str, Style]:
    """Return how each candidate looks: the baseline in grey, the others in turn through colours, marks and dashes."""
    return looks_of(naming(spec).labels, spec.baseline)


def looks_of(labels: Mapping[str, str], baseline: str) -> dict[str, Style]:
    by_name = {}
    others = 0
    for name, label in zip(labels, distinct(list(labels.values()), _LABEL), strict=True):
        if name == baseline:
            by_name[name] = Style(label, "var(--base)", "diamond")
            continue
        symbol = _SYMBOLS[(others + others // HUES) % len(_SYMBOLS)]
        colour = f"var(--c{others % HUES + 1})"
        by_name[name] = Style(label, colour, symbol, _DASHES[others % len(_DASHES)])
        others += 1
    return by_name


def headline_style(verdict: Verdict | None) -> str:
    """Return how a terminal shows a verdict's sentence."""
    return _HEADLINES[verdict.verdict] if verdict else "bold yellow"
