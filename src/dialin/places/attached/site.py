"""Studies on an attached server: one that dialin did not start, changed by SET GLOBAL and put back as it was."""

from __future__ import annotations

import uuid
from collections import Counter
from collections.abc import Callable, Generator, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from dialin.datasets.filling import update_statistics
from dialin.errors import DialinError, ServerAwayError, ServerError, SettingRefusedError, server_failure
from dialin.model.cause import Cause, CauseCode, Fault
from dialin.model.place import LoadedPlace
from dialin.model.setting import Value, describe
from dialin.model.study import StudySpec
from dialin.model.trial import EffectiveSettings, Step, Trial, VariableChange
from dialin.servers.attached.apply_command import ApplyCommand
from dialin.servers.attached.server import Attached
from dialin.servers.attached.undo import SCHEMA, Applying, UndoLog
from dialin.servers.attached.undo_at_end import undo_at_exit
from dialin.servers.attached.user_command import LIMIT, CommandError
from dialin.servers.instance import Instance
from dialin.servers.setter import is_in_force
from dialin.trials.change_detector import ChangeDetector, VariablesChangedError
from dialin.trials.tools import Tools
from dialin.workloads.base import Target, Workload

_POLL = 0.5

_APPLIED_WITHIN, _TIMES_AS_LONG = 60.0, 5
"""Seconds that a command which applies a setting may take in any case, and how many times as long as when it was measured."""

_ANALYZED_WITHIN = 600.0
"""Seconds within which the statistics of a table must be updated."""

_TO_BLAME = 2
"""Times that a server must end while one candidate's setting is in force for the candidate to be to blame."""


@dataclass(frozen=True, slots=True)
class AttachedServer:
    """Where a study on an attached server takes place.

    Attributes:
        at_start: the variables that only a start can set.
        restart_command: what restarts it; None where it must not be restarted.
        apply_command: what applies settings to it; None where dialin sets them.
    """

    spec: StudySpec
    place: LoadedPlace
    attached: Attached
    workload: Workload
    tools: Tools
    at_start: tuple[str, ...]
    restart_command: str | None
    apply_command: str | None = None

    @property
    def applying(self) -> Applying | None:
        """How the user's command applies the settings; None where dialin sets them."""
        return Applying(self.apply_command, self.at_start) if self.apply_command is not None else None

    @property
    def persists(self) -> bool:
        """Whether dialin persists values for the next start."""
        return bool(self.at_start) and self.apply_command is None

    @contextmanager
    def open(self, say: Callable[[str], None], study: Path | None = None) -> Iterator[OpenAttachedServer]:
        """Write down the undo, prepare data in a separate schema, and put everything back at the end."""
        log = UndoLog(self.tools.home.undo, self.tools.clock)
        names = self.spec.set_variables
        schema = None if self.place.database else SCHEMA
        self.attached.study = str(study.absolute()) if study is not None else ""
        entry = log.begin(self.attached, self.place, names, schema=schema, restart=self.persists, applying=self.applying)
        with undo_at_exit(log, entry, self.attached, say, self.restart_command):
            before, grows = self.attached.exact_values(names), self.spec.workload.traits.grows
            detector = ChangeDetector(names)
            detector.remember(entry.before)
            with self._private_directory() as directory:
                schema_of_load = self.place.database or SCHEMA
                target = Target(self.attached.account, directory, schema_of_load, record=log.sessions_file(entry))
                if schema is not None:
                    when = "before each trial, because the load changes how much there is" if grows else "once"
                    described = self.workload.describe_data()
                    say(f"Preparing data in the schema {schema}, {when}: {described} (removed at the end)")
                    log.make_schema(entry, self.attached)
                    if not grows:
                        self._prepare(target)

                def restore() -> None:
                    log.empty_schema(entry, self.attached)
                    self._prepare(target)

                command = log.apply_command(entry, self.attached, self._limit()) if self.apply_command is not None else None
                yield OpenAttachedServer(self, before, target, detector, restore if grows else None, self.spec, command)

    def _prepare(self, target: Target) -> None:
        self.workload.prepare(target)
        with self.attached.connect(_ANALYZED_WITHIN) as query:
            update_statistics(query, target.database)

    def _limit(self) -> float:
        """Return the seconds that the user's command may take, by those that it took when it was measured."""
        taken = self.place.command_seconds
        return LIMIT if taken is None else min(LIMIT, max(_APPLIED_WITHIN, _TIMES_AS_LONG * taken))

    @contextmanager
    def _private_directory(self) -> Iterator[Path]:
        """Yield a directory for the load, recorded in the ledger so that a driver left behind is ended."""
        tools, name = self.tools, uuid.uuid4().hex[:8]
        directory = tools.home.sandboxes / name
        entry = tools.ledger.open(name, directory, build=f"load on {self.attached.build.id}")
        try:
            directory.mkdir(parents=True, mode=0o700)
            yield directory
        finally:
            tools.ledger.end(entry)


