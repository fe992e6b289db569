import pytest

from dialin.stats.standings import is_due


def test_the_first_look_is_due_at_once_and_no_trial_is_looked_at_twice_without_a_new_one():
    assert is_due(9, 0)
    assert not is_due(9, 9)


@pytest.mark.parametrize("trials", [20, 100, 1000])
def test_a_decision_is_at_most_a_twentieth_late(trials):
    due = next(later for later in range(trials + 1, 2 * trials) if is_due(later, trials))
    assert due <= trials + max(1, trials / 20) + 1


def test_looks_are_few():
    looked, looks = 0, 0
    for trials in range(9, 400, 2):
        if is_due(trials, looked):
            looked, looks = trials, looks + 1
    assert looks < 70
