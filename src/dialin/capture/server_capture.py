"""A capture of a running server: its log is switched on for some minutes, and everything is put back."""

from __future__ import annotations

import os
import uuid
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import BinaryIO, Protocol, TypeVar

from dialin.answers import member, number, whole
from dialin.capture import KEEP_DAYS, capture_files, log_place
from dialin.capture.counters import read_counters
from dialin.capture.load_sample import LoadSample, LogCost, cost_of, sample_load
from dialin.capture.log_place import LogPlace
from dialin.capture.log_settings import (
    UNLOGGED,
    LogSettings,
    Source,
    StatementCount,
    is_on,
    leaves_sessions_logging,
    log_settings,
)
from dialin.capture.open_sessions import ArmedSessions, count_armed, read_open_sessions
from dialin.capture.retention import keep_for, list_capture
from dialin.capture.watchdog import WatchOrder
from dialin.capture.watchdog_process import WatchdogProcess, watchdog_process
from dialin.clock import Clock
from dialin.errors import DialinError, ServerError, UserError
from dialin.model.capture import CaptureCounters, CaptureSummary, OpenSessions, StopReason
from dialin.model.place import Attachment
from dialin.model.query import Query
from dialin.paths import Home
from dialin.servers.attached import activity
from dialin.servers.attached.attached_build import AttachedBuild
from dialin.servers.attached.client_options import find_account
from dialin.servers.attached.entry import UndoEntry
from dialin.servers.attached.quick_restore import QuickRestore
from dialin.servers.attached.server import Attached
from dialin.servers.attached.undo import UndoLog
from dialin.servers.attached.undo_at_end import undo_at_exit, uninterrupted
from dialin.servers.capabilities import Capability, has
from dialin.servers.connection import connection_id
from dialin.text import command_line, counted, percent
from dialin.workloads import load_binary, private

MOST_UNARMED = 0.05
"""The share of sessions that may be missing in the slow log before another log is proposed."""

Answer = TypeVar("Answer")

_LONGEST_IDLE = 86_400
_POLL = 0.5
_COUNT_EVERY = 2.0
_WRITTEN_WITHIN = 2.0
_GRACE = 5.0
"""Seconds after which the watchdog ends a log that dialin did not end in time."""


@dataclass(frozen=True, slots=True)
class CaptureRequest:
    """The options of a capture.

    Attributes:
        attachment: where the account is found.
        minutes: how long the log is on.
        arm: seconds to wait at most until the clients have reconnected.
        max_bytes: the length at which the log ends.
        min_free: the bytes of the log's disk that stay free; None for a fifth of it, and 10 GiB at most.
        source: the log to capture from; None for the slow log, unless it would fill the server's own slow log.
        log_directory: where the server writes the log; None for the directory of its own log.
        accept_unarmed: capture although sessions will be missing.
        keep_days: how long the capture keeps its statements.
        forget_text: keep no statements, only digests and figures.
        autocommit: on or off in sessions of which neither the log nor the server says it; None to infer it.
    """

    attachment: Attachment
    out: Path
    minutes: float
    arm: float
    max_bytes: int
    min_free: int | None = None
    source: Source | None = None
    log_directory: Path | None = None
    accept_unarmed: bool = False
    keep_days: float = KEEP_DAYS
    forget_text: bool = False
    autocommit: str | None = None


@dataclass(frozen=True, slots=True)
class Progress:
    """How far a capture is.

    Attributes:
        seconds_left: seconds left for the clients to reconnect, or of the log.
        log_bytes: the length of the log; None until it is switched on.
    """

    seconds_left: float
    sessions: ArmedSessions | None = None
    log_bytes: int | None = None
    statements: int = 0


class Watcher(Protocol):
    """Shows the user what a capture does."""

    def message(self, text: str) -> None:
        """Show a sentence."""

    def progress(self, progress: Progress) -> None:
        """Show how far it is; called about every half second."""


@dataclass(frozen=True, slots=True)
class Captured:
    """A capture that was made.

    Attributes:
        sessions: how many sessions the slow log missed when it began; None for the general log, which has all.
    """

    summary: CaptureSummary
    reason: StopReason
    sessions: ArmedSessions | None


