"""Trials that share a sandbox: the data is restored and the server started once for many of them."""

from __future__ import annotations

from collections.abc import Callable, Generator
from contextlib import suppress

from dialin.clock import Clock
from dialin.errors import ServerError
from dialin.model.build import Build
from dialin.model.cause import Cause, CauseCode
from dialin.model.query import Query
from dialin.model.setting import Setting, means_on
from dialin.model.trial import Step, Trial
from dialin.servers.assign import exact_values
from dialin.servers.connection import RefusedError, connection_id, global_variables, sessions
from dialin.servers.instance import Instance
from dialin.servers.setter import Setter
from dialin.trials.change_detector import ChangeDetector
from dialin.trials.changes import Changes
from dialin.trials.site import Stage
from dialin.workloads.base import Target


class SharedSandbox:
    """One server after another, each of which serves trials as long as it can.

    Args:
        begin: sets up a sandbox with restored data, whose server is started with a setting.
        for_one_block: a server serves one block only, because the load changes the amount of data.
    """

    def __init__(self, begin: Callable[[Setting], Stage], changes: Changes, clock: Clock, *, for_one_block: bool) -> None:
        self._begin = begin
        self._changes = changes
        self._clock = clock
        self._for_one_block = for_one_block
        self._stage: Stage | None = None
        self._switched: SwitchedServer | None = None
        self._block = 0
        self._boot: Setting = changes.boot

    @property
    def changes(self) -> Changes:
        return self._changes

    @changes.setter
    def changes(self, changes: Changes) -> None:
        self._changes = changes
        if self._switched is not None:
            self._switched.changes = changes

    @property
    def stage(self) -> Stage:
        if self._stage is None:
            self._stage = self._begin(self._boot)
        return self._stage

    def serve(self, trial: Trial) -> Generator[Step, None, Instance]:
        """Return a server that is set to a trial's candidate, a new one where the last cannot be used; yield each step.

        Raises:
            SettingRefusedError: the server refuses a value.
            ServerError: the server does not start, or does not answer.
            VariablesChangedError: somebody else changed a variable under test since the last trial; nothing was set.
        """
        boot = self._changes.boot_of(trial.candidate)
        if boot != self._boot:
            self.end()
            self._boot = boot
        instance = self.stage.instance()
        is_over = self._for_one_block and trial.block != self._block
        if self._switched is None or instance is None or instance.is_gone() or is_over:
            return (yield from self._serve_from_new_server(trial))
        yield Step.SET
        if not _tidied(self._switched):
            return (yield from self._serve_from_new_server(trial))
        self._switched.become(trial.candidate)
        return instance

    def _serve_from_new_server(self, trial: Trial) -> Generator[Step, None, Instance]:
        self.end()
        self._block = trial.block
        instance = yield from self.stage.ready()
        yield Step.SET
        self._switched = SwitchedServer(instance, self._changes, self._clock, self.stage.detector)
        self._switched.become(trial.candidate)
        return instance

    def end(self) -> None:
        """End the server, if there is one; the next trial starts another."""
        self._switched = None
        if self._stage is not None:
            self._stage.end(well=True)
            self._stage = None


def _tidied(switched: SwitchedServer) -> bool:
    """Clean up after the last load; return False where that fails, which is not the fault of the next candidate."""
    try:
        switched.tidy()
    except ServerError:
        return False
    return True


class SharedStage:
    """One trial on a sandbox that serves others, too."""

    def __init__(self, shared: SharedSandbox, trial: Trial, build: Build) -> None:
        self.build = build
        self._shared = shared
        self._trial = trial

    @property
    def detector(self) -> ChangeDetector:
        return self._shared.stage.detector

    def ready(self) -> Generator[Step, None, Instance]:
        """Set the running server; without one, restore the data and boot one first."""
        return (yield from self._shared.serve(self._trial))

    def instance(self) -> Instance | None:
        return self._shared.stage.instance()

    def target(self) -> Target:
        return self._shared.stage.target()

    def went_away(self) -> bool:
        """Return False: nobody else ends a server that dialin started."""
        return False

    def hide(self, value: str) -> str:
        return self._shared.stage.hide(value)

    def end(self, *, well: bool) -> None:
        """Leave the sandbox to the next trial; end it where this one failed, because its state is unknown."""
        if not well:
            self._shared.end()


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
            if means_on(self._at_boot.get("log_bin")):
                _drop_binary_logs(query)


def _drop_binary_logs(query: Query) -> None:
    """Begin a new binary log and purge the earlier ones: the many trials of one server would fill the disk."""
    with suppress(RefusedError):
        query("FLUSH BINARY LOGS")
        query("PURGE BINARY LOGS TO %s", (str(query("SHOW BINARY LOGS")[-1][0]),))
