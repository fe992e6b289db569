"""Whether trials may follow each other by SET GLOBAL, and what turns one candidate into another: reckoned, nothing is run."""

import pytest

from dialin.model.dimension import Dimension
from dialin.model.trial import EffectiveSettings
from dialin.model.tune import TunePlan
from dialin.model.workload import LoadTraits, WorkloadSpec
from dialin.places.sandbox.switch_mode import _why_set, disagreement, obstacle
from dialin.trials.changes import changes_between, differing
from dialin.variables.catalogue import Catalogue, Kind, Variable
from fixtures.studies import BUILD, CAPACITY, MOST, study


def catalogue(**dynamic):
    is_dynamic = {CAPACITY: True, MOST: True, "sync_binlog": True, "innodb_page_size": False, **dynamic}
    variables = {name: Variable(name, Kind.INTEGER, default="1", dynamic=can) for name, can in is_dynamic.items()}
    return Catalogue(BUILD, variables)


def effective_settings(**values):
    return EffectiveSettings(in_force={CAPACITY: "10000", MOST: "20000", "sync_binlog": "1", **values})


TWO = {"as it is": {}, "low": {CAPACITY: 300}}
STARTED = {"as it is": effective_settings(), "low": effective_settings(**{CAPACITY: "300", MOST: "600"})}
AT_BOOT = dict(effective_settings().in_force)


def test_values_that_are_alike_for_all_are_given_at_the_start_and_the_rest_is_set():
    spec = study({"a": {CAPACITY: 300, "sync_binlog": 0}, "b": {CAPACITY: 400, "sync_binlog": 0}}, fixed={MOST: 2000})
    result = changes_between(spec, {}, catalogue())
    assert result.boot == {MOST: 2000, "sync_binlog": 0}
    assert result.settings == {"a": {CAPACITY: 300}, "b": {CAPACITY: 400}}


def test_a_candidate_that_has_a_fixed_variable_otherwise_sets_it_and_so_do_the_others():
    spec = study({"a": {}, "b": {"sync_binlog": 0}}, fixed={"sync_binlog": 1, MOST: 2000})
    result = changes_between(spec, {}, catalogue())
    assert result.boot == {MOST: 2000}
    assert result.settings == {"a": {"sync_binlog": 1}, "b": {"sync_binlog": 0}}


def test_spellings_of_one_value_are_no_difference():
    assert differing(study({"a": {"x": "1G", "y": 1}, "b": {"x": 2**30, "y": 2}})) == ["y"]


def test_variables_that_a_start_moves_along_are_set_along():
    changes = changes_between(study(TWO), STARTED, catalogue())
    assert changes.towards("low", AT_BOOT) == {MOST: "600", CAPACITY: 300}
    assert changes.towards("as it is", AT_BOOT) == {}


def test_a_server_goes_back_to_its_start_before_it_becomes_another_candidate():
    changes = changes_between(study(TWO), STARTED, catalogue())
    now = {CAPACITY: "300", MOST: "600", "sync_binlog": "1"}
    assert changes.back(AT_BOOT, {CAPACITY: 10000}, now) == {CAPACITY: 10000, MOST: "20000"}
    assert changes.back(AT_BOOT, {CAPACITY: 10000}, AT_BOOT) == {}


def test_changes_by_the_load_or_the_server_itself_go_back_as_well():
    changes = changes_between(study(TWO), STARTED, catalogue())
    assert changes.back(AT_BOOT, {CAPACITY: 10000}, {**AT_BOOT, "sync_binlog": "0"}) == {"sync_binlog": "1"}


def test_a_value_that_show_cuts_off_is_never_set():
    long = ",".join(["index_merge=on"] * 100)
    changes = changes_between(study(TWO), {"low": effective_settings(sync_binlog=long)}, catalogue())
    assert "sync_binlog" not in changes.towards("low", AT_BOOT)
    assert changes.back({"sync_binlog": long}, {}, {"sync_binlog": "x"}) == {}
    assert changes.back({"sync_binlog": long}, {"sync_binlog": "whole"}, {"sync_binlog": "x"}) == {"sync_binlog": "whole"}


def test_only_what_may_be_set_is_moved_along():
    result = changes_between(study(TWO), STARTED, catalogue(max_connections=True, gtid_executed=True)).settable
    assert result == {CAPACITY, MOST, "sync_binlog"}


