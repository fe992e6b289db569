"""What a verdict says of the load driver."""

from dataclasses import replace

import pytest

from dialin.model.load_driver import DriverChoice
from dialin.verdict.reach_verdict import reach_verdict
from fixtures import example_studies


@pytest.fixture
def judged():
    """The verdict on a study whose trials have these choices."""

    def call(host, choices=()):
        record = example_studies.winner()
        trials = [replace(trial, driver_choices=choices) for trial in record.trials]
        return reach_verdict(replace(record, host=host, trials=trials)).verdict

    return call


def test_the_verdict_names_the_driver_and_what_the_first_trial_chose(judged):
    verdict = judged({"load_driver": "dialin-load 0.1.0+5f"}, (DriverChoice(16, 1, True),))
    assert verdict.workload["driver"] == "dialin-load 0.1.0+5f, 1 load thread, gathering on, as the first trial chose"
    assert verdict.workload["driver_choices"] == [{"threads": 16, "load_threads": 1, "gather": True}]


def test_a_driver_that_chooses_nothing_is_named_alone(judged):
    verdict = judged({"load_driver": "sysbench 1.0.20"})
    assert (verdict.workload["driver"], verdict.workload["driver_choices"]) == ("sysbench 1.0.20", [])
    assert "driver" not in judged({}).workload
