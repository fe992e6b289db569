"""What a load driver chose for itself, and what it reports by kind of transaction."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

FIRST_DRIVER = "load_driver"
"""The fact of a study that names the load driver, with its build, that applied the load first."""

RESUMED_DRIVERS = "load_driver_later"
"""The fact of a study that lists the load drivers that applied the load after the study was resumed."""


@dataclass(frozen=True, slots=True)
class DriverChoice:
    """What a load driver chose for one number of connections, or was asked to use.

    Attributes:
        threads: how many connections work at once.
        load_threads: how many threads of the driver these are divided among.
        gather: whether these threads wait a little for further answers before they handle those that have arrived; None
            while the driver has not decided.
    """

    threads: int
    load_threads: int
    gather: bool | None

    def describe(self) -> str:
        """Return the choice in words, without the number of connections."""
        threads = "1 load thread" if self.load_threads == 1 else f"{self.load_threads} load threads"
        return f"{threads}, gathering {'on' if self.gather else 'off'}"


ALL_KINDS = ""
"""Stands for all transactions of a workload together."""


@dataclass(frozen=True, slots=True)
class TransactionTimes:
    """How long one kind of transaction took, over the measured seconds of a trial with one number of threads.

    Attributes:
        name: such as `new-order`; `ALL_KINDS` where the workload has only one kind.
        counts: pairs of a latency in milliseconds and the number of transactions that had it; latencies within 1 % are
            counted together, as the longest of them.
    """

    name: str
    counts: tuple[tuple[float, int], ...] = ()
    threads: int = 0


@dataclass(frozen=True, slots=True)
class KindFigures:
    """What one kind of transaction did over some seconds, where a program reports kinds without their histograms.

    Attributes:
        per_second: transactions per second.
        errors: failed ones per second.
        mean_ms: the mean latency; None where it is not reported.
        percentile_ms: the study's percentile of latency; None where it is not reported. Over several samples it is the mean of
            theirs, weighted by transactions.
    """

    per_second: float
    errors: float = 0.0
    mean_ms: float | None = None
    percentile_ms: float | None = None


_KIND = "kind"


def kind_gauge(figure: str, kind: str) -> str:
    """Return the name under which a trial stores a field of `KindFigures` of a kind."""
    return f"{_KIND}/{figure}/{kind}"


def kind_of_gauge(name: str) -> tuple[str, str] | None:
    """Return the field and the kind that `kind_gauge` named; None for any other name."""
    first, _, rest = name.partition("/")
    figure, _, kind = rest.partition("/")
    return (figure, kind) if first == _KIND else None


def describe_driver(begun: Mapping[str, Any], choices: Sequence[DriverChoice]) -> str:
    """Return what applied a study's load, in one line; empty where that is not known.

    Args:
        begun: the facts of the study, `FIRST_DRIVER` among them.
        choices: the choices of the first completed trial, which all later ones use; empty where the driver chooses nothing.
    """
    if FIRST_DRIVER not in begun:
        return ""
    driver = ", later ".join([begun[FIRST_DRIVER], *begun.get(RESUMED_DRIVERS, ())])
    texts = {choice.describe() for choice in choices}
    if not texts:
        return driver
    if len(texts) == 1:
        return f"{driver}, {texts.pop()}, as the first trial chose"
    each = [
        f"with {choice.threads} thread{'' if choice.threads == 1 else 's'}: {choice.describe()}"
        for choice in sorted(choices, key=lambda choice: choice.threads)
    ]
    return f"{driver}; {'; '.join(each)}; as the first trial chose"


@dataclass(frozen=True, slots=True)
class ReplayedDigest:
    """The statements of a digest in a replay, and how they differ from the capture.

    Attributes:
        digest: the statement in lower case, values replaced by ?; long ones are cut off.
        statements: executed in the replay.
        new_errors: statements that failed, and did not fail with the same error in the capture.
        last_error: the number of the last of these errors; None without any.
        missing_errors: statements that failed in the capture only.
        other_rows: queries that returned another number of rows.
        other_changes: statements that changed another number of rows.
        captured_ms: mean time of a statement in the capture, as its server measured it; None if the capture has no durations.
        replayed_ms: mean time of a statement in the replay, from sending it to its answer; None if none was answered.
        captured_time: share of the time of all statements in the capture, from 0 to 1; None if it has no durations.
        replayed_time: the same in the replay.
    """

    digest: str
    statements: int
    new_errors: int = 0
    last_error: int | None = None
    missing_errors: int = 0
    other_rows: int = 0
    other_changes: int = 0
    captured_ms: float | None = None
    replayed_ms: float | None = None
    captured_time: float | None = None
    replayed_time: float | None = None


DIGEST_MS = "replay_digest_ms"
"""The figure of a digest's mean time per statement, milliseconds, among those that a trial's load reports."""

DIGEST_STATEMENTS = "replay_digest_statements"
"""The figure of a digest's number of statements."""

DIGEST_CAPTURED_MS = "replay_digest_captured_ms"
"""The figure of a digest's mean time per statement in the capture, milliseconds."""


def digest_figure(digest: str, figure: str) -> str:
    return f"{digest}/{figure}"
