"""The rehearsal of a study that runs a command of the user: before data is prepared, the command restores what is in force.

It shows whether the command works and how long it takes, and whether the undo of the study will. No setting is changed.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from dialin.errors import DialinError
from dialin.places.attached.site import AttachedServer
from dialin.servers.assign import set_since_start
from dialin.servers.attached.entry import UndoEntry
from dialin.servers.attached.undo import UndoLog
from dialin.servers.attached.undo_at_end import uninterrupted
from dialin.servers.attached.user_command import CommandError
from dialin.text import listed, visible
from dialin.variables import rules


def rehearse(site: AttachedServer, say: Callable[[str], None]) -> float:
    """Run the user's command once, with the settings that the server has, and return the seconds that it took.

    Raises:
        UserError: the command cannot be run, or the account lacks a privilege.
        CommandError: it failed, did not restart the server, or changed more than it was asked to.
        ServerError: the server does not answer after it.
    """
    attached, clock = site.attached, site.tools.clock
    log = UndoLog(site.tools.home.undo, clock)
    names = site.spec.set_variables
    entry = log.begin(attached, site.place, names, restart=site.persists, applying=site.applying)
    with attached.connect() as query:
        set_at_run_time = set_since_start(query, attached.build)
    began = clock.monotonic()
    try:
        if site.apply_command is not None:
            say("Running the apply command once with the settings that the server has, to see that it works")
            after = log.apply_command(entry, attached).put_back(restart=bool(site.at_start))
            _check_nothing_else(entry, after, set_at_run_time)
        else:
            say("Restarting the server once, to see that the restart command works")
            _persist_what_is_in_force(site, entry)
            attached.restart(site.restart_command or "")
    except BaseException as error:
        _end(log, entry, site, say, error)
        raise
    taken = clock.monotonic() - began
    _end(log, entry, site, say, None)
    say(f"The command and the start of the server took {taken:.1f} s")
    return taken


def _persist_what_is_in_force(site: AttachedServer, entry: UndoEntry) -> None:
    """Persist the values in force and take them back, which needs the privileges of the study."""
    attached = site.attached
    values = {name: entry.exact[name] for name in site.at_start if entry.exact.get(name) is not None}
    attached.persist_only(values)
    attached.restore_persisted({name: entry.persisted[name] for name in values})


def _check_nothing_else(entry: UndoEntry, now: Mapping[str, str], set_at_run_time: frozenset[str]) -> None:
    """Raise CommandError where the command changed something; a restart may lose a value that was set at run time."""
    changed = [
        f"{name} (was {visible(entry.before[name]) or 'empty'}, is {visible(value) or 'empty'})"
        for name, value in entry.differing(now).items()
        if not rules.identifies_instance(name) and name not in set_at_run_time
    ]
    if changed:
        raise CommandError(
            f"The apply command changes more than it was asked to: {listed(changed)}",
            "Correct the command; if the server has read an option file that was changed before, restart it first",
        )


def _end(log: UndoLog, entry: UndoEntry, site: AttachedServer, say: Callable[[str], None], error: BaseException | None) -> None:
    """Restore what the rehearsal changed, and remove its record; an error is reported unless another one is raised."""
    attached = site.attached
    if attached.journal is not None:
        attached.journal.withdraw_command()
    with uninterrupted(say):
        try:
            for line in log.undo(entry, attached):
                say(line)
        except DialinError as fault:
            if error is None:
                raise
            say(f"NOT restored: {fault}")
