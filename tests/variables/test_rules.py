import pytest

from dialin.model.build import BuildReference, Family, Vendor
from dialin.variables import behaviour, cautions, memory, reserved_variables, rules
from dialin.variables.aliases import shared_name
from dialin.variables.behaviour import Span

GIB = 2**30


def test_every_rule_names_its_source():
    followed = [one for rule in behaviour.DERIVED.values() for one in rule.behaviours]
    assert all(one.source and one.text and not one.text.endswith(".") for one in followed)
    assert all(rule.behaviours for rule in behaviour.DERIVED.values())
    assert all(rule.source and rule.text and not rule.text.endswith(".") for rule in memory.MEMORY.values())
    assert all(rule.source and rule.why for rule in rules.INERT)
    assert all(
        trap.source and trap.text and not trap.text.endswith(".") for traps in cautions.CAUTIONS.values() for trap in traps
    )
    sized = rules.inert_rule("performance_schema_digests_size")
    assert sized is not None
    assert sized.source
    assert rules.inert_rule("innodb_page_cleaners") is None


def test_variables_that_move_together_are_related_both_ways():
    assert "innodb_io_capacity_max" in behaviour.related("innodb_io_capacity")
    assert "table_open_cache" in behaviour.related("open_files_limit")
    assert all(name in behaviour.related(other) for name in behaviour.DERIVED for other in behaviour.related(name))
    assert behaviour.related("sort_buffer_size") == frozenset()


def test_the_least_of_dirty_pages_moves_with_the_most():
    assert behaviour.related("innodb_max_dirty_pages_pct") == {"innodb_max_dirty_pages_pct_lwm"}


def test_variables_that_commits_wait_for_are_not_inert():
    for name in ("rpl_semi_sync_master_timeout", "rpl_semi_sync_source_wait_point", "rpl_semi_sync_master_enabled"):
        assert rules.inert(name) is None
    assert rules.inert("rpl_semi_sync_slave_enabled")
    assert rules.inert("rpl_semi_sync_replica_trace_level")
    assert rules.inert("rpl_stop_slave_timeout")


@pytest.mark.parametrize(
    ("build", "name", "value", "dies"),
    [
        ("mysql@9.7.4", "innodb_buffer_pool_instances", 0, True),
        ("mysql@9.7.4", "innodb_buffer_pool_instances", "0", True),
        ("mysql@9.7.4", "innodb_buffer_pool_instances", 1, False),
        ("mysql@8.0.33", "innodb_buffer_pool_instances", 0, False),
        ("mariadb@10.2.11", "innodb_buffer_pool_instances", 0, False),
        ("mysql@9.7.4", "read_buffer_size", 0, False),
        ("something else", "innodb_buffer_pool_instances", 0, False),
    ],
)
def test_values_that_a_build_dies_of_are_known(build, name, value, dies):
    assert (cautions.kills(build, name, value) is not None) is dies


@pytest.mark.parametrize(
    ("build", "meant"),
    [("mariadb@10.4.9", False), ("mariadb@10.5.1", True), ("mariadb@11.4.5", True), ("mysql@10.11.5", False)],
)
def test_rules_about_some_builds_are_about_no_others(build, meant):
    assert behaviour.WITHOUT_EFFECT["innodb_buffer_pool_instances"].is_of(build) is meant


@pytest.mark.parametrize(
    ("version", "meant"), [((8, 2, 9), False), ((8, 3), True), ((8, 4, 9), True), ((9, 0), True), ((9, 1), False)]
)
def test_a_span_of_builds_has_both_its_ends(version, meant):
    span = Span(Family.MYSQL, (8, 3), (9, 0))
    assert span.holds(BuildReference(Vendor.ORACLE, version)) is meant
    assert span.holds(BuildReference(Vendor.PERCONA, version)) is meant
    assert not span.holds(BuildReference(Vendor.MARIADB, version))


def test_a_span_of_one_vendor_has_no_build_of_another():
    span = Span(Vendor.PERCONA, (5, 7))
    assert span.holds(BuildReference(Vendor.PERCONA, (8, 0, 36)))
    assert not span.holds(BuildReference(Vendor.PERCONA, (5, 6, 45)))
    assert not span.holds(BuildReference(Vendor.ORACLE, (8, 0, 36)))


def test_inert_variables_have_a_reason():
    assert rules.inert("innodb_buffer_pool_chunk_size")
    assert rules.inert("performance_schema_digests_size")
    assert rules.inert("log_replica_updates")
    assert rules.inert("innodb_page_cleaners") is None
    assert rules.inert("performance_schema") is None


