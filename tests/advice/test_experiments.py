"""Which experiments the figures of a server speak for; catalogues are those of real builds."""

from dataclasses import replace

import pytest

from dialin.advice.experiments import find_experiments
from dialin.advice.rules import RULES
from dialin.model.advice import Experiment, Weight
from fixtures.readings import GIB, MIB, SITUATION, server

QUERIES = {"Questions": 1000.0}


def experiments(reading) -> dict[str, Experiment]:
    return {one.variable: one for one in find_experiments(reading).experiments}


def codes(experiment: Experiment) -> list[str]:
    return [trigger.code for trigger in experiment.triggers]


def test_a_server_that_does_nothing_has_no_experiment_by_a_figure():
    found = find_experiments(server(per_second={}, situation=replace(SITUATION, memory=float("inf"))))
    assert found.experiments == ()
    assert {rule.code for rule in RULES} <= set(found.silent)


@pytest.mark.parametrize(
    ("code", "variable", "values", "figure", "reading"),
    [
        ("pool_misses", "innodb_buffer_pool_size", (268435456, 536870912, 10307502080), 200.0,
         server(per_second={**QUERIES, "Innodb_buffer_pool_reads": 200.0, "Innodb_buffer_pool_read_requests": 4000.0})),
        ("redo_log_full", "innodb_redo_log_capacity", (419430400, 1677721600), 1.0282115545273438,
         server(per_second={**QUERIES, "Com_update": 100.0}, innodb={"checkpoint_age": 80 * MIB},
                innodb_redo_log_capacity="104857600")),
        ("redo_log_full", "innodb_log_file_size", (201326592, 805306368), 1.1287477954144622,
         server("mysql@5.6.24", per_second={**QUERIES, "Com_update": 100.0}, innodb={"checkpoint_age": 76.8 * MIB})),
        ("log_buffer_full", "innodb_log_buffer_size", (16777216, 67108864), 2.0,
         server(per_second={"Innodb_log_waits": 2.0}, innodb_log_buffer_size="4194304")),
        ("no_free_page", "innodb_lru_scan_depth", (2048, 4096), 1.0,
         server(per_second={"Innodb_buffer_pool_wait_free": 1.0}, innodb_lru_scan_depth="1024")),
        ("table_cache_full", "table_open_cache", (800, 1600), 3.0,
         server(per_second={"Table_open_cache_overflows": 3.0}, table_open_cache="400")),
        ("sort_merge_passes", "sort_buffer_size", (1048576, 4194304), 7.0, server(per_second={"Sort_merge_passes": 7.0})),
        ("sort_buffer_large", "sort_buffer_size", (262144, 2097152), 33554432.0,
         server(per_second={"Sort_scan": 20.0, "Sort_range": 1.0}, sort_buffer_size="33554432")),
        ("full_joins", "join_buffer_size", (1048576, 4194304), 4.0, server(per_second={"Select_full_join": 4.0})),
        ("threads_created", "thread_cache_size", (16, 32), 30.0,
         server(per_second={"Threads_created": 30.0, "Connections": 31.0}, thread_cache_size="8")),
        ("binlog_cache_spills", "binlog_cache_size", (131072, 524288), 0.2,
         server(per_second={"Binlog_cache_disk_use": 2.0, "Binlog_cache_use": 10.0})),
        ("query_cache_misses", "query_cache_size", (0,), 0.9,
         server("mysql@5.6.24", per_second={"Qcache_hits": 10.0, "Com_select": 90.0},
                query_cache_type="ON", query_cache_size="1048576")),
        ("flush_neighbors", "innodb_flush_neighbors", (0,), 50.0,
         server("mysql@5.6.24", per_second={"Innodb_pages_written": 50.0})),
        ("pages_through_file_cache", "innodb_flush_method", ("O_DIRECT",), 70.0,
         server("mysql@5.6.24", per_second={"Innodb_pages_written": 50.0, "Innodb_buffer_pool_reads": 20.0})),
        ("thread_pool", "thread_handling", ("pool-of-threads",), 8.0,
         server("mariadb@10.11.19", gauges={"Threads_running": 65.0})),
        ("memory_short", "innodb_buffer_pool_size", (6442450944, 9663676416), 0.05,
         server(machine_per_second={"pressure_memory_seconds": 0.05}, innodb_buffer_pool_size=str(12 * GIB))),
        ("weaker_commit", "innodb_flush_log_at_trx_commit", (1,), 80.0,
         server("mysql@5.6.24", per_second={"Handler_commit": 80.0}, innodb_flush_log_at_trx_commit="2")),
    ],
)  # fmt: skip
def test_a_figure_speaks_for_an_experiment(code, variable, values, figure, reading):
    experiment = experiments(reading)[variable]
    trigger = next(one for one in experiment.triggers if one.code == code)
    assert trigger.figure == pytest.approx(figure)
    assert trigger.source
    assert experiment.values == values
    assert code not in find_experiments(reading).silent


