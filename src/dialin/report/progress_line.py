"""The progress of a study as one line of a terminal, written again and again. Elsewhere `plain_lines` reports it."""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence
from types import TracebackType
from typing import Self

from rich.console import Console, ConsoleOptions, RenderResult
from rich.live import Live
from rich.text import Text

from dialin.clock import Clock
from dialin.measures.table import measure_of_study
from dialin.model.progress import Standing
from dialin.model.study import Goal, StudySpec
from dialin.model.trial import Sample, Step, Trial
from dialin.model.verdict import Verdict
from dialin.report.board import Board, newest_figures, sparkline
from dialin.sentences.names import naming
from dialin.text import about, ascii_only, change, counted, visible

_PER_SECOND = 4
_BARS = 20
"""Seconds of throughput that are drawn."""


class ProgressLine:
    """A watcher that keeps one line up to date, at the terminal's current width, and takes it away at the end.

    Use it as a context manager: `with ProgressLine(console, clock) as watcher: ...`.
    """

    def __init__(self, console: Console, clock: Clock) -> None:
        self._board = Board()
        self._clock = clock
        self._lock = threading.Lock()
        self._live = Live(self, console=console, transient=True, auto_refresh=True, refresh_per_second=_PER_SECOND)

    def __enter__(self) -> Self:
        self._live.start(refresh=True)
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self._live.stop()

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        with self._lock:
            yield draw(self._board, self._clock.now(), options.max_width, plain=options.ascii_only)

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
        """Print a message above the line, where it stays."""
        self._live.console.print(Text(visible(text)))  # not under the lock, which the thread that draws takes, too

    def trial_began(self, trial: Trial, seconds_left: float) -> None:
        with self._lock:
            self._board.begin_trial(trial, seconds_left, self._clock.now())

    def step_began(self, trial: Trial, step: Step) -> None:
        with self._lock:
            now = self._clock.now()
            self._board.note_host(trial.host, lambda one: one.at_step(step, now))
            if self._board.trial is None or self._board.trial.id == trial.id:
                self._board.trial = trial
                self._board.begin_step(step, now)

    def sampled(self, trial: Trial, sample: Sample) -> None:
        """Show a sample if it belongs to the trial that is shown."""
        with self._lock:
            if self._board.trial is None or self._board.trial.id == trial.id:
                self._board.seconds.append(sample)

    def trial_ended(self, trial: Trial, standings: Mapping[str, Standing]) -> None:
        with self._lock:
            self._board.end_trial(trial, standings, self._clock.now())

    def study_ended(self, verdict: Verdict) -> None:
        """Show nothing: the verdict follows on standard output."""


def draw(board: Board, now: float, width: int, *, plain: bool = False) -> Text:
    """Return the line, at most `width` columns wide: the time left, the candidate that leads, and what runs."""
    line = Text(" · ".join(_parts(board, now, plain=plain)), no_wrap=True)
    if plain:
        line.plain = ascii_only(line.plain)
    line.truncate(max(1, width), overflow="crop" if plain else "ellipsis")
    return line


def _parts(board: Board, now: float, *, plain: bool) -> list[str]:
    if board.spec is None:
        return ["preparing"]
    left = f"{board.block_progress()}, about {about(board.seconds_left(now))} left"
    return [left, *_leader(board, board.spec), *_hosts(board), *_running(board, board.spec, now, plain=plain)]


def _leader(board: Board, spec: StudySpec) -> list[str]:
    """Return which candidate has the best figure so far, if the baseline has one, too."""
    measure, names = measure_of_study(spec), naming(spec).labels

    def rank(name: str) -> float:
        standing = board.standing(name)
        return -(standing.tps or 0.0) if spec.goal is Goal.THROUGHPUT else standing.figure or 0.0

    standings = {name: board.standing(name) for name in spec.names}
    ranked = sorted((name for name, one in standings.items() if one.ratio is not None and not one.out), key=rank)
    if len(ranked) < 2 or spec.baseline not in ranked:
        return []
    if (best := ranked[0]) == spec.baseline:
        return [f"{names[best]}, the baseline, leads"]
    of_goal = "" if spec.goal is Goal.THROUGHPUT else f" {measure.name}"
    return [f"{names[best]} leads, {change(board.standing(best).ratio)}{of_goal}"]


def _hosts(board: Board) -> list[str]:
    count, behind = len(board.hosts), len(board.hosts_behind())
    return [f"{counted(count, 'host')}{f', {behind} behind' if behind else ''}"] if count > 1 else []


def _running(board: Board, spec: StudySpec, now: float, *, plain: bool) -> list[str]:
    """Return the running trial's candidate and step, its newest second, and the last seconds as bars."""
    if board.trial is None:
        return []
    _, name, activity = board.trial_progress(now)
    running = f"{naming(spec).labels.get(board.trial.candidate, name)}: {activity}"
    if not board.seconds:
        return [running]
    bars = sparkline([sample.tps for sample in board.seconds][-_BARS:], ascii_bars=plain)
    return [running, f"{bars} {', '.join(newest_figures(board.seconds, spec.workload))}"]
