"""What the host took from a second is kept with it; servers, load and host are invented."""

from contextlib import contextmanager

import pytest

from dialin.cause_sentences import with_advice
from dialin.errors import UserError
from dialin.model.trial import Step, Trial, TrialState
from dialin.question.plan import LONGEST, plan
from dialin.store.store import Store
from dialin.trials.trial_steps import is_loading_pool, run
from fixtures.fake_trial import FakeLoad, FakeProbe, FakeStage, trial_context
from fixtures.recorded import recorded


@pytest.fixture
def measured(tmp_path, spec, clock):
    """Run one trial under a load of so many seconds; its samples, the trial, and the probe."""

    def call(
        seconds,
        gaps=lambda asked: asked / 1000,
        speed=lambda second: 100.0,
        latency=lambda second: 20.0,
        ended=lambda load: False,
        rate=0,
        stage=None,
        **others,
    ):
        asked = spec.model_copy(update={"workload": spec.workload.model_copy(update={"rate": rate})})
        probe = FakeProbe(gaps)
        load = FakeLoad(clock, seconds, speed, latency)
        with Store.create(tmp_path, spec, created=0, dialin_version="0", command="", host={}, servers={}) as store:
            context = trial_context(
                asked,
                clock,
                load,
                plan=plan(spec),
                stage=stage or (lambda candidate: FakeStage(lambda: ended(load))),
                hiccups=lambda clock: probe,
                **others,
            )
            trial = recorded(store, clock, run(context, Trial(1, 1, 1, 1, "4", TrialState.RUNNING, 0.0)))
            return store.samples()[1], trial, probe

    return call


def test_each_second_carries_what_the_host_took_from_it_and_the_first_nothing_from_before_the_load(measured):
    samples, trial, probe = measured(1000)
    assert trial.state is TrialState.DONE
    assert {sample.step for sample in samples} == {Step.WARM_UP, Step.MEASURE}
    assert [sample.gap for sample in samples] == [count / 1000 for count in range(2, len(samples) + 2)]
    assert [sample.stolen for sample in samples] == [count / 10_000 for count in range(2, len(samples) + 2)]
    assert {sample.pressure for sample in samples} == {None}
    assert not probe.running


def test_the_host_is_watched_no_longer_once_a_trial_has_failed(measured):
    samples, trial, probe = measured(7)
    assert trial.state is TrialState.FAILED
    assert len(samples) == 7
    assert not probe.running


@pytest.mark.parametrize("died_in", [3, 15])
def test_a_server_that_ends_fails_its_trial_though_its_driver_goes_on_reporting(measured, died_in):
    _, trial, _ = measured(1000, ended=lambda load: load.number >= died_in)
    assert trial.state is TrialState.FAILED
    assert (trial.failure.fault, with_advice(trial.failure.cause)) == ("server", "The server ended: it died of SIGKILL")


def measured_seconds(samples):
    return [sample for sample in samples if sample.step is Step.MEASURE]


def test_seconds_that_the_host_lost_are_made_up_for(measured, spec):
    wanted = round(plan(spec).measure)
    samples, trial, _ = measured(1000, gaps=lambda asked: 2.0 if asked in (12, 13, 14) else 0.0)
    assert trial.state is TrialState.DONE
    assert sum(sample.lost for sample in measured_seconds(samples)) == 3
    assert wanted <= sum(not sample.lost for sample in measured_seconds(samples)) <= wanted + wanted // 2


def test_a_trial_that_the_host_lost_most_of_is_interrupted_to_be_run_again(measured, spec):
    samples, trial, _ = measured(1000, gaps=lambda asked: 2.0 if asked % 8 else 0.0)
    assert trial.state is TrialState.INTERRUPTED
    assert trial.failure is None
    assert len(measured_seconds(samples)) == LONGEST * round(plan(spec).measure)


def test_a_steady_trial_measures_as_long_as_planned(measured, spec):
    wanted = round(plan(spec).measure)
    samples, _, _ = measured(1000)
    assert len(measured_seconds(samples)) == wanted


