"""What the load driver chooses is in force in every measured second, and recorded; servers and load are invented."""

from contextlib import nullcontext

import pytest

from dialin.model.load_driver import DriverChoice, TransactionTimes
from dialin.model.trial import Step, Trial, TrialState
from dialin.trials.events import Sampled, TrialEnded
from dialin.trials.trial_steps import run
from fixtures.choosing_load import ChoosingLoad
from fixtures.fake_trial import QuietHost, trial_context


@pytest.fixture
def measured(spec, clock):
    """Run one trial; its samples, and the trial as it ended."""

    def call(load, *choices, workload=None, host=None, **changes):
        asked = spec.model_copy(update={"minutes": 20, "workload": spec.workload.model_copy(update=workload or {}), **changes})
        quiet = nullcontext(host or QuietHost())
        context = trial_context(asked, clock, load, hiccups=lambda clock: quiet, driver_choices=choices)
        events = list(run(context, Trial(1, 1, 1, 1, "4", TrialState.RUNNING, 0.0)))
        assert isinstance(events[-1], TrialEnded)
        return [event.sample for event in events if isinstance(event, Sampled)], events[-1].trial

    return call


def warm_up_seconds(samples):
    return sum(sample.step is Step.WARM_UP for sample in samples)


@pytest.mark.parametrize(("warmup", "late", "expected"), [(10, 0, 10), (10, 4, 14), (1, 0, 2), (0, 0, 2), (0, 1, 3)])
def test_the_warm_up_lasts_until_the_driver_has_chosen(measured, clock, spec, warmup, late, expected):
    samples, trial = measured(ChoosingLoad(clock, late=late), warmup=warmup)
    assert warm_up_seconds(samples) == expected
    assert trial.driver_choices == (DriverChoice(spec.workload.threads, 3, True),)


def test_a_driver_that_is_reported_what_the_first_trial_chose_does_not_prolong_the_warm_up(measured, clock, spec):
    choice = DriverChoice(spec.workload.threads, 1, False)
    load = ChoosingLoad(clock, late=5)
    samples, trial = measured(load, choice)
    assert warm_up_seconds(samples) < 10
    assert load.started == [(spec.workload.threads, choice)]
    assert trial.driver_choices == (choice,)


def test_each_number_of_threads_has_its_own_choice(measured, clock):
    levels = {"levels": (4, 64), "threads": 64}
    load = ChoosingLoad(clock)
    _, trial = measured(load, workload=levels)
    assert trial.driver_choices == (DriverChoice(4, 3, True), DriverChoice(64, 3, True))
    pinned = (DriverChoice(4, 2, False), DriverChoice(64, 1, True))
    load = ChoosingLoad(clock)
    _, trial = measured(load, *pinned, workload=levels)
    assert sorted(load.started) == [(4, pinned[0]), (64, pinned[1])]
    assert trial.driver_choices == pinned


def test_each_kind_of_transaction_has_its_latency_over_the_measured_seconds(measured, clock, spec):
    _, trial = measured(ChoosingLoad(clock))
    threads = spec.workload.threads
    seconds = int(trial.transaction_times[0].counts[0][1] / 30)
    assert seconds > 1
    assert trial.transaction_times == (
        TransactionTimes("look", ((1.0, 30 * seconds),), threads),
        TransactionTimes("pay", ((5.0, 90 * seconds), (20.0, 10 * seconds)), threads),
    )


def test_each_number_of_threads_has_its_own_times(measured, clock):
    _, trial = measured(ChoosingLoad(clock), workload={"levels": (4, 64), "threads": 64})
    assert sorted((times.threads, times.name) for times in trial.transaction_times) == [
        (threads, kind) for threads in (4, 64) for kind in ("look", "pay")
    ]


def test_seconds_that_the_host_lost_and_the_warm_up_do_not_count_for_any_kind(measured, clock, spec):
    class Slower(ChoosingLoad):
        def read(self, timeout):
            second = super().read(timeout)
            is_counted = second.number > 11 and second.number != 13
            object.__setattr__(second, "times", lambda: {"pay": {5.0 if is_counted else 999.0: 100}})
            return second

    choice = DriverChoice(spec.workload.threads, 1, False)
    _, trial = measured(Slower(clock), choice, host=QuietHost(lost=(13,)), whole_warmup=True, warmup=11)
    (times,) = trial.transaction_times
    assert times.name == "pay"
    assert [time for time, _ in times.counts] == [5.0]
