"""What a race knows: the same whether it was updated trial by trial or rebuilt from the store."""

import pytest

from dialin.race.state import RaceState
from dialin.store.store import Store
from fixtures.simulated_runs import Killed, kill_at, shorter, simulated


@pytest.fixture
def states(monkeypatch):
    """The states of the runners that were made."""
    made = []

    class Remembered(RaceState):
        def __init__(self, store):
            super().__init__(store)
            made.append(self)

    monkeypatch.setattr("dialin.race.study_run.RaceState", Remembered)
    return made


@pytest.mark.parametrize("levels", [{}, {"four": 1300}, {"sixteen": 700}])
def test_a_state_that_was_updated_is_the_one_that_is_rebuilt(tmp_path, study, spec, states, levels):
    study(simulated(**levels), spec=shorter(spec, minutes=12))
    (updated,) = states
    with Store.open(tmp_path / "study") as store:
        rebuilt = RaceState(store)
    assert rebuilt.trials == updated.trials
    assert rebuilt.figures == updated.figures
    assert rebuilt.looks == updated.looks
    assert rebuilt.verdict == updated.verdict
    assert rebuilt.record.samples == updated.record.samples


def test_a_study_that_was_killed_goes_on_with_the_state_that_it_had(tmp_path, study, spec, states):
    with pytest.raises(Killed):
        study(kill_at(5, sixteen=700), spec=shorter(spec, minutes=12))
    study(simulated(sixteen=700), spec=shorter(spec, minutes=12))
    killed, resumed = states
    assert resumed.trials[: len(killed.trials)] == killed.trials
    assert resumed.blocks[: len(killed.blocks)] == killed.blocks
    assert resumed.looks[: len(killed.looks)] == killed.looks


def test_samples_are_read_once(study, spec, monkeypatch):
    reads = []
    whole = Store.samples

    def counted(store):
        reads.append(store)
        return whole(store)

    monkeypatch.setattr(Store, "samples", counted)
    study(simulated(four=1010), spec=shorter(spec, minutes=12))
    assert len(reads) <= 2, "once for the state, once by the test itself"


def test_of_the_samples_of_a_long_study_only_the_newest_stay_in_memory(tmp_path, study, spec, states, monkeypatch):
    monkeypatch.setattr("dialin.race.state._KEPT", 40)
    study(simulated(four=1010), spec=shorter(spec, minutes=12))
    (state,) = states
    with Store.open(tmp_path / "study") as store:
        stored = store.samples()
        assert sum(map(len, stored.values())) > 80
        assert {number: list(samples) for number, samples in state.record.samples.items()} == stored
        assert sum(map(len, state._samples._kept.values())) <= 40
