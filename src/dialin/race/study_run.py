"""What every run of a study does, whichever names its trials: gives trials to hosts, takes what they report, and logs."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

from dialin.clock import Clock
from dialin.errors import InterruptedStudyError
from dialin.fleet.fleet import Fleet, FleetEvent, HostJoined, HostLost, HostRefused
from dialin.fleet.worker import BlockRequest
from dialin.model.cause import PASSING
from dialin.model.progress import Standing, Watcher
from dialin.model.record import LogCode, LogLine
from dialin.model.study import StudySpec
from dialin.model.trial import Block, EffectiveSettings, Purpose, Trial, TrialState, first_driver_choices
from dialin.question.plan import Plan
from dialin.race.broken_study import last_tries_of
from dialin.race.host_blocks import HostBlocks, Work
from dialin.race.recorder import Recorder
from dialin.race.state import RaceState, Slot
from dialin.sentences.log_sentences import log_text
from dialin.store.store import Store
from dialin.trials import change_detector
from dialin.verdict.reach_verdict import standings


@dataclass(eq=False)
class StudyRun:
    """The base of a race and of a tune, which decide what trials run next.

    `session` is the number of this run of dialin, `inspected` are the effective settings of the candidates at their inspection,
    and `stop_asked` is called before each block.
    """

    store: Store
    clock: Clock
    watcher: Watcher
    plan: Plan
    fleet: Fleet
    session: int
    inspected: Mapping[str, EffectiveSettings] = field(default_factory=dict, kw_only=True)
    stop_asked: Callable[[], bool] = field(default=lambda: False, kw_only=True)

    def __post_init__(self) -> None:
        self._hosts = HostBlocks(self.fleet, self._recorder, self.store.next_trial_id)

    def _recorder(self) -> Recorder:
        return Recorder(self.store, self.clock, self.watcher, self._seconds_left)

    @property
    def _spec(self) -> StudySpec:
        return self._state.spec

    def _decided(self) -> bool:
        return not self._spec.is_aa and any(look.decided for look in self._state.looks)

    def _seconds_left(self) -> float:
        """Return about how many seconds are left until the end of the study."""
        raise NotImplementedError

    def _standings(self) -> Mapping[str, Standing]:
        return standings(self._spec, self._state.trials, self._state.figures)

    def _last_tries(self, block: Block, host: str) -> frozenset[int]:
        """Return the candidates of a block whose trial is not run again if it is disturbed once more."""
        return last_tries_of(self._state.trials, block, host, self.session)

    def _begin(self) -> None:
        """Read the study, and wait for a host: the budget excludes the time that hosts take to get ready."""
        self._state = RaceState(self.store)
        while not self._hosts.hosts and not self._decided():
            self._take_event()
        self._name_hosts()

    def _name_hosts(self) -> None:
        for host in self._hosts.inventory:
            self._state.add_host(host.name, host.facts)
        self.watcher.hosts_changed(self._hosts.hosts)

    def log(self, code: LogCode, **figures: Any) -> None:
        """Add a line to the study's log, and pass its sentence on to the watcher."""
        line = LogLine(self.clock.now(), code, figures)
        self.store.add_line(line)
        self.watcher.message(log_text(line))

    def _is_stopping(self) -> bool:
        """Return whether a stop was requested while hosts are still at work; the blocks under way are finished first.

        Raises:
            InterruptedStudyError: a stop was requested, and no host is at work.
        """
        if not self.stop_asked():
            return False
        if self._hosts.at_work:
            return True
        self.log(LogCode.STOPPED)
        raise InterruptedStudyError("Stopped after a block, as requested", resumable=True)

    def _run_trials(
        self, block: int, places: Sequence[Slot], purpose: Purpose, measure: float | None = None, floor: float = 0.0
    ) -> None:
        """Run trials on the first host, and wait for their end."""
        while not self._hosts.hosts:
            self._take_event()
        host = self._hosts.hosts[0]
        try:
            self._begin_trials(host, Block(block, purpose, ()), places, measure, floor)
            while host in self._hosts.at_work:
                self._take_event()
        finally:
            self._hosts.interrupt()

    def _begin_trials(
        self, host: str, block: Block, places: Sequence[Slot], measure: float | None = None, floor: float = 0.0
    ) -> None:
        trials = self._hosts.new_trials(block.number, block.purpose, places, self.session, self.clock.now())
        choices = first_driver_choices(trial for trial in self._state.trials if trial.host == host)
        last_tries = self._last_tries(block, host)
        self._hosts.begin(host, block, BlockRequest(self._spec, self.inspected, trials, choices, measure, floor, last_tries))

    def _take_event(self) -> tuple[FleetEvent, Work | None]:
        """Wait for the next event of any host; return it with the work that it ends, if any.

        Raises:
            ChangedByOthersError: somebody else keeps changing a variable under test.
            DialinError: the study cannot continue.
        """
        event, trial, work = self._hosts.next_event()
        for code, figures in _lines_of_host(event):
            self.log(code, **figures)
        if isinstance(event, HostJoined | HostLost):
            self._name_hosts()
        if trial is not None:
            self._add(trial, is_lost=isinstance(event, HostLost))
        return event, work

    def _add(self, ended: Trial, *, is_lost: bool = False) -> None:
        if not is_lost:
            for code, figures in _lines_of_trial(ended):
                self.log(code, **figures)
        self._state.add(ended)
        self.watcher.trial_ended(ended, self._standings())
        in_a_row = 1 if self._spec.is_live else change_detector.IN_A_ROW
        change_detector.check_not_contested(self._state.trials, self.session, in_a_row=in_a_row)


def _lines_of_host(event: FleetEvent) -> Iterator[tuple[LogCode, dict[str, Any]]]:
    """Yield the line about a host that joined or left."""
    if isinstance(event, HostJoined):
        yield LogCode.HOST_JOINED, {"host": event.host.name}
    elif isinstance(event, HostLost | HostRefused):
        code = LogCode.HOST_LOST if isinstance(event, HostLost) else LogCode.HOST_LEFT_OUT
        yield code, {"host": event.host, "cause": event.cause.as_stored()}


def _lines_of_trial(ended: Trial) -> Iterator[tuple[LogCode, dict[str, Any]]]:
    """Yield each line about a trial that has ended, as a code and its figures; none where it went as planned."""
    which = {"trial": ended.id, "candidate": ended.candidate}
    if ended.failure and ended.state is TrialState.INTERRUPTED:
        code = LogCode.TRIAL_DISTURBED if ended.failure.fault in PASSING else LogCode.SERVER_WENT_AWAY
        yield code, {**which, "cause": ended.failure.cause.as_stored()}
    elif ended.failure:
        yield LogCode.TRIAL_FAILED, {**which, "step": ended.failure.step, "cause": ended.failure.cause.as_stored()}
    elif ended.state is TrialState.INTERRUPTED and not ended.is_disturbed:
        yield LogCode.TRIAL_REPEATED, which
    for code, under_test in ((LogCode.TRIAL_DISCARDED, True), (LogCode.OTHERS_CHANGED, False)):
        if changes := [asdict(change) for change in ended.changes if change.under_test is under_test]:
            yield code, {**which, "changes": changes}
