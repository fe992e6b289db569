import pytest

from dialin.stats.time_steps import TimeSteps, gauges, lowest, means, rates, time_steps


@pytest.mark.parametrize(
    ("span", "most", "length", "count"),
    [(60, 240, 1, 60), (300, 240, 2, 150), (10_000, 240, 60, 167), (0, 240, 1, 1), (240, 240, 1, 240)],
)
def test_steps_are_round_and_cover_the_time(span, most, length, count):
    steps = time_steps(1000.0, 1000.0 + span, most)
    assert (steps.begin, steps.length, steps.count) == (1000.0, length, count)
    assert steps.length * steps.count >= span


STEPS = TimeSteps(100.0, 1.0, 6)


def test_a_reading_at_the_end_of_a_second_is_of_that_second():
    assert means([101.0, 102.0, 104.0], [1.0, 2.0, 4.0], STEPS) == [1.0, 2.0, None, 4.0, None, None]
    assert means([100.0, 100.4], [1.0, 3.0], STEPS)[0] == 2.0


def test_points_outside_count_for_nothing():
    assert means([90.0, 99.0, 106.5], [1.0, 2.0, 3.0], STEPS) == [None] * 6


def test_a_rate_holds_since_the_reading_before_it():
    assert rates([102.0, 104.0], [10.0, 30.0], STEPS) == [10.0, 10.0, 30.0, 30.0, None, None]
    assert rates([104.0, 105.0], [10.0, 30.0], STEPS) == [None, None, 10.0, 10.0, 30.0, None]


def test_a_gauge_holds_until_the_next_reading():
    assert gauges([101.0, 104.0], [10.0, 40.0], STEPS) == [10.0, 10.0, 10.0, 40.0, None, None]


def test_the_lowest_of_a_step_is_not_hidden_by_its_mean():
    steps = TimeSteps(100.0, 3.0, 2)
    at, values = [101.0, 102.0, 103.0, 104.0], [900.0, 3.0, 900.0, 800.0]
    assert lowest(at, values, steps) == [3.0, 800.0]
    assert means(at, values, steps) == [601.0, 800.0]


def test_nothing_read_is_nothing_known():
    for of in (means, rates, gauges, lowest):
        assert of([], [], STEPS) == [None] * 6
