from hypothesis import given
from hypothesis import strategies as st

from dialin.report.thin import thin


@given(st.lists(st.floats(0, 1e6)), st.integers(2, 60))
def test_thinning_keeps_the_extremes_the_order_and_the_limit(values, most):
    kept = thin(values, most)
    assert len(kept) <= max(most, 0) or len(kept) == len(values)
    assert len(kept) <= most or len(values) <= most
    assert kept == sorted(set(kept))
    if values:
        drawn = [values[index] for index in kept]
        assert (min(drawn), max(drawn)) == (min(values), max(values))


def test_a_single_stalled_second_of_ten_thousand_is_still_drawn():
    values = [1000.0] * 10_000
    values[7321] = 3.0
    assert 7321 in thin(values, 500)


def test_a_short_series_is_left_as_it_is():
    assert thin([5, 4, 3], 3) == [0, 1, 2]
