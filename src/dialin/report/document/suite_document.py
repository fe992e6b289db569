"""The joint result of a suite as a document: what it says, a row for each workload, costs, and what moved."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from dialin.measures.table import MEASURES
from dialin.model.studies import Area, StudyDiff
from dialin.model.suite import Margin, Suite, SuiteCandidate, SuiteCell, SuitePlan, SuiteResult, SuiteRow
from dialin.model.verdict import CandidateState, ComparedFigure, Estimate
from dialin.report.charts.style import Style, looks_of
from dialin.report.charts.suite_charts import MARKS, MEAN, charts_by_threads, suite_heatmap, workload_forest
from dialin.report.document import profile_parts
from dialin.report.document.costs import READING, STAR, cost_cell
from dialin.report.document.figure_columns import change_cell
from dialin.report.document.parts import (
    Cell,
    Code,
    Column,
    Document,
    Grid,
    Group,
    Pairs,
    Paragraph,
    Part,
    Role,
    Row,
    RowRole,
    Section,
    SectionKey,
    Table,
)
from dialin.sentences.state_sentences import state_text
from dialin.sentences.suite_sentences import COSTS, outcome_text
from dialin.text import NOTHING, change, counted, distinct, exact_percent, listed, percent, visible, without_secrets

TABLE = "suite-table"
"""The key of the table of workloads."""

_LONGEST, _LONGEST_TITLE = 24, 16
"""Characters of a workload's name in a table, and of a candidate's where there are several."""

_ROLES = {CandidateState.BETTER: RowRole.RECOMMENDED, CandidateState.WORSE: RowRole.BAD, CandidateState.UNSAFE: RowRole.BAD}


def suite_document(suite: Suite) -> Document:
    """Return the document of a suite that has a result.

    Raises:
        ValueError: it has none.
    """
    plan, result = suite.plan, suite.result
    if result is None:
        raise ValueError("a suite without a result has no document")
    title = f"Suite {visible(plan.title)}" if plan.title else f"{counted(len(plan.members), 'workload')}"
    return Document(
        headline=suite.headline,
        outcome=f"{outcome_text(result)}; {title}, {result.minutes:.0f} minutes of trials",
        outcome_key=result.outcome.value,
        colophon="",
        sections=[
            Section(SectionKey.VERDICT, "Result", _result(plan, result)),
            Section(SectionKey.CANDIDATES, "Cost per operation", _costs(result)),
            Section(SectionKey.WHY, "What moved", _moved(result)),
            Section(SectionKey.HOW, "Method", _how(plan, result)),
        ],
        candidates={one.name: one.label for one in result.candidates},
        baseline=result.baseline,
    )


def _confidence(plan: SuitePlan, result: SuiteResult) -> str:
    return (
        f"Claims hold at {exact_percent(plan.confidence)} over all {counted(len(plan.members), 'workload')}, candidates and "
        f"looks together; each interval is at {exact_percent(result.confidence)}."
    )


def subject(result: SuiteResult) -> SuiteCandidate:
    """Return the candidate that the chart is about: the one recommended, else the one that differs most in the mean."""
    if result.recommended != result.baseline:
        return result.candidate(result.recommended)
    return max(result.others, key=lambda one: abs(one.mean.mean - 1) if one.mean else -1.0)


def _result(plan: SuitePlan, result: SuiteResult) -> list[Part]:
    equal = exact_percent(plan.worthwhile)
    notes = [f"▲ better, ▼ worse (proven), = equal within {equal}."] if len(result.others) > 1 else []
    notes += [
        _how_to_read_costs(result) if len(result.others) == 1 else "",
        "" if result.is_aa else _open_workloads(result),
        _confidence(plan, result),
    ]
    charts = [chart for chart in (workload_forest(plan, result, subject(result)), suite_heatmap(result)) if chart]
    by_threads = charts_by_threads(result, suite_style(result))
    title = "Throughput against the baseline, by threads: each interval holds by itself"
    grid = [Group("by-threads", title, [Grid(by_threads)])] if by_threads else []
    failures = [Paragraph(visible(f"{row.name} ended without an answer: {row.failure}")) for row in result.rows if row.failure]
    return [workload_table(plan, result), *failures, Paragraph(" ".join(filter(None, notes)), Role.SMALL), *charts, *grid]


def _how_to_read_costs(result: SuiteResult) -> str:
    costs = [one for row in result.rows for cost in row.costs if cost.name in COSTS for one in cost.per_transaction.values()]
    if any(one.ratio is not None and one.ratio.excludes_one for one in costs):
        return f"{STAR} a cost whose interval excludes 0 %."
    return "No interval of a cost excludes 0 %." if costs else ""


def suite_style(result: SuiteResult) -> dict[str, Style]:
    """Return how the candidates of a suite look in its charts."""
    return looks_of({one.name: one.label for one in result.candidates}, result.baseline)


def _open_workloads(result: SuiteResult) -> str:
    still_open = sum(not row.decided for row in result.rows)
    return f"{counted(still_open, 'workload')} could use more trials." if still_open else ""


def workload_table(plan: SuitePlan, result: SuiteResult) -> Table:
    """Return a row for each workload, the largest effect first, and one for the weighted mean."""
    single = len(result.others) == 1
    columns = [Column("workload", "workload"), Column("baseline", result.candidate(result.baseline).label, 2, is_figure=True)]
    if single:
        columns += [Column("change", result.others[0].label, is_figure=True), Column("state", "state", 1)]
        columns += [
            Column(f"cost-{place}", COSTS[name], 3 + place, is_figure=True) for place, name in enumerate(_cost_names(result))
        ]
    else:
        titles = distinct([visible(one.label) for one in result.others], _LONGEST_TITLE)
        columns += [Column(f"change-{place}", title, is_figure=True, bare_first=True) for place, title in enumerate(titles)]
    is_weighted = any(row.weight != 1 for row in result.rows)
    names = distinct([visible(row.name) for row in result.rows], _LONGEST)
    weights = [f" ×{row.weight:g}" if is_weighted else "" for row in result.rows]
    labels = [f"{name}{weight}" for name, weight in zip(names, weights, strict=True)]
    rows = [_row(plan, result, row, label) for row, label in zip(result.rows, labels, strict=True)]
    caption = "Change of performance against the baseline under each workload; above 0 % is better. Costs are per operation."
    return Table(TABLE, caption, columns, [*rows, _mean_row(plan, result, len(columns))], is_sortable=True, is_wide=True)


def _row(plan: SuitePlan, result: SuiteResult, row: SuiteRow, label: str) -> Row:
    cells = [Cell(label), Cell(_level(row))]
    if len(result.others) > 1:
        beside = [row.cell(one.name) for one in result.others]
        return Row([*cells, *(_marked(cell.ratio, cell.state) for cell in beside)])
    (cell,) = row.cells
    costs = {cost.name: cost.per_transaction.get(cell.candidate) for cost in row.costs}
    changes = [_cost_change(costs.get(name)) for name in _cost_names(result)]
    shown = [*cells, change_cell(cell.ratio), Cell(_state(plan, result, cell)), *map(Cell, changes)]
    return Row(shown, _ROLES.get(cell.state, RowRole.PLAIN))


def _cost_change(cost: ComparedFigure | None) -> str:
    """Return the change of a cost; a star where its interval excludes 0 %."""
    if cost is None or cost.ratio is None:
        return NOTHING
    return f"{change(cost.ratio.mean)}{STAR if cost.ratio.excludes_one else ''}"


def _mean_row(plan: SuitePlan, result: SuiteResult, columns: int) -> Row:
    start = [Cell(MEAN), Cell("")]
    if len(result.others) > 1:
        return Row([*start, *(_marked(one.mean, one.state) for one in result.others)])
    (one,) = result.others
    cells = [*start, change_cell(one.mean), Cell(_state_in(result, one.state, plan))]
    return Row([*cells, *(Cell("") for _ in range(columns - len(cells)))])


def _level(row: SuiteRow) -> str:
    if row.baseline is None:
        return NOTHING
    return f"{MEASURES[row.goal].show(row.baseline.mean)} {row.unit}".rstrip()


def _marked(ratio: Estimate | None, state: CandidateState) -> Cell:
    if ratio is None:
        return Cell(state_text(state, 0))
    cell = change_cell(ratio)
    return replace(cell, text=f"{cell.text}{MARKS.get(state, '')}")


def _state(plan: SuitePlan, result: SuiteResult, cell: SuiteCell) -> str:
    """Return the state of the only other candidate; where the suite has a gate, its answer for this workload."""
    if plan.fail_if_worse is None:
        return _state_in(result, cell.state, plan)
    margin = exact_percent(plan.fail_if_worse)
    return {
        Margin.NOT_WORSE: f"not worse by {margin}",
        Margin.WORSE: f"worse by more than {margin}",
        Margin.OPEN: "not answered",
        Margin.FAILED: "server failed",
    }[cell.margin]


def _state_in(result: SuiteResult, state: CandidateState, plan: SuitePlan) -> str:
    """Return the words for a state; of identical candidates only a claim matters."""
    is_unclaimed = result.is_aa and state not in (CandidateState.BETTER, CandidateState.WORSE, CandidateState.EQUAL)
    return "none claimed" if is_unclaimed else state_text(state, plan.worthwhile)


def _cost_names(result: SuiteResult) -> list[str]:
    known = {cost.name for row in result.rows for cost in row.costs}
    return [name for name in COSTS if name in known]


def _costs(result: SuiteResult) -> list[Part]:
    rows = [(row, cost) for row in result.rows for cost in row.costs]
    if not rows:
        return [Paragraph("No probe recorded what an operation costs.")]
    names = _cost_names(result)
    titles = [
        visible(f"{cost.name} {cost.unit}".rstrip()) for name in names for cost in [next(c for _, c in rows if c.name == name)]
    ]
    columns = [Column("workload", "workload"), Column("candidate", "candidate")]
    columns += [Column(f"cost-{place}", title, place, is_figure=True) for place, title in enumerate(titles)]
    lines = [
        Row([Cell(visible(row.name)), Cell(one.label), *_cost_cells(row, one.name, names)])
        for row in result.rows
        for one in result.candidates
        if row.costs
    ]
    return [Table("suite-costs", f"Cost of an operation. {READING}", columns, lines, is_sortable=True, is_wide=True)]


def _cost_cells(row: SuiteRow, candidate: str, names: Sequence[str]) -> list[Cell]:
    by_name = {cost.name: cost.per_transaction.get(candidate) for cost in row.costs}
    return [cost_cell(by_name.get(name)) for name in names]


def _moved(result: SuiteResult) -> list[Part]:
    pairs = [(visible(row.name), row.moved) for row in result.rows if row.moved]
    none = "Under no workload does an interval exclude 0 %, so that nothing is to be explained."
    shown: list[Part] = [Pairs(pairs) if pairs else Paragraph(none)]
    profiled = [
        (visible(row.name), profile_parts.sentence(row.profile, "operation")) for row in result.rows if row.profile is not None
    ]
    note = Paragraph("Flame graphs are in the report of each workload. Profiles do not decide.", Role.SMALL)
    return [*shown, Group(profile_parts.KEY, "CPU profiles", [Pairs(profiled), note])] if profiled else shown


def _how(plan: SuitePlan, result: SuiteResult) -> list[Part]:
    facts = [
        (
            visible(row.name),
            f"{visible(row.load)}; {row.seconds / 60:.1f} minutes of trials{_noise(row)}; {row.directory}/report.html",
        )
        for row in result.rows
    ]
    return [Pairs(facts), Code("command", visible(without_secrets(plan.command)), "The command", "console")]


def _noise(row: SuiteRow) -> str:
    return f", trial-to-trial SD {percent(row.noise)}" if row.noise is not None else ""


def suite_diff_document(diffs: Mapping[str, StudyDiff], only: Sequence[str], left_out: Mapping[str, str]) -> Document:
    """Return the comparison of two suites, by workload.

    `only` are the workloads that one of them lacks, and `left_out` those that cannot be compared, with the reason.
    """
    pairs = [(name, diff, one) for name, diff in diffs.items() for one in diff.candidates if one.name != diff.baseline]
    changed = [(name, one) for name, _, one in pairs if one.ratio_change.excludes_one]
    named = listed([f"{visible(name)} ({visible(one.name)}: {change(one.ratio_change.mean)})" for name, one in changed[:3]])
    more = f" and {len(changed) - 3} more" if len(changed) > 3 else ""
    confidence = exact_percent(next(iter(diffs.values())).confidence)
    differing = dict.fromkeys(
        f"{one.name}: {one.a} → {one.b}"
        for diff in diffs.values()
        for one in diff.differences
        if one.area is not Area.VARIABLES
    )
    rows = [
        Row([Cell(visible(name)), Cell(visible(one.name)), *map(change_cell, (one.ratio_a, one.ratio_b, one.ratio_change))])
        for name, _, one in pairs
    ]
    columns = [Column("workload", "workload"), Column("candidate", "candidate")]
    columns += [Column(key, key, 1, is_figure=True, bare_first=True) for key in ("A", "B")]
    columns += [Column("change", "change", is_figure=True)]
    caption = "The ratio to the baseline in each suite, and its change from A to B, in the measure of each workload."
    return Document(
        headline=f"The ratio to the baseline changed under {named}{more}." if changed else "No change of any ratio is shown.",
        outcome=f"{counted(len(diffs), 'workload')} of both suites",
        outcome_key="diff",
        colophon=f"Intervals are at {confidence}, and hold together. One workload in full: dialin diff A/01-... B/01-...",
        sections=[
            Section(
                SectionKey.DIFFERENCES,
                "What differs between the suites",
                [Paragraph(visible("; ".join(differing)) or "Builds, hosts, workloads and options are the same.")]
                + ([Paragraph(f"In one suite only: {visible(listed(list(only)))}.")] if only else [])
                + [Paragraph(f"Not compared: {visible(f'{name}: {why}')}.") for name, why in left_out.items()],
            ),
            Section(SectionKey.CHANGE, "What changed", [Table("suite-diff", caption, columns, rows)]),
        ],
    )


def moved_document(suite: Suite) -> Document:
    """Return the part of a suite's document that explains it: costs, and what moved where workloads differ.

    Raises:
        ValueError: the suite has no result.
    """
    document = suite_document(suite)
    kept = [one for one in document.sections if one.key in (SectionKey.WHY, SectionKey.CANDIDATES)]
    return replace(document, sections=kept)
