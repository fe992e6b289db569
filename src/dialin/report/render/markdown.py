"""`report.md`: the document for a pull request. Foreign text is shown as text: no markup, no broken table, nobody mentioned."""

from __future__ import annotations

from collections.abc import Sequence

from dialin.model.record import StudyRecord
from dialin.model.why import Why
from dialin.report.charts.chart import Chart
from dialin.report.document.parts import (
    Caveats,
    Code,
    Document,
    Fold,
    Group,
    Log,
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
from dialin.report.render.part_renderer import PartRenderer
from dialin.text import visible

_OPEN_RANKS = 4
"""Columns of the candidates up to this rank stand openly; all are in the table that is folded away."""

_FOLDED = (SectionKey.OVER_TIME, SectionKey.HOW)
_FIRST = "candidates-table"


def render(record: StudyRecord, why: Why | None = None) -> str:
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
    shown = _Markdown().together(section.parts)
    if section.key in _FOLDED:
        return [folded(section.title, shown)]
    if section.key is SectionKey.VERDICT:
        return [shown]
    return [f"**{prose(section.title)}**", shown]


class _Markdown(PartRenderer[str]):
    """Writes each part as a paragraph, a list, a table or a fold."""

    def together(self, parts: Sequence[Part]) -> str:
        return "\n\n".join(text for text in self.show(parts) if text)

    def paragraph(self, part: Paragraph) -> str:
        return prose(part.text)

    def group(self, part: Group) -> str:
        first = next((one for one in part.parts if isinstance(one, Table) and one.key == _FIRST), None)
        if first is None:
            return "\n\n".join([f"**{prose(part.title)}**", self.together(part.parts)])
        shown = [place for place, column in enumerate(first.columns) if column.rank <= _OPEN_RANKS]
        brief = Table(
            first.key,
            "",
            [first.columns[place] for place in shown],
            [Row([row.cells[place] for place in shown], row.role) for row in first.rows],
        )
        return "\n\n".join([self.table(brief), folded(part.title, self.together(part.parts))])

    def fold(self, part: Fold) -> str:
        return folded(part.summary, self.together(part.parts))

    def chart(self, part: Chart) -> str:
        return "\n\n".join([f"**{prose(part.title)}**", *(prose(text) for text in (part.text, part.other_text) if text)])

    def table(self, part: Table) -> str:
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

    def code(self, part: Code) -> str:
        return fenced(part.text, part.language)

    def tiles(self, part: Tiles) -> str:
        return "\n".join(f"- {prose(f'{one.label}: {one.figure}. {one.sentence}')}" for one in part.tiles)

    def pairs(self, pairs: Sequence[tuple[str, str]]) -> str:
        return "\n".join(f"- {prose(f'{label}: {value}')}" for label, value in pairs) or "Nothing is known."

    def caveats(self, part: Caveats) -> str:
        lines = []
        for one in part.caveats:
            lines.append(f"- {prose(f'{one.kind.capitalize()}: {one.text}')}")
            lines += [f"  - {prose(f'{label}: {value}')}" for label, value in one.data]
        return "\n".join(lines)

    def reasons(self, part: Reasons) -> str:
        return "\n".join(_reason(number, one) for number, one in enumerate(part.cards, part.start))

    def log(self, part: Log) -> str:
        return fenced("\n".join(f"{at} {text}" for at, text in part.lines)) if part.lines else "Nothing was logged."


def _reason(number: int, one: ReasonCard) -> str:
    source = f"[{prose(one.source)}]({one.address})" if one.address else prose(one.source)
    text = f"{number}. {prose(f'{one.text} ({one.label}) {one.remark}'.rstrip())} Source: {source}."
    if one.dots is None:
        return text
    figures = "; ".join(f"{row.label}: {row.figure} ({row.spoken})" for row in one.dots.rows)
    return f"{text}\n   {prose(visible(f'{one.dots.title}: {figures}.'))}"
