"""The server's work per transaction of a replay, as a ratio to its work per transaction of the capture."""

from __future__ import annotations

import statistics
from collections.abc import Mapping
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from pathlib import Path

from dialin.answers import whole
from dialin.errors import ServerError
from dialin.model.query import Query
from dialin.paths import parse_json
from dialin.servers.account import Account
from dialin.servers.connection import connect, status
from dialin.workloads.replay.replay_facts import ReplayFacts

_LEAST = {
    "Innodb_rows_read": ("replay_rows_examined", 1.0),
    "Innodb_buffer_pool_reads": ("replay_page_misses", 0.1),
    "Innodb_row_lock_waits": ("replay_lock_waits", 0.01),
    "Created_tmp_disk_tables": ("replay_disk_tables", 0.01),
}
"""By status variable: the figure's name, and the least number per transaction; a smaller one counts as this. Otherwise three
lock waits in 1,000 transactions instead of one would be a ratio of 3, although the load is the same."""

_LEAST_THREADS = 1.0
"""Fewer running threads count as one: below that, a server has hardly any contention."""


@dataclass(frozen=True, slots=True)
class CapturedWork:
    """What a server did while a capture was made.

    Attributes:
        per_transaction: by status variable; empty where the capture has no counters.
        threads_running: mean number of statements that ran at a time; None where the capture has no durations, or where the
            replay has another pace.
    """

    per_transaction: Mapping[str, float]
    threads_running: float | None


def captured_work(directory: Path, facts: ReplayFacts, *, has_its_pace: bool) -> CapturedWork:
    """Return what the server did while a capture was made, as far as the capture says."""
    per_transaction: dict[str, float] = {}
    # A capture that was made by hand or by an earlier version has neither file.
    with suppress(OSError, ValueError, KeyError, TypeError, AttributeError, ArithmeticError):
        before, after = (parse_json((directory / f"counters-{when}.json").read_text()) for when in ("before", "after"))
        questions = after["questions"] - before["questions"]
        transactions = questions * facts.transactions / facts.statements
        per_transaction = {name: (after["work"][name] - before["work"][name]) / transactions for name in after["work"]}
    running = None
    if has_its_pace:
        with suppress(OSError, ValueError, KeyError, TypeError, ArithmeticError):
            summary = parse_json((directory / "summary.json").read_text())
            # Digests without seconds were counted by the server alone.
            seconds = [digest["seconds"] for digest in summary["digests"] if digest["seconds"] is not None]
            running = sum(seconds) / (summary["end"] - summary["begin"]) if seconds else None
    return CapturedWork(per_transaction, running)


@dataclass(frozen=True, slots=True)
class WorkReading:
    """The work that a server had done, by status variable, when `transactions` transactions had ended."""

    transactions: float
    work: Mapping[str, int]


def work_ratios(captured: Mapping[str, float], begin: WorkReading, end: WorkReading) -> dict[str, float]:
    """Return by figure the ratio of the work per transaction between two readings to that of the capture.

    A status variable that one of them lacks has no ratio: the server, or the dialin that captured, may be of another version.
    """
    transactions = end.transactions - begin.transactions
    if transactions <= 0:
        return {}
    return {
        figure: _ratio((end.work[name] - begin.work[name]) / transactions, captured[name], least)
        for name, (figure, least) in _LEAST.items()
        if name in captured and name in begin.work and name in end.work
    }


def _ratio(here: float, captured: float, least: float) -> float:
    return max(here, least) / max(captured, least)


class WorkMeter:
    """Reads what a server does for the transactions of a replay, on its own connection: two short statements per second.

    A server that does not answer has no figures; others detect that it died.
    """

    def __init__(self, account: Account, captured: CapturedWork) -> None:
        self._captured = captured
        self._opened = ExitStack()
        self._query: Query | None = None
        self._begin: WorkReading | None = None
        self._newest: WorkReading | None = None
        self._running: list[int] = []
        with suppress(ServerError):
            self._query = self._opened.enter_context(connect(account))

    def read(self, transactions: float) -> None:
        """Read what the server has done after this many transactions; to be called at the end of each second."""
        if self._query is not None:
            with suppress(ServerError):
                self._newest = WorkReading(transactions, read_work(self._query))
                if self._captured.threads_running is not None:
                    self._running.append(whole(status(self._query, "Threads_running")) - 1)  # without ours

    def begin(self) -> None:
        """Count from the newest reading."""
        self._begin = self._newest
        self._running.clear()

    def ratios(self) -> dict[str, float]:
        """Return the ratios to the capture, by figure, from `begin` to the newest reading."""
        ratios: dict[str, float] = {}
        if self._begin is not None and self._newest is not None:
            ratios = work_ratios(self._captured.per_transaction, self._begin, self._newest)
        if self._running and self._captured.threads_running is not None:
            running = statistics.fmean(self._running)
            ratios["replay_threads_running"] = _ratio(running, self._captured.threads_running, _LEAST_THREADS)
        return ratios

    def close(self) -> None:
        self._opened.close()


WORK = ("Innodb_rows_read", "Innodb_buffer_pool_reads", "Innodb_row_lock_waits", "Created_tmp_disk_tables")
"""Rows examined, pages that the buffer pool lacked, waits for row locks, and temporary tables on disk.

Only InnoDB's rows: `Handler_read_*` also counts the rows of SHOW STATUS itself, about 500 each time that a monitor runs it.
"""

_WORK = f"SHOW GLOBAL STATUS WHERE Variable_name IN ({', '.join(repr(name) for name in WORK)})"


def read_work(query: Query) -> dict[str, int]:
    """Return the counters of `WORK` that the server has, since it started.

    Raises:
        ServerError: the server does not answer.
    """
    return {str(name): whole(value) for name, value in query(_WORK)}
