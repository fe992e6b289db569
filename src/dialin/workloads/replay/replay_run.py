"""A running replay: its seconds, or at full pace its timed parts, and how far it is the captured load."""

from __future__ import annotations

import time
from collections import Counter, deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from functools import partial
from typing import Any

from dialin.model.load_driver import DIGEST_CAPTURED_MS, DIGEST_MS, DIGEST_STATEMENTS, ReplayedDigest, digest_figure
from dialin.stats.counted_times import known_percentile
from dialin.workloads.base import Second, times_by_kind
from dialin.workloads.dialin_load import DialinLoadRun
from dialin.workloads.dialin_load_lines import Report
from dialin.workloads.driver_process import DriverProcess
from dialin.workloads.replay.replay_work import WorkMeter

PARTS = 40
"""Parts of a replay at full pace: the driver reports when each fortieth of the transactions has ended."""

_COUNTS = (
    "begun", "begun_late", "waited", "waited_seconds", "repaired", "outcomes", "new_errors", "missing_errors",
    "harmless_errors", "row_counts", "other_row_counts", "changes", "idle_changes", "change_counts", "other_change_counts",
    "rows_returned", "rows_changed", "out_of_order", "clocks",
)  # fmt: skip

_NAMES = {"other_rows": "other_row_counts", "other_changes": "other_change_counts"}
"""The driver's names of figures of a digest, where it has others."""


@dataclass(frozen=True, slots=True)
class ReplayFigures:
    """What is known of a replay before it runs.

    Attributes:
        connections: the most sessions at a time.
        of_capture: figures that the capture alone decides: `replay_left_out` and, where it is known, `replay_not_captured`,
            which are shares; `replay_prepared`, `replay_prepared_as_text` and `replay_begins_added`, which are counts.
    """

    connections: int
    of_capture: Mapping[str, float]


class ReplayRun(DialinLoadRun):
    """A replay at a fixed pace; each sample is a second. `meter` counts what the server does after `warm_up` samples."""

    def __init__(self, driver: DriverProcess, percentile: int, figures: ReplayFigures, meter: WorkMeter, warm_up: int) -> None:
        super().__init__(driver, percentile)
        self._figures = figures
        self._meter = meter
        self._warm_up = warm_up
        self._transactions = 0.0
        self._seconds = 0.0
        self._time_distance: float | None = None
        self._digests: Sequence[Mapping[str, Any]] = ()
        self._from_due: list[Callable[[], Mapping[float, int]]] = []
        self._sums: dict[str, float] = dict.fromkeys(_COUNTS, 0.0)
        self._statements = 0.0
        self._retries = 0.0
        self._prepared_again = 0
        meter.read(0)
        self._measure_after(0)

    def read(self, timeout: float) -> Second | None:
        second = super().read(timeout)
        if second is not None:
            self._measure_after(second.number)
        return second

    def _measure_after(self, samples: int) -> None:
        if samples == self._warm_up:
            self._meter.begin()

    def stop(self) -> None:
        self._meter.close()
        super().stop()

    def _count(self, report: Report) -> None:
        super()._count(report)
        second = report.second
        self._transactions += second.tps * second.seconds
        self._meter.read(self._transactions)
        self._seconds += second.seconds
        self._statements += (second.reads + second.writes + second.other) * second.seconds
        self._retries += report.retries
        self._prepared_again += report.prepared_again
        replay = report.replay or {}
        if (distance := replay.get("time_distance")) is not None:
            self._time_distance = float(distance)
        self._digests = replay.get("digests") or self._digests
        if report.from_due is not None:
            self._from_due.append(report.from_due)  # which is read after the measurement
        for name in _COUNTS:
            self._sums[name] += float(replay.get(name, 0))

    def digests(self) -> list[ReplayedDigest]:
        """Return the digests that took most time, and those whose statements differ most from the capture, so far."""
        names = {each.name: _NAMES.get(each.name, each.name) for each in fields(ReplayedDigest)}
        return [ReplayedDigest(**{ours: one[name] for ours, name in names.items()}) for one in self._digests]

    def facts(self) -> Mapping[str, float]:
        """Return figures that show how far this was the captured load.

        Shares: `replay_not_captured` of what the server counted is not in the capture; `replay_left_out` of the captured
        statements are not replayed; `replay_new_errors` of the statements failed and did not in the capture,
        `replay_missing_errors` the other way round; `replay_other_rows` of the queries returned another number of rows, and
        `replay_other_changes` of the changes changed another number, as far as the capture shows it; in `replay_out_of_order`
        of the transactions a statement no longer waited for the captured order; `replay_time_elsewhere` of the time of
        statements is spent on other digests than in the capture; `replay_waiting` of the connections' time was spent waiting
        for the captured order; `replay_late` of the transactions began more than 5 ms late (at a pace);
        `replay_prepared_again` of the statements had to be prepared again, because the server keeps too few open.

        Amounts, which two replays of one capture have in common: `replay_rows_returned` and `replay_rows_changed` per
        transaction.

        Ratios to the capture, since the warm-up, where the capture has such figures: `replay_rows_examined`,
        `replay_page_misses`, `replay_lock_waits` and `replay_disk_tables` per transaction, and `replay_threads_running` (at the
        captured pace).

        Times, at a pace: `replay_from_due_p50` and `replay_from_due_p95` in milliseconds, from when transactions were due.

        Counts: of `replay_unknown_changes` the capture does not show how many rows they changed, and `replay_idle_changes`
        changed none; `replay_waited` transactions waited for their turn, for `replay_waited_s` seconds in total;
        `replay_repaired` were rolled back as in the capture, `replay_again` were played again; `replay_prepared` statements are
        prepared as in
        the capture, `replay_prepared_as_text` were prepared there and are sent as text; `replay_begins_added` transactions
        begin with a BEGIN that the log lacks. The figures of digests are named by `model.load_driver.digest_figure`.
        """
        sums = self._sums
        outcomes = max(sums["outcomes"], self._statements)
        unknown_changes = sums["changes"] - sums["change_counts"]
        return {
            **super().facts(),
            **self._figures.of_capture,
            "replay_new_errors": _share(sums["new_errors"], outcomes),
            "replay_missing_errors": _share(sums["missing_errors"], sums["outcomes"]),
            "replay_other_rows": _share(sums["other_row_counts"], sums["row_counts"]),
            **({"replay_other_changes": sums["other_change_counts"] / known} if (known := sums["change_counts"]) else {}),
            "replay_out_of_order": _share(sums["out_of_order"], self._transactions),
            "replay_rows_returned": _share(sums["rows_returned"], self._transactions),
            "replay_rows_changed": _share(sums["rows_changed"], self._transactions),
            **({} if self._time_distance is None else {"replay_time_elsewhere": self._time_distance}),
            **({"replay_late": sums["begun_late"] / sums["begun"]} if sums["begun"] else {}),
            "replay_prepared_again": _share(self._prepared_again, self._statements),
            "replay_waiting": _share(sums["waited_seconds"], self._figures.connections * self._seconds),
            **self._meter.ratios(),
            **self._times_from_due(),
            **({"replay_unknown_changes": unknown_changes} if unknown_changes else {}),
            **({"replay_idle_changes": sums["idle_changes"]} if sums["changes"] else {}),
            "replay_waited": sums["waited"],
            "replay_waited_s": sums["waited_seconds"],
            "replay_repaired": sums["repaired"],
            "replay_again": self._retries,
            **self._figures_of_digests(),
        }

    def _times_from_due(self) -> dict[str, float]:
        counts: Counter[float] = Counter()
        for times in self._from_due:
            counts.update(times())
        percentiles = {share: known_percentile(counts, share / 100) for share in (50, 95)}
        return {f"replay_from_due_p{share}": ms for share, ms in percentiles.items() if ms is not None}

    def _figures_of_digests(self) -> dict[str, float]:
        figures: dict[str, float] = {}
        for one in self.digests():
            named = {DIGEST_STATEMENTS: one.statements, DIGEST_MS: one.replayed_ms, DIGEST_CAPTURED_MS: one.captured_ms}
            figures |= {digest_figure(one.digest, name): float(value) for name, value in named.items() if value is not None}
        return figures


