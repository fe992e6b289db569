import pytest

from dialin.model.progress import Silent
from dialin.model.study import Goal
from dialin.model.trial import Purpose, Step, TrialState
from dialin.model.verdict import CandidateState, Outcome
from dialin.testing import records
from dialin.testing.driven import drive


@pytest.fixture(params=sorted(records.EVERY))
def record(request):
    return records.EVERY[request.param]()


def test_they_are_the_same_at_every_call(record):
    name = next(name for name, make in records.EVERY.items() if make() is record)
    assert records.EVERY[name].__wrapped__() == record


def test_each_block_of_the_race_runs_every_candidate_that_is_still_in_it_once(record):
    gone = {one.name: one.left_after for one in record.verdict.candidates} if record.verdict else {}
    for block in {trial.block for trial in record.trials if trial.purpose is Purpose.RACE}:
        racing = [one.name for one in record.spec.candidates if gone.get(one.name) is None or block <= gone[one.name]]
        assert sorted(trial.candidate for trial in record.trials if trial.block == block) == sorted(racing)


def test_fresh_trials_are_of_the_choice_and_the_baseline_in_turn_after_the_race():
    record = records.safe_choice()
    fresh = [trial for trial in record.trials if trial.purpose is Purpose.CONFIRM]
    orders = [[trial.candidate for trial in fresh if trial.block == block] for block in sorted({t.block for t in fresh})]
    assert orders == [["16", "1"], ["1", "16"]] * 3
    assert min(trial.id for trial in fresh) > max(trial.id for trial in record.trials if trial.purpose is Purpose.RACE)
    assert record.verdict.confirmed.blocks == 6


def test_what_the_host_lost_is_in_the_samples_as_the_verdict_counts_it(record):
    if record.verdict is None:
        return
    for one in record.verdict.candidates:
        own = [trial for trial in record.trials if trial.candidate == one.name and trial.purpose is Purpose.RACE]
        samples = [sample for trial in own for sample in record.samples[trial.id] if sample.step is Step.MEASURE]
        assert sum(sample.lost for sample in samples) == one.lost_seconds
    assert record.verdict.lost_seconds == sum(one.lost_seconds for one in record.verdict.candidates)


def test_every_outcome_every_state_and_every_goal_is_among_them():
    verdicts = [make().verdict for make in records.EVERY.values() if make().verdict]
    assert {verdict.verdict for verdict in verdicts} == set(Outcome)
    assert {verdict.goal for verdict in verdicts} == set(Goal)
    assert {one.state for verdict in verdicts for one in verdict.candidates} == set(CandidateState)


def test_the_front_is_of_those_that_nothing_beats_at_both():
    for make in records.EVERY.values():
        known = [one for one in (make().verdict.candidates if make().verdict else []) if one.tps and one.cv]
        for one in known:
            beaten = any(other.tps.mean > one.tps.mean and other.cv.mean < one.cv.mean for other in known)
            assert one.pareto is not beaten


def test_seconds_follow_one_another_and_the_warm_up_comes_first(record):
    for samples in record.samples.values():
        assert [sample.second for sample in samples] == list(range(1, len(samples) + 1))
        steps = [sample.step for sample in samples]
        assert steps == sorted(steps, key=[Step.WARM_UP, Step.MEASURE].index)


def test_failed_trials_say_why(record):
    assert all((trial.failure is not None) == (trial.state is TrialState.FAILED) for trial in record.trials)


def test_a_driven_study_tells_every_second_and_every_trial(record):
    heard = []

    class Listening(Silent):
        def sampled(self, trial, sample):
            heard.append((trial.id, sample.second))

        def trial_ended(self, trial, standings):
            heard.append(trial.id)

    drive(record, Listening())
    assert heard == [
        one
        for trial in record.trials
        for one in [*((trial.id, sample.second) for sample in record.samples[trial.id]), trial.id]
    ]


def test_a_driven_study_tells_who_has_left_the_race_and_when():
    record = records.safe_choice()
    left = {}

    class Listening(Silent):
        def trial_ended(self, trial, standings):
            for name, standing in standings.items():
                if standing.left:
                    left.setdefault(name, trial.block)

    drive(record, Listening())
    assert left == {one.name: one.left_after for one in record.verdict.candidates if one.left_after is not None}
