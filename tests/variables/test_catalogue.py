import json

import pytest

from dialin.variables import catalogue
from dialin.variables.catalogue import Catalogue, Kind, Variable


def test_mysql_9_reports_kind_range_and_default(mysql):
    assert mysql.variables["innodb_buffer_pool_instances"] == Variable(
        "innodb_buffer_pool_instances", Kind.INTEGER, 0, 64, default="1"
    )
    assert mysql.variables["innodb_adaptive_hash_index"].kind is Kind.BOOLEAN
    assert mysql.variables["transaction_isolation"].kind is Kind.ENUMERATION
    assert mysql.variables["sql_mode"].kind is Kind.SET
    assert mysql.variables["datadir"].kind is Kind.STRING


def test_mysql_gives_some_limits_as_the_bits_of_a_double(mysql):
    assert mysql.variables["long_query_time"].maximum == 31536000.0


def test_strings_of_mysql_that_are_enumerations_have_choices(mysql):
    assert mysql.variables["innodb_flush_method"].kind is Kind.ENUMERATION
    assert mysql.variables["innodb_flush_method"].choices[4] == "O_DIRECT"


def test_mysql_8_is_inferred_from_ranges_and_values(recorded):
    result = catalogue.read(recorded("mysql-9.7.4", hidden=["variables_metadata"]), "mysql@8.0.33").variables
    assert result["innodb_buffer_pool_instances"] == Variable("innodb_buffer_pool_instances", Kind.INTEGER, 0, 64, default="1")
    assert result["innodb_max_dirty_pages_pct"].kind is Kind.NUMERIC
    assert result["skip_name_resolve"].kind is Kind.BOOLEAN
    assert result["innodb_flush_method"].kind is Kind.ENUMERATION
    assert result["event_scheduler"].kind is Kind.UNKNOWN, "it reads ON, and takes DISABLED too"
    assert result["transaction_isolation"].kind is Kind.UNKNOWN


def test_mariadb_reports_all(mariadb):
    assert mariadb.variables["read_buffer_size"] == Variable(
        "read_buffer_size", Kind.INTEGER, 8192, 2147479552, block=4096, default="131072", dynamic=True
    )
    method = mariadb.variables["innodb_flush_method"]
    assert (method.kind, method.dynamic) == (Kind.ENUMERATION, False)
    assert "O_DIRECT_NO_FSYNC" in method.choices
    assert mariadb.variables["optimizer_switch"].kind is Kind.SET
    assert mariadb.variables["innodb_adaptive_hash_index"].choices == ()


def test_the_default_is_what_runs_when_nothing_is_set_not_what_the_table_says(mariadb):
    assert mariadb.variables["table_open_cache_instances"].default == "4"


def test_a_default_outside_its_range_widens_the_range(mariadb):
    assert mariadb.variables["innodb_lru_flush_size"].default == "0"
    assert mariadb.variables["innodb_lru_flush_size"].minimum == 0


def test_a_range_ends_at_a_whole_block(mariadb):
    """MariaDB publishes 2147483647, and has never more than 2147479552 (read on all builds)."""
    for variable in mariadb.variables.values():
        if variable.block and variable.kind is Kind.INTEGER:
            assert variable.maximum % variable.block == 0, variable.name


def test_a_variable_that_can_be_set_again_is_dynamic(mysql):
    errors = {"innodb_buffer_pool_instances": 1238, "innodb_io_capacity": 1231, "sql_mode": 0, "gone": 1193}
    asked = []

    def set_again(name):
        asked.append(name)
        return errors.get(name, 1238)

    reported = Catalogue("x", {**mysql.variables, "gone": Variable("gone", Kind.UNKNOWN, default="1")})
    result = catalogue.with_dynamic(reported, set_again).variables
    assert result["innodb_buffer_pool_instances"].dynamic is False
    assert result["sql_mode"].dynamic is True
    assert result["innodb_io_capacity"].dynamic is True, "another error is about the value"
    assert result["gone"].dynamic is None
    assert result["timestamp"].dynamic is None, "a session's own variable is not asked about"
    assert "timestamp" not in asked


def test_variables_that_mariadbs_table_reports_are_not_tried(mariadb):
    assert catalogue.with_dynamic(mariadb, pytest.fail) == mariadb


def test_old_servers_report_names_and_defaults_only(recorded):
    asked = recorded("mysql-9.7.4", hidden=["variables_metadata", "variables_info"])
    result = catalogue.read(asked, "mysql@5.6.24").variables
    assert result["innodb_buffer_pool_size"] == Variable("innodb_buffer_pool_size", Kind.UNKNOWN, default="134217728")
    assert len(asked.asked) == 2


def test_a_source_that_is_empty_is_passed_over(recorded):
    asked = recorded("mysql-9.7.4")
    asked.answers["variables_metadata"] = []
    assert catalogue.read(asked, "x").variables["innodb_buffer_pool_instances"].maximum == 64


def test_answers_in_bytes_are_read_as_text(recorded):
    asked = recorded("mysql-9.7.4")
    asked.answers["show"] = [[name.encode(), value.encode()] for name, value in asked.answers["show"]]
    assert catalogue.read(asked, "x").variables["sync_binlog"].default == "1"


@pytest.mark.parametrize("name", ["timestamp", "have_symlink"])
def test_variables_that_no_option_file_can_hold_are_known(mysql, name):
    assert not mysql.variables[name].at_start


@pytest.mark.parametrize("name", ["time_zone", "log_bin", "innodb_buffer_pool_size", "skip_name_resolve"])
def test_variables_that_an_option_file_can_hold_are_known(mysql, mariadb, name):
    assert mysql.variables[name].at_start
    assert mariadb.variables[name].at_start


@pytest.mark.parametrize(
    ("wrong", "right"),
    [
        ("buffer_pool_instance", "innodb_buffer_pool_instances"),
        ("inodb_bufer_pool_instances", "innodb_buffer_pool_instances"),
        ("buffer_pool_instnces", "innodb_buffer_pool_instances"),
        ("Sync-Binlog", "sync_binlog"),
        ("max_conections", "max_connections"),
    ],
)
def test_the_nearest_name_comes_first(mysql, wrong, right):
    assert mysql.nearest(wrong)[0] == right


def test_nothing_is_near_to_nonsense(mysql):
    assert mysql.nearest("zzzz") == []
    assert len(mysql.nearest("innodb", n=3)) == 3


def test_a_catalogue_survives_being_kept(mysql, mariadb):
    assert Catalogue.from_json(mysql.to_json()) == mysql
    assert Catalogue.from_json(mariadb.to_json()) == mariadb


@pytest.mark.parametrize(
    "change", [{"format": "dialin/catalogue/0"}, {"variables": {"x": {"kind": "odd"}}}, {"variables": None}]
)
def test_text_that_is_no_catalogue_is_refused(mysql, change):
    with pytest.raises(ValueError, match="not a catalogue"):
        Catalogue.from_json(json.dumps(json.loads(mysql.to_json()) | change))


@pytest.mark.parametrize("text", ["", "[]", "{}", "null", "{"])
def test_other_text_is_refused(text):
    with pytest.raises(ValueError, match="not a catalogue"):
        Catalogue.from_json(text)
