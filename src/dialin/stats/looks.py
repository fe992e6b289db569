"""When a study looks at its data, and what error each look is allowed."""

from __future__ import annotations

_FIRST = 3
_AT_THE_END = 0.8
"""The share of the error still unspent that the last look of a budget may make; the rest is kept for an extension."""
_AT_LEAST = 0.1
"""The share that any earlier look may make."""
_LEAST = 1e-9
"""No look is allowed less: SciPy's studentized range loses its footing below. A dozen extensions are needed to come here."""


def is_look(blocks: int) -> bool:
    """Tell whether the data is looked at after so many complete blocks: 3, 4, 6, 8, 12, 16, 24, 32 and so on."""
    if blocks < _FIRST:
        return False
    odd = blocks // (blocks & -blocks)
    return odd in (1, 3)


def allowance(spent: float, alpha: float, share: float, *, last: bool) -> float:
    """Return the error that a look may make, out of what earlier looks have left.

    The last look of a budget may make 0.8 of it; an earlier one half the square of the share of the budget that is over, and a
    tenth at least. Over any number of looks and of extended budgets this sums to no more than alpha, so what is claimed at any
    of them holds at alpha in all.

    Args:
        spent: the sum of the allowances of all earlier looks of the study.
        alpha: the error that the whole study may make, e.g. 0.05.
        share: how much of the whole budget is over, such as blocks so far over the blocks it is planned to hold; more than 1
            counts as 1.
        last: whether the budget is over.

    Raises:
        ValueError: alpha does not lie between 0 and 1, spent not between 0 and alpha, or the share is not positive.
    """
    if not 0 < alpha < 1:
        raise ValueError("alpha lies between 0 and 1")
    if not 0 <= spent <= alpha + 1e-6:
        raise ValueError("what is spent lies between 0 and alpha")
    if not share > 0:
        raise ValueError("a look comes after some share of the budget")
    return max(_LEAST, (alpha - spent) * (_AT_THE_END if last else max(_AT_LEAST, min(share, 1) ** 2 / 2)))
