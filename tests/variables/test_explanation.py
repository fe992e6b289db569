import json

import pytest

from dialin.variables import explanation
from dialin.variables.catalogue import Catalogue, Kind, Variable


def number(name, low, high, default, **more):
    return Variable(name, Kind.INTEGER, low, high, default=str(default), **{"dynamic": True, **more})


def built(build, *variables):
    return Catalogue(build, {variable.name: variable for variable in variables})


def lines(name, *catalogues):
    result = {}
    for line in explanation.explain_variable(name, catalogues).lines:
        result.setdefault(line.label, []).extend(line.text.split("\n"))
    return result


BUFFER = number("read_buffer_size", 8192, 2147479552, 131072, block=4096)


def test_range_unit_default_and_rounding_are_in_words():
    reported = lines("read_buffer_size", built("mysql@9.7.4", BUFFER))
    assert reported["Unit"] == ["bytes"]
    assert reported["Range"] == ["8192 to 2147479552 (8K to just under 2G)"]
    assert reported["Default"] == ["128K"]
    assert reported["Adjusted"] == [
        "rounded down to a multiple of 4096; less than 8192 becomes 8192; more than 2147479552 becomes 2147479552"
    ]
    assert "MyISAM" in reported["Memory"][0]


def test_a_limit_of_the_type_alone_is_no_limit_and_below_zero_nothing_is_claimed():
    reported = lines("max_seeks_for_key", built("mysql@5.6.24", number("max_seeks_for_key", 0, 2**64 - 1, 100)))
    assert "Adjusted" not in reported


@pytest.mark.parametrize(
    ("dynamic", "at_start", "word", "phrase"),
    [
        (True, True, "dynamic", "at run time"),
        (False, True, "restart", "needs a restart"),
        (False, False, "fixed", "only reports"),
        (True, False, "dynamic", "no startup option"),
        (None, False, "", "session"),
        (None, True, "", "at startup"),
    ],
)
def test_how_it_is_changed_is_reported(dynamic, at_start, word, phrase):
    variable = number("some_limit", 1, 2, 1, dynamic=dynamic, at_start=at_start)
    assert explanation.when_changed(variable) == word
    assert phrase in lines("some_limit", built("mysql@9.7.4", variable))["Set"][0]


def test_builds_that_differ_are_reported_apart_and_those_that_agree_together():
    def instances(low, default):
        return number("innodb_buffer_pool_instances", low, 64, default, dynamic=False)

    reported = lines(
        "innodb_buffer_pool_instances",
        built("mariadb@10.2.11", instances(0, 1)),
        built("mysql@9.7.4", instances(0, 1)),
        built("mysql@5.5.9", instances(1, 1)),
        built("mariadb@10.1.23", instances(0, 8)),
    )
    assert reported["Set"] == ["at startup only: a change needs a restart"]
    assert reported["Range"] == ["1 to 64 [MySQL 5.5.9]", "0 to 64 [MySQL 9.7.4; MariaDB]"]
    assert reported["Default"] == ["1 [MySQL; MariaDB 10.2.11]", "8 [MariaDB 10.1.23]"]


@pytest.mark.parametrize(
    ("having", "text"),
    [
        ("1111", "MySQL: in 5.5.9, 5.6.24, 8.0.33, 9.7.4"),
        ("0111", "MySQL: since 5.6.24 of the builds here; not in 5.5.9"),
        ("1100", "MySQL: until 5.6.24 of the builds here; not in 8.0.33, 9.7.4"),
        ("0110", "MySQL: since 5.6.24 until 8.0.33 of the builds here; not in 5.5.9, 9.7.4"),
        ("1011", "MySQL: in 5.5.9, 8.0.33, 9.7.4; not in 5.6.24"),
        ("0000", "MySQL: not in 5.5.9, 5.6.24, 8.0.33, 9.7.4"),
    ],
)
def test_since_and_until_are_of_the_builds_here(having, text):
    builds = [
        built(f"mysql@{version}", *([BUFFER] if has == "1" else []))
        for version, has in zip(("5.5.9", "5.6.24", "8.0.33", "9.7.4"), having, strict=True)
    ]
    reported = lines("read_buffer_size", *reversed(builds), built("mariadb@10.11.5", BUFFER))
    assert reported["Builds"] == [text, "MariaDB: in 10.11.5"]


def test_variables_that_move_together_are_reported_both_ways_where_the_builds_have_them():
    capacity, most = number("innodb_io_capacity", 100, 9, 200), number("innodb_io_capacity_max", 100, 9, 2000)
    reported = lines("innodb_io_capacity", built("mysql@9.7.4", capacity, most))
    assert reported["Affects"][0].startswith("innodb_io_capacity_max: it is twice")
    assert reported["Derived from"][0].startswith("innodb_io_capacity_max: ")
    assert not {"Affects", "Derived from"} & lines("innodb_io_capacity", built("mysql@5.5.9", capacity)).keys()


def instances(build, *more):
    pool = (number(name, 0, 64, 1) for name in ("innodb_buffer_pool_instances", "innodb_buffer_pool_size", *more))
    return built(build, *pool)


def text_for(build):
    result = lines("innodb_buffer_pool_instances", instances(build))
    return " ".join(text for label in ("Caution", "Derived from", "Affects") for text in result.get(label, []))


