import pytest

from dialin.errors import UserError
from dialin.logs.run_names import (
    WORDING,
    by_expression,
    by_patterns,
    find_factors,
    fits_pattern,
    in_order,
    read_name,
    short_labels,
)

PUBLISHED = [
    "node3-08-21-06-15.io5000.BP140.threads56.bpi32.sysbench.txt.gz",
    "node3-08-21-07-57.io7000.BP140.threads56.bpi8.sysbench.txt.gz",
    "node3-08-21-11-33-r2.io7000.BP140.threads56.bpi32.sysbench.txt.gz",
]


def test_groups_name_the_candidate():
    assert list(by_expression(PUBLISHED, r"bpi(\d+)").values()) == ["32", "8", "32"]
    assert by_expression(PUBLISHED, r"io(\d+).*bpi(\d+)")[PUBLISHED[0]] == "5000/32"
    assert by_expression(PUBLISHED, r"bpi\d+")[PUBLISHED[1]] == "bpi8"


def test_names_in_which_nothing_is_found_have_no_candidate():
    assert by_expression([*PUBLISHED, "notes.txt"], r"bpi(\d+)").keys() == set(PUBLISHED)


@pytest.mark.parametrize(
    ("expression", "says"), [("bpi(", "not a regular expression"), ("pool", "matches no name"), ("x*", "matches no name")]
)
def test_an_expression_that_cannot_serve_is_one_line(expression, says):
    with pytest.raises(UserError, match=says):
        by_expression(PUBLISHED, expression)


def test_patterns_name_the_candidate_with_or_without_directories():
    names = ["a/bpi8.log", "b/bpi32.log"]
    assert by_patterns(names, {"few": ["bpi8*"], "many": ["b/*"]}, "c.toml") == {"a/bpi8.log": "few", "b/bpi32.log": "many"}


@pytest.mark.parametrize(
    ("table", "says"), [({"few": ["*bpi9*"]}, "matches no log"), ({"few": ["*8*"], "many": ["*"]}, "matches few and many")]
)
def test_patterns_that_fit_nothing_or_twice_are_refused(table, says):
    with pytest.raises(UserError, match=says):
        by_patterns(["bpi8.log"], table, "c.toml")


@pytest.mark.parametrize(
    ("name", "settings", "words"),
    [
        (PUBLISHED[0], {"node": "3", "io": "5000", "BP": "140", "threads": "56", "bpi": "32"}, set()),
        ("res/io_capacity=200.pool-8G.run2.txt", {"io_capacity": "200", "pool": "8G"}, {"res"}),
        ("2020-08-21T06:15_bpi8-uniform_r3.log", {"bpi": "8"}, {"uniform"}),
        ("sb_20200821_061500_threads64.csv.gz", {"threads": "64"}, {"sb"}),
        ("bpi8_pareto_run_2.txt", {"bpi": "8"}, {"pareto"}),
        ("a.bpi8#2", {"bpi": "8"}, {"a"}),
        ("a3f9c2b-8.txt", {"a3f9c2b": "8"}, set()),
        ("a3f9c2b.txt", {}, {"a3f9c2b"}),
        ("mariadb/10.11.10/t8.log", {"mariadb": "10.11.10", "t": "8"}, set()),
        ("mariadb-10.11/t8.log", {"mariadb": "10.11", "t": "8"}, set()),
        ("io_capacity/9000/run/2/out.log", {"io_capacity": "9000"}, {"out"}),
        ("rows10000000.t8.log", {"rows": "10000000", "t": "8"}, set()),
        ("10.11.10/a.log", {"number": "10.11.10"}, {"a"}),
        ("repeatable-read.r2.log", {}, {"repeatable-read"}),
        ("read_committed.1.log", {"read_committed": "1"}, set()),
        ("mysql-8.0.36-28_t512_run1.log", {"mysql": "8.0.36", "number": "28", "t": "512"}, set()),
        ("bpi8-1.log", {"bpi": "8", "number": "1"}, set()),
        ("16-32-64.log", {"number": "16", "number.2": "32", "number.3": "64"}, set()),
        ("part5000.log", {"part": "5000"}, set()),
        ("2020.08.21/t8.log", {"t": "8"}, set()),
        ("21-08-2020/t8_1598000123.log", {"t": "8"}, set()),
    ],
)
def test_settings_are_read_from_names_and_dates_and_repeats_are_none(name, settings, words):
    parts = read_name(name, None)
    assert (dict(parts.settings), parts.words) == (settings, words)