class PartsRun(ReplayRun):
    """A replay at full pace; each sample is a part of the transactions, and takes as long as they do."""

    def __init__(self, driver: DriverProcess, percentile: int, figures: ReplayFigures, meter: WorkMeter, warm_up: int) -> None:
        super().__init__(driver, percentile, figures, meter, warm_up)
        self._ready: deque[Second] = deque()
        self._pending: list[Second] = []
        self._untimed: list[Second] = []
        self._reached = (0, 0.0)
        self._number = 0

    def read(self, timeout: float) -> Second | None:
        limit = time.monotonic() + timeout
        while not self._ready:
            report = self._next(max(0.0, limit - time.monotonic()))
            if report is None:
                return None
            self._count(report)
            self._pending.append(report.second)
            self._untimed.append(report.second)
            for mark in (report.replay or {}).get("marks", ()):
                self._ready.append(self._part(mark))
        part = self._ready.popleft()
        self._measure_after(part.number)
        return part

    def _part(self, mark: Mapping[str, Any]) -> Second:
        """Return the part that ended at a mark; its rates are those of the seconds since the last mark, weighted by time.

        The times of a second's transactions count in the first part that ends after it.
        """
        transactions, at = int(mark["transactions"]), float(mark["at"])
        done, began = self._reached
        self._reached = (transactions, at)
        self._number += 1
        seconds = max(1e-6, at - began)
        last = self._pending[-1]
        total = sum(second.seconds for second in self._pending)
        rates: dict[str, Any] = {
            name: sum(getattr(second, name) * second.seconds / total for second in self._pending)
            for name in ("reads", "writes", "other", "latency_ms", "errors", "reconnects")
        }
        self._pending = [last]
        timed, self._untimed = self._untimed, []
        return replace(
            last,
            number=self._number,
            tps=(transactions - done) / seconds,
            seconds=seconds,
            times=partial(times_by_kind, timed),
            **rates,
        )


def _share(part: float, whole: float) -> float:
    return part / whole if whole else 0.0
