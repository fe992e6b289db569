"""How a replay differs from its capture: the names of the figures, and the fidelity of the replay in a sentence."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from dialin.model.workload import LoadLimit
from dialin.text import number, percent

SHARES = {
    "replay_not_captured": "statements that the server counted, and the capture does not have",
    "replay_left_out": "captured statements that cannot be replayed",
    "replay_new_errors": "statements that failed, and did not in the capture",
    "replay_missing_errors": "statements that failed in the capture only",
    "replay_other_rows": "queries with another number of rows",
    "replay_time_elsewhere": "time of statements that other digests take than in the capture",
    "replay_waiting": "time of connections that waited for the captured order",
    "replay_late": "transactions that began more than 5 ms late",
}
"""The shares by which a replay differs, by the name of the driver's figure."""

RATIOS = {
    "replay_rows_examined": "rows examined per transaction",
    "replay_page_misses": "pages per transaction that the buffer pool lacked",
    "replay_lock_waits": "waits for row locks per transaction",
    "replay_disk_tables": "temporary tables on disk per transaction",
    "replay_threads_running": "threads running",
}
"""What is compared as a ratio to the capture, by the name of the driver's figure."""

CAUSES = {
    "replay_not_captured": "the log lacks sessions or statements",
    "replay_left_out": "dialin capture show says why",
    "replay_new_errors": "the data may not be those from before the capture",
    "replay_other_rows": "the data may not be those from before the capture",
    "replay_time_elsewhere": "other data, memory or hardware",
    "replay_waiting": "the server is used less than it was",
    "replay_late": "the server or this machine does not keep up; use a lower --pace",
    "replay_rows_examined": "other data, indexes or execution plans",
    "replay_page_misses": "another innodb_buffer_pool_size, or a warm-up that is too short",
    "replay_lock_waits": "transactions overlap more or less than they did",
    "replay_disk_tables": "other variables, data or version",
    "replay_threads_running": "a faster or slower server than the captured one",
}
"""Why a figure may be beyond its limit, or what that means."""

COUNTS = {
    "replay_waited": "transactions that waited for the captured order",
    "replay_waited_s": "seconds that these waited, together",
    "replay_repaired": "transactions rolled back as in the capture",
    "replay_again": "transactions replayed again after a deadlock or lock wait timeout",
    "replay_prepared": "statements prepared as in the capture",
    "replay_prepared_as_text": "statements that were prepared in the capture, and are sent as text",
    "replay_begins_added": "transactions that begin with a BEGIN that the log lacks",
}


@dataclass(frozen=True, slots=True)
class ReplayPart:
    """One way in which a replay may differ: a share, or a ratio to the capture."""

    limit: LoadLimit
    figure: float

    @property
    def name(self) -> str:
        return SHARES.get(self.limit.gauge) or RATIOS[self.limit.gauge]

    @property
    def cause(self) -> str:
        """Why the figure may be beyond its limit, or what that means; empty if there is nothing to say."""
        return CAUSES.get(self.limit.gauge, "")

    @property
    def distance(self) -> float:
        return self.limit.distance(self.figure)

    @property
    def is_exceeded(self) -> bool:
        return self.limit.is_exceeded(self.figure)

    @property
    def shown(self) -> str:
        return times(self.figure) if self.limit.is_ratio else percent(self.figure)

    @property
    def limit_shown(self) -> str:
        most = self.limit.most
        return f"{number(1 - most)} to {times(1 / (1 - most))}" if self.limit.is_ratio else percent(most)


def replay_parts(figures: Mapping[str, float], limits: Sequence[LoadLimit]) -> list[ReplayPart]:
    """Return the ways in which a replay may differ for which the driver has a figure; `figures` are the driver's."""
    return [ReplayPart(limit, figures[limit.gauge]) for limit in limits if limit.gauge in figures]


def times(ratio: float) -> str:
    """Return a ratio to the capture: `× 1.25`."""
    return f"× {number(ratio)}"


def fidelity(parts: Sequence[ReplayPart], where: str) -> str:
    """Return the fidelity of a replay in a sentence or two: that of the part that is worst relative to its limit.

    `where` says where it was measured. The fidelity is 100 % less the share, or for a ratio less its distance from 1.
    """
    worst = max(parts, key=lambda part: part.distance / part.limit.most)
    worst_part = f"; the worst part: {worst.name} ({worst.shown})" if worst.distance else ""
    is_beyond = any(part.is_exceeded for part in parts)
    verdict = " This is not the captured load: see the figures beyond their limit." if is_beyond else ""
    return f"Fidelity of the replay: {percent(1 - worst.distance)}{where}{worst_part}.{verdict}"
