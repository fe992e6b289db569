"""The verdict in the terminal: the sentence, what to set, the forest plot, the table, and what was not shown."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from rich.cells import cell_len
from rich.console import Console
from rich.text import Text

from dialin.model.record import StudyRecord
from dialin.model.verdict import CandidateVerdict, Outcome, Verdict
from dialin.report import forest
from dialin.report.optionfile import changes
from dialin.report.words import (
    SCOPE,
    Naming,
    compared,
    headline,
    length,
    naming,
    no_change,
    ratio_of,
    reason,
    state_of,
    sureness,
    trials_of,
    with_interval,
)
from dialin.text import ascii_only, number, percent, shorten, visible, wrapped

_STYLES = {
    Outcome.WINNER: "bold green",
    Outcome.TIE: "bold cyan",
    Outcome.NO_WORTHWHILE_DIFFERENCE: "bold cyan",
    Outcome.UNRESOLVED: "bold yellow",
}
_GAP = 2


@dataclass(frozen=True, slots=True)
class Column:
    """A column of the table.

    Attributes:
        title: what stands above it.
        cell: the cell of a candidate.
        short: the cell where there is little room; the same where it cannot be shorter.
        rank: what is dropped first where there is little room: the highest; 0 always stays.
    """

    title: str
    cell: Callable[[CandidateVerdict, Verdict], str]
    short: Callable[[CandidateVerdict, Verdict], str] | None = None
    rank: int = 0


_COLUMNS = (
    Column("tps", lambda c, _: with_interval(c.tps), lambda c, _: number(c.tps.mean if c.tps else None), rank=1),
    Column("to baseline", ratio_of, lambda c, v: ratio_of(c, v).partition(" (")[0]),
    Column("CV", lambda c, _: percent(c.cv), rank=4),
    Column("worst second", lambda c, _: number(c.worst_second_tps), rank=6),
    Column("stalls/1000 s", lambda c, _: number(c.stall_seconds_per_1000), rank=5),
    Column("p95 ms", lambda c, _: number(c.p95_ms), rank=3),
    Column("errors/s", lambda c, _: number(c.errors_per_s), rank=7),
    Column("trials", lambda c, _: trials_of(c), rank=2),
    Column("state", state_of, lambda c, _: str(c.state)),
)
_SHORTER = (frozenset[str](), frozenset({"to baseline", "state"}), frozenset({"to baseline", "state", "tps"}))
"""Which columns show their short cells, step by step; the forest plot tells the ratio's interval too."""


def print_verdict(record: StudyRecord, console: Console) -> None:
    """Print a study's verdict for people; text from servers and files is shown, never obeyed.

    Args:
        record: the study; without a verdict, what there is so far.
        console: where to; its width, colours and encoding are respected.
    """
    page = _Page(console)
    verdict = record.verdict
    style = _STYLES[verdict.verdict] if verdict else "bold yellow"
    page.text(headline(record), style)
    if verdict is None:
        page.text(reason(record))
        return
    page.gap()
    _print_setting(record, page)
    page.text(reason(record))
    page.gap()
    names = naming(record.spec)
    _print_forest(verdict, names, page)
    page.gap()
    _print_table(verdict, names, page)
    page.gap()
    for kind, notes, colour in (("Confound", verdict.confounds, "yellow"), ("Warning", verdict.warnings, "yellow")):
        for note in notes:
            page.labelled(f"{kind}:", visible(note.text), colour)
    page.labelled("Compared:", compared(record))
    page.labelled("How sure:", sureness(verdict))
    page.labelled("Took:", length(verdict))
    page.labelled("Scope:", SCOPE)


class _Page:
    """A console that is given finished text only: no markup, nothing that its encoding lacks."""

    def __init__(self, console: Console) -> None:
        self.console = console
        self.ascii = console.options.ascii_only
        self.width = max(20, console.width)

    def fit(self, text: str) -> str:
        return ascii_only(text) if self.ascii else text

    def text(self, text: str, style: str = "") -> None:
        for line in wrapped(self.fit(text), self.width):
            self.console.print(Text(line, style=style), soft_wrap=True)

    def line(self, parts: Sequence[tuple[str, str]]) -> None:
        line = Text.assemble(*((self.fit(text), style) for text, style in parts))
        line.rstrip()
        self.console.print(line, no_wrap=True, overflow="ellipsis" if not self.ascii else "crop", crop=True)

    def labelled(self, label: str, text: str, style: str = "") -> None:
        first, *rest = wrapped(f"{label} {self.fit(text)}", self.width)
        self.console.print(Text.assemble((label, style or "dim"), first[len(label) :]), soft_wrap=True)
        for line in rest:
            self.console.print(Text(line), soft_wrap=True)

    def gap(self) -> None:
        self.console.print()


