"""Raw waits in Parquet, and their statistics.

Percentiles use the nearest-rank method: p99 is the shortest wait such that at least 99 % of all waits are no longer. A
percentile is always a wait that happened.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np

from dialin.model.evidence import ALL, WaitRow
from dialin.store.series import as_os_errors, made_whole

if TYPE_CHECKING:
    import polars as pl
    from numpy.typing import NDArray

_WORST = 0.01
_TEN = 10
_NS = 1000
"""Picoseconds in a nanosecond."""

_COMPRESSION: Final = "lz4"
"""A third larger than zstd, and read in half the time."""

MEMORY = 24
"""Bytes of memory that summarising takes for each event, in addition to those of one slice."""

_OPERATION = 0xFFFF
"""The bits that hold an operation; the bits above them hold an instrument."""

_PIECE = 1 << 18
"""Events that are processed at a time, so that they stay in the CPU's cache."""

_BACKWARD = 1 << 63
"""Picoseconds (106 days) from which on a time counts as negative: it wrapped around, because it is stored unsigned."""

_SLICE = 16_777_216
"""Events that are read from the file at a time: while it is read, each takes twice its final memory."""


class Written(NamedTuple):
    """What `write` has written.

    Attributes:
        counted: the number of waits that the server counts for the events in the files.
        stored: the number of events that are stored.
        backward: how many of these ended before they started, by the server's timer; their time is stored as 0. The cycle
            counters of two CPUs differ a little, and a thread may move from one to the other while it waits.
    """

    counted: int
    stored: int
    backward: int


def write(path: Path, files: Iterable[Path], left_out: Sequence[int] = ()) -> Written:
    """Convert the files that a server wrote into one Parquet file, which appears complete or not at all; remove the files.

    Thread and number identify an event; duplicates within a file are dropped. No two files hold the same event.

    Args:
        path: the path of the Parquet file.
        files: tab-separated values, as `SELECT ... INTO OUTFILE` writes them: thread, event, instrument, operation, start
            and time waited in picoseconds, and the number of waits that the server counts for the event.
        left_out: threads whose events are dropped.

    Raises:
        OSError: the Parquet file cannot be written.
    """
    import polars as pl

    parts: list[Path] = []
    read = stored = backward = 0
    with made_whole(path) as making:
        try:
            for file in files:
                events = _read(file).unique(["thread", "event"], maintain_order=True)
                read += int(events["counted"].sum())
                events = events.drop("counted").filter(~pl.col("thread").is_in(list(left_out)))
                stored += events.height
                wrapped = pl.col("wait_ps") >= _BACKWARD
                backward += int(events.select(wrapped.sum()).item())
                events = events.with_columns(pl.when(wrapped).then(0).otherwise(pl.col("wait_ps")).alias("wait_ps"))
                part = path.with_suffix(f".part{len(parts)}")
                parts.append(part)
                events.write_parquet(part, compression=_COMPRESSION)
                file.unlink()
            whole = pl.scan_parquet(parts) if parts else pl.LazyFrame(schema=_schema())
            whole.sink_parquet(making, compression=_COMPRESSION)
        finally:
            for part in parts:
                part.unlink(missing_ok=True)
    return Written(read, stored, backward)


def _schema() -> dict[str, Any]:
    import polars as pl

    return {
        "thread": pl.UInt32,
        "event": pl.UInt64,
        "instrument": pl.Categorical,
        "operation": pl.Categorical,
        "start_ps": pl.UInt64,
        "wait_ps": pl.UInt64,
    }


def _read(file: Path) -> pl.DataFrame:
    import polars as pl

    schema = {**_schema(), "counted": pl.UInt64}
    if file.stat().st_size == 0:
        return pl.DataFrame(schema=schema)
    read = pl.read_csv(file, separator="\t", has_header=False, schema=schema, null_values="\\N", quote_char=None)
    return read.drop_nulls("wait_ps")


