"""Which way trials follow each other, and what is said of it; no server is started."""

import pytest

from dialin.errors import ServerError, UserError
from dialin.model.study import Switch
from dialin.model.trial import EffectiveSettings
from dialin.places.sandbox import switch_mode
from dialin.preflight.checked import with_plan
from dialin.question import study_file
from dialin.question.options import StudyOptions
from dialin.variables.catalogue import Catalogue, Kind, Variable
from fixtures.studies import BUILD, CAPACITY, study

CATALOGUES = {
    BUILD: Catalogue(
        BUILD,
        {
            name: Variable(name, Kind.INTEGER, default="1", dynamic=can)
            for name, can in ((CAPACITY, True), ("innodb_page_size", False))
        },
    )
}
TWO = study({"low": {CAPACITY: 300}, "high": {CAPACITY: 3000}}, minutes=5)
AT_START = study({"a": {"innodb_page_size": 4096}, "b": {"innodb_page_size": 8192}}, minutes=5)
SEEN = {
    "low": EffectiveSettings({CAPACITY: "300"}, {"innodb_flush_method": "data buffered"}),
    "high": EffectiveSettings({CAPACITY: "3000"}),
}


def question(switch="auto", **others):
    return StudyOptions.model_validate({"sweep": {CAPACITY: [300, 3000]}, "switch": switch, **others})


@pytest.fixture
def choose(monkeypatch):
    """Choose the way, where a running server comes to this when it is set; an error is raised."""

    def chosen(switch="auto", comes_to=SEEN, spec=TWO, seen=SEEN):
        def inspect_by_setting(tools, build, changes):
            if isinstance(comes_to, Exception):
                raise comes_to
            return {name: [one, one] for name, one in comes_to.items()}

        monkeypatch.setattr(switch_mode, "inspect_by_setting", inspect_by_setting)
        build = type("FakeBuild", (), {"id": BUILD})
        expected = switch_mode.expect_switch(switch, spec, CATALOGUES)
        return switch_mode.choose_switch_mode(expected, spec, seen, build, CATALOGUES, None)

    return chosen


def test_dynamic_variables_that_set_leaves_as_a_start_does_share_a_life(choose):
    result = choose()
    assert result.changes.settings == {"low": {CAPACITY: 300}, "high": {CAPACITY: 3000}}
    assert "SET GLOBAL on one running server" in result.reason
    assert result.inspected["low"].real == {"innodb_flush_method": "data buffered"}, "what takes instruments was counted before"


@pytest.mark.parametrize(
    ("comes_to", "says"),
    [
        (
            {**SEEN, "low": EffectiveSettings({CAPACITY: "200"})},
            "for low, innodb_io_capacity is 300 after a start and 200 after SET GLOBAL",
        ),
        (ServerError("it refused 300"), "does not accept every value: it refused 300"),
    ],
)
def test_where_set_does_not_give_what_a_start_gives_each_trial_starts_a_server(choose, comes_to, says):
    result = choose(comes_to=comes_to)
    assert result.changes is None
    assert result.inspected is SEEN
    assert says in result.reason
    with pytest.raises(UserError, match="--switch set is not possible") as raised:
        choose("set", comes_to=comes_to)
    assert says in raised.value.what


def test_a_candidate_that_does_not_start_is_not_hidden_by_a_server_that_is_set(choose):
    result = choose(seen={"low": SEEN["low"]}, comes_to=AssertionError("no server is asked"))
    assert "no server could be started as high" in result.reason


def test_who_asks_for_restarts_gets_them_and_need_not_be_reported(choose):
    result = choose("restart", comes_to=AssertionError("no server is asked"))
    assert (result.changes, result.reason) == (None, "")


@pytest.mark.parametrize(
    ("switch", "spec", "expected"),
    [
        ("auto", TWO, Switch.SET),
        ("set", TWO, Switch.SET),
        ("restart", TWO, Switch.RESTART),
        ("auto", AT_START, Switch.RESTART),
        ("auto", study({"a": {}, "b": {}}), Switch.RESTART),
        ("set", study({"a": {}, "b": {}}), Switch.SET),
    ],
)
def test_the_budget_is_planned_for_the_way_that_is_likely(switch, spec, expected):
    assert switch_mode.expect_switch(switch, spec, CATALOGUES).mode is expected


def test_set_that_cannot_be_is_refused_with_its_reason_before_a_server_is_asked():
    with pytest.raises(UserError, match="innodb_page_size can be set only at startup"):
        switch_mode.expect_switch("set", AT_START, CATALOGUES)
    assert switch_mode.expect_switch("auto", AT_START, CATALOGUES).mode is Switch.RESTART
    assert switch_mode.expect_switch("set", TWO, CATALOGUES).mode is Switch.SET


def test_a_study_stores_what_it_was_planned_with():
    spec = TWO.model_copy(update={"measure": 20, "switch": Switch.SET})
    spec, allowed = with_plan(spec)
    assert (spec.switch, spec.measure, spec.warmup) == (Switch.SET, 20, allowed.warmup)


def test_an_attached_server_is_not_requested_a_way():
    with pytest.raises(UserError, match="--switch is for sandboxes"):
        study_file.question({"attach": True, "sweep": {CAPACITY: [200, 400]}, "switch": "set"}, spelled="--{}".format)
