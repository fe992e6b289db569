"""Settings that a command of the user applies: what it is given, and whether the server shows that it did what it is for.

The command gets the path of a directory as its last argument, with three files:

- `settings.json`: every variable of the study with its value; null for the server's default.
- `settings.cnf`: the same as a complete option file, in which variables with their default are left out.
- `change.json`: `changes`, what differs from what is in force; `restart`, whether the server must be restarted for it; and
  `undo`, whether these are the values from before the study.

Exit code 0 means that they are applied. The directory is the same in all calls of a study, until everything is restored: what
the command writes there, such as a copy of what it replaces, is still there in the next call.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

from dialin.clock import Clock
from dialin.errors import ServerError
from dialin.model.cause import Cause, CauseCode
from dialin.model.setting import Value, parse_value
from dialin.paths import replace_text
from dialin.servers.assign import Wanted, at_default
from dialin.servers.attached import user_command
from dialin.servers.attached.entry import UndoEntry
from dialin.servers.attached.server import Attached
from dialin.servers.attached.user_command import CommandError
from dialin.servers.setter import is_in_force
from dialin.variables import optionfile

SETTLES_WITHIN = 10.0
"""Seconds that a server may take, after the command has ended, to show a value for which it is not restarted."""

_POLL = 0.2


class ApplyCommand:
    """The command of the user that applies the settings of one study to one server.

    Args:
        attached: the server; its undo is recorded, with the command.
        directory: what the command is given.
        entry: the undo entry, which has the command and the original values.
        limit: seconds that the command may take.
    """

    def __init__(
        self, attached: Attached, directory: Path, entry: UndoEntry, clock: Clock, limit: float = user_command.LIMIT
    ) -> None:
        self._attached = attached
        self._directory = directory
        self._entry = entry
        self._clock = clock
        self._limit = limit
        self._obeyed: set[str] = set()

    def apply(self, wanted: Wanted) -> dict[str, str]:
        """Have settings applied, and return all variables as they are then.

        Raises:
            UserError: the command cannot be run.
            CommandError: it failed, did not return in time, or did not do what it is for.
            ServerError: the server does not answer after it.
        """
        return self._call(wanted, wanted, self._attached.variables())

    def put_back(self, left: Mapping[str, str] | None = None, *, restart: bool = False) -> dict[str, str]:
        """Have the original settings applied, and return all variables as they are then; the server may be down.

        What had the server's default is asked for as that. A command that does not take such a value back is called again with
        the value itself.

        Args:
            left: variables that keep their current value, because somebody else has set them.
            restart: whether the server is to be restarted in any case.

        Raises:
            As `apply`.
        """
        original = {**self._entry.exact, **(left or {})}
        before = self._variables_if_up()
        defaults = set(self._entry.defaults) - set(left or {})
        now = self._call(
            {name: None if name in defaults else value for name, value in original.items()},
            original,
            before,
            is_undo=True,
            restart=restart or not before,
        )
        if any(not is_in_force(original[name], now.get(name, "")) for name in defaults & original.keys()):
            now = self._call(original, original, now, is_undo=True)
        return now

    def _call(
        self,
        written: Wanted,
        wanted: Wanted,
        before: Mapping[str, str],
        *,
        is_undo: bool = False,
        restart: bool = False,
    ) -> dict[str, str]:
        attached = self._attached
        changes = {name: value for name, value in wanted.items() if not is_in_force(value, before.get(name, ""))}
        must_restart = bool(before) and (restart or any(name in self._entry.static for name in changes))
        at_default_before = self._at_default() if before else None
        if attached.journal is not None:
            attached.journal.about_to_set(wanted, before, by_command=True)
        write_request(self._directory, written, changes, before, restart=must_restart or restart, is_undo=is_undo)
        has_restarted = attached.run_and_wait(
            self._entry.command,
            [str(self._directory)],
            must_restart=must_restart,
            purpose=user_command.APPLY,
            limit=self._limit,
            work=Path(self._entry.work),
            was_down=not before,
        )
        now = self._read_back(changes, before, has_restarted=has_restarted)
        if attached.journal is not None:
            attached.journal.was_applied(now, before, has_restarted=has_restarted)
        self._check(changes, before, now, at_default_before)
        return now

    def _read_back(self, changes: Wanted, before: Mapping[str, str], *, has_restarted: bool) -> dict[str, str]:
        """Return all variables, once each that was to change has changed, or time is up."""
        limit = self._clock.monotonic() + SETTLES_WITHIN
        while True:
            with self._attached.connect_to_change(SETTLES_WITHIN) as (_, now):
                waits = any(_is_as_before(name, value, before, now) for name, value in changes.items())
            if not waits or has_restarted or self._clock.monotonic() >= limit:
                return now
            self._clock.sleep(_POLL)

    def _check(
        self, changes: Wanted, before: Mapping[str, str], now: Mapping[str, str], at_default_before: frozenset[str] | None
    ) -> None:
        """Make sure that the server shows what the command has done.

        A server may round a value, or not take it at all. So it is the command's fault only if nothing changed, and nothing
        shows that it has passed on a value before, or has done so now.

        Raises:
            CommandError: nothing that was to change has changed.
        """
        same = {name: value for name, value in changes.items() if before and _is_as_before(name, value, before, now)}
        self._obeyed |= changes.keys() - same.keys()
        if not same or len(same) < len(changes) or same.keys() & self._obeyed:
            return
        if at_default_before is not None and at_default_before & same.keys() - (self._at_default() or frozenset()):
            return
        name, value = next(iter(same.items()))
        raise CommandError(
            Cause(CauseCode.NOT_APPLIED, {"variable": name, "value": value, "now": now.get(name, "")}),
            "Correct the command; or leave out this value, if the server's log says that the server does not take it",
        )

    def _at_default(self) -> frozenset[str] | None:
        with self._attached.connect() as query:
            return at_default(query, self._attached.build)

    def _variables_if_up(self) -> dict[str, str]:
        try:
            return self._attached.variables()
        except ServerError:
            return {}


def _is_as_before(name: str, value: Value | None, before: Mapping[str, str], now: Mapping[str, str]) -> bool:
    return before.get(name) == now.get(name) and not is_in_force(value, now.get(name, ""))


def write_request(
    directory: Path, settings: Wanted, changes: Wanted, before: Mapping[str, str], *, restart: bool, is_undo: bool
) -> None:
    """Write the files that the command is given; None is the server's default.

    Raises:
        UserError: an option file cannot hold a value.
        OSError: the disk is full.
    """
    plain = {name: _as_json(value) for name, value in settings.items()}
    given = {name: value for name, value in plain.items() if value is not None}
    change = {
        "changes": {name: {"before": before.get(name), "after": value} for name, value in changes.items()},
        "restart": restart,
        "undo": is_undo,
    }
    directory.mkdir(parents=True, exist_ok=True, mode=0o700)
    for name, text in {
        "settings.json": f"{json.dumps(plain, indent=2)}\n",
        "settings.cnf": optionfile.render({"mysqld": given}),
        "change.json": f"{json.dumps(change, indent=2)}\n",
    }.items():
        replace_text(directory / name, text)


def _as_json(value: Value | None) -> Value | None:
    number = parse_value(value) if isinstance(value, str) else value
    return number if str(number) == str(value) else value
