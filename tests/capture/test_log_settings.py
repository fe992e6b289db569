"""Which variables make a server log every statement, on each build."""

from dataclasses import dataclass

import pytest

from dialin.capture.log_settings import Source, leaves_sessions_logging, log_settings
from dialin.errors import UserError
from dialin.model.build import Family, Version


@dataclass(frozen=True)
class Server:
    family: Family
    version: Version


NEW, OTHER = Server(Family.MYSQL, (9, 7, 4)), Server(Family.MARIADB, (10, 11, 19))
MYSQL = {
    "slow_query_log": "OFF",
    "slow_query_log_file": "/var/lib/mysql/db1-slow.log",
    "general_log": "OFF",
    "general_log_file": "/var/lib/mysql/db1.log",
    "long_query_time": "10.000000",
    "min_examined_row_limit": "0",
    "log_slow_extra": "OFF",
    "log_slow_admin_statements": "OFF",
    "log_queries_not_using_indexes": "OFF",
}
MARIADB = {
    **{name: MYSQL[name] for name in ("slow_query_log", "slow_query_log_file", "long_query_time", "min_examined_row_limit")},
    "log_slow_query": "OFF",
    "log_slow_query_file": "db1-slow.log",
    "log_slow_query_time": "10.000000",
    "log_slow_min_examined_row_limit": "0",
    "log_slow_filter": "admin,filesort,full_scan,query_cache,query_cache_miss,tmp_table",
    "log_slow_rate_limit": "1",
    "log_slow_admin_statements": "ON",
    "log_slow_disabled_statements": "sp",
}


def test_only_what_differs_is_set_and_the_log_is_switched_on_last():
    settings = log_settings(Source.SLOW, "/x.log", MYSQL, NEW)
    assert settings.quiet == {}
    expected = {
        "slow_query_log_file": "/x.log",
        "long_query_time": 0,
        "log_slow_extra": "ON",
        "log_slow_admin_statements": "ON",
    }
    assert settings.arm == expected
    assert settings.fire == {"slow_query_log": "ON"}


def test_both_names_of_a_variable_are_set_so_that_both_are_put_back():
    settings = log_settings(Source.SLOW, "/x.log", MARIADB, OTHER)
    assert settings.arm == {
        "log_output": "NONE",
        "slow_query_log_file": "/x.log",
        "log_slow_query_file": "/x.log",
        "long_query_time": 0,
        "log_slow_query_time": 0,
        "slow_query_log": "ON",
        "log_slow_query": "ON",
    }
    assert settings.fire == {"log_output": "FILE"}
    assert settings.names[:2] == ["slow_query_log", "log_slow_query"]
    assert set(settings.names) == set(settings.arm)


def test_a_general_log_that_is_on_is_not_silenced_for_the_slow_log():
    with pytest.raises(UserError, match="general log"):
        log_settings(Source.SLOW, "/x.log", {**MARIADB, "general_log": "ON"}, OTHER)


def test_settings_that_keep_statements_out_of_the_log_are_lifted():
    narrow = {
        **MARIADB,
        "log_slow_filter": "full_scan",
        "log_slow_rate_limit": "100",
        "min_examined_row_limit": "1000",
        "log_slow_disabled_statements": "admin,call,sp",
    }
    arm = log_settings(Source.SLOW, "/x.log", narrow, OTHER).arm
    lifted = {
        "log_slow_filter": "",
        "log_slow_rate_limit": 1,
        "min_examined_row_limit": 0,
        "log_slow_disabled_statements": "sp",
    }
    assert lifted.items() <= arm.items()


def test_a_log_that_is_on_is_off_first_and_gets_its_settings_back_before_its_file():
    settings = log_settings(Source.SLOW, "/x.log", {**MYSQL, "slow_query_log": "ON"}, NEW)
    assert settings.quiet == {"slow_query_log": "OFF"}
    names = settings.names
    assert names[-2:] == ["slow_query_log_file", "slow_query_log"], "else its own file would get every statement for a moment"
    assert log_settings(Source.SLOW, "/x.log", MYSQL, NEW).names[0] == "slow_query_log"


def test_the_general_log_takes_its_file_and_its_switch_alone():
    settings = log_settings(Source.GENERAL, "/x.log", MYSQL, NEW)
    assert (settings.arm, settings.fire) == ({"general_log_file": "/x.log"}, {"general_log": "ON"})


@pytest.mark.parametrize(
    ("source", "switch", "threshold", "fills"),
    [
        (Source.SLOW, "ON", "10.000000", True),
        (Source.SLOW, "ON", "0.000000", False),
        (Source.SLOW, "OFF", "10.000000", False),
        (Source.GENERAL, "ON", "10.000000", False),
    ],
)
def test_sessions_fill_a_slow_log_that_was_on_with_a_threshold(source, switch, threshold, fills):
    variables = {**MYSQL, "slow_query_log": switch, "long_query_time": threshold}
    assert leaves_sessions_logging(source, variables) is fills


def test_percona_server_logs_calls_and_not_the_statements_of_procedures_into_one_file():
    """Names and defaults of 8.0.40-31, as published: none could be had."""
    percona = {
        **MYSQL,
        "log_slow_filter": "full_scan",
        "log_slow_rate_limit": "100",
        "log_slow_sp_statements": "ON",
        "max_slowlog_size": "1073741824",
    }
    settings = log_settings(Source.SLOW, "/x.log", percona, Server(Family.MYSQL, (8, 0, 40)))
    own = {name: settings.arm[name] for name in percona if name not in MYSQL}
    assert own == {"log_slow_filter": "", "log_slow_rate_limit": 1, "log_slow_sp_statements": "OFF", "max_slowlog_size": 0}
    assert set(own) <= set(settings.names)
