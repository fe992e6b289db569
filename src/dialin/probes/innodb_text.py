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
    """A thread that waits for a lock of InnoDB's own.

    Attributes:
        file: of the source, where it waits; without its directory.
        line: in that file.
        kind: `S-lock`, `X-lock`, `X-lock (wait_ex)`, `SX-lock` or `Mutex`; empty where the text does not say.
        seconds: that it has waited so far; 5.x and MariaDB give hundredths, MySQL 8.0 and later whole seconds.
    """

    file: str
    line: int
    kind: str
    seconds: float


@dataclass(frozen=True, slots=True)
class Spins:
    """Waits for locks of one kind since the server started; MySQL 8.0 and later write zeros whatever happens."""

    spins: int
    rounds: int
    os_waits: int


@dataclass(frozen=True, slots=True)
class SemaphoreText:
    """Waits for InnoDB's own locks.

    Attributes:
        is_reported: whether the server reports anything of them; MariaDB from 10.6 on leaves the section empty.
        spins: by `mutex`, `rw_shared`, `rw_excl` and `rw_sx`, those that the server has.
    """

    is_reported: bool
    waits: tuple[Wait, ...] = ()
    spins: Mapping[str, Spins] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class RedoLog:
    """The redo log, in bytes since the server was made.

    Attributes:
        sequence: written to the log's buffer.
        checkpoint: up to here changed pages are on the disk; None where the text does not say.
    """

    sequence: int
    checkpoint: int | None = None

    @property
    def checkpoint_age(self) -> int | None:
        """Bytes of the log that recovery would have to read."""
        return None if self.checkpoint is None else self.sequence - self.checkpoint


@dataclass(frozen=True, slots=True)
class Pool:
    """Numbers of pages of a buffer pool, or of all of them together; None where the text does not say.

    `pages` is the size of the pool; `dirty` pages were changed since they were written.
    """

    pages: int | None = None
    free: int | None = None
    dirty: int | None = None
    pending_reads: int | None = None
    pending_writes: int | None = None


@dataclass(frozen=True, slots=True)
class InsertBuffer:
    """The change buffer, in pages: those in use, those of its segment, and the free ones of its segment."""

    size: int
    segment: int
    free: int


@dataclass(frozen=True, slots=True)
class Searches:
    """Index searches per second: by the adaptive hash index, and those that went down the tree."""

    hash: float
    other: float


@dataclass(frozen=True, slots=True)
class Admission:
    """Threads that innodb_thread_concurrency let in, and those that wait to be let in."""

    inside: int
    queued: int


@dataclass(frozen=True, slots=True)
class InnodbStatus:
    """What the text says; None and empty where it does not.

    Attributes:
        seconds: over which its rates are averages, rounded down; 0 makes them worthless.
        history: the length of the history list: transactions whose old versions of rows are not purged yet.
        pools: each of them by its number, where there are several.
        cut: whether the end of the text is missing; then what stands behind users' statements is not known.
    """

    seconds: int | None = None
    semaphores: SemaphoreText | None = None
    log: RedoLog | None = None
    history: int | None = None
    pool: Pool | None = None
    pools: Mapping[int, Pool] = field(default_factory=dict)
    insert_buffer: InsertBuffer | None = None
    searches: Searches | None = None
    admission: Admission | None = None
    cut: bool = False


def parse(text: str) -> InnodbStatus:
    """Return what a status text says; whatever is missing, cut or strange in it is left out, and nothing is raised."""
    split = innodb_sections.split(text)
    sections = split.innodb
    changes = sections.get("INSERT BUFFER AND ADAPTIVE HASH INDEX", ())
    return InnodbStatus(
        seconds=_number(split.head, _SPAN),
        semaphores=_semaphores(sections["SEMAPHORES"]) if "SEMAPHORES" in sections else None,
        log=_log(sections.get("LOG", ())),
        history=_history(split.heads),
        pool=_pool(sections["BUFFER POOL AND MEMORY"]) if "BUFFER POOL AND MEMORY" in sections else None,
        pools=_pools(sections.get("INDIVIDUAL BUFFER POOL INFO", ())),
        insert_buffer=_insert_buffer(changes),
        searches=_searches(changes or sections.get("ADAPTIVE HASH INDEX", ())),
        admission=_admission(sections.get("ROW OPERATIONS", ())),
        cut=split.cut,
    )


def _first(lines: Iterable[str], pattern: re.Pattern[str]) -> re.Match[str] | None:
    """Return the match of the first line that a pattern matches as a whole."""
    return next((match for line in lines if (match := pattern.fullmatch(line))), None)


def _number(lines: Iterable[str], pattern: re.Pattern[str]) -> int | None:
    match = _first(lines, pattern)
    return int(match[1]) if match else None


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


def _log(lines: Sequence[str]) -> RedoLog | None:
    sequence = _number(lines, _SEQUENCE)
    return None if sequence is None else RedoLog(sequence, _number(lines, _CHECKPOINT))


def _history(heads: Sequence[Sequence[str]]) -> int | None:
    """Return the length of the history list; None where a user's statement looks like another one."""
    lengths = {_number(head, _HISTORY) for head in heads}
    return lengths.pop() if len(lengths) == 1 else None


def _pool(lines: Sequence[str]) -> Pool:
    writes = _first(lines, _POOL_WRITES)
    return Pool(
        pages=_number(lines, _POOL_SIZE),
        free=_number(lines, _POOL_FREE),
        dirty=_number(lines, _POOL_DIRTY),
        pending_reads=_number(lines, _POOL_READS),
        pending_writes=sum(int(number) for number in writes.groups() if number) if writes else None,
    )


def _pools(lines: Sequence[str]) -> dict[int, Pool]:
    parts: dict[int, list[str]] = {}
    part: list[str] = []
    for line in lines:
        if match := _POOL.fullmatch(line):
            part = parts.setdefault(int(match[1]), [])
        part.append(line)
    return {number: _pool(part) for number, part in parts.items()}


def _insert_buffer(lines: Sequence[str]) -> InsertBuffer | None:
    match = _first(lines, _IBUF)
    return InsertBuffer(size=int(match[1]), free=int(match[2]), segment=int(match[3])) if match else None


def _searches(lines: Sequence[str]) -> Searches | None:
    match = _first(lines, _AHI)
    return Searches(float(match[1]), float(match[2])) if match else None


def _admission(lines: Sequence[str]) -> Admission | None:
    match = _first(lines, _INSIDE)
    return Admission(int(match[1]), int(match[2])) if match else None
