"""`report.md`, the summary of a study in some fifteen lines for a ticket, and its whole report as Markdown.

Text from outside cannot act as markup, break a table or mention anybody.
"""

from __future__ import annotations

from collections.abc import Sequence

from rich.console import Console

from dialin.model.record import StudyRecord
from dialin.model.why import Why
from dialin.report.charts.chart import Chart
from dialin.report.document.parts import (
    Caveat,
    Caveats,
    Code,
    Document,
    Fold,
    Group,
    Log,
    Pairs,
    Paragraph,
    Part,
    PlainPart,
    ReasonCard,
    Reasons,
    Row,
    RowRole,
    Section,
    SectionKey,
    Table,
    Terms,
    flat,
)
from dialin.report.document.study_document import study_document
from dialin.report.document.summary_document import summary_document
from dialin.report.render.markdown_text import code, fenced, folded, prose, table
from dialin.text import visible, without_secrets

_OPEN_RANKS = 4
"""Columns of the candidates' table up to this rank are shown at once; the table that is folded away has all of them."""

_FOLDED = (SectionKey.OVER_TIME, SectionKey.HOW)
_FIRST = "candidates-table"


def render(record: StudyRecord, why: Why | None = None) -> str:
    """Return the summary of a study, with its whole report folded away."""
    document = study_document(record, why)
    return f"{summary(record, why, document)}\n{folded('The whole report', _body(document))}\n"


def summary(record: StudyRecord, why: Why | None = None, whole: Document | None = None) -> str:
    """Return the summary of a study: the verdict, the main figures, what to set, why, caveats, environment and command.

    `whole` is its report, where the caller has it.
    """
    document = summary_document(record, why or Why.empty(), whole)
    parts = [part for part in flat(document.section(SectionKey.VERDICT).parts) if not isinstance(part, Chart)]
    # What stands before the lines to set explains the verdict; what stands after them says what they take.
    lines = next((place for place, part in enumerate(parts) if isinstance(part, Code)), len(parts))
    explained = " ".join(part.text for part in parts[:lines] if isinstance(part, Paragraph))
    to_set = [
        line for part in parts if isinstance(part, Code) for line in part.text.splitlines() if not line.startswith(("[", "#"))
    ]
    remarks = " ".join(part.text for part in parts[lines:] if isinstance(part, Paragraph))
    items = [
        ("Set" if to_set else "Note", " ".join([*([f"{', '.join(map(code, to_set))}."] if to_set else []), prose(remarks)])),
        *((label, prose(text)) for part in parts if isinstance(part, Pairs) for label, text in part.pairs),
        *((one.kind.capitalize(), prose(one.text)) for part in parts if isinstance(part, Caveats) for one in part.caveats),
        ("Environment", prose(document.circumstances or document.outcome)),
        ("Command", code(without_secrets(record.command))),
    ]
    texts = [
        " ".join(filter(None, [f"**{prose(document.headline)}**", prose(explained)])),
        *(_table(part) for part in parts if isinstance(part, Table)),
        "\n".join(f"- **{prose(label)}:** {text}" for label, text in items if text),
    ]
    return "\n\n".join(texts) + "\n"


def print_markdown(record: StudyRecord, console: Console, why: Why, *, full: bool = False) -> None:
    """Print the summary as Markdown, or the whole report; long lines are not wrapped."""
    console.out(render(record, why) if full else summary(record, why), end="", highlight=False)


def to_markdown(document: Document, rest: Sequence[Section] = ()) -> str:
    """Return a document as GitHub-flavoured Markdown; what a page shows only on demand is folded away, as is all of `rest`."""
    away = "\n\n".join(text for section in rest for text in _section(section))
    more = f"\n\n{folded('The whole report', away)}" if away else ""
    return f"# {prose(document.headline)}\n\n{_body(document)}{more}\n"


def _body(document: Document) -> str:
    sections = [text for section in document.sections for text in _section(section)]
    return "\n\n".join(filter(None, [prose(f"{document.outcome}."), *sections, prose(document.colophon)]))


def _section(section: Section) -> list[str]:
    if not section.parts:
        return []
    shown = _together(section.parts)
    if section.key in _FOLDED:
        return [folded(section.title, shown)]
    if section.key is SectionKey.VERDICT:
        return [shown]
    return [f"**{prose(section.title)}**", shown]


def _together(parts: Sequence[Part]) -> str:
    return "\n\n".join(text for part in flat(parts) if (text := _text(part)))


def _text(part: PlainPart) -> str:
    match part:
        case Paragraph():
            return prose(part.text)
        case Group():
            return _group(part)
        case Fold():
            return folded(part.summary, _together(part.parts))
        case Chart():
            return f"**{prose(part.title)}**\n\n{prose(part.text)}"
        case Table():
            return _table(part)
        case Code():
            return fenced(part.text, part.language)
        case Pairs():
            return _pairs(part.pairs)
        case Terms():
            return _pairs([(one.word, one.meaning) for one in part.terms])
        case Caveats():
            return "\n".join(line for one in part.caveats for line in _caveat(one))
        case Reasons():
            return "\n".join(_reason(number, one) for number, one in enumerate(part.cards, part.start))
        case Log():
            return fenced("\n".join(f"{at} {text}" for at, text in part.lines)) if part.lines else "Nothing was logged."


def _group(part: Group) -> str:
    first = next((one for one in part.parts if isinstance(one, Table) and one.key == _FIRST), None)
    if first is None:
        return "\n\n".join([f"**{prose(part.title)}**", _together(part.parts)])
    shown = [place for place, column in enumerate(first.columns) if column.rank <= _OPEN_RANKS]
    brief = Table(
        first.key,
        "",
        [first.columns[place] for place in shown],
        [Row([row.cells[place] for place in shown], row.role) for row in first.rows],
    )
    return "\n\n".join([_table(brief), folded(part.title, _together(part.parts))])


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


def _pairs(pairs: Sequence[tuple[str, str]]) -> str:
    return "\n".join(f"- {prose(f'{label}: {value}')}" for label, value in pairs) or "Nothing is known."


def _caveat(one: Caveat) -> list[str]:
    figures = [f"  - {prose(f'{label}: {value}')}" for label, value in one.data]
    return [f"- {prose(f'{one.kind.capitalize()}: {one.text}')}", *figures]


def _reason(number: int, one: ReasonCard) -> str:
    source = f"[{prose(one.source)}]({one.address})" if one.address else prose(one.source)
    text = f"{number}. {prose(f'{one.text} ({one.label}) {one.remark}'.rstrip())} Source: {source}."
    if one.dots is None:
        return text
    figures = "; ".join(f"{row.label}: {row.figure} ({row.spoken})" for row in one.dots.rows)
    return f"{text}\n   {prose(visible(f'{one.dots.title}: {figures}.'))}"
