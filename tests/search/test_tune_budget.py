"""What the minutes of a tune are enough for."""

import pytest

from dialin.search.proof import (
    FEWEST_VARIABLES,
    MOST_VARIABLES,
    minutes_to_separate,
    proof_share,
    provable_gain,
    separable_variables,
)
from dialin.search.trial_records import Options
from dialin.stats.forecast import fewest_trials


def test_more_trials_separate_more_variables_within_limits() -> None:
    counts = [separable_variables(trials) for trials in range(400)]
    assert counts == sorted(counts)
    assert (counts[0], counts[-1]) == (FEWEST_VARIABLES, MOST_VARIABLES)
    assert separable_variables(28) == 9


@pytest.mark.parametrize("variables", range(FEWEST_VARIABLES, MOST_VARIABLES + 1))
@pytest.mark.parametrize("seconds", [7.0, 26.0, 83.0])
def test_the_minutes_that_are_named_separate_as_many_as_they_say(variables: int, seconds: float) -> None:
    minutes = minutes_to_separate(variables, seconds)
    assert minutes % 5 == 0
    assert separable_variables(int(60 * minutes / seconds)) >= variables


def test_a_longer_budget_and_less_noise_show_smaller_gains() -> None:
    gains = [provable_gain(Options(minutes), restarts=True) or 9.0 for minutes in (15, 30, 60, 120)]
    assert gains == sorted(gains, reverse=True)
    assert 0.02 < gains[-1] < gains[0]
    assert provable_gain(Options(60), restarts=True, noise=0.01) < provable_gain(Options(60), restarts=True, noise=0.03)


def test_too_few_trials_show_no_gain() -> None:
    assert provable_gain(Options(2), restarts=True) is None
    assert provable_gain(Options(60), restarts=True, spent=59) is None


def test_a_gain_is_promised_only_where_the_proof_has_the_trials_of_a_decision() -> None:
    trial = Options(1).proof_seconds + Options(1).set_seconds
    minutes = [2 * trials * trial / 60 + 1e-6 for trials in (fewest_trials(2) - 1, fewest_trials(2))]
    assert [provable_gain(Options(one), restarts=False) is None for one in minutes] == [True, False]


def test_a_short_budget_gives_the_proof_more_than_its_share_and_never_more_than_half() -> None:
    assert proof_share(Options(10), restarts=True) == 0.5
    assert 0.25 < proof_share(Options(30), restarts=True) < 0.5
    assert proof_share(Options(240), restarts=True) == 0.25
