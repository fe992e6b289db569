"""Which variables may be compared on one running server, and which take a start for each value."""

import pytest

from dialin.variables import rules, set_global
from dialin.variables.catalogue import Kind, Variable


def known(name, *, dynamic=True, default="1"):
    return Variable(name, Kind.INTEGER, default=default, dynamic=dynamic)


@pytest.mark.parametrize(
    "name",
    [
        "innodb_io_capacity", "innodb_io_capacity_max", "innodb_flush_log_at_trx_commit", "innodb_max_dirty_pages_pct",
        "innodb_lru_scan_depth", "innodb_thread_concurrency", "innodb_log_buffer_size", "innodb_flush_neighbors",
        "innodb_old_blocks_time", "innodb_doublewrite", "sync_binlog", "binlog_cache_size", "sort_buffer_size",
        "join_buffer_size", "optimizer_switch", "optimizer_search_depth", "thread_cache_size", "thread_pool_stall_limit",
        "tmp_table_size", "transaction_isolation", "max_allowed_packet", "temptable_max_ram", "optimizer_where_cost",
    ],
)  # fmt: skip
def test_variables_that_are_read_anew_may_be_set(name):
    assert set_global.why_not(name, known(name)) is None


@pytest.mark.parametrize(
    "name",
    [
        "innodb_buffer_pool_size", "innodb_redo_log_capacity", "innodb_log_file_size", "innodb_adaptive_hash_index",
        "innodb_adaptive_hash_index_parts", "innodb_change_buffering", "innodb_stats_auto_recalc", "innodb_log_file_buffering",
        "innodb_undo_log_truncate", "innodb_rollback_segments", "innodb_read_io_threads", "innodb_encryption_threads",
        "innodb_max_purge_lag", "innodb_max_purge_lag_wait", "innodb_monitor_enable", "innodb_buffer_pool_load_now",
        "query_cache_type", "key_buffer_size", "hot.key_buffer_size", "table_open_cache", "table_definition_cache",
        "max_connections", "thread_pool_size", "flush_time", "delay_key_write", "optimizer_disk_read_cost",
        "binlog_gtid_index_page_size", "schema_definition_cache",
    ],
)  # fmt: skip
def test_variables_that_were_read_before_or_outlast_a_trial_take_a_start(name):
    why = set_global.why_not(name, known(name))
    assert why
    assert why == set_global.rule_of(name).why


def test_variables_that_only_a_start_sets_say_so_and_need_no_rule():
    assert set_global.why_not("innodb_page_size", known("innodb_page_size", dynamic=False)) == ("can be set only at startup")
    assert "can be set only" in set_global.why_not("rand_seed1", known("rand_seed1", default=None)), "a session's own"


@pytest.mark.parametrize("reported", [None, known("new_one", dynamic=None)])
def test_variables_not_known_to_be_dynamic_are_not_taken_to_be(reported):
    assert "is not known to be dynamic" in set_global.why_not("new_one", reported)


@pytest.mark.parametrize("name", sorted(rules.SHAPES_DATA))
def test_variables_that_shape_the_prepared_data_take_a_start(name):
    assert set_global.why_not(name, known(name))


@pytest.mark.parametrize("rule", set_global.ONLY_AT_START, ids=lambda rule: rule.names[:40])
def test_each_rule_says_why_and_where_that_is_said(rule):
    assert rule.source
    assert rule.why[0].islower()
    assert not rule.why.endswith(".")
