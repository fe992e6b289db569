"""Detects seconds in which no transaction ended: the server hung, or it answers every transaction with an error."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable

from dialin.cause_sentences import advice, error_label
from dialin.errors import WorkloadError, server_failure
from dialin.model.cause import Cause, CauseCode
from dialin.servers.connection import error_name
from dialin.workloads.base import Second

STALL_PATIENCE = 60
"""Seconds without any transaction after which the server counts as hung."""

FAILING_PATIENCE = 10
"""Seconds in a row, each with errors and none with a transaction, after which no transaction is expected to succeed."""


CHECK_EVERY = 10
"""Seconds without any transaction between two checks that the server answers at all."""

_FIRST_CHECK = 2.0
"""Seconds without any transaction before the first of them."""


class HangDetector:
    """Counts the seconds in a row in which no transaction ended, and the errors in them."""

    def __init__(self) -> None:
        self._seconds = 0.0
        self._failing = 0.0
        self._next_check = _FIRST_CHECK
        self._errors = 0.0
        self._codes: Counter[int] = Counter()

    def add_second(self, second: Second, check_answers: Callable[[], None], log_tail: Callable[[], str]) -> None:
        """Count the next second; `log_tail` returns the last lines of the server's log.

        Raises:
            WorkloadError: every transaction fails.
            ServerError: the server hung, or `check_answers` raises it.
            MachineError: the disk of the server is full, or `check_answers` raises it.
        """
        if second.tps > 0:
            self._seconds = self._failing = 0.0
            self._next_check = _FIRST_CHECK
            self._errors = 0.0
            self._codes.clear()
            return
        self._seconds += second.seconds
        if self._seconds >= self._next_check:
            self._next_check = self._seconds + CHECK_EVERY
            check_answers()
        self._failing = self._failing + second.seconds if second.errors > 0 else 0
        self._errors += second.errors * second.seconds
        for code, rate in second.codes.items():
            self._codes[code] += round(rate * second.seconds)
        if self._failing >= FAILING_PATIENCE or (self._seconds >= STALL_PATIENCE and self._errors):
            raise self._all_failed()
        if self._seconds >= STALL_PATIENCE:
            raise server_failure(Cause(CauseCode.HUNG, {"seconds": round(self._seconds)}), log_tail())

    def end_of_window(self, transactions: float) -> None:
        """Raise WorkloadError where no transaction ended in the window: that is a failure, not a low throughput."""
        if transactions > 0:
            return
        if self._errors:
            raise self._all_failed()
        cause = Cause(CauseCode.NO_TRANSACTION)
        raise WorkloadError(cause, advice(cause))

    def _all_failed(self) -> WorkloadError:
        errors = [{"number": code, "name": error_name(code), "count": times} for code, times in self._codes.most_common()]
        cause = Cause(CauseCode.ALL_FAILED, {"seconds": round(self._seconds), "total": self._errors, "errors": errors})
        listing = "\n".join(f"error {error_label(error)}: {error['count']:,} times" for error in errors)
        return WorkloadError(cause, advice(cause), listing)
