"""A capture: its first line, the summary of its statements, and the server's counters before and after it."""

from __future__ import annotations

from enum import StrEnum
from typing import Literal

from pydantic import Field

from dialin.model.frozen import Document, FrozenModel


class Lack(StrEnum):
    """What a log does not have of its statements, so that they can be counted, but not replayed."""

    SESSIONS = "sessions"
    """The numbers of their sessions: MySQL writes them to its slow log since 5.6."""
    TIMES = "times"


class Sampling(FrozenModel):
    """The part of the statements that a server wrote to its slow log (`log_slow_rate_limit` of Percona Server)."""

    one_of: int = Field(description="of how many it wrote one")
    by: Literal["query", "session"] = Field(description="what it chose: single statements, or sessions with all of theirs")

    @property
    def share(self) -> float:
        """The share of the statements that is in the log, about."""
        return 1 / self.one_of


class Obstacle(StrEnum):
    """Why a statement cannot be replayed."""

    ACCOUNT = "account"
    SQL_PREPARE = "sql-prepare"
    IN_ROUTINE = "in-routine"
    XA = "xa"
    LOAD_DATA = "load-data"
    INTO_OUTFILE = "into-outfile"
    NAMED_LOCK = "named-lock"
    ADMINISTRATION = "administration"
    CURSOR = "cursor"
    OPEN_QUOTE = "open-quote"
    NO_SESSION = "no-session"
    NO_TIME = "no-time"


class SessionStarts(FrozenModel):
    """How the sessions of a capture began: all but these with autocommit on and without a transaction."""

    off: list[int] = Field(description="sessions with autocommit off, by the number of their C record, from 0")
    in_transaction: list[int] = Field(description="sessions with a transaction open, whose BEGIN is not in the log")
    sets: dict[int, list[str]] = Field(default={}, description="the statements that set what else sessions began with")
    default: Literal["on", "off"] = Field(description="autocommit of a session that was reset")


class CaptureHeader(Document):
    """What a capture was made from; null where the logs and counters do not say."""

    schema_: Literal["dialin/capture/1"] = Field(alias="schema")
    server: str | None = Field(description="the server's version")
    source: Literal["slow", "slow+extra", "general", "slow+general", "slow+extra+general"] = Field(
        description="the logs that it was made from; extra: the slow log has error numbers (log_slow_extra, Percona Server)"
    )
    clock: Literal["second", "microsecond"] | None = Field(description="the unit of the logs' times; null if they have none")
    lack: Lack | None = Field(default=None, description="what the logs lack of all statements, so that none can be replayed")
    sampling: Sampling | None = Field(default=None, description="the part of the statements in the slow log; null for all")
    sql_mode: str | None = Field(description="the server's global sql_mode")
    time_zone: str | None = Field(description="the server's global time_zone")
    questions: int | None = Field(description="Questions between the two readings of counters")
    statements: int = Field(description="the number of statements that follow")


class CaptureFirstLine(CaptureHeader):
    """The first line of the statements of a capture; null where the logs and counters do not say."""

    starts: SessionStarts = Field(description="how its sessions began")
    dropped: dict[Obstacle, int] = Field(description="statements that do not follow because they are not replayed, by reason")


class Coverage(FrozenModel):
    """How much of what the server counted between two readings of its counters was logged."""

    questions: int = Field(description="Questions, counted by the server")
    logged: int = Field(description="statements and other commands in the logs that the server counts as Questions")

    @property
    def share(self) -> float | None:
        """The logged share of what the server counted; None where it counted nothing."""
        return self.logged / self.questions if self.questions else None


class CapturedDigest(FrozenModel):
    """The statements of a digest; null where the logs do not say."""

    digest: str = Field(description="the statement in lower case, values replaced by ?")
    statements: int
    prepared: int = Field(description="executed by the binary protocol, as far as the logs say")
    failed: int = Field(description="ended with an error; known where source has extra")
    seconds: float | None = Field(description="the sum of their durations")
    rows_sent: int | None
    rows_examined: int | None
    logged: int | None = Field(description="statements between the two readings of counters")
    counted: int | None = Field(
        description="counted by the performance schema between them; null where it has no such digest, "
        "as older servers have none of prepared statements"
    )