def summarise(path: Path) -> tuple[WaitRow, ...]:
    """Return the statistics of a file's waits by instrument and operation, the largest total first.

    All times of an instrument are sorted once, each with its operation in the lowest bits: taking out one operation leaves
    them sorted.

    Raises:
        OSError: the file cannot be read.
    """
    instruments: dict[str, int] = {}
    operations: dict[str, int] = {}
    with as_os_errors():
        keys, kinds = _times(path, instruments, operations)
    if not keys.size:
        return ()
    low = max(1, (len(operations) - 1).bit_length())
    high = 64 - max(1, (len(instruments) - 1).bit_length())
    # Where hundreds of instruments and a wait of minutes leave too few bits, times are some picoseconds less exact.
    coarse = max(0, int(keys.max()).bit_length() + low - high)
    for begin in range(0, keys.size, _PIECE):
        piece, kind = keys[begin : begin + _PIECE], kinds[begin : begin + _PIECE]
        piece >>= np.uint64(coarse)
        piece <<= np.uint64(low)
        piece |= kind & np.uint32(_OPERATION)
        piece |= (kind >> np.uint32(_OPERATION.bit_length())).astype(np.uint64) << np.uint64(high)
    del kinds, kind
    keys.sort()
    rows: list[WaitRow] = []
    bounds = [*np.searchsorted(keys, np.arange(len(instruments), dtype=np.uint64) << np.uint64(high)).tolist(), keys.size]
    for instrument, number in instruments.items():
        times = keys[bounds[number] : bounds[number + 1]]
        narrow: type[np.uint8 | np.uint32] = np.uint8 if low <= 8 else np.uint32
        which = np.bitwise_and(times.astype(narrow), narrow((1 << low) - 1))
        times &= np.uint64((1 << high) - 1)
        times >>= np.uint64(low)
        times <<= np.uint64(coarse)
        rows.append(_row(instrument, ALL, times))
        for operation, place in operations.items():
            chosen = times[which == place]
            if chosen.size:
                rows.append(_row(instrument, operation, chosen))
    return tuple(sorted(rows, key=lambda row: (-row.total, row.instrument, row.operation != ALL, row.operation)))


def _times(
    path: Path, instruments: dict[str, int], operations: dict[str, int]
) -> tuple[NDArray[np.uint64], NDArray[np.uint32]]:
    """Return the times of a file, and for each the number of its instrument (high bits) and its operation (low bits).

    The names are added to `instruments` and `operations`, each with its number.
    """
    import polars as pl

    waits = pl.scan_parquet(path).select("instrument", "operation", "wait_ps")
    count = int(waits.select(pl.len()).collect().item())
    times, kinds = np.empty(count, dtype=np.uint64), np.empty(count, dtype=np.uint32)
    for begin in range(0, count, _SLICE):
        frame = waits.slice(begin, _SLICE).collect()
        rows = slice(begin, begin + frame.height)
        times[rows] = frame["wait_ps"].to_numpy()
        kinds[rows] = _places(frame["instrument"], instruments)
        kinds[rows] <<= np.uint32(_OPERATION.bit_length())
        kinds[rows] |= _places(frame["operation"], operations)
    return times, kinds


def _places(column: pl.Series, known: dict[str, int]) -> NDArray[np.uint32]:
    """Return the number of each row's text in `known`, to which new texts are added."""
    codes = column.to_physical().to_numpy()
    texts = column.unique()
    place = np.zeros(int(codes.max()) + 1, dtype=np.uint32)
    place[texts.to_physical().to_numpy()] = [known.setdefault(str(text), len(known)) for text in texts]
    places: NDArray[np.uint32] = place[codes]
    return places


def _row(instrument: str, operation: str, times: NDArray[np.uint64]) -> WaitRow:
    """`times` are sorted and not empty."""
    count = times.size
    total = int(times.sum())
    worst = max(1, int(count * _WORST))
    p50, p90, p99, p999 = (float(times[rank(count, share) - 1]) for share in (50, 90, 99, 99.9))
    return WaitRow(
        instrument=instrument,
        operation=operation,
        count=count,
        mean=total / count,
        p50=p50,
        p90=p90,
        p99=p99,
        p999=p999,
        most=float(times[-1]),
        total=float(total),
        worst_share=_share(times[-worst:], total),
        ten_share=_share(times[-_TEN:], total),
        histogram=_histogram(times),
    )


def rank(count: int, percentile: float) -> int:
    """Return the nearest rank of a percentile among `count` values, from 1."""
    # In whole tenths of a percent: 99.9 % of 1000 is rank 999, for which floats would give rank 1000.
    return max(1, math.ceil(round(10 * percentile) * count / 1000))


def _share(longest: NDArray[np.uint64], total: int) -> float:
    return int(longest.sum()) / total if total else 0.0


def _histogram(times: NDArray[np.uint64]) -> tuple[int, ...]:
    """`times` are sorted."""
    powers = max(1, (int(times[-1]) // _NS).bit_length())
    bounds = np.searchsorted(times, np.array([_NS << power for power in range(1, powers)], dtype=np.uint64))
    edges = [0, *bounds.tolist(), times.size]
    return tuple(after - before for before, after in itertools.pairwise(edges))
