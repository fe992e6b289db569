"""Parses the text of SHOW ENGINE INNODB STATUS, from MySQL 5.5 to 9.7 and MariaDB 10.1 to 11.4."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import PurePosixPath

from dialin.probes import innodb_sections

_N = r"(\d{1,20})"
_F = r"(\d{1,20}(?:\.\d{1,9})?)"
_SPAN = re.compile(rf"Per second averages calculated from the last {_N} seconds")
_HISTORY = re.compile(rf"History list length {_N}")

_ARRAY = re.compile(r"OS WAIT ARRAY INFO: .*")
_WAIT = re.compile(rf"--Thread \S+ has waited at (.*) line {_N} for {_F} seconds the semaphore:")
_LATCH = re.compile(r"(\S+(?: \(\w+\))?) on RW-latch at .*")
_MUTEX = re.compile(r"Mutex at .*")
_SPINS = re.compile(rf"(Mutex spin waits|RW-shared spins|RW-excl spins|RW-sx spins) {_N}, rounds {_N}, OS waits {_N}")

_KINDS = {
    "Mutex spin waits": "mutex",
    "RW-shared spins": "rw_shared",
    "RW-excl spins": "rw_excl",
    "RW-sx spins": "rw_sx",
}

_SEQUENCE = re.compile(rf"Log sequence number +{_N}")
_CHECKPOINT = re.compile(rf"Last checkpoint at +{_N}")

_POOL = re.compile(rf"---BUFFER POOL {_N}")
_POOL_SIZE = re.compile(rf"Buffer pool size +{_N}")
_POOL_FREE = re.compile(rf"Free buffers +{_N}")
_POOL_DIRTY = re.compile(rf"Modified db pages +{_N}")
_POOL_READS = re.compile(rf"Pending reads +{_N}")
_POOL_WRITES = re.compile(rf"Pending writes: LRU {_N}, flush list {_N}(?:, single page {_N})?")

_IBUF = re.compile(rf"Ibuf: size {_N}, free list len {_N}, seg size {_N}, {_N} merges")
_AHI = re.compile(rf"{_F} hash searches/s, {_F} non-hash searches/s")

_INSIDE = re.compile(rf"{_N} queries inside InnoDB, {_N} queries in queue")


@dataclass(frozen=True, slots=True)
class Wait:
    """A thread that waits for one of InnoDB's internal locks.

    Attributes:
        file: the source file where it waits, without the directory.
        kind: `S-lock`, `X-lock`, `X-lock (wait_ex)`, `SX-lock` or `Mutex`; empty where the text does not say.
        seconds: the time that it has waited so far; MySQL 5.x and MariaDB report hundredths, MySQL 8.0 and later whole seconds.
    """

    file: str
    line: int
    kind: str
    seconds: float


@dataclass(frozen=True, slots=True)
class Spins:
    """Waits for locks of one kind since the server started; MySQL 8.0 and later always report zeros."""

    spins: int
    rounds: int
    os_waits: int


@dataclass(frozen=True, slots=True)
class SemaphoreText:
    """Waits for InnoDB's internal locks.

    Attributes:
        is_reported: whether the server reports these waits; MariaDB 10.6 and later leave the section empty.
        waits: the threads that wait at the moment of the reading.
        spins: by kind of lock, `mutex`, `rw_shared`, `rw_excl` or `rw_sx`, where the server has the kind.
    """

    is_reported: bool
    waits: tuple[Wait, ...] = ()
    spins: Mapping[str, Spins] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class InnodbStatus:
    """The figures of a status text; figures that the text lacks are missing.

    Attributes:
        semaphores: None where the text has no such section.
        log_bytes: the log sequence number: bytes written to the redo log since the data directory was created.
        gauges: the other figures, by the names that they are stored under. Figures of the pool are numbers of pages. Searches
            by the adaptive hash index are averages over the time since any client last read the status.
        cut: whether the end of the text is missing, so that the sections after users' statements are unknown.
    """

    semaphores: SemaphoreText | None
    log_bytes: int | None
    gauges: Mapping[str, float]
    cut: bool


def parse(text: str) -> InnodbStatus:
    """Return the figures of a status text. Missing, cut or malformed parts are left out; nothing is raised."""
    split = innodb_sections.split(text)

    def section(name: str) -> Sequence[str]:
        return split.innodb.get(name, ())

    pool, log = section("BUFFER POOL AND MEMORY"), section("LOG")
    changes = section("INSERT BUFFER AND ADAPTIVE HASH INDEX")
    log_bytes, checkpoint = _number(log, _SEQUENCE), _number(log, _CHECKPOINT)
    gauges = {
        "history_list": _history(split.heads),
        "checkpoint_age": None if log_bytes is None or checkpoint is None else log_bytes - checkpoint,
        **_numbers(changes, _IBUF, ("ibuf_size_pages", "ibuf_free_pages", "ibuf_segment_pages")),
        **_numbers(section("ROW OPERATIONS"), _INSIDE, ("queries_inside", "queries_queued")),
        "pending_reads": _number(pool, _POOL_READS),
        "pending_writes": sum(_numbers(pool, _POOL_WRITES, ("LRU", "list", "page")).values()) if pool else None,
        "pool_size_pages": _number(pool, _POOL_SIZE),
        **_pages(pool, ""),
    }
    # Averages over less than a second, 0 in the text, are useless: the server divides by a time near 0.
    if _number(split.head, _SPAN):
        searches = changes or section("ADAPTIVE HASH INDEX")
        gauges |= _numbers(searches, _AHI, ("ahi_hash_searches_per_s", "ahi_other_searches_per_s"))
    for number, lines in _pools(section("INDIVIDUAL BUFFER POOL INFO")).items():
        gauges |= _pages(lines, f"pool/{number}/")
    return InnodbStatus(
        semaphores=_semaphores(section("SEMAPHORES")) if "SEMAPHORES" in split.innodb else None,
        log_bytes=log_bytes,
        gauges={name: value for name, value in gauges.items() if value is not None},
        cut=split.cut,
    )


def _first(lines: Iterable[str], pattern: re.Pattern[str]) -> re.Match[str] | None:
    return next((match for line in lines if (match := pattern.fullmatch(line))), None)


def _number(lines: Iterable[str], pattern: re.Pattern[str]) -> int | None:
    match = _first(lines, pattern)
    return int(match[1]) if match else None


def _numbers(lines: Iterable[str], pattern: re.Pattern[str], names: Sequence[str]) -> dict[str, float]:
    match = _first(lines, pattern)
    return {name: float(number) for name, number in zip(names, match.groups(), strict=False) if number} if match else {}


def _semaphores(lines: Sequence[str]) -> SemaphoreText:
    waits = tuple(_waits(lines))
    matches = (_SPINS.fullmatch(line) for line in lines)
    spins = {_KINDS[match[1]]: Spins(int(match[2]), int(match[3]), int(match[4])) for match in matches if match}
    return SemaphoreText(is_reported=bool(waits or spins or _first(lines, _ARRAY)), waits=waits, spins=spins)


def _waits(lines: Sequence[str]) -> list[Wait]:
    waits: list[Wait] = []
    for line in lines:
        if match := _WAIT.fullmatch(line):
            waits.append(Wait(PurePosixPath(match[1]).name, int(match[2]), "", float(match[3])))
        elif waits and (latch := _LATCH.fullmatch(line)):
            waits[-1] = replace(waits[-1], kind=latch[1])
        elif waits and _MUTEX.fullmatch(line):
            waits[-1] = replace(waits[-1], kind="Mutex")
    return waits


def _history(heads: Sequence[Sequence[str]]) -> int | None:
    """Return the length of the history list; None where a user's text imitates the line with another length."""
    lengths = {_number(head, _HISTORY) for head in heads}
    return lengths.pop() if len(lengths) == 1 else None


def _pages(lines: Sequence[str], prefix: str) -> dict[str, float | None]:
    return {f"{prefix}free_pages": _number(lines, _POOL_FREE), f"{prefix}dirty_pages": _number(lines, _POOL_DIRTY)}


def _pools(lines: Sequence[str]) -> dict[int, list[str]]:
    """Return the lines of each pool by its number, where there are several."""
    parts: dict[int, list[str]] = {}
    part: list[str] = []
    for line in lines:
        if match := _POOL.fullmatch(line):
            part = parts.setdefault(int(match[1]), [])
        part.append(line)
    return parts
