"""Cleaning up after a dialin that died: `dialin restore`, and the tidying before commands that start or change servers."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Annotated

import typer
from rich.markup import escape

from dialin.cli.console import errors, say
from dialin.errors import DialinError, ServerError, UserError
from dialin.paths import Home
from dialin.scratch import remove_left
from dialin.servers.ledger import Ledger
from dialin.text import command_line

if TYPE_CHECKING:
    from dialin.servers.attached.entry import UndoEntry
    from dialin.servers.attached.undo import UndoLog

_QUICK = 3.0
"""Seconds that the tidying before a command waits for each answer of a server, and for a value to take effect."""

_SLOW = 30.0
"""Seconds that `dialin restore` waits for a server to answer."""


def restore(
    restart_command: Annotated[
        str | None,
        typer.Option(
            metavar="COMMAND", help="Command that restarts the server, for variables that only a restart can restore."
        ),
    ] = None,
    forget: Annotated[
        str | None,
        typer.Option(metavar="ID", help="Delete the record of a server that no longer exists; nothing is changed on a server."),
    ] = None,
) -> None:
    """Restore attached servers that a crashed dialin left changed.

    Commands that start or change servers try this first. This one reports more, waits longer, and can restart a server. It
    also runs the --apply-command of a study again, with the original settings.
    """
    from dialin.servers.attached.undo import UndoLog

    log = UndoLog(Home.of().undo)
    if forget is not None:
        _forget(log, forget)
        return
    orphans, unreadable = log.orphans(of_other_machines=True), log.unreadable()
    if not orphans and not unreadable:
        say("There is nothing to restore")
        return
    results = [(entry, _restore(log, entry, os.environ, say, restart_command)) for entry in orphans]
    left = [(f"{entry.where}: ", fault) for entry, fault in results if fault is not None]
    left += [("", fault) for fault in unreadable.values()]
    count = len(orphans) + len(unreadable)
    if len(left) == count == 1:
        raise left[0][1]
    for where, fault in left:
        say(f"Not restored: {where}{fault}")
    if left:
        raise ServerError(f"{len(left)} of {count} servers could not be restored", "See above, then run `dialin restore` again")


def tidy_up(*, attached: bool = True) -> None:
    """Remove what dead dialins left on this machine, stop their servers, restore attached ones, remove expired statements."""
    home = Home.of()
    remove_left()
    for orphan, ran in Ledger(home.ledger).end_orphans(say):
        if ran and not orphan.keep:
            errors().print(f"Stopped a server that an earlier dialin left running: {escape(orphan.build or orphan.id)}")
    if attached:
        restore_orphans(home, os.environ, say)
    forget_statements(home)


def forget_statements(home: Home) -> None:
    """Remove the statements of captures whose --keep-days are over, and report each removal."""
    if not any(home.captures.glob("*")):
        return
    from dialin.capture.retention import forget_expired
    from dialin.clock import SystemClock

    for directory in forget_expired(home, SystemClock().now()):
        say(f"Removed the statements of the capture {directory}: its --keep-days are over. Its digests and figures remain")


def restore_orphans(home: Home, environment: Mapping[str, str], say: Callable[[str], None]) -> None:
    """Restore attached servers that a dead dialin left changed; print one line for each that cannot be restored.

    Fast where there is nothing to do. No server is restarted.
    """
    if not any(home.undo.glob("*.json")):
        return
    from dialin.servers.attached.undo import UndoLog

    log = UndoLog(home.undo)
    running = {entry.id for entry in log.of_anybody() if not log.is_orphan(entry)}
    for name, unreadable in log.unreadable().items():
        if name not in running:
            say(f"Not restored: {unreadable}")
    for entry in log.orphans():
        fault = _restore(log, entry, environment, say, None, quick=True)
        if fault is not None:
            reason = f"{fault}" if entry.at_start and fault.remedy else f"{fault.what.rstrip('.')}. Try again: dialin restore"
            say(f"Not restored: {reason}; to delete the record: {command_line('dialin restore --forget', entry.id)}")


def _restore(
    log: UndoLog,
    entry: UndoEntry,
    environment: Mapping[str, str],
    say: Callable[[str], None],
    restart_command: str | None,
    *,
    quick: bool = False,
) -> DialinError | None:
    """Restore one server and print what was done; returns the error if that failed."""
    from dialin.clock import SystemClock
    from dialin.servers.attached.undo import find_attached

    try:
        limits = {"timeout": _QUICK, "patience": _QUICK} if quick else {"timeout": _SLOW}
        attached = find_attached(entry, environment, SystemClock(), **limits)
        if not quick and log.runs_command(entry):
            say(f"A command that an earlier dialin began on {entry.where} still runs; waiting for it to end")
        lines = log.undo(entry, attached, restart_command=restart_command, run_command=not quick)
    except DialinError as error:
        for line in error.log_tail.splitlines():
            say(f"Restored on {entry.where}: {line}")
        error.log_tail = ""
        return error
    for line in lines:
        say(f"Restored on {entry.where}: {line}")
    if not lines:
        say(f"{entry.where} is unchanged; nothing had to be restored")
    return None


def _forget(log: UndoLog, name: str) -> None:
    chosen = next((entry for entry in log.of_anybody() if entry.id == name), None)
    if chosen is None and name in log.unreadable():
        log.remove(name)
        say(f"Deleted the record {name}, which could not be read")
        return
    if chosen is None:
        known = ", ".join(entry.id for entry in log.entries())
        raise UserError(f"There is no record {name}", f"The records are: {known}" if known else "There are no records")
    if not log.is_orphan(chosen):
        raise UserError(
            f"{chosen.where} is being studied by process {chosen.owner} on {chosen.host}", "Wait for it to end, or stop it"
        )
    log.forget(chosen)
    say(f"Deleted the record of {chosen.where}. What dialin changed there stays")
    for variable, given in chosen.given.items():
        say(f"  {variable} was {chosen.before.get(variable, 'unknown')}, dialin set {', '.join(given)}")
    if chosen.schema:
        say(f"  the schema {chosen.schema} may still exist")
