"""Variables of which one can be no more than another: in what order both are set, and what to know where one is set alone."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from dialin.apply.option_file import Change
from dialin.model.setting import as_number

LIMITS = {
    "innodb_io_capacity": "innodb_io_capacity_max",
    "innodb_max_dirty_pages_pct_lwm": "innodb_max_dirty_pages_pct",
}
"""The limited variable, and its limit. What does not fit MySQL cuts; MariaDB raises `innodb_io_capacity_max` instead."""


def ordered(changed: Sequence[Change]) -> list[Change]:
    """Return changes in an order in which no value is cut to a limit that is about to be moved out of its way."""
    items = list(changed)
    names = [item.name for item in items]
    for limited, limit in LIMITS.items():
        if limited not in names or limit not in names:
            continue
        low, high = names.index(limited), names.index(limit)
        value, before = (None if each is None else as_number(each) for each in (items[high].value, items[high].before))
        is_raised = value is None or before is None or value >= before
        if is_raised == (low < high):
            items[low], items[high] = items[high], items[low]
            names = [item.name for item in items]
    return items


def together(names: Sequence[str]) -> list[str]:
    """Return names with those that they limit or that limit them, each once."""
    pairs = [pair for pair in LIMITS.items() if not set(pair).isdisjoint(names)]
    return list(dict.fromkeys([*names, *(name for pair in pairs for name in pair)]))


def alone(name: str, names: Collection[str]) -> str:
    """Return what to know of a variable that is set while its limit, or what it limits, is not; else nothing."""
    for limited, limit in LIMITS.items():
        if name in (limited, limit) and not {limited, limit} <= set(names):
            other, is_in_the_way, move = (limit, "lower", "raise") if name == limited else (limited, "higher", "lower")
            return (
                f"{name}: where {other} of your server is {is_in_the_way}, {move} that first; "
                "else the server cuts the one or moves the other."
            )
    return ""
