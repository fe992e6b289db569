"""Every rule there is, for the table in the docs."""

from __future__ import annotations

from dialin.evidence.reasons import (
    limits_hit,
    machine_rules,
    raw_wait_reasons,
    server_rules,
    sources,
    unused_capacity,
    wait_rules,
)
from dialin.model.why import ReasonKind


def every() -> list[tuple[str, ReasonKind, str, str]]:
    """Return the code, kind, figure and source of each rule."""
    fixed = [*server_rules.RULES, *machine_rules.RULES]
    return [
        *((rule.code, ReasonKind.MOVED, f"{rule.name}, {rule.unit}", rule.source) for rule in fixed),
        *((code, ReasonKind.MOVED, what, source) for code, (what, source) in wait_rules.KINDS.items()),
        (raw_wait_reasons.CODE, ReasonKind.RAW, "raw waits of an instrument, s a second", sources.WAIT_HISTORY),
        *(
            (one.code, ReasonKind.UNUSED, f"{one.name}, {one.unit} used at the most", one.source)
            for one in unused_capacity.CAPACITIES
        ),
        *((one.code, ReasonKind.LIMIT, f"{one.name}, {one.unit}", one.source) for one in limits_hit.LIMITS),
    ]
