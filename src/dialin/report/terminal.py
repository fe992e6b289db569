"""The verdict in the terminal: the sentence, what to set, the forest plot, the table, and what was not shown."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from operator import attrgetter

from rich.cells import cell_len
from rich.console import Console

from dialin.apply import sql_file
from dialin.apply.option_file import changes
from dialin.model.measure import capital, measure_of
from dialin.model.record import StudyRecord
from dialin.model.verdict import CandidateVerdict, Verdict
from dialin.model.why import Why
from dialin.report import forest, verdict_sentences
from dialin.report.figure_columns import Figure, FigureColumn, columns
from dialin.report.style import headline_style
from dialin.report.terminal_page import Page
from dialin.report.terminal_why import print_strongest
from dialin.report.trade_off import trade_off
from dialin.report.verdict_sentences import Naming
from dialin.text import shorten, visible

_GAP = 2
_INDENT = "    "
_IN_PLOT = 72
"""Columns of terminal from which on the forest plot tells intervals in figures."""

_INTERVALS = 5
"""Columns up to this rank are worth their intervals, before those above it are worth a place."""

_Form = Callable[[Figure], str]
_full: _Form = attrgetter("full")
_compact: _Form = attrgetter("compact")
_bare: _Form = attrgetter("text")


@dataclass(frozen=True, slots=True)
class _Try:
    """One way to fit the table into the terminal.

    Attributes:
        form: of all cells but those named below.
        ratio: of the ratio that decides, whose interval the forest plot tells too; None leaves it to the plot.
        tps: of throughput, whose interval says least.
        brief_state: the state alone, without what else is to be known of a candidate.
        narrow: names are shortened.
        limit: columns of this rank and above are left out.
    """

    form: _Form
    ratio: _Form | None
    tps: _Form
    brief_state: bool
    narrow: bool
    limit: int


def print_verdict(record: StudyRecord, console: Console, why: Why | None = None) -> None:
    """Print a study's verdict for people; text from servers and files is shown, never obeyed."""
    page = Page(console)
    verdict = record.verdict
    page.text(verdict_sentences.headline(record), headline_style(verdict))
    page.text(verdict_sentences.reason(record))
    if verdict is None:
        return
    if fresh := verdict_sentences.confirmation(verdict):
        page.text(fresh)
    page.gap()
    _print_setting(record, page)
    page.gap()
    names = verdict_sentences.naming(record.spec)
    in_plot = _print_forest(verdict, names, page)
    page.gap()
    _print_table(verdict, names, page, in_plot=in_plot)
    page.gap()
    print_strongest(record, why, page)
    if choice := trade_off(verdict, names.labels):
        page.fact("Trade-off:", choice)
    if gone := verdict_sentences.left(verdict, names.labels):
        page.fact("Left the race:", f"{gone}.")
    for kind, notes in (("Confound:", verdict.confounds), ("Warning:", verdict.warnings)):
        for note in notes:
            page.fact(kind, visible(note.text), "yellow")
    if files := sql_file.files_sentence(record):
        page.fact("Apply:", files)
    page.fact("Goal:", verdict_sentences.goal(record))
    page.fact("Compared:", verdict_sentences.compared(record))
    page.fact("How sure:", verdict_sentences.sureness(verdict))
    page.fact("Took:", verdict_sentences.length(verdict))
    page.fact("Scope:", verdict_sentences.SCOPE)


def _print_setting(record: StudyRecord, page: Page) -> None:
    changed = changes(record)
    if not changed:
        page.fact("Set:", verdict_sentences.no_change(record))
        return
    page.text("Set, under [mysqld] in my.cnf:", "dim")
    for item in changed:
        if item.line is not None:
            page.copyable(f"{_INDENT}{item.line}")
        elif item.value is None:
            page.text(f"remove the line that sets {visible(item.name)}", indent=_INDENT)
        else:
            page.text(f"{visible(item.name)} cannot be written as a line: {visible(item.refusal)}", indent=_INDENT)


def _labels(verdict: Verdict, names: Naming, width: int) -> list[str]:
    return [shorten(names.labels[candidate.name], width) for candidate in verdict.candidates]


