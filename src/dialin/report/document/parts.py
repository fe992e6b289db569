"""The parts that a document is made of. All text in them is safe to show on one line; renderers add markup, never words."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from dialin.model.why import ReasonKind
from dialin.report.charts.chart import Chart
from dialin.report.charts.dots import Dots

MARKDOWN = "summary-markdown"
"""The key of the summary of a study as Markdown, which a page holds to be copied."""

NO_INTERVAL = "no interval yet"
"""The text beside a figure that has too little data for an interval."""


class SectionKey(StrEnum):
    """The sections of a report, then those of a comparison of two studies, in their order."""

    VERDICT = "verdict"
    SEARCH = "search"
    LIVE = "live-traffic"
    REPLAY = "replay"
    CANDIDATES = "candidates"
    WHY = "why"
    OVER_TIME = "over-time"
    HOW = "how"
    DIFFERENCES = "differences"
    CHANGE = "change"
    NOISE = "noise"


class Role(StrEnum):
    """What a paragraph is for."""

    PROSE = "prose"
    REASON = "reason"
    LEAD = "lead"
    SMALL = "small"


class RowRole(StrEnum):
    """What is special about a row of a table."""

    PLAIN = "plain"
    RECOMMENDED = "recommended"
    DIMMED = "dimmed"
    BAD = "bad"


@dataclass(frozen=True, slots=True)
class Paragraph:
    text: str
    role: Role = Role.PROSE


@dataclass(frozen=True, slots=True)
class Link:
    """The target of a cell's link on a page: the id of an element, and the trial that the chart there is to show, if any."""

    target: str
    trial: int | None = None


@dataclass(frozen=True, slots=True)
class Cell:
    """A cell of a table.

    Attributes:
        detail: the interval of its figure, or other facts about it, one each.
        brief: the details in as few characters as possible.
        order: the value by which a page sorts the row; None where there is no figure.
        candidate: the candidate whose mark stands before the text.
        is_marked: whether it differs in a way that the caption explains.
        share: from 0 to 1, drawn as a bar where a rendering can.
        link: the place on the page that has more about it.
    """

    text: str
    detail: Sequence[str] = ()
    brief: str = ""
    order: float | None = None
    candidate: str = ""
    is_marked: bool = False
    share: float | None = None
    link: Link | None = None

    @property
    def full(self) -> str:
        """The cell with its details: `3.8 % (3.1 % to 4.6 %)`."""
        beside = ", ".join(one for one in self.detail if one != NO_INTERVAL)
        return f"{self.text} ({beside})" if beside else self.text

    @property
    def compact(self) -> str:
        """The cell with its brief details, for where there is little room: `3.8 % (3.1–4.6)`."""
        return f"{self.text} ({self.brief})" if self.brief else self.text


@dataclass(frozen=True, slots=True)
class Column:
    """A column of a table.

    Attributes:
        rank: where there is little room the column with the highest rank is dropped first; 0 is never dropped.
        hint: which way is better, where that is not obvious.
        is_figure: whether it holds figures, which are set to the right.
        is_code: whether it holds names or values that are set in a fixed width.
        is_charted: whether a chart above the table shows it with its intervals.
        bare_first: whether its intervals are left out before those of other columns.
        candidate: the candidate whose mark stands before the title.
        term: the key of the term that explains the title; empty for none.
    """

    key: str
    title: str
    rank: int = 0
    hint: str = ""
    is_figure: bool = False
    is_code: bool = False
    is_charted: bool = False
    bare_first: bool = False
    candidate: str = ""
    term: str = ""


@dataclass(frozen=True, slots=True)
class Row:
    """A row of a table; its first cell names it. Links lead to it by its key, where it has one."""

    cells: Sequence[Cell]
    role: RowRole = RowRole.PLAIN
    key: str = ""


@dataclass(frozen=True, slots=True)
class Table:
    """A table.

    Attributes:
        empty: the sentence that stands for rows where there are none.
        is_sortable: whether a page lets the reader sort it.
        is_wide: whether it may be wider than the text.
    """

    key: str
    caption: str
    columns: Sequence[Column]
    rows: Sequence[Row]
    empty: str = ""
    is_sortable: bool = False
    is_wide: bool = False


@dataclass(frozen=True, slots=True)
class Code:
    """Lines to copy, with their language (`ini`, `sql`, …) and what they are.

    Attributes:
        is_copied: whether the reader copies it as it is; else it is only to be read.
    """

    key: str
    text: str
    label: str
    language: str = ""
    is_copied: bool = True


@dataclass(frozen=True, slots=True)
class Pairs:
    """Facts, each with its label."""

    pairs: Sequence[tuple[str, str]]
    key: str = ""


@dataclass(frozen=True, slots=True)
class Term:
    """A word that has one meaning in all reports; columns refer to it by its key."""

    key: str
    word: str
    meaning: str


@dataclass(frozen=True, slots=True)
class Terms:
    terms: Sequence[Term]


@dataclass(frozen=True, slots=True)
class Caveat:
    """A warning, a confound, or what was checked; `data` are the figures behind it."""

    kind: str
    code: str
    text: str
    data: Sequence[tuple[str, str]] = ()


@dataclass(frozen=True, slots=True)
class Caveats:
    """What keeps the verdict from being taken at face value."""

    caveats: Sequence[Caveat]


@dataclass(frozen=True, slots=True)
class ReasonCard:
    """A reason with its source and its chart, which has a dot for each trial; `address` is the source's URL, or empty."""

    kind: ReasonKind
    label: str
    text: str
    remark: str
    source: str
    address: str
    dots: Dots | None


