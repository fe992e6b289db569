"""Candidates that enter a study while it runs."""

import pytest

from dialin.errors import UserError
from dialin.model.study import Candidate, Until
from dialin.model.trial import EffectiveSettings, TrialState
from dialin.sentences.log_sentences import log_text
from dialin.testing.fake_clock import FakeClock
from fixtures.long_form import IS_LONG
from fixtures.proposers import AddsOne, All
from fixtures.silent_watcher import Silent
from fixtures.simulated_runs import FORCED, Killed, raced, run_study, shorter
from fixtures.simulated_trials import SimulatedTrials

EIGHT = Candidate(name="8", setting={"innodb_buffer_pool_instances": 8}, server="mysql@9.7.4")
LEVELS = {"1": 1000, "4": 1003, "16": 1002, "8": 1300}
SEEN = EffectiveSettings({"innodb_buffer_pool_instances": "8"}, {"innodb_buffer_pool_instances": "8"})


def admit(spec, candidate):
    return candidate, SEEN


def trials(**others):
    return SimulatedTrials(LEVELS, noise=0.02, in_force={**FORCED, "8": SEEN.in_force}, **others)


class Listening(Silent):
    def __init__(self):
        self.entered = []

    def candidates_entered(self, spec):
        self.entered.append([one.name for one in spec.candidates])


@pytest.fixture(scope="module")
def long(spec):
    return shorter(spec, minutes=12, until=Until.BEST)


@pytest.fixture
def entering(study, long):
    """Run a study that the candidate 8 enters in a block."""

    def run(made, block=3, **others):
        return study(made, long, proposer=AddsOne(EIGHT, block), **{"admit": admit, **others})

    return run


@pytest.fixture(scope="module")
def whole(long, tmp_path_factory):
    """The study that the candidate 8 enters in its third block, as it is where nobody kills it."""
    path, proposer = tmp_path_factory.mktemp("whole") / "study", AddsOne(EIGHT, 3)
    return run_study(path, long, trials(), FakeClock(), proposer=proposer, admit=admit)[1]


@pytest.fixture(scope="module")
def without(long, tmp_path_factory):
    """The same study without it."""
    return run_study(tmp_path_factory.mktemp("without") / "study", long, trials(), FakeClock(), proposer=All())[1]


def orders(record):
    return [block.order for block in record.blocks]


def test_a_candidate_enters_with_a_block_and_is_measured_from_then_on(entering):
    watcher = Listening()
    verdict, record = entering(trials(), watcher=watcher)
    assert [one.name for one in record.spec.candidates] == ["1", "4", "16", "8"]
    assert [one.born for one in record.spec.candidates] == [1, 1, 1, 3]
    assert "8" not in raced(record, 1) + raced(record, 2)
    assert "8" in raced(record, 3)
    assert verdict.winners == ["8"]
    assert watcher.entered == [["1", "4", "16", "8"]]
    assert any(log_text(line) == "8 joins with block 3: innodb_buffer_pool_instances=8" for line in record.log)


@pytest.mark.parametrize("block", [2, 3])
def test_one_that_enters_reshuffles_no_block_that_ran(without, entering, block):
    _, record = entering(trials(), block)
    assert orders(record)[: block - 1] == orders(without)[: block - 1]
    assert "8" in orders(record)[block - 1]


@pytest.mark.parametrize("killed", range(1, 12) if IS_LONG else (1, 4, 7, 11))
def test_a_study_that_is_killed_in_any_trial_goes_on_in_the_order_that_it_would_have_had(whole, entering, killed):
    def kill(trial):
        if trial.id == killed:
            raise Killed

    try:
        entering(trials(before=kill))
    except Killed:
        _, record = entering(trials())
    else:
        pytest.skip("the study ended before")
    shared = min(len(whole.blocks), len(record.blocks))
    assert orders(record)[: min(shared, 4)] == orders(whole)[: min(shared, 4)]
    done = [(t.block, t.candidate) for t in record.trials if t.state is TrialState.DONE]
    assert len(done) == len(set(done)), "no finished trial is repeated"
    assert [one.born for one in record.spec.candidates] == [1, 1, 1, 3]


def test_one_that_cannot_enter_is_said_once_and_the_race_goes_on_without_it(entering):
    def refuse(spec, candidate):
        raise UserError("innodb_buffer_pool_instances=8 does not fit", "Propose another one")

    _, record = entering(trials(), admit=refuse)
    assert [one.name for one in record.spec.candidates] == ["1", "4", "16"]
    (line,) = [log_text(line) for line in record.log if "is not used" in log_text(line)]
    assert line == "8 is not used: innodb_buffer_pool_instances=8 does not fit"
    assert len(record.blocks) >= 3


def test_a_proposer_that_insists_on_what_cannot_enter_ends_the_race_with_a_verdict(study, long):
    class Insists(AddsOne):
        def propose(self, history, room):
            return (*history.in_the_race, EIGHT) if room.block >= 3 else history.in_the_race

    def refuse(spec, candidate):
        raise UserError("no", "")

    verdict, record = study(trials(), long, proposer=Insists(EIGHT, 3), admit=refuse)
    assert len(record.blocks) == 2
    assert verdict is not None


def test_a_proposer_knows_what_is_out_of_the_race_and_what_the_budget_holds(study, long):
    asked = []

    class Noting(AddsOne):
        def propose(self, history, room):
            asked.append((room.block, room.trials, set(history.out), len(history.trials), len(history.figures)))
            return super().propose(history, room)

    study(trials(), long, proposer=Noting(EIGHT, 99))
    assert [block for block, *_ in asked] == list(range(1, len(asked) + 1))
    held = [trials for _, trials, *_ in asked][1:]  # before the first trial its length is an estimate
    assert held == sorted(held, reverse=True)
    assert all(measured == figures for *_, measured, figures in asked)
