"""How the difference between two candidates varies from cell to cell: by which factor, and how far. Pure."""

from __future__ import annotations

import math
from collections.abc import Hashable, Mapping, Sequence

from dialin.model.verdict import Note
from dialin.stats.runs import Comparison, factor_of
from dialin.study.analysis.logs import natural
from dialin.text import change, counted, listed

_SHOWN = 8


def dependences(comparison: Comparison, keys: Sequence[str], names: Sequence[str], baseline: str) -> list[Note]:
    """Return which candidates are better than the baseline in some cells and worse in others, and what decides that.

    Args:
        comparison: of the candidates; its cells are tuples of the factors' values.
        keys: the factors, in the order of these tuples.
        names: every candidate.
        baseline: the candidate that ratios are taken to.
    """
    notes = []
    for name in names:
        cells = comparison.cells.get((name, baseline), {})
        factors = [key for index, key in enumerate(keys) if factor_of(cells, {cell: _values(cell)[index] for cell in cells})]
        if not factors and not comparison.depends(name, baseline):
            continue
        text = f"Whether {name} is faster than {baseline} depends on the cell: {_range(list(cells.values()))}"
        if factors:
            text = f"Whether {name} is faster than {baseline} depends on {factors[0]}: {_groups(cells, keys.index(factors[0]))}"
        data = {"candidate": name, "factors": factors, "ratios": _table(cells)}
        notes.append(Note(code="depends_on_cell", text=text, data=data))
    return notes


def ranges(comparison: Comparison, names: Sequence[str], baseline: str) -> list[Note]:
    """Return how far apart each candidate and the baseline lie in the cells where both ran, where there are several."""
    notes = []
    for name in names:
        cells = comparison.cells.get((name, baseline), {})
        if len(cells) > 1:
            text = f"{name} against {baseline}: {_range(list(cells.values()))} in {counted(len(cells), 'cell')}"
            notes.append(Note(code="ratio_by_cell", text=text, data={"candidate": name, "ratios": _table(cells)}))
    return notes


def _values(cell: Hashable) -> tuple[str, ...]:
    return cell if isinstance(cell, tuple) else ()


def _table(cells: Mapping[Hashable, float]) -> list[dict[str, object]]:
    return [{"cell": list(_values(cell)), "ratio": math.exp(ratio)} for cell, ratio in cells.items()]


def _groups(cells: Mapping[Hashable, float], index: int) -> str:
    """Return the range of ratios for the values of a factor at which they lie on one side, and on the other."""
    by_value: dict[str, list[float]] = {}
    for cell, ratio in cells.items():
        by_value.setdefault(_values(cell)[index], []).append(ratio)
    sides: dict[bool, list[str]] = {}
    for value in sorted(by_value, key=natural):
        sides.setdefault(sum(by_value[value]) > 0, []).append(value)
    shown = []
    for values in sides.values():
        ratios = [ratio for value in values for ratio in by_value[value]]
        more = f" and {len(values) - _SHOWN} more" if len(values) > _SHOWN else ""
        shown.append(f"{_range(ratios)} at {listed(values[:_SHOWN]) if not more else ', '.join(values[:_SHOWN]) + more}")
    return "; ".join(shown)


def _range(ratios: Sequence[float]) -> str:
    low, high = change(math.exp(min(ratios))), change(math.exp(max(ratios)))
    return low if low == high else f"{low} to {high}"
