"""The attached servers that this process has changed, or was restoring, and that are not restored: its last words name them.

This is kept in memory, so that it is known also where no file can be opened any more.
"""

from __future__ import annotations

from dialin.servers.attached.entry import UndoEntry
from dialin.servers.attached.undo_journal import WrittenJournal, same
from dialin.text import listed, visible

_MOST = 20
"""Variables that are named for a server."""

_journals: dict[str, WrittenJournal] = {}


def remember(journal: WrittenJournal) -> None:
    """Take in a server that is about to be changed or restored; its journal knows the newest change."""
    _journals[journal.entry.id] = journal


def forget(name: str) -> None:
    """Leave out the server of an entry: it is restored, or its error was reported."""
    _journals.pop(name, None)


def last_words() -> list[str]:
    """Return a sentence for each server that is not restored, which names what may still be changed."""
    return [
        f"NOT restored: {visible(journal.entry.where)}: {_changes(journal.entry)}. Run: dialin restore"
        for journal in _journals.values()
    ]


def _changes(entry: UndoEntry) -> str:
    changes = [
        f"{name} {'may be' if name in entry.pending else 'is'} {_shown(values[-1])} (was {_shown(entry.before[name])})"
        for name, values in entry.given.items()
        if values and name in entry.before and name not in entry.at_start and not same(values[-1], entry.before[name])
    ]
    more = [f"{len(changes) - _MOST} more variables"] if len(changes) > _MOST else []
    persisted = [f"{name} is persisted for the next start" for name in entry.at_start]
    schema = [f"the schema {entry.schema} exists"] if entry.schema and entry.schema_made else []
    all_of_them = [*changes[:_MOST], *more, *persisted[:_MOST], *schema]
    return visible(listed(all_of_them)) if all_of_them else "no change is known, but the record of the study is left"


def _shown(value: str) -> str:
    return value or "empty"
