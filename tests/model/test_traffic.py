"""The seconds of a live server, summed up and stored."""

import pytest

from dialin.model.traffic import PROBE, TrafficSecond, TrafficTotals, as_watched, fixed_mix, of_watched, percentile


def second(selects=90.0, updates=10.0, *, select_ms=1.0, update_ms=5.0, running=2.0, buckets=None):
    return TrafficSecond(
        seconds=1.0,
        counts={"select": selects, "update": updates},
        times={"select": selects * select_ms, "update": updates * update_ms},
        figures={"rows": 500.0},
        buckets=buckets or {},
        running=running,
    )


def period(*seconds):
    stored = as_watched(seconds, 5.0)
    return of_watched({PROBE: stored})


def test_a_stored_period_is_the_one_that_was_measured():
    seconds = [second(running=1.0, buckets={1.0: 90, 8.0: 10}), second(select_ms=3.0, running=3.0, buckets={1.0: 100})]
    read = period(*seconds)
    assert read.halves == (TrafficTotals.of(seconds[:1]), TrafficTotals.of(seconds[1:]))
    assert read.totals.per_second == 100
    assert (read.p95_ms, read.running, read.washout) == (1.0, 2.0, 5.0)
    assert of_watched({}) is None


def test_latency_in_a_fixed_mix_does_not_change_with_the_mix():
    few, many = period(second(90, 10), second(90, 10)), period(second(10, 90), second(10, 90))
    mix = fixed_mix([few, many])
    assert mix == {"select": 0.5, "update": 0.5}
    assert few.totals.latency(mix) == many.totals.latency(mix) == pytest.approx(3.0)
    slower = period(second(90, 10, select_ms=2.0), second(90, 10, select_ms=2.0))
    assert slower.totals.latency(mix) == pytest.approx(3.5)


def test_a_kind_that_did_not_run_leaves_its_share_to_the_others():
    only = TrafficTotals.of([TrafficSecond(1.0, {"select": 10.0}, {"select": 20.0}, {})])
    assert only.latency({"select": 0.5, "update": 0.5}) == pytest.approx(2.0)
    assert only.latency({"update": 1.0}) is None


def test_a_percentile_is_the_bound_of_its_bucket():
    assert percentile({1.0: 94, 2.0: 1, 50.0: 5}, 0.95) == 2.0
    assert percentile({}, 0.95) is None
