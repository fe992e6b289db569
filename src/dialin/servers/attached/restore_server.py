"""Restores an attached server: what is done, in which order, and what is left alone."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from pathlib import Path

from dialin.errors import DialinError
from dialin.model.setting import Value
from dialin.servers.assign import OnlyAtStartError
from dialin.servers.attached import study_schema as schemas
from dialin.servers.attached.apply_command import ApplyCommand
from dialin.servers.attached.attached_build import StartTime
from dialin.servers.attached.entry import UndoEntry
from dialin.servers.attached.server import Attached
from dialin.servers.attached.undo_journal import WrittenJournal, is_known, same
from dialin.servers.origin import machine
from dialin.text import visible
from dialin.variables import rules


def restore_server(
    journal: WrittenJournal,
    attached: Attached,
    lines: list[str],
    restart_command: str | None,
    command: ApplyCommand | None = None,
    *,
    run_command: bool = True,
) -> list[str]:
    """Restore everything that can be restored, and add what was done to `lines`.

    `command` is what applied the settings of the study; it restores them if it may be run.

    Returns:
        What could not be restored, a clause each.

    Raises:
        ServerError: the server does not answer, or another one does.
    """
    faults: list[str] = []
    left = _restore_persisted(journal, attached, lines, faults, restart_command)
    if command is not None:
        if not run_command:
            return ["a command applied its settings, and only `dialin restore` runs it again"]
        left = _run_again(command, journal, attached, lines, faults)
    _restore_variables(journal.entry, attached, lines, faults, left)
    _drop_schema(journal.entry, attached, lines, faults)
    if not faults:  # a server that still writes to a removed file would continue unseen
        _remove_files(journal.entry, lines)
    return faults


def _restore_persisted(
    journal: WrittenJournal, attached: Attached, lines: list[str], faults: list[str], restart_command: str | None
) -> Collection[str]:
    """Restore the persisted variables, and restart the server if it runs with other values and a command is given.

    Returns:
        The variables that somebody else persisted or reset meanwhile, which are left alone.
    """
    entry = journal.entry
    if not entry.at_start:
        return ()
    now = attached.persisted()
    changed = [name for name in entry.at_start if now.get(name) != entry.persisted[name]]
    others = journal.persisted_by_others(now)
    left = [name for name in changed if name in others]
    for name in left:
        value_now, before = _as_persisted(now.get(name)), _as_persisted(entry.persisted[name])
        lines.append(f"{name}: left {value_now}, which dialin did not do; it was {before} before")
    to_bring_back = {name: entry.persisted[name] for name in changed if name not in others}
    try:
        attached.restore_persisted(to_bring_back)
    except DialinError as error:
        faults.append(error.what)
        return left
    lines += [
        f"{name}: {'no longer persisted' if was is None else f'persisted as {was} again'}"
        for name, was in to_bring_back.items()
    ]
    if restart_command is not None and _runs_with_other_values(entry, attached):
        try:
            attached.restart(restart_command)
        except DialinError as error:
            if attached.is_gone():
                raise
            faults.append(error.what)
        else:
            lines.append("the server: restarted")
    lines += _still_in_force(entry, attached.variables(), {name: now.get(name) for name in left})
    return left


def _run_again(
    command: ApplyCommand, journal: WrittenJournal, attached: Attached, lines: list[str], faults: list[str]
) -> Collection[str]:
    """Have the user's command restore the settings that it has applied.

    Returns:
        The variables that somebody else has set meanwhile, which keep their value.
    """
    entry, now = journal.entry, attached.variables()
    if entry.started and attached.started().is_another(StartTime(*entry.started)) and not entry.restarted:
        journal.about_to_restart()
    left = {
        name: now[name]
        for name in entry.exact
        if not same(entry.before[name], now[name]) and not _is_from_dialin(entry, name, now[name])
    }
    lines += [_left(entry, name, value) for name, value in left.items()]
    try:
        command.put_back(left)
    except DialinError as error:
        if attached.is_down():
            raise
        faults.append(error.what)
    else:
        lines.append("the original settings: applied by the command")
    return left


def _still_in_force(entry: UndoEntry, values: Mapping[str, str], persisted: Mapping[str, str | None]) -> list[str]:
    """Return a line for each value of the study that stays in force until the next start, with the value after that.

    `values` holds all variables now; `persisted` holds the values that somebody else persisted, None for a reset variable.
    """
    return [
        f"{name}: {_shown(values[name])} from the study is in force until the server is restarted; it then starts with "
        f"{'the value in its option files, or the default' if at_start is None else _shown(at_start)}"
        for name, at_start in persisted.items()
        if name in values and not same(values[name], entry.before[name]) and not same(values[name], at_start or "")
    ]


def _as_persisted(value: str | None) -> str:
    return "not persisted" if value is None else f"persisted as {_shown(value)}"


def _runs_with_other_values(entry: UndoEntry, attached: Attached) -> bool:
    values = attached.variables()
    return any(not same(entry.before[name], values.get(name, "")) for name in entry.at_start)


def _restore_variables(
    entry: UndoEntry, attached: Attached, lines: list[str], faults: list[str], left: Collection[str]
) -> None:
    now = attached.variables()
    wanted: dict[str, Value | None] = {}
    for name in _may_have_changed(entry, now):
        was = entry.before[name]
        if name in left or same(was, now[name]):
            continue
        if _is_from_dialin(entry, name, now[name]):
            wanted[name] = entry.exact.get(name, was)
        elif name in entry.exact:
            lines.append(_left(entry, name, now[name]))
    refused = attached.restore_globals(wanted) if wanted else {}
    after = attached.variables()
    for name in wanted:
        was = entry.before[name]
        if same(was, after.get(name, "")):
            lines.append(f"{name}: {_shown(was)} again, was {_shown(now[name])}")
        elif _must_be_back(entry, name, refused.get(name)):
            faults.append(f"{name} is {_shown(after.get(name, ''))} and was {_shown(was)}{_why(entry, name, refused)}")


def _left(entry: UndoEntry, name: str, value: str) -> str:
    return f"{name}: left at {_shown(value)}, which dialin did not set; it was {_shown(entry.before[name])} before"


def _must_be_back(entry: UndoEntry, name: str, refusal: DialinError | None) -> bool:
    """Return whether it is a fault that a variable lacks its original value.

    If only a start can set a variable, and dialin did not change it, no run-time value was lost.
    """
    return name in entry.exact or name in entry.also_changed or not isinstance(refusal, OnlyAtStartError)


def _why(entry: UndoEntry, name: str, refused: Mapping[str, DialinError]) -> str:
    if name in entry.at_start:
        return ", until the server is restarted (dialin restore --restart-command does it)"
    return f" ({refused[name].what})" if name in refused else ""


def _drop_schema(entry: UndoEntry, attached: Attached, lines: list[str], faults: list[str]) -> None:
    if entry.schema is None:
        return
    try:
        with attached.connect_to_change() as (query, _):
            if line := schemas.drop(query, entry.schema, entry.id, made=entry.schema_made):
                lines.append(line)
    except DialinError as error:
        faults.append(error.what)


def _remove_files(entry: UndoEntry, lines: list[str]) -> None:
    for name in entry.files:
        if entry.machine != machine():
            lines.append(f"{visible(name)} on {visible(entry.host)}: not removed; delete it there")
            continue
        try:
            Path(name).unlink()
        except FileNotFoundError:
            continue
        except OSError as error:
            lines.append(f"{visible(name)}: not removed ({error.strerror}); delete it")
        else:
            lines.append(f"{visible(name)}: removed")


def _may_have_changed(entry: UndoEntry, now: Mapping[str, str]) -> list[str]:
    """Return the variables that may have to be restored, those under test first.

    These are all variables if dialin restarted the server, which loses values that were set at run time, or if it died while
    it set some, because then nothing recorded which others changed with them.
    """
    names = [*entry.exact, *entry.also_changed]
    if entry.restarted or entry.pending:
        names += now
    present = (name for name in names if name in now and name in entry.before and not rules.is_identity(name))
    return list(dict.fromkeys(present))


def _is_from_dialin(entry: UndoEntry, name: str, value: str) -> bool:
    """Return whether dialin caused a value, or may have caused it if that is not recorded."""
    if is_known(entry, name, value) or (entry.restarted and entry.as_started is None):
        return True
    return bool(entry.pending) and entry.others.get(name) != value


def _shown(value: str) -> str:
    return visible(value) or "empty"