@dataclass(frozen=True, slots=True)
class PreparedCapture:
    """A capture that is ready to begin; nothing was changed.

    Attributes:
        min_free: the free bytes of its disk below which the log ends.
    """

    request: CaptureRequest
    attached: Attached
    source: Source
    variables: Mapping[str, str] = field(repr=False)
    place: LogPlace
    log: Path
    min_free: int
    settings: LogSettings
    sample: LoadSample
    cost: LogCost

    @property
    def expected_bytes(self) -> float:
        """Bytes of the log, if the load stays as it is."""
        return min(self.cost.bytes_per_second * 60 * self.request.minutes, self.request.max_bytes)

    @property
    def was_on(self) -> bool:
        """Whether the server writes such a log already, for somebody else."""
        return is_on(self.source, self.variables)

    @property
    def has_coarse_times(self) -> bool:
        """Whether the log has times to the second only, so that dialin records its length over time."""
        return not has(self.attached.build, Capability.MICROSECONDS_IN_LOGS)


def prepare_capture(request: CaptureRequest, clock: Clock, environment: Mapping[str, str] = os.environ) -> PreparedCapture:
    """Check what a capture needs, and watch the server for two seconds; nothing is changed.

    Raises:
        UserError: a privilege or space is missing, the log cannot be read here, or the capture would harm the server's own log.
        ServerError: the server does not answer.
    """
    capture_files.check_out(request.out)
    load_binary.need()
    file = request.attachment.defaults_file
    account = find_account(Path(file) if file else None, request.attachment.login_path, environment)
    attached = Attached(account, clock)
    variables = attached.variables()
    source = _source(request, variables, attached.build)
    place = log_place.find_place(source, variables, account, attached.files, request.log_directory)
    log = place.directory / f"dialin-capture-{uuid.uuid4().hex[:8]}.log"
    settings = log_settings(source, str(log), variables, attached.build)
    attached.needs_restart(settings.names)  # it raises UserError where a privilege is missing
    with attached.connect() as query:
        activity.check_sees_others(query)
        sample = sample_load(query, clock)
    cost = cost_of(sample, source, attached.build)
    min_free = log_place.reserve_of(place.directory) if request.min_free is None else request.min_free
    prepared = PreparedCapture(request, attached, source, variables, place, log, min_free, settings, sample, cost)
    log_place.check_free(place.directory, prepared.expected_bytes, min_free)
    return prepared


def _source(request: CaptureRequest, variables: Mapping[str, str], build: AttachedBuild) -> Source:
    if request.source is not Source.GENERAL and not has(build, Capability.SESSION_NUMBERS_IN_SLOW_LOG):
        raise UserError(
            f"The slow log of {build.id} has no session numbers: its statements could not be replayed",
            "Use --source general, which has them",
        )
    if variables.get("sql_mode") and "NO_BACKSLASH_ESCAPES" in variables["sql_mode"]:
        raise UserError(
            "The server runs with sql_mode NO_BACKSLASH_ESCAPES, in which a backslash does not escape a quote",
            "Logs of such servers cannot be captured",
        )
    if request.source is None and leaves_sessions_logging(Source.SLOW, variables):
        slow = number(member(variables, "long_query_time"))
        raise UserError(
            f"The server writes its own slow log (long_query_time {slow:g}): sessions that "
            "begin during the capture keep long_query_time=0, and would fill that log until they end",
            "Use --source general, or accept it with --source slow",
        )
    return request.source or Source.SLOW


def run_capture(prepared: PreparedCapture, home: Home, clock: Clock, watcher: Watcher) -> Captured:
    """Capture, and put everything back.

    A signal or Ctrl-C while the log is on ends it, and what was captured is kept.

    Raises:
        UserError: too many sessions are not in the log, or the log cannot be read here; everything is put back.
        ServerError: the server does not answer.
        KeyboardInterrupt: it was stopped before the log was on.
    """
    with ExitStack() as opened:
        dog = opened.enter_context(watchdog_process())
        return _Capture(prepared, home, clock, watcher, dog).run(opened)


