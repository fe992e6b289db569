"""Which variables are chosen, by the catalogues of real builds."""

from dataclasses import replace

import pytest

from dialin.model.setting import as_number
from dialin.model.tune import LeftOut, LeftOutReason
from dialin.search.ranges import RequestedVariable, make_dimension
from dialin.search.space import Space
from dialin.search.variable_choice import ChosenVariable, Situation, choose_variables, make_constraints, variable_facts
from dialin.variables.behaviour import limit_of
from dialin.variables.catalogue import Kind, Variable
from dialin.variables.durability import DURABILITY_RULES
from dialin.variables.memory import MEMORY
from dialin.variables.performance import TABLE
from dialin.variables.size_units import BYTES, unit_of
from fixtures.real_catalogues import BUILDS, real_catalogue

GIB = 2**30
CATALOGUES = {build: real_catalogue(build) for build in BUILDS}
READ_WRITE = {
    "Questions": 200_000.0, "Com_update": 20_000.0, "Com_insert": 10_000.0, "Com_delete": 10_000.0, "Com_select": 140_000.0,
    "Innodb_os_log_written": 300e6, "Innodb_buffer_pool_reads": 30_000.0, "Sort_range": 20_000.0, "Sort_scan": 0.0,
    "Created_tmp_tables": 10_000.0, "Created_tmp_disk_tables": 0.0, "Select_full_join": 0.0, "Select_range_check": 0.0,
    "Key_read_requests": 0.0, "Key_write_requests": 0.0, "Opened_tables": 3.0, "Table_open_cache_misses": 3.0,
    "Binlog_cache_use": 10_000.0, "Connections": 2.0, "Threads_created": 0.0, "Com_call_procedure": 0.0,
    "Handler_read_rnd": 0.0, "Opened_table_definitions": 1.0, "Aria_pagecache_read_requests": 0.0,
}  # fmt: skip
READ_ONLY = (
    READ_WRITE
    | dict.fromkeys(
        ("Com_update", "Com_insert", "Com_delete", "Sort_range", "Innodb_buffer_pool_reads", "Binlog_cache_use"), 0.0
    )
    | {"Created_tmp_tables": 60.0}
)
MACHINE = Situation(
    memory=16 * GIB, cpus=8, connections=16, data=10 * GIB, disk=200 * GIB, iops=5000, spinning=False, tables=10,
    counters=READ_WRITE, seconds=30,
)  # fmt: skip


def choose(build: str = "mysql@9.7.4", situation: Situation = MACHINE, **options) -> list[ChosenVariable]:
    return choose_variables(CATALOGUES[build].variables, replace(situation, build=build), **options).chosen


def names(chosen: list[ChosenVariable]) -> set[str]:
    return {one.name for one in chosen}


def space_of(chosen: list[ChosenVariable]) -> Space:
    return Space(tuple(one.dimension for one in chosen))


PERCONA = {
    "thread_handling": Variable("thread_handling", Kind.ENUMERATION, default="one-thread-per-connection", at_start=True,
        choices=("one-thread-per-connection", "no-threads", "pool-of-threads")),
    "thread_pool_oversubscribe": Variable("thread_pool_oversubscribe", Kind.INTEGER, 1, 1000, default="3", at_start=True),
    "thread_pool_high_prio_mode": Variable("thread_pool_high_prio_mode", Kind.ENUMERATION, default="transactions",
        at_start=True, choices=("transactions", "statements", "none")),
    "innodb_empty_free_list_algorithm": Variable("innodb_empty_free_list_algorithm", Kind.ENUMERATION, default="legacy",
        at_start=True, choices=("legacy", "backoff")),
    "innodb_cleaner_lsn_age_factor": Variable("innodb_cleaner_lsn_age_factor", Kind.ENUMERATION, default="high_checkpoint",
        at_start=True, choices=("legacy", "high_checkpoint")),
}  # fmt: skip
"""Variables of Percona Server with their published defaults, beside those that it shares with MySQL."""


