"""A running server that is set to one candidate after another."""

from __future__ import annotations

from contextlib import suppress

from dialin.clock import Clock
from dialin.errors import ServerError
from dialin.model.cause import Cause, CauseCode
from dialin.model.query import Query
from dialin.model.trial import Step
from dialin.servers.assign import exact_values
from dialin.servers.connection import RefusedError, connection_id, global_variables, sessions
from dialin.servers.instance import Instance
from dialin.servers.setter import Setter
from dialin.trials.change_detector import ChangeDetector
from dialin.trials.changes import Changes

_PATIENCE = 600.0
"""Seconds that a change may take to come into force."""

_ALONE_WITHIN = 120.0
"""Seconds that the transactions of a load that was ended may take to be rolled back."""

_POLL = 0.02


class SwitchedServer:
    """A server that is set to one candidate after another, each time from its values at the start.

    Raises:
        ServerError: it does not answer.
        VariablesChangedError: somebody else changed a variable under test since it was started.
    """

    def __init__(self, server: Instance, changes: Changes, clock: Clock, detector: ChangeDetector) -> None:
        self._server = server
        self.changes = changes
        self._clock = clock
        self._detector = detector
        with server.connect() as query:
            self._at_boot = global_variables(query)
            self._exact = exact_values(query, sorted(changes.varied & self._at_boot.keys()))
        detector.check(self._at_boot, Step.SET)

    def become(self, candidate: str) -> None:
        """Set the server to a candidate, and wait until its values are in force; the server may round them.

        Raises:
            SettingRefusedError: it refuses a value.
            ServerError: it does not answer, or a value does not come into force.
            VariablesChangedError: somebody else changed a variable under test since the last time; nothing was set.
        """
        changes = self.changes
        with self._server.connect(_PATIENCE) as query:
            now = global_variables(query)
            self._detector.check(now, Step.SET)
            setter = Setter(query, self._clock, _PATIENCE, self._server.log_tail)
            setter.set_what_can_be(changes.back(self._at_boot, self._exact, now))
            refused = setter.set_what_can_be(changes.towards(candidate, self._at_boot))
            self._detector.remember(setter.last_read)
        for name, error in refused.items():
            if name in changes.settings[candidate]:
                error.log_tail = error.log_tail or self._server.log_tail()
                raise error

    def tidy(self) -> None:
        """Wait until no client is connected any more, and purge the binary logs that were written so far.

        Raises:
            ServerError: the server does not answer, or connections of the last load stay open.
        """
        with self._server.connect(_PATIENCE) as query:
            limit = self._clock.monotonic() + _ALONE_WITHIN
            connection = connection_id(query)
            while any(session.is_client and session.id != connection for session in sessions(query)):
                if self._clock.monotonic() > limit:
                    raise ServerError(Cause(CauseCode.CONNECTIONS_OPEN, {"seconds": _ALONE_WITHIN}))
                self._clock.sleep(_POLL)
            if self._at_boot.get("log_bin", "OFF").upper() in ("ON", "1"):
                _drop_binary_logs(query)


def _drop_binary_logs(query: Query) -> None:
    """Begin a new binary log and purge the earlier ones: the many trials of one server would fill the disk."""
    with suppress(RefusedError):
        query("FLUSH BINARY LOGS")
        query("PURGE BINARY LOGS TO %s", (str(query("SHOW BINARY LOGS")[-1][0]),))
