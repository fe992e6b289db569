import math

import pytest
import scipy.stats
from hypothesis import given, settings
from hypothesis import strategies as st

from dialin.stats.blocks import t_quantile, tukey_quantile


@pytest.mark.parametrize(("dof", "alpha"), [(1, 0.05), (7, 0.01), (120, 1e-6)])
def test_a_single_difference_has_students_quantile(dof, alpha):
    assert t_quantile(dof, alpha) == pytest.approx(scipy.stats.t.isf(alpha / 2, dof))


@pytest.mark.parametrize("candidates", [3, 16])
@pytest.mark.parametrize(("dof", "alpha"), [(2, 0.05), (6, 0.01), (200, 0.001)])
def test_several_candidates_have_the_quantile_of_the_studentized_range(candidates, dof, alpha):
    expected = float(scipy.stats.studentized_range.isf(alpha, candidates, dof)) / math.sqrt(2)
    assert tukey_quantile(candidates, dof, alpha) == pytest.approx(expected, rel=1e-6)


@pytest.mark.parametrize(("candidates", "dof", "published"), [(3, 10, 3.88), (5, 20, 4.23), (10, 60, 4.65), (20, 120, 5.13)])
def test_the_quantiles_are_those_of_the_printed_tables(candidates, dof, published):
    assert math.sqrt(2) * tukey_quantile(candidates, dof, 0.05) == pytest.approx(published, abs=0.005)


@pytest.mark.parametrize("dof", [2, 7, 300])
@pytest.mark.parametrize("alpha", [0.3, 0.05, 1e-3])
def test_two_candidates_have_students_quantile(dof, alpha):
    assert tukey_quantile(2, dof, alpha) == pytest.approx(scipy.stats.t.isf(alpha / 2, dof), rel=1e-6)


@settings(max_examples=40)
@given(st.integers(2, 64), st.integers(1, 5000), st.floats(-9, -0.4))
def test_it_lies_between_that_of_one_difference_and_bonferronis_for_all(candidates, dof, power):
    alpha = 10**power
    result = tukey_quantile(candidates, dof, alpha)
    pairs = candidates * (candidates - 1) / 2
    assert 0.9 * t_quantile(dof, alpha) <= result <= 1.1 * t_quantile(dof, alpha / pairs)


@pytest.mark.parametrize("dof", [1, 63, 4000])
def test_the_most_candidates_at_the_smallest_error_have_a_quantile(dof):
    assert tukey_quantile(64, dof, 1e-9) > tukey_quantile(64, dof, 1e-6)


def test_less_error_more_candidates_and_fewer_degrees_of_freedom_reach_further():
    assert tukey_quantile(5, 12, 0.001) > tukey_quantile(5, 12, 0.05)
    assert tukey_quantile(9, 12, 0.05) > tukey_quantile(5, 12, 0.05)
    assert tukey_quantile(5, 4, 0.05) > tukey_quantile(5, 12, 0.05)
