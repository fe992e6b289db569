"""What a verdict says of the load driver, and of each kind of transaction."""

from dataclasses import replace

import pytest

from dialin.model.load_driver import ALL_KINDS, DriverChoice, TransactionTimes
from dialin.model.trial import Purpose, TrialState
from dialin.verdict.reach_verdict import reach_verdict
from fixtures import example_studies


@pytest.fixture
def judged():
    """The verdict on a study whose trials have these choices and times."""

    def call(host, choices=(), times=lambda trial: ()):
        record = example_studies.winner()
        trials = [replace(trial, driver_choices=choices, transaction_times=times(trial)) for trial in record.trials]
        return reach_verdict(replace(record, host=host, trials=trials)).verdict

    return call


def test_the_verdict_names_the_driver_and_what_the_first_trial_chose(judged):
    verdict = judged({"load_driver": "dialin-load 0.1.0+5f"}, (DriverChoice(16, 1, True),))
    assert verdict.workload["driver"] == "dialin-load 0.1.0+5f, 1 load thread, gathering on, as the first trial chose"
    assert verdict.workload["driver_choices"] == [{"threads": 16, "load_threads": 1, "gather": True}]


def test_a_driver_that_chooses_nothing_is_named_alone(judged):
    verdict = judged({"load_driver": "sysbench 1.0.20"})
    assert (verdict.workload["driver"], verdict.workload["driver_choices"]) == ("sysbench 1.0.20", [])
    assert all(candidate.transactions == [] for candidate in verdict.candidates)
    assert "driver" not in judged({}).workload


def test_each_kind_of_transaction_has_the_median_of_its_trials(judged):
    def times(trial):
        if trial.purpose is not Purpose.RACE or trial.state is not TrialState.DONE:
            return (TransactionTimes("pay", 1e9, 1e9, 1e9), TransactionTimes(ALL_KINDS, 1e9, 1e9, 1e9))
        p99 = None if trial.block == 1 else 10.0 * trial.block
        every = TransactionTimes(ALL_KINDS, 105.0, 4.0, p99)
        return (every, TransactionTimes("look", 5.0, None, None), TransactionTimes("pay", 100.0 + trial.block, 4.0, p99))

    verdict = judged({}, times=times)
    for candidate in verdict.candidates:
        look, pay = candidate.transactions
        middle = (1 + candidate.trials) / 2
        assert (look.name, look.per_second, look.p95_ms, look.p99_ms) == ("look", 5.0, None, None)
        assert (pay.name, pay.per_second, pay.p95_ms, pay.p99_ms) == ("pay", 100.0 + middle, 4.0, 10.0 * (middle + 0.5))
