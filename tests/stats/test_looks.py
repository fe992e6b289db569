import pytest

from dialin.stats.looks import allowance, is_look


def test_looks_come_after_three_blocks_and_then_ever_more_rarely():
    assert [blocks for blocks in range(-1, 130) if is_look(blocks)] == [3, 4, 6, 8, 12, 16, 24, 32, 48, 64, 96, 128]


@pytest.mark.parametrize("looks", [1, 2, 10, 10_000])
def test_however_many_looks_are_taken_the_error_stays_within_what_is_allowed(looks):
    assert sum(allowance(number, 0.05) for number in range(1, looks + 1)) < 0.05


def test_nearly_all_of_the_allowed_error_is_used_and_half_of_it_at_the_first_look():
    assert allowance(1, 0.05) == pytest.approx(0.025)
    assert sum(allowance(number, 0.05) for number in range(1, 1001)) > 0.0499


def test_a_look_before_the_first_is_refused():
    with pytest.raises(ValueError, match="from 1"):
        allowance(0, 0.05)
