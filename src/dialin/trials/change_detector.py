"""Detects variables that somebody other than dialin changes during a study, and stops the study where that goes on.

A trial in which a variable under test changed measured neither the old value nor the new one. It is discarded and run again.
Two such trials in a row mean that somebody keeps setting the variable: the study stops and leaves the variable as it is.

Changes are noticed by comparing what the server reports: after its start (where it remembers which variables were set), before
a running server is set to the next candidate, before the load begins, and after it has ended. A value that was changed and
changed back between two of these is not noticed.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from dialin.errors import ChangedByOthersError
from dialin.model.trial import Step, Trial, TrialState, VariableChange
from dialin.sentences.setting_notes import shown
from dialin.text import listed
from dialin.variables import behaviour, cautions, rules
from dialin.variables.aliases import shared_name

IN_A_ROW = 2
"""The number of discarded trials in a row, of all candidates or of one, that ends a study."""


class VariablesChangedError(Exception):
    """A variable under test changed though dialin did not change it; the trial does not count."""

    def __init__(self, changes: Sequence[VariableChange]) -> None:
        super().__init__(listed([change.variable for change in changes]))
        self.changes = tuple(changes)


class ChangeDetector:
    """Compares the variables that one server reports with their last known values."""

    def __init__(self, studied: Collection[str]) -> None:
        self._studied = frozenset(map(shared_name, studied))
        self._known: Mapping[str, str] = {}

    def remember(self, values: Mapping[str, str]) -> None:
        """Store the values of all variables as known, because dialin itself has set them."""
        self._known = dict(values)

    def forget(self) -> None:
        """Discard all known values, because dialin is about to change the server."""
        self._known = {}

    def changes(self, now: Mapping[str, str], step: Step) -> tuple[VariableChange, ...]:
        """Return what changed since the server was last compared or set, variables under test first.

        `now` holds every variable that the server reports; it becomes the known state, so each change is returned once.
        Variables that only identify the instance or show its activity, those that the server adjusts by itself, and those that
        cannot explain a difference in throughput, are left out unless the study sets them.
        """
        before, self._known = self._known, dict(now)
        changes = [
            VariableChange(name, before[name], value, under_test=self._is_under_test(name), step=step)
            for name, value in now.items()
            if before.get(name, value) != value and self._matters(name, now)
        ]
        return tuple(sorted(changes, key=lambda change: (not change.under_test, change.variable)))

    def check(self, now: Mapping[str, str], step: Step) -> None:
        """Make sure that no variable under test changed; see `changes`.

        Raises:
            VariablesChangedError: one did.
        """
        if changed := [change for change in self.changes(now, step) if change.under_test]:
            raise VariablesChangedError(changed)

    def _matters(self, name: str, in_force: Mapping[str, str]) -> bool:
        if self._is_under_test(name):
            return not rules.is_identity(name)
        is_expected = rules.identifies_instance(name) or cautions.adapts_itself(name, in_force) is not None
        return not is_expected and rules.inert(name) is None

    def _is_under_test(self, name: str) -> bool:
        follows = behaviour.DERIVED.get(name)
        return not self._studied.isdisjoint(map(shared_name, (name, *(follows.of if follows else ()))))


def check_not_contested(trials: Sequence[Trial], session: int, *, in_a_row: int = IN_A_ROW) -> None:
    """End a study whose variables somebody else keeps changing.

    Args:
        trials: all trials of the study, in the order they ran.
        session: the number of this run of dialin; only its trials count, because the cause may have been fixed since earlier
            runs.
        in_a_row: the number of discarded trials in a row that ends the study: 1 on a live server, where a value that somebody
            else set is never overwritten.

    Raises:
        ChangedByOthersError: the last `in_a_row` trials, of all candidates or of the last trial's candidate, were discarded
            because a variable changed.
    """
    ended = [trial for trial in trials if trial.session == session and trial.state is not TrialState.RUNNING]
    if not ended or not ended[-1].is_disturbed:
        return
    same = [trial for trial in ended if trial.candidate == ended[-1].candidate]
    if not any(_ends_disturbed(each, in_a_row) for each in (ended, same)):
        return
    change = next(change for change in ended[-1].changes if change.under_test)
    raise ChangedByOthersError(
        f"Something other than dialin keeps changing {change.variable}: it was {shown(change.before)} and became "
        f"{shown(change.after)}{f', in {in_a_row} trials in a row' if in_a_row > 1 else ''}",
        "Find what sets it (a second client, a script, a configuration agent) and stop that",
        resumable=True,
    )


def _ends_disturbed(trials: Sequence[Trial], in_a_row: int) -> bool:
    last = trials[-in_a_row:]
    return len(last) == in_a_row and all(trial.is_disturbed for trial in last)
