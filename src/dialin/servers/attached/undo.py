"""The undo log, which restores attached servers: an entry is on disk before the first change, and removed after the undo.

An entry records the server, how to connect to it (never the password), the original value of every variable, the values that
dialin set, the schema that dialin created, and the files that it had the server write. An undo can be repeated safely, and it
is refused on any other server. A variable that has neither its original value nor one that dialin set was set by somebody else
meanwhile: it is left alone, and reported.

While a study runs, its dialin holds a lock on its entry, and one on the server. The entry of a dialin that died is an orphan.
"""

from __future__ import annotations

import json
import os
import shutil
import uuid
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass, replace
from pathlib import Path

from dialin.clock import Clock, SystemClock
from dialin.errors import DialinError, MachineError, ServerError, UserError
from dialin.model.place import Attachment
from dialin.paths import replace_text
from dialin.servers import load_sessions
from dialin.servers.assign import at_default
from dialin.servers.attached import still_changed, user_command
from dialin.servers.attached import study_schema as schemas
from dialin.servers.attached.apply_command import ApplyCommand
from dialin.servers.attached.attached_build import AttachedBuild, check_same, differences
from dialin.servers.attached.entry import UndoEntry, read
from dialin.servers.attached.restore_server import restore_server
from dialin.servers.attached.server import PATIENCE, Attached
from dialin.servers.attached.undo_journal import WrittenJournal
from dialin.servers.locks import Locks
from dialin.servers.origin import machine
from dialin.servers.processes import processes
from dialin.text import command_line, counted, listed
from dialin.variables.aliases import reported_name

SCHEMA = "dialin_sbtest"
"""The schema that dialin creates if the user names none."""

_BEGIN = "begin"
_BEGIN_PATIENCE = 120.0
"""Seconds that one dialin waits for another that is writing a new entry."""


@dataclass(frozen=True, slots=True)
class Applying:
    """How a command of the user applies the settings of a study.

    Attributes:
        command: a program with its arguments; no shell reads it.
        static: the variables that only a start can set.
    """

    command: str
    static: Sequence[str]

    def added_to(self, entry: UndoEntry, attached: Attached) -> UndoEntry:
        with attached.connect() as query:
            defaults = at_default(query, attached.build) or frozenset()
        started = attached.started()
        return replace(
            entry,
            command=self.command,
            work=str(Path.cwd()),
            static=list(self.static),
            defaults=sorted(defaults & entry.exact.keys()),
            started=[started.earliest, started.latest],
        )