class ShapeStep(FrozenModel):
    """A statement of a shape."""

    digest: int = Field(description="its place in the list of digests, from 0")
    repeated: bool = Field(description="it came several times in a row")


class TransactionShape(FrozenModel):
    """Transactions of the same digests in the same order."""

    steps: list[ShapeStep] = Field(description="at most 48; empty for all shapes beyond 5,000")
    transactions: int
    statements: int = Field(description="of all of them")
    seconds: float = Field(description="from the start of the first statement to the end of the last, summed")
    rolled_back: int
    unfinished: int = Field(description="transactions whose end is not in the logs")


DONE_BY_OTHERS = frozenset({Obstacle.SQL_PREPARE, Obstacle.IN_ROUTINE})
"""Reasons to leave out a statement whose work other statements of the capture do."""


class Autocommit(FrozenModel):
    """How many sessions began with which autocommit, and how that is known."""

    known: int = Field(description="sessions of which the log or the server shows it, or of which --autocommit decided it")
    inferred_on: int = Field(description="sessions whose statements show that it was on")
    inferred_off: int = Field(description="sessions in which a COMMIT or ROLLBACK ends changes that no BEGIN comes before")
    unknown: int = Field(description="sessions of which nothing shows it: they count as on")
    unknown_statements: int = Field(description="statements of these that are transactions by themselves only if it was on")
    unknown_changes: int = Field(description="of these, those that change or lock rows")
    off: int = Field(description="all sessions that began with autocommit off")


class NotReplayed(FrozenModel):
    """Statements that cannot be replayed."""

    reason: Obstacle
    statements: int


class Unread(FrozenModel):
    """The parts of the logs that could not be read."""

    skipped_bytes: int = Field(description="bytes that belong to no entry")
    cut_off: int = Field(description="entries whose end is not in the logs")
    too_long: int = Field(description="statements of more than 64 MiB")
    open_quotes: int = Field(description="statements with a quote that is not closed")


class CaptureSummary(Document):
    """The summary of a capture: digests and figures, no values."""

    schema_: Literal["dialin/capture-summary/1"] = Field(alias="schema")
    capture: CaptureHeader
    log_bytes: int
    begin: float | None = Field(description="start of the first statement, in seconds since 1970; null without statements")
    end: float | None = Field(description="start of the last one")
    sessions: int
    questions_logged: int = Field(description="statements and other commands that the server counts as Questions")
    coverage: Coverage | None = Field(description="null without readings of the server's counters")
    digests: list[CapturedDigest] = Field(description="the most frequent first")
    transactions: list[TransactionShape] = Field(description="the most frequent first")
    autocommit: Autocommit
    not_replayed: list[NotReplayed]
    unread: Unread

    @property
    def statements(self) -> int:
        """The statements that the logs have, whether or not they can be replayed."""
        return sum(digest.statements for digest in self.digests)


class Fitness(StrEnum):
    """How well a replay of a capture can represent the load that was captured."""

    GOOD = "good"
    LIMITED = "limited"
    POOR = "poor"
    """A replay is another load: its results do not hold for production."""


class CheckCode(StrEnum):
    """The checks of how well a capture can be replayed, each with its figures."""

    REPLAYABLE = "replayable"
    """What the logs `lack` of all statements, so that none can be replayed; null where nothing; `why_not` says why kept ones
    cannot be replayed, such as damage; empty where they can."""
    SAMPLING = "sampling"
    """The log has one `of` so many statements, chosen `by` query or by session; null where it has all."""
    COVERAGE = "coverage"
    """`share` of the server's Questions that is in the logs; null where it is not known."""
    SESSIONS = "sessions"
    """`unarmed` sessions that began before the slow log had all statements, their `share` of the sessions then, null where that
    is not known, and the numbers of the first ones (`named`)."""
    AUTOCOMMIT = "autocommit"
    """`sessions` of which nothing shows whether autocommit was on when the log began, the `statements` that it makes
    transactions by themselves, those of them that are `changes`, and the `share` of the changes in all statements."""
    NOT_REPLAYED = "not-replayed"
    """`statements` that cannot be replayed and whose work nothing else does, and their `share`."""
    UNREAD = "unread"
    """`bytes` of the logs that could not be read, and their `share`."""
    CUT_TRANSACTIONS = "cut-transactions"
    """`transactions` whose end is not in the logs, and their `share`."""
    TIMES = "times"
    """The `clock` of the logs, null without times: if it counts seconds, the order of transactions within one is not known."""
    ERRORS = "errors"
    """Whether errors are `known`: without them, a transaction that the server rolled back looks committed."""
    DURATIONS = "durations"
    """Whether durations and rows are `known`: without them, those of a replay cannot be compared with them."""


