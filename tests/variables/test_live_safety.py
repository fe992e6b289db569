"""Which variables may be changed on a server that has users, and how long a change takes to settle."""

import pytest

from dialin.variables import cautions, live_safety


@pytest.mark.parametrize(
    "name",
    [
        *("innodb_redo_log_capacity", "binlog_format", "expire_logs_days"),
        *("sql_mode", "init_connect", "validate_password.policy", "require_secure_transport_ssl", "local_infile"),
        *("read_only", "super_read_only", "max_connections", "rpl_semi_sync_source_enabled", "general_log", "wsrep_on"),
        "thread_pool_max_threads",  # the guard's own connection would wait for a thread
        *("innodb_buffer_pool_dump_now", "innodb_monitor_enable", "flush"),
    ],
)
def test_variables_of_blocking_security_and_replication_are_left_alone(name):
    assert live_safety.why_refused(name)


@pytest.mark.parametrize(
    "name",
    [
        *(
            "innodb_io_capacity",
            "innodb_flush_log_at_trx_commit",
            "innodb_thread_concurrency",
            "table_open_cache",
            "sync_binlog",
        ),
        *("binlog_group_commit_sync_delay", "binlog_commit_wait_usec"),
    ],
)
def test_variables_that_only_change_how_the_server_works_may_be_changed(name):
    assert live_safety.why_refused(name) is None


def test_variables_that_resize_memory_are_known_and_settle_slowly():
    for name in ("innodb_buffer_pool_size", "key_buffer_size", "hot.key_buffer_size", "query_cache_size"):
        assert live_safety.resizes(name)
        assert live_safety.washout([name]) == 30
    assert not live_safety.resizes("innodb_io_capacity")


def test_the_washout_is_that_of_the_slowest_variable():
    assert live_safety.washout(["innodb_flush_log_at_trx_commit"]) == 5
    assert live_safety.washout(["innodb_flush_log_at_trx_commit", "innodb_adaptive_hash_index"]) == 30


def test_a_value_that_frees_nobody_who_waits_is_known_by_its_build():
    name = "innodb_thread_concurrency"
    assert "wait on" in cautions.strands("mysql@5.6.24", name, "0")
    assert cautions.strands("mysql@5.6.24", name, "8") is None
    assert cautions.strands("mysql@9.7.4", name, "0") is None
    assert cautions.strands("mysql@5.6.24", "innodb_io_capacity", "0") is None
