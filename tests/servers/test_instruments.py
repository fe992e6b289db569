"""Which wait instruments are meant, and what a build is started with to collect them."""

import pytest

from dialin.model.build import Build, BuildReference
from dialin.servers.connection import RefusedError
from dialin.servers.instruments import MOST_ROWS, lost_instances, matching_instruments, nearest, start_options, wait_timer

NAMES = [
    "wait/synch/mutex/sql/LOCK_open",
    "wait/synch/mutex/innodb/hash_table_mutex",
    "wait/synch/sxlock/innodb/hash_table_locks",
    "wait/io/file/innodb/innodb_log_file",
]
GIB = 1024**3


def build(text):
    reference = BuildReference.parse(text)
    return Build(reference.vendor, reference.version, None)


@pytest.mark.parametrize(
    ("pattern", "found"),
    [
        ("hash_table_locks", NAMES[2:3]),
        ("hash_table", NAMES[1:3]),
        ("lock_open", NAMES[:1]),
        ("%hash%", NAMES[1:3]),
        ("hash%", []),
        ("wait/synch/%/innodb/%", NAMES[1:3]),
        ("wait.synch", []),
        ("hash_table_%x", []),
    ],
)
def test_a_part_of_a_name_or_a_pattern_with_percent_signs_names_instruments(pattern, found):
    assert matching_instruments(pattern, NAMES) == found


def test_the_nearest_names_are_reported_by_their_last_part():
    assert nearest("hash_tables_lock", NAMES)[0] == NAMES[2]
    assert nearest("%LOCKopen%", NAMES) == NAMES[:1]
    assert nearest("zzz", NAMES) == []


def test_a_build_that_makes_locks_visible_at_start_only_is_reported_of_them_there():
    options = start_options(build("mysql@5.6.24"), "hash_table_locks", 16 * GIB)
    assert options["performance_schema_instrument"] == "%hash_table_locks%=ON"
    assert options["performance_schema_max_rwlock_instances"] > 64 * 16
    options = start_options(build("mariadb@10.2.11"), "wait/synch/%/innodb/%", 16 * GIB)
    assert options["performance_schema_instrument"] == "wait/synch/%/innodb/%=ON"


def test_a_build_that_can_be_reported_while_it_runs_is_not_reported_at_start():
    options = start_options(build("mysql@9.7.4"), "hash_table_locks", 16 * GIB)
    assert "performance_schema_instrument" not in options
    assert options["performance_schema_consumer_events_waits_history_long"] == "ON"


def test_mysql_5_5_knows_none_of_these_options():
    assert start_options(build("mysql@5.5.9"), "kernel_mutex", 16 * GIB) == {
        "performance_schema": "ON",
        "performance_schema_events_waits_history_long_size": MOST_ROWS,
    }


def test_little_memory_makes_a_small_ring():
    rows = start_options(build("mysql@9.7.4"), "x", GIB)["performance_schema_events_waits_history_long_size"]
    assert 0 < rows * 184 < GIB / 16


def asked(answers):
    def query(statement, arguments=()):
        for part, rows in answers.items():
            if part in statement:
                if isinstance(rows, Exception):
                    raise rows
                return rows
        raise AssertionError(statement)

    return query


def test_the_timer_that_was_chosen_is_reported_with_its_frequency():
    answers = {"setup_timers": [("NANOSECOND",)], "performance_timers": [(1_000_000_000,)]}
    assert wait_timer(asked(answers)) == ("NANOSECOND", 1e9)


def test_where_no_timer_can_be_chosen_it_is_the_cycle_counter():
    answers = {"setup_timers": RefusedError("no such table", "", 1146), "performance_timers": [(2_588_567_164,)]}
    assert wait_timer(asked(answers)) == ("CYCLE", 2_588_567_164.0)
    assert wait_timer(asked({**answers, "performance_timers": [(None,)]})) == ("CYCLE", 0.0)


def test_only_objects_that_were_lost_are_reported():
    shown = [("Performance_schema_mutex_instances_lost", "0"), ("Performance_schema_rwlock_instances_lost", "12")]
    assert lost_instances(asked({"instances_lost": shown})) == {"Performance_schema_rwlock_instances_lost": 12}
