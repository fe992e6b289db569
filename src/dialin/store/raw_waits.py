"""Raw waits in Parquet, and what they come to.

A percentile is that of the nearest rank: the least wait that at least so many of all waits are no longer than. It is always a
wait that happened.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from dialin.model.evidence import WaitRow

if TYPE_CHECKING:
    import polars as pl
    from numpy.typing import NDArray

ALL = "(all)"
"""Stands for all operations of an instrument together."""

_WORST = 0.01
_TEN = 10
_NS = 1000
"""Picoseconds."""

_COMPRESSION: Final = "lz4"
"""A third larger than zstd, and read in half the time."""


def write(path: Path, files: Iterable[Path], left_out: Sequence[int] = ()) -> tuple[int, int]:
    """Turn the files that a server wrote into one Parquet file, there whole or not at all; the files are removed.

    An event is known by its thread and number; one that stands in a file twice is kept once. Two files hold different events.

    Args:
        path: of the Parquet file.
        files: in tab-separated values, as `SELECT ... INTO OUTFILE` writes them: thread, event, instrument, operation, start
            and time waited in picoseconds, and how many waits the server counts it as.
        left_out: threads whose events are not kept.

    Returns:
        As how many waits the server counts the events of the files, and how many events are kept.

    Raises:
        OSError: it cannot be written.
    """
    import polars as pl

    path.parent.mkdir(exist_ok=True)
    parts: list[Path] = []
    making = path.with_suffix(".making")
    read = kept = 0
    try:
        for file in files:
            events = _read(file).unique(["thread", "event"], maintain_order=True)
            read += int(events["counted"].sum())
            events = events.drop("counted").filter(~pl.col("thread").is_in(list(left_out)))
            kept += events.height
            part = path.with_suffix(f".part{len(parts)}")
            parts.append(part)
            events.write_parquet(part, compression="uncompressed")
            file.unlink()
        (pl.scan_parquet(parts) if parts else pl.LazyFrame(schema=_schema())).sink_parquet(making, compression=_COMPRESSION)
        making.replace(path)
    finally:
        for part in parts:
            part.unlink(missing_ok=True)
        making.unlink(missing_ok=True)
    return read, kept


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
    """Return what the waits of a file come to, by instrument and operation, the largest total first.

    All times of an instrument are sorted once, each with its operation in the lowest bits: taking out one operation leaves
    them sorted.
    """
    import polars as pl

    frame = pl.read_parquet(path, columns=["instrument", "operation", "wait_ps"])
    if frame.is_empty():
        return ()
    instruments, by_instrument = _numbered(frame["instrument"])
    operations, by_operation = _numbered(frame["operation"])
    low = max(1, (len(operations) - 1).bit_length())
    high = np.uint64(64 - max(1, (len(instruments) - 1).bit_length()))
    keys = frame["wait_ps"].to_numpy().astype(np.uint64)
    # Where hundreds of instruments and a wait of minutes leave too few bits, times are told to some picoseconds less exactly.
    coarse = np.uint64(max(0, int(keys.max()).bit_length() + low - int(high)))
    keys >>= coarse
    keys <<= np.uint64(low)
    keys |= by_operation
    keys |= by_instrument << high
    keys.sort()
    rows: list[WaitRow] = []
    bounds = np.searchsorted(keys, np.arange(len(instruments), dtype=np.uint64) << high)
    for number, instrument in enumerate(instruments):
        own = keys[bounds[number] : bounds[number + 1] if number + 1 < len(bounds) else len(keys)]
        own &= (np.uint64(1) << high) - np.uint64(1)
        times = (own >> np.uint64(low)) << coarse
        rows.append(_row(instrument, ALL, times))
        which = own.astype(np.uint8) if low <= 8 else own
        which &= which.dtype.type((1 << low) - 1)
        for place, operation in enumerate(operations):
            chosen = times[which == place]
            if chosen.size:
                rows.append(_row(instrument, operation, chosen))
    return tuple(sorted(rows, key=lambda row: (-row.total, row.instrument, row.operation != ALL, row.operation)))


def _numbered(column: pl.Series) -> tuple[list[str], NDArray[np.uint64]]:
    """Return the different texts of a column, and for each row the place of its text among them."""
    codes = column.to_physical().to_numpy()
    texts = column.unique()
    place = np.zeros(int(codes.max()) + 1, dtype=np.uint64)
    place[texts.to_physical().to_numpy()] = np.arange(len(texts), dtype=np.uint64)
    return [str(text) for text in texts], place[codes]


def _row(instrument: str, operation: str, times: NDArray[np.uint64]) -> WaitRow:
    """Return what times come to that are sorted, and at least one."""
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
    """Return the nearest rank of a percentile among so many, from 1."""
    # Tenths of a percent are whole numbers here: 99.9 % of 1000 is the 999th, not the 1000th that floats would make of it.
    return max(1, math.ceil(round(10 * percentile) * count / 1000))


def _share(longest: NDArray[np.uint64], total: int) -> float:
    return int(longest.sum()) / total if total else 0.0


def _histogram(times: NDArray[np.uint64]) -> tuple[int, ...]:
    """Count sorted times by power of two of nanoseconds, as far as there are any."""
    powers = max(1, (int(times[-1]) // _NS).bit_length())
    bounds = np.searchsorted(times, np.array([_NS << power for power in range(1, powers)], dtype=np.uint64))
    edges = [0, *bounds.tolist(), times.size]
    return tuple(after - before for before, after in itertools.pairwise(edges))
