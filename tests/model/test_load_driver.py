"""What applied a load, in one line."""

import pytest

from dialin.model.load_driver import DriverChoice, describe_driver
from dialin.model.trial import Trial, TrialState, first_driver_choices

DRIVER = {"load_driver": "dialin-load 0.1.0+5f"}
ONE, THREE = DriverChoice(64, 1, True), DriverChoice(4, 3, False)


@pytest.mark.parametrize(
    ("begun", "choices", "text"),
    [
        ({}, (), ""),
        ({"load_driver": "sysbench 1.0.20"}, (), "sysbench 1.0.20"),
        (DRIVER, (ONE,), "dialin-load 0.1.0+5f, 1 load thread, gathering on, as the first trial chose"),
        (DRIVER, (THREE,), "dialin-load 0.1.0+5f, 3 load threads, gathering off, as the first trial chose"),
        (
            DRIVER,
            (ONE, DriverChoice(4, 1, True)),
            "dialin-load 0.1.0+5f, 1 load thread, gathering on, as the first trial chose",
        ),
        (
            DRIVER,
            (ONE, THREE),
            "dialin-load 0.1.0+5f; with 4 threads: 3 load threads, gathering off; with 64 threads: 1 load thread, gathering "
            "on; as the first trial chose",
        ),
        (
            {**DRIVER, "load_driver_later": ["dialin-load 0.1.0+60"]},
            (),
            "dialin-load 0.1.0+5f, later dialin-load 0.1.0+60",
        ),
    ],
)
def test_the_driver_is_described_with_what_it_chose(begun, choices, text):
    assert describe_driver(begun, choices) == text


def test_the_first_completed_trial_chooses_for_the_study():
    def trial(number, state, *choices):
        return Trial(number, 1, 1, 1, "a", state, 0.0, driver_choices=choices)

    failed, done = trial(1, TrialState.FAILED, ONE), trial(2, TrialState.DONE, THREE)
    assert first_driver_choices([]) == first_driver_choices([failed]) == ()
    assert first_driver_choices([failed, done, trial(3, TrialState.DONE, ONE)]) == (THREE,)
