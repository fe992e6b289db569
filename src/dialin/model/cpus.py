"""Lists of CPUs as people write them: `0-3,8`."""

from __future__ import annotations


def parse_cpus(cpus: str) -> frozenset[int]:
    """Read a list of CPUs such as `0-3,8`; raise ValueError for other text."""
    numbers: set[int] = set()
    for part in cpus.split(","):
        first, dash, last = part.partition("-")
        if not first.strip().isdigit() or (last and not last.strip().isdigit()) or (dash and not last):
            raise ValueError(f"{cpus!r} is not a list of CPUs such as 0-3,8")
        numbers.update(range(int(first), int(last or first) + 1))
    if not numbers:
        raise ValueError(f"{cpus!r} names no CPU")
    return frozenset(numbers)
