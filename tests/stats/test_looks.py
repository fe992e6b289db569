import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dialin.stats.looks import allowance, is_look

ALPHA = 0.05


def allowances(*budgets):
    """The allowances of all looks of a study whose budget holds so many blocks, and was then extended to so many."""
    given = []
    for before, end in zip((0, *budgets), budgets, strict=False):
        for blocks in range(before + 1, end + 1):
            if is_look(blocks) or blocks == end:
                given.append(allowance(sum(given), ALPHA, blocks / end, last=blocks == end))
    return given


def test_looks_come_after_three_blocks_and_then_ever_more_rarely():
    assert [blocks for blocks in range(-1, 130) if is_look(blocks)] == [3, 4, 6, 8, 12, 16, 24, 32, 48, 64, 96, 128]


def test_a_budget_that_holds_one_look_spends_most_of_the_error_on_it():
    assert allowances(3) == [pytest.approx(0.8 * ALPHA)]


@pytest.mark.parametrize(("blocks", "share"), [(4, 0.5), (5, 0.4), (6, 0.5), (7, 0.35), (9, 0.3), (12, 0.4), (24, 0.35)])
def test_the_last_look_of_a_budget_may_make_a_good_part_of_the_error(blocks, share):
    *earlier, last = allowances(blocks)
    assert last > share * ALPHA
    assert last > max(earlier)


def test_a_long_budget_spends_a_tenth_of_what_is_left_at_each_early_look():
    first, second, *_ = allowances(192)
    assert first == pytest.approx(ALPHA / 10)
    assert second == pytest.approx((ALPHA - first) / 10)


def test_looks_near_the_end_may_make_more_than_early_ones():
    assert allowance(0, ALPHA, 0.5, last=False) == pytest.approx(ALPHA / 8)
    assert allowance(0, ALPHA, 1, last=False) == pytest.approx(ALPHA / 2)


def test_a_budget_that_held_more_blocks_than_planned_counts_as_full():
    assert allowance(0, ALPHA, 1.4, last=False) == allowance(0, ALPHA, 1, last=False)


def test_an_extension_spends_of_what_is_left_and_leaves_the_past_alone():
    before, after = allowances(6), allowances(6, 12)
    assert after[: len(before)] == before
    assert len(after) == len(before) + 2
    assert sum(after[len(before) :]) < ALPHA - sum(before)


@given(st.lists(st.tuples(st.floats(min_value=0.001, max_value=3), st.booleans()), max_size=200))
def test_however_many_looks_and_extensions_there_are_the_error_stays_within_what_is_allowed(looks):
    spent = 0.0
    for share, last in looks:
        one = allowance(spent, ALPHA, share, last=last)
        assert one >= 0
        spent += one
    assert spent <= ALPHA + 1e-6


@pytest.mark.parametrize(
    ("spent", "alpha", "share"),
    [
        (0.0, 0.0, 0.5),
        (0.0, 1.0, 0.5),
        (0.0, math.nan, 0.5),
        (-0.01, 0.05, 0.5),
        (0.06, 0.05, 0.5),
        (math.nan, 0.05, 0.5),
        (0.0, 0.05, 0.0),
        (0.0, 0.05, -1.0),
        (0.0, 0.05, math.nan),
    ],
)
@pytest.mark.parametrize("last", [True, False])
def test_nonsense_is_refused(spent, alpha, share, last):
    with pytest.raises(ValueError, match=r"alpha|share"):
        allowance(spent, alpha, share, last=last)
