"""A study that pauses between its blocks, as one of a suite does: the pauses cost it nothing."""

import math

import pytest

from dialin.fleet.fleet import FleetOfOne
from dialin.model.trial import TrialState
from dialin.question.plan import plan
from dialin.race.runner import ALONE, InSuite, Runner
from dialin.store.store import Store
from fixtures.silent_watcher import Silent
from fixtures.simulated_runs import proving, raced, simulated


@pytest.fixture
def paused(tmp_path, clock):
    """Runs a study block by block, with pauses of an hour; returns the numbers of trials at each pause, and its record."""

    def run(spec, trials, suite=ALONE, pause=3600.0):
        path = tmp_path / "paused"
        path.mkdir()
        trials.clock, counts = clock, []
        with Store.create(path, spec, created=0, dialin_version="0", command="", host={}, servers={"mysql@9.7.4": {}}) as store:
            runner = Runner(store, clock, Silent(), plan(spec), FleetOfOne(trials), store.begin_session(), suite=suite)
            for _ in runner.blocks():
                counts.append(len(trials.ran))
                clock.sleep(pause)
            return counts, store.read()

    return run


def test_it_pauses_before_each_block_with_all_trials_ended(paused, spec):
    counts, record = paused(spec, simulated())
    assert counts[:3] == [0, 3, 5]
    assert {trial.state for trial in record.trials} == {TrialState.DONE}
    assert record.verdict is not None


def test_pauses_are_not_part_of_the_budget(paused, study, spec):
    _, whole = study(simulated(), spec)
    _, record = paused(spec, simulated())
    assert raced(record) == raced(whole)
    assert record.verdict.headline == whole.verdict.headline


def test_time_of_other_studies_is_part_of_the_same_budget(paused, study, spec):
    _, whole = study(simulated(), proving(spec))
    _, half = paused(proving(spec), simulated(), InSuite(seconds_elsewhere=lambda: spec.minutes * 30))
    assert 3 <= len(half.trials) <= len(whole.trials) / 2 + 2


def test_a_study_ends_with_its_verdict_when_the_suite_ends(paused, spec):
    ended = []
    suite = InSuite(seconds_elsewhere=lambda: math.inf if ended else 0.0, is_decided=lambda judgement: bool(ended.append(1)))
    _, record = paused(spec, simulated(), suite)
    assert record.verdict is not None
    assert len(record.trials) <= 5


def test_the_suite_says_when_a_study_is_decided(paused, spec):
    _, record = paused(spec, simulated(four=2000, sixteen=3000), InSuite(is_decided=lambda judgement: False))
    assert not any(look.decided for look in record.looks)
    assert len(record.trials) > 8
