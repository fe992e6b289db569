"""Reads the performance schema's summary of statements by digest, and the histogram of their times where the server has one.

Cost: three statements at either end of a measured window, under 1 ms together; a server with thousands of digests takes longer.
Privileges: SELECT on performance_schema. The statements of dialin's probes are left out of the digests; the histogram, which
MySQL 8.0 and later have, includes them: a few statements per second.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from dialin.answers import number
from dialin.model.evidence import ProbeNote, ProbeNoteCode
from dialin.model.query import Query
from dialin.probes.probe import PerformanceSchema, Reading, notes_of

_PICOSECONDS = 1e12
_LONGEST = 200
"""The number of characters of a digest's text that serve as its name."""

_OTHERS = "(statements beyond the digests that the server can keep)"
_PREPARED = "(prepared statements together)"
_PREPARED_NOTE = ProbeNote(ProbeNoteCode.PREPARED_TOGETHER)
_EXECUTION = "EXECUTE "
"""The beginning of the digest text of a prepared statement's executions, on servers that give them a digest: MySQL 9."""

_NOT_BOUNDED = 1 << 63
"""Picoseconds from which a bucket counts as unbounded: the last one ends at the server's largest number."""

_SUMS = "COUNT_STAR, SUM_TIMER_WAIT, SUM_ROWS_EXAMINED, SUM_ROWS_SENT, SUM_LOCK_TIME, SUM_CREATED_TMP_DISK_TABLES"
_DIGESTS = f"SELECT SCHEMA_NAME, LEFT(DIGEST_TEXT, 400), {_SUMS} FROM performance_schema.events_statements_summary_by_digest"  # noqa: S608
# On MySQL 5.6 and 8.0.33 and on MariaDB, executions of prepared statements, which load drivers use, have no digest.
_EXECUTIONS = (
    f"SELECT NULL, NULL, {_SUMS} FROM performance_schema.events_statements_summary_global_by_event_name "  # noqa: S608
    "WHERE EVENT_NAME = 'statement/com/Execute' AND COUNT_STAR > 0"
)
_BUCKETS = (
    "SELECT BUCKET_TIMER_HIGH, COUNT_BUCKET FROM performance_schema.events_statements_histogram_global WHERE COUNT_BUCKET > 0"
)
_OURS = re.compile(r"SHOW |SELECT .*\b(performance_schema|information_schema)\b|SELECT @@")
"""The statements of probes, which run on a connection without a default schema."""


class StatementProbe:
    """Reads the number of executions of each statement, their time, rows, lock time and temporary tables on disk."""

    name = "statements"
    period = 0.0

    def __init__(self, query: Query) -> None:
        self._schema = schema = PerformanceSchema(query)
        self._digests = schema.table("events_statements_summary_by_digest", _DIGESTS)
        self._executions = schema.table("events_statements_summary_global_by_event_name", _EXECUTIONS)
        self._histogram = schema.table("events_statements_histogram_global", _BUCKETS)

    def read(self) -> Reading:
        if not self._schema.runs():
            return Reading(notes=(self._schema.note,) if self._schema.note else ())
        counters: dict[str, float] = {}
        digests = self._digests.rows()
        for schema, text, *sums in digests:
            if schema is not None or not _OURS.match(_squeezed(text)):
                _add(counters, _name(text), sums)
        together = not any(text and text.startswith(_EXECUTION) for _, text, *_ in digests)
        executions = self._executions.rows() if together else []
        for _, _, *sums in executions:
            _add(counters, _PREPARED, sums)
        for high, count in self._histogram.rows():
            microseconds = "inf" if number(high) >= _NOT_BOUNDED else f"{number(high) / 1e6:.6g}"
            counters[f"histogram/{microseconds}"] = number(count)
        notes = notes_of(self._digests, self._executions, self._histogram)
        return Reading(counters, notes=(*notes, _PREPARED_NOTE) if executions else notes)


def _add(counters: dict[str, float], name: str, sums: Sequence[object]) -> None:
    """Add the figures of a row; several rows can have the same name, which is the beginning of their text."""
    count, time, examined, sent, locked, on_disk = map(number, sums)
    figures = {
        "count": count,
        "seconds": time / _PICOSECONDS,
        "rows_examined": examined,
        "rows_sent": sent,
        "lock_seconds": locked / _PICOSECONDS,
        "tmp_disk_tables": on_disk,
    }
    for figure, value in figures.items():
        key = f"{name}/{figure}"
        counters[key] = counters.get(key, 0.0) + value


def _name(text: str | None) -> str:
    return _OTHERS if text is None else _squeezed(text)[:_LONGEST]


def _squeezed(text: str | None) -> str:
    return " ".join((text or "").split())
