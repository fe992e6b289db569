"""From the rows of a program to samples: what several kinds did in one interval adds up, and a gap is no zero."""

from __future__ import annotations

import statistics
from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field

from dialin.model.load_driver import KindFigures
from dialin.readers.load_rows import MEAN, LoadRow, are_errors_alone
from dialin.workloads.base import Second


@dataclass(slots=True)
class Intervals:
    """Makes one sample of the rows of one interval.

    A count is divided by the time since the previous report: a stretch without a report, in which a program that prints nothing
    had nothing to count, makes its sample longer. A rate says nothing of such a stretch, which is then missing (`missing`).
    What a program counts less than half an interval after its last report is part of the next sample.

    Attributes:
        interval: seconds between two reports.
        percentile: of latency to report, `MEAN` for the mean; None where the program reports none.
        cumulative: counts are totals since the start.
        per: seconds that rates are per, 60 where they are per minute.
        missing: seconds that no report covers.
        falls: how often a total was below the one before it.
    """

    interval: float
    percentile: float | None
    cumulative: bool = False
    per: float = 1.0
    missing: float = 0.0
    falls: int = 0
    _number: int = 0
    _time: float | None = None
    _began: float = 0.0
    _arrived: float | None = None
    _ahead: float = 0.0
    _kinds: AbstractSet[str] = frozenset({""})
    _elapsed_each: list[float] = field(default_factory=list)
    _early: list[LoadRow] = field(default_factory=list)
    _before: dict[str, tuple[float, float]] = field(default_factory=dict)
    _errors_alone: float = 0.0

    def begin(self, arrived: float) -> None:
        """Note when the program began, by the clock that `second` gets."""
        self._began = self._arrived = arrived

    @property
    def usual(self) -> float:
        """The median of the seconds between two reports; `interval` before the first."""
        return statistics.median(self._elapsed_each or [self.interval])

    @property
    def is_too_long(self) -> bool:
        """Whether reports came more often than every `interval`: together they cover more time than has passed."""
        return self._arrived is not None and self._ahead > self._arrived - self._began + 2 * self.interval

    def second(self, rows: Sequence[LoadRow], arrived: float) -> Second | None:
        """Return the sample of one interval; None where it is part of the next one, or only begins a cumulative count.

        Errors that were printed alone are none either: the next sample has them.

        Args:
            rows: of the interval, one for each kind, and one for its errors where these are printed apart.
            arrived: when the last of them arrived, by a monotonic clock.
        """
        if are_errors_alone(rows):
            self._errors_alone = self._errors(self._errors_alone, sum(row.errors for row in rows))
            return None
        rows = sorted(rows, key=lambda row: row.has_only_errors)  # these may lack the time
        by_rate = any(row.rate is not None for row in rows)
        elapsed = self._elapsed(rows, arrived)
        rows = [*self._early, *rows]
        if by_rate or self.cumulative:  # only the last of each kind counts: these do not add up
            rows = [*{(row.kind, row.has_only_errors): row for row in rows}.values()]
        self._early = rows if elapsed is None else []
        if elapsed is None:
            return None
        counts = self._counts(rows, elapsed)
        if counts is None:
            return None
        self._elapsed_each.append(elapsed)
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
        """Return the seconds since the previous report; None where it came too soon to be of an interval of its own."""
        time, late = rows[0].time, None if self._arrived is None else arrived - self._arrived
        if time is None:
            elapsed = self._by_arrival({row.kind for row in rows}, late)
        elif self._time is None:
            elapsed = rows[0].seconds or self.interval
        else:
            elapsed = self._by_time(time - self._time, late)
        if elapsed is not None:
            self._time, self._arrived, self._kinds = time, arrived, {row.kind for row in rows}
        return elapsed

    def _is_one(self, seconds: float) -> bool:
        return self.interval / 2 < seconds < 1.5 * self.interval

    def _by_time(self, step: float, late: float | None) -> float | None:
        """Return the seconds by the program's own clock, which may have whole seconds only, end at midnight, or be set."""
        if self._is_one(step):
            return step
        if late is not None and self._is_one(late):
            return late
        if step > self.interval / 2:
            return step
        return late if late is not None and late >= 1.5 * self.interval else None

    def _by_arrival(self, kinds: AbstractSet[str], late: float | None) -> float | None:
        """Return the seconds of a report without a time: lines that waited in a buffer come together, after a pause.

        With other kinds than the last report it is of the same interval, which some programs print in parts.
        """
        if late is not None and late > self.interval / 2:
            covered = min(self._ahead, max(0.0, late - self.interval))
            self._ahead -= covered
            return late - covered
        if late is not None and self._kinds.isdisjoint(kinds):
            return None
        if late is not None and self._number:  # else it is printed at the very start
            self._ahead += self.interval - late
        return self.interval

    def _counts(self, rows: Sequence[LoadRow], elapsed: float) -> dict[str, tuple[float, float]] | None:
        """Return transactions (or their rate) and errors of the interval by kind; None where totals begin, or begin again."""
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
        if any(0 < count < before.get(kind, (0.0, 0.0))[0] for kind, (count, _) in current.items()):
            self.falls += 1
            self.missing += elapsed
            return None
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
