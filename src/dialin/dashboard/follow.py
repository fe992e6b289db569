"""Reads from a study's store what is new; all viewers are served by one reader."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from dialin.dashboard.study_state import State, session_state
from dialin.errors import UserError
from dialin.evidence.proof_view import proof_view
from dialin.evidence.server_metrics import READINGS
from dialin.evidence.why_verdict import explain
from dialin.model.progress import Progress
from dialin.model.study import StudySpec
from dialin.model.trial import Sample, Trial, TrialState, seconds_of
from dialin.model.verdict import Verdict
from dialin.report.board import Board
from dialin.report.render.html import Body, body
from dialin.sentences.log_sentences import log_text
from dialin.store import STUDY_FILE, lock, read_only, requests
from dialin.store.lock import Holder
from dialin.store.store import Store

SECONDS_SHOWN = 300
"""Samples of the running trial that its chart shows."""

_LINES_SHOWN = 50

Key = tuple[object, ...]
"""What the report of a study depends on: while it is the same, so is the report."""


@dataclass(frozen=True, slots=True)
class WorkloadRow:
    """How a workload of a suite stands.

    Attributes:
        figure: the measure under the baseline; `change` is that of the candidate that differs most.
        is_over: whether it gets no further trials.
    """

    name: str
    trials: int
    failed: int
    figure: str
    change: str
    is_over: bool
    runs: bool


@dataclass(frozen=True, slots=True)
class SuiteProgress:
    """How far a suite has come, whose running study a snapshot shows.

    Attributes:
        workload: the one that runs, or ran last; empty before the first.
        minutes: its budget, of which its trials used `seconds`.
        is_answered: whether it ended with an answer to what it asks.
    """

    workload: str
    rows: Sequence[WorkloadRow]
    minutes: float
    seconds: float
    is_answered: bool


@dataclass(frozen=True, slots=True)
class Snapshot:
    """A study at one instant, or a suite with the study of it that runs or ran last.

    Attributes:
        board: its figures, with the newest seconds of the trial that runs or ran last.
        stops: whether it was asked to stop after its block.
        key: what its report depends on; empty where there is nothing to report yet.
        seconds: wall clock of its trials that have ended.
    """

    state: State
    board: Board
    progress: Progress | None = None
    stops: bool = False
    key: Key = ()
    seconds: float = 0.0
    suite: SuiteProgress | None = None


@dataclass(slots=True)
class _Known:
    signature: object = None
    spec: StudySpec | None = None
    progress: Progress | None = None
    verdict: Verdict | None = None
    ran: Trial | None = None
    ended: int = -1
    taken: float = 0.0
    line: int = 0
    seconds: deque[Sample] = field(default_factory=lambda: deque(maxlen=SECONDS_SHOWN))
    lines: deque[tuple[float, str]] = field(default_factory=lambda: deque(maxlen=_LINES_SHOWN))


class Follower:
    """Follows one study, which need not exist yet. Its methods are called from one thread at a time; `report` from any."""

    def __init__(self, directory: Path, holder: Callable[[Path], Holder | None] = lock.holder) -> None:
        self.directory = directory
        self._holder = holder
        self._known = _Known()
        self._changes = 0  # `forget` does not reset it, so that an older report is never taken for the current one

    def holder(self) -> Holder | None:
        """Return the process that runs the study; None where none does, it only checks the study, or that cannot be read."""
        try:
            holder = self._holder(self.directory)
        except OSError:
            return None
        return None if holder is None or holder.only_checks else holder

    def look(self) -> Snapshot:
        """Return the current state of the study; if nothing was written since the last look, hardly anything is read."""
        held, known = self.holder() is not None, self._known  # before the store: a process stores its end, then unlocks
        if not (self.directory / STUDY_FILE).is_file():
            return Snapshot(State.READYING, Board())
        signature = read_only.signature(self.directory)
        if signature != known.signature:
            try:
                read_only.read(self.directory, self._read)
            except UserError:
                if held and known.spec is None:
                    return Snapshot(State.READYING, Board())  # the study is being created
                raise
            known.signature = signature
        state = session_state(known.progress, known.verdict, held=held)
        if state is State.DEAD and self.holder() is not None:
            state = State.READYING  # a process resumed it between the two checks
        return Snapshot(
            state,
            self._board(state),
            known.progress,
            requests.is_asked_to_stop(self.directory),
            (self._changes, state is State.RUNNING),
            known.taken,
        )

    def report(self) -> Body:
        """Return the current report of the study. This takes longer than `look`, and does not change what `look` uses.

        The readings of probes over time are large, so they are read only when no process runs the study.
        """
        readings = READINGS if self.holder() is None else ()
        record = proof_view(read_only.read(self.directory, lambda store: store.read(readings=readings)))
        return body(record, explain(record))

    def forget(self) -> None:
        """Forget what was read, so that the next look reads everything again."""
        self._known = _Known()

    def _read(self, source: Store) -> None:
        known, progress = self._known, source.progress()
        if progress is None or progress != known.progress:  # new seconds or lines alone do not change these
            known.spec, known.progress = source.spec, progress
            self._read_trials(source.trials(), source.verdict())
        newest = known.ran
        if newest is not None:
            known.seconds.extend(source.samples_of(newest.id, known.seconds[-1].second if known.seconds else 0))
        for number, line in source.log_after(known.line):
            known.line = number
            known.lines.append((line.at, log_text(line)))

    def _read_trials(self, trials: Sequence[Trial], verdict: Verdict | None) -> None:
        known = self._known
        ended = sum(trial.state is not TrialState.RUNNING for trial in trials)
        self._changes += (ended, verdict) != (known.ended, known.verdict)
        known.ended, known.verdict, known.taken = ended, verdict, seconds_of(trials)
        newest = trials[-1] if trials else None
        if newest is not None and (known.ran is None or known.ran.id != newest.id):
            known.seconds.clear()
        known.ran = newest

    def _board(self, state: State) -> Board:
        known, progress = self._known, self._known.progress
        board = Board(spec=known.spec, seconds=known.seconds, lines=known.lines, verdict=known.verdict)
        if progress is not None:
            board.blocks, board.began, board.ends = progress.blocks, progress.began, progress.ends or 0.0
            board.step, board.step_began, board.standings = progress.step, progress.step_began, progress.standings
            board.hosts = dict(progress.hosts)
        if state in (State.RUNNING, State.DEAD) and known.ran is not None and known.ran.state is TrialState.RUNNING:
            board.trial = known.ran
            if host_progress := board.hosts.get(known.ran.host):
                board.step, board.step_began = host_progress.step, host_progress.since
        return board


def check(directory: Path) -> None:
    """Raise UserError where there is no study to follow, or it cannot be read."""
    if not directory.is_dir():
        raise UserError(f"There is no directory {directory}", "Name the directory that a study was written to (its --out)")
    read_only.read(directory, lambda study: study.spec)
