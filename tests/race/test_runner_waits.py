"""Trials for raw waits: after the verdict, once for each candidate that could be measured, and never a part of it."""

from dataclasses import replace

import pytest

from dialin.errors import ServerError
from dialin.model.evidence import RawWaits
from dialin.model.study import Until
from dialin.model.trial import Purpose, Step, TrialState
from dialin.preflight import machine_noise
from dialin.question.plan import plan
from dialin.race.budget import MAY_OVERRUN
from dialin.sentences.log_sentences import log_text
from dialin.trials.events import Evidence
from dialin.verdict.reach_verdict import reach_verdict
from fixtures.simulated_runs import FORCED, Killed
from fixtures.simulated_trials import SimulatedTrials

FOUND = RawWaits("hash_table_locks", 10.0, 1_234_567, 0, "CYCLE", 2.6e9)


class Trials(SimulatedTrials):
    """Trials of which those for waits have costly instruments on: they are slow, and their server says so."""

    fails_waits = frozenset()
    interrupted = 0

    def run(self, request, trial):
        if trial.purpose is not Purpose.WAITS:
            yield from super().run(request, trial)
            return
        costly = replace(
            self,
            levels={name: level / 10 for name, level in self.levels.items()},
            in_force={name: {**own, "performance_schema": "ON"} for name, own in self.in_force.items()},
            fails=self.fails_waits,
        )
        if self.interrupted:
            self.interrupted -= 1
            costly.end = lambda ended: replace(ended, state=TrialState.INTERRUPTED)
        yield from SimulatedTrials.run(costly, request, trial)

    def evidence(self, trial):
        return Evidence(waits=FOUND) if trial.purpose is Purpose.WAITS else Evidence()


def trials(**others):
    made = Trials({"1": 1000, "4": 1300, "16": 1000}, in_force=FORCED)
    for name, value in others.items():
        setattr(made, name, value)
    return made


@pytest.fixture
def study(study, spec):
    def run(made, directory="study", **changes):
        return study(made, spec.model_copy(update={"waits": "hash_table_locks", **changes}), directory=directory)

    return run


def of(record, purpose):
    return [trial for trial in record.trials if trial.purpose is purpose]


def test_each_candidate_has_one_after_all_others_in_a_block_of_its_own(study):
    _, record = study(trials())
    last = of(record, Purpose.WAITS)
    assert record.trials[-3:] == last
    assert [trial.candidate for trial in last] == ["1", "4", "16"], "those that are behind, too"
    assert {trial.block for trial in last} == {1 + max(trial.block for trial in of(record, Purpose.RACE))}
    said = [log_text(line) for line in record.log if log_text(line).startswith("Collecting")]
    assert said[0] == "Collecting the raw waits of hash_table_locks with 1: 1,234,567 events, none lost"
    assert len(said) == 3


def test_they_come_after_the_trials_that_confirm_the_choice(study):
    _, record = study(trials(), confirm=True, minutes=12)
    purposes = [trial.purpose for trial in record.trials]
    assert purposes == sorted(purposes, key=[Purpose.RACE, Purpose.CONFIRM, Purpose.WAITS].index)
    blocks = [trial.block for trial in record.trials if trial.purpose is not Purpose.WAITS]
    assert {trial.block for trial in of(record, Purpose.WAITS)} == {1 + max(blocks)}


def test_the_verdict_and_the_noise_are_the_same_as_without_them(study):
    with_waits, record = study(trials(), "with")
    without, clean = study(trials(), "without", waits=None)
    own = {"minutes_of_wall_clock"}
    assert with_waits.model_dump(exclude=own) == without.model_dump(exclude=own)
    assert of(clean, Purpose.WAITS) == []
    assert machine_noise.study_noise(record) == machine_noise.study_noise(clean)


def test_one_that_fails_is_recorded_and_is_not_a_failed_trial_of_its_candidate(study):
    verdict, record = study(trials(fails_waits=frozenset({"4"})), until=Until.BEST)
    (failed,) = [trial for trial in record.trials if trial.failure]
    assert (failed.candidate, failed.purpose) == ("4", Purpose.WAITS)
    assert [trial.candidate for trial in of(record, Purpose.WAITS)] == ["1", "4", "16"]
    assert verdict.winners == ["4"]
    again = reach_verdict(record).verdict
    assert again.candidates[1].failed == 0
    assert "failed_trials" not in {note.code for note in again.warnings}


