"""Compares candidates in each cell, and tests whether their ratio depends on the cell. Pure."""

from __future__ import annotations

from collections.abc import Collection, Hashable, Mapping, Sequence
from dataclasses import dataclass

from dialin.logs.factors import Values, factor_levels, keys
from dialin.logs.log_folder import natural_order
from dialin.measures.table import MEASURES
from dialin.model.analysis import CellAnalysis, CellCandidate, FactorAnalysis, RunAnalysis
from dialin.model.study import Goal
from dialin.model.verdict import Estimate, Note
from dialin.sentences.changes import change_or_no_interval
from dialin.stats.runs import Comparison
from dialin.stats.splits import Split, find_split
from dialin.stats.summaries import geometric_mean
from dialin.text import change, listed, span

_ERROR = 0.05
_MORE_THAN_DRIFT = 1.25
"""The factor between the ratios of two groups of single runs from which the ratios are reported to depend on a factor.

Single runs of cells one after the other cannot separate the effect of a factor from drift during the runs. Published servers
drift by up to 9 % per hour; two candidates that drift in opposite directions for about an hour differ by about 20 %.
"""
_SHOWN = 6


@dataclass(frozen=True, slots=True)
class Cells:
    """The cells of a comparison, with the names of the factors in which they differ.

    Attributes:
        keys: the factors, in the order of a cell's values.
        comparison: the comparison by the goal's figure, the higher the better.
        goal: the goal that selects the figure.
        alpha: the probability of error that all intervals together may have.
    """

    keys: tuple[str, ...]
    comparison: Comparison
    goal: Goal
    alpha: float

    def ordered(self) -> list[tuple[str, ...]]:
        cells = [cell for cell in self.comparison.cells if isinstance(cell, tuple)]
        return sorted(cells, key=lambda cell: [natural_order(value) for value in cell])

    def ratio(self, cell: Hashable, name: str, baseline: str) -> Estimate | None:
        """Return the goal's measure of a candidate as a ratio to the baseline's in a cell.

        The intervals of all cells hold together: each has an equal share of `alpha`.
        """
        number = max(1, len(self.comparison.repeated_cells()))
        ratio = self.comparison.cell_ratio(cell, name, baseline, self.alpha / number)
        return MEASURES[self.goal].of_compared(ratio)

    def label(self, cell: Sequence[str]) -> str:
        return ", ".join(f"{key} {value}" for key, value in zip(self.keys, cell, strict=True)) or "same conditions"


def analyze_cells(cells: Cells, runs: Sequence[RunAnalysis], names: Sequence[str], baseline: str) -> list[CellAnalysis]:
    analyses = []
    for cell in cells.ordered():
        runs_here = [run for run in runs if run.cell == cell]
        rows = []
        for name in names:
            tps = [run.tps for run in runs_here if run.candidate == name]
            if tps:
                ratio = cells.ratio(cell, name, baseline)
                rows.append(CellCandidate(name=name, runs=len(tps), tps=geometric_mean(tps), goal_ratio=ratio))
        analyses.append(CellAnalysis(where=dict(zip(cells.keys, cell, strict=True)), candidates=rows))
    return analyses


def analyze_factors(settings: Values, candidate_of: Mapping[str, str], names: Sequence[str]) -> list[FactorAnalysis]:
    analyses = []
    for key in keys(settings):
        values = [{settings[file][key] for file in settings if candidate_of[file] == name} for name in names]
        crossed = all(candidate_values == values[0] for candidate_values in values)
        analyses.append(FactorAnalysis(name=key, values=factor_levels(settings, key), crossed=crossed))
    return analyses


def dependence(cells: Cells, names: Sequence[str], baseline: str, barred: Collection[frozenset[str]]) -> list[Note]:
    """Return notes on candidates whose ratio to the baseline depends on the cell, or can only be read cell by cell.

    Candidates with repeats are tested against the noise of their runs, others by a permutation test of the cells' ratios. The
    tests of all candidates together have an error probability of 5 %. Candidates that ran entirely before or after the baseline
    have no note.
    """
    others = [
        name
        for name in names
        if name != baseline and len(cells.comparison.shared(name, baseline)) > 1 and frozenset({name, baseline}) not in barred
    ]
    noted = [_dependence_of(cells, name, baseline, _ERROR / len(others)) for name in others]
    return [note for note in noted if note]


def claims(cells: Cells, name: str, baseline: str) -> dict[tuple[str, ...], Estimate]:
    """Return the cells in which the interval of a candidate's ratio to the baseline excludes 1."""
    ratios = {cell: cells.ratio(cell, name, baseline) for cell in cells.ordered()}
    return {cell: ratio for cell, ratio in ratios.items() if ratio and ratio.excludes_one}


def _dependence_of(cells: Cells, name: str, baseline: str, error: float) -> Note | None:
    shared = [cell for cell in cells.ordered() if cell in cells.comparison.shared(name, baseline)]
    estimates = [cells.ratio(cell, name, baseline) for cell in shared]
    ratios = [ratio.mean for ratio in estimates if ratio]
    split = find_split(ratios, {key: [cell[index] for cell in shared] for index, key in enumerate(cells.keys)})
    probability = cells.comparison.interaction(name, baseline)
    if probability is not None and probability < error:
        how = f"F test of interaction, {_probability(probability)}"
    elif probability is None and split and split.probability <= error and split.gap >= _MORE_THAN_DRIFT:
        how = f"permutation test, {_probability(split.probability)}; one run per cell, so there are no intervals"
    elif probability is None:
        text = f"{name} against {baseline}: {_ranges(cells, shared, ratios)}, one run per cell"
        return Note(code="ratios_by_cell", text=text, data={"candidate": name, "baseline": baseline, "ratios": ratios})
    else:
        return None
    separates = split is not None and split.gap > 1
    where = f"depends on {split.factor}" if split and separates else "depends on the cell"
    ratios_in_words = _groups(split) if split and separates else _ranges(cells, shared, ratios)
    data = {
        "candidate": name,
        "baseline": baseline,
        "factor": split.factor if split and separates else None,
        "levels": list(split.levels) if split and separates else [],
        "ratios": ratios,
        "repeated": probability is not None,
    }
    text = f"{name} against {baseline} {where}: {ratios_in_words} ({how})"
    if clear := claims(cells, name, baseline):
        shown = [f"{change_or_no_interval(ratio)} at {cells.label(cell)}" for cell, ratio in list(clear.items())[:_SHOWN]]
        text += f". The interval excludes 0 % in {len(clear)} of {len(shared)} cells: {listed(shown)}"
        text += " and others" if len(clear) > _SHOWN else ""
    return Note(code="depends_on_cell", text=text, data=data)


def _groups(split: Split) -> str:
    inside, outside = span(split.inside, change), span(split.outside, change)
    return f"{inside} at {split.factor} {', '.join(split.levels)}, {outside} elsewhere"


def _ranges(cells: Cells, shared: Sequence[tuple[str, ...]], ratios: Sequence[float]) -> str:
    cell_of: Mapping[float, tuple[str, ...]] = dict(zip(ratios, shared, strict=True))
    lowest, highest = (f"{change(pick(ratios))} ({cells.label(cell_of[pick(ratios)])})" for pick in (min, max))
    return f"{lowest} to {highest} in {len(shared)} cells"


def _probability(value: float) -> str:
    return "p < 0.001" if value < 0.001 else f"p = {value:.3f}"
