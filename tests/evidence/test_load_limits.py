from dialin.evidence.load_limits import client_limits, other_load
from dialin.model.trial import Costs, Trial, TrialState


def trials(driver, server, busy, *, driver_cpus=2):
    costs = Costs(10, driver * 10, server * 10, busy * 10, 2, driver_cpus)
    return [Trial(1, 1, 1, 1, "1", TrialState.DONE, 0.0, costs=costs)]


def codes(spec, done):
    return [note.code for note in client_limits(spec, done)]


def test_a_driver_that_uses_up_its_own_cpus_was_the_limit(spec):
    pinned = spec.model_copy(update={"load_cpus": "1"})
    assert codes(pinned, trials(0.97, 0.5, 1.5, driver_cpus=1)) == ["client_limit"]
    assert codes(pinned, trials(0.6, 0.9, 1.5, driver_cpus=1)) == []


def test_on_a_shared_full_machine_the_hungrier_one_is_the_limit(spec):
    assert codes(spec, trials(1.2, 0.8, 2.0)) == ["client_limit"]
    assert codes(spec, trials(0.7, 1.3, 2.0)) == ["client_shares_machine"]


def test_a_machine_with_cpu_to_spare_is_no_limit(spec):
    assert codes(spec, trials(0.3, 0.4, 0.9)) == []


def test_a_machine_that_other_programs_fill_says_nothing_of_the_driver(spec):
    crowded = trials(0.0, 0.6, 2.0)
    assert codes(spec, crowded) == []
    assert [note.code for note in other_load(crowded)] == ["other_load"]


def test_without_measured_costs_nothing_is_said(spec):
    assert client_limits(spec, [Trial(1, 1, 1, 1, "1", TrialState.FAILED, 0.0)]) == []


def test_other_programs_that_took_part_of_the_machine_are_said_to_have(spec):
    (note,) = other_load(trials(0.3, 0.4, 1.6))
    assert note.code == "other_load"
    assert "45.0 %" in note.sentence(spec)
    assert other_load(trials(0.3, 0.4, 0.75)) == []