class UndoLog:
    """The entries on this machine, one file each.

    Raises:
        UserError: from any method: somebody created or replaced the schema of an entry.
        MachineError: from any method: an entry cannot be read, written or removed.
    """

    def __init__(self, directory: Path, clock: Clock | None = None) -> None:
        self._directory = directory
        self._clock = clock or SystemClock()
        self._locks = Locks(directory, self._clock)
        self._journals: dict[str, WrittenJournal] = {}

    def entries(self) -> list[UndoEntry]:
        """Return all entries of this user that can be read."""
        return self._read()[0]

    def of_anybody(self) -> list[UndoEntry]:
        """Return the entries of other users, too: only to say what they hold, as their content is not to be trusted."""
        return self._read(of_others=True)[0]

    def unreadable(self) -> dict[str, DialinError]:
        """Return the errors of the entries that cannot be read, or are another user's, by entry id."""
        return self._read()[1]

    def _read(self, *, of_others: bool = False) -> tuple[list[UndoEntry], dict[str, DialinError]]:
        entries: list[UndoEntry] = []
        faults: dict[str, DialinError] = {}
        for path in sorted(self._directory.glob("*.json")):
            try:
                if (entry := read(path, of_others=of_others)) is not None:
                    entries.append(entry)
            except UserError as fault:
                faults[path.stem] = fault
        return entries, faults

    def orphans(self, *, of_other_machines: bool = False) -> list[UndoEntry]:
        """Return the entries whose dialin is gone.

        Those of other machines that share the directory are left out by default: their locks may not be visible from here.
        """
        return [
            entry for entry in self.entries() if self.is_orphan(entry) and (of_other_machines or entry.machine == machine())
        ]

    def is_orphan(self, entry: UndoEntry) -> bool:
        """Return whether the dialin that wrote an entry is gone, as far as its lock is visible from here."""
        try:
            return self._locks.is_free(entry.id)
        except OSError as error:
            raise MachineError.of(
                error, f"Whether the dialin that changed {entry.where} still runs cannot be found out"
            ) from error

    def begin(
        self,
        attached: Attached,
        attachment: Attachment,
        names: Collection[str],
        *,
        schema: str | None = None,
        restart: bool = False,
        files: Sequence[Path] = (),
        applying: Applying | None = None,
    ) -> UndoEntry:
        """Write the entry that is needed to restore a server; after that, `attached` may be changed.

        Args:
            attached: the server; every change to it is recorded from now on.
            attachment: where its account was found.
            names: every variable that will be set.
            schema: a schema that `make_schema` will make, to be dropped when this is undone.
            restart: whether variables will be set that need a restart.
            files: files of this machine that the server, or dialin, will write, to be removed when this is undone.
            applying: how a command of the user applies the settings; None where dialin sets them.

        Raises:
            UserError: the server is being studied already, was left changed by a dialin that died, or lacks a variable, or the
                schema exists already; nothing was changed.
            MachineError: the entry cannot be written; nothing was changed.
            ServerError: the server does not answer.
        """
        with _writing(self._directory):
            self._directory.mkdir(parents=True, exist_ok=True, mode=0o700)
            with self._locks.held(_BEGIN, _BEGIN_PATIENCE) as taken:
                if not taken:
                    raise UserError("Another dialin is just attaching to a server", "Try again in a moment")
                entry = self._begin(attached, attachment, names, schema, files, applying, restart=restart)
        attached.bind(entry.server)
        attached.directory = self._private(entry.id)
        attached.journal = self._journals[entry.id] = WrittenJournal(entry, self._write)
        still_changed.remember(attached.journal)
        return entry

    def _begin(
        self,
        attached: Attached,
        attachment: Attachment,
        names: Collection[str],
        schema: str | None,
        files: Sequence[Path],
        applying: Applying | None,
        *,
        restart: bool,
    ) -> UndoEntry:
        # If this fails, the claim on the server is released.
        self._check_free(attached.build)
        attached.claim.take()
        entry = None
        try:
            entry = replace(
                _describe(attached, attachment, names, schema, restart=restart), files=[str(path) for path in files]
            )
            if applying is not None:
                entry = applying.added_to(entry, attached)
            if schema is not None:
                with attached.connect() as query:
                    schemas.check_absent(query, schema)
            self._locks.take(entry.id)
            self._write(entry)
        except BaseException:
            if entry is not None:
                with suppress(OSError):
                    self._locks.remove(entry.id)
            attached.claim.release()
            raise
        return entry

    def make_schema(self, entry: UndoEntry, attached: Attached) -> None:
        if entry.schema is not None:
            with attached.connect_to_change(PATIENCE) as (query, _):
                schemas.make(query, entry.schema, entry.id, self._journals[entry.id].schema_was_made)

    def empty_schema(self, entry: UndoEntry, attached: Attached) -> None:
        """Drop the tables of an entry's schema, so that its data can be prepared again."""
        if entry.schema is not None:
            with attached.connect_to_change(PATIENCE) as (query, _):
                schemas.empty(query, entry.schema, entry.id)

    def _check_free(self, build: AttachedBuild) -> None:
        for other in self.of_anybody():
            if differences(other.server, build.facts):
                continue
            if not self.is_orphan(other):
                raise UserError(f"{other.where} is being studied by another dialin: {other.studied_by}", "Wait for it to end")
            where = "" if other.machine == machine() else f" on {other.host}"
            raise UserError(
                f"{other.where} still has the changes of a dialin that crashed{where}", "Run `dialin restore` first"
            )

    def apply_command(self, entry: UndoEntry, attached: Attached, limit: float = user_command.LIMIT) -> ApplyCommand:
        """Return the command that applies the settings of an entry; `limit` are the seconds that it may take."""
        return ApplyCommand(attached, self._private(entry.id), entry, self._clock, limit)

    def runs_command(self, entry: UndoEntry) -> bool:
        """Return whether a command of the user that was begun for an entry still runs; `undo` waits for it."""
        return bool(processes(self._private(entry.id)))

    def undo(
        self, entry: UndoEntry, attached: Attached, *, restart_command: str | None = None, run_command: bool = True
    ) -> list[str]:
        """Restore a server, check that it is restored, and remove the entry.

        Args:
            entry: the entry. The process that began the study uses its copy in memory, so that a lost file loses nothing; any
                other process reads the entry from disk.
            attached: the server.
            restart_command: the command that restarts the server, if a variable needs that.
            run_command: whether the command that applied the settings may be run to restore them.

        Returns:
            What was done, a line each; empty if there was nothing to do.

        Raises:
            UserError: this is another server, or another dialin is studying or restoring it; nothing was changed.
            ServerError: the server does not answer, or something could not be restored; the log tail lists what was. The entry
                is kept.
        """
        attached.journal = None
        try:
            with _writing(self._directory):
                return self._undo(entry, attached, restart_command, run_command=run_command)
        except DialinError:
            if entry.id not in self._journals:  # of another process: whoever asked for the undo reports the error
                still_changed.forget(entry.id)
            raise
        finally:
            self._locks.release(entry.id)
            attached.claim.release()

    def _undo(self, entry: UndoEntry, attached: Attached, restart_command: str | None, *, run_command: bool) -> list[str]:
        journal = self._journals.get(entry.id)
        current = journal.entry if journal is not None else read(self._path(entry.id))
        if current is None:
            still_changed.forget(entry.id)
            return []
        if not self._take(entry.id):
            raise UserError(
                f"{current.where} is being studied or restored by another dialin: {current.studied_by}", "Wait for it to end"
            )
        command = self.apply_command(current, attached) if current.applied else None
        try:
            attached.directory = self._private(current.id)
            if run_command:  # else what a killed dialin had begun restarts the server in the midst of this
                user_command.await_earlier(attached.directory)
            if command is not None and run_command and attached.is_down():
                attached.bind(current.server)
                command.put_back()
            _check_same_server(current, attached)
            attached.bind(current.server)
            attached.claim.take()
            lines = self._end_statements(current, attached)
            attached.wait_for_changes()
            attached.journal = WrittenJournal(current, self._write_if_possible)
            still_changed.remember(attached.journal)
            if journal is not None:
                self._journals[entry.id] = attached.journal
            faults = restore_server(attached.journal, attached, lines, restart_command, command, run_command=run_command)
        except ServerError as error:
            if current.at_start and attached.is_gone():
                raise user_command.did_not_restart(error, current.at_start) from error
            raise
        finally:
            attached.journal = None
        if faults:
            raise ServerError(
                f"{current.where} could not be restored completely: {'; '.join(faults)}",
                "Fix the cause, then run `dialin restore`",
                "\n".join(lines),
            )
        self.forget(current)
        return lines

    def sessions_file(self, entry: UndoEntry) -> Path:
        """Where the sessions of the study's load are recorded: a load that outlives its dialin is ended when this is undone."""
        return self._directory / f"{entry.id}.sessions"

    def _end_statements(self, entry: UndoEntry, attached: Attached) -> list[str]:
        """End what a load still executes on the server: it would hold its locks, and slow down whoever uses the server next."""
        record = self.sessions_file(entry)
        if not load_sessions.recorded(record):
            return []
        with attached.connect_to_change() as (query, _):
            ended = load_sessions.end_recorded(query, record, self._clock)
        lines = [f"{counted(ended.ended, 'statement')} of the load: ended"] if ended.ended else []
        return lines + ([f"{counted(ended.left, 'statement')} of the load: killed, not ended yet"] if ended.left else [])

    def _take(self, name: str) -> bool:
        try:
            return self._locks.take(name)
        except OSError:
            if name not in self._journals:
                raise
            return True  # the directory is gone or full, and this process began the study

    def forget(self, entry: UndoEntry) -> None:
        self._journals.pop(entry.id, None)
        self.remove(entry.id)

    def remove(self, name: str) -> None:
        """Remove the file of an entry, even if it cannot be read."""
        with _writing(self._directory):
            self._path(name).unlink(missing_ok=True)
            still_changed.forget(name)
            load_sessions.forget(self._directory / f"{name}.sessions")
            shutil.rmtree(self._private(name), ignore_errors=True)
            self._locks.remove(name)

    def _private(self, name: str) -> Path:
        """Return the private directory of an entry, which is made when a command of the user is run."""
        return self._directory / f"{name}.apply"

    def _path(self, name: str) -> Path:
        return self._directory / f"{name}.json"

    def _write(self, entry: UndoEntry) -> None:
        with _writing(self._directory):
            self._directory.mkdir(parents=True, exist_ok=True, mode=0o700)
            self._locks.take(entry.id)  # again, in case somebody cleared the directory
            replace_text(self._path(entry.id), json.dumps(asdict(entry)), mode=0o600)
            _sync(self._directory)

    def _write_if_possible(self, entry: UndoEntry) -> None:
        # A full disk must not prevent the server from being restored.
        with suppress(DialinError):
            self._write(entry)


