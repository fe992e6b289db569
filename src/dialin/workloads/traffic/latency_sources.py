"""Where a server shows how long statements take: the best source that it has and that the account may read.

The sources, their cost and what they show:

- `histogram`: the statement histogram of the performance schema (MySQL 8.0 and later) beside its summary by event name; 450 and
  220 rows, about 1 ms. Percentiles, and means by kind of statement.
- `summary`: the summary by event name alone (MySQL 5.6 and 5.7; MariaDB with the performance schema on). Means by kind.

  With both, means of the largest digests as well (`digests`).
- `response_time`: the plugin query_response_time (MariaDB, Percona Server up to 5.7), with its statistics on. One mean for all
  statements.

A server with none of them is refused: Threads_running divided by statements per second would be a mean as well (Little's law),
but one reading per second sees a server with short statements idle nearly always.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from dialin.answers import number, single, whole
from dialin.errors import UserError
from dialin.model.build import Vendor
from dialin.model.live import LatencySource
from dialin.model.query import Query
from dialin.model.traffic import ALL_STATEMENTS
from dialin.servers.connection import RefusedError
from dialin.workloads.traffic import digests
from dialin.workloads.traffic.digests import Digest

_PICOSECONDS_PER_MS = 1e9
_LEFT_OUT = ("statement/sp/", "statement/scheduler/", "statement/abstract/", "statement/com/Binlog Dump")
"""Statements within stored programs are part of their callers'; a replica's dump never ends."""

_SUMMARY = (
    "SELECT EVENT_NAME, COUNT_STAR, SUM_TIMER_WAIT, SUM_ERRORS FROM "
    "performance_schema.events_statements_summary_global_by_event_name WHERE COUNT_STAR > 0"
)
_HISTOGRAM = (
    "SELECT BUCKET_TIMER_HIGH, COUNT_BUCKET FROM performance_schema.events_statements_histogram_global WHERE COUNT_BUCKET > 0"
)
_RESPONSE_TIME = "SELECT COUNT, TOTAL FROM information_schema.query_response_time"
_NOT_BOUNDED = 1 << 63
"""Replaces the upper bound of the histogram's last bucket, which is the server's largest integer."""


@dataclass(frozen=True, slots=True)
class Statements:
    """Cumulative figures of statements: by kind their number and time (ms), their errors, and buckets by upper bound (ms)."""

    counts: Mapping[str, float] = field(default_factory=dict)
    times: Mapping[str, float] = field(default_factory=dict)
    errors: float = 0.0
    buckets: Mapping[float, float] = field(default_factory=dict)


def choose(query: Query) -> LatencySource:
    """Return the best source that answers; raise UserError where there is none."""
    is_on = _answers(query, "SELECT 1 FROM DUAL WHERE @@performance_schema = 1")
    if is_on and _answers(query, f"{_SUMMARY} LIMIT 1"):
        return LatencySource.HISTOGRAM if _answers(query, f"{_HISTOGRAM} LIMIT 1") else LatencySource.SUMMARY
    has_statistics = _answers(query, "SELECT 1 FROM DUAL WHERE @@query_response_time_stats = 1")
    if has_statistics and _answers(query, f"{_RESPONSE_TIME} LIMIT 1"):
        return LatencySource.RESPONSE_TIME
    raise UserError("This server does not show how long its statements take", _remedy(query, is_on=is_on))


def _remedy(query: Query, *, is_on: bool) -> str:
    if is_on:
        return "Grant the account SELECT on performance_schema.*"
    version, comment = str(single(query("SELECT VERSION()"))), str(single(query("SELECT @@version_comment")))
    vendor = Vendor.named_in(f"{version} {comment}")
    if vendor is Vendor.MARIADB:
        plugins = "INSTALL SONAME 'query_response_time'"
    elif vendor is Vendor.PERCONA and version.startswith("5."):  # 8.0 has no such plugin
        of = "SONAME 'query_response_time.so'"
        plugins = f"INSTALL PLUGIN QUERY_RESPONSE_TIME_AUDIT {of}, INSTALL PLUGIN QUERY_RESPONSE_TIME {of}"
    else:
        return "Start the server with performance_schema=ON"
    return (
        f"Without a restart: {plugins}, then SET GLOBAL query_response_time_stats = ON. "
        "Or start the server with performance_schema=ON"
    )


def _answers(query: Query, statement: str) -> bool:
    try:
        return bool(query(statement))
    except RefusedError:
        return False


def read(query: Query, source: LatencySource, chosen: Sequence[Digest] = ()) -> Statements:
    """Read the cumulative figures of a source, and of some digests, which are in the figures of their kinds as well."""
    match source:
        case LatencySource.HISTOGRAM | LatencySource.SUMMARY:
            statement = f"{_SUMMARY} UNION ALL {digests.statement(chosen)}" if chosen else _SUMMARY
            counts: dict[str, float] = {}
            times: dict[str, float] = {}
            errors = 0.0
            for name, count, took, failed in query(statement):
                if str(name).startswith(_LEFT_OUT):
                    continue
                kind = str(name).removeprefix("statement/")
                counts[kind] = counts.get(kind, 0.0) + number(count)  # a digest has a row for each schema
                times[kind] = times.get(kind, 0.0) + number(took) / _PICOSECONDS_PER_MS
                errors += number(failed)
            buckets = _histogram(query) if source is LatencySource.HISTOGRAM else {}
            return Statements(counts, times, errors, buckets)
        case LatencySource.RESPONSE_TIME:
            counted = [(number(count), str(total).strip()) for count, total in query(_RESPONSE_TIME)]
            total_seconds = sum(number(total) for _, total in counted if total.replace(".", "", 1).isdecimal())
            return Statements({ALL_STATEMENTS: sum(count for count, _ in counted)}, {ALL_STATEMENTS: 1000 * total_seconds})


def _histogram(query: Query) -> dict[float, float]:
    bounded = [(whole(high), number(count)) for high, count in query(_HISTOGRAM)]
    return {min(high, _NOT_BOUNDED) / _PICOSECONDS_PER_MS: count for high, count in bounded}
