"""Loads of which no transaction succeeds, and servers that stand still; servers, load and host are invented."""

from contextlib import contextmanager

import pytest

from dialin.cause_sentences import sentence, with_advice
from dialin.errors import ServerError, WorkloadError
from dialin.model.trial import Step, Trial, TrialState
from dialin.store.store import Store
from dialin.trials.hang_detector import FAILING_PATIENCE, STALL_PATIENCE, HangDetector
from dialin.trials.trial_steps import run
from dialin.workloads.base import Second
from fixtures.fake_trial import FakeLoad, FakeStage, trial_context
from fixtures.recorded import recorded


def second(tps=0.0, **codes):
    rates = {int(code.removeprefix("e")): rate for code, rate in codes.items()}
    return Second(1, tps, 0.0, 0.0, 0.0, 0.0, sum(rates.values()), 0.0, codes=rates)


def watched(seconds, check_answers=lambda: None):
    """Let these seconds pass; returns how many did before it was too much, and what was said then."""
    standstill = HangDetector()
    for number, each in enumerate(seconds, 1):
        try:
            standstill.add_second(each, check_answers, lambda: "[ERROR] the log's last line")
        except (ServerError, WorkloadError) as error:
            return number, error
    return number, None


def test_a_load_of_which_every_transaction_fails_is_reported_with_the_commonest_error_and_what_to_do():
    after, error = watched([second(e1062=40, e1213=2)] * 100)
    assert after == FAILING_PATIENCE
    assert isinstance(error, WorkloadError)
    assert error.what == "Every transaction failed for 10 s: 400 times error 1062 (DUP_ENTRY), and 20 others"
    assert "inserts keys that exist already" in error.remedy
    assert error.log_tail == "error 1062 (DUP_ENTRY): 400 times\nerror 1213 (LOCK_DEADLOCK): 20 times"


def test_patience_is_in_seconds_however_long_a_sample_is():
    looks = []
    after, error = watched([Second(1, 0.0, seconds=10.0)] * 100, lambda: looks.append(1))
    assert (after, error.what) == (STALL_PATIENCE / 10, f"The server hung: no transaction for {STALL_PATIENCE} s")
    assert len(looks) == after


def test_errors_beside_transactions_are_no_failure_however_many():
    assert watched([second(1.0, e1213=5000)] * 1000) == (1000, None)
    nearly = [second(e1062=9)] * (FAILING_PATIENCE - 1)
    assert watched([*nearly, second(1.0), *nearly]) == (2 * len(nearly) + 1, None)


def test_a_server_that_stands_still_is_called_hung_and_not_one_that_answers_with_errors_now_and_then():
    after, error = watched([second()] * 100)
    assert (after, error.what, error.log_tail) == (
        STALL_PATIENCE,
        f"The server hung: no transaction for {STALL_PATIENCE} s",
        "[ERROR] the log's last line",
    )
    after, error = watched(([second()] * 19 + [second(e1205=4)]) * 5)
    assert (after, type(error)) == (STALL_PATIENCE, WorkloadError)
    assert "12 times error 1205 (LOCK_WAIT_TIMEOUT)" in error.what


def test_a_server_that_does_no_work_is_asked_whether_it_answers_in_the_second_such_second():
    asked = []

    def silent():
        asked.append(None)
        raise ServerError("it does not answer")

    after, error = watched([second(1.0), second(), second(1.0), second(), second(), second()], silent)
    assert (after, error.what, len(asked)) == (5, "it does not answer", 1)


def test_errors_that_a_driver_does_not_tell_apart_are_counted():
    _, error = watched([Second(1, 0.0, 0.0, 0.0, 0.0, 0.0, 3.0, 0.0)] * 100)
    assert "30 errors, which the load driver does not classify" in error.what
    _, error = watched([second(e4999=1)] * 100)
    assert "10 times error 4999;" in f"{error.what};"


class FailingLoad(FakeLoad):
    """A load whose seconds have no transaction from some on, and so many errors."""

    def __init__(self, clock, begins, errors):
        super().__init__(clock, 1000, lambda number: 100.0 if number < begins else 0.0)
        self.errors = errors

    def read(self, timeout):
        came = super().read(timeout)
        return came if came.tps else second(e1062=self.errors)


@pytest.fixture
def ended(tmp_path, spec, clock):
    """Run one trial whose load fails from a second on; how it ended, and its samples."""

    def call(begins, errors, **changes):
        asked = spec.model_copy(update=changes)
        load = FailingLoad(clock, begins, errors)
        with Store.create(tmp_path, asked, created=0, dialin_version="0", command="", host={}, servers={}) as store:
            context = trial_context(asked, clock, load)
            trial = recorded(store, clock, run(context, Trial(1, 1, 1, 1, "4", TrialState.RUNNING, 0.0)))
            return trial, store.samples()[1]

    return call


def test_a_trial_in_which_every_transaction_fails_has_failed_by_its_workload(ended):
    trial, samples = ended(begins=1, errors=500.0)
    assert trial.state is TrialState.FAILED
    assert (trial.failure.fault, trial.failure.step) == ("workload", Step.WARM_UP)
    assert "5,000 times error 1062 (DUP_ENTRY). It inserts keys that exist already" in with_advice(trial.failure.cause)
    assert len(samples) == FAILING_PATIENCE


@pytest.mark.parametrize(
    ("errors", "says"), [(7.0, "28 times error 1062"), (0.0, "No transaction ended in the measured time. Measure for longer")]
)
def test_a_trial_that_measured_no_transaction_is_not_done_however_short(ended, errors, says):
    trial, _ = ended(begins=1, errors=errors, measure=2.0, warmup=2.0)
    assert trial.state is TrialState.FAILED
    assert trial.failure.step is Step.MEASURE
    assert says in with_advice(trial.failure.cause)


def test_a_trial_whose_server_does_not_answer_any_more_fails_and_has_no_result(tmp_path, spec, clock):
    class SilentStage(FakeStage):
        pid = 4711

        @contextmanager
        def connect(self, timeout=10.0):
            if timeout == 5.0:
                raise ServerError("timed out")
            yield lambda statement, arguments=(): []

    load = FakeLoad(clock, 1000, lambda number: 100.0 if number < 5 else 0.0)
    with Store.create(tmp_path, spec, created=0, dialin_version="0", command="", host={}, servers={}) as store:
        context = trial_context(spec, clock, load, stage=lambda trial: SilentStage())
        trial = recorded(store, clock, run(context, Trial(1, 1, 1, 1, "4", TrialState.RUNNING, 0.0)))
        assert len(store.samples()[1]) == 6
    assert (trial.state, trial.failure.fault) == (TrialState.FAILED, "server")
    assert sentence(trial.failure.cause) == "The server stopped answering: a new connection had no answer within 5 s"


def test_a_trial_whose_transactions_end_early_on_keeps_its_score(ended):
    trial, _ = ended(begins=4, errors=0.0, measure=4.0, warmup=2.0)
    assert trial.state is TrialState.DONE