def test_rules_about_other_builds_are_not_reported():
    assert "SIGFPE" in text_for("mysql@9.7.4")
    assert "SIGFPE" not in text_for("mysql@5.5.9") + text_for("mysql@8.0.33") + text_for("mariadb@10.2.11")
    assert "from there on 8" in text_for("mysql@5.6.24")
    assert "from there on 8" not in text_for("mysql@5.5.9") + text_for("mysql@9.7.4")
    assert "0 leaves the number to the server" in text_for("mysql@8.0.33")
    assert "1000 MiB" in text_for("mysql@5.5.9")
    cached = number("table_open_cache_instances", 1, 64, 4), number("table_open_cache", 10, 2**20, 2000)
    assert lines("table_open_cache_instances", built("mysql@9.7.4", *cached)).keys().isdisjoint({"Caution", "Derived from"})
    here = lines("table_open_cache_instances", built("mariadb@10.11.5", *cached))
    assert "limit of open files" in here["Caution"][0]
    assert here["Derived from"][0].startswith("table_open_cache: "), "not of what the build lacks"


def test_a_rule_about_some_of_the_builds_says_which():
    reported = lines("innodb_buffer_pool_instances", instances("mysql@9.7.4"), instances("mysql@8.0.33"))
    assert next(text for text in reported["Caution"] if "SIGFPE" in text).endswith("[MySQL 9.7.4]")
    assert "[" not in lines("innodb_buffer_pool_instances", instances("mysql@9.7.4"))["Caution"][0]


def test_moves_are_reported_of_builds_that_have_both_variables():
    reported = lines(
        "innodb_buffer_pool_size", instances("mysql@9.7.4", "innodb_buffer_pool_chunk_size"), instances("mysql@5.6.24")
    )
    assert reported["Derived from"][0].startswith(
        "innodb_buffer_pool_instances, innodb_buffer_pool_chunk_size: the pool grows to whole"
    )
    assert reported["Derived from"][0].endswith("[MySQL 9.7.4]")
    data = explanation.explain_variable("innodb_buffer_pool_size", [instances("mysql@9.7.4")]).facts()
    assert [rule["of"] for rule in data["derived"]] == [["innodb_buffer_pool_instances"]]
    assert data["moves"][0]["builds"] == ["mysql@9.7.4"]


def test_other_names_durability_data_and_what_dialin_owns_are_reported():
    mode = Variable("tx_isolation", Kind.ENUMERATION, choices=("READ-COMMITTED",), default="READ-COMMITTED", dynamic=True)
    assert lines("tx_isolation", built("mysql@5.6.24", mode))["Same as"] == ["transaction_isolation"]
    flush = number("innodb_flush_log_at_trx_commit", 0, 2, 1)
    reported = lines(flush.name, built("mysql@9.7.4", flush))
    assert "crash" in reported["Durability"][0]
    assert reported["Caution"] == ["3, which MariaDB has, becomes 2"]
    place = Variable("datadir", Kind.STRING, default="/home/x/.cache/dialin/sandboxes/1/data/", dynamic=False)
    reported = lines("datadir", built("mysql@9.7.4", place))
    assert "cannot be chosen" in reported["Sandbox"][0]
    assert reported["Default"] == ["of the sandbox"]
    page = number("innodb_page_size", 4096, 65536, 16384, dynamic=False)
    assert "for each value" in lines("innodb_page_size", built("mysql@9.7.4", page))["Data"][0]


def test_all_of_it_is_data_too(mysql, mariadb):
    for name in ("innodb_buffer_pool_instances", "read_buffer_size", "innodb_flush_log_at_trx_commit", "datadir"):
        reported = json.loads(json.dumps(explanation.explain_variable(name, [mysql, mariadb]).facts()))
        assert reported["variable"] == name
        assert reported["builds"]["mysql@9.7.4"]["default"] == mysql.variables[name].default
    reported = explanation.explain_variable("innodb_buffer_pool_instances", [mysql, mariadb]).facts()
    assert reported["lacking"] == ["mariadb@10.11.19"]
    assert {moved["variable"] for moved in reported["moves"]} >= {"innodb_buffer_pool_size"}
    assert reported["memory"]["allotted"] == "none"


def test_every_variable_of_real_builds_can_be_explained(mysql, mariadb):
    for name in mysql.variables.keys() | mariadb.variables.keys():
        reported = explanation.explain_variable(name, [mysql, mariadb])
        assert all(line.text for line in reported.lines)


@pytest.mark.parametrize(
    ("pattern", "expected"),
    [
        ("io_capacity", ["innodb_io_capacity", "innodb_io_capacity_max"]),
        ("innodb_*instances", ["innodb_buffer_pool_instances"]),
        ("IO-Capacity", ["innodb_io_capacity", "innodb_io_capacity_max"]),
        ("sync_binlo?", ["sync_binlog"]),
        ("nonsense", []),
    ],
)
def test_names_are_found_by_a_part_or_a_pattern(mysql, pattern, expected):
    assert [variable.name for variable in explanation.matching(pattern, mysql)] == expected


def test_without_a_pattern_all_are_found(mysql):
    assert len(explanation.matching(None, mysql)) == len(mysql.variables)
