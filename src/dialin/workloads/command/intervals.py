"""From the rows of a program to samples: what several kinds did in one interval adds up, and a gap is no zero."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from dialin.model.load_driver import KindFigures
from dialin.readers.load_rows import MEAN, LoadRow, are_errors_alone
from dialin.workloads.base import Second


@dataclass(slots=True)
class Intervals:
    """Makes one sample of the rows of one interval.

    A count is divided by the time since the previous report: a stretch without a report, in which a program that prints nothing
    had nothing to count, makes its sample longer. A rate says nothing of such a stretch, which is then missing (`missing`).

    Attributes:
        interval: seconds between two reports.
        percentile: of latency to report, `MEAN` for the mean; None where the program reports none.
        cumulative: counts are totals since the start.
        per: seconds that rates are per, 60 where they are per minute.
        missing: seconds that no report covers.
    """

    interval: float
    percentile: float | None
    cumulative: bool = False
    per: float = 1.0
    missing: float = 0.0
    _number: int = 0
    _time: float | None = None
    _arrived: float | None = None
    _before: dict[str, tuple[float, float]] = field(default_factory=dict)
    _errors_alone: float = 0.0

    def begin(self, arrived: float) -> None:
        """Note when the program began, by the clock that `second` gets."""
        self._arrived = arrived

    def second(self, rows: Sequence[LoadRow], arrived: float) -> Second | None:
        """Return the sample of one interval; None where its length is unknown, or it only begins a cumulative count.

        Errors that were printed alone are none either: the next sample has them.

        Args:
            rows: of the interval, one for each kind, and one for its errors where these are printed apart.
            arrived: when the last of them arrived, by a monotonic clock.
        """
        if are_errors_alone(rows):
            self._errors_alone = self._errors(self._errors_alone, sum(row.errors for row in rows))
            return None
        rows = sorted(rows, key=lambda row: row.has_only_errors)  # these may lack the time
        elapsed = self._elapsed(rows, arrived)
        counts = self._counts(rows)
        if elapsed is None or elapsed <= 0 or counts is None:
            return None
        by_rate = any(row.rate is not None for row in rows)
        lengths = max(1.0, round(elapsed / self.interval)) * self.interval
        if by_rate:
            self.missing += max(0.0, lengths - self.interval)
            lengths = self.interval
            counts = {kind: (rate / self.per * lengths, errors) for kind, (rate, errors) in counts.items()}
        over = lengths if by_rate else elapsed
        total = sum(count for count, _ in counts.values())
        self._number += 1
        return Second(
            number=self._number,
            tps=total / over,
            latency_ms=self._latency(rows, counts),
            errors=sum(errors for _, errors in counts.values()) / over,
            seconds=lengths,
            # The row with the latencies of a kind comes after the one that has only its errors.
            kinds={
                row.kind: self._kind(row, counts[row.kind], over)
                for row in sorted(rows, key=lambda row: not row.has_only_errors)
                if row.kind
            },
        )

    def _elapsed(self, rows: Sequence[LoadRow], arrived: float) -> float | None:
        """Return the seconds since the previous report: printed, else by the program's own time, else by arrival."""
        time, last_time, last_arrived = rows[0].time, self._time, self._arrived
        self._time, self._arrived = time, arrived
        if time is not None:
            if last_time is not None:
                return time - last_time
            return rows[0].seconds or self.interval
        if last_arrived is None:
            return None
        elapsed = arrived - last_arrived
        # A line that is printed at the very start, or that waited in a buffer with others, tells no time by its arrival.
        return elapsed if elapsed > self.interval / 2 else self.interval

    def _counts(self, rows: Sequence[LoadRow]) -> dict[str, tuple[float, float]] | None:
        """Return transactions (or their rate) and errors of the interval by kind; None for the first cumulative report."""
        current: dict[str, tuple[float, float]] = {"": (0.0, self._errors_alone)} if self._errors_alone else {}
        self._errors_alone = 0.0
        for row in rows:
            count, errors = current.get(row.kind, (0.0, 0.0))
            amount = row.rate if row.rate is not None else row.count or 0.0
            current[row.kind] = (count + amount, self._errors(errors, row.errors))
        if not self.cumulative:
            return current
        before, risen = dict(self._before), dict[str, tuple[float, float]]()
        for kind, (count, errors) in current.items():
            last_count, last_errors = before.get(kind, (0.0, 0.0))
            risen[kind] = (max(0.0, count - last_count), max(0.0, errors - last_errors))
            self._before[kind] = (count or last_count, errors or last_errors)  # a total that was not printed stays
        return risen if before else None

    def _errors(self, before: float, more: float) -> float:
        """Return the errors of two rows of one kind; the larger where they are totals."""
        return max(before, more) if self.cumulative else before + more

    def _latency(self, rows: Sequence[LoadRow], counts: Mapping[str, tuple[float, float]]) -> float:
        """Return the latency of the interval, over several kinds the mean weighted by transactions; 0 if unknown."""
        if self.percentile is None:
            return 0.0
        known = [(counts[row.kind][0], row.latencies[self.percentile]) for row in rows if self.percentile in row.latencies]
        weight = sum(count for count, _ in known)
        return sum(count * latency for count, latency in known) / weight if weight > 0 else 0.0

    def _kind(self, row: LoadRow, counted: tuple[float, float], seconds: float) -> KindFigures:
        count, errors = counted
        percentile = row.latencies.get(self.percentile) if self.percentile not in (None, MEAN) else None
        return KindFigures(count / seconds, errors / seconds, row.latencies.get(MEAN), percentile)