def test_percona_servers_own_variables_are_searched_where_they_act():
    variables = {**CATALOGUES["mysql@9.7.4"].variables, **PERCONA}

    def searched(**in_force: str) -> set[str]:
        situation = replace(MACHINE, build="percona@9.7.4", in_force=in_force)
        return names(choose_variables(variables, situation, most=100).chosen) & PERCONA.keys() - {"thread_handling"}

    of_innodb = {"innodb_empty_free_list_algorithm", "innodb_cleaner_lsn_age_factor"}
    assert searched() == of_innodb
    assert searched(thread_handling="pool-of-threads") == PERCONA.keys() - {"thread_handling"}


@pytest.mark.parametrize("build", BUILDS)
def test_every_chosen_variable_has_reasons(build: str) -> None:
    chosen = choose(build)
    assert names(chosen) <= CATALOGUES[build].variables.keys()
    assert all(one.reason and one.dimension.reason for one in chosen)
    assert 10 <= len(chosen) <= 30


@pytest.mark.parametrize("build", BUILDS)
def test_the_space_begins_with_the_baseline_and_takes_what_rules_recommend(build: str) -> None:
    choice = choose(build)
    space = space_of(choice)
    assert space.setting(space.default_point) == {}
    assert space.setting(space.rules_point()).keys() <= names(choice)
    assert "innodb_buffer_pool_size" in space.setting(space.rules_point())
    for one in choice:
        assert one.dimension.rule is None or one.dimension.source


@pytest.mark.parametrize("build", BUILDS)
def test_ranges_stay_within_what_the_build_takes(build: str) -> None:
    for one in choose(build):
        variable, axis = CATALOGUES[build].variables[one.name], one.dimension
        if not axis.values:
            assert variable.minimum <= axis.low < axis.high <= variable.maximum


def test_each_build_has_its_own_redo_log() -> None:
    assert "innodb_redo_log_capacity" in names(choose("mysql@9.7.4"))
    assert "innodb_log_file_size" in names(choose("mysql@5.6.24"))
    assert "innodb_log_file_size" in names(choose("mariadb@10.11.19"))


@pytest.mark.parametrize("build", BUILDS)
def test_weaker_durability_takes_permission(build: str) -> None:
    weaker = {rule.variables[0] for rule in DURABILITY_RULES} - {"innodb_flush_method"}
    assert not names(choose(build)) & weaker
    assert {"innodb_flush_log_at_trx_commit", "innodb_doublewrite"} <= names(choose(build, weaker=True, most=100))


@pytest.mark.parametrize("build", BUILDS)
def test_no_flush_method_of_weaker_durability_is_tried_without_permission(build: str) -> None:
    def words(*, weaker: bool) -> set[object]:
        chosen = choose(build, weaker=weaker, most=100)
        return {word for one in chosen if one.name == "innodb_flush_method" for word in one.dimension.values}

    assert "O_DIRECT" in words(weaker=False) <= {"", "fsync", "O_DIRECT"}
    assert "O_DIRECT_NO_FSYNC" in words(weaker=True)
    assert not words(weaker=True) & {"nosync", "littlesync"}


def test_variables_that_the_load_cannot_touch_are_left_out() -> None:
    untouched = {"sort_buffer_size", "tmp_table_size", "innodb_redo_log_capacity", "innodb_lru_scan_depth"}
    assert not names(choose(situation=replace(MACHINE, counters=READ_ONLY), most=100)) & untouched
    assert untouched <= names(choose(most=100))


def test_two_temporary_tables_per_second_are_those_of_the_probes() -> None:
    few = replace(MACHINE, counters=READ_WRITE | {"Created_tmp_tables": 45.0, "Questions": 10_000.0})
    assert "tmp_table_size" not in names(choose(situation=few, most=100))


def test_a_load_of_few_statements_touches_all_that_grows() -> None:
    slow = replace(MACHINE, counters=READ_WRITE | {"Questions": 60.0, "Sort_range": 3.0})
    assert "sort_buffer_size" in names(choose(situation=slow, most=100))


def test_without_counters_nothing_counts_as_untouched() -> None:
    uncounted = choose(situation=replace(MACHINE, counters={}, seconds=0), most=100)
    assert {*names(choose(most=100)), "join_buffer_size"} <= names(uncounted)


