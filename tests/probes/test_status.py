import pytest

from dialin.probes.status import StatusProbe, is_gauge
from probes.asked import Asked

# Of MySQL 9.7.4 and MariaDB 11.4.5.
ROWS = (
    ("Busy_time", "0.250000"),
    ("Handler_read_rnd_next", "60059"),
    ("Innodb_buffer_pool_dump_status", "Dumping of buffer pool not started"),
    ("Innodb_buffer_pool_pages_dirty", "835"),
    ("Innodb_buffer_pool_reads", "913"),
    ("Innodb_redo_log_enabled", "ON"),
    ("Last_query_cost", "0.000000"),
    ("Max_used_connections_time", "2026-11-22 07:20:51"),
    ("Slave_heartbeat_period", ""),
    ("Max_memory_used", None),
    ("Questions", "11065"),
    ("Threads_running", "4"),
)


def test_numbers_are_reported_and_nothing_else():
    reading = StatusProbe(Asked({"SHOW GLOBAL STATUS": ROWS})).read()
    assert reading.counters == {
        "Busy_time": 0.25,
        "Handler_read_rnd_next": 60059,
        "Innodb_buffer_pool_reads": 913,
        "Questions": 11065,
    }
    assert reading.gauges == {"Innodb_buffer_pool_pages_dirty": 835, "Last_query_cost": 0, "Threads_running": 4}
    assert reading.notes == ()


@pytest.mark.parametrize(
    "name",
    [
        "Threads_running",
        "Threads_connected",
        "Innodb_buffer_pool_pages_dirty",
        "Innodb_buffer_pool_pages_free",
        "Innodb_buffer_pool_bytes_data",
        "Innodb_row_lock_current_waits",
        "Innodb_row_lock_time_avg",
        "Innodb_data_pending_reads",
        "Innodb_os_log_pending_fsyncs",
        "Innodb_history_list_length",
        "Innodb_checkpoint_age",
        "Innodb_ibuf_size",
        "Innodb_mem_adaptive_hash",
        "Innodb_redo_log_logical_size",
        "Open_tables",
        "Memory_used",
        "Key_blocks_unused",
        "Prepared_stmt_count",
        "wsrep",
        "wsrep_cluster_size",
        "wsrep_local_recv_queue",
    ],
)
def test_figures_that_go_up_and_down_are_gauges(name):
    assert is_gauge(name)


@pytest.mark.parametrize(
    "name",
    [
        "Uptime",
        "Threads_created",
        "Opened_tables",
        "Opened_table_definitions",
        "Com_commit",
        "Handler_read_rnd_next",
        "Innodb_buffer_pool_reads",
        "Innodb_buffer_pool_read_requests",
        "Innodb_buffer_pool_pages_flushed",
        "Innodb_buffer_pool_pages_made_young",
        "Innodb_buffer_pool_wait_free",
        "Innodb_data_reads",
        "Innodb_os_log_written",
        "Innodb_row_lock_time",
        "Innodb_row_lock_waits",
        "Innodb_ibuf_merges",
        "Innodb_lsn_current",
        "Key_reads",
        "Qcache_hits",
        "Slave_connections",
        "Table_open_cache_overflows",
        "wsrep_local_bf_aborts",
        "wsrep_replicated_bytes",
    ],
)
def test_figures_that_only_rise_are_counters(name):
    assert not is_gauge(name)
