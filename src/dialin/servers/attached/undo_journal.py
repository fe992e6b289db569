"""The journal of one study on one server: its entry in the undo log, kept up to date."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import replace
from pathlib import Path

from dialin.model.setting import Value, same_value
from dialin.servers.assign import Wanted
from dialin.servers.attached.entry import UndoEntry, changed
from dialin.text import listed
from dialin.variables import rules


class WrittenJournal:
    """Records the changes to one server; each method returns only when its record is on disk.

    Each method raises `DialinError` if the record cannot be written, and `ValueError` if the original value of a variable is
    not recorded; the caller then changes nothing.
    """

    def __init__(self, entry: UndoEntry, write: Callable[[UndoEntry], None]) -> None:
        self.entry = entry
        self._write = write

    def _save(self, **changes: object) -> None:
        self.entry = replace(self.entry, **changes)  # type: ignore[arg-type]
        self._write(self.entry)

    def _must_cover(self, names: Collection[str], covered: Collection[str]) -> None:
        if missing := [name for name in names if name not in covered]:
            raise ValueError(f"the original value of {listed(missing)} is not recorded")

    def about_to_set(self, wanted: Wanted, now: Mapping[str, str], *, by_command: bool = False) -> None:
        """Record the values that are about to be set at run time, and which of the current values (`now`) others have set.

        `by_command` says that the user's command is about to apply them.
        """
        entry = self.entry
        self._must_cover(wanted, entry.exact)
        others = {name: value for name, value in entry.differing(now).items() if not is_known(entry, name, value)}
        pending = sorted({*entry.pending, *wanted})
        self._save(given=_joined(entry.given, wanted), pending=pending, others=others, applied=entry.applied or by_command)

    def was_applied(self, now: Mapping[str, str], before: Mapping[str, str], *, has_restarted: bool) -> None:
        """Record the values of the variables that the command has applied, and what changed beside them."""
        applied = {name: value for name, value in now.items() if name in self.entry.exact}
        self.was_set({**applied, **changed(before, now)})
        if has_restarted:
            self._save(restarted=True, as_started=self.entry.differing(now))

    def was_set(self, in_force: Mapping[str, str]) -> None:
        """Record what changed by that: variables that were set, and those that the server changed along with them."""
        changed = {name: value for name, value in in_force.items() if not rules.is_identity(name)}
        also_changed = sorted({*self.entry.also_changed, *(name for name in changed if name not in self.entry.exact)})
        # Earlier values are dropped: if one of them comes back, somebody else has set it.
        newest = {name: self.entry.given[name][-1:] for name in self.entry.pending if name in changed}
        given = _joined({**self.entry.given, **{name: [] for name in changed}, **newest}, changed)
        self._save(given=given, also_changed=also_changed, pending=[], others={})

    def withdraw_command(self) -> None:
        """Record that the user's command has nothing to restore, because it was only called with the original settings."""
        self._save(applied=False)

    def before(self, wanted: Wanted) -> Wanted:
        """Return the values of these variables before the study."""
        return {name: self.entry.exact[name] for name in wanted}

    def also_changed(self) -> Wanted:
        """Return the values, before the study, of the variables that the server changed along with others so far."""
        return {name: self.entry.before[name] for name in self.entry.also_changed if name in self.entry.before}

    def about_to_persist(self, wanted: Wanted) -> None:
        """Record the values that are about to be persisted for the next start."""
        self._must_cover(wanted, self.entry.persisted)
        self._save(
            given=_joined(self.entry.given, wanted),
            at_start=sorted({*self.entry.at_start, *wanted}),
            persisted_here=_joined(self.entry.persisted_here, wanted),
        )

    def was_persisted(self, wanted: Wanted, persisted: Mapping[str, str]) -> None:
        """Record how the server shows the values after it persisted them; `persisted` holds all persisted variables."""
        self._save(persisted_here={**self.entry.persisted_here, **{name: [persisted.get(name, "")] for name in wanted}})

    def persisted_by_others(self, persisted: Mapping[str, str]) -> dict[str, tuple[str, str]]:
        """Return the value that dialin persisted and the one that is persisted now, by variable that others have changed."""
        return {
            name: (values[-1], persisted.get(name, ""))
            for name, values in self.entry.persisted_here.items()
            if not any(same(value, persisted.get(name, "")) for value in values)
        }

    def about_to_restart(self) -> None:
        """Record that values which were set at run time are about to be lost."""
        self._save(restarted=True, as_started=None)

    def was_restarted(self, now: Mapping[str, str]) -> None:
        """Record the values that differ from the original ones after the restart."""
        self._save(as_started=self.entry.differing(now))

    def schema_was_made(self) -> None:
        self._save(schema_made=True)

    def keep_file(self, path: Path) -> None:
        """Record that a file of the entry belongs to the user from now on: the undo does not remove it."""
        self._save(files=[name for name in self.entry.files if name != str(path)])


def is_known(entry: UndoEntry, name: str, value: str) -> bool:
    """Return whether a value is known to come from dialin: dialin set it, or it appeared with a restart by dialin."""
    was_given = any(same(each, value) for each in entry.given.get(name, []))
    return was_given or (entry.as_started is not None and entry.as_started.get(name) == value)


def same(left: str, right: str) -> bool:
    """Return whether two values are the same, as a server may show them."""
    return left == right or same_value(left, right)


def _joined(given: Mapping[str, list[str]], more: Mapping[str, Value | None]) -> dict[str, list[str]]:
    shown = {name: "" if value is None else str(value) for name, value in more.items()}
    return {**given, **{name: list(dict.fromkeys([*given.get(name, []), value])) for name, value in shown.items()}}
