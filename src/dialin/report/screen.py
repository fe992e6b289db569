"""The live screen of a running study. Where there is no terminal, `plain_lines` reports the progress instead."""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence
from types import TracebackType
from typing import NamedTuple, Self

from rich.cells import cell_len
from rich.console import Console, ConsoleOptions, Group, RenderResult
from rich.live import Live
from rich.text import Text

from dialin.clock import Clock
from dialin.measures.table import measure_of_study
from dialin.model.progress import Standing
from dialin.model.study import Goal, StudySpec
from dialin.model.trial import Sample, Step, Trial
from dialin.model.verdict import Verdict
from dialin.report.board import Board, newest_figures, sparkline, study_title
from dialin.sentences.load_units import units
from dialin.sentences.names import naming
from dialin.text import about, ascii_only, change, counted, distinct, duration, number, stopwatch, visible

_PER_SECOND = 4
_LOG_LINES = 5
_LOW = 12
"""Terminal rows below which the running trial comes before the table, and the load and the log are left out."""


class _Column(NamedTuple):
    title: str
    width: int
    least: int  # the column is left out of a terminal with fewer columns than this


_TPS = "tps"
_FIGURE = "figure"
_COLUMNS = (_Column("trials", 8, 44), _Column("failed", 8, 56), _Column(_TPS, 10, 34), _Column("to baseline", 13, 0))
_BY_FIGURE = (_Column("trials", 8, 54), _Column("failed", 8, 66), _Column(_TPS, 10, 44), _Column(_FIGURE, 10, 34), _COLUMNS[-1])
"""The columns where the goal is not throughput. The last one shows the change of the goal's figure."""
_OUT = _Column("race", 7, 40)
"""The column that is added once some candidate gets no further trials."""


class LiveScreen:
    """A watcher that redraws the whole terminal a few times per second, at the terminal's current size.

    It uses the terminal's alternate screen, so that nothing is left of it at the end and resizing leaves no debris. Use it as
    a context manager: `with LiveScreen(console, clock) as watcher: ...`.
    """

    def __init__(self, console: Console, clock: Clock, notice: str = "") -> None:
        self._board = Board(notice=notice)
        self._clock = clock
        self._lock = threading.Lock()
        self._live = Live(self, console=console, screen=True, auto_refresh=True, refresh_per_second=_PER_SECOND)

    def __enter__(self) -> Self:
        self._live.start(refresh=True)
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self._live.stop()

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        with self._lock:
            lines = draw(
                self._board, self._clock.now(), options.max_width, options.height or console.height, plain=options.ascii_only
            )
        yield Group(*lines)

    def study_began(self, spec: StudySpec, blocks_planned: int, seconds_planned: float) -> None:
        with self._lock:
            self._board.begin(spec, blocks_planned, seconds_planned, self._clock.now())

    def hosts_changed(self, hosts: Sequence[str]) -> None:
        with self._lock:
            self._board.name_hosts(hosts, self._clock.now())

    def candidates_entered(self, spec: StudySpec) -> None:
        with self._lock:
            self._board.spec = spec

    def message(self, text: str) -> None:
        with self._lock:
            self._board.lines.append((self._clock.now(), text))

    def trial_began(self, trial: Trial, seconds_left: float) -> None:
        with self._lock:
            self._board.begin_trial(trial, seconds_left, self._clock.now())

    def step_began(self, trial: Trial, step: Step) -> None:
        with self._lock:
            now = self._clock.now()
            self._board.note_host(trial.host, now, step=step)
            if self._board.trial is None or self._board.trial.id == trial.id:
                self._board.trial = trial
                self._board.begin_step(step, now)

    def sampled(self, trial: Trial, sample: Sample) -> None:
        """Add a sample to the sparkline if it belongs to the trial that is shown."""
        with self._lock:
            if self._board.trial is None or self._board.trial.id == trial.id:
                self._board.seconds.append(sample)

    def trial_ended(self, trial: Trial, standings: Mapping[str, Standing]) -> None:
        with self._lock:
            self._board.end_trial(trial, standings, self._clock.now())

    def study_ended(self, verdict: Verdict) -> None:
        with self._lock:
            self._board.verdict = verdict


def draw(board: Board, now: float, width: int, height: int, *, plain: bool = False) -> list[Text]:
    """Return the screen's lines: at most `height`, each at most `width` columns wide."""
    if board.spec is None:
        top = [Text("dialin: preparing", style="bold"), *_notice(board, width)]
        return _fitted([*top, *_log(board, max(1, height - len(top)))], width, height, plain=plain)
    top = [*_head(board, board.spec, now, width), *_notice(board, width)]
    running = _running(board, board.spec, now, width, plain=plain)
    if height < _LOW:
        title, _, *state = top
        lines = [title, *state, *running]
        left = height - len(lines)
        return _fitted([*lines, *(_table(board, board.spec, width, left - 1) if left > 1 else [])], width, height, plain=plain)
    log = _log(board, min(_LOG_LINES, max(1, height - len(top) - len(running) - 8)))
    room = height - len(top) - len(running) - len(log) - 3
    table = _table(board, board.spec, width, max(1, room - 1))
    blank = [Text("")]
    return _fitted([*top, *blank, *table, *blank, *running, *blank, *log], width, height, plain=plain)


