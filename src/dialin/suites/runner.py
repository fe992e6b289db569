"""Runs the studies of a suite block by block in turn: each is run by the runner of studies, and has a directory of its own."""

from __future__ import annotations

import math
from collections.abc import Callable, Generator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path

from dialin.errors import InterruptedStudyError, OutOfTimeError, ServerError, WorkloadError
from dialin.model.progress import Watcher
from dialin.model.study import Candidate
from dialin.model.suite import Margin, SuiteMember, SuitePlan
from dialin.model.trial import seconds_of
from dialin.model.verdict import Verdict
from dialin.question.plan import profile_trials
from dialin.race.budget import Pace
from dialin.race.lifecycle import begin, resume
from dialin.race.runner import InSuite
from dialin.search.proposer import CONTENDERS, History, Proposer, Room
from dialin.store import read_only, requests
from dialin.suites.check import CheckedMember
from dialin.suites.joint import SuiteStudy, decide_mean, is_decided, is_reached, lacks_guard, margin_by_fit
from dialin.suites.suite_file import judge
from dialin.text import about, counted, duration
from dialin.trials.tools import Tools
from dialin.verdict import comparison
from dialin.verdict.reach_verdict import Judgement


@dataclass(slots=True)
class _Running:
    """A study of the suite that runs.

    Attributes:
        blocks: runs its next block each time.
        seconds: of the budget that it has used.
        has_ended: whether it runs no more blocks.
    """

    checked: CheckedMember
    seconds: float = 0.0
    judgement: Judgement | None = None
    has_ended: bool = False
    blocks: Generator[None, None, Verdict] = field(init=False)


@dataclass(frozen=True, slots=True)
class _Unanswered:
    """Proposes the baseline, and each candidate for which the gate's question is not answered yet."""

    plan: SuitePlan

    def propose(self, history: History, room: Room) -> Sequence[Candidate]:  # noqa: ARG002 - each block is a whole one
        spec = history.spec
        fit = comparison.decide_by(spec, spec.goal, history.trials, history.figures).fit
        return [
            one
            for one in history.in_the_race
            if one.name == spec.baseline or margin_by_fit(self.plan, spec, fit, one.name) is Margin.OPEN
        ]


class SuiteRunner:
    """Runs a suite, from its beginning or from where it was interrupted.

    Each round gives a block to every workload whose answer is open. The suite ends when there is none, when its mean has its
    answer and no workload speaks against it, or when its minutes are used up; then each study gets its verdict.
    `watcher_of` returns what listens to a workload's study.
    """

    def __init__(
        self,
        plan: SuitePlan,
        directory: Path,
        checked: Sequence[CheckedMember],
        tools: Tools,
        watcher_of: Callable[[SuiteMember], Watcher],
        say: Callable[[str], None],
    ) -> None:
        self._plan = plan
        self._directory = directory
        self._tools = tools
        self._watcher_of = watcher_of
        self._say = say
        self._studies = [_Running(one) for one in checked]
        self._pace = Pace()
        self._is_over = False

    def run(self) -> None:
        """Run blocks until the suite has its answer or its budget is spent.

        A workload under which no server or load works ends alone, with a line that says why.

        Raises:
            InterruptedStudyError: the user stopped it, or asked for an end after the block under way.
            DialinError: it cannot continue; what was measured is in the directories of the studies.
        """
        for study in self._studies:
            if study.checked.is_resumed:
                record = read_only.read(self._place(study), lambda store: store.read())
                study.seconds, study.judgement = seconds_of(record.trials), judge(record)
        with ExitStack() as open_studies:
            for study in self._studies:
                study.blocks = self._open(study)
                open_studies.callback(study.blocks.close)
                self._advance(study, is_counted=False)  # prepares the data, up to the first block
            while running := [study for study in self._studies if not study.has_ended]:
                if not self._has_answer():
                    self._say_progress(len(running))
                for study in running:
                    if requests.is_asked_to_stop(self._directory):
                        raise InterruptedStudyError("Stopped after a block, as requested", resumable=True)
                    self._has_answer()
                    self._advance(study)

    def _has_answer(self) -> bool:
        self._is_over = self._is_over or is_reached(self._plan, [_so_far(one) for one in self._studies])
        return self._is_over

    def _say_progress(self, still_open: int) -> None:
        """Say how far the suite has come, once there is a trial and while there is time."""
        seconds = sum(study.seconds for study in self._studies)
        if 0 < seconds < 60 * self._plan.minutes:
            left = about(60 * self._plan.minutes - seconds)
            of = counted(len(self._studies), "workload")
            self._say(f"{still_open} of {of} open after {duration(seconds)} of trials; at most about {left} left")

    def _place(self, study: _Running) -> Path:
        return self._directory / study.checked.member.directory

    def _open(self, study: _Running) -> Generator[None, None, Verdict]:
        checked, place = study.checked, self._place(study)

        def decided(judgement: Judgement) -> bool:
            study.judgement = judgement
            return is_decided(self._plan, checked.ready.spec, judgement) and not self._lacks_guard(study)

        suite = InSuite(decided, lambda: self._seconds_elsewhere(study), self._pace)
        watcher = self._watcher_of(checked.member)
        proposer: Proposer = CONTENDERS if self._plan.fail_if_worse is None else _Unanswered(self._plan)
        if checked.is_resumed:
            return resume(checked.ready, place, self._tools, watcher, proposer, suite=suite)
        return begin(checked.ready, place, self._tools, watcher, self._plan.command, proposer, suite=suite)

    def _seconds_elsewhere(self, study: _Running) -> float:
        others = [one for one in self._studies if one is not study]
        return math.inf if self._is_over else sum(one.seconds + self._seconds_of_profiles(one) for one in others)

    def _seconds_of_profiles(self, study: _Running) -> float:
        ready = study.checked.ready
        return 0.0 if study.has_ended else profile_trials(ready.spec) * ready.plan.trial_seconds * self._pace.ratio

    def _advance(self, study: _Running, *, is_counted: bool = True) -> None:
        began = self._tools.clock.monotonic()
        try:
            next(study.blocks)
        except StopIteration:
            study.has_ended = True
        except InterruptedStudyError:
            raise
        except (ServerError, WorkloadError, OutOfTimeError) as error:
            study.has_ended = True
            self._say(f"{study.checked.member.name} ends without an answer: {error}")
        finally:
            study.seconds += self._tools.clock.monotonic() - began if is_counted else 0.0

    def _lacks_guard(self, study: _Running) -> bool:
        ended = [_so_far(one) for one in self._studies if one.has_ended]
        if ended and decide_mean(self._plan, ended) is None:
            return False  # there will be no mean
        return lacks_guard(self._plan, [_so_far(one) for one in self._studies], _so_far(study))


def _so_far(study: _Running) -> SuiteStudy:
    return SuiteStudy(study.checked.member, study.checked.ready.spec, study.judgement)
