"""Studies on a live server under its own traffic: periods of the candidates, a guard, and the baseline between them.

Nothing is created on the server. Its variables are set by SET GLOBAL, each change written down first; the baseline is put back
at the end of every period, at once where the guard trips, and once more at the end of the study.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Collection, Generator, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

from dialin.clock import Clock
from dialin.model.live import hours_between
from dialin.model.place import LivePlace
from dialin.model.setting import Value, same_value
from dialin.model.study import StudySpec
from dialin.model.trial import EffectiveSettings, Purpose, Step, Trial, VariableChange
from dialin.places.live.guard import LEAST_KNOWN, LiveGuard, stop_file
from dialin.servers.attached.quick_restore import QuickRestore
from dialin.servers.attached.server import Attached
from dialin.servers.attached.undo import UndoLog
from dialin.servers.attached.undo_at_end import undo_at_exit
from dialin.servers.instance import Instance
from dialin.trials.change_detector import ChangeDetector
from dialin.trials.tools import Tools
from dialin.variables.aliases import reported_name
from dialin.workloads.base import Target
from dialin.workloads.traffic.digests import Digest
from dialin.workloads.traffic.meter import Meter
from dialin.workloads.traffic.reader import Reader
from dialin.workloads.traffic.traffic import Traffic

_POLL = 0.2
_RECOVERED = 5
"""Seconds in a row, after a trip, in which the baseline must be at its usual levels before the next period begins."""
_RECOVERS_WITHIN = 120.0


class LiveChangeDetector(ChangeDetector):
    """Compares the variables of a live server, unless the guard's thread has put the baseline back meanwhile.

    The values that were read may then be older, and differ from what the guard left; the guard ends the period anyway.
    """

    def __init__(self, studied: Collection[str], guard_has_acted: Callable[[], bool]) -> None:
        super().__init__(studied)
        self._guard_has_acted = guard_has_acted

    def changes(self, now: Mapping[str, str], step: Step) -> tuple[VariableChange, ...]:
        changes = super().changes(now, step)
        return () if self._guard_has_acted() else changes  # checked last: the guard may act during the comparison


@dataclass(frozen=True, slots=True)
class LiveServer:
    """Where a study on live traffic takes place.

    Attributes:
        is_replica: whether the server's lag is watched.
        slot: seconds of a period with its washout, for the share of the time away from the baseline.
        digests: digests that are counted separately.
    """

    spec: StudySpec
    place: LivePlace
    attached: Attached
    workload: Traffic
    tools: Tools
    slot: float
    is_replica: bool = False
    digests: tuple[Digest, ...] = ()

    @contextmanager
    def open(self, say: Callable[[str], None], study: Path | None = None) -> Iterator[OpenLiveServer]:
        """Write down the undo, begin to read the server, and put everything back at the end."""
        attached, clock = self.attached, self.tools.clock
        log = UndoLog(self.tools.home.undo, clock)
        names = self.spec.set_variables
        attached.study = str(study.absolute()) if study is not None else ""
        entry = log.begin(attached, self.place, names)
        detector = LiveChangeDetector(names, lambda: guard.has_acted())  # noqa: PLW0108 - the guard is made below
        detector.remember(entry.before)
        with undo_at_exit(log, entry, attached, say), QuickRestore(attached, clock) as quick:
            one_at_a_time = threading.Lock()  # the guard's thread may trip at the very end of a period

            def restore() -> None:
                with one_at_a_time:
                    detector.remember(quick.restore())

            guard = LiveGuard(self.place, restore, clock, stop_file(self.place.stop_file))
            with self._meter() as meter:
                meter.guard, meter.check = guard.look, guard.check
                self.workload.meter = meter
                try:
                    yield OpenLiveServer(self, attached.exact_values(names), detector, guard, restore, self.spec)
                finally:
                    meter.guard = lambda _second: None

    def _meter(self) -> Meter:
        pid, data = self.attached.pid, self.attached.data_directory
        reader = partial(Reader, pid=pid, data=data, is_replica=self.is_replica, chosen=self.digests)
        return Meter(self.attached.connect, reader, self.tools.clock)


@dataclass(slots=True)
class OpenLiveServer:
    """A live server whose undo is written down and which is read every second.

    Attributes:
        before: the values of the study's variables before the study.
        restore: puts the baseline back at once.
        away: seconds for which candidates had changed the server.
        began: when this session began.
    """

    site: LiveServer
    before: Mapping[str, Value | None]
    detector: ChangeDetector
    guard: LiveGuard
    restore: Callable[[], None]
    spec: StudySpec
    away: float = 0.0
    began: float = field(init=False)

    def __post_init__(self) -> None:
        self.began = self.clock.monotonic()

    @property
    def clock(self) -> Clock:
        return self.site.tools.clock

    def stage(self, trial: Trial) -> LiveStage:
        return LiveStage(self, trial)

    def add_candidates(self, spec: StudySpec, effective: Mapping[str, EffectiveSettings]) -> None:  # noqa: ARG002 - none enter
        self.spec = spec

    def wait_for_block(self) -> float:
        """Return the seconds until a block may begin: within the quiet hours and the share of time away from the baseline."""
        live, spec = self.site.place, self.spec
        lengthened = spec.place.washout - live.washout if isinstance(spec.place, LivePlace) else 0.0
        slot = self.site.slot + lengthened
        block = slot * len(spec.candidates)
        away = slot * sum(bool(self.changed(candidate.name)) for candidate in spec.candidates)
        elapsed = self.clock.monotonic() - self.began
        pause = (self.away + away) / live.at_most - elapsed - block
        quiet = seconds_until(live.between, self.clock.wall(), block) if live.between else 0.0
        return max(pause, quiet, 0.0)

    def changed(self, candidate: str) -> dict[str, Value | None]:
        """Return what a candidate sets to another value than the server had before the study."""
        wanted = self.spec.setting_of(candidate)
        before = {name: self.before[spelled] for name in wanted if (spelled := reported_name(name, self.before)) in self.before}
        return {
            name: value for name, value in wanted.items() if (was := before.get(name)) is None or not same_value(value, was)
        }


def seconds_until(between: str, now: float, room: float) -> float:
    """Return the seconds until quiet hours that have `room` seconds left; 0 within such hours, in local time of this machine.

    Within quiet hours that are shorter than `room` in all, it is 0 as well.
    """
    begin, end = hours_between(between)
    local = time.localtime(now)
    at = local.tm_hour * 3600 + local.tm_min * 60 + local.tm_sec
    length = (end - begin) % 86_400
    into = (at - begin) % 86_400
    return 0.0 if into + room <= length or (into < length and room > length) else float((begin - at) % 86_400)


class LiveStage:
    """One period: the candidate's values from `ready` on, the baseline's again at its end."""

    def __init__(self, opened: OpenLiveServer, trial: Trial) -> None:
        self.build = opened.site.attached.build
        self.detector = opened.detector
        self._opened = opened
        self._trial = trial
        self._since: float | None = None

    def ready(self) -> Generator[Step, None, Instance]:
        """Wait until the server may be changed, then set what the candidate changes.

        Raises:
            SettingRefusedError: the server refuses it.
            ServerError: the server does not answer, or the guard tripped meanwhile.
            InterruptedStudyError: a stop file was found.
        """
        opened, attached = self._opened, self._opened.site.attached
        changed = {} if self._trial.purpose is Purpose.OBSERVE else opened.changed(self._trial.candidate)
        if self._trial.purpose is not Purpose.OBSERVE and (self._trial.position == 1 or changed):
            yield from self._wait(needs_levels=bool(changed))
        yield Step.SET
        self.detector.check(attached.variables(), Step.SET)
        opened.guard.check_stopped()
        if changed:
            self.detector.forget()
            opened.guard.arm()
            self._since = opened.clock.monotonic()
            was_set = attached.set_global(changed)
            values = {**attached.variables(), **was_set}
            if opened.guard.has_acted():
                opened.restore()  # the guard was faster than the change
            else:
                self.detector.remember(values)
            opened.guard.check()
        return attached

    def _wait(self, *, needs_levels: bool) -> Iterator[Step]:
        opened, guard, clock = self._opened, self._opened.guard, self._opened.clock
        limit = clock.monotonic() + _RECOVERS_WITHIN
        usual, tripped = 0, guard.is_recovering

        def must_wait() -> bool:
            if self._trial.position == 1 and opened.wait_for_block() > 0:
                return True
            if needs_levels and len(guard.usual) < LEAST_KNOWN:
                return True
            return tripped and usual < _RECOVERED and clock.monotonic() < limit

        if not must_wait():
            return
        yield Step.PAUSE
        while must_wait():
            before = guard.seconds
            clock.sleep(_POLL)
            guard.check_stopped()
            if guard.seconds != before:
                usual = usual + 1 if guard.is_usual() else 0

    def instance(self) -> Instance | None:
        return self._opened.site.attached

    def went_away(self) -> bool:
        """Return False: a live server that goes away ends the study, whatever the reason."""
        return False

    def target(self) -> Target:
        return Target(self._opened.site.attached.account, self._opened.site.tools.home.root)

    def hide(self, value: str) -> str:
        return value

    def end(self, *, well: bool) -> None:  # noqa: ARG002 - the baseline is put back in any case
        """Put the baseline back."""
        if self._since is None:
            return
        opened = self._opened
        opened.restore()
        opened.guard.disarm()
        opened.away += opened.clock.monotonic() - self._since
        self._since = None
