"""Follows a suite: each of its studies as a single one is followed, and shows the one that runs."""

from __future__ import annotations

import heapq
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from dialin.dashboard.follow import Follower, Snapshot, SuiteProgress, WorkloadRow
from dialin.dashboard.study_state import State
from dialin.measures.table import measure_of_study
from dialin.model.study import Goal, StudySpec
from dialin.model.suite import Suite, SuiteMember, SuitePlan
from dialin.report.board import Board
from dialin.report.render.html import Body
from dialin.report.render.suite_files import suite_body
from dialin.sentences.names import naming
from dialin.store import STUDY_FILE, SUITE_FILE, lock, requests
from dialin.store.lock import Holder
from dialin.text import NOTHING, change

_LINES = 50
"""Lines of the log that a page shows."""

_ENDED = (State.FINISHED, State.FAILED)


class SuiteFollower(Follower):
    """Follows one suite. Its methods are called from one thread at a time; `report` from any.

    `read` returns the suite as its file has it, `join` with its result so far.
    """

    def __init__(
        self,
        directory: Path,
        read: Callable[[Path], Suite],
        join: Callable[[], Suite],
        holder: Callable[[Path], Holder | None] = lock.holder,
    ) -> None:
        super().__init__(directory, holder)
        self._read_suite, self._join = read, join
        self._suite: Suite | None = None
        self._written: object = None
        self._studies: dict[str, Follower] = {}
        self._running = ""

    def check(self) -> None:
        """Raise UserError where the file of the suite cannot be read; what was read is used by the next look."""
        self._read_if_written()

    def look(self) -> Snapshot:
        """Return the current state of the suite; of studies to which nothing was written, hardly anything is read."""
        held, suite = self.holder() is not None, self._read_if_written()
        plan = suite.plan
        followed = {
            one.name: self._studies.setdefault(one.name, Follower(self.directory / one.directory, self._holder))
            for one in plan.members
        }
        looks = {name: one.look() for name, one in followed.items() if (one.directory / STUDY_FILE).is_file()}
        running = next((name for name, one in looks.items() if one.board.trial is not None), self._running)
        self._running = running if running in looks else next(iter(looks), "")
        state = _state(plan, looks, held=held)
        shown = looks.get(self._running, Snapshot(state, Board()))
        lines = heapq.merge(*([(at, f"{name}: {text}") for at, text in one.board.lines] for name, one in looks.items()))
        board = replace(shown.board, lines=deque(lines, maxlen=_LINES))
        return Snapshot(
            state,
            board,
            shown.progress,
            requests.is_asked_to_stop(self.directory),
            (state is State.RUNNING, *(one.key for one in looks.values())) if looks else (),
            suite=SuiteProgress(
                workload=self._running,
                rows=[_row(member, looks.get(member.name), runs=member.name == running) for member in plan.members],
                minutes=plan.minutes,
                seconds=sum(one.seconds for one in looks.values()),
                is_answered=suite.result is not None and suite.result.is_answered,
            ),
        )

    def report(self) -> Body:
        """Return the current report of the suite, with what explains each study."""
        return suite_body(self._join())

    def forget(self) -> None:
        """Forget what was read, so that the next look reads everything again."""
        for study in self._studies.values():
            study.forget()
        self._written = None

    def _read_if_written(self) -> Suite:
        written = (self.directory / SUITE_FILE).stat().st_mtime_ns
        if self._suite is None or written != self._written:
            self._suite, self._written = self._read_suite(self.directory), written
        return self._suite


def _state(plan: SuitePlan, looks: Mapping[str, Snapshot], *, held: bool) -> State:
    states = {one.state for one in looks.values()}
    is_over = len(looks) == len(plan.members) and states <= set(_ENDED)
    if held:  # once it is over its reports are written
        return State.RUNNING if is_over or State.RUNNING in states else State.READYING
    if is_over:
        return State.FINISHED
    return next((one for one in (State.DEAD, State.STOPPED, State.FAILED) if one in states), State.RESTING)


def _row(member: SuiteMember, look: Snapshot | None, *, runs: bool) -> WorkloadRow:
    if look is None or look.board.spec is None:
        return WorkloadRow(member.name, 0, 0, NOTHING, NOTHING, is_over=False, runs=False)
    spec, board = look.board.spec, look.board
    standings = [board.standing(name) for name in spec.names]
    base = board.standing(spec.baseline)
    figure = measure_of_study(spec).show(base.tps if spec.goal is Goal.THROUGHPUT else base.figure)
    return WorkloadRow(
        name=member.name,
        trials=sum(one.trials for one in standings),
        failed=sum(one.failed for one in standings),
        figure=figure,
        change=_largest_change(spec, board),
        is_over=look.state in _ENDED,
        runs=runs,
    )


def _largest_change(spec: StudySpec, board: Board) -> str:
    """Return the change of the candidate that differs most from the baseline, with its name where there are several."""
    ratios = {name: board.standing(name).ratio for name in spec.names if name != spec.baseline}
    known: Sequence[tuple[str, float]] = [(name, ratio) for name, ratio in ratios.items() if ratio is not None]
    if not known:
        return NOTHING
    name, ratio = max(known, key=lambda one: abs(one[1] - 1))
    return change(ratio) if len(ratios) == 1 else f"{change(ratio)} ({naming(spec).labels[name]})"
