"""How a replay differs from its capture: what the figures are called, and its fidelity in a sentence."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from dialin.model.workload import LoadLimit
from dialin.text import percent

SHARES = {
    "replay_not_captured": "statements that the server counted, and the capture does not have",
    "replay_left_out": "captured statements that cannot be replayed",
    "replay_new_errors": "statements that failed, and did not in the capture",
    "replay_missing_errors": "statements that failed in the capture only",
    "replay_other_rows": "queries with another number of rows",
    "replay_time_elsewhere": "time of statements that other digests take than in the capture",
    "replay_late": "transactions that began more than 5 ms late",
}
"""The shares by which a replay differs, by the name of the driver's figure."""

COUNTS = {
    "replay_waited": "transactions that waited for the captured order",
    "replay_waited_s": "seconds that these waited, together",
    "replay_repaired": "transactions rolled back as in the capture",
    "replay_again": "transactions played again after a deadlock or lock wait timeout",
}


def worst_share(shares: Mapping[str, float], limits: Sequence[LoadLimit]) -> tuple[str, bool]:
    """Return the share that is worst by its limit, and whether all are within theirs."""
    most = {limit.gauge: limit.most for limit in limits}
    worst = max(shares, key=lambda name: shares[name] / most.get(name, 1.0))
    return worst, all(share <= most.get(name, 1.0) for name, share in shares.items())


def fidelity(shares: Mapping[str, float], limits: Sequence[LoadLimit], where: str) -> str:
    """Return the fidelity of a replay in a sentence or two, with its worst part; `where` it was measured."""
    worst, is_captured = worst_share(shares, limits)
    part = f"; the worst part: {SHARES[worst]} ({percent(shares[worst])})" if shares[worst] else ""
    verdict = "" if is_captured else " This is not the captured load: see the figures beyond their limit."
    return f"Fidelity of the replay: {percent(1 - max(shares.values()))}{where}{part}.{verdict}"