def test_without_a_binary_log_its_cache_is_left_out() -> None:
    off = replace(MACHINE, in_force={"log_bin": "OFF"})
    assert "binlog_cache_size" not in names(choose(situation=off, most=100))
    assert "binlog_cache_size" in names(choose(most=100))


def test_one_connection_needs_nothing_that_spares_waiting() -> None:
    alone = names(choose(situation=replace(MACHINE, connections=1), most=100))
    assert not alone & {"innodb_thread_concurrency", "table_open_cache_instances"}


def test_on_an_attached_server_only_dynamic_variables_are_searched() -> None:
    choice = choose(situation=replace(MACHINE, restarts=False))
    assert not any(one.dimension.static for one in choice)
    assert "innodb_flush_method" not in names(choice)


def test_a_pool_that_holds_all_data_is_left_out() -> None:
    fits = replace(MACHINE, data=5 * GIB, in_force={"innodb_buffer_pool_size": str(8 * GIB)})
    assert "innodb_buffer_pool_size" not in names(choose(situation=fits, most=100))


def left_out(build: str = "mysql@9.7.4", situation: Situation = MACHINE, **options) -> dict[str, LeftOut]:
    choice = choose_variables(CATALOGUES[build].variables, replace(situation, build=build), **options)
    return {one.name: one for one in choice.left_out}


@pytest.mark.parametrize("build", BUILDS)
def test_every_known_variable_of_a_build_is_chosen_or_left_out_for_a_reason(build: str) -> None:
    known = {name for name in TABLE if name in CATALOGUES[build].variables and CATALOGUES[build].variables[name].at_start}
    for most in (5, 100):
        assert names(choose(build, most=most)) | left_out(build, most=most).keys() == known
        assert not names(choose(build, most=most)) & left_out(build, most=most).keys()


def test_the_reason_says_why_a_variable_is_left_out() -> None:
    reasons = {name: one.reason for name, one in left_out(most=5, situation=replace(MACHINE, counters=READ_ONLY)).items()}
    assert reasons["innodb_doublewrite"] is LeftOutReason.DURABILITY
    assert reasons["innodb_io_capacity"] is LeftOutReason.LOAD
    assert LeftOutReason.BUDGET in reasons.values()
    in_force = {"innodb_thread_concurrency": "0", "innodb_buffer_pool_size": str(20 * GIB)}
    others = left_out(most=100, situation=replace(MACHINE, in_force=in_force))
    assert others["innodb_buffer_pool_size"].reason is LeftOutReason.ROOM
    assert (others["innodb_concurrency_tickets"].reason, others["innodb_concurrency_tickets"].by) == (
        LeftOutReason.NEEDS,
        "innodb_thread_concurrency",
    )
    attached = left_out(most=100, situation=replace(MACHINE, restarts=False))
    assert attached["innodb_flush_method"].reason is LeftOutReason.RESTART


@pytest.mark.parametrize("build", BUILDS)
@pytest.mark.parametrize("most", [6, 12, 100])
@pytest.mark.parametrize("data", [GIB / 4, 10 * GIB])
def test_no_axis_is_without_effect_because_another_variable_limits_it(build: str, most: int, data: float) -> None:
    situation = replace(MACHINE, data=data, in_force=CATALOGUES[build].defaults())
    chosen = choose(build, situation, most=most)
    axes = {one.name: one.dimension for one in chosen}
    constraints = make_constraints(space_of(chosen), replace(situation, build=build), CATALOGUES[build].variables)
    moved = {(rule.lower, rule.upper) for rule in constraints.order} | {(r.name, r.other) for r in constraints.acts_from}
    for name, axis in axes.items():
        limit = limit_of(name, build)
        if limit is None or limit.by not in CATALOGUES[build].variables:
            continue
        if limit.by in axes:
            assert (name, limit.by) in moved, "it is moved with its partner"
        reached = axes[limit.by].high if limit.by in axes else float(as_number(situation.in_force[limit.by]))
        assert reached >= (axis.high if limit.least is None else limit.least)
        assert axis.low < axis.high


