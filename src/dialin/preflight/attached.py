"""Studies on an attached server: one that dialin did not start, changed by SET GLOBAL and put back as it was."""

from __future__ import annotations

import os
import signal
import uuid
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from types import FrameType
from typing import Any

from dialin.errors import DialinError, ServerError, UserError
from dialin.model.setting import Value
from dialin.model.study import Attachment, StudySpec
from dialin.model.trial import Step, Trial, VariableChange
from dialin.preflight.checked import Ready, settle
from dialin.question.candidates import Variables, candidates_of
from dialin.question.plan import Plan
from dialin.question.study_file import Question
from dialin.servers.attached.build import AttachedBuild
from dialin.servers.attached.client_options import find_account
from dialin.servers.attached.server import Attached
from dialin.servers.attached.undo import SCHEMA, UndoLog
from dialin.servers.instance import Instance
from dialin.trials.stage import Stage, Timed
from dialin.trials.tools import Workshop
from dialin.variables import catalogue, rules
from dialin.variables.catalogue import Catalogue
from dialin.verdict import effective_settings
from dialin.verdict.changed_during_trial import ChangeDetector, VariablesChangedError
from dialin.workloads.base import Target, Workload


@dataclass(frozen=True, slots=True)
class Permission:
    """What the user allows dialin to do to a server that it did not start. Never read from a file.

    Attributes:
        live: the server may be in use by others.
        restart_command: what restarts it; None where it must not be restarted.
    """

    live: bool = False
    restart_command: str | None = None

    def refuse_for_sandboxes(self) -> None:
        """Make sure that nothing is allowed that has no meaning for sandboxes.

        Raises:
            UserError: something is.
        """
        if self.live or self.restart_command is not None:
            given = "--restart-command" if self.restart_command is not None else "--i-know-it-is-live"
            raise UserError(f"{given} is for a server that dialin is attached to", "Give --attach as well, or leave it out")


NOTHING = Permission()


@dataclass(frozen=True, slots=True)
class AttachedServer:
    """Where a study on an attached server takes place.

    Attributes:
        spec: the study.
        attachment: where its account is found.
        attached: the server.
        workload: the load.
        workshop: the tools.
        at_start: the variables that only a start can set.
        restart_command: what restarts it.
    """

    spec: StudySpec
    attachment: Attachment
    attached: Attached
    workload: Workload
    workshop: Workshop
    at_start: tuple[str, ...]
    restart_command: str | None

    @contextmanager
    def open(self, say: Callable[[str], None]) -> Iterator[Callable[[Trial], Stage]]:
        """Write down the undo, prepare data in a schema of its own, and put everything back at the end."""
        log = UndoLog(self.workshop.home.undo, self.workshop.clock)
        names = self.spec.set_variables
        schema = None if self.attachment.database else SCHEMA
        entry = log.begin(self.attached, self.attachment, names, schema=schema, restart=bool(self.at_start))

        def tell(text: str) -> None:
            with suppress(DialinError):  # a full disk must not stand in the way of the undo
                say(text)

        def undo() -> None:
            with _uninterrupted(tell):
                tell("Putting the server back as it was")
                for line in log.undo(entry, self.attached, restart_command=self.restart_command):
                    tell(line)

        try:
            before = self.attached.exact_values(names)
            detector = ChangeDetector(names)
            detector.remember(entry.before)
            with self._private_directory() as directory:
                target = Target(self.attached.account, directory, self.attachment.database or SCHEMA)
                if schema is not None:
                    when = "before each trial, because the load changes how much there is" if self.workload.grows else "once"
                    described = self.workload.describe_data()
                    say(f"Preparing data in the schema {schema}, {when}: {described} (removed at the end)")
                    log.make_schema(entry, self.attached)
                    if not self.workload.grows:
                        self.workload.prepare(target)

                def restore() -> None:
                    log.empty_schema(entry, self.attached)
                    self.workload.prepare(target)

                def stage(trial: Trial) -> AttachedStage:
                    setting = {**before, **self.spec.setting_of(trial.candidate)}
                    return AttachedStage(self, setting, target, detector, restore if self.workload.grows else None)

                yield stage
        except BaseException:
            # What ended the study is what the user must hear of; what then stood in the way of the undo is said beside it.
            try:
                undo()
            except DialinError as fault:
                tell(f"NOT put back: {fault}")
            raise
        undo()

    @contextmanager
    def _private_directory(self) -> Iterator[Path]:
        """Give the load a directory of its own, written down so that a driver left behind is ended."""
        workshop, name = self.workshop, uuid.uuid4().hex[:8]
        directory = workshop.home.sandboxes / name
        entry = workshop.ledger.open(name, directory, build=f"load on {self.attached.build.id}")
        try:
            directory.mkdir(parents=True, mode=0o700)
            yield directory
        finally:
            workshop.ledger.end(entry)