def _print_setting(record: StudyRecord, page: _Page) -> None:
    changed = changes(record)
    if not changed:
        page.labelled("Set:", no_change(record))
        return
    page.text("Set, under [mysqld] in my.cnf:", "dim")
    for item in changed:
        if item.line is not None:
            page.console.print(Text(f"    {page.fit(item.line)}", style="bold"), soft_wrap=True)
        elif item.value is None:
            page.text(f"    remove the line that sets {visible(item.name)}")
        else:
            page.text(f"    {visible(item.name)} cannot be written as a line: {item.refusal}")


def _labels(verdict: Verdict, names: Naming, width: int) -> list[str]:
    return [shorten(names.labels[candidate.name], width) for candidate in verdict.candidates]


def _print_forest(verdict: Verdict, names: Naming, page: _Page) -> None:
    figures = [ratio_of(candidate, verdict) for candidate in verdict.candidates]
    if page.width < 72:
        figures = [figure.partition(" (")[0] for figure in figures]
    right = max(map(len, figures))
    labels = _labels(verdict, names, max(8, page.width // 3))
    left = max(map(cell_len, labels))
    room = page.width - left - right - 2 * _GAP
    if room < forest.SMALLEST:
        return
    by = f", by {names.subject}" if names.subject else ""
    page.text(f"Throughput against the baseline{by} (shaded: too small to matter)", "dim")
    *lines, axis = forest.rows(verdict, min(room, 80), forest.ASCII if page.ascii else forest.UNICODE)
    for candidate, label, plot, figure in zip(verdict.candidates, labels, lines, figures, strict=True):
        style = "bold" if candidate.name == verdict.recommended_candidate else ""
        gap = " " * (left - cell_len(label) + _GAP)
        page.line([(label + gap, style), (plot, style or "default"), (" " * _GAP, ""), (figure, style)])
    page.line([(" " * (left + _GAP), ""), (axis, "dim")])


def _print_table(verdict: Verdict, names: Naming, page: _Page) -> None:
    cells, dropped = _fitting(verdict, names, page.width)
    left = {0} | {index for index, column in enumerate(cells) if column[0] == "state"}
    widths = [max(map(cell_len, column)) for column in cells]
    for row in range(len(verdict.candidates) + 1):
        padded = [
            _pad(column[row], width, left=index in left)
            for index, (column, width) in enumerate(zip(cells, widths, strict=True))
        ]
        page.line([((" " * _GAP).join(padded), _row_style(verdict, row))])
    if dropped:
        page.text(f"Left out at this width: {', '.join(dropped)}.", "dim")


def _row_style(verdict: Verdict, row: int) -> str:
    if row == 0:
        return "dim"
    return "bold" if verdict.candidates[row - 1].name == verdict.recommended_candidate else ""


def _pad(cell: str, width: int, *, left: bool) -> str:
    space = " " * (width - cell_len(cell))
    return cell + space if left else space + cell


def _fitting(verdict: Verdict, names: Naming, width: int) -> tuple[list[list[str]], list[str]]:
    """Return the columns that fit, each a list of cells with its title first, and the titles of those left out.

    Names are shortened first, then cells, and only then columns are dropped.
    """
    longest = max(map(len, _labels(verdict, names, width)))
    narrow = min(longest, max(10, width // 3))
    steps = [(longest, _SHORTER[0]), *((narrow, shorter) for shorter in _SHORTER)]
    by_rank = sorted((column.rank for column in _COLUMNS if column.rank), reverse=True)
    tries = [(name, shorter, by_rank[0] + 1) for name, shorter in steps]
    tries += [(narrow, _SHORTER[-1], rank) for rank in by_rank]
    for name_width, shorter, limit in tries:
        kept = [column for column in _COLUMNS if column.rank < limit]
        cells = [["candidate", *_labels(verdict, names, name_width)]]
        cells += [[column.title, *_cells(column, verdict, short=column.title in shorter)] for column in kept]
        if sum(max(map(cell_len, column)) for column in cells) + _GAP * (len(cells) - 1) <= width:
            break
    return cells, [column.title for column in _COLUMNS if column not in kept]


def _cells(column: Column, verdict: Verdict, *, short: bool) -> list[str]:
    cell = column.short if short and column.short is not None else column.cell
    return [cell(candidate, verdict) for candidate in verdict.candidates]
