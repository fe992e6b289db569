import math
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dialin.stats.looks import FIRST_CUT, FIRST_LOOK, allowance

ALPHA = 0.05

shares = st.floats(min_value=0, max_value=2)


def allowances(*budgets):
    """The allowances of looks after each block, of a study whose budget holds so many blocks and was then extended."""
    given, at = [], 0
    for end in budgets:
        for block in range(max(at + 1, FIRST_LOOK), end + 1):
            given.append(allowance(sum(given), ALPHA, at / end, block / end))
            at = block
    return given


def test_a_study_is_decided_after_three_blocks_at_the_earliest_and_loses_candidates_after_two():
    assert (FIRST_CUT, FIRST_LOOK) == (2, 3)


def test_a_budget_that_holds_one_look_spends_most_of_the_error_on_it():
    assert allowances(3) == [pytest.approx(0.8 * ALPHA)]


@pytest.mark.parametrize("blocks", [3, 4, 6, 12, 100])
def test_a_budgets_looks_may_make_four_fifths_of_the_error_however_many_there_are(blocks):
    assert sum(allowances(blocks)) == pytest.approx(0.8 * ALPHA)


def test_looks_at_equal_distances_may_make_equal_errors():
    first, *rest = allowances(12)
    assert rest == pytest.approx([0.8 * ALPHA / 12] * 9)
    assert first == pytest.approx(3 * rest[0])  # three blocks went by until then


@given(shares, shares, shares)
def test_a_look_in_between_takes_of_the_next_ones_error_and_adds_none(a, b, c):
    before, middle, now = sorted((a, b, c))
    whole = allowance(0, ALPHA, before, now)
    first = allowance(0, ALPHA, before, middle)
    assert first + allowance(first, ALPHA, middle, now) == pytest.approx(whole, abs=1e-8)


def test_a_budget_that_held_more_blocks_than_planned_counts_as_full():
    assert allowance(0, ALPHA, 0.5, 1.4) == allowance(0, ALPHA, 0.5, 1)
    assert allowance(0, ALPHA, 1.2, 1.4) == pytest.approx(0, abs=1e-8)


def test_an_extension_spends_of_what_is_left_and_leaves_the_past_alone():
    before, after = allowances(6), allowances(6, 12)
    assert after[: len(before)] == before
    assert 0 < sum(after[len(before) :]) < ALPHA - sum(before)


@given(st.lists(st.tuples(shares, shares), max_size=200))
def test_however_many_looks_and_extensions_there_are_the_error_stays_within_what_is_allowed(looks):
    spent = 0.0
    for one, other in looks:
        made = allowance(spent, ALPHA, min(one, other), max(one, other))
        assert made > 0
        spent += made
    assert spent <= ALPHA + 1e-6


@given(st.lists(st.floats(min_value=0, max_value=1), max_size=30), st.lists(st.integers(1, 12), min_size=1, max_size=6))
def test_a_study_that_is_extended_again_and_again_never_promises_more_than_it_has(cuts, growth):
    """Each budget is so many times the one before; looks are taken anywhere in it, and at its end."""
    spent, at, budget = 0.0, 0.0, 1.0
    for factor in growth:
        budget *= factor
        moments = sorted({at, *(at + cut * (budget - at) for cut in cuts), budget})
        for before, now in pairwise(moments):
            spent += allowance(spent, ALPHA, before / budget, now / budget)
        at = budget
    assert spent <= ALPHA + 1e-6


@pytest.mark.parametrize(
    ("spent", "alpha", "before", "now"),
    [
        (0.0, 0.0, 0.0, 0.5),
        (0.0, 1.0, 0.0, 0.5),
        (0.0, math.nan, 0.0, 0.5),
        (-0.01, 0.05, 0.0, 0.5),
        (0.06, 0.05, 0.0, 0.5),
        (math.nan, 0.05, 0.0, 0.5),
        (0.0, 0.05, -0.1, 0.5),
        (0.0, 0.05, 0.6, 0.5),
        (0.0, 0.05, 0.1, math.nan),
    ],
)
def test_nonsense_is_refused(spent, alpha, before, now):
    with pytest.raises(ValueError, match=r"alpha|before"):
        allowance(spent, alpha, before, now)
