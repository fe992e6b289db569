"""The section on the candidates: how they compare, by threads too, and every figure of each."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from dialin.model.record import StudyRecord
from dialin.model.verdict import CandidateState, CandidateVerdict, Verdict
from dialin.model.why import Why
from dialin.report.charts import by_value, explaining, forest_chart, transaction_latency
from dialin.report.charts.style import Style
from dialin.report.document import transaction_tables as tables
from dialin.report.document.figure_columns import FigureColumn, columns
from dialin.report.document.parts import Cell, Column, Group, Paragraph, Part, Role, Row, RowRole, Section, SectionKey, Table
from dialin.report.document.verdict_section import MOST_ROWS
from dialin.report.trade_off import compare_ends, trade_off
from dialin.sentences import state_sentences, verdict_sentences
from dialin.sentences.load_units import units_of_record
from dialin.sentences.names import Naming


def candidates_section(record: StudyRecord, why: Why, names: Naming, style: Mapping[str, Style]) -> Section:
    """Return the section; without a verdict it compares only throughput by threads and the latency of transactions."""
    verdict = record.verdict
    parts: list[Part] = []
    if len(names.variables) > 1:
        parts.append(Paragraph(f"Candidates by value: {names.subject}"))
    if verdict is not None:
        if len(verdict.candidates) > MOST_ROWS:
            parts.append(forest_chart.forest(verdict, style))
        parts += [
            chart
            for chart in (by_value.dose_response(record.spec, verdict, style), by_value.heatmap(record.spec, verdict))
            if chart is not None
        ]
    if why.scaling:
        unit = units_of_record(record)
        parts += [
            explaining.threads(why, style, unit.rate),
            tables.scaling_table(why, names.labels, unit.rate, record.spec.workload.rate),
        ]
    if verdict is not None:
        is_offered = verdict.is_throughput_offered
        if choice := "" if is_offered else trade_off(verdict, names.labels, compare_ends(record, verdict)):
            parts.append(Paragraph(f"Trade-off: {choice}", Role.LEAD))
        parts.append(Group("figures", "All figures", [_table(verdict, names)]))
    if latency := transaction_latency.chart(why, style):
        table = tables.latency_table(why, record.spec, names.labels)
        parts.append(Group("latency-of-transactions", tables.LATENCY_TITLE, [latency, table]))
    if why.kinds:
        parts.append(Group("kinds", tables.KINDS_TITLE, [tables.kinds_table(why, record.spec, names.labels)]))
    return Section(SectionKey.CANDIDATES, "Candidates", parts)


def _table(verdict: Verdict, names: Naming) -> Table:
    shown = columns(verdict)
    caption = f"{verdict_sentences.intervals(verdict)} The state compares a candidate with the baseline."
    return Table(
        "candidates-table",
        caption,
        [Column("candidate", "value" if names.subject else "candidate"), *shown, Column("state", "state")],
        [_row(candidate, verdict, shown, names) for candidate in verdict.candidates],
        is_sortable=True,
        is_wide=True,
    )


def _row(candidate: CandidateVerdict, verdict: Verdict, shown: Sequence[FigureColumn], names: Naming) -> Row:
    place = [one.name for one in verdict.candidates].index(candidate.name)
    role = RowRole.PLAIN
    if candidate.name == verdict.recommended_candidate:
        role = RowRole.RECOMMENDED
    elif candidate.state in (CandidateState.LIKELY_WORSE, CandidateState.UNSAFE):
        role = RowRole.DIMMED
    state = Cell(
        state_sentences.state_text(candidate.state, verdict.worthwhile), state_sentences.state_remarks(candidate, verdict)
    )
    name = Cell(names.labels[candidate.name], order=place, candidate=candidate.name)
    return Row([name, *(column.of(candidate) for column in shown), state], role)
