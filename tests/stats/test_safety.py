"""A candidate that crashes is never safe; a machine that fails everybody is not the candidate's fault."""

import pytest

from dialin.stats.standings import Failures, unsafe


def test_one_failure_is_enough_where_the_baselines_server_never_failed():
    failures = {"a": Failures(0, 12), "b": Failures(1, 12), "c": Failures(0, 12)}
    assert unsafe(failures, "a") == {"b"}


@pytest.mark.parametrize(("failed", "expected"), [(1, False), (2, False), (3, False), (8, True), (12, True)])
def test_where_the_baseline_fails_too_an_excess_must_be_more_than_chance(failed, expected):
    failures = {"a": Failures(1, 12), "b": Failures(failed, 12)}
    assert ("b" in unsafe(failures, "a")) is expected


def test_other_candidates_that_crash_excuse_nobody():
    failures = {"a": Failures(0, 6), "b": Failures(3, 6), "c": Failures(1, 6)}
    assert unsafe(failures, "a") == {"b", "c"}


def test_the_baseline_is_never_unsafe():
    assert unsafe({"a": Failures(6, 6), "b": Failures(0, 6)}, "a") == frozenset()


def test_without_any_trial_of_the_baseline_a_failure_counts():
    assert unsafe({"b": Failures(1, 1)}, "a") == {"b"}
