"""Rows become samples: kinds add up, a gap is a gap, and transactions divided by seconds stay what they were."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dialin.model.load_driver import KindFigures
from dialin.readers.load_rows import MEAN, LoadRow
from dialin.workloads.command.intervals import Intervals


def test_kinds_of_one_interval_add_up_and_keep_their_figures():
    intervals = Intervals(1.0, 95)
    intervals.begin(0.0)
    rows = [
        LoadRow("a", count=30, latencies={95: 10.0, MEAN: 5.0}, errors=1),
        LoadRow("b", count=10, latencies={95: 50.0, MEAN: 9.0}),
    ]
    second = intervals.second(rows, 1.0)
    assert (second.tps, second.latency_ms, second.errors, second.seconds) == (40, 20.0, 1, 1)
    assert second.kinds == {"a": KindFigures(30, 1, 5.0, 10.0), "b": KindFigures(10, 0, 9.0, 50.0)}


def test_a_program_that_prints_nothing_while_it_does_nothing_makes_a_longer_sample():
    intervals = Intervals(1.0, None)
    intervals.begin(0.0)
    first, second = intervals.second([LoadRow(count=10)], 1.0), intervals.second([LoadRow(count=10)], 5.0)
    assert (first.tps, first.seconds, second.tps, second.seconds) == (10, 1, 2.5, 4)
    assert intervals.missing == 0


def test_lines_at_the_very_start_or_out_of_a_buffer_are_of_one_interval_each():
    intervals = Intervals(2.0, None)
    intervals.begin(0.0)
    seconds = [intervals.second([LoadRow(count=10)], arrived) for arrived in (0.01, 2.0, 6.0, 6.0, 6.01)]
    assert [(second.tps, second.seconds) for second in seconds] == [(5, 2), (10 / 1.99, 2), (2.5, 4), (5, 2), (5, 2)]


def test_a_rate_says_nothing_of_a_gap():
    intervals = Intervals(10.0, None, per=60.0)
    intervals.begin(0.0)
    intervals.second([LoadRow(rate=600)], 10.0)
    second = intervals.second([LoadRow(rate=600)], 40.0)
    assert (second.tps, second.seconds, intervals.missing) == (10, 10, 20)


def test_totals_since_the_start_are_subtracted_by_kind():
    intervals = Intervals(1.0, None, cumulative=True)
    assert intervals.second([LoadRow("a", time=1, count=5)], 0.0) is None
    second = intervals.second([LoadRow("a", time=3, count=15, errors=2), LoadRow("b", time=3, count=4)], 0.0)
    assert (second.tps, second.errors, second.seconds) == (7, 1, 2)


def test_errors_that_are_printed_apart_are_those_of_their_kind():
    intervals = Intervals(1.0, 95)
    intervals.begin(0.0)
    rows = [LoadRow("a", count=30, latencies={95: 10.0, MEAN: 5.0}), LoadRow("a", errors=4), LoadRow("b", errors=2)]
    second = intervals.second(rows, 1.0)
    assert (second.tps, second.latency_ms, second.errors) == (30, 10.0, 6)
    assert second.kinds == {"a": KindFigures(30, 4, 5.0, 10.0), "b": KindFigures(0, 2, None, None)}
    assert intervals.second([LoadRow("a", errors=9)], 2.0).tps == 0


def test_errors_that_are_printed_alone_are_no_sample_and_those_of_the_next_one():
    intervals = Intervals(1.0, None)
    intervals.begin(0.0)
    assert intervals.second([LoadRow(errors=3)], 0.5) is None
    assert intervals.second([LoadRow(errors=1)], 0.6) is None
    seconds = [intervals.second([LoadRow(rate=100)], 1.0), intervals.second([LoadRow(rate=100)], 2.0)]
    assert [(second.tps, second.errors, second.seconds) for second in seconds] == [(100, 4, 1), (100, 0, 1)]


def test_totals_of_errors_that_are_printed_apart_are_subtracted_and_stay_where_none_is_printed():
    intervals = Intervals(1.0, None, cumulative=True)
    groups = [[LoadRow(time=1, count=10), LoadRow(errors=2)], [LoadRow(errors=5)], [LoadRow(time=2, count=30)]]
    groups += [[LoadRow(time=3, count=40)], [LoadRow(errors=6), LoadRow(time=4, count=60)]]
    seconds = filter(None, (intervals.second(group, 0.0) for group in groups))
    assert [(second.tps, second.errors) for second in seconds] == [(20, 3), (10, 0), (20, 1)]


@given(st.lists(st.tuples(st.integers(0, 1000), st.integers(1, 5)), min_size=1, max_size=50))
def test_transactions_are_neither_lost_nor_made(counts):
    """At a clock without jitter, samples hold exactly what the program counted, whatever gaps it had."""
    intervals, now, total = Intervals(1.0, None), 0.0, 0.0
    intervals.begin(now)
    for count, seconds in counts:
        now += seconds
        sample = intervals.second([LoadRow(count=count)], now)
        total += sample.tps * sample.seconds
    assert total == pytest.approx(sum(count for count, _ in counts))
