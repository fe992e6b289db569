import pytest

from dialin.errors import UserError
from dialin.model.suite import Suite
from dialin.question.options import StudyOptions
from dialin.store import read_only
from dialin.suites.members import NAMED, requested_suite
from dialin.suites.suite_file import read_plan, write_suite
from fixtures.simulated_suites import suite_plan


def suite(tmp_path, **keys):
    return requested_suite({key.replace("_", "-"): value for key, value in keys.items()}, tmp_path)


def weights(request):
    return {one.name: one.weight for one in request.members}


@pytest.mark.parametrize("workload", [None, "oltp_read_only", ["oltp_read_only"]])
def test_one_workload_is_no_suite(tmp_path, workload):
    assert suite(tmp_path, workload=workload) is None


def test_workloads_are_listed_with_commas_or_by_repeating_the_option_and_none_is_dropped(tmp_path):
    for listed in ("scan, oltp_read_only", ["scan", "oltp_read_only"], ["scan,oltp_read_only"]):
        assert weights(suite(tmp_path, workload=listed)) == {"scan": 1, "oltp_read_only": 1}


def test_a_weight_follows_an_equals_sign_because_names_hold_colons(tmp_path):
    request = suite(tmp_path, workload="go-tpc:tpcc=2, capture:./day=0.5, sysbench:oltp_read_only, ./mine.toml=3")
    assert weights(request) == {"go-tpc:tpcc": 2, "capture:day": 0.5, "sysbench:oltp_read_only": 1, "mine": 3}
    workloads = [one.options["workload"] for one in request.members]
    assert workloads[1] == f"capture:{tmp_path}/day"
    assert workloads[3] == f"{tmp_path}/mine.toml"


@pytest.mark.parametrize(
    ("keys", "says"),
    [
        ({"workload": "oltp_read_only:3,scan"}, "oltp_read_only=3"),
        ({"workload": "oltp_read_only=0,scan"}, "above 0"),
        ({"workload": "scan", "suite": "quick"}, "cannot be combined"),
        ({"suite": "slow"}, "quick or sysbench"),
        ({"workload": "scan", "fail_if_worse": "3"}, "like 3%"),
        ({"workload": ",".join(["scan"] * 65)}, "at most 64"),
    ],
)
def test_mistakes_in_a_suite_are_said_with_their_remedy(tmp_path, keys, says):
    with pytest.raises(UserError) as refused:
        suite(tmp_path, **keys)
    assert says in str(refused.value)


def test_one_workload_may_have_a_gate(tmp_path):
    request = suite(tmp_path, workload="scan", fail_if_worse="3%")
    assert request.fail_if_worse == pytest.approx(0.03)
    assert weights(request) == {"scan": 1}
    assert "fail-if-worse" not in request.members[0].options


@pytest.mark.parametrize("name", NAMED)
def test_the_suites_that_come_with_dialin_are_studies(tmp_path, name):
    request = suite(tmp_path, suite=name, sweep={"innodb_adaptive_hash_index": ["ON", "OFF"]}, workload=["oltp_read_write"])
    assert 5 <= len(request.members) <= 24
    for one in request.members:
        StudyOptions.model_validate(one.options).workload_spec(tmp_path)


def test_workloads_of_a_file_have_names_weights_and_options_of_their_own(tmp_path):
    (tmp_path / "s.toml").write_text(
        """
        [[workload]]
        workload = "oltp_read_only"
        threads = 2
        workload-options = { range-size = 7 }
        [[workload]]
        workload = "oltp_read_only"
        weight = 3
        [[workload]]
        name = "mine"
        workload = "./mine.toml"
        """
    )
    request = suite(tmp_path, suite=str(tmp_path / "s.toml"), threads=8, workload_options={"skip-trx": "on"})
    assert weights(request) == {"oltp_read_only": 1, "oltp_read_only 2": 3, "mine": 1}
    first, second, third = (one.options for one in request.members)
    assert (first["threads"], first["workload-options"]) == (2, {"skip-trx": "on", "range-size": 7})
    assert second["threads"] == 8
    assert third["workload"] == str(tmp_path / "mine.toml")


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("", "workload"),
        ("[[workload]]\nname = 'x'", "workload"),
        ("[[workload]]\nworkload = 'scan'\nminutes = 3", "no key 'minutes'"),
        ("[[workload]]\nworkload = 'scan'\nweight = -1", "weight"),
        ("[[workload]]\nworkload = 'scan'\nweight = inf", "weight"),
        ("nonsense = 1\n[[workload]]\nworkload = 'scan'", "nonsense"),
        ("[[", "not TOML"),
        ("[[workload]]\nworkload = 'scan'\nworkload-options = 5", "must be a table"),
    ],
)
def test_a_mistake_in_a_suite_file_is_named(tmp_path, text, says):
    (tmp_path / "s.toml").write_text(text)
    with pytest.raises(UserError) as refused:
        suite(tmp_path, suite="s.toml")
    assert says in str(refused.value)


def test_all_mistakes_in_a_suite_file_are_named_at_once_each_with_its_workload(tmp_path):
    (tmp_path / "s.toml").write_text(
        """
        nonsense = 1
        [[workload]]
        workload = "scan"
        weight = -1
        [[workload]]
        workload = "oltp_read_only"
        minutes = 3
        threads = "many"
        table-size = -5
        [[workload]]
        name = "nothing"
        workload-options = 5
        """
    )
    with pytest.raises(UserError) as refused:
        suite(tmp_path, suite="s.toml")
    what = refused.value.what.removeprefix("s.toml: ").split("; ")
    assert [one.partition(": must")[0] for one in what if ": must" in one] == [
        "workload 1: weight",
        "workload 2: 'table-size'",
        "workload 3: 'workload-options'",
    ]
    assert {one for one in what if ": must" not in one} == {
        "nonsense: is unknown",
        "workload 2: there is no key 'minutes'",
        "workload 2: 'threads': is not a whole number, or several such as 1,4,16 (given: 'many')",
        "workload 3: workload: is missing",
    }


def test_a_suite_is_read_by_what_it_asks_whatever_its_result_looks_like(tmp_path):
    plan = suite_plan({"a": 1})
    write_suite(tmp_path, Suite(plan=plan))
    text = (tmp_path / "suite.json").read_text()
    (tmp_path / "suite.json").write_text(text.replace('"result": null', '"result": {"of": "another version"}'))
    assert read_plan(tmp_path) == plan
    outside = [text.replace('"directory": "a"', f'"directory": "{one}"') for one in ("../b", "/b", "", "..", "a/../../b")]
    for broken in ("", "[]", "{}", '{"plan": 3}', *outside):
        (tmp_path / "suite.json").write_text(broken)
        with pytest.raises(UserError, match="suite of this version"):
            read_plan(tmp_path)


def test_names_are_distinct_even_where_one_is_what_another_would_become(tmp_path):
    names = ["a", "a", "a 2", "a"]
    text = "".join(f'[[workload]]\nname = "{name}"\nworkload = "scan"\n' for name in names)
    (tmp_path / "s.toml").write_text(text)
    assert len({one.name for one in suite(tmp_path, suite="s.toml").members}) == len(names)


def test_a_command_for_studies_says_that_a_suite_holds_several(tmp_path):
    write_suite(tmp_path, Suite(plan=suite_plan({"a": 1})))
    with pytest.raises(UserError, match=r"is a suite of studies. Name one of them"):
        read_only.read(tmp_path, lambda store: store)
