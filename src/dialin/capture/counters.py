"""A server's counters: readings before and after a capture show how much of the server's work a log has."""

from __future__ import annotations

from dialin.answers import member, number, single, whole
from dialin.errors import ServerError
from dialin.model.capture import CaptureCounters, ServerDigest
from dialin.model.query import Query
from dialin.model.setting import means_on
from dialin.workloads.replay.replay_work import read_work

_VARIABLES = "SHOW GLOBAL VARIABLES WHERE Variable_name IN ('version', 'sql_mode', 'time_zone', 'performance_schema')"
_STATUS = "SHOW GLOBAL STATUS WHERE Variable_name IN ('Questions', 'Uptime')"
_DIGESTS = "SELECT SCHEMA_NAME, DIGEST_TEXT, COUNT_STAR FROM performance_schema.events_statements_summary_by_digest"
_TIME = "SELECT UNIX_TIMESTAMP(NOW(6))"


def read_counters(query: Query) -> CaptureCounters:
    """Read the counters of a server; raise ServerError where the server does not answer."""
    variables = dict(query(_VARIABLES))
    digests = None
    if means_on(variables.get("performance_schema")):
        try:
            rows = query(_DIGESTS)
            digests = [ServerDigest(schema_name=schema, digest_text=text, count=whole(count)) for schema, text, count in rows]
        except ServerError:  # without SELECT on performance_schema
            digests = None
    work = read_work(query)
    earlier = number(single(query(_TIME)))
    status = dict(query(_STATUS))
    later = number(single(query(_TIME)))
    return CaptureCounters(
        server=member(variables, "version"),
        time=(earlier + later) / 2,  # a busy server is sent several statements while it answers
        questions=whole(member(status, "Questions")),
        uptime=whole(member(status, "Uptime")),
        sql_mode=member(variables, "sql_mode"),
        time_zone=member(variables, "time_zone"),
        digests=digests,
        work=work,
    )
