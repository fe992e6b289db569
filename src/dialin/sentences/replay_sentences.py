"""How a replay differs from its capture: the names of the figures, and the fidelity of the replay in a sentence."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from dialin.model.workload import LoadLimit
from dialin.text import number, percent

WORK: Mapping[str, str] = {
    "replay_not_captured": "statements that the server counted, and the capture does not have",
    "replay_left_out": "captured statements that cannot be replayed",
    "replay_new_errors": "statements that failed, and did not in the capture",
    "replay_missing_errors": "statements that failed in the capture only",
    "replay_other_rows": "queries with another number of rows",
    "replay_other_changes": "changes of another number of rows",
    "replay_out_of_order": "transactions that no longer waited for the captured order",
}
"""What the load did, other than the captured one: shares, by the name of the driver's figure."""

TIMING = {
    "replay_late": "transactions that began more than 5 ms late",
    "replay_waiting": "time of connections that waited for the captured order",
}
"""When it did it: shares."""

SHARES = {
    **WORK,
    **TIMING,
    "replay_time_elsewhere": "time of statements that other digests take than in the capture",
    "replay_prepared_again": "statements that were prepared again",
}
"""The shares by which a replay differs, by the name of the driver's figure."""

AMOUNTS = {"replay_rows_returned": "rows returned per transaction", "replay_rows_changed": "rows changed per transaction"}
"""What two replays of one capture must have in common: amounts, by the name of the driver's figure."""

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
    "replay_other_changes": "the data may not be those from before the capture",
    "replay_out_of_order": "transactions waited in the server for locks that no log shows",
    "replay_time_elsewhere": "other data, memory or hardware",
    "replay_prepared_again": "the server keeps too few open; raise max_prepared_stmt_count",
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
    "replay_from_due_p50": "ms from when a transaction was due to its end, p50",
    "replay_from_due_p95": "ms from when a transaction was due to its end, p95",
    "replay_unknown_changes": "changes whose number of rows the capture does not show: only replays can be compared",
    "replay_idle_changes": "changes that changed no row",
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
    """One way in which a replay may differ: a share, a ratio to the capture, or the difference between amounts of replays."""

    limit: LoadLimit
    figure: float

    @property
    def name(self) -> str:
        return {**SHARES, **RATIOS, **AMOUNTS}[self.limit.gauge]

    @property
    def is_work(self) -> bool:
        """Whether it says what the load did, and not when, or how the server did it."""
        return self.limit.gauge in WORK or self.limit.gauge in AMOUNTS

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
    """Return the ways in which a replay may differ from its capture, as far as the driver has a figure.

    `figures` are the driver's. Amounts are left out: they are compared between replays.
    """
    return [ReplayPart(limit, figures[limit.gauge]) for limit in limits if limit.gauge in figures and not limit.is_equal]


def times(ratio: float) -> str:
    """Return a ratio to the capture: `× 1.25`."""
    return f"× {number(ratio)}"


def fidelity(parts: Sequence[ReplayPart], where: str) -> str:
    """Return the fidelity of a replay in a few sentences.

    The fidelity is that of what the load did: 100 % less the share of the part that is worst relative to its limit. When it did
    it, and how the server did it, is said only where that is beyond a limit. `where` says where it was measured.
    """
    work = [part for part in parts if part.is_work]
    worst = max(work, key=lambda part: part.distance / part.limit.most, default=None)
    worst_part = f"; the worst part: {worst.name} ({worst.shown})" if worst and worst.distance else ""
    sentences = [f"Fidelity of the replay: {percent(1 - (worst.distance if worst else 0.0))}{where}{worst_part}."]
    if any(part.is_exceeded for part in work):
        sentences.append("This is not the captured load: see the figures beyond their limit.")
    if others := [part for part in parts if part.is_exceeded and not part.is_work]:
        listing = ", ".join(f"{part.name} ({part.shown})" for part in others)
        sentences.append(f"Its timing or the work of the server differ: {listing}.")
    return " ".join(sentences)
