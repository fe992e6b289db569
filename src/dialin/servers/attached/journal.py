"""What an attached server needs of whoever writes down how it is put back."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol

from dialin.servers.assign import Wanted


class Journal(Protocol):
    """Writes down what is about to be changed, on disk before it returns.

    Each raises `DialinError` where that cannot be written, and `ValueError` where what a variable was before is not written
    down, so that nothing is changed then.
    """

    def about_to_set(self, wanted: Wanted, now: Mapping[str, str]) -> None:
        """Note the values that the running server is about to be given, and by all of its values which are not dialin's."""

    def was_set(self, in_force: Mapping[str, str]) -> None:
        """Note what changed by that: those that were asked for, and those that moved along."""

    def before(self, wanted: Wanted) -> Wanted:
        """Return what the variables were before the study."""

    def moved(self) -> Wanted:
        """Return what the variables that moved along with others so far were before the study."""

    def about_to_persist(self, wanted: Wanted) -> None:
        """Note the values that the next start is about to be given."""

    def was_persisted(self, wanted: Wanted, persisted: Mapping[str, str]) -> None:
        """Note what came of that; `persisted` is all that the next start is given."""

    def persisted_by_others(self, persisted: Mapping[str, str]) -> dict[str, tuple[str, str]]:
        """Return what dialin left for the next start and what is there, by variable that others changed since."""

    def about_to_restart(self) -> None:
        """Note that values which were set at run time are about to be lost."""

    def was_restarted(self, now: Mapping[str, str]) -> None:
        """Note all values as the restart left them."""