def test_an_options_spelling_means_the_variable_that_the_server_has():
    spec = study({"a": {}, "b": {"transaction_isolation": "READ-COMMITTED"}})
    result = changes_between(spec, {}, catalogue(tx_isolation=True))
    assert result.settings["b"] == {"tx_isolation": "READ-COMMITTED"}
    assert result.varied == {"tx_isolation"}


@pytest.mark.parametrize(
    ("settings", "servers", "says"),
    [
        (TWO, None, None),
        ({"a": {CAPACITY: 1, "innodb_page_size": 4096}, "b": {CAPACITY: 2, "innodb_page_size": 4096}}, None, None),
        ({"a": {"innodb_page_size": 4096}, "b": {}}, None, "innodb_page_size can be set only at startup"),
        ({"a": {CAPACITY: 1, "max_connections": 10}, "b": {CAPACITY: 2}}, None, "max_connections sizes caches"),
        ({"a": {CAPACITY: 1}, "b": {CAPACITY: 2}}, {"b": "mariadb@10.11.19"}, "run on several builds"),
        ({"a": {CAPACITY: 1}, "b": {CAPACITY: 1}}, None, "no variable differs"),
    ],
)
def test_every_variable_that_differs_must_be_one_that_may_be_set(settings, servers, says):
    result = obstacle(study(settings, servers), {BUILD: catalogue(max_connections=True)})
    assert result is None if says is None else says in result


def test_candidates_that_are_alike_may_share_a_life_where_that_is_requested():
    spec = study({"a": {CAPACITY: 1}, "b": {CAPACITY: 1}})
    assert obstacle(spec, {BUILD: catalogue()}, is_requested=True) is None


def test_a_value_that_set_leaves_otherwise_than_a_start_is_named_with_both():
    clamped = effective_settings(**{CAPACITY: "300", MOST: "20000"})
    result = disagreement(study(TWO), STARTED, {"as it is": [effective_settings()], "low": [STARTED["low"], clamped]})
    assert result == f"for low, {MOST} is 600 after a start and 20000 after SET GLOBAL"
    assert disagreement(study(TWO), STARTED, {name: [one, one] for name, one in STARTED.items()}) is None


def test_real_objects_count_as_much_as_what_is_reported():
    started = {name: EffectiveSettings(one.in_force, {"innodb_flush_method": "redo buffered"}) for name, one in STARTED.items()}
    was_set = {
        name: [EffectiveSettings(one.in_force, {"innodb_flush_method": "redo O_DIRECT"})] for name, one in STARTED.items()
    }
    assert "(as the redo files are open) is buffered after a start and O_DIRECT after SET" in disagreement(
        study(TWO), started, was_set
    )


def test_variables_that_cannot_matter_may_differ():
    was_set = {name: [effective_settings(**{**one.in_force, "host_cache_size": "1"})] for name, one in STARTED.items()}
    assert disagreement(study(TWO), STARTED, was_set) is None


def test_a_candidate_that_no_server_could_be_started_as_takes_starts():
    assert "no server could be started as low" in disagreement(study(TWO), {"as it is": effective_settings()}, {})


def test_set_global_is_reported_with_its_reason():
    assert _why_set(study(TWO)) == (
        "Trials follow each other by SET GLOBAL on one running server: innodb_io_capacity is dynamic "
        "(--switch restart starts a server for each trial)"
    )
    growing = WorkloadSpec(traits=LoadTraits(grows=True))
    assert "one server per block" in _why_set(study(TWO, workload=growing))


def test_variables_that_a_tune_changes_at_a_start_are_not_set():
    variables = [
        Dimension(name=CAPACITY, low=100, high=900, default=200),
        Dimension(name="innodb_page_size", values=(4096, 16384), static=True, default=16384),
    ]
    tune = TunePlan(variables=variables, search_seconds=15, proof_seconds=30, start_seconds=9, set_seconds=5)
    candidates = {"baseline": {}, "setting 1": {CAPACITY: 300, "innodb_page_size": 4096}}
    spec = study(candidates).model_copy(update={"question": tune})
    changes = changes_between(spec, {}, catalogue())
    assert changes.boot_of("baseline") == {}
    assert changes.boot_of("setting 1") == {"innodb_page_size": 4096}
    assert changes.towards("setting 1", AT_BOOT) == {CAPACITY: 300}