@pytest.mark.parametrize(
    "name",
    ["server_uuid", "socket", "datadir", "pid_file", "port", "hostname", "tmpdir", "log_error", "general_log_file", "timestamp",
     "slow_query_log_file", "pseudo_thread_id", "gtid_executed", "gtid_binlog_pos", "report_host", "ssl_cert", "version",
     "version_comment", "caching_sha2_password_private_key_path", "innodb_buffer_pool_load_now", "log_bin_basename"],
)  # fmt: skip
def test_variables_that_identify_an_instance_are_never_compared(name):
    assert rules.identifies_instance(name)


@pytest.mark.parametrize("name", ["innodb_buffer_pool_size", "gtid_mode", "sql_mode", "innodb_io_capacity_max", "read_only_x"])
def test_variables_that_can_matter_are_compared(name):
    assert not rules.identifies_instance(name)


def test_only_what_decides_the_data_belongs_to_a_datasets_key():
    setting = {"sync_binlog": 0, "innodb_page_size": "4K", "character_set_server": "latin1", "innodb_buffer_pool_size": "1G"}
    assert rules.shapes_data(setting) == {"character_set_server": "latin1", "innodb_page_size": "4K"}
    assert list(rules.shapes_data(setting)) == ["character_set_server", "innodb_page_size"]


def test_memory_is_the_pool_the_shared_buffers_and_one_buffer_a_thread():
    needed = memory.memory_needed(
        {
            "innodb_buffer_pool_size": "10G",
            "key_buffer_size": "8388608",
            "sort_buffer_size": 2**20,
            "join_buffer_size": 2**18,
            "innodb_flush_method": "O_DIRECT",
        },
        threads=16,
    )
    assert 10 * GIB <= needed["buffer pool"] < 10.5 * GIB
    assert needed["key buffer"] == 8 * 2**20
    assert needed["session buffers"] == 16 * 2**20
    assert "query cache" not in needed


def test_a_query_cache_that_is_off_takes_nothing():
    values = {"query_cache_size": "64M", "query_cache_type": "OFF"}
    assert "query cache" not in memory.memory_needed(values, 1)
    assert memory.memory_needed({**values, "query_cache_type": "ON"}, 1)["query cache"] == 64 * 2**20


def test_an_estimate_of_memory_counts_the_variables_of_the_table():
    """What is taken once counts once, what a statement needs once for each thread, what is merely used not at all."""
    none = memory.memory_needed({}, 4)
    for name, rule in memory.MEMORY.items():
        more = sum(memory.memory_needed({name: 2**20}, 4).values()) - sum(none.values())
        factor = {memory.Allotted.ONCE: 1, memory.Allotted.NEED: 4, memory.Allotted.CONNECTION: 4}.get(rule.allotted, 0)
        assert more == pytest.approx(factor * 2**20, rel=0.03), name


def test_the_performance_schema_is_counted_where_it_is_on():
    on, off = (memory.memory_needed({"performance_schema": value}, 1)["server itself"] for value in ("ON", "OFF"))
    assert on > off > 0


def test_estimates_stay_below_what_idle_servers_took():
    """9.7.4 took 540 MiB by its own account, 10.11.19 a resident 108 MiB before its pool filled."""
    mysql = {
        "innodb_buffer_pool_size": "128M",
        "innodb_log_buffer_size": "64M",
        "key_buffer_size": "8M",
        "performance_schema": "ON",
    }
    assert sum(memory.memory_needed(mysql, 1).values()) < 540 * 2**20


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("slave_net_timeout", "replica_net_timeout"),
        ("master_verify_checksum", "source_verify_checksum"),
        ("log_slave_updates", "log_replica_updates"),
        ("slave_parallel_threads", "replica_parallel_workers"),
        ("tx_isolation", "transaction_isolation"),
        ("collation_server", "character_set_database"),
    ],
)
def test_two_names_of_one_variable_are_one(one, other):
    assert shared_name(one) == shared_name(other)


def test_production_paths_roles_and_clusters_are_dialins_own():
    names = "datadir innodb_log_group_home_dir aria_log_dir_path wsrep_cluster_address group_replication_group_seeds"
    assert all(reserved_variables.reason(name) for name in [*names.split(), "plugin_load_add", "mysqlx", "replicate_do_db"])
    assert reserved_variables.reason("innodb_data_file_path") is None
    assert reserved_variables.reason_for_value("innodb_data_file_path", "/ibdata/ibdata1:1G")
    assert reserved_variables.reason_for_value("innodb_data_file_path", "ibdata1:12M:autoextend") is None
    assert all(reserved_variables.reason_for_value("log_bin", path) for path in ("/mine/bin", " ../bin", "./bin", "~/bin"))
    elsewhere = {"time_zone": "Europe/Berlin", "ft_stopword_file": "/usr/share/words", "innodb_ft_user_stopword_table": "a/b"}
    assert not any(reserved_variables.reason_for_value(*one) for one in elsewhere.items())
    assert not {name for name in rules.SHAPES_DATA if reserved_variables.reason(name)}