def _fitted(lines: list[Text], width: int, height: int, *, plain: bool) -> list[Text]:
    fitted = []
    for line in lines[:height]:
        if plain:
            line.plain = ascii_only(line.plain)
        line.truncate(max(1, width), overflow="crop" if plain else "ellipsis")
        line.no_wrap = True
        fitted.append(line)
    return fitted


def _head(board: Board, spec: StudySpec, now: float, width: int) -> list[Text]:
    title = Text(f"dialin  {study_title(spec)}", style="bold")
    load = Text(visible(spec.workload.describe()), style="dim")
    if board.verdict is not None:
        return [title, load, Text(visible(board.verdict.headline), style="bold")]
    left = f"about {about(board.seconds_left(now))} left"
    words = f"{board.block_progress()}, {left}, {duration(now - board.began)} so far  "
    cells = max(0, min(40, width - len(words)))
    filled = round(cells * board.share_done(now))
    bar = [("━" * filled, "cyan"), ("─" * (cells - filled), "dim")] if cells >= 8 else []
    return [title, load, Text.assemble(words, *bar)]


def _notice(board: Board, width: int) -> list[Text]:
    """Return the notice in lines of the terminal's width, because a link that is cut off cannot be opened."""
    text = visible(board.notice)
    return [Text(text[begin : begin + width], style="dim") for begin in range(0, len(text), max(1, width))]


def _table(board: Board, spec: StudySpec, width: int, rows: int) -> list[Text]:
    names = naming(spec)
    any_is_out = any(standing.out for standing in board.standings.values())
    measure, of_goal = measure_of_study(spec), _COLUMNS if spec.goal is Goal.THROUGHPUT else _BY_FIGURE
    columns = [column for column in (*of_goal, *([_OUT] if any_is_out else [])) if width >= column.least]
    room = max(9, width - sum(column.width for column in columns))
    unit = units(spec.workload)
    header = names.subject or "candidate"
    header = header if len(header) <= room else "value"
    left = min(room, max(cell_len(header), *map(len, names.labels.values())))
    titles = {_TPS: unit.title, _FIGURE: measure.title}
    lines = [_row(header, [(titles.get(column.title, column.title), column.width) for column in columns], left, "dim")]
    shown = _candidates_shown(board, spec, rows)
    labels = dict(zip(names.labels, distinct(list(names.labels.values()), left), strict=True))
    for candidate in spec.candidates:
        if candidate.name not in shown:
            continue
        standing = board.standing(candidate.name)
        is_base = candidate.name == spec.baseline
        is_running = board.trial is not None and board.trial.candidate == candidate.name
        cells = {
            "trials": str(standing.trials),
            "failed": str(standing.failed) if standing.failed else "",
            _TPS: number(standing.tps),
            _FIGURE: measure.show(standing.figure),
            "to baseline": "baseline" if is_base else change(standing.ratio),
            "race": "out" if standing.out else "",
        }
        label = labels[candidate.name]
        figures = [(cells[column.title], column.width) for column in columns]
        lines.append(_row(label, figures, left, "bold cyan" if is_running else "dim" if standing.out else ""))
    if len(shown) < len(spec.candidates):
        lines.append(Text(f"and {len(spec.candidates) - len(shown)} more", style="dim"))
    return lines


def _candidates_shown(board: Board, spec: StudySpec, rows: int) -> set[str]:
    """Return the names of all candidates, or as many as fit: the baseline, the running one, then the best in the race."""
    names = spec.names
    if len(names) <= rows:
        return set(names)
    first = [spec.baseline, *([board.trial.candidate] if board.trial else [])]

    def rank(name: str) -> tuple[bool, float]:
        standing = board.standing(name)
        if spec.goal is Goal.THROUGHPUT:
            return standing.out, -(standing.tps or 0.0)
        return standing.out, float("inf") if standing.figure is None else standing.figure

    return set(list(dict.fromkeys([*first, *sorted(names, key=rank)]))[: max(1, rows - 1)])


def _row(label: str, cells: list[tuple[str, int]], left: int, style: str) -> Text:
    figures = "".join(f"{text:>{width}}" for text, width in cells)
    return Text(label + " " * (left - cell_len(label)) + figures, style=style)


def _running(board: Board, spec: StudySpec, now: float, width: int, *, plain: bool) -> list[Text]:
    hosts = [Text(line) for line in board.host_lines(now)]
    if board.trial is None:
        return hosts
    trial, name, activity = board.trial_progress(now)
    head = Text.assemble(f"{trial}: ", (name, "bold"), f", {activity}")
    if not board.seconds:
        return [*hosts, head]
    values = [sample.tps for sample in board.seconds][-max(1, width) :]
    top = f"last {counted(len(values), units(spec.workload).one)}, from 0 to {number(max(values))}"
    spark = Text(sparkline(values, ascii_bars=plain), style="cyan")
    return [*hosts, head, Text(", ".join(newest_figures(board.seconds, spec.workload))), spark, Text(top, style="dim")]


def _log(board: Board, count: int) -> list[Text]:
    newest = list(board.lines)[-count:]
    return [Text.assemble((f"{stopwatch(at - (board.began or at))} ", "dim"), visible(text)) for at, text in newest]
