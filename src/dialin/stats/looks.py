"""When a study looks at its data, and what error each look is allowed."""

from __future__ import annotations

_FIRST = 3


def is_look(blocks: int) -> bool:
    """Tell whether the data is looked at after so many complete blocks: 3, 4, 6, 8, 12, 16, 24, 32 and so on."""
    if blocks < _FIRST:
        return False
    odd = blocks // (blocks & -blocks)
    return odd in (1, 3)


def allowance(number: int, alpha: float) -> float:
    """Return the error that a look may make: alpha / (n (n + 1)) for the n-th look that is taken.

    Over any number of looks this sums to less than alpha, so what is claimed at any of them holds at alpha in all.

    Args:
        number: which look this is, counted from 1; only looks that were taken count.
        alpha: the error that the whole study may make, e.g. 0.05.

    Raises:
        ValueError: the number is less than 1.
    """
    if number < 1:
        raise ValueError("looks are counted from 1")
    return alpha / (number * (number + 1))
