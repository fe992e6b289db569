"""Lists of CPUs as people write them: `0-3,8`."""

from __future__ import annotations

import re

_PART = re.compile(r"\s*([0-9]{1,5})\s*(?:-\s*([0-9]{1,5})\s*)?")
"""A CPU, or the first and the last of several; a kernel has fewer than 100,000."""


def parse_cpus(cpus: str) -> frozenset[int]:
    """Read a list of CPUs such as `0-3,8`; raise ValueError for other text."""
    numbers: set[int] = set()
    for part in cpus.split(","):
        match = _PART.fullmatch(part)
        if not match:
            raise ValueError(f"{cpus!r} is not a list of CPUs such as 0-3,8")
        numbers.update(range(int(match[1]), int(match[2] or match[1]) + 1))
    if not numbers:
        raise ValueError(f"{cpus!r} names no CPU")
    return frozenset(numbers)
