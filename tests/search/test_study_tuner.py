"""A tuner whose trials are those of a study: what it learns, and that it says the same after a resume."""

from dataclasses import replace

import pytest

from dialin.model.cause import Cause
from dialin.model.setting import changed
from dialin.model.study import Goal
from dialin.model.trial import Failure, Purpose, Step, Trial, TrialState
from dialin.model.tune import TuneAsk, TuneStage
from dialin.search.space import Space
from dialin.search.study_tuner import StudyTuner, answers, effective_point
from dialin.stats.trial_figures import figures
from fixtures.simulated_servers import CAPACITY, METHOD, PLAN, POOL, tune_spec
from fixtures.tuned import whole_tune

SPACE = Space(PLAN.variables)
ASKS = [TuneAsk(1, "baseline", TuneStage.START, 10), TuneAsk(2, "setting 1", TuneStage.START, 10)]


def trial(number, block, candidate="baseline", *, started, seconds, state=TrialState.DONE, session=1, boots=False):
    steps = {Step.BOOT if boots else Step.SET: 1.0, Step.MEASURE: seconds - 1.0}
    return Trial(number, block, session, 1, candidate, state, started, steps=steps, purpose=Purpose.SEARCH)


def test_a_trial_costs_all_that_passed_since_the_one_before_ended():
    first, second = answers(
        ASKS,
        [
            trial(1, 1, started=100, seconds=20, boots=True),
            trial(2, 2, "setting 1", started=125, seconds=15, boots=True),
        ],
    )
    assert (first.cost, second.cost) == (20, 20)
    assert (first.life, second.life) == (1, 2)


def test_a_trial_that_was_broken_off_costs_its_time_and_a_pause_between_sessions_costs_nothing():
    (first, second) = answers(
        ASKS,
        [
            trial(1, 1, started=0, seconds=20, boots=True),
            trial(2, 2, "setting 1", started=20, seconds=8, state=TrialState.INTERRUPTED),
            trial(3, 2, "setting 1", started=9000, seconds=20, session=2, boots=True),
        ],
    )
    assert (first.cost, second.cost) == (20, 28)
    assert second.trial.id == 3


def test_a_trial_that_has_not_ended_is_no_answer():
    running = [trial(1, 1, started=0, seconds=20), trial(2, 2, "setting 1", started=20, seconds=5, state=TrialState.RUNNING)]
    assert [answer.ask.number for answer in answers(ASKS, running)] == [1]


@pytest.mark.parametrize(
    ("asked", "in_force", "effective"),
    [
        ({CAPACITY: 1000}, {CAPACITY: "1000"}, {CAPACITY: 1000}),
        ({CAPACITY: 20_000}, {CAPACITY: "2000"}, {CAPACITY: 2000}),  # clamped by the server
        ({CAPACITY: 20_000}, {CAPACITY: "200"}, {}),  # refused: the default holds
        ({POOL: 2**30}, {POOL: str(2**30), CAPACITY: "400"}, {POOL: 2**30, CAPACITY: 400}),  # moved along
        ({METHOD: "0"}, {METHOD: "9"}, {METHOD: "0"}),  # nothing that the search can place
        ({}, {CAPACITY: "200", POOL: str(2**26)}, {}),
    ],
)
def test_the_value_in_force_is_the_one_that_was_measured(asked, in_force, effective):
    assert effective_point(SPACE, asked, in_force) == effective


def test_what_a_candidate_changes_of_the_baseline():
    assert changed({CAPACITY: 200, POOL: "1G"}, {CAPACITY: "200"}) == {POOL: "1G"}


def answered(record):
    """The trials of a tune as its tuner learnt them, with their figures by trial id."""
    figures_of = {trial.id: figures(record.samples[trial.id]) for trial in record.trials}
    return list(answers(record.course.asks, record.trials)), figures_of


@pytest.mark.parametrize("ended", [1, 7, 20, 33])
def test_a_tuner_that_learns_what_another_one_learnt_asks_the_same(ended):
    record = whole_tune()
    spec, (trials, figures_of) = record.spec, answered(record)
    study = StudyTuner(spec, spec.question)
    study.replay(spec, trials[:ended], figures_of)
    following, asked = study.next_trial(), record.course.asks[ended]
    assert following.purpose is asked.stage
    assert following.setting == changed(spec.setting_of(asked.candidate), {})
    assert following.improvement == pytest.approx(asked.improvement)


def test_a_tuner_asks_the_rest_of_a_proof_as_it_would_have():
    record = whole_tune()
    spec, (trials, figures_of) = record.spec, answered(record)
    first = next(place for place, ask in enumerate(record.course.asks) if ask.stage is TuneStage.PROOF)
    for ended in (first, first + 1, first + 4):
        study = StudyTuner(spec, spec.question)
        study.replay(spec, trials[:ended], figures_of)
        following, asked = study.next_trial(), record.course.asks[ended]
        assert (following.block, following.candidate) == (asked.block, asked.subset)


def test_a_failed_trial_is_no_score():
    spec = tune_spec(20)
    study = StudyTuner(spec, spec.question)
    study.next_trial()
    failed = replace(
        trial(1, 1, started=0, seconds=9, state=TrialState.FAILED, boots=True),
        failure=Failure(Step.BOOT, "server", Cause.quoted("died")),
    )
    study.learn(spec, next(answers(ASKS, [failed])), {})
    assert [(one.trial, one.reason) for one in study.failures] == [(1, "died")]
    assert not study.tuner.history[0].ok
    assert study.seconds_left == 20 * 60 - 9


def test_several_numbers_of_threads_cost_as_many_times_the_seconds_and_are_requested_each():
    spec = tune_spec(20)
    spec = spec.model_copy(update={"workload": spec.workload.model_copy(update={"threads": 4, "levels": (1, 4)})})
    study = StudyTuner(spec, spec.question)
    assert study.tuner.options.search_seconds == 2 * PLAN.search_seconds
    assert study.next_trial().seconds == PLAN.search_seconds
    record = whole_tune()
    measured = figures(record.samples[record.trials[0].id])
    study.learn(spec, next(answers(ASKS, [trial(1, 1, started=0, seconds=25, boots=True)])), {1: measured})
    assert study.tuner.history[0].ask.seconds == 2 * PLAN.search_seconds


def test_a_goal_that_varies_more_takes_more_to_matter():
    specs = tune_spec(20, goal=Goal.LATENCY, worthwhile=0.05), tune_spec(20)
    latency, throughput = (StudyTuner(spec, spec.question).tuner.options for spec in specs)
    assert latency.variance(15) > 2 * throughput.variance(15)
    assert (latency.worthwhile, throughput.worthwhile) == (0.05, 0.02)


@pytest.mark.parametrize("gain", [True, False])
def test_the_result_rests_on_the_intervals_that_the_verdict_shows(gain):
    record = whole_tune(gain=gain)
    study = StudyTuner(record.spec, record.spec.question)
    study.replay(record.spec, *answered(record))
    result, shown = study.tuner.result(), record.verdict.tune.gain
    assert (result.gain.low, result.gain.high) == pytest.approx((shown.low, shown.high), abs=0.001)
