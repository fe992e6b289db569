"""The window of a trial that is measured: the planned seconds or runs, and more where they are unsteady or lost."""

from __future__ import annotations

from collections.abc import Callable, Generator
from dataclasses import dataclass

from dialin.errors import WorkloadError
from dialin.model.cause import Cause, CauseCode
from dialin.model.course import Course
from dialin.model.study import StudySpec
from dialin.model.trial import Sample
from dialin.model.workload import Runs
from dialin.question.plan import LONGEST, Plan
from dialin.stats.steady import examine
from dialin.stats.trial_figures import steadiness
from dialin.trials.events import Event

BELOW_FLOOR = 5
"""Measured seconds that throughput must stay below the floor before a trial ends early."""


@dataclass(frozen=True, slots=True)
class MeasuredWindow:
    """The window of one number of threads.

    Attributes:
        floor: transactions per second; a window that stays below them for `BELOW_FLOOR` seconds ends. 0 for no limit.
        read: reads the load's next second or run, and yields it as an event.
        end: is called at the end with the number of transactions in the window; raises WorkloadError where there is none.
    """

    spec: StudySpec
    plan: Plan
    floor: float
    read: Callable[[], Generator[Event, None, Sample]]
    end: Callable[[float], None]

    def read_enough(self) -> Generator[Event, None, bool]:
        """Read the window; return False where fewer than half of the planned seconds or runs are usable."""
        traits = self.spec.workload.traits
        if traits.observed:
            return (yield from self._read_planned_seconds())
        return (yield from self._read_steady_seconds() if traits.runs is None else self._read_runs(traits.runs))

    def _read_planned_seconds(self) -> Generator[Event, None, bool]:
        """Read a live server for the planned seconds, whatever they show: its traffic is neither steady nor repeatable."""
        statements = 0.0
        for _ in range(max(1, round(self.plan.measure))):
            statements += (yield from self.read()).tps
        if not statements:
            raise WorkloadError(Cause(CauseCode.NO_TRAFFIC))
        return True

    def _read_runs(self, runs: Runs) -> Generator[Event, None, bool]:
        """Read the runs of a timed query, and more if the host lost some."""
        usable = 0
        for _ in range(runs.most):
            sample = yield from self.read()
            usable += not sample.lost
            if usable == runs.measured:
                break
        return 2 * usable >= runs.measured

    def _read_steady_seconds(self) -> Generator[Event, None, bool]:
        """Read the planned seconds, in samples as long as the load reports, and more if unsteady or lost by the host."""
        planned = max(1, round(self.plan.measure / self.spec.workload.traits.interval))
        enough = planned
        series: list[float] = []
        transactions, below = 0.0, 0
        for _ in range(LONGEST * planned):
            sample = yield from self.read()
            if not sample.lost:
                transactions += sample.tps
                series.append(steadiness(sample, self.spec.workload.rate))
                below = below + 1 if sample.tps < self.floor else 0
            if below == BELOW_FLOOR:
                self.end(transactions)
                return True
            if len(series) == enough:
                shape = examine(series, latency=self.spec.workload.rate > 0)
                if shape.steady or shape.course is Course.DEAD:  # more seconds without throughput show nothing new
                    break
                # Examined again after half of the planned seconds, not each second: with many checks, one passes by chance.
                enough += max(1, planned // 2)
        if 2 * len(series) < planned:
            return False
        self.end(transactions)
        return True
