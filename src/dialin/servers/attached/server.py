"""An attached server: one that dialin did not start, studied where it runs, and restored afterwards.

Nothing here changes the server before the undo of that change is recorded; see `undo`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from functools import cached_property
from pathlib import Path
from typing import Any

from dialin.clock import Clock
from dialin.errors import DialinError, ServerAwayError, ServerError, UserError
from dialin.model.cause import Cause, CauseCode, Fault, exit_by
from dialin.model.query import Query
from dialin.model.setting import Value, means_on
from dialin.servers.account import Account
from dialin.servers.assign import Scope, Wanted, assign, exact_values, is_dynamic, reset_persisted
from dialin.servers.attached import activity, server_process, user_command
from dialin.servers.attached.attached_build import AttachedBuild, Facts, StartTime, check_same, start_time, uptime
from dialin.servers.attached.claim import CHANGE, Claim, study_program, take_lock
from dialin.servers.attached.server_files import ServerFiles
from dialin.servers.attached.server_process import ServerProcess
from dialin.servers.attached.undo_journal import WrittenJournal
from dialin.servers.attached.user_command import CommandError
from dialin.servers.capabilities import Capability, has
from dialin.servers.connection import connect, global_variables
from dialin.servers.setter import Setter
from dialin.variables.aliases import reported_name

PATIENCE = 600.0
"""Seconds that a value may take to come into force, or the server to answer again after a restart."""

_POLL = 0.1

_RESTARTS_WITHIN = 10.0
"""Seconds that a server may go on answering after a command that restarts it has ended."""

_TOLD_APART = 3.5
"""Seconds between two starts of a server that are told apart for certain: both are known to whole seconds."""

_CHANGED_WITHIN = 60
"""Seconds that a server may take to end the statement of a connection that is gone."""


class Attached:
    """An attached server; `timeout` is for connecting and for each answer, `patience` for a change, both in seconds.

    `study` is the directory of the study that may change it, which other dialins can see. `session_settings` are statements
    that each connection to it begins with, except the one that holds the lock.

    Raises:
        UserError: from any method: a privilege is missing, the server lacks a variable, refuses a value, or accepts it only at
            startup, or another dialin studies the server.
        ServerError: the server does not answer, refuses for another reason, or is not the one whose undo was recorded.
    """

    def __init__(
        self, account: Account, clock: Clock, *, timeout: float = 10.0, patience: float = PATIENCE, moves: bool = False
    ) -> None:
        self.account = account
        self.moves = moves
        self.directory: Path | None = None
        self._clock = clock
        self._timeout = timeout
        self._process: ServerProcess | None = None
        self._files: ServerFiles | None = None
        self._last_start: StartTime | None = None
        self._persisted_here: dict[str, None] = {}
        self._noticed: dict[str, str] = {}
        self._bound: Facts | None = None
        self.patience = patience
        self.journal: WrittenJournal | None = None
        self.study = ""
        self.session_settings: tuple[str, ...] = ()
        self.claim = Claim(lambda: connect(self.account, timeout=self._timeout, program=study_program(self.study)))

    @contextmanager
    def connect(self, timeout: float | None = None) -> Iterator[Query]:
        with connect(self.account, timeout=timeout or self._timeout) as query:
            for statement in self.session_settings:
                query(statement)
            yield query

    def bind(self, facts: Facts) -> None:
        """Allow changes from now on, but only to the server with these facts, whichever server answers."""
        self._bound = facts
        with suppress(DialinError):
            _ = self.pid  # what its log is, which may have to be read when the server is gone, is proved while it runs

    @contextmanager
    def connect_to_change(self, timeout: float | None = None) -> Iterator[tuple[Query, dict[str, str]]]:
        """Connect in order to change something; yields the query and the current values of all variables."""
        if self._bound is None:
            raise RuntimeError("an attached server is changed only when its undo is recorded")
        with self.connect(timeout or self.patience) as query:
            now = global_variables(query)
            check_same(self._bound, now)
            yield query, now

    def variables(self) -> dict[str, str]:
        with self.connect() as query:
            return global_variables(query)

    @cached_property
    def _initial_variables(self) -> dict[str, str]:
        return self.variables()

    @cached_property
    def build(self) -> AttachedBuild:
        return AttachedBuild.of(self._initial_variables, moves=self.moves)

    # Process

    @property
    def pid(self) -> int | None:
        if self._process is None:
            self._process = self._find_process()
            if self._process is not None:
                self._files = ServerFiles.prove(self._process, self._initial_variables)
        return self._process.pid if self._process is not None and self._process.is_alive else None

    def _find_process(self) -> ServerProcess | None:
        hostname = "" if self.account.socket is not None else self._initial_variables.get("hostname", "")
        return server_process.find(self.account, hostname)

    @property
    def files(self) -> ServerFiles | None:
        """The server's files on this machine; None where the server, or its process, is not known to be here."""
        return self._files if self.pid is not None else None

    @property
    def data_directory(self) -> Path | None:
        return self.files.data if self.files is not None else None

    def started(self, timeout: float | None = None) -> StartTime:
        with self.connect(timeout) as query:
            return start_time(query)

    def is_gone(self) -> bool:
        """Return whether the server has ended: its process is gone, it was restarted, or nothing listens at its address."""
        ended = self._has_ended()
        return not self.listens() if ended is None else ended  # a server that accepts no more connections is not gone

    def has_ended(self) -> bool:
        """Return whether the server has ended, as its process or its uptime shows; False where it cannot be asked."""
        return bool(self._has_ended())

    def _has_ended(self) -> bool | None:
        if self._process is not None:
            return self.pid is None
        try:
            started = self.started(3.0)
        except ServerError:
            return None
        return self._last_start is not None and started.is_another(self._last_start)

    def listens(self) -> bool:
        """Return whether anything accepts connections at the server's address; a server that is shutting down does not."""
        return server_process.listens(self.account)

    def is_down(self) -> bool:
        """Return whether the server gives no answer: nothing listens at its address, or it has ended."""
        try:
            self.started()
        except ServerError:
            return self.is_gone()
        return False

    def is_back(self) -> bool:
        """Return whether the server answers; if it does, `is_gone` refers to this start of the server from now on.

        Raises:
            ServerAwayError: another version or another server answers.
            TurnedAwayError: it does not accept the account any more.
        """
        try:
            self._last_start = self.started()
            now = AttachedBuild.of(self.variables(), moves=self.moves)
        except ServerError as error:
            if error.fault is Fault.REQUEST:
                raise
            return False
        if self._process is not None and self.pid is None:
            self._process = None
            _ = self.pid
        if (now.facts, now.version_text) != (self.build.facts, self.build.version_text):
            raise ServerAwayError(
                f"Another server answers at {self.account} than the one of the study: {now.id}, host name {now.hostname}",
                f"Bring back {self.build.id}, host name {self.build.hostname}",
                resumable=True,
            )
        return True

    def exit(self) -> dict[str, Any]:
        """Return how the server ended, as the figure `exit` of a `Cause`: the last error in its log, if that can be read."""
        lines = self.log_tail().splitlines()
        errors = [line for line in lines if "[ERROR]" in line and "Aborting" not in line]
        return exit_by(None, errors[-1].split("[ERROR]")[-1].strip()[:400] if errors else "")

    def log_tail(self) -> str:
        """Return the last lines of the server's log, escaped; empty if it is not known to be on this machine."""
        return self._files.log_tail() if self._files is not None else ""

    # Inspection

    def live_reasons(self) -> list[str]:
        """Return the reasons why the server counts as in use, a sentence each; this takes a second or two."""
        with self.connect() as query:
            return activity.reasons(query, global_variables(query), self._clock, not_others=self.claim.connection)

    def check_writable(self) -> None:
        activity.check_writable(self.variables())

    def needs_restart(self, names: Iterable[str], *, may_set: bool = True) -> list[str]:
        """Return the variables that can be set only at startup. The server is asked, and nothing is changed.

        Without `may_set`, the account need not be allowed to set the others.
        """
        with self.connect() as query:
            return [name for name in map(self._variable, names) if not is_dynamic(query, name, may_set=may_set)]

    def _variable(self, name: str) -> str:
        return reported_name(name, self._initial_variables)

    def exact_values(self, names: Iterable[str]) -> dict[str, Value | None]:
        with self.connect() as query:
            return exact_values(query, names)

    # Changes

    def set_global(self, setting: Wanted) -> dict[str, str]:
        """Set variables of the running server and wait until they are in force; None means NULL.

        Variables that limit each other are set again until nothing changes any more. If a variable that changed along with an
        earlier setting does not have its original value, all variables are first set to their values before the study, so that
        the effect of a setting does not depend on earlier settings.

        Returns:
            The values in force, read right after the last variable was set; the server may have rounded them.
        """
        journal = self._must_have_journal()
        values = {self._variable(name): value for name, value in setting.items()}
        if not values:
            return {}
        self.claim.take()
        with self.connect_to_change() as (query, before):
            take_lock(query, CHANGE, _CHANGED_WITHIN)
            journal.about_to_set(values, before)
            setter = self._setter(query)
            also_changed = {name: value for name, value in journal.also_changed().items() if name not in values}

            def write_down(after: Mapping[str, str]) -> None:
                journal.was_set({name: value for name, value in after.items() if name in values or value != before.get(name)})

            try:
                setter.start_from(journal.before(values), also_changed)
                setter.set_all(values)
            except DialinError:  # after Ctrl-C the connection may be in the middle of an answer, and the values stay pending
                with suppress(DialinError):
                    write_down(global_variables(query))
                raise
            # Not read again: what somebody else sets a moment later must not be recorded as dialin's value.
            write_down(setter.last_read)
        return {name: setter.last_read[name] for name in values if name in setter.last_read}

    def wait_for_changes(self) -> None:
        """Wait until the server has finished the changes that a dialin sent before it died or was interrupted.

        Raises:
            ServerError: the server is still making them.
        """
        with self.connect(self.patience) as query:
            if take_lock(query, CHANGE, _CHANGED_WITHIN) is False:
                raise ServerError(
                    f"The server is still setting variables for a dialin that has ended (it holds the lock '{CHANGE}')",
                    "Wait for that, or KILL the connection; then run `dialin restore`",
                )

    def restore_globals(self, wanted: Wanted) -> dict[str, DialinError]:
        """Restore variables of the running server; return the errors of those that were refused, by name."""
        with self.connect_to_change() as (query, _):
            return self._setter(query).set_what_can_be(wanted)

    def _setter(self, query: Query) -> Setter:
        return Setter(query, self._clock, self.patience, self.log_tail)

    def persist_only(self, setting: Wanted) -> None:
        """Give variables values for the next start (SET PERSIST_ONLY); None removes what is persisted."""
        journal = self._must_have_journal()
        self.check_persists()
        values = {self._variable(name): value for name, value in setting.items()}
        with self.connect_to_change() as (query, _):
            journal.about_to_persist(values)
            self._persisted_here |= dict.fromkeys(values)
            _persist(query, values)
            journal.was_persisted(values, _persisted(query))

    def persisted_by_others(self) -> dict[str, tuple[str, str]]:
        """Return the changes by others to variables that dialin persisted; each change is returned once.

        Returns:
            By variable, the value that dialin persisted and the value that is persisted now; empty if not persisted.
        """
        if not self._persisted_here:
            return {}
        changed = self._must_have_journal().persisted_by_others(self.persisted())
        unreported = {name: values for name, values in changed.items() if self._noticed.get(name) != values[1]}
        self._noticed |= {name: persisted for name, (_, persisted) in unreported.items()}
        return unreported

    def can_persist(self) -> bool:
        """Return whether the build can persist values over SQL."""
        return has(self.build, Capability.PERSIST)

    def check_persists(self) -> None:
        """Raise UserError if the server cannot persist values for its next start."""
        if not self.can_persist():
            raise UserError(
                f"{self.build.id} cannot persist variables over SQL; only MySQL 8.0 and later can",
                "Study variables that can be set only at startup on a sandbox (--server)",
            )
        if not means_on(self._initial_variables.get("persisted_globals_load", "ON")):
            raise UserError("The server does not load persisted variables: persisted_globals_load is OFF", "Switch it on first")

    def persisted(self) -> dict[str, str]:
        """Return the persisted variables with their values; empty if the server cannot persist any."""
        if not has(self.build, Capability.PERSIST):
            return {}
        with self.connect() as query:
            return _persisted(query)

    def restore_persisted(self, wanted: Mapping[str, str | None]) -> None:
        """Restore persisted values; None removes what is persisted."""
        with self.connect_to_change() as (query, _):
            _persist(query, wanted)
        for name in wanted:
            self._persisted_here.pop(name, None)

    def restart(self, command: str) -> None:
        """Restart the server by the user's command, and wait until it answers.

        Args:
            command: a program with its arguments; no shell reads it. It must return once the server has started.

        Raises:
            UserError: the command cannot be run.
            ServerError: the command failed, or the server was not restarted or does not answer. The error has the command's
                output, and a remedy if a persisted value may be the reason.
        """
        user_command.split_command(command)
        if self.journal is not None:
            self.journal.about_to_restart()
        try:
            self.run_and_wait(command, must_restart=True)
        except ServerError as error:
            if not self._persisted_here or not self.is_gone():
                raise
            raise user_command.did_not_restart(error, self._persisted_here) from error
        if self.journal is not None:
            with self.connect_to_change(self._timeout) as (_, now):
                self.journal.was_restarted(now)

    def run_and_wait(
        self,
        command: str,
        arguments: Sequence[str] = (),
        *,
        must_restart: bool,
        purpose: str = user_command.RESTART,
        limit: float | None = None,
        work: Path | None = None,
        was_down: bool = False,
    ) -> bool:
        """Run a command of the user that restarts the server, or may, and wait until it answers.

        Args:
            command: a program with its arguments; no shell reads it.
            arguments: further arguments.
            must_restart: whether the server must have been restarted.
            purpose: what the command is for; see `user_command`.
            limit: seconds that the command may take.
            work: the directory that it runs in.
            was_down: whether the server did not answer before.

        Returns:
            Whether the server was restarted.

        Raises:
            UserError: the command cannot be run.
            CommandError: it failed, did not return in time, or did not restart the server.
            ServerError: the server does not answer.
        """
        if must_restart and not was_down:
            with self.connect() as query:  # somebody else, or an earlier dialin, may have restarted it just now
                self._clock.sleep(_TOLD_APART - min(max(uptime(query), 0), _TOLD_APART))
        pid_before, started = (None, None) if was_down else (self.pid, self.started())
        claimed = self.claim.connection is not None
        try:
            printed = user_command.run(command, arguments, purpose=purpose, limit=limit, directory=self.directory, work=work)
            has_restarted = self._wait_for_restart(started, pid_before, printed, purpose, must_restart=must_restart)
            self._last_start = self.started()
        finally:
            self._process = None
        if claimed:
            self.claim.take()
        return has_restarted

    def _wait_for_restart(
        self, started: StartTime | None, pid_before: int | None, printed: str, purpose: str, *, must_restart: bool
    ) -> bool:
        """Wait until the server answers, and return whether it was restarted.

        Raises:
            CommandError: it must be restarted, and answers as before.
            ServerError: it does not answer.
        """
        self._process = None
        limit, same_since = self._clock.monotonic() + self.patience, None
        while True:
            now, has_restarted = self._clock.monotonic(), self._has_restarted(started, pid_before)
            if has_restarted or (has_restarted is False and not must_restart):
                return has_restarted
            same_since = (same_since if same_since is not None else now) if has_restarted is False else None
            if same_since is not None and now - same_since >= _RESTARTS_WITHIN:
                raise CommandError(
                    Cause(CauseCode.NOT_RESTARTED, {"purpose": purpose, "seconds": _RESTARTS_WITHIN}),
                    "Give a command that restarts it, and returns once it has started",
                    printed,
                )
            if now > limit:
                raise ServerError(
                    Cause(CauseCode.NO_ANSWER_AFTER_RESTART, {"seconds": self.patience}),
                    "See the server's log",
                    self.log_tail() or printed,
                )
            self._clock.sleep(_POLL)

    def _has_restarted(self, started: StartTime | None, pid_before: int | None) -> bool | None:
        """Return whether another start of the server answers than before; None if it does not answer."""
        if self.account.socket is not None and not server_process.listens(self.account):
            return None
        try:
            now = self.started()
        except ServerError as error:
            if error.fault is Fault.REQUEST:  # it does not accept the account any more, which does not pass
                raise
            return None
        if started is None or now.is_another(started):
            return True
        process = self._find_process() if pid_before is not None else None
        return process is not None and process.pid != pid_before

    def _must_have_journal(self) -> WrittenJournal:
        if self.journal is None:
            raise RuntimeError("an attached server is changed only when its undo is recorded")
        return self.journal


def _persisted(query: Query) -> dict[str, str]:
    rows = query("SELECT variable_name, variable_value FROM performance_schema.persisted_variables")
    return {str(name): str(value) for name, value in rows}


def _persist(query: Query, wanted: Wanted) -> None:
    for name, value in wanted.items():
        if value is None:
            reset_persisted(query, name)
        else:
            assign(query, Scope.PERSIST_ONLY, name, value)
