import pytest
from hypothesis import given
from hypothesis import strategies as st

from dialin.workloads.dialin_load_lines import quantile
from fixtures.histograms import encoded


@given(st.lists(st.integers(0, 36_000_000_000), min_size=1, max_size=200), st.integers(1, 100))
def test_a_quantile_is_the_value_of_that_rank_to_three_digits(values, percent):
    rank = max(1, -(-percent * len(values) // 100))
    wanted = sorted(values)[rank - 1]
    found = quantile(encoded(values), percent / 100)
    assert wanted <= found <= wanted * 1.001


def test_a_histogram_without_values_has_no_quantile():
    assert quantile(encoded([]), 0.5) is None


def test_many_equal_values_are_read_as_what_they_are():
    assert quantile(encoded([1000] * 99_999 + [2000]), 0.99) == 1000
    assert quantile(encoded([1000] * 99_999 + [2000]), 1.0) == 2000


@pytest.mark.parametrize(
    "text",
    ["", "?", "SElTVA==", encoded([5])[:20], encoded([5], cookie=7), encoded([5], digits=9)],
)
def test_text_that_is_no_histogram_is_refused(text):
    with pytest.raises(ValueError, match=r"is no histogram|of another kind"):
        quantile(text, 0.5)
