"""What the load driver added to latency is a share of the latency that candidates are compared by."""

from __future__ import annotations

import pytest

from dialin.trials.driver_share import driver_share
from dialin.workloads.base import Second


def second(latencies, undelayed):
    """Return a second with these times in milliseconds, by how many transactions took them."""
    return Second(1, 100, 0, 0, 0, 0.0, 0, 0, times=lambda: latencies, undelayed=lambda: undelayed)


def test_the_share_of_the_mean_and_of_p99_are_those_of_all_transactions():
    shares = driver_share([second({"": {1.0: 98, 50.0: 2}}, {1.0: 98, 5.0: 2}), second({"": {1.0: 100}}, {1.0: 100})], 95)
    assert shares["driver_share_mean"] == pytest.approx(90 / 298)
    # 198 of 200 took no longer than 1 ms.
    assert (shares["driver_share_p99"], shares["driver_added_p99_ms"]) == (0.0, 0.0)
    shares = driver_share([second({"": {1.0: 98, 50.0: 2}}, {1.0: 98, 5.0: 2})], 95)
    assert shares["driver_share_p99"] == pytest.approx(0.9)
    assert shares["driver_added_p99_ms"] == pytest.approx(45.0)


def test_the_share_of_the_goal_is_that_of_the_seconds_percentile_weighted_by_transactions():
    stopped, quiet = second({"": {1.0: 90, 20.0: 10}}, {1.0: 100}), second({"": {2.0: 300}}, {2.0: 300})
    shares = driver_share([stopped, quiet], 95)
    assert shares["driver_share_goal"] == pytest.approx(1 - (100 * 1.0 + 300 * 2.0) / (100 * 20.0 + 300 * 2.0))
    assert driver_share([stopped, quiet], 50)["driver_share_goal"] == 0


def test_the_kinds_of_transactions_count_together():
    kinds = {"pay": {1.0: 50, 30.0: 50}, "look": {1.0: 100}}
    assert driver_share([second(kinds, {1.0: 200})], 99)["driver_share_mean"] == pytest.approx(1 - 200 / 1650)


def test_a_driver_that_does_not_report_its_delays_has_no_share():
    assert driver_share([Second(1, 100, 0, 0, 0, 5.0, 0, 0)], 95) == {}
    assert driver_share([], 95) == {}


def test_too_few_transactions_have_no_p99():
    assert "driver_share_p99" not in driver_share([second({"": {2.0: 99}}, {1.0: 99})], 95)
