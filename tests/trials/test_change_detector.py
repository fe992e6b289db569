"""Variables that somebody else changes while a study runs: what is noticed, what is said, and when the study stops."""

from dataclasses import replace

import pytest

from dialin.errors import ChangedByOthersError
from dialin.model.trial import EffectiveSettings, Step, Trial, TrialState, VariableChange
from dialin.places.sandbox.shared_sandbox import SwitchedServer
from dialin.trials.change_detector import ChangeDetector, VariablesChangedError, check_not_contested
from dialin.trials.changes import changes_between
from dialin.variables.catalogue import Catalogue, Kind, Variable
from dialin.verdict.outcome_notes import changed_during_trials
from fixtures.studies import BUILD, CAPACITY, MOST, FakeInstance, study
from servers.attached.fakes import VARIABLES

CHANGE = VariableChange(CAPACITY, "300", "777", under_test=True, step=Step.STOP)
OTHER = VariableChange("max_connections", "151", "99", under_test=False, step=Step.STOP)


def trials(*disturbed, session=1):
    """Trials of the candidates a and b in turn; true where somebody else changed what they measure."""
    plain = Trial(1, 1, session, 1, "a", TrialState.DONE, 0.0)
    return [
        replace(
            plain,
            id=number,
            candidate="ab"[number % 2],
            state=TrialState.INTERRUPTED if each else TrialState.DONE,
            changes=(CHANGE,) if each else (),
        )
        for number, each in enumerate(disturbed)
    ]


@pytest.mark.parametrize(
    ("now", "found"),
    [
        ({}, []),
        ({CAPACITY: "777"}, [(CAPACITY, True)]),
        ({MOST: "9000"}, [(MOST, True)]),  # the server derives it from the one that the study sets
        ({"max_connections": "99"}, [("max_connections", False)]),
        ({"max_connections": "99", CAPACITY: "777"}, [(CAPACITY, True), ("max_connections", False)]),
        ({"gtid_executed": "a:1-9", "server_uuid": "two"}, []),
        ({"back_log": "90"}, []),
    ],
)
def test_changes_are_found_but_for_those_of_servers_themselves_and_those_that_cannot_matter(now, found):
    detector = ChangeDetector([CAPACITY])
    detector.remember(VARIABLES)
    changed = detector.changes({**VARIABLES, **now}, Step.STOP)
    assert [(change.variable, change.under_test) for change in changed] == found
    assert detector.changes({**VARIABLES, **now}, Step.STOP) == ()


@pytest.mark.parametrize(("switch", "found"), [("150000", []), ("0", ["innodb_thread_sleep_delay"])])
def test_what_the_server_adjusts_by_itself_was_changed_by_nobody(switch, found):
    detector, adjusted = ChangeDetector([CAPACITY]), {**VARIABLES, "innodb_adaptive_max_sleep_delay": switch}
    detector.remember({**adjusted, "innodb_thread_sleep_delay": "10000"})
    changes = detector.changes({**adjusted, "innodb_thread_sleep_delay": "0"}, Step.STOP)
    assert [change.variable for change in changes] == found


def test_a_running_server_whose_variable_somebody_else_set_is_not_set_before_that_was_said(clock):
    server = FakeInstance()
    settings = {"low": {CAPACITY: 300}, "high": {CAPACITY: 900}}
    started = {name: EffectiveSettings({**VARIABLES, CAPACITY: str(setting[CAPACITY])}) for name, setting in settings.items()}
    known = Catalogue(BUILD, {CAPACITY: Variable(CAPACITY, Kind.INTEGER, default="1", dynamic=True)})
    one = SwitchedServer(server, changes_between(study(settings), started, known), clock, ChangeDetector([CAPACITY]))
    one.become("low")
    server.values[CAPACITY] = "777"
    with pytest.raises(VariablesChangedError) as raised:
        one.become("high")
    assert raised.value.changes == (VariableChange(CAPACITY, "300", "777", under_test=True, step=Step.SET),)
    assert server.values[CAPACITY] == "777"
    one.become("high")
    assert server.values[CAPACITY] == "900"


@pytest.mark.parametrize(
    ("disturbed", "stops"),
    [
        ([False, True], False),
        ([True, False], False),
        ([True, True], True),
        ([True, False, True], True),  # the same candidate both times
        ([True, False, False, True], False),
    ],
)
def test_a_study_stops_where_two_trials_in_a_row_were_changed_by_somebody_else(disturbed, stops):
    if stops:
        with pytest.raises(ChangedByOthersError, match="keeps changing innodb_io_capacity") as raised:
            check_not_contested(trials(*disturbed), 1)
        assert raised.value.exit_code == 1
        assert raised.value.resumable
    else:
        check_not_contested(trials(*disturbed), 1)


def test_changes_before_a_study_was_resumed_do_not_stop_it():
    check_not_contested([*trials(True), *trials(True, session=2)], 2)


def test_the_verdict_names_the_variable_its_values_and_the_trials():
    spec = study({"a": {CAPACITY: 300}, "b": {CAPACITY: 900}})
    found = changed_during_trials([replace(each, changes=(*each.changes, OTHER)) for each in trials(False, True)])
    assert [note.code for note in found] == ["changed_during_trial"] * 2
    values = [["300", "777"]]
    assert found[0].stored().data == {
        "variable": CAPACITY,
        "under_test": True,
        "trials": [1],
        "candidates": ["b"],
        "values": values,
    }
    assert (found[1].variable, found[1].under_test) == ("max_connections", False)
    assert "300 became 777" in found[0].sentence(spec)