def find_attached(
    entry: UndoEntry, environment: Mapping[str, str], clock: Clock, *, timeout: float = 10.0, patience: float = PATIENCE
) -> Attached:
    """Return the server of an entry, without connecting to it.

    Raises:
        UserError: the option file or login path of its account is gone, or names another account by now.
    """
    moves = not entry.server["hostname"]
    return Attached(entry.account(environment), clock, timeout=timeout, patience=patience, moves=moves)


def _check_same_server(entry: UndoEntry, attached: Attached) -> None:
    """Raise UserError if the server that answers is not the one that was changed."""
    actual = AttachedBuild.of(attached.variables(), moves=attached.moves).facts
    if facts := differences(entry.server, actual):
        raise UserError(
            f"Another server answers where {entry.where} was: its {listed(facts)} differ{'s' if len(facts) == 1 else ''}",
            "Nothing was changed there. Bring that server back, or delete the record: "
            f"{command_line('dialin restore --forget', entry.id)}",
        )


def _describe(
    attached: Attached, attachment: Attachment, names: Collection[str], schema: str | None, *, restart: bool
) -> UndoEntry:
    account, file = attached.account, attachment.defaults_file
    persisted = attached.persisted() if restart else {}
    before = attached.variables()
    variables = [reported_name(name, before) for name in names]
    check_same(attached.build.facts, before)
    path = str(Path(file).expanduser().absolute()) if file else None
    socket = str(account.socket) if account.socket else None
    return UndoEntry(
        id=uuid.uuid4().hex[:12],
        owner=os.getpid(),
        study=attached.study,
        machine=machine(),
        attachment={"defaults_file": path, "login_path": attachment.login_path},
        place={"socket": socket, "host": account.host, "port": account.port, "user": account.user},
        server=attached.build.facts,
        before=before,
        exact=attached.exact_values(variables),
        persisted={name: persisted.get(name) for name in variables} if restart else {},
        schema=schema,
    )


@contextmanager
def _writing(directory: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise MachineError.of(
            error,
            f"The record for undoing changes cannot be written to {directory}",
            "Check that the disk has space and that you may write there, or set DIALIN_HOME to another directory",
        ) from error


def _sync(directory: Path) -> None:
    descriptor = os.open(directory, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