@dataclass(slots=True)
class OpenAttachedServer:
    """An attached server whose undo is written down and whose data is prepared.

    Attributes:
        before: the values of the study's variables before the study.
        restore: prepares the data again; None where the load does not change the amount of data.
        spec: the study with the candidates that have entered so far.
        command: what applies settings; None where dialin sets them.
        applied: the setting that the command applied last; None where that is not known.
        departures: per candidate, how often the server ended while its setting was in force.
        suspect: the candidate in whose trial the server could not be reached any more, until it is known whether it ended.
    """

    site: AttachedServer
    before: Mapping[str, Value | None]
    target: Target
    detector: ChangeDetector
    restore: Callable[[], None] | None
    spec: StudySpec
    command: ApplyCommand | None = None
    applied: Mapping[str, Value | None] | None = None
    departures: Counter[str] = field(default_factory=Counter)
    suspect: str | None = None

    def stage(self, trial: Trial) -> AttachedStage:
        """Set up a trial: variables that its candidate does not set get the values that they had before the study."""
        return AttachedStage(self, trial.candidate, {**self.before, **self.spec.setting_of(trial.candidate)})

    def add_candidates(self, spec: StudySpec, effective: Mapping[str, EffectiveSettings]) -> None:  # noqa: ARG002 - trials show it
        """Take in candidates that have entered; the undo covers every variable that they may set."""
        self.spec = spec


def _of_command(error: DialinError) -> DialinError:
    """Return the error of a command that also fails with the original settings: it ends the study, which can be resumed."""
    if error.fault is Fault.REQUEST:
        return error
    return CommandError(error.cause, error.remedy, error.log_tail, resumable=True)


