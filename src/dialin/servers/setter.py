"""Sets variables of a running server, including those that limit each other and those that take effect later."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from dialin.clock import Clock
from dialin.errors import DialinError, ServerError
from dialin.model.cause import PASSING, Cause, CauseCode
from dialin.model.query import Query
from dialin.model.setting import Value, same_value
from dialin.servers.assign import Scope, Wanted, assign
from dialin.servers.connection import global_variables, status

_POLL = 0.1
_PASSES = 4
_UNCHANGED_AFTER = 5.0
"""Seconds to wait for a value to change in the background; after that, it counts as rounded to the old value."""

_IN_THE_BACKGROUND = {
    "innodb_buffer_pool_size": "Innodb_buffer_pool_resize_status",
    "innodb_redo_log_capacity": "Innodb_redo_log_resize_status",
}
"""Variables that take effect after SET has returned, each with the status variable that shows the progress."""


class Setter:
    """Sets variables over one connection.

    Attributes:
        last_read: every variable, as read right after the last SET of `set_all` or `set_what_can_be`.
    """

    def __init__(self, query: Query, clock: Clock, patience: float, log_tail: Callable[[], str]) -> None:
        self._query = query
        self._clock = clock
        self._patience = patience
        self._log_tail = log_tail
        self.last_read: dict[str, str] = {}

    def set_all(self, wanted: Wanted) -> None:
        """Set variables until each has its value, or setting them again changes nothing.

        Raises:
            SettingRefusedError: a variable does not exist, does not accept its value, or can be set only at startup.
            UserError: a privilege is missing.
            ServerError: the server refuses for another reason, or a value does not take effect in time.
        """
        self._set_in_passes(wanted, self._set)

    def set_what_can_be(self, wanted: Wanted) -> dict[str, DialinError]:
        """Set the variables that can be set; return the errors of those that were refused, by name.

        Raises:
            NoAnswerError: the connection broke.
            MachineError: this machine failed.
        """
        refused: dict[str, DialinError] = {}

        def try_to_set(name: str, value: Value | None) -> None:
            try:
                self._set(name, value)
                refused.pop(name, None)
            except DialinError as error:
                if error.fault in PASSING:
                    raise
                refused[name] = error

        left = self._set_in_passes(wanted, try_to_set)
        return {name: error for name, error in refused.items() if name in left}

    def _set_in_passes(self, wanted: Wanted, set_one: Callable[[str, Value | None], None]) -> Wanted:
        """Set variables until nothing changes any more, since some limit each other; return those that lack their value."""
        left: Wanted = wanted
        before: dict[str, str] = {}
        for _ in range(_PASSES):
            for name, value in left.items():
                set_one(name, value)
            self.last_read = now = global_variables(self._query)
            left = _not_yet(wanted, now)
            if not left or now == before:
                break
            before = now
        return left

    def start_from(self, before: Wanted, also_changed: Wanted) -> None:
        """Set the variables in `before` and `also_changed` to these values, if one in `also_changed` has another value now.

        Variables in `before` that take effect in the background are left as they are, so that no pool is resized twice.
        """
        if _not_yet(also_changed, global_variables(self._query)):
            quick = {name: value for name, value in before.items() if name not in _IN_THE_BACKGROUND}
            self.set_what_can_be({**quick, **also_changed})

    def _set(self, name: str, value: Value | None) -> None:
        """Set one variable; for one that takes effect in the background, wait until it has settled, before and after.

        A variable that is NULL is not set to NULL again, because few variables that are NULL at startup accept NULL from SET.
        """
        if value is None and is_in_force(None, global_variables(self._query).get(name, "")):
            return
        if (progress := _IN_THE_BACKGROUND.get(name)) is None:
            assign(self._query, Scope.GLOBAL, name, value)
            return
        self._settle(name, progress)
        was = global_variables(self._query)[name]
        if is_in_force(value, was):
            return
        assign(self._query, Scope.GLOBAL, name, value)
        limit = self._clock.monotonic() + min(_UNCHANGED_AFTER, self._patience)
        while global_variables(self._query)[name] == was and self._clock.monotonic() < limit:
            self._clock.sleep(_POLL)
        self._settle(name, progress)

    def _settle(self, name: str, progress: str) -> None:
        limit = self._clock.monotonic() + self._patience
        while not _is_settled(status(self._query, progress)):
            if self._clock.monotonic() > limit:
                raise ServerError(
                    Cause(CauseCode.NOT_EFFECTIVE_IN_TIME, {"variable": name, "seconds": self._patience}),
                    "See the server's log",
                    self._log_tail(),
                )
            self._clock.sleep(_POLL)


def is_in_force(value: Value | None, shown: str) -> bool:
    """Return whether `shown`, as a server shows it, is the given value; NULL is shown as an empty string."""
    return shown == "" if value is None else same_value(value, shown)


def _not_yet(wanted: Wanted, now: Mapping[str, str]) -> dict[str, Value | None]:
    return {name: value for name, value in wanted.items() if not is_in_force(value, now.get(name, ""))}


def _is_settled(status: str | None) -> bool:
    words = (status or "").lower()
    return words in ("", "ok") or any(word in words for word in ("complet", "not started", "failed", "abort", "nothing"))
