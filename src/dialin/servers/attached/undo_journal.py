"""The journal of one study on one server: its entry in the undo log, kept up to date."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import replace
from pathlib import Path

from dialin.model.setting import Value, same_value
from dialin.servers.assign import Wanted
from dialin.servers.attached.entry import UndoEntry
from dialin.text import listed
from dialin.variables import rules


class WrittenJournal:
    """Writes down what is about to be changed on one server, on disk before it returns.

    Each method raises `DialinError` where that cannot be written, and `ValueError` where what a variable was before is not
    written down, so that nothing is changed then.
    """

    def __init__(self, entry: UndoEntry, write: Callable[[UndoEntry], None]) -> None:
        self.entry = entry
        self._write = write

    def _save(self, **changes: object) -> None:
        self.entry = replace(self.entry, **changes)  # type: ignore[arg-type]
        self._write(self.entry)

    def _must_cover(self, names: Collection[str], covered: Collection[str]) -> None:
        if missing := [name for name in names if name not in covered]:
            raise ValueError(f"what {listed(missing)} was before is not written down")

    def about_to_set(self, wanted: Wanted, now: Mapping[str, str]) -> None:
        """Note the values that the running server is about to be given, and which of all its values `now` are not dialin's."""
        entry = self.entry
        self._must_cover(wanted, entry.exact)
        others = {name: value for name, value in entry.differing(now).items() if not is_known(entry, name, value)}
        self._save(given=_joined(entry.given, wanted), pending=sorted({*entry.pending, *wanted}), others=others)

    def was_set(self, in_force: Mapping[str, str]) -> None:
        """Note what changed by that: variables that were set, and those that the server changed along with them."""
        changed = {name: value for name, value in in_force.items() if not rules.is_identity(name)}
        also_changed = sorted({*self.entry.also_changed, *(name for name in changed if name not in self.entry.exact)})
        # Values that were given before are dropped: one that comes back was set by somebody else.
        newest = {name: self.entry.given[name][-1:] for name in self.entry.pending if name in changed}
        given = _joined({**self.entry.given, **{name: [] for name in changed}, **newest}, changed)
        self._save(given=given, also_changed=also_changed, pending=[], others={})

    def before(self, wanted: Wanted) -> Wanted:
        """Return the values of these variables before the study."""
        return {name: self.entry.exact[name] for name in wanted}

    def also_changed(self) -> Wanted:
        """Return the values, before the study, of the variables that the server changed along with others so far."""
        return {name: self.entry.before[name] for name in self.entry.also_changed if name in self.entry.before}

    def about_to_persist(self, wanted: Wanted) -> None:
        """Note the values that the next start is about to be given."""
        self._must_cover(wanted, self.entry.persisted)
        self._save(
            given=_joined(self.entry.given, wanted),
            at_start=sorted({*self.entry.at_start, *wanted}),
            persisted_here=_joined(self.entry.persisted_here, wanted),
        )

    def was_persisted(self, wanted: Wanted, persisted: Mapping[str, str]) -> None:
        """Note the values that the server shows as persisted after that; `persisted` holds all of them."""
        self._save(persisted_here={**self.entry.persisted_here, **{name: [persisted.get(name, "")] for name in wanted}})

    def persisted_by_others(self, persisted: Mapping[str, str]) -> dict[str, tuple[str, str]]:
        """Return what dialin left for the next start and what is there, by variable that others changed since."""
        return {
            name: (values[-1], persisted.get(name, ""))
            for name, values in self.entry.persisted_here.items()
            if not any(same(value, persisted.get(name, "")) for value in values)
        }

    def about_to_restart(self) -> None:
        """Note that values which were set at run time are about to be lost."""
        self._save(restarted=True, as_started=None)

    def was_restarted(self, now: Mapping[str, str]) -> None:
        """Note all values as the restart left them."""
        self._save(as_started=self.entry.differing(now))

    def schema_was_made(self) -> None:
        self._save(schema_made=True)

    def keep_file(self, path: Path) -> None:
        """Note that a file of the entry is the user's from now on: the undo leaves it."""
        self._save(files=[name for name in self.entry.files if name != str(path)])


def is_known(entry: UndoEntry, name: str, value: str) -> bool:
    """Tell whether a value is known to have come of what dialin did: it gave it, or its restart left it."""
    was_given = any(same(each, value) for each in entry.given.get(name, []))
    return was_given or (entry.as_started is not None and entry.as_started.get(name) == value)


def same(left: str, right: str) -> bool:
    """Tell whether two values that a server shows are one."""
    return left == right or same_value(left, right)


def _joined(given: Mapping[str, list[str]], more: Mapping[str, Value | None]) -> dict[str, list[str]]:
    shown = {name: "" if value is None else str(value) for name, value in more.items()}
    return {**given, **{name: list(dict.fromkeys([*given.get(name, []), value])) for name, value in shown.items()}}
