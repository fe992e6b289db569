"""Pairs of variables of which one limits the other: the order to set both in, and a note where only one of them is set."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from dialin.apply.option_file import Change
from dialin.model.setting import as_number
from dialin.variables.behaviour import LIMITS

PAIRS = {name: limit.by for name, limit in LIMITS.items() if limit.is_kept}
"""Each variable whose value the server fits to another's, with that other one."""


def safe_order(changed: Sequence[Change]) -> list[Change]:
    """Return changes in an order in which the server cuts no value: a limit is raised first, or lowered last."""
    items = list(changed)
    names = [item.name for item in items]
    for limited, limit in PAIRS.items():
        if limited not in names or limit not in names:
            continue
        low, high = names.index(limited), names.index(limit)
        value, before = (None if each is None else as_number(each) for each in (items[high].value, items[high].before))
        is_raised = value is None or before is None or value >= before
        if is_raised == (low < high):
            items[low], items[high] = items[high], items[low]
            names = [item.name for item in items]
    return items


def with_partners(names: Sequence[str]) -> list[str]:
    """Return the names, and those of the variables that limit them or that they limit, each once."""
    pairs = [pair for pair in PAIRS.items() if not set(pair).isdisjoint(names)]
    return list(dict.fromkeys([*names, *(name for pair in pairs for name in pair)]))


def missing_partner_note(name: str, names: Collection[str]) -> str:
    """Return a note on a variable that is set without the other one of its pair; empty where there is nothing to note."""
    for limited, limit in PAIRS.items():
        if name in (limited, limit) and not {limited, limit} <= set(names):
            other, comparison, verb = (limit, "lower", "raise") if name == limited else (limited, "higher", "lower")
            return (
                f"{name}: if {other} on your server is {comparison}, {verb} it first; "
                "otherwise the server changes one of the two to fit the other."
            )
    return ""
