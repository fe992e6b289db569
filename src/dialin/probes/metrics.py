"""information_schema.innodb_metrics: InnoDB's own counters, those that are on; none is turned on.

Cost: one statement a second, which takes about 0.3 ms of CPU of the server and as much of dialin. Privileges: PROCESS. MySQL
5.5 has no such table.
"""

from __future__ import annotations

from dialin.model.evidence import ProbeNote, ProbeNoteCode
from dialin.model.query import Query
from dialin.probes.probe import Reading
from dialin.probes.source import ProbeSource

_ASKED = "SELECT NAME, COUNT, TYPE FROM information_schema.innodb_metrics WHERE"

_GAUGES = frozenset(
    {
        "ibuf_size",
        "lock_rec_locks",
        "lock_row_lock_current_waits",
        "lock_table_locks",
        "os_log_pending_fsyncs",
        "os_log_pending_writes",
        "os_pending_reads",
        "os_pending_writes",
        "trx_active_transactions",
    }
)
"""What goes up and down although some builds call it a counter."""

_COUNTERS = frozenset({"lock_deadlocks", "lock_timeouts"})
"""What only rises although MariaDB 10.11 and later call it a value."""

_NOTHING = ProbeNote(ProbeNoteCode.METRICS_OFF)
"""MariaDB 10.1 shows an account without that privilege an empty table."""


class MetricsProbe:
    """Reads the metrics that are enabled."""

    name = "metrics"
    period = 1.0

    def __init__(self, query: Query) -> None:
        # MariaDB 10.5 and later have the column ENABLED, all others STATUS.
        statements = [f"{_ASKED} STATUS = 'enabled'", f"{_ASKED} ENABLED = 1"]
        self._source = ProbeSource(query, "information_schema.innodb_metrics", "PROCESS", statements)

    def read(self) -> Reading:
        counters: dict[str, float] = {}
        gauges: dict[str, float] = {}
        rows = self._source.rows()
        for name, count, kind in rows:
            gauge = name in _GAUGES or (kind == "value" and name not in _COUNTERS)
            (gauges if gauge else counters)[name] = float(count)
        note = self._source.note or (None if rows else _NOTHING)
        return Reading(counters, gauges, (note,) if note else ())
