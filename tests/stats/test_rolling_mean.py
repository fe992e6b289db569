import pytest
from hypothesis import given
from hypothesis import strategies as st

from dialin.stats.summaries import rolling, window_of


@pytest.mark.parametrize(
    ("lengths", "window"), [([60, 60], 5), ([300], 30), ([10_000], 60), ([30], None), ([], None), ([0, 60], 5), ([60, 300], 5)]
)
def test_the_window_is_a_small_part_of_the_shortest_trial(lengths, window):
    assert window_of(lengths) == window


@given(st.lists(st.floats(0, 1e6), min_size=1), st.sampled_from([5, 15, 31]))
def test_a_rolling_mean_lies_between_the_extremes_and_has_a_value_for_each(values, window):
    means = rolling(values, window)
    assert len(means) == len(values)
    slack = 1e-6 * max(values) + 1e-9
    assert all(min(values) - slack <= mean <= max(values) + slack for mean in means)


def test_a_rolling_mean_is_that_of_the_seconds_around():
    assert rolling([0, 0, 10, 0, 0], 5)[2] == pytest.approx(2.0)
    assert rolling([10, 0, 0, 0, 0], 5)[0] == pytest.approx(10 / 3)
