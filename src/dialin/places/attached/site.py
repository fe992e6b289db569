"""Studies on an attached server: one that dialin did not start, changed by SET GLOBAL and put back as it was."""

from __future__ import annotations

import uuid
from collections import Counter
from collections.abc import Callable, Generator, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from dialin.errors import ServerAwayError, server_failure
from dialin.model.cause import Cause, CauseCode
from dialin.model.setting import Value
from dialin.model.study import Attachment, StudySpec
from dialin.model.trial import Step, Trial, VariableChange
from dialin.servers.attached.server import Attached
from dialin.servers.attached.undo import SCHEMA, UndoLog
from dialin.servers.attached.undo_at_end import undo_at_exit
from dialin.servers.instance import Instance
from dialin.trials.tools import Tools
from dialin.verdict.changed_during_trial import ChangeDetector, VariablesChangedError
from dialin.verdict.effective_settings import EffectiveSettings
from dialin.workloads.base import Target, Workload

_POLL = 0.5

_TO_BLAME = 2
"""Times that a server must end while one candidate's setting is in force for the candidate to be to blame."""


@dataclass(frozen=True, slots=True)
class AttachedServer:
    """Where a study on an attached server takes place.

    Attributes:
        at_start: the variables that only a start can set.
    """

    spec: StudySpec
    attachment: Attachment
    attached: Attached
    workload: Workload
    tools: Tools
    at_start: tuple[str, ...]
    restart_command: str | None

    @contextmanager
    def open(self, say: Callable[[str], None], study: Path | None = None) -> Iterator[OpenAttachedServer]:
        """Write down the undo, prepare data in a separate schema, and put everything back at the end."""
        log = UndoLog(self.tools.home.undo, self.tools.clock)
        names = self.spec.set_variables
        schema = None if self.attachment.database else SCHEMA
        self.attached.study = str(study.absolute()) if study is not None else ""
        entry = log.begin(self.attached, self.attachment, names, schema=schema, restart=bool(self.at_start))

        with undo_at_exit(log, entry, self.attached, say, self.restart_command):
            before, grows = self.attached.exact_values(names), self.spec.workload.traits.grows
            detector = ChangeDetector(names)
            detector.remember(entry.before)
            with self._private_directory() as directory:
                schema_of_load = self.attachment.database or SCHEMA
                target = Target(self.attached.account, directory, schema_of_load, record=log.sessions_file(entry))
                if schema is not None:
                    when = "before each trial, because the load changes how much there is" if grows else "once"
                    described = self.workload.describe_data()
                    say(f"Preparing data in the schema {schema}, {when}: {described} (removed at the end)")
                    log.make_schema(entry, self.attached)
                    if not grows:
                        self.workload.prepare(target)

                def restore() -> None:
                    log.empty_schema(entry, self.attached)
                    self.workload.prepare(target)

                yield OpenAttachedServer(self, before, target, detector, restore if grows else None, self.spec)

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
        departures: per candidate, how often the server ended while its setting was in force.
        suspect: the candidate in whose trial the server could not be reached any more, until it is known whether it ended.
    """

    site: AttachedServer
    before: Mapping[str, Value | None]
    target: Target
    detector: ChangeDetector
    restore: Callable[[], None] | None
    spec: StudySpec
    departures: Counter[str] = field(default_factory=Counter)
    suspect: str | None = None

    def stage(self, trial: Trial) -> AttachedStage:
        """Set up a trial: variables that its candidate does not set get the values that they had before the study."""
        return AttachedStage(self, trial.candidate, {**self.before, **self.spec.setting_of(trial.candidate)})

    def add_candidates(self, spec: StudySpec, effective: Mapping[str, EffectiveSettings]) -> None:  # noqa: ARG002 - trials show it
        """Take in candidates that have entered; the undo covers every variable that they may set."""
        self.spec = spec


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
        attached, clock, patience = self._site.attached, self._site.tools.clock, self._site.attachment.wait_for_server
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
        later = {name: wanted.pop(name) for name in self._site.at_start if name in wanted}
        if later and self._site.restart_command:
            attached.persist_only({name: value for name, value in later.items() if value is not None})
            self._is_restarting = True
            attached.restart(self._site.restart_command)
            self._is_restarting = False
        self._is_setting = True
        was_set = attached.set_global(wanted)
        self.detector.remember({**attached.variables(), **was_set})

    def instance(self) -> Instance | None:
        return self._site.attached

    def target(self) -> Target:
        return self._opened.target

    def hide(self, value: str) -> str:
        """Return a value as it is: it is the same server in every trial."""
        return value

    def end(self, *, well: bool) -> None:
        """Leave the server as it is; the next trial sets it again, and the end of the study puts it back."""
