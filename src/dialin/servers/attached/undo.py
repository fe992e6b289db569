"""What puts attached servers back as they were: written to disk before the first change, struck out when it is done.

An entry says which server it is about, how that is reached (never the password), what every variable was, which values dialin
gave it, and which schema dialin made. Undoing is safe to repeat, and it is refused on any other server. A variable that holds
neither its old value nor one that dialin gave it was set by somebody else meanwhile: it is left alone, and that is said.
"""

from __future__ import annotations

import fcntl
import json
import os
import uuid
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, replace
from pathlib import Path

from dialin.clock import Clock
from dialin.errors import ServerError, UserError
from dialin.model.setting import Setting
from dialin.model.study import Attachment
from dialin.paths import replace_text
from dialin.servers.attached import schema as schemas
from dialin.servers.attached.assign import variable
from dialin.servers.attached.entry import Entry, check_same_server, facts, read
from dialin.servers.attached.put_back import put_back
from dialin.servers.attached.server import Attached
from dialin.servers.processes import identity
from dialin.text import listed
from dialin.variables import rules

SCHEMA = "dialin_sbtest"
"""The schema that dialin makes where the user named none."""

_LOCK = "lock"


class UndoLog:
    """The entries on this machine, a file each.

    Args:
        directory: where they are kept; made when the first is written.
    """

    def __init__(self, directory: Path) -> None:
        self._directory = directory

    def entries(self) -> list[Entry]:
        """Return all entries that can be read."""
        return [entry for path in sorted(self._directory.glob("*.json")) if (entry := read(path)) is not None]

    def orphans(self) -> list[Entry]:
        """Return those whose dialin is gone."""
        return [entry for entry in self.entries() if entry.is_orphan]

    def begin(
        self,
        attached: Attached,
        attachment: Attachment,
        names: Collection[str],
        *,
        schema: str | None = None,
        restart: bool = False,
    ) -> Entry:
        """Write down what is needed to put a server back; from here on `attached` may be changed.

        Args:
            attached: the server; what it is changed by is written down from now on.
            attachment: where its account was found.
            names: every variable that will be set.
            schema: a schema that `make_schema` will make, to be dropped when this is undone.
            restart: variables will be set that take a restart.

        Raises:
            UserError: the server is being studied already, or was left changed, or lacks a variable, or the schema is there
                already or may not be made; nothing was changed.
            ServerError: the server does not answer.
        """
        self._directory.mkdir(parents=True, exist_ok=True, mode=0o700)
        with self._held():
            entry = self._describe(attached, attachment, names, schema, restart=restart)
            self._check_free(entry)
            if schema is not None:
                with attached.connect() as query:
                    schemas.check_absent(query, schema)
            self._write(entry)
        attached.journal = _Journal(self, entry)
        return entry

    def make_schema(self, entry: Entry, attached: Attached) -> None:
        """Make the schema of an entry.

        Raises:
            UserError: it may not be made, or somebody made it meanwhile.
            ServerError: the server does not answer, or refuses.
        """
        if entry.schema is not None:
            with attached.connect() as query:
                schemas.make(query, entry.schema, entry.id)

    def _describe(
        self, attached: Attached, attachment: Attachment, names: Collection[str], schema: str | None, *, restart: bool
    ) -> Entry:
        account, wanted = attached.account, [variable(name) for name in names]
        persisted = attached.persisted() if restart else {}
        file = attachment.defaults_file
        return Entry(
            id=uuid.uuid4().hex[:12],
            owner=os.getpid(),
            owner_identity=identity(os.getpid()),
            attachment={
                "defaults_file": str(Path(file).expanduser().absolute()) if file else None,
                "login_path": attachment.login_path,
            },
            place={
                "socket": str(account.socket) if account.socket else None,
                "host": account.host,
                "port": account.port,
                "user": account.user,
            },
            server=facts(attached.build),
            before=attached.variables(),
            exact=attached.exact_values(wanted),
            persisted={name: persisted.get(name) for name in wanted} if restart else {},
            schema=schema,
        )

    def _check_free(self, entry: Entry) -> None:
        for other in self.entries():
            if other.server == entry.server:
                if other.is_orphan:
                    raise UserError(
                        f"{entry.where} still has what a dialin that died changed there", "`dialin restore` puts it back"
                    )
                raise UserError(
                    f"{entry.where} is being studied by another dialin (process {other.owner})", "Wait for it to end"
                )

    def undo(self, entry: Entry, attached: Attached, *, restart_command: str | None = None) -> list[str]:
        """Put a server back as it was, check that it is, and strike the entry out.

        Args:
            entry: what was written down; what is on disk of it is what counts.
            attached: the server.
            restart_command: what restarts it, where a variable takes that.

        Returns:
            What was done, a line each; nothing where there was nothing to do.

        Raises:
            UserError: this is another server, or the entry is being undone by another dialin; nothing was changed.
            ServerError: the server does not answer, or something could not be put back: what was is in the log tail. The
                entry is kept.
        """
        attached.journal = None
        with self._held():
            current = read(self._path(entry.id))
            if current is None:
                return []
            check_same_server(current, attached)
            lines: list[str] = []
            faults = put_back(current, attached, lines, self._write, restart_command)
            if faults:
                raise ServerError(
                    f"{current.where} could not be put back in full: {'; '.join(faults)}",
                    "Mend the cause, then `dialin restore` tries again",
                    "\n".join(lines),
                )
            self.forget(current)
        return lines

    def forget(self, entry: Entry) -> None:
        """Strike an entry out."""
        self._path(entry.id).unlink(missing_ok=True)

    def _path(self, name: str) -> Path:
        return self._directory / f"{name}.json"

    def _write(self, entry: Entry) -> None:
        # replace_text makes a file anew; it must be private from its first byte on.
        before = os.umask(0o077)
        try:
            replace_text(self._path(entry.id), json.dumps(asdict(entry)))
        finally:
            os.umask(before)
        _sync(self._directory)

    @contextmanager
    def _held(self) -> Iterator[None]:
        """Keep other processes from the log; the kernel lets go of it however this one ends."""
        descriptor = os.open(self._directory / _LOCK, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                raise UserError(
                    "Another dialin is taking hold of an attached server, or putting one back", "Try again when it is done"
                ) from None
            yield
        finally:
            os.close(descriptor)


class _Journal:
    """Writes down what is about to be changed on one server."""

    def __init__(self, log: UndoLog, entry: Entry) -> None:
        self._log = log
        self._entry = entry

    def _save(self, **changes: object) -> None:
        self._entry = replace(self._entry, **changes)  # type: ignore[arg-type]
        self._log._write(self._entry)

    def _must_cover(self, names: Collection[str], covered: Collection[str]) -> None:
        if missing := [name for name in names if name not in covered]:
            raise ValueError(f"what {listed(missing)} was before is not written down")

    def about_to_set(self, setting: Setting) -> None:
        """See `attached.Journal`."""
        self._must_cover(setting, self._entry.exact)
        self._save(given=_joined(self._entry.given, setting), pending=sorted({*self._entry.pending, *setting}))

    def was_set(self, in_force: Mapping[str, str]) -> None:
        """See `attached.Journal`."""
        changed = {name: value for name, value in in_force.items() if not rules.identifies_instance(name)}
        moved = sorted({*self._entry.moved, *(name for name in changed if name not in self._entry.exact)})
        self._save(given=_joined(self._entry.given, changed), moved=moved, pending=[])

    def about_to_persist(self, setting: Setting) -> None:
        """See `attached.Journal`."""
        self._must_cover(setting, self._entry.persisted)
        self._save(given=_joined(self._entry.given, setting), at_start=sorted({*self._entry.at_start, *setting}))

    def about_to_restart(self) -> None:
        """See `attached.Journal`."""
        self._save(restarted=True)


def find_attached(entry: Entry, environment: Mapping[str, str], clock: Clock, *, timeout: float = 10.0) -> Attached:
    """Return the server that an entry is about; nothing is connected yet.

    Raises:
        UserError: the option file or login path of its account is gone.
    """
    return Attached(entry.account(environment), clock, timeout=timeout)


def _joined(given: Mapping[str, list[str]], more: Mapping[str, object]) -> dict[str, list[str]]:
    return {**given, **{name: list(dict.fromkeys([*given.get(name, []), str(value)])) for name, value in more.items()}}


def _sync(directory: Path) -> None:
    """Have the names in a directory on disk, too."""
    descriptor = os.open(directory, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