class AttachedStage:
    """One trial on an attached server: its variables are set, and left so until the next trial or the end.

    Args:
        site: the server.
        setting: what it is set to.
        target: where the load goes.
        detector: notices what somebody else changes.
        restore: prepares the data again; None where the load leaves as much as it found.
    """

    def __init__(
        self,
        site: AttachedServer,
        setting: Mapping[str, Value | None],
        target: Target,
        detector: ChangeDetector,
        restore: Callable[[], None] | None,
    ) -> None:
        self.detector = detector
        self._restore = restore
        self._site = site
        self._setting = setting
        self._target = target

    @property
    def build(self) -> AttachedBuild:
        """What runs."""
        return self._site.attached.build

    def ready(self, timed: Timed) -> Instance:
        """Restore the data where the load changes it, then set the candidate's variables; restart where one takes that."""
        attached = self._site.attached
        wanted = dict(self._setting)
        if self._restore is not None:
            with timed(Step.RESTORE):
                self._restore()
        with timed(Step.SET):
            self.detector.check(attached.variables(), Step.SET)
            if others := attached.persisted_by_others():
                raise VariablesChangedError(
                    [
                        VariableChange(name, left, found, under_test=True, step=Step.SET)
                        for name, (left, found) in others.items()
                    ]
                )
            self.detector.forget()
            try:
                later = {name: wanted.pop(name) for name in self._site.at_start if name in wanted}
                if later and self._site.restart_command:
                    attached.persist_only({name: value for name, value in later.items() if value is not None})
                    attached.restart(self._site.restart_command)
                was_set = attached.set_global(wanted)
            except UserError as error:  # what was checked before and is refused now is the server's doing
                raise ServerError(error.what, error.remedy) from error
            self.detector.remember({**attached.variables(), **was_set})
        return attached

    def instance(self) -> Instance | None:
        """Return the server."""
        return self._site.attached

    def target(self) -> Target:
        """Return where the load goes."""
        return self._target

    def hide(self, value: str) -> str:
        """Return a value as it is: it is the same server in every trial."""
        return value

    def end(self, *, well: bool) -> None:
        """Leave the server as it is; the next trial sets it anew, and the end of the study puts it back."""


def check_attached(
    question: Question,
    directory: Path,
    workshop: Workshop,
    workload: Workload,
    settings: Sequence[tuple[str, Variables]],
    left_out: Sequence[str],
    permission: Permission,
) -> Ready:
    """Check a study on an attached server; the server is asked, and not changed.

    Args:
        question: what was asked for.
        directory: what paths in it are relative to.
        workshop: the tools.
        workload: the load, checked.
        settings: what is compared, by name.
        left_out: of option files, in words.
        permission: what may be done to the server.

    Raises:
        UserError: something is not there or does not fit, or the server is in use by others and that is not allowed.
        ServerError: the server does not answer.
    """
    attachment = question.attachment(directory)
    if attachment is None:
        raise RuntimeError("the question is not about an attached server")
    for option, given in (
        ("--hold", question.hold),
        ("--server-cpus", question.server_cpus is not None),
        ("--switch", question.switch != "auto"),
    ):
        if given:
            raise UserError(f"{option} is for sandboxes, which dialin starts itself", "Leave it out")
    attached = connect(attachment, workshop)
    workload.check_account(attached.account)
    known, values = _asked(attached)
    candidates = candidates_of(settings, [known.build_id])
    before = {known.build_id: values}
    spec, allowed, notes = settle(question, directory, candidates, before, {known.build_id: known}, {})
    site = _site(spec, attachment, attached, workload, workshop, permission)
    live = _check_live(attached, permission)
    texts = (*attached.account.notes, *left_out, *(note.text for note in notes), *live)
    return Ready(
        spec=spec,
        plan=allowed,
        servers={known.build_id: _facts(attached)},
        workload=workload,
        site=site,
        notes=texts,
        changes=tuple(_changes(site, values)),
        catalogues={known.build_id: effective_settings.excerpt(known, spec.set_variables)},
    )


def attached_again(
    spec: StudySpec,
    allowed: Plan,
    workshop: Workshop,
    workload: Workload,
    permission: Permission,
    known: Mapping[str, Mapping[str, Any]],
) -> Ready:
    """Return a study on an attached server that goes on.

    Args:
        spec: the study.
        allowed: what its budget allows.
        workshop: the tools.
        workload: the load, checked.
        permission: what may be done to the server.
        known: what was written down of the server when the study began, per build id.

    Raises:
        UserError: the server is another one than it was, or is in use by others and that is not allowed.
        ServerError: it does not answer.
    """
    if spec.attachment is None:
        raise RuntimeError("the study is not about an attached server")
    attached = connect(spec.attachment, workshop)
    workload.check_account(attached.account)
    was = spec.candidates[0].server
    if attached.build.id != was:
        raise UserError(f"The server runs {attached.build.id} now, and the study began on {was}", "Begin a new study")
    if _instance(attached.build) != known[was].get("instance"):
        raise UserError(
            f"{attached.account} is another server than the one that the study began on",
            "Give the account of that one, or begin a new study",
        )
    site = _site(spec, spec.attachment, attached, workload, workshop, permission)
    live = _check_live(attached, permission)
    return Ready(
        spec=spec,
        plan=allowed,
        servers={attached.build.id: _facts(attached)},
        workload=workload,
        site=site,
        notes=(*attached.account.notes, *live),
        changes=tuple(_changes(site, attached.variables())),
    )