@dataclass(frozen=True, slots=True)
class Reasons:
    """Reasons, numbered from `start`."""

    cards: Sequence[ReasonCard]
    start: int = 1


@dataclass(frozen=True, slots=True)
class Log:
    """Lines with the time of day of each."""

    lines: Sequence[tuple[str, str]]


@dataclass(frozen=True, slots=True)
class MeasureSwitch:
    """Buttons that switch a page's charts over time between throughput and latency; `latency` is the name of the latter."""

    latency: str


@dataclass(frozen=True, slots=True)
class Copies:
    """Buttons that copy other things of a page: the label and the key of each. `MARKDOWN` is the summary of the study."""

    buttons: Sequence[tuple[str, str]]


@dataclass(frozen=True, slots=True)
class Grid:
    """Charts beside each other, all on one scale."""

    charts: Sequence[Chart]


@dataclass(frozen=True, slots=True)
class FlameFrame:
    """A bar of a flame graph: a function with those that called it, or a kind of thread.

    Attributes:
        parent: the place of what called it among the frames, which is before its own; None where it is at the bottom.
        first: CPU time with all that it calls, µs per transaction, of the first candidate; `second` is that of the second.
        interval: of the change, in words.
        certain: the change, where it is certain; None where it may be chance.
    """

    name: str
    parent: int | None
    first: float
    second: float
    interval: str
    certain: float | None


@dataclass(frozen=True, slots=True)
class FlameGraph:
    """The flame graphs of two candidates, and that of their difference; a page shows one at a time."""

    key: str
    title: str
    text: str
    first: str
    second: str
    unit: str
    frames: Sequence[FlameFrame]

    def embedded(self) -> dict[str, Any]:
        """Return what a page's script draws: a row for each frame, with the place of its name among the names."""
        names = list(dict.fromkeys(one.name for one in self.frames))
        places = {name: place for place, name in enumerate(names)}
        rows = [
            [places[one.name], one.parent, round(one.first, 3), round(one.second, 3), one.interval, one.certain]
            for one in self.frames
        ]
        return {"names": names, "rows": rows, "unit": self.unit, "first": self.first, "second": self.second}


@dataclass(frozen=True, slots=True)
class Fold:
    """Parts that a page folds away behind a line of text."""

    key: str
    summary: str
    parts: Sequence[Part]


@dataclass(frozen=True, slots=True)
class Group:
    """Parts below a heading."""

    key: str
    title: str
    parts: Sequence[Part]


@dataclass(frozen=True, slots=True)
class Beside:
    """Groups and charts that stand beside each other where there is room."""

    groups: Sequence[Group | Chart]


PlainPart = Paragraph | Table | Code | Pairs | Terms | Caveats | Reasons | Log | Chart | Fold | Group
"""The parts that every renderer shows."""

Part = PlainPart | MeasureSwitch | Copies | Grid | Beside | FlameGraph
"""Anything that a section may hold."""


@dataclass(frozen=True, slots=True)
class Section:
    """A section: its heading and its parts."""

    key: SectionKey
    title: str
    parts: Sequence[Part]


@dataclass(frozen=True, slots=True)
class Document:
    """A report.

    Attributes:
        headline: the verdict in one sentence, or the state of the study.
        outcome: the outcome in a few words; `outcome_key` is its key for style sheets.
        sections: in their order; each key occurs once.
        candidates: the label of each candidate in tables, by name, in the order of the study.
        circumstances: the build, the load, the machine and the time of a study with a verdict, on one line.
    """

    headline: str
    outcome: str
    outcome_key: str
    colophon: str
    sections: Sequence[Section]
    candidates: dict[str, str] = field(default_factory=dict)
    baseline: str = ""
    circumstances: str = ""

    def section(self, key: SectionKey) -> Section:
        """Return the section with a key; an empty section where the document has none."""
        return next((one for one in self.sections if one.key is key), Section(key, "", ()))

    def charts(self) -> list[Chart]:
        return [part for part in self._every_part() if isinstance(part, Chart)]

    def flame_graphs(self) -> list[FlameGraph]:
        return [part for part in self._every_part() if isinstance(part, FlameGraph)]

    def _every_part(self) -> Iterator[Part]:
        for section in self.sections:
            yield from every_part(section.parts)


def every_part(parts: Sequence[Part]) -> Iterator[Part]:
    """Yield parts with all that they hold, in their order."""
    for part in parts:
        yield part
        match part:
            case Fold() | Group():
                yield from every_part(part.parts)
            case Beside():
                yield from every_part(part.groups)
            case Grid():
                yield from part.charts
            case _:
                pass


def flat(parts: Sequence[Part]) -> Iterator[PlainPart]:
    """Yield parts for a rendering without a layout: one below the other, without what only a page can do."""
    for part in parts:
        match part:
            case Beside():
                yield from part.groups
            case Grid():
                yield from part.charts
            case MeasureSwitch() | Copies() | FlameGraph():
                pass
            case _:
                yield part


def find(parts: Sequence[Part], key: str) -> Part | None:
    """Return the part with a key among parts and all that they hold; None where there is none."""
    return next((part for part in every_part(parts) if getattr(part, "key", "") == key), None)


def text_table(key: str, caption: str, titles: Sequence[str], rows: Sequence[Sequence[str]], empty: str = "") -> Table:
    columns = [Column(f"{key}-{place}", title) for place, title in enumerate(titles)]
    return Table(key, caption, columns, [Row([Cell(text) for text in row]) for row in rows], empty)