class AttachedStage:
    """One trial on an attached server: its variables are set, and left so until the next trial or the end."""

    def __init__(self, opened: OpenAttachedServer, candidate: str, setting: Mapping[str, Value | None]) -> None:
        self.build = opened.site.attached.build
        self.detector = opened.detector
        self._opened = opened
        self._site = opened.site
        self._candidate = candidate
        self._setting = setting
        self._is_setting = self._is_restarting = False

    def ready(self) -> Generator[Step, None, Instance]:
        """Wait for a server that went away; restore the data where the load changes it; then set the candidate's variables.

        Raises:
            ServerAwayError: the server did not come back.
            ServerError: it ended twice while this candidate's setting was in force.
        """
        yield from self._await_server()
        if self._opened.departures[self._candidate] >= _TO_BLAME:
            attached = self._site.attached
            raise server_failure(Cause(CauseCode.SERVER_ENDED, {"exit": attached.exit()}), attached.log_tail())
        if self._opened.restore is not None:
            yield Step.RESTORE
            self._opened.restore()
        yield Step.SET
        self._set()
        return self._site.attached

    def _await_server(self) -> Iterator[Step]:
        attached, clock, patience = self._site.attached, self._site.tools.clock, self._site.place.wait_for_server
        was_gone, has_ended = attached.is_gone(), attached.has_ended()
        if not attached.is_back():
            yield Step.WAIT
            was_gone, limit = True, clock.monotonic() + patience
            while True:
                has_ended |= attached.has_ended()
                if attached.is_back():
                    break
                if clock.monotonic() >= limit:
                    raise ServerAwayError(
                        f"The server at {attached.account} has not answered for {patience:.0f} s",
                        "Start it",
                        attached.log_tail(),
                        resumable=True,
                    )
                clock.sleep(_POLL)
        if has_ended and self._opened.suspect is not None:
            self._opened.departures[self._opened.suspect] += 1
        self._opened.suspect = None
        if was_gone:
            self._opened.applied = None
            self.detector.forget()  # a restart loses what was set at run time: nobody else changed it

    def went_away(self) -> bool:
        """Return whether the server went away, so that the trial is run again.

        Once it is back, its start shows whether it had ended or could only not be reached. If it ended twice while one
        candidate's setting was in force, that candidate is to blame. A restart that dialin requested does not count.
        """
        attached = self._site.attached
        if self._is_restarting or (attached.listens() and not attached.is_gone()):
            return False
        self._opened.suspect = self._candidate if self._is_setting else None
        return True

    def _set(self) -> None:
        attached, wanted = self._site.attached, dict(self._setting)
        self.detector.check(attached.variables(), Step.SET)
        if others := attached.persisted_by_others():
            raise VariablesChangedError(
                [VariableChange(name, left, now, under_test=True, step=Step.SET) for name, (left, now) in others.items()]
            )
        self.detector.forget()
        if self._opened.command is not None:
            self._apply(self._opened.command, wanted)
            return
        later = {name: wanted.pop(name) for name in self._site.at_start if name in wanted}
        if later and self._site.restart_command:
            attached.persist_only({name: value for name, value in later.items() if value is not None})
            self._is_restarting = True
            attached.restart(self._site.restart_command)
            self._is_restarting = False
        self._is_setting = True
        was_set = attached.set_global(wanted)
        self.detector.remember({**attached.variables(), **was_set})

    def _apply(self, command: ApplyCommand, wanted: Mapping[str, Value | None]) -> None:
        """Have the candidate's setting applied, unless it is in force already.

        Raises:
            CommandError: the command is to blame.
            DialinError: the candidate is.
        """
        attached, opened = self._site.attached, self._opened
        now = attached.variables()
        in_force = all(is_in_force(value, now.get(name, "")) for name, value in wanted.items())
        if opened.applied != wanted and not (opened.applied is None and in_force):
            opened.applied, self._is_restarting = None, True
            try:
                now = command.apply(wanted)
            except ServerError as error:
                if error.cause.code in (CauseCode.NOT_APPLIED, CauseCode.NOT_RESTARTED) or wanted == dict(opened.before):
                    raise _of_command(error) from error
                raise self._put_back(command, error) from error
            self._is_restarting = False
            opened.applied = wanted
        self._is_setting = True
        self.detector.remember(now)

    def _put_back(self, command: ApplyCommand, error: ServerError) -> DialinError:
        """Have the original settings applied after a failure, which shows whether the candidate or the command is to blame."""
        try:
            command.put_back()
        except DialinError as of_command:
            return _of_command(of_command)
        self._is_restarting = False
        setting = describe(self._opened.spec.setting_of(self._candidate))
        cause = Cause(CauseCode.SETTING_NOT_APPLIED, {"cause": error.cause.as_stored(), "setting": setting})
        return SettingRefusedError(cause, "See the output of the command and the server's log", error.log_tail)

    def instance(self) -> Instance | None:
        return self._site.attached

    def target(self) -> Target:
        return self._opened.target

    def hide(self, value: str) -> str:
        """Return a value as it is: it is the same server in every trial."""
        return value

    def end(self, *, well: bool) -> None:
        """Leave the server as it is; the next trial sets it again, and the end of the study puts it back."""