def connect(attachment: Attachment, workshop: Workshop) -> Attached:
    """Return the attached server, after it has answered.

    Raises:
        UserError: its account is not found.
        ServerError: it does not answer.
    """
    file = Path(attachment.defaults_file) if attachment.defaults_file else None
    attached = Attached(find_account(file, attachment.login_path, os.environ), workshop.clock)
    attached.check_writable()
    return attached


def _site(
    spec: StudySpec,
    attachment: Attachment,
    attached: Attached,
    workload: Workload,
    workshop: Workshop,
    permission: Permission,
) -> AttachedServer:
    """Return where the study takes place; the server is asked which variables only a start can set, and nothing is set."""
    if workload.grows and attachment.database:
        raise UserError(
            f"{spec.workload.name} changes how much data there is, and dialin does not restore the tables of the schema "
            f"{attachment.database}: trials would not start from the same state",
            "Leave out --database: data of its own is prepared before each trial. Or take a workload such as oltp_read_write",
        )
    at_start = tuple(attached.needs_restart(spec.set_variables))
    if at_start and permission.restart_command is None:
        raise UserError(
            f"{at_start[0]} can be set only when the server starts",
            'Give a --restart-command such as "systemctl restart mysql", or study it on a sandbox with --server',
        )
    if at_start:
        attached.check_persists()
        _check_deadly(spec, attached.build.id, at_start)
    return AttachedServer(spec, attachment, attached, workload, workshop, at_start, permission.restart_command)


def _check_deadly(spec: StudySpec, build: str, at_start: Sequence[str]) -> None:
    """Refuse what is known to keep a server from starting: a sandbox may die of it, a server of somebody's must not."""
    for candidate in spec.candidates:
        for name, value in spec.setting_of(candidate.name).items():
            if name in at_start and (why := rules.kills(build, name, value)):
                raise UserError(f"{name}={value} would keep {build} from starting: {why}", "Leave it out")


def _check_live(attached: Attached, permission: Permission) -> list[str]:
    reasons = attached.live_reasons()
    if reasons and not permission.live:
        raise UserError(
            f"The server is in use: {'; '.join(reasons)}",
            "Study a server that nobody needs; --i-know-it-is-live goes on all the same, and its users will feel the load",
        )
    return [f"The server is in use, and you know it: {reason}" for reason in reasons]


def _asked(attached: Attached) -> tuple[Catalogue, dict[str, str]]:
    with attached.connect() as query:
        known = catalogue.read(query, attached.build.id)
    return known, {name: variable.default for name, variable in known.variables.items() if variable.default is not None}


def _changes(site: AttachedServer, values: Mapping[str, str]) -> list[str]:
    """Return in words what the study will change on the server, and how it is put back."""
    spec, account = site.spec, site.attached.account
    found = [f"dialin did not start this server: {site.attached.build.id}, {account}. It will"]
    for name in spec.set_variables:
        asked = [str(setting[name]) for c in spec.candidates if name in (setting := spec.setting_of(c.name))]
        found.append(f"  set {name} (now {values.get(name, 'unknown')}) to {', '.join(dict.fromkeys(asked))}")
    if site.attachment.database:
        found.append(f"  run the load on the tables of the schema {site.attachment.database}; a load that writes changes them")
    else:
        found.append(f"  make the schema {SCHEMA} with {site.workload.describe_data()}, and drop it at the end")
    if site.at_start:
        found.append(f"  restart the server before every trial and at the end: {site.restart_command}")
    found.append("Every value is written down first and put back at the end; after a crash: dialin restore")
    return found


def _facts(attached: Attached) -> dict[str, Any]:
    build = attached.build
    return {
        "version": build.version_text,
        "origin": f"attached: {attached.account}",
        "flavour": build.flavour.value,
        "instance": _instance(build),
    }


def _instance(build: AttachedBuild) -> dict[str, str | int]:
    """Return what tells a server from others of its build."""
    return {"hostname": build.hostname, "port": build.port, "datadir": build.datadir, "uuid": build.uuid}


@contextmanager
def _uninterrupted(say: Callable[[str], None]) -> Iterator[None]:
    """Put off Ctrl-C and its like until this is over: a server that is half put back helps nobody."""
    asked: list[int] = []

    def wait(number: int, _frame: FrameType | None) -> None:
        asked.append(number)
        say("The server is being put back as it was; dialin ends when that is done")

    before = {number: signal.signal(number, wait) for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
    if asked:
        raise KeyboardInterrupt