@pytest.mark.parametrize(
    ("code", "reading"),
    [
        # below its threshold, switched off, or not on this build
        ("pool_misses", server(per_second={**QUERIES, "Innodb_buffer_pool_reads": 2.0})),
        ("pool_misses", server(per_second={"Innodb_buffer_pool_reads": 500.0}, innodb_buffer_pool_size=str(11 * GIB))),
        ("query_cache_misses", server("mysql@5.6.24", per_second={"Qcache_hits": 1.0, "Com_select": 90.0})),
        ("sort_buffer_large", server(per_second={"Sort_scan": 0.1}, sort_buffer_size="33554432")),
        ("flush_neighbors", server("mysql@5.6.24", per_second={"Innodb_pages_written": 9.0},
                                   situation=replace(SITUATION, spinning=None))),
        ("pages_through_file_cache", server("mysql@5.6.24", innodb_flush_method="O_DIRECT",
                                            per_second={"Innodb_pages_written": 50.0, "Innodb_buffer_pool_reads": 1.0})),
        ("thread_pool", server("mysql@9.7.4", gauges={"Threads_running": 64.0})),
        ("redo_log_full", server(per_second={"Com_update": 100.0})),
        ("purge_behind", server("mysql@5.6.24", innodb={"history_list": 1000.0})),
    ],
)  # fmt: skip
def test_without_its_figure_a_rule_is_silent(code, reading):
    found = find_experiments(reading)
    assert code in found.silent
    assert not any(code in codes(one) for one in found.experiments)


def test_where_the_machine_is_unknown_nothing_is_said_of_its_memory():
    unknown = replace(SITUATION, memory=float("inf"), cpus=0, spinning=None)
    figures = {"Innodb_buffer_pool_reads": 500.0, "Innodb_buffer_pool_read_requests": 1000.0, "Sort_merge_passes": 9.0}
    found = experiments(server(per_second=figures, situation=unknown))
    assert set(found) == {"sort_buffer_size"}


def test_the_largest_wait_comes_first_and_one_variable_has_all_its_reasons():
    reading = server(
        "mysql@5.6.24",
        per_second={"Com_update": 500.0, **QUERIES, "Innodb_os_log_written": 1.0 * MIB, "Select_full_join": 9.0},
        innodb={"checkpoint_age": 80 * MIB},
        defaults={"innodb_io_capacity": "200"},
        innodb_io_capacity="900",
    )
    found = find_experiments(reading).experiments
    weights = [one.weight for one in found]
    assert weights == sorted(weights, key=list(Weight).index)
    assert found[0].variable == "innodb_log_file_size"
    assert codes(found[0])[:2] == ["redo_log_full", "redo_hours"]
    changed = next(one for one in found if one.variable == "innodb_io_capacity")
    assert (changed.weight, changed.values, changed.now) == (Weight.CHANGED, (200,), 900)


def test_a_changed_default_that_the_load_does_not_touch_is_no_experiment():
    reads = {**QUERIES, "Com_select": 900.0, "Com_update": 0.0, "Com_insert": 0.0, "Com_delete": 0.0}
    changed = {"innodb_io_capacity": "200", "innodb_flush_log_at_trx_commit": "1"}
    found = experiments(
        server(per_second=reads, defaults=changed, innodb_io_capacity="900", innodb_flush_log_at_trx_commit="2")
    )
    assert "innodb_io_capacity" not in found
    assert "innodb_flush_log_at_trx_commit" not in found


def test_a_size_that_somebody_set_is_no_reason_to_try_the_default():
    writes = {**QUERIES, "Com_update": 500.0}
    defaults = {"innodb_log_buffer_size": "16777216", "innodb_io_capacity": "200"}
    found = experiments(server(per_second=writes, defaults=defaults, innodb_log_buffer_size="134217728"))
    changed = {name for name, one in found.items() if "changed_default" in codes(one)}
    assert changed == {"innodb_io_capacity"}


def test_a_rule_of_thumb_needs_a_fact_of_this_server():
    found = experiments(server(per_second={**QUERIES, "Com_update": 100.0}))
    pool = found["innodb_buffer_pool_size"]
    assert codes(pool) == ["rule_of_thumb"]
    # 60 % of 16 GiB, less than 1.15 times 10 GiB of data
    assert pool.triggers[0].text.startswith("For 16 GiB of memory")
    assert pool.values == (10307502080,)
    assert "innodb_flush_method" not in found  # its rule recommends O_DIRECT whatever the machine is


def test_a_variable_that_limits_the_experiment_is_set_beside_it():
    figures = {**QUERIES, "Created_tmp_disk_tables": 8.0, "Created_tmp_tables": 10.0}
    old = experiments(server("mysql@5.6.24", per_second=figures))["tmp_table_size"]
    assert old.beside == {"max_heap_table_size": old.values[-1]}
    assert experiments(server("mysql@9.7.4", per_second=figures))["tmp_table_size"].beside == {}


def test_it_is_known_which_variables_take_a_start():
    found = experiments(server("mysql@5.6.24", per_second={"Innodb_pages_written": 50.0, "Innodb_buffer_pool_reads": 20.0}))
    assert found["innodb_flush_method"].at_start
    assert not found["innodb_flush_neighbors"].at_start