class _Capture:
    """A capture under way."""

    def __init__(self, prepared: PreparedCapture, home: Home, clock: Clock, watcher: Watcher, dog: WatchdogProcess) -> None:
        self._prepared = prepared
        self._request = prepared.request
        self._attached = prepared.attached
        self._home = home
        self._clock = clock
        self._watcher = watcher
        self._dog = dog
        self._undo = UndoLog(home.undo, clock)
        directory = home.captures
        name = prepared.log.stem
        self._times = directory / f"{name}.times" if prepared.has_coarse_times else None
        self._before, self._after = directory / f"{name}.before.json", directory / f"{name}.after.json"
        self._sessions = directory / f"{name}.sessions.json"
        directory.mkdir(parents=True, exist_ok=True, mode=0o700)

    def run(self, opened: ExitStack) -> Captured:
        entry = self._begin()
        opened.enter_context(undo_at_exit(self._undo, entry, self._attached, self._watcher.message))
        log_place.make_private(self._prepared.log, self._prepared.place.user)
        quick = opened.enter_context(QuickRestore(self._attached, self._clock))
        query, number = opened.enter_context(self._connection())
        self._watch(entry)
        sessions = self._arm({number, quick.connection or 0, self._dog.connection or 0, self._attached.claim.connection or 0})
        log = self._fire()
        opened_before = read_open_sessions(query, self._attached.build, self._prepared.variables, sessions)
        statements = opened.enter_context(StatementCount(log, self._prepared.source))
        counters = _CountersOfOthers(query)
        before = counters.read()
        reason = self._log_until(statements)
        summary = None
        try:
            with uninterrupted(self._watcher.message):
                after = _or_none(counters.read)
                variables = _or_none(quick.restore)
                self._dog.close_times()
                if not statements.count():
                    raise UserError("No client sent a statement while the log was on", "Nothing was captured")
                log_place.check_same(self._prepared.log, log)
                summary = self._make(before, after, variables, opened_before)
        except KeyboardInterrupt:
            if summary is None:
                raise
            reason = StopReason.INTERRUPTED
        return Captured(summary, reason, sessions)

    def _begin(self) -> UndoEntry:
        self._attached.study = str(self._request.out.absolute())
        self._attached.session_settings = (UNLOGGED[self._prepared.source],)
        files = [path for path in (self._prepared.log, self._times, self._before, self._after, self._sessions) if path]
        return self._undo.begin(self._attached, self._request.attachment, self._prepared.settings.names, files=files)

    @contextmanager
    def _connection(self) -> Iterator[tuple[Query, int]]:
        """Connect before anything is set, so that the session that reads the counters is in no log itself."""
        with self._attached.connect() as query:
            query(f"SET SESSION wait_timeout = {_LONGEST_IDLE}")
            yield query, connection_id(query)

    def _watch(self, entry: UndoEntry) -> None:
        request = self._request
        self._dog.begin(
            WatchOrder(
                entry=entry.id,
                log=str(self._prepared.log),
                times=str(self._times) if self._times else None,
                max_bytes=request.max_bytes,
                min_free=self._prepared.min_free,
                deadline=self._clock.monotonic() + request.arm + 60 * request.minutes + 60,
                session_settings=list(self._attached.session_settings),
            )
        )

    def _arm(self, ours: set[int]) -> ArmedSessions | None:
        """Set everything but the log's switch, and wait until the clients have reconnected.

        Raises:
            UserError: too many have not.
        """
        settings = self._prepared.settings
        if settings.quiet:
            self._attached.set_global(settings.quiet)
        self._attached.set_global(settings.arm)
        if self._prepared.source is Source.GENERAL:
            return None
        with self._attached.connect() as query:
            armed_since = connection_id(query)
            ours = {*ours, armed_since}
            limit = self._clock.monotonic() + self._request.arm
            while True:
                sessions = count_armed(query, self._attached.build, armed_since=armed_since, not_ours=ours)
                left = limit - self._clock.monotonic()
                if not sessions.unarmed or left <= 0:
                    break
                self._watcher.progress(Progress(left, sessions))
                if reason := self._dog.reason_to_stop(min(_COUNT_EVERY, left)):
                    raise ServerError(f"The capture was stopped before its log was on: {reason}", "Nothing was captured")
        if sessions.unarmed_share > MOST_UNARMED and not self._request.accept_unarmed:
            raise UserError(
                f"{unarmed_text(sessions)} began before long_query_time was 0: the slow log has none of their statements",
                "Use --source general, which has all sessions; or a longer --arm; or capture without them: --accept-unarmed",
            )
        return sessions

    def _fire(self) -> BinaryIO:
        """Switch the log on, and open it; raise UserError where it does not grow on this machine."""
        self._dog.set_deadline(self._clock.monotonic() + 60 * self._request.minutes + _GRACE)
        self._attached.set_global(self._prepared.settings.fire)
        limit = self._clock.monotonic() + _WRITTEN_WITHIN
        while not log_place.log_size(self._prepared.log) and self._clock.monotonic() < limit:
            self._clock.sleep(0.02)
        return log_place.open_log(self._prepared.log, self._prepared.place.user)

    def _log_until(self, statements: StatementCount) -> StopReason:
        """Wait while the log is on; return why it has to end."""
        end = self._clock.monotonic() + 60 * self._request.minutes
        try:
            while (left := end - self._clock.monotonic()) > 0:
                size = log_place.log_size(self._prepared.log)
                self._watcher.progress(Progress(left, log_bytes=size, statements=statements.count()))
                if reason := self._dog.reason_to_stop(min(_POLL, left)):
                    return reason
        except KeyboardInterrupt:
            return StopReason.INTERRUPTED
        return StopReason.TIME

    def _make(
        self,
        before: CaptureCounters,
        after: CaptureCounters | None,
        variables: Mapping[str, str] | None,
        sessions: OpenSessions,
    ) -> CaptureSummary:
        """Make the capture from the log; where that fails, leave the log to the user.

        Raises:
            UserError: the capture cannot be made.
        """
        request, log = self._request, self._prepared.log
        try:
            private.write(self._before, before.model_dump_json(by_alias=True))
            if after is not None:
                private.write(self._after, after.model_dump_json(by_alias=True))
            private.write(self._sessions, sessions.model_dump_json(by_alias=True))
            if not request.forget_text:
                list_capture(self._home, request.out)
            summary = capture_files.make_capture(
                [log],
                request.out,
                counters=(self._before, self._after) if after is not None else None,
                times=self._times,
                sessions=self._sessions,
                autocommit=request.autocommit,
                forget_text=request.forget_text,
            )
            if not request.forget_text:
                keep_for(request.out, request.keep_days, self._clock.now())
            capture_files.add_variables(request.out, self._prepared.variables, variables)
        except (DialinError, OSError) as error:
            if self._attached.journal is not None:
                self._attached.journal.keep_file(log)
            again = command_line("dialin capture from", log, "--out", "DIR")
            raise UserError(
                error.what if isinstance(error, DialinError) else f"{error.filename}: {error.strerror}",
                f"The log is kept, with statements in clear text: {again}, then delete it",
            ) from error
        for path in (self._times, self._before, self._after, self._sessions):
            if path is not None:
                path.unlink(missing_ok=True)
        self._watcher.message(f"{request.out}: {counted(summary.capture.statements, 'statement')}")
        return summary


def unarmed_text(sessions: ArmedSessions) -> str:
    """Return how many sessions are not in the slow log: `2 of 40 sessions (5.0 %)`."""
    most = "" if sessions.is_exact else "Up to "
    return f"{most}{sessions.unarmed:,} of {counted(sessions.total, 'session')} ({percent(sessions.unarmed_share)})"


class _CountersOfOthers:
    """Reads a server's counters without the statements of its own connection."""

    def __init__(self, query: Query) -> None:
        self._query = query

    def read(self) -> CaptureCounters:
        reading = read_counters(self._query)
        rows = self._query("SHOW SESSION STATUS LIKE 'Questions'")
        # The last statement before the time is read is the one that reads Questions; two more follow it.
        return reading.model_copy(update={"questions": reading.questions - (whole(member(dict(rows), "Questions")) - 2)})


def _or_none(read: Callable[[], Answer]) -> Answer | None:
    """Return what `read` reads from a server; None where the server does not answer."""
    try:
        return read()
    except ServerError:
        return None