def test_an_unsteady_trial_measures_longer_but_not_for_ever(measured, spec):
    samples, trial, _ = measured(1000, speed=lambda second: 100.0 * 1.03**second)
    assert trial.state is TrialState.DONE
    assert len(measured_seconds(samples)) == LONGEST * round(plan(spec).measure)


def warm_up_seconds(samples):
    return sum(sample.step is Step.WARM_UP for sample in samples)


def test_a_warm_up_ends_where_throughput_is_steady(measured, spec):
    free, _, _ = measured(1000)
    assert warm_up_seconds(free) < plan(spec).warmup


def test_at_a_rate_all_of_the_warm_up_is_waited_for(measured, spec):
    samples, trial, _ = measured(1000, rate=100)
    assert trial.state is TrialState.DONE
    assert warm_up_seconds(samples) == round(plan(spec).warmup)


def test_at_a_rate_a_trial_whose_latency_still_moves_measures_longer_though_throughput_is_flat(measured, spec):
    samples, _, _ = measured(1000, rate=100, latency=lambda second: 20.0 * 0.97**second)
    assert len(measured_seconds(samples)) == LONGEST * round(plan(spec).measure)


def test_without_a_rate_latency_does_not_keep_a_trial(measured, spec):
    samples, _, _ = measured(1000, latency=lambda second: 20.0 * 0.97**second)
    assert len(measured_seconds(samples)) == round(plan(spec).measure)


def test_a_load_that_is_another_one_now_is_asked_for_before_the_server_of_a_trial_is_touched(measured, tmp_path):
    def changed():
        raise UserError("mine.toml has changed since the study started")

    with pytest.raises(UserError):
        measured(1000, check=changed)
    with Store.open(tmp_path) as store:
        (trial,) = store.trials()
        assert (trial.state, trial.steps.keys() <= {Step.STOP}) == (TrialState.INTERRUPTED, True)


def test_a_stage_that_cannot_be_set_up_leaves_no_trial_running(measured, tmp_path):
    def fail(trial):
        raise UserError("The data is gone", "Prepare it again")

    with pytest.raises(UserError, match="The data is gone"):
        measured(10, stage=fail)
    with Store.open(tmp_path) as store:
        assert [trial.state for trial in store.trials()] == [TrialState.INTERRUPTED]


@pytest.mark.parametrize(
    ("text", "loading"),
    [
        ("", False),
        ("Loading of buffer pool not started", False),
        ("Loading buffer pool(s) from /var/notes/not/ib_buffer_pool", True),
        ("Loaded 8/79 pages", True),
        ("Buffer pool(s) load completed at 261123 9:23:29", False),
        ("Buffer pool(s) load aborted on request", False),
        ("Cannot open '/var/Loaded 1/2 pages' for reading: No such file or directory", False),
    ],
)
def test_the_state_of_the_pool_is_read_by_its_first_words(text, loading):
    assert is_loading_pool(text) is loading


def test_a_trial_that_stays_below_its_floor_ends_early_and_is_completed(measured):
    slow_from = 12
    samples, trial, _ = measured(1000, speed=lambda second: 100.0 if second < slow_from else 40.0, floor=50.0)
    assert trial.state is TrialState.DONE
    assert [sample.tps for sample in measured_seconds(samples)][-5:] == [40.0] * 5
    assert samples[-1].second == slow_from + 4


def test_seconds_below_the_floor_that_are_not_in_a_row_end_nothing(measured, spec):
    samples, _, _ = measured(1000, speed=lambda second: 100.0 if second % 4 else 40.0, floor=50.0)
    assert len(measured_seconds(samples)) >= round(plan(spec).measure)


def test_the_network_is_measured_before_and_after_the_load_where_the_server_is_elsewhere(measured, clock, tmp_path):
    class Elsewhere(FakeStage):
        @contextmanager
        def connect(self, timeout=10.0):
            yield lambda statement, arguments=(): clock.sleep(0.002) or [] if statement == "DO 0" else []

    measured(1000, stage=lambda candidate: Elsewhere())
    with Store.open(tmp_path) as store:
        (watched,) = store.read().watched.values()
    gauge = watched["network"].gauges["round_trip_ms"]
    assert (round(gauge.first, 3), round(gauge.last, 3)) == (2.0, 2.0)
