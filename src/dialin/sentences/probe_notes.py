"""The text of a probe's notes, such as what it could not read: a sentence made from a note's code and figures."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from dialin.cause_sentences import sentence
from dialin.model.cause import Cause
from dialin.model.evidence import ProbeNote, ProbeNoteCode
from dialin.text import counted, percent, size

_SCHEMA = "performance_schema"
_WAITS_AND_STATEMENTS = "waits and statements"
_INNODB_LOCKS = "waits for InnoDB's own locks"
_CONTENTS = {
    "performance schema": _WAITS_AND_STATEMENTS,
    f"{_SCHEMA}.events_waits_summary_global_by_event_name": "waits",
    f"{_SCHEMA}.file_summary_by_event_name": "reads and writes of files",
    f"{_SCHEMA}.table_io_waits_summary_by_table": "reads and writes of tables",
    f"{_SCHEMA}.setup_instruments": "instruments",
    f"{_SCHEMA}.events_statements_summary_by_digest": "statements",
    f"{_SCHEMA}.events_statements_summary_global_by_event_name": "executions of prepared statements",
    f"{_SCHEMA}.events_statements_histogram_global": "histograms of statement times",
    "information_schema.innodb_metrics": "InnoDB's metrics",
    "SHOW GLOBAL STATUS": "status counters",
    "SHOW ENGINE INNODB STATUS": "InnoDB's log, pools and semaphores",
    "SHOW ENGINE INNODB MUTEX": _INNODB_LOCKS,
    "InnoDB": _INNODB_LOCKS,
}
"""The data that is not available without a table or statement, by its name; a phrase in the plural."""

Figures = Mapping[str, Any]
"""The figures of a note."""


def _contents(figures: Figures) -> str:
    return _CONTENTS.get(figures["source"], "its figures")


def _no_privilege(figures: Figures) -> str:
    # All tables of the performance schema need one privilege, so they share one sentence.
    contents = _WAITS_AND_STATEMENTS if figures["source"].startswith(f"{_SCHEMA}.") else _contents(figures)
    return f"The account lacks {figures['privilege']}, so {contents} are not available"


def _backward(figures: Figures) -> str:
    return (
        f"{counted(figures['waits'], 'wait')} ({percent(figures['share'])}) end before they start by the server's timer, which "
        "differs a little from CPU to CPU: they count as 0"
    )


_SENTENCES: Mapping[ProbeNoteCode, str | Callable[[Figures], str]] = {
    ProbeNoteCode.UNREADABLE: lambda figures: f"{figures['probe']} could not be read: {sentence(Cause.read(figures['cause']))}",
    ProbeNoteCode.ABSENT: lambda figures: f"This server has no {figures['source']}, so {_contents(figures)} are not available",
    ProbeNoteCode.NO_PRIVILEGE: _no_privilege,
    ProbeNoteCode.SCHEMA_OFF: (
        f"The performance schema is off (performance_schema=OFF), so {_WAITS_AND_STATEMENTS} are not available"
    ),
    ProbeNoteCode.LOCK_INSTRUMENTS_OFF: (
        "The instruments of mutexes and locks (wait/synch/%) are off, so waits for them are not available"
    ),
    ProbeNoteCode.PREPARED_TOGETHER: (
        "This server does not count prepared statements separately, so their executions are shown together"
    ),
    ProbeNoteCode.METRICS_OFF: "All InnoDB metrics are off, or the account lacks PROCESS, so they are not available",
    ProbeNoteCode.POOL_TOO_LARGE: lambda figures: (
        f"SHOW ENGINE INNODB MUTEX is not read from a server with a buffer pool larger than {size(figures['limit'])}"
    ),
    ProbeNoteCode.MUTEX_EMPTY: (
        "SHOW ENGINE INNODB MUTEX is empty on this server: it does not count waits for InnoDB's own locks there"
    ),
    ProbeNoteCode.STATUS_UNREADABLE: "SHOW ENGINE INNODB STATUS returned nothing that dialin can read",
    ProbeNoteCode.SEMAPHORES_EMPTY: (
        "This server leaves the section SEMAPHORES of its status empty: waits for InnoDB's own locks are not in it"
    ),
    ProbeNoteCode.STATUS_CUT: (
        "The end of SHOW ENGINE INNODB STATUS was cut off: what follows the users' statements was not read"
    ),
    ProbeNoteCode.NO_PROCESS_IO: (
        "Only root and the server's own user may read the I/O counters of its process, so they are not available"
    ),
    ProbeNoteCode.DISK_UNKNOWN: "The disk of the data is unknown, so its figures are not available",
    ProbeNoteCode.NO_INSTRUMENT: "No instrument of this server matches {pattern}",
    ProbeNoteCode.INSTANCES_LOST: "Some objects could not be instrumented: {counter} is {lost:,}",
    ProbeNoteCode.RING_UNREADABLE: lambda figures: (
        f"The wait history could not be read while the load ran: {sentence(Cause.read(figures['cause']))}"
    ),
    ProbeNoteCode.MOST_WAITS: (
        "Reading stopped: a trial stores at most about {most:,} waits, to limit the memory for their summary"
    ),
    ProbeNoteCode.DISK_TIGHT: "Reading stopped: less than 2 GB of disk would have remained",
    ProbeNoteCode.BACKWARD: _backward,
}


def probe_note_text(note: ProbeNote) -> str:
    """Return a probe's note in a sentence without its full stop."""
    known = _SENTENCES[note.code]
    return known(note.figures) if callable(known) else known.format(**note.figures) if note.figures else known