def test_a_candidate_that_never_started_has_none(study):
    _, record = study(trials(fails=frozenset({"16"})))
    assert [trial.candidate for trial in of(record, Purpose.WAITS)] == ["1", "4"]


def test_a_study_killed_in_one_goes_on_with_it_and_repeats_none(study):
    def kill(trial):
        if trial.purpose is Purpose.WAITS and trial.candidate == "4":
            raise Killed

    with pytest.raises(Killed):
        study(trials(before=kill))
    _, record = study(trials())
    last = of(record, Purpose.WAITS)
    assert [(trial.candidate, trial.state) for trial in last] == [
        ("1", TrialState.DONE),
        ("4", TrialState.INTERRUPTED),
        ("4", TrialState.DONE),
        ("16", TrialState.DONE),
    ]
    assert len({trial.block for trial in last}) == 1
    _, again = study(trials())
    assert len(again.trials) == len(record.trials)


def test_one_that_the_host_spoiled_is_run_again_but_not_for_ever(study):
    _, record = study(trials(interrupted=1))
    assert [trial.candidate for trial in of(record, Purpose.WAITS)] == ["1", "1", "4", "16"]
    _, record = study(trials(interrupted=100), "spoiled")
    assert [trial.candidate for trial in of(record, Purpose.WAITS)] == ["1", "1", "4", "4", "16", "16"]


def test_a_study_that_goes_on_with_more_minutes_and_breaks_ends_at_once_though_their_block_has_that_number(study):
    noisy = {"levels": {"1": 1000, "4": 1002, "16": 1000}, "noise": 0.03}
    _, record = study(trials(**noisy), seed=2, until=Until.BEST)
    (block,) = {trial.block for trial in of(record, Purpose.WAITS)}
    broken = trials(**noisy, fails=frozenset({"1", "4", "16"}))
    with pytest.raises(ServerError, match="trials failed, of candidates that could be measured before"):
        study(broken, seed=2, minutes=60, until=Until.BEST)
    assert {trial.block for trial in broken.ran} <= {block, block + 1}


def test_the_race_leaves_them_room_in_the_budget(study, spec):
    made = Trials({"1": 1000, "4": 1002, "16": 1000}, noise=0.03, in_force=FORCED)
    _, record = study(made, seed=2, until=Until.BEST)
    spent = sum(sum(trial.steps.values()) for trial in record.trials)
    assert len(of(record, Purpose.WAITS)) == 3
    assert 0.8 * 60 * spec.minutes < spent <= MAY_OVERRUN * 60 * spec.minutes
    assert Step.MEASURE in record.trials[-1].steps


@pytest.mark.parametrize("number", [1, 2])
def test_the_plan_promises_fewer_blocks_for_them(spec, number):
    waits = spec.model_copy(update={"waits": "hash_table_locks", "wait_trials": number})
    assert plan(waits).blocks == plan(spec).blocks - number
    long = waits.model_copy(update={"measure": None, "warmup": None, "minutes": 60})
    count, allowed = len(spec.candidates), plan(long)
    assert (allowed.blocks + number) * count * allowed.trial_seconds <= 3600


def test_several_of_each_candidate_are_blocks_in_random_order_also_where_the_study_was_killed_between(study):
    begun = []

    def kill(trial):
        begun.extend([trial] if trial.purpose is Purpose.WAITS else [])
        if len(begun) == 5:
            raise Killed

    with pytest.raises(Killed):
        study(trials(before=kill), wait_trials=6, minutes=20)
    _, record = study(trials(), wait_trials=6, minutes=20)
    last = [trial for trial in of(record, Purpose.WAITS) if trial.state is TrialState.DONE]
    blocks = sorted({trial.block for trial in last})
    orders = [[trial.candidate for trial in last if trial.block == block] for block in blocks]
    assert len(orders) == 6
    assert all(sorted(order, key=int) == ["1", "4", "16"] for order in orders)
    assert len({tuple(order) for order in orders}) > 1
