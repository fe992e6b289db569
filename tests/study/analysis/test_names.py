import pytest

from dialin.errors import UserError
from dialin.study.analysis.names import WORDING, by_expression, by_globs, ordered, short, tell, varying

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
    ("expression", "says"), [("bpi(", "not a regular expression"), ("pool", "finds nothing"), ("x*", "finds no")]
)
def test_an_expression_that_cannot_serve_is_one_line(expression, says):
    with pytest.raises(UserError, match=says):
        by_expression(PUBLISHED, expression)


def test_patterns_name_the_candidate_with_or_without_directories():
    names = ["a/bpi8.log", "b/bpi32.log"]
    assert by_globs(names, {"few": ["bpi8*"], "many": ["b/*"]}, "c.toml") == {"a/bpi8.log": "few", "b/bpi32.log": "many"}


@pytest.mark.parametrize(
    ("table", "says"), [({"few": ["*bpi9*"]}, "fits no log"), ({"few": ["*8*"], "many": ["*"]}, "fits few and many")]
)
def test_patterns_that_fit_nothing_or_twice_are_refused(table, says):
    with pytest.raises(UserError, match=says):
        by_globs(["bpi8.log"], table, "c.toml")


@pytest.mark.parametrize(
    ("name", "settings", "words"),
    [
        (PUBLISHED[0], {"node": "3", "io": "5000", "BP": "140", "threads": "56", "bpi": "32"}, set()),
        ("res/io_capacity=200.pool-8G.run2.txt", {"io_capacity": "200", "pool": "8G"}, {"res"}),
        ("2020-08-21T06:15_bpi8-uniform_r3.log", {"bpi": "8"}, {"uniform"}),
        ("sb_20200821_061500_threads64.csv.gz", {"threads": "64"}, {"sb"}),
        ("bpi8_pareto_run_2.txt", {"bpi": "8"}, {"pareto"}),
        ("a.bpi8#2", {"bpi": "8"}, set()),
        ("a3f9c2b_8.txt", {"number": "8"}, set()),
        ("10.11.10/io_capacity/5000/tpcc.log", {"number": "10.11.10", "io_capacity": "5000"}, {"tpcc"}),
        ("mariadb-10.11/threads 64/x-8-16.log", {"mariadb": "10.11", "threads": "64", "x": "8", "number": "16"}, set()),
    ],
)
def test_settings_are_read_from_names_and_dates_and_repeats_are_none(name, settings, words):
    told = tell(name, None)
    assert (dict(told.settings), told.words) == (settings, words)


def test_what_names_the_candidate_is_no_setting_beside_it():
    assert "bpi" not in tell(PUBLISHED[0], r"bpi(\d+)").settings


def test_only_what_is_not_alike_in_all_varies():
    told = {name: tell(name, r"bpi(\d+)") for name in PUBLISHED}
    assert [list(own.items()) for own in varying(told, ()).values()] == [[("io", v)] for v in ("5000", "7000", "7000")]
    assert varying(told, ("io",)) == {name: {} for name in PUBLISHED}


def test_words_that_are_not_in_every_name_vary():
    told = {name: tell(name, r"bpi(\d+)") for name in ("oltp-pareto-bpi8", "oltp-uniform-bpi32", "oltp-bpi64")}
    assert [own[WORDING] for own in varying(told, ()).values()] == ["pareto", "uniform", "none"]


def test_dates_in_names_tell_the_order_where_all_have_them():
    told = {name: tell(name, None) for name in PUBLISHED}
    assert ordered({name: told[name] for name in reversed(PUBLISHED)}) == PUBLISHED
    assert ordered({**told, "bpi8.txt": tell("bpi8.txt", None)}) is None
    assert ordered({"a": told[PUBLISHED[0]], "b": told[PUBLISHED[0]]}) is None, "two at one time have no order"


def test_short_names_lose_what_all_have_and_stay_different():
    first, _, last = short(PUBLISHED).values()
    assert (first, last) == ("06-15.io5000.BP140.threads56.bpi32", "11-33-r2.io7000.BP140.threads56.bpi32")
    assert short(["a.log", "a.txt"]) == {"a.log": "a.log", "a.txt": "a.txt"}
    assert short(["results.log"]) == {"results.log": "results"}
    assert list(short(["run-1", "run-12"]).values()) == ["1", "12"]
