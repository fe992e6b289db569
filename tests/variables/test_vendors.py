"""Which variables belong to a vendor and which it removed, held against real catalogues and the listing of a Percona Server."""

import pytest

from dialin.errors import UserError
from dialin.model.build import Vendor
from dialin.variables import cautions, vendors
from dialin.variables.check import find_name
from dialin.variables.fitting import fit
from dialin.variables.optionfile import OptionFile
from dialin.variables.vendors import counterpart, owners, removal
from fixtures.real_catalogues import BUILDS, NAMED, real_catalogue, variables_of

MYSQL, MARIADB = real_catalogue("mysql@9.7.4"), real_catalogue("mariadb@10.11.19")
BY_PLUGIN = {"query_response_time_range_base", "query_response_time_stats", "thread_pool_prio_kickup_timer"}
NOT_READ = BY_PLUGIN | {"binlog_space_limit"}  # which MariaDB has from 11.4 on


@pytest.mark.parametrize("build", NAMED)
def test_a_build_has_no_variable_that_is_said_to_be_of_other_vendors_only_or_removed(build):
    assert {name for name in variables_of(build) if owners(name, build) or removal(name, build)} == set()


def test_the_variables_of_a_vendor_are_in_one_of_its_builds():
    for vendor in (Vendor.MARIADB, Vendor.ORACLE):
        known = {name for build in NAMED if build.startswith(f"{vendor}@") for name in variables_of(build)}
        assert {name for of, names in vendors._NAMES.items() if vendor in of for name in names - NOT_READ} <= known


@pytest.mark.parametrize("vendor", vendors._REMOVED)
def test_what_a_vendor_removed_was_its_own(vendor):
    assert {name for names in vendors._REMOVED[vendor].values() for name in names if owners(name, f"{vendor}@5.5.0")} == set()


def test_what_a_family_has_instead_is_in_its_newest_build():
    for catalogue in (MYSQL, MARIADB):
        of_family = vendors._INSTEAD[Vendor(catalogue.build_id.partition("@")[0]).family]
        assert {text.partition(",")[0] for text in of_family.values()} <= set(catalogue.variables)
        assert not of_family.keys() & catalogue.variables.keys()


@pytest.mark.parametrize(
    ("name", "build", "expected"),
    [
        ("thread_pool_high_prio_mode", "mysql@8.0.36", "Percona Server"),
        ("thread_pool_high_prio_mode", "percona@8.0.36", ""),
        ("log_slow_verbosity", "mysql@8.0.36", "Percona Server and MariaDB"),
        ("innodb_redo_log_capacity", "mariadb@11.4.5", "MySQL and Percona Server"),
        ("aria_pagecache_buffer_size", "percona@8.0.36", "MariaDB"),
        ("innodb_empty_free_list_algorithm", "mysql@8.0.36", "Percona Server and MariaDB"),
        ("thread_pool_prio_kickup_timer", "mysql@8.0.36", ""),
        ("innodb_buffer_pool_size", "mariadb@11.4.5", ""),
        ("no_such_variable", "mysql@8.0.36", ""),
        ("userstat", "something else", ""),
    ],
)
def test_the_vendors_of_a_variable_are_named_for_builds_of_others(name, build, expected):
    assert owners(name, build) == expected


def test_a_variable_of_another_vendor_is_refused_with_its_vendor():
    with pytest.raises(UserError, match=r"no variable thread_statistics, which is a variable of Percona Server") as caught:
        find_name("thread_statistics", MYSQL, {})
    assert caught.value.remedy == "Leave it out"


def test_what_a_build_has_for_the_same_task_is_named():
    with pytest.raises(UserError, match="which is a variable of MySQL and Percona Server") as caught:
        find_name("innodb_redo_log_capacity", MARIADB, {})
    assert caught.value.remedy == "mariadb@10.11.19 has innodb_log_file_size for that"
    assert counterpart("max_statement_time", "mysql@9.7.4") == "max_execution_time, in milliseconds"


def test_an_option_file_of_percona_server_says_what_mysql_does_not_have():
    file = OptionFile({"userstat": "ON", "thread_pool_high_prio_mode": "none", "innodb_buffer_pool_size": "1G"})
    fitted = fit(file, MYSQL, {}, leave_out=True)
    assert fitted.setting == {"innodb_buffer_pool_size": "1G"}
    (note,) = [note for note in fitted.notes if "userstat" in note]
    assert "userstat (of Percona Server and MariaDB)" in note
    assert "thread_pool_high_prio_mode (of Percona Server)" in note


@pytest.mark.parametrize(
    ("name", "build", "text"),
    [
        ("innodb_log_block_size", "percona@5.7.44", "renamed to innodb_log_write_ahead_size; removed in Percona Server 5.7"),
        ("innodb_track_changed_pages", "percona@8.0.36", "removed in Percona Server 8.0.30"),
        ("query_cache_size", "percona@8.0.36", "removed in MySQL 8.0"),
        ("innodb_empty_free_list_algorithm", "mariadb@10.11.19", "removed in MariaDB 10.3"),
        ("innodb_idle_flush_pct", "mariadb@10.11.19", "removed in MariaDB 10.5.9"),
    ],
)
def test_what_percona_server_lost_is_known(name, build, text):
    assert str(removal(name, build)) == text


def test_percona_servers_own_variables_are_not_removed_from_it_before_their_time():
    assert removal("innodb_track_changed_pages", "percona@8.0.29") is None
    assert removal("innodb_track_changed_pages", "mysql@8.0.36") is None
    assert removal("innodb_empty_free_list_algorithm", "percona@8.4.2") is None


def test_the_thread_pools_variables_have_their_condition_where_a_vendor_has_the_pool():
    (caution,) = cautions.CAUTIONS["thread_pool_high_prio_mode"]
    assert caution.is_of("percona@8.0.36")
    assert caution.is_of("mariadb@10.11.19")
    assert not caution.is_of("mysql@8.0.36")


NAMES = {name for build in BUILDS for name in real_catalogue(build).variables} | {
    name for table in vendors._REMOVED.values() for names in table.values() for name in names
}


@pytest.mark.parametrize("build", BUILDS)
def test_a_removed_variable_is_not_in_the_build_and_its_successor_is(build):
    known = real_catalogue(build).variables
    for name in NAMES:
        if gone := removal(name, build):
            assert name not in known
            assert not gone.successor or gone.successor in known


def test_every_variable_of_5_6_that_9_7_does_not_have_has_a_reason():
    missing = set(real_catalogue("mysql@5.6.24").variables) - set(real_catalogue("mysql@9.7.4").variables)
    assert {name for name in missing if removal(name, "mysql@9.7.4") is None} == set()


def test_a_variable_is_there_until_it_is_removed():
    assert removal("query_cache_size", "mysql@5.7.44") is None
    assert str(removal("query_cache_size", "mysql@8.0.33")) == "removed in MySQL 8.0"
    assert removal("query_cache_size", "mariadb@11.4.5") is None
    assert removal("innodb_log_files_in_group", "mariadb@10.11.19").vendor is Vendor.MARIADB
