"""Reads information_schema.innodb_metrics: the InnoDB metrics that are enabled. The probe enables none.

Cost: one statement per second, which takes about 0.3 ms of server CPU and as much in dialin. Privileges: PROCESS. MySQL 5.5
does not have the table.
"""

from __future__ import annotations

from dialin.answers import number
from dialin.model.evidence import ProbeNote, ProbeNoteCode
from dialin.model.query import Query
from dialin.probes.probe import ProbeSource, Reading

_SELECT = "SELECT NAME, COUNT, TYPE FROM information_schema.innodb_metrics WHERE"

_GAUGES = frozenset(
    {
        "ibuf_size", "lock_rec_locks", "lock_row_lock_current_waits", "lock_table_locks", "os_log_pending_fsyncs",
        "os_log_pending_writes", "os_pending_reads", "os_pending_writes", "trx_active_transactions",
    }
)  # fmt: skip
"""Metrics that rise and fall, although some builds report them as counters."""

_COUNTERS = frozenset({"lock_deadlocks", "lock_timeouts"})
"""Metrics that only rise, although MariaDB 10.11 and later report them as values."""

_NO_ROWS = ProbeNote(ProbeNoteCode.METRICS_OFF)
"""The note on an empty table; MariaDB 10.1 also returns one to an account without the privilege."""


class MetricsProbe:
    """Reads the metrics that are enabled."""

    name = "metrics"
    period = 1.0

    def __init__(self, query: Query) -> None:
        # MariaDB 10.5 and later have the column ENABLED, all others STATUS.
        statements = [f"{_SELECT} STATUS = 'enabled'", f"{_SELECT} ENABLED = 1"]
        self._source = ProbeSource(query, "information_schema.innodb_metrics", "PROCESS", statements)

    def read(self) -> Reading:
        counters: dict[str, float] = {}
        gauges: dict[str, float] = {}
        rows = self._source.rows()
        for name, count, kind in rows:
            is_gauge = name in _GAUGES or (kind == "value" and name not in _COUNTERS)
            (gauges if is_gauge else counters)[str(name)] = number(count)
        note = self._source.note or (None if rows else _NO_ROWS)
        return Reading(counters, gauges, (note,) if note else ())
