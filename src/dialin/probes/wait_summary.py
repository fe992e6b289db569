"""Reads the performance schema's summaries of waits, files and tables: counts and times of the instruments that are on.

Cost: three statements at either end of a measured window, 2 to 6 ms together; the server adds up every instance of every
instrument, which takes longer where the instruments of mutexes and locks are on. Privileges: SELECT on performance_schema. The
probe turns no instrument on: with a server's defaults, file and table I/O and table locks are on, and mutexes are off.
"""

from __future__ import annotations

from dialin.answers import number
from dialin.model.evidence import ProbeNote, ProbeNoteCode
from dialin.model.query import Query
from dialin.probes.probe import PerformanceSchema, Reading, notes_of

_SECOND = 1e12
"""Picoseconds."""

_EVENTS = (
    "SELECT EVENT_NAME, COUNT_STAR, SUM_TIMER_WAIT FROM performance_schema.events_waits_summary_global_by_event_name "
    "WHERE COUNT_STAR > 0 AND EVENT_NAME LIKE 'wait/%'"
)
_FILES = (
    "SELECT EVENT_NAME, COUNT_READ, SUM_NUMBER_OF_BYTES_READ, SUM_TIMER_READ, COUNT_WRITE, SUM_NUMBER_OF_BYTES_WRITE, "
    "SUM_TIMER_WRITE, COUNT_MISC, SUM_TIMER_MISC FROM performance_schema.file_summary_by_event_name WHERE COUNT_STAR > 0"
)
# MySQL 5.5 counts reads and writes, but does not time them.
_FILES_UNTIMED = (
    "SELECT EVENT_NAME, COUNT_READ, SUM_NUMBER_OF_BYTES_READ, NULL, COUNT_WRITE, SUM_NUMBER_OF_BYTES_WRITE, "
    "NULL, NULL, NULL FROM performance_schema.file_summary_by_event_name WHERE COUNT_READ + COUNT_WRITE > 0"
)
_TABLES = (
    "SELECT OBJECT_SCHEMA, OBJECT_NAME, COUNT_FETCH, SUM_TIMER_FETCH, COUNT_WRITE, SUM_TIMER_WRITE "
    "FROM performance_schema.table_io_waits_summary_by_table WHERE COUNT_STAR > 0"
)
_LOCKS_ON = "SELECT 1 FROM performance_schema.setup_instruments WHERE NAME LIKE 'wait/synch/%' AND ENABLED = 'YES' LIMIT 1"
_LOCKS_OFF = ProbeNote(ProbeNoteCode.LOCK_INSTRUMENTS_OFF)


class WaitSummaryProbe:
    """Reads the summaries of waits, files and tables.

    The file operations that the performance schema counts as misc are reported as `others`: syncs, opening, closing, extending
    and examining files. For the logs, which stay open, they are syncs alone.
    """

    name = "waits"
    period = 0.0

    def __init__(self, query: Query) -> None:
        self._schema = schema = PerformanceSchema(query)
        self._events = schema.table("events_waits_summary_global_by_event_name", _EVENTS)
        self._files = schema.table("file_summary_by_event_name", _FILES, _FILES_UNTIMED)
        self._tables = schema.table("table_io_waits_summary_by_table", _TABLES)
        self._instruments = schema.table("setup_instruments", _LOCKS_ON)
        self._locks_on: bool | None = None

    def read(self) -> Reading:
        if not self._schema.runs():
            return Reading(notes=(self._schema.note,) if self._schema.note else ())
        counters: dict[str, float] = {}
        for event, count, picoseconds in self._events.rows():
            counters[f"{event}/count"] = number(count)
            counters[f"{event}/seconds"] = number(picoseconds) / _SECOND
        self._add_files(counters)
        for schema, table, fetches, fetched, writes, written in self._tables.rows():
            name = f"table/{schema}.{table}"
            counters[f"{name}/fetches"] = number(fetches)
            counters[f"{name}/fetch_seconds"] = number(fetched) / _SECOND
            counters[f"{name}/writes"] = number(writes)
            counters[f"{name}/write_seconds"] = number(written) / _SECOND
        return Reading(counters, notes=self._notes())

    def _add_files(self, counters: dict[str, float]) -> None:
        parts = ("reads", "read_bytes", "read_seconds", "writes", "write_bytes", "write_seconds", "others", "other_seconds")
        for event, *values in self._files.rows():
            for part, value in zip(parts, values, strict=True):
                if value is not None:
                    counters[f"file/{event}/{part}"] = number(value) / (_SECOND if part.endswith("_seconds") else 1)

    def _notes(self) -> tuple[ProbeNote, ...]:
        if self._locks_on is None:
            self._locks_on = bool(self._instruments.rows()) or self._instruments.note is not None
        notes = notes_of(self._events, self._files, self._tables)
        return notes if self._locks_on else (*notes, _LOCKS_OFF)