def test_the_part_that_names_the_candidate_is_no_setting_beside_it():
    assert "bpi" not in read_name(PUBLISHED[0], r"bpi(\d+)").settings


def test_only_what_is_not_alike_in_all_varies():
    parts = {name: read_name(name, r"bpi(\d+)") for name in PUBLISHED}
    assert [list(own.items()) for own in find_factors(parts, ()).values()] == [[("io", v)] for v in ("5000", "7000", "7000")]
    assert find_factors(parts, ("io",)) == {name: {} for name in PUBLISHED}


def test_words_that_are_not_in_every_name_vary():
    parts = {name: read_name(name, r"bpi(\d+)") for name in ("oltp-pareto-bpi8", "oltp-uniform-bpi32", "oltp-bpi64")}
    assert [own[WORDING] for own in find_factors(parts, ()).values()] == ["pareto", "uniform", "none"]


@pytest.mark.parametrize(
    ("values", "found"),
    [((1, 4, 16), {"1", "4", "16"}), ((1, 2, 3), set()), ((0, 1), set()), ((1,), set()), ((8, 16), {"8", "16"})],
)
def test_results_are_numbered_only_where_the_numbers_count(values, found):
    names = [f"results_{value}_{letter}.log" for value in values for letter in "abc"]
    factors = find_factors({name: read_name(name, None) for name in names}, ())
    assert {own["results"] for own in factors.values() if "results" in own} == found


def test_dates_in_names_say_the_order_where_all_have_them():
    stamps = {name: read_name(name, None).stamp for name in PUBLISHED}
    assert in_order({name: stamps[name] for name in reversed(PUBLISHED)}) == PUBLISHED
    assert in_order({**stamps, "bpi8.txt": read_name("bpi8.txt", None).stamp}) is None
    assert in_order({"a": stamps[PUBLISHED[0]], "b": stamps[PUBLISHED[0]]}) is None, "two at one time have no order"


def test_a_date_in_a_directory_and_a_time_in_a_name_are_one_stamp():
    names = ["2020-08-21/06-15-00.log", "2020-08-21/11-15-00.log", "2020-09-01/05-00-00.log"]
    assert in_order({name: read_name(name, None).stamp for name in reversed(names)}) == names
    days = ["02-08-2020.log", "01-09-2020.log"]
    assert in_order({name: read_name(name, None).stamp for name in days}) == days, "the month counts before the day"


@pytest.mark.parametrize(
    ("pattern", "fits"),
    [
        ("10.11", [True, False, True, True, False]),
        ("^10.11$", [True, False, True, True, False]),
        ("^10.11", [True, True, True, True, True]),
        ("10$", [False, True, False, False, False]),
        ("*10.11*", [True, True, True, True, True]),
        ("b/10.11", [False, False, True, True, False]),
        ("10.11-x/a.log", [False, False, False, False, True]),
        ("^10*x$", [False, False, False, False, True]),
    ],
)
def test_patterns_can_be_bound_to_parts_of_a_path(pattern, fits):
    names = ["10.11/a.log", "10.11.10/a.log", "b/10.11.log", "b/10.11/a.log", "10.11-x/a.log"]
    assert [fits_pattern(name, pattern) for name in names] == fits


def test_short_names_lose_what_all_have_and_stay_different():
    first, _, last = short_labels(PUBLISHED).values()
    assert (first, last) == ("06-15.io5000.BP140.threads56.bpi32", "11-33-r2.io7000.BP140.threads56.bpi32")
    assert short_labels(["a.log", "a.txt"]) == {"a.log": "a.log", "a.txt": "a.txt"}
    assert short_labels(["results.log"]) == {"results.log": "results"}
    assert list(short_labels(["run-1", "run-12"]).values()) == ["1", "12"]


@pytest.mark.parametrize(
    ("name", "settings"),
    [
        ("oltp_point_select_16thr.log", {"load": "oltp_point_select", "threads": "16"}),
        ("point_select_t16_run2.log", {"load": "point_select", "t": "16"}),
        ("mb.point-query.dop1", {"load": "point query", "dop": "1"}),
        ("insert_r3.log", {"load": "insert"}),
        ("read_io_threads8.log", {"read_io_threads": "8"}),
        ("key_buffer16M.log", {"key_buffer": "16M"}),
        ("build-a/x.log", {"build": "a"}),
    ],
)
def test_words_that_name_loads_and_numbers_of_threads_are_told_from_settings(name, settings):
    assert read_name(name, None).settings == settings
