"""`report.md`: the document for a pull request. Foreign text is shown as text: no markup, no broken table, nobody mentioned."""

from __future__ import annotations

from collections.abc import Sequence

from dialin.model.record import StudyRecord
from dialin.model.why import Why
from dialin.report.charts.chart import Chart
from dialin.report.document.parts import (
    Beside,
    Caveats,
    Code,
    Document,
    Fold,
    Grid,
    Group,
    Log,
    MeasureSwitch,
    Pairs,
    Paragraph,
    Part,
    ReasonCard,
    Reasons,
    Row,
    RowRole,
    Section,
    SectionKey,
    Table,
    Tiles,
)
from dialin.report.document.study_document import study_document
from dialin.report.render.markdown_text import fenced, folded, prose, table
from dialin.text import visible

_OPEN_RANKS = 4
"""Columns of the candidates up to this rank stand openly; all are in the table that is folded away."""

_FOLDED = (SectionKey.OVER_TIME, SectionKey.HOW)
_FIRST = "candidates-table"


def render(record: StudyRecord, why: Why | None = None) -> str:
    """Return the report as GitHub-flavoured Markdown."""
    return to_markdown(study_document(record, why))


def to_markdown(document: Document) -> str:
    """Return a document as GitHub-flavoured Markdown; what a page shows only on demand is folded away."""
    parts = [f"# {prose(document.headline)}", prose(f"{document.outcome}.")]
    for section in document.sections:
        parts += _section(section)
    parts.append(prose(document.colophon))
    return "\n\n".join(part for part in parts if part) + "\n"


def _section(section: Section) -> list[str]:
    if not section.parts:
        return []
    if section.key in _FOLDED:
        return [folded(section.title, "\n\n".join(_parts(section.parts)))]
    if section.key is SectionKey.VERDICT:
        return _parts(section.parts)
    return [f"**{prose(section.title)}**", *_parts(section.parts)]


def _parts(parts: Sequence[Part]) -> list[str]:
    return [text for part in parts if (text := _part(part))]


def _part(part: Part) -> str:
    match part:
        case Paragraph():
            return prose(part.text)
        case Group():
            return _group(part)
        case Fold():
            return folded(part.summary, "\n\n".join(_parts(part.parts)))
        case Beside():
            return "\n\n".join(_parts(part.groups))
        case Grid():
            return "\n\n".join(map(_chart, part.charts))
        case Chart():
            return _chart(part)
        case Table():
            return _table(part)
        case Code():
            return fenced(part.text, part.language)
        case Tiles():
            return "\n".join(f"- {prose(f'{one.label}: {one.figure}. {one.sentence}')}" for one in part.tiles)
        case Pairs():
            return "\n".join(f"- {prose(f'{label}: {value}')}" for label, value in part.pairs) or "Nothing is known."
        case Caveats():
            return _caveats(part)
        case Reasons():
            return "\n".join(_reason(number, one) for number, one in enumerate(part.cards, part.start))
        case Log():
            return fenced("\n".join(f"{at} {text}" for at, text in part.lines)) if part.lines else "Nothing was logged."
        case MeasureSwitch():
            return ""


def _group(group: Group) -> str:
    title = f"**{prose(group.title)}**"
    first = next((part for part in group.parts if isinstance(part, Table) and part.key == _FIRST), None)
    if first is None:
        return "\n\n".join([title, *_parts(group.parts)])
    shown = [place for place, column in enumerate(first.columns) if column.rank <= _OPEN_RANKS]
    brief = Table(
        first.key,
        "",
        [first.columns[place] for place in shown],
        [Row([row.cells[place] for place in shown], row.role) for row in first.rows],
    )
    return "\n\n".join([_table(brief), folded(group.title, "\n\n".join(_parts(group.parts)))])


def _chart(chart: Chart) -> str:
    return "\n\n".join([f"**{prose(chart.title)}**", *(prose(text) for text in (chart.text, chart.other_text) if text)])


def _table(part: Table) -> str:
    if not part.rows:
        return prose(part.empty)
    rows = []
    for row in part.rows:
        cells = [prose(cell.full) for cell in row.cells]
        rows.append([f"**{cells[0]}**", *cells[1:]] if row.role is RowRole.RECOMMENDED else cells)
    alignment = "".join("r" if column.is_figure else "l" for column in part.columns)
    titles = [prose(f"{column.title} ({column.hint})" if column.hint else column.title) for column in part.columns]
    drawn = table(titles, rows, alignment)
    return f"{prose(part.caption)}\n\n{drawn}" if part.caption else drawn


def _caveats(part: Caveats) -> str:
    lines = []
    for one in part.caveats:
        lines.append(f"- {prose(f'{one.kind.capitalize()}: {one.text}')}")
        lines += [f"  - {prose(f'{label}: {value}')}" for label, value in one.data]
    return "\n".join(lines)


def _reason(number: int, one: ReasonCard) -> str:
    source = f"[{prose(one.source)}]({one.address})" if one.address else prose(one.source)
    text = f"{number}. {prose(f'{one.text} ({one.label}) {one.remark}'.rstrip())} Source: {source}."
    if one.dots is None:
        return text
    figures = "; ".join(f"{row.label}: {row.figure} ({row.spoken})" for row in one.dots.rows)
    return f"{text}\n   {prose(visible(f'{one.dots.title}: {figures}.'))}"
