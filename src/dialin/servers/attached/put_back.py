"""Putting an attached server back: what is done, in which order, and what is left alone."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import replace

from dialin.errors import DialinError, ServerError
from dialin.model.setting import Value, same_value
from dialin.servers.attached import schema as schemas
from dialin.servers.attached.entry import Entry
from dialin.servers.attached.server import Attached
from dialin.text import visible
from dialin.variables import rules

_DROP_PATIENCE = 600.0
"""Seconds that dropping the schema may take."""


def put_back(
    entry: Entry, attached: Attached, lines: list[str], save: Callable[[Entry], None], restart_command: str | None
) -> list[str]:
    """Put back all that can be.

    Args:
        entry: what was written down.
        attached: the server.
        lines: what was done is added to them.
        save: writes a changed entry down.
        restart_command: what restarts the server.

    Returns:
        What could not be put back, a clause each.

    Raises:
        ServerError: the server does not answer.
    """
    faults: list[str] = []
    entry = _put_back_persisted(entry, attached, lines, faults, save, restart_command)
    now = attached.variables()
    wanted: dict[str, Value | None] = {}
    for name in _to_look_at(entry, now):
        was = entry.before[name]
        if _same(was, now[name]):
            continue
        if _is_ours(entry, name, now[name]):
            wanted[name] = entry.exact.get(name, was)
        elif name in entry.exact:
            lines.append(f"{name}: left at {_shown(now[name])}, which dialin did not set; it was {_shown(was)} before")
    refused = attached.bring_back(wanted) if wanted else {}
    after = attached.variables()
    for name in wanted:
        if _same(entry.before[name], after[name]):
            lines.append(f"{name}: {_shown(entry.before[name])} again, was {_shown(now[name])}")
        elif name in entry.exact:
            why = f" ({refused[name]})" if name in refused else ""
            if name in entry.at_start:
                why = ", until the server is restarted (dialin restore --restart-command does it)"
            faults.append(f"{name} is {_shown(after[name])} and was {_shown(entry.before[name])}{why}")
    if entry.schema is not None:
        try:
            with attached.connect(_DROP_PATIENCE) as query:
                if said := schemas.drop(query, entry.schema, entry.id):
                    lines.append(said)
        except ServerError as error:
            faults.append(error.what)
    return faults


def _put_back_persisted(
    entry: Entry,
    attached: Attached,
    lines: list[str],
    faults: list[str],
    save: Callable[[Entry], None],
    restart_command: str | None,
) -> Entry:
    """Put back what the next start is given, and restart the server where it runs with something else."""
    if not entry.at_start:
        return entry
    now = attached.persisted()
    wanted = {name: entry.persisted[name] for name in entry.at_start if now.get(name) != entry.persisted[name]}
    try:
        attached.bring_back_persisted(wanted)
    except DialinError as error:
        faults.append(error.what)
        return entry
    lines += [
        f"{name}: {'no longer persisted' if was is None else f'persisted as {was} again'}" for name, was in wanted.items()
    ]
    if restart_command is not None and _runs_with_ours(entry, attached):
        entry = replace(entry, restarted=True)
        save(entry)
        attached.restart(restart_command)
        lines.append("the server: restarted")
    return entry


def _runs_with_ours(entry: Entry, attached: Attached) -> bool:
    values = attached.variables()
    return any(not _same(entry.before[name], values.get(name, "")) for name in entry.at_start)


def _to_look_at(entry: Entry, now: Mapping[str, str]) -> list[str]:
    """Return the variables that may have to be put back, those that were asked for first."""
    names = [*entry.exact, *entry.moved, *_followers(entry.pending)]
    if entry.restarted:
        names += now
    there = (name for name in names if name in now and name in entry.before and not rules.identifies_instance(name))
    return list(dict.fromkeys(there))


def _is_ours(entry: Entry, name: str, value: str) -> bool:
    """Tell whether a value can have come from dialin: it gave it, was about to, or restarted the server."""
    given = any(_same(each, value) for each in entry.given.get(name, []))
    return given or entry.restarted or name in entry.pending or name in _followers(entry.pending)


def _followers(names: Collection[str]) -> list[str]:
    """Return the variables that a server moves along with some others."""
    return [name for name, rule in rules.FOLLOWS.items() if set(rule.of) & set(names)]


def _shown(value: str) -> str:
    return visible(value) or "empty"


def _same(left: str, right: str) -> bool:
    return left == right or same_value(left, right)
