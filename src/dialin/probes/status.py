"""Reads the status variables of the server: SHOW GLOBAL STATUS.

Cost: one statement per second, which takes 0.3 to 0.8 ms of server CPU and 0.6 to 1.5 ms in dialin; a server with hundreds of
connections takes longer, because it adds up the counters of each. The statement counts itself: one in `Questions`, and about
500, its rows, in `Handler_read_rnd_next` or `Handler_write`; `Threads_running` includes the probe. Privileges: none.
"""

from __future__ import annotations

import functools
import math
import re

from dialin.model.query import Query
from dialin.probes.probe import Reading

_GAUGES = r"""
Acl_.* Aria_pagecache_blocks_.* Binlog_snapshot_position Delayed_insert_threads Deprecated_.*_last_timestamp
Error_log_(buffered_bytes|buffered_events|latest_write) Global_connection_memory Innodb_adaptive_hash_(cells|heap_buffers)
Innodb_available_undo_logs Innodb_buffer_pool_(bytes|resize_status)_.*
Innodb_buffer_pool_pages_(data|dirty|free|latched|misc|old|total)
Innodb_(uncheckpointed_bytes|checkpoint_(age|max_age|target_age)) Innodb_current_row_locks
Innodb_(data|os_log|aio)_pending_.* Innodb_encryption_(key_rotation_list_length|rotation_estimated_iops)
Innodb_history_list_length Innodb_ibuf_(free_list|segment_size|size) Innodb_mem_.* Innodb_num_open_files
Innodb_oldest_view_low_limit_trx_id Innodb_onlineddl_.* Innodb_page_size Innodb_purge_(trx_id|undo_no)
Innodb_(read_views|descriptors)_memory Innodb_redo_log_(capacity_resized|logical_size|physical_size|uuid)
Innodb_row_lock_(current_waits|time_avg|time_max) Innodb_undo_tablespaces_.* Key_blocks_.* Last_query_.*
Max_used_connections Memory_used(_initial)? Mysqlx_(worker_threads|worker_threads_active|sessions)
Not_flushed_delayed_rows Ongoing_.* Open_.* Performance_schema_session_connect_attrs_longest_seen Prepared_stmt_count
Qcache_(free_blocks|free_memory|queries_in_cache|total_blocks) Rpl_semi_sync_.*_(clients|avg_wait_time|wait_sessions)
(Slave|Replica)_(open_temp_tables|heartbeat_period) Slaves_(connected|running)
Ssl_(ctx_verify_.*|verify_.*|default_timeout|session_cache_(size|timeout)|used_session_cache_entries) Stack_usage
Table_open_cache_active_instances Tc_log_(max_pages_used|page_size) Threadpool_.*threads
Threads_(cached|connected|running)
wsrep(?!_(local_(bf_aborts|cert_failures|commits|replays)|repl|received|flow_control_(sent|recv|paused_ns))).*
"""
"""Status variables that rise and fall, according to the manuals of MySQL 9.7, MariaDB 11.4 and Percona Server 5.6 to 8.4; all
others only rise. Variables of Galera are states and averages, except those of the last line."""

_GAUGE = re.compile("|".join(_GAUGES.split()))


@functools.cache
def is_gauge(name: str) -> bool:
    """Return whether a status variable rises and falls; a counter only rises."""
    return _GAUGE.fullmatch(name) is not None


class StatusProbe:
    """Reads every status variable that is a number."""

    name = "status"
    period = 1.0

    def __init__(self, query: Query) -> None:
        self._query = query

    def read(self) -> Reading:
        counters: dict[str, float] = {}
        gauges: dict[str, float] = {}
        for name, value, *_ in self._query("SHOW GLOBAL STATUS"):
            # Most values that are not numbers begin with a letter, so the expensive exception is rare.
            if (text := str(value)) and text[0] in "-.0123456789":
                try:
                    number = float(text)
                except ValueError:
                    continue
                if math.isfinite(number):
                    (gauges if is_gauge(str(name)) else counters)[str(name)] = number
        return Reading(counters, gauges)