class CheckFinding(FrozenModel):
    """The result of one check of how well a capture can be replayed."""

    code: CheckCode
    fitness: Fitness
    figures: dict[str, float | int | str | bool | None] = Field(description="the figures that the code names")


class CaptureCheck(FrozenModel):
    """How well a capture can be replayed, as far as the capture itself shows."""

    fitness: Fitness = Field(description="that of the worst finding; poor without statements")
    findings: list[CheckFinding] = Field(description="the worst first")

    @property
    def why_not(self) -> str:
        """Why the statements that the capture keeps cannot be replayed; empty where they can."""
        return "".join(str(finding.figures["why_not"]) for finding in self.findings if finding.code is CheckCode.REPLAYABLE)


_MOST_NUMBERS = 8
"""Sessions that are named by their numbers."""


class OpenSession(FrozenModel):
    """A session that was open when the log of a capture began."""

    id: int = Field(description="the server's number of it")
    autocommit: bool | None = Field(description="null where the server does not show it")
    in_transaction: bool = Field(description="it had a transaction of InnoDB open")
    settings: dict[str, str] = Field(
        default={},
        description="character sets, and isolation level, SQL mode and time zone where they are not the server's global ones",
    )


class OpenSessions(Document):
    """The sessions that were open when the log of a capture began."""

    schema_: Literal["dialin/capture-sessions/1"] = Field(default="dialin/capture-sessions/1", alias="schema")
    autocommit: bool = Field(description="the server's global autocommit, with which a session begins")
    sessions: list[OpenSession]
    clients: int = Field(default=0, description="how many sessions of clients there were when waiting for them ended")
    unarmed: list[int] = Field(default=[], description="the numbers of those that began before the slow log had all statements")
    is_exact: bool = Field(default=True, description="false if a reset session counts as unarmed although it is logged")

    @property
    def unarmed_numbers(self) -> str:
        """The numbers of the first unarmed sessions, and how many more there are."""
        more = len(self.unarmed) - _MOST_NUMBERS
        return f"{', '.join(map(str, self.unarmed[:_MOST_NUMBERS]))}{f' and {more:,} more' if more > 0 else ''}"


class ServerDigest(FrozenModel):
    """A row of the performance schema's table of digests."""

    schema_name: str | None
    digest_text: str | None = Field(description="null for the row of all digests that the table has no room for")
    count: int


class CaptureCounters(Document):
    """What a server counted since it started."""

    schema_: Literal["dialin/capture-counters/1"] = Field(default="dialin/capture-counters/1", alias="schema")
    server: str = Field(description="the server's version")
    time: float = Field(description="when they were read, by the server's clock, in seconds since 1970")
    questions: int
    uptime: int = Field(description="in seconds")
    sql_mode: str
    time_zone: str
    digests: list[ServerDigest] | None = Field(description="null where the performance schema is off or may not be read")
    work: dict[str, int] | None = Field(
        default=None, description="status variables that a replay is compared by, by name; null in files of older versions"
    )


class StopReason(StrEnum):
    TIME = "time"
    """All its minutes are over."""
    INTERRUPTED = "interrupted"
    """A signal or Ctrl-C."""
    MAX_SIZE = "max-size"
    DISK = "disk"
    """The disk of the log has less free than must stay free."""
    DEADLINE = "deadline"
    """The watchdog ended the log, because dialin had not ended it in time."""
    WATCHDOG_ENDED = "watchdog-ended"