def _print_forest(verdict: Verdict, names: Naming, page: Page) -> bool:
    figures = [verdict_sentences.deciding_of(candidate, verdict) for candidate in verdict.candidates]
    if page.width < _IN_PLOT:
        figures = [figure.partition(" (")[0] for figure in figures]
    right = max(map(len, figures))
    labels = _labels(verdict, names, max(8, page.width // 3))
    left = max(map(cell_len, labels))
    room = page.width - left - right - 2 * _GAP
    if room < forest.SMALLEST:
        return False
    page.text(_forest_title(verdict, names), "dim")
    *lines, axis = forest.rows(verdict, min(room, 80), forest.ASCII if page.is_ascii else forest.UNICODE)
    for candidate, label, plot, figure in zip(verdict.candidates, labels, lines, figures, strict=True):
        style = _style(candidate, verdict)
        gap = " " * (left - cell_len(label) + _GAP)
        page.line([(label + gap, style), (plot, style or "default"), (" " * _GAP, ""), (figure, style)])
    page.line([(" " * (left + _GAP), ""), (axis, "dim")])
    return page.width >= _IN_PLOT


def _forest_title(verdict: Verdict, names: Naming) -> str:
    aim = measure_of(verdict)
    by = f", by {names.subject}" if names.subject else ""
    lower = "" if aim.higher_is_better else f"{aim.direction}; "
    return f"{capital(aim.noun)} against the baseline{by} ({lower}shaded: too small to matter)"


def _print_table(verdict: Verdict, names: Naming, page: Page, *, in_plot: bool) -> None:
    cells, dropped = _fitting(verdict, names, page.width, in_plot=in_plot)
    last = len(cells) - 1
    widths = [max(map(cell_len, column)) for column in cells]
    for row in range(len(verdict.candidates) + 1):
        padded = [
            _pad(column[row], width, left=index in (0, last))
            for index, (column, width) in enumerate(zip(cells, widths, strict=True))
        ]
        style = "dim" if row == 0 else _style(verdict.candidates[row - 1], verdict)
        page.line([((" " * _GAP).join(padded), style)])
    if dropped:
        page.text(f"Left out at this width: {', '.join(dropped)}.", "dim")


def _style(candidate: CandidateVerdict, verdict: Verdict) -> str:
    if candidate.name == verdict.recommended_candidate:
        return "bold"
    return "dim" if candidate.left_after is not None else ""


def _pad(cell: str, width: int, *, left: bool) -> str:
    space = " " * (width - cell_len(cell))
    return cell + space if left else space + cell


def _tries(ranks: Sequence[int], *, in_plot: bool) -> Iterator[_Try]:
    """Yield the ways to fit a table, the best first: intervals are kept before the columns that say least, and names whole."""
    everything = ranks[0] + 1
    yield _Try(_full, _full, _full, brief_state=False, narrow=False, limit=everything)
    yield _Try(_full, _bare, _full, brief_state=True, narrow=False, limit=everything)
    yield _Try(_compact, _bare, _compact, brief_state=True, narrow=False, limit=everything)
    if in_plot:
        for narrow in (False, True):
            for limit in [everything, *(rank for rank in ranks if rank > _INTERVALS)]:
                yield _Try(_compact, _bare, _bare, brief_state=True, narrow=narrow, limit=limit)
                yield _Try(_compact, None, _bare, brief_state=True, narrow=narrow, limit=limit)
    yield from (_Try(_bare, _bare, _bare, brief_state=True, narrow=True, limit=limit) for limit in (everything, *ranks))


def _fitting(verdict: Verdict, names: Naming, width: int, *, in_plot: bool) -> tuple[list[list[str]], list[str]]:
    """Return the columns that fit, each a list of cells with its title first, and the titles of those left out."""
    every = columns(verdict)
    longest = max(map(len, _labels(verdict, names, width)))
    narrow = min(longest, max(10, width // 3))
    for attempt in _tries(sorted((column.rank for column in every if column.rank), reverse=True), in_plot=in_plot):
        head = "value" if names.subject else "candidate"
        cells = [[head, *_labels(verdict, names, narrow if attempt.narrow else longest)]]
        cells += [_cells(column, verdict, attempt) for column in every if _is_shown(column, attempt)]
        cells.append(["state", *(_state(candidate, verdict, attempt) for candidate in verdict.candidates)])
        if sum(max(map(cell_len, column)) for column in cells) + _GAP * (len(cells) - 1) <= width:
            break
    return cells, [column.title for column in every if not _is_shown(column, attempt) and not column.decides]


def _is_shown(column: FigureColumn, attempt: _Try) -> bool:
    return attempt.ratio is not None if column.decides else column.rank < attempt.limit


def _cells(column: FigureColumn, verdict: Verdict, attempt: _Try) -> list[str]:
    form = attempt.ratio if column.decides else attempt.tps if column.is_throughput else attempt.form
    return [column.title, *((form or _bare)(column.of(candidate)) for candidate in verdict.candidates)]


def _state(candidate: CandidateVerdict, verdict: Verdict, attempt: _Try) -> str:
    return str(candidate.state) if attempt.brief_state else verdict_sentences.state_of(candidate, verdict)