def test_page_cleaners_are_no_axis_where_the_pool_has_one_instance() -> None:
    small = replace(MACHINE, data=GIB / 4, in_force={"innodb_buffer_pool_instances": "1"})
    assert "innodb_page_cleaners" not in names(choose(situation=small, most=100))
    why = left_out(situation=small, most=100)["innodb_page_cleaners"]
    assert (why.reason, why.by, why.value) == (LeftOutReason.LIMITED, "innodb_buffer_pool_instances", "1")


def test_the_range_of_a_variable_ends_where_another_one_that_stays_limits_it() -> None:
    situation = replace(MACHINE, in_force=CATALOGUES["mysql@5.6.24"].defaults() | {"innodb_io_capacity_max": "3000"})
    alone = {one.name: one.dimension for one in choose("mysql@5.6.24", situation, most=4)}
    assert "innodb_io_capacity_max" not in alone
    assert alone["innodb_io_capacity"].high == 3000
    assert alone["innodb_io_capacity"].reason == "up to innodb_io_capacity_max"


@pytest.mark.parametrize(
    ("build", "in_force", "inert"),
    [
        ("mysql@9.7.4", {"innodb_change_buffering": "none"}, "innodb_change_buffer_max_size"),
        ("mysql@9.7.4", {"internal_tmp_mem_storage_engine": "TempTable"}, "max_heap_table_size"),
        ("mysql@9.7.4", {"innodb_adaptive_flushing": "OFF"}, "innodb_adaptive_flushing_lwm"),
        ("mysql@9.7.4", {"innodb_sync_spin_loops": "0"}, "innodb_spin_wait_delay"),
        ("mysql@9.7.4", {"innodb_doublewrite": "OFF"}, "innodb_doublewrite_pages"),
        ("mariadb@10.11.19", {"binlog_commit_wait_usec": "0"}, "binlog_commit_wait_count"),
    ],
)
def test_a_variable_that_another_one_switches_off_is_no_axis(build: str, in_force: dict[str, str], inert: str) -> None:
    switched = replace(MACHINE, in_force=CATALOGUES[build].defaults() | {"log_bin": "ON"} | in_force)
    assert inert not in names(choose(build, switched, most=100))
    assert left_out(build, switched, most=100)[inert].by == next(iter(in_force))


def test_tables_of_the_memory_engine_count_where_the_build_has_no_other_engine_for_them() -> None:
    assert "max_heap_table_size" in names(choose("mysql@5.6.24", most=100))


def test_instances_of_the_pool_need_a_pool_of_a_gibibyte() -> None:
    assert "innodb_buffer_pool_instances" in names(choose(most=100))
    small = choose(situation=replace(MACHINE, data=GIB / 4), most=100)
    assert "innodb_buffer_pool_instances" not in names(small)


def test_the_pool_is_cut_by_memory_and_by_data() -> None:
    def highest(situation: Situation) -> float:
        (pool,) = [one.dimension for one in choose(situation=situation) if one.name == "innodb_buffer_pool_size"]
        return pool.high / GIB

    assert highest(MACHINE) == pytest.approx(12)
    assert highest(replace(MACHINE, data=4 * GIB)) == pytest.approx(6)
    assert highest(replace(MACHINE, data=None, memory=4 * GIB)) == pytest.approx(3)


def test_the_range_says_what_cuts_it() -> None:
    reasons = {one.name: one.dimension.reason for one in choose(most=100)}
    assert reasons["innodb_buffer_pool_size"] == "up to 75% of the free memory"
    assert reasons["innodb_redo_log_capacity"] == "up to 5.0% of the free disk"
    assert reasons["innodb_read_io_threads"] == "up to 4 times the CPUs"


def test_the_redo_log_starts_with_an_hour_of_writes() -> None:
    (log,) = [one.dimension for one in choose() if one.name == "innodb_redo_log_capacity"]
    assert as_number(log.rule) == pytest.approx(min(3600 * 300e6 / 30, 10 * GIB), rel=0.01)
    assert "Redo Logging" in log.source


def test_special_values_are_categories() -> None:
    (concurrency,) = [one.dimension for one in choose(most=100) if one.name == "innodb_thread_concurrency"]
    assert concurrency.special == (0,)
    assert concurrency.low == 1
    instances = next(one.dimension for one in choose(most=100) if one.name == "innodb_buffer_pool_instances")
    assert instances.special == ()  # 9.7 dies of 0


