"""An attached server: one that dialin did not start, studied where it runs, and put back as it was.

Nothing here changes it unless what undoes the change was written down first; see `undo`.
"""

from __future__ import annotations

import socket as sockets
import struct
from collections.abc import Iterable, Mapping
from contextlib import AbstractContextManager
from functools import cached_property
from pathlib import Path
from typing import Protocol

import psutil

from dialin.clock import Clock
from dialin.errors import ServerError, UserError
from dialin.model.setting import Setting, Value, same_value
from dialin.servers.account import Account
from dialin.servers.attached import restart, standing
from dialin.servers.attached.assign import Scope, assign, is_dynamic, reset_persisted, variable
from dialin.servers.attached.build import AttachedBuild
from dialin.servers.capabilities import Capability, has
from dialin.servers.connection import Query, connect, global_variables, status
from dialin.servers.processes import identity, tail

PATIENCE = 600.0
"""Seconds that a server may take to come into force with a value, or to answer again after a restart."""

_POLL = 0.1
_PASSES = 4
_UNMOVED = 5.0
"""Seconds after which a value that has not moved in the background is taken for one that was rounded to the old one."""

_SAME_START = 2.0
"""Seconds by which the starts that two readings of Uptime tell may differ and still be one."""

_IN_THE_BACKGROUND = {
    "innodb_buffer_pool_size": "Innodb_buffer_pool_resize_status",
    "innodb_redo_log_capacity": "Innodb_redo_log_resize_status",
}
"""Variables that come into force after SET has returned, and the status variable that tells when."""


class Journal(Protocol):
    """Writes down what is about to be changed, on disk before it returns."""

    def about_to_set(self, setting: Setting) -> None:
        """Note the values that the running server is about to be given.

        Raises:
            ValueError: what a variable was before is not written down.
        """
        ...

    def was_set(self, in_force: Mapping[str, str]) -> None:
        """Note what changed by that: those that were asked for, and those that moved along."""
        ...

    def about_to_persist(self, setting: Setting) -> None:
        """Note the values that the next start is about to be given.

        Raises:
            ValueError: what a variable was before is not written down.
        """
        ...

    def about_to_restart(self) -> None:
        """Note that values which were set at run time are about to be lost."""
        ...


