from hypothesis import given
from hypothesis import strategies as st

from dialin.report.charts.plotly_data import thin


@given(st.lists(st.floats(0, 1e6)), st.integers(2, 60))
def test_thinning_keeps_the_extremes_the_order_and_the_limit(values, most):
    kept = thin(values, most)
    assert len(kept) <= most or len(values) <= most
    assert kept == sorted(set(kept))
    if values:
        drawn = [values[index] for index in kept]
        assert (min(drawn), max(drawn)) == (min(values), max(values))


def test_a_single_stalled_second_of_ten_thousand_is_still_drawn():
    values = [1000.0] * 10_000
    values[7321] = 3.0
    assert 7321 in thin(values, 500)


def test_a_stall_beside_a_peak_is_drawn_as_well_as_the_peak():
    values = [1000.0 + index % 3 for index in range(10_000)]
    values[5000], values[5001] = 9_000.0, 2.0
    assert {5000, 5001} <= set(thin(values, 400))


def test_each_stretch_keeps_its_own_lowest_and_highest():
    values = [float(index * 7919 % 1009) for index in range(6_000)]
    kept = thin(values, 60)
    for begin in range(0, 6_000, 200):
        own = values[begin : begin + 200]
        drawn = [values[index] for index in kept if begin <= index < begin + 200]
        assert (min(drawn), max(drawn)) == (min(own), max(own))


def test_a_short_series_is_left_as_it_is():
    assert thin([5, 4, 3], 3) == [0, 1, 2]
    assert thin([5, 4, 3], 3, is_smooth=True) == [0, 1, 2]


@given(st.lists(st.floats(0, 1e6), min_size=1), st.integers(3, 60))
def test_thinning_a_smooth_line_keeps_its_ends_the_order_and_the_limit(values, most):
    kept = thin(values, most, is_smooth=True)
    assert len(kept) <= max(most, len(values) if len(values) <= most else most)
    assert kept == sorted(set(kept))
    assert (kept[0], kept[-1]) == (0, len(values) - 1)
