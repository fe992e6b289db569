"""Seconds in which no transaction ended: either the server stands still, or it answers every transaction with an error."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable

from dialin.errors import ServerError, WorkloadError
from dialin.servers.connection import error_name
from dialin.workloads.base import Second

STALL_PATIENCE = 60
"""Seconds without any transaction after which the server is called hung."""

FAILING_PATIENCE = 10
"""Seconds in a row, each with errors and none with a transaction, after which no transaction is expected to succeed."""

_IN_THE_WAY = "Its transactions stand in each other's way: give fewer --threads, or let them touch more rows"
_REMEDIES = {
    1062: "It inserts keys that are taken: let it draw others, or leave them to AUTO_INCREMENT",
    1205: _IN_THE_WAY,
    1213: _IN_THE_WAY,
    1329: "Rows that its transactions need are not there: see that it leaves as many as it takes",
    2013: "See in the server's log what ends its connections",
}
_REMEDY = "Send its statements by hand: its data, or the candidate's setting, does not let them succeed"


class HangDetector:
    """Counts the seconds in a row in which no transaction ended, and the errors in them."""

    def __init__(self) -> None:
        self._seconds = 0
        self._failing = 0
        self._errors = 0.0
        self._codes: Counter[int] = Counter()

    def add_second(self, second: Second, log_tail: Callable[[], str]) -> None:
        """Count the next second; `log_tail` returns the last lines of the server's log.

        Raises:
            WorkloadError: every transaction fails.
            ServerError: the server hung.
        """
        if second.tps > 0:
            self._seconds = self._failing = 0
            self._errors = 0.0
            self._codes.clear()
            return
        self._seconds += 1
        self._failing = self._failing + 1 if second.errors > 0 else 0
        self._errors += second.errors * second.seconds
        for code, rate in second.codes.items():
            self._codes[code] += round(rate * second.seconds)
        if self._failing >= FAILING_PATIENCE or (self._seconds >= STALL_PATIENCE and self._errors):
            raise self._all_failed()
        if self._seconds >= STALL_PATIENCE:
            raise ServerError(f"The server hung: no transaction for {self._seconds} s", log_tail=log_tail())

    def end_of_window(self, transactions: float) -> None:
        """Raise WorkloadError where no transaction ended in the window: that is no low throughput, but a failure."""
        if transactions > 0:
            return
        if self._errors:
            raise self._all_failed()
        raise WorkloadError("No transaction ended in the measured time", "Measure for longer: --measure")

    def _all_failed(self) -> WorkloadError:
        counts = self._codes.most_common()
        if not counts:
            what = f"{self._errors:,.0f} errors, which its driver does not classify"
            return WorkloadError(f"Every transaction failed for {self._seconds} s: {what}", _REMEDY)
        code, times = counts[0]
        mostly = "" if len(counts) == 1 else f", and {self._errors - times:,.0f} others"
        return WorkloadError(
            f"Every transaction failed for {self._seconds} s: {times:,} times error {_named(code)}{mostly}",
            _REMEDIES.get(code, _REMEDY),
            "\n".join(f"error {_named(code)}: {count:,} times" for code, count in counts),
        )


def _named(code: int) -> str:
    name = error_name(code)
    return f"{code} ({name})" if name else str(code)