class Attached:
    """An attached server.

    Args:
        account: how it is reached.
        clock: for waiting.
        timeout: seconds for connecting and for each answer.
    """

    def __init__(self, account: Account, clock: Clock, *, timeout: float = 10.0) -> None:
        self._account = account
        self._clock = clock
        self._timeout = timeout
        self._process: tuple[int, str] | None = None
        self.journal: Journal | None = None

    @property
    def account(self) -> Account:
        """How it is reached."""
        return self._account

    def connect(self, timeout: float | None = None) -> AbstractContextManager[Query]:
        """Connect as the account; use it as a context manager."""
        return connect(self._account, timeout=timeout or self._timeout)

    def variables(self) -> dict[str, str]:
        """Return every variable that the server reports.

        Raises:
            ServerError: it does not answer.
        """
        with self.connect() as query:
            return global_variables(query)

    @cached_property
    def _first_seen(self) -> dict[str, str]:
        return self.variables()

    @cached_property
    def build(self) -> AttachedBuild:
        """What it runs, read once.

        Raises:
            ServerError: it does not answer.
            UserError: it is neither MySQL nor MariaDB.
        """
        return AttachedBuild.of(self._first_seen)

    # Its process

    @property
    def pid(self) -> int | None:
        """Its process on this machine; None where it is gone, or runs elsewhere."""
        if self._process is None:
            found = self._find_process()
            self._process = (found, identity(found)) if found else None
        if self._process is None or identity(self._process[0]) != self._process[1]:
            return None
        return self._process[0]

    def _find_process(self) -> int | None:
        if self._account.socket is not None:
            return _listener(self._account.socket)
        if not self._account.is_local or self._first_seen.get("hostname") != sockets.gethostname():
            return None
        return self._process_by_file()

    def _process_by_file(self) -> int | None:
        """Return the process that the server's pid file names, if it began when the server did: the file may be another's."""
        try:
            number = int(Path(self._first_seen.get("pid_file", "")).read_text(encoding="ascii"))
            began = psutil.Process(number).create_time()
        except (OSError, ValueError, psutil.Error):
            return None
        with self.connect() as query:
            return number if abs(self._started(query) - began) < 5 * _SAME_START else None

    def _started(self, query: Query) -> float:
        return self._clock.now() - float(status(query, "Uptime") or 0)

    def is_gone(self) -> bool:
        """Tell whether it has ended: its process is gone, or nothing answers where it listened."""
        if self._process is not None:
            return self.pid is None
        try:
            with self.connect(3.0):
                return False
        except ServerError:
            return not _listens(self._account)  # one that takes no more connections is not gone

    def last_words(self) -> str:
        """Return in one line why it ended, as far as that can be seen from here."""
        lines = self.log_tail().splitlines()
        errors = [line for line in lines if "[ERROR]" in line and "Aborting" not in line]
        return errors[-1].split("[ERROR]")[-1].strip()[:400] if errors else "it no longer answers"

    def log_tail(self) -> str:
        """Return the last lines of its log, where that is a file of this machine which can be read."""
        named = self._first_seen.get("log_error", "") if "_first_seen" in self.__dict__ else ""
        if not named or named == "stderr" or not self._account.is_local:
            return ""
        return tail(Path(self._first_seen.get("datadir", "")) / named)

    # Looking before touching

    def live_reasons(self) -> list[str]:
        """Return why the server must be taken for one that is in use, a sentence each; it takes a second or two.

        Raises:
            ServerError: it does not answer.
            UserError: the account may not see what others do.
        """
        with self.connect() as query:
            return standing.reasons(query, global_variables(query), self._clock)

    def check_writable(self) -> None:
        """Make sure that the load can write.

        Raises:
            UserError: the server is told to take no writes.
        """
        standing.check_writable(self.variables())

    def needs_restart(self, names: Iterable[str]) -> list[str]:
        """Return the variables that only a start can set. The server is asked, and nothing is changed.

        Raises:
            UserError: it lacks a variable, or a privilege is missing.
        """
        with self.connect() as query:
            return [variable(name) for name in names if not is_dynamic(query, name)]

    # Changing it

    def set_global(self, setting: Setting) -> dict[str, str]:
        """Set variables of the running server, and wait until they are in force.

        Variables that limit each other are set again until nothing changes any more.

        Returns:
            What is in force of them; the server may have rounded it.

        Raises:
            UserError: there is no such variable, it takes no such value, only a start can set it, or a privilege is missing.
            ServerError: the server does not answer, or refuses for another reason.
        """
        journal = self._must_have_journal()
        wanted = {variable(name): value for name, value in setting.items()}
        if not wanted:
            return {}
        journal.about_to_set(wanted)
        with self.connect(PATIENCE) as query:
            before = global_variables(query)
            try:
                self._assign_all(query, wanted)
            finally:
                after = global_variables(query)
                journal.was_set({name: value for name, value in after.items() if name in wanted or value != before.get(name)})
        return {name: after[name] for name in wanted if name in after}

    def bring_back(self, wanted: Mapping[str, Value | None]) -> dict[str, str]:
        """Set variables of the running server to what they were, each as far as it goes.

        Returns:
            Why a variable could not be set, by its name.

        Raises:
            ServerError: the server does not answer.
        """
        refused: dict[str, str] = {}
        with self.connect(PATIENCE) as query:
            for name, value in wanted.items():
                try:
                    self._assign(query, name, value)
                except (UserError, ServerError) as error:
                    refused[name] = error.what
            self._assign_all(query, {name: value for name, value in wanted.items() if name not in refused})
        return refused

    def persist_only(self, setting: Setting) -> None:
        """Give variables values for the next start (SET PERSIST_ONLY).

        Raises:
            UserError: the server cannot keep values so, takes no such value, or a privilege is missing.
            ServerError: it does not answer, or refuses for another reason.
        """
        journal = self._must_have_journal()
        self.check_persists()
        wanted = {variable(name): value for name, value in setting.items()}
        journal.about_to_persist(wanted)
        with self.connect() as query:
            for name, value in wanted.items():
                assign(query, Scope.PERSIST_ONLY, name, value)

    def check_persists(self) -> None:
        """Make sure that the server can be told values for its next start.

        Raises:
            UserError: it cannot.
        """
        if not has(self.build, Capability.PERSIST):
            raise UserError(
                f"{self.build.id} cannot be told over SQL what to start with, as MySQL can from 8.0 on",
                "Study variables that only a start can set on a sandbox with --server",
            )
        if self._first_seen.get("persisted_globals_load", "ON").upper() not in ("ON", "1"):
            raise UserError("The server does not load what is persisted: persisted_globals_load is OFF", "Switch it on first")

    def persisted(self) -> dict[str, str]:
        """Return what the next start will be given; nothing where the server cannot keep that.

        Raises:
            ServerError: it does not answer.
        """
        if not has(self.build, Capability.PERSIST):
            return {}
        with self.connect() as query:
            return {str(name): str(value) for name, value in query("SELECT * FROM performance_schema.persisted_variables")}

    def bring_back_persisted(self, wanted: Mapping[str, str | None]) -> None:
        """Give variables the values for the next start that they had; None takes them out.

        Raises:
            UserError: a privilege is missing.
            ServerError: the server does not answer, or refuses.
        """
        with self.connect() as query:
            for name, value in wanted.items():
                if value is None:
                    reset_persisted(query, name)
                else:
                    assign(query, Scope.PERSIST_ONLY, name, value)

    def exact_values(self, names: Iterable[str]) -> dict[str, Value | None]:
        """Return variables as SET takes them back: whole where SHOW cuts them off, None where they are NULL.

        Raises:
            UserError: the server lacks one.
            ServerError: it does not answer.
        """
        found: dict[str, Value | None] = {}
        with self.connect() as query:
            shown = global_variables(query)
            for name in map(variable, names):
                if name not in shown:
                    raise UserError(f"The server has no variable {name}", "`dialin variables` lists them")
                value = query(f"SELECT @@GLOBAL.`{name}`")[0][0]
                found[name] = None if value is None else str(value) if isinstance(value, str) and value else shown[name]
        return found

    def restart(self, command: str) -> None:
        """Restart the server by the user's command, and wait until it answers.

        Args:
            command: a program with its arguments; no shell reads it. It must return when the server was started.

        Raises:
            UserError: the command cannot be run.
            ServerError: it failed, or the server was not restarted or does not answer; its output is in the error.
        """
        restart.words_of(command)
        journal, known = self.journal, self.pid
        with self.connect() as query:
            started = self._started(query)
        if journal is not None:
            journal.about_to_restart()
        said = restart.run(command)
        self._process = None
        limit = self._clock.monotonic() + PATIENCE
        while not self._runs_anew(started, known):
            if self._clock.monotonic() > limit:
                raise ServerError(
                    f"The server did not answer within {PATIENCE:.0f} s of its restart", "See its log", self.log_tail() or said
                )
            self._clock.sleep(_POLL)

    def _runs_anew(self, started: float, known: int | None) -> bool:
        """Tell whether the server answers and has another start."""
        if self._account.socket is not None and not _listens(self._account):
            return False
        try:
            with self.connect() as query:
                now = self._started(query)
        except ServerError:
            return False
        if now > started + _SAME_START:
            return True
        if known is not None and (found := self._find_process()) is not None:
            return found != known
        return False

    def _assign_all(self, query: Query, wanted: Mapping[str, Value | None]) -> None:
        """Set variables until each has its value, or setting them again changes nothing."""
        left, before = dict(wanted), dict[str, str]()
        for _ in range(_PASSES):
            for name, value in left.items():
                self._assign(query, name, value)
            now = global_variables(query)
            left = {name: value for name, value in wanted.items() if not _is(value, now.get(name, ""))}
            if not left or now == before:
                return
            before = now

    def _assign(self, query: Query, name: str, value: Value | None) -> None:
        """Set one variable; one that comes into force in the background is waited for, before and after."""
        if (told_by := _IN_THE_BACKGROUND.get(name)) is None:
            assign(query, Scope.GLOBAL, name, value)
            return
        self._settle(query, name, told_by)
        was = global_variables(query)[name]
        if _is(value, was):
            return
        assign(query, Scope.GLOBAL, name, value)
        limit = self._clock.monotonic() + _UNMOVED
        while global_variables(query)[name] == was and self._clock.monotonic() < limit:
            self._clock.sleep(_POLL)
        self._settle(query, name, told_by)

    def _settle(self, query: Query, name: str, told_by: str) -> None:
        limit = self._clock.monotonic() + PATIENCE
        while not _is_settled(status(query, told_by)):
            if self._clock.monotonic() > limit:
                raise ServerError(f"{name} was not in force within {PATIENCE:.0f} s", "See the server's log", self.log_tail())
            self._clock.sleep(_POLL)

    def _must_have_journal(self) -> Journal:
        if self.journal is None:
            raise RuntimeError("an attached server is changed only when its undo is written down")
        return self.journal


def _is(value: Value | None, in_force: str) -> bool:
    return in_force == "" if value is None else same_value(value, in_force)


def _is_settled(said: str | None) -> bool:
    words = (said or "").lower()
    return words in ("", "ok") or any(word in words for word in ("complet", "not started", "failed", "abort", "nothing"))


def _listens(account: Account) -> bool:
    if account.socket is not None:
        return _listener(account.socket) is not None
    try:
        sockets.create_connection((account.host, account.port), 3.0).close()
    except OSError:
        return False
    return True


def _listener(path: Path) -> int | None:
    """Return the process that listens on a unix socket, as the kernel tells it; None where it is not of this machine's own."""
    with sockets.socket(sockets.AF_UNIX) as probe:
        try:
            probe.settimeout(3)
            probe.connect(str(path))
            credentials = probe.getsockopt(sockets.SOL_SOCKET, sockets.SO_PEERCRED, struct.calcsize("3i"))
        except OSError:
            return None
    number = int(struct.unpack("3i", credentials)[0])
    return number if number > 0 and identity(number) else None