def test_the_reason_names_the_counter_that_shows_it() -> None:
    reasons = {one.name: one.reason for one in choose(most=100)}
    assert reasons["sort_buffer_size"].endswith("; sort_range: 667 per second")


def test_no_more_are_chosen_than_requested_and_those_of_rules_go_first() -> None:
    choice = choose(most=6)
    assert len(choice) == 6
    assert all(one.dimension.rule is not None for one in choice)


def test_memory_counts_the_pool_once_and_buffers_for_each_connection() -> None:
    choice = choose(most=100)
    limits = make_constraints(space_of(choice), MACHINE, CATALOGUES["mysql@9.7.4"].variables).memory
    assert limits is not None
    assert limits.limit == pytest.approx(0.92 * 16 * GIB)
    assert limits.factors["innodb_buffer_pool_size"] == 1
    assert limits.factors["sort_buffer_size"] == limits.factors["tmp_table_size"] == 16
    settings = {"innodb_buffer_pool_size": 8 * GIB, "sort_buffer_size": GIB / 16}
    assert limits.needed(settings) == pytest.approx(9.5 * GIB, abs=GIB / 100)


def test_a_pool_that_is_not_searched_still_takes_its_memory() -> None:
    choice = choose(situation=replace(MACHINE, restarts=False, in_force={"innodb_buffer_pool_size": str(15 * GIB)}))
    assert "innodb_buffer_pool_size" not in names(choice)
    variables = CATALOGUES["mysql@9.7.4"].variables
    limits = make_constraints(
        space_of(choice), replace(MACHINE, in_force={"innodb_buffer_pool_size": str(15 * GIB)}), variables
    )
    assert limits.memory is not None
    assert limits.memory.constant >= 15.5 * GIB


def test_variables_that_limit_each_other_do_so() -> None:
    order = make_constraints(space_of(choose(most=100)), MACHINE, CATALOGUES["mysql@9.7.4"].variables).order
    assert ("innodb_io_capacity", "innodb_io_capacity_max") in [(rule.lower, rule.upper) for rule in order]


def test_a_variable_that_a_user_names_has_the_same_rules() -> None:
    variables = CATALOGUES["mysql@9.7.4"].variables
    facts = variable_facts(variables["innodb_io_capacity"], MACHINE, variables)
    axis = make_dimension(facts, RequestedVariable("innodb_io_capacity"))
    assert (axis.low, axis.high, axis.rule) == (100, 10_000, 2500)
    ranged = make_dimension(facts, RequestedVariable("innodb_io_capacity", 200, 20_000))
    assert (ranged.low, ranged.high) == (200, 20_000)
    unknown = variable_facts(variables["query_prealloc_size"], MACHINE, variables)
    assert make_dimension(unknown).high == 16 * 8192


@pytest.mark.parametrize(
    ("build", "in_force", "multiple"),
    [
        ("mysql@9.7.4", {}, 2**27),
        ("mysql@9.7.4", {"innodb_buffer_pool_size": str(GIB), "innodb_buffer_pool_instances": "2"}, 2**28),
        ("mysql@9.7.4", {"innodb_buffer_pool_size": str(2**26), "innodb_buffer_pool_chunk_size": str(2**26)}, 2**27),
        ("mysql@9.7.4", {"innodb_buffer_pool_size": str(GIB), "innodb_buffer_pool_chunk_size": str(2**25)}, 2**25),
        ("mysql@5.6.24", {}, 0),
        ("mariadb@10.11.19", {}, 0),
    ],
)
def test_a_pool_is_a_whole_number_of_chunks_in_every_instance(build: str, in_force: dict[str, str], multiple: int) -> None:
    variables = CATALOGUES[build].variables
    situation = replace(MACHINE, build=build, in_force=in_force)
    assert variable_facts(variables["innodb_buffer_pool_size"], situation, variables).multiple == multiple


def test_the_memory_of_every_size_that_is_searched_is_known() -> None:
    on_disk = {"innodb_redo_log_capacity", "innodb_log_file_size", "innodb_log_write_ahead_size"}
    assert {name for name in TABLE if unit_of(name) == BYTES} - MEMORY.keys() == on_disk
