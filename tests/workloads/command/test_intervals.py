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


def samples(intervals, reports):
    """The samples of reports, each with when it arrived."""
    intervals.begin(0.0)
    return [second for rows, arrived in reports if (second := intervals.second(rows, arrived)) is not None]


def transactions_per_second(seconds, passed):
    return sum(second.tps * second.seconds for second in seconds) / passed


def test_lines_that_wait_in_a_buffer_are_not_counted_over_more_time_than_passed():
    intervals = Intervals(1.0, None)
    seconds = samples(intervals, [([LoadRow(count=10)], 5.0 + 5 * (number // 5)) for number in range(100)])
    late = seconds[5:]  # only the first report may be after a gap
    assert [(second.tps, second.seconds) for second in late] == [(10, 1)] * len(late)
    assert not intervals.is_too_long


@pytest.mark.parametrize("figure", ["count", "rate"])
def test_a_program_that_reports_more_often_than_its_file_says_is_noticed(figure):
    intervals = Intervals(10.0, None)
    samples(intervals, [([LoadRow(**{figure: 10})], at) for at in range(1, 8)])
    assert intervals.is_too_long


def test_a_program_that_reports_less_often_than_its_file_says_is_noticed():
    intervals = Intervals(1.0, None)
    seconds = samples(intervals, [([LoadRow(count=100)], 10.0 * at) for at in range(1, 8)])
    assert intervals.usual == 10
    assert {(second.tps, second.seconds) for second in seconds} == {(10, 10)}


def test_kinds_that_are_printed_apart_without_a_time_are_of_one_interval():
    intervals = Intervals(1.0, None)
    reports = [([LoadRow(kind, count=10)], at + late) for at in range(1, 20) for kind, late in (("a", 0.0), ("b", 0.4))]
    seconds = samples(intervals, reports)[1:]
    assert {round(second.tps, 6) for second in seconds} == {20}
    assert seconds[-1].kinds.keys() == {"a", "b"}
    assert not intervals.is_too_long


@pytest.mark.parametrize("cumulative", [False, True])
def test_times_in_whole_seconds_of_shorter_intervals_lose_no_transaction(cumulative):
    intervals = Intervals(0.5, None, cumulative=cumulative)
    counts = [10 * (number if cumulative else 1) for number in range(1, 41)]
    reports = [([LoadRow(time=number // 2, count=count)], number / 2) for number, count in enumerate(counts, 1)]
    assert {second.tps for second in samples(intervals, reports)[1:]} == {20}


def test_totals_that_are_printed_twice_at_one_time_are_neither_lost_nor_counted_twice():
    intervals = Intervals(1.0, None, cumulative=True)
    stamps = [(1, 10, 1.0), (2, 20, 2.0), (2, 20, 2.01), (3, 30, 3.0)]
    seconds = samples(intervals, [([LoadRow(time=time, count=count)], at) for time, count, at in stamps])
    assert [second.tps for second in seconds] == [10, 10]


@pytest.mark.parametrize("jump", [-86_399, -3600, 3600, 30])
def test_a_clock_that_is_set_or_begins_again_at_midnight_makes_no_gap(jump):
    intervals = Intervals(1.0, None)
    reports = [([LoadRow(time=90_000 + at + (jump if at > 5 else 0), count=10)], float(at)) for at in range(1, 10)]
    assert [(second.tps, second.seconds) for second in samples(intervals, reports)] == [(10, 1)] * 9


def test_a_time_that_stands_still_is_no_time():
    intervals = Intervals(1.0, None)
    seconds = samples(intervals, [([LoadRow(time=7, count=10)], float(at)) for at in range(1, 20)])
    assert transactions_per_second(seconds, 19) == pytest.approx(10)


def test_totals_that_begin_again_are_a_gap_and_no_zero():
    intervals = Intervals(1.0, None, cumulative=True)
    totals = [10, 20, 30, 4, 14, 24]
    seconds = samples(intervals, [([LoadRow(count=count)], float(at)) for at, count in enumerate(totals, 1)])
    assert ([second.tps for second in seconds], intervals.falls, intervals.missing) == ([10] * 4, 1, 1)


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
