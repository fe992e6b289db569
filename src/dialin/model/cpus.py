"""CPUs as people write them: a list, `0-3,8`, or the time of some, `1.5`, which is told from a list by its point."""

from __future__ import annotations

import re

_PART = re.compile(r"\s*([0-9]{1,5})\s*(?:-\s*([0-9]{1,5})\s*)?")
"""A CPU, or the first and the last of several; a kernel has fewer than 100,000."""

_TIME = re.compile(r"\s*([0-9]{1,5}\.[0-9]{1,3})\s*")
_LEAST_TIME = 0.01
"""The least CPU time that the kernel allots: 1 ms of a period of 100 ms."""


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


def cpu_time(cpus: str) -> float | None:
    """Return the CPUs' time that a text such as `1.5` allots, None where it lists CPUs; raise ValueError for too little."""
    match = _TIME.fullmatch(cpus)
    if match is None:
        return None
    if (time := float(match[1])) < _LEAST_TIME:
        raise ValueError(f"{cpus!r} is less than {_LEAST_TIME:g} CPUs")
    return time


def count_cpus(cpus: str) -> float:
    """Return how many CPUs' time a list of CPUs or a text such as `1.5` allots; raise ValueError for other text."""
    time = cpu_time(cpus)
    return len(parse_cpus(cpus)) if time is None else time
