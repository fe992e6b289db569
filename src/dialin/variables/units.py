"""Sizes as people read them: the letters of option files for values, GiB for amounts of memory."""

from __future__ import annotations

_LETTERS = "KMGTPE"
_CLOSE = 64 * 1024
_LARGE = 2**30


def with_letter(number: float) -> str:
    """Return a value as an option file would write it: 5242880 as `5M`, 2415919104 as `2304M`.

    A limit that falls a little short of a power of two, as a server's maxima do, reads `just under 8E`; what no letter fits is
    returned as it is.
    """
    if not isinstance(number, int):
        return f"{number:g}"
    power = 1 << number.bit_length()
    if number >= _LARGE and power - number <= _CLOSE:
        return f"just under {_whole(power)}"
    return _whole(number)


def about(size: float) -> str:
    """Return an amount of memory in words: `23 GiB`, `1.5 GiB`, `300 MiB`."""
    unit, name = (2**30, "GiB") if size >= 2**30 else (2**20, "MiB")
    amount = size / unit
    return f"{amount:.0f} {name}" if amount >= 10 or amount == int(amount) else f"{amount:.1f} {name}"


def _whole(number: int) -> str:
    power = 0
    while number and number % 1024 == 0 and power < len(_LETTERS):
        number //= 1024
        power += 1
    return f"{number}{_LETTERS[power - 1]}" if power else str(number)
