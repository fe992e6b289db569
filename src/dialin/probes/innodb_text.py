"""Parses the text of SHOW ENGINE INNODB STATUS, from MySQL 5.5 to 9.7 and MariaDB 10.1 to 11.4."""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import PurePosixPath

from dialin.probes import innodb_sections

_N = r"(\d{1,20})"
_F = r"(\d{1,20}(?:\.\d{1,9})?)"
_SPAN = re.compile(rf"Per second averages calculated from the last {_N} seconds")
_HISTORY = re.compile(rf"History list length {_N}")

_ARRAY = re.compile(r"OS WAIT ARRAY INFO: .*")
_WAIT = re.compile(rf"--Thread \S+ has waited at (.*) line {_N} for {_F} seconds the semaphore:")
_LATCH = re.compile(
    r"(?P<kind>\S+(?: \(\w+\))?) on RW-latch at \S+ (?:'(?P<name>[^']*)'|created in file (?P<file>.*) line (?P<line>\d{1,9}))"
)
_MUTEX = re.compile(
    r"Mutex at [^\s,]+(?:, Mutex (?P<mutex>.+?) created \S+, .*"
    r"| '(?P<name>[^']*)', lock var \d+| created file (?P<file>.*) line (?P<line>\d{1,9}), lock var \d+)"
)
_OF_A_WAIT = re.compile(
    r"|waiters flag \d+|Last time (?:read|write) locked in file .*|Last time reserved .*|Holder thread .*"
    r"|number of readers \d{1,20}, waiters flag \d+, lock_word: .*|a writer \(thread id \S+\) has reserved it in mode +.+"
    r"|wait (?:has ended|is ending)"
)
_SPINS = re.compile(rf"(Mutex spin waits|RW-shared spins|RW-excl spins|RW-sx spins) {_N}, rounds {_N}, OS waits {_N}")
_NEXT = re.compile(f"{_WAIT.pattern}|{_SPINS.pattern}|{_ARRAY.pattern}|Spin rounds per wait: .*")
"""Where what belongs to a wait ends."""

_KINDS = {
    "Mutex spin waits": "mutex",
    "RW-shared spins": "rw_shared",
    "RW-excl spins": "rw_excl",
    "RW-sx spins": "rw_sx",
}

_SEQUENCE = re.compile(rf"Log sequence number +{_N}")
_FLUSHED = re.compile(rf"Log flushed up to +{_N}")
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

_UNUSED = re.compile(
    r"|=+|.* INNODB MONITOR OUTPUT|srv_master_thread .*"
    r"|OS WAIT ARRAY INFO: .*|Spin rounds per wait: .*"
    r"|Pending normal aio reads:[\d, \[\]]*, aio writes:[\d, \[\]]*"
    r"|Pending flushes \(fsync\)(?: log)?: \d+(?:; buffer pool: \d+)?"
    r"|\d+ pending p?reads, \d+ pending p?writes"
    r"|I/O thread \d+ state: .*| ibuf aio reads:.*|\d+ OS file reads, .*|[\d.]+ reads/s, .*"
    r"|Hash table size \d+, .*|merged operations:|discarded operations:| insert \d+, delete mark \d+, delete \d+"
    r"|(?:Log (?:capacity|buffer|written|minimum|maximum)|Added dirty pages|Pages flushed up|Max checkpoint age|Checkpoint age"
    r"|Modified age) .*|\d+ pending log (?:writes|flushes), .*|\d+ log i/o's done, .*"
    r"|(?:Total|Dictionary) (?:large )?memory allocated .*|Internal hash tables .*"
    r"| {4}(?:Adaptive hash index|Page hash|Dictionary cache|File system|Lock system|Recovery system) .*"
    r"|Buffer pool size, bytes .*|(?:Old database|Database) pages .*|Percent of dirty pages.*|Max dirty pages percent: .*"
    r"|Pages (?:made young|read) .*|[\d.]+ youngs/s, .*|Buffer pool hit rate .*|No buffer pool page gets since .*"
    r"|LRU len: .*|I/O sum\[.*"
    r"|---OLDEST VIEW---|Normal read view|Read view .*|-----------------|\d+ read views open inside InnoDB"
    r"|\d+ R[WO] transactions active inside InnoDB|\d+ out of \d+ descriptors used"
    r"|(?:Main thread process no\.|Process ID=).*|state: .*|Number of (?:system )?rows inserted .*|[\d.]+ inserts/s, .*"
)
"""Lines that are understood and hold nothing that is wanted."""


@dataclass(frozen=True, slots=True)
class Wait:
    """A thread that waits for a lock of InnoDB's own.

    Attributes:
        file: of the source, where it waits; without its directory.
        line: in that file.
        kind: `S-lock`, `X-lock`, `X-lock (wait_ex)`, `SX-lock` or `Mutex`; empty where the text does not say.
        seconds: that it has waited so far; 5.x and MariaDB give hundredths, MySQL 8.0 and later whole seconds.
        lock: the lock's name, or where in the source it was made; empty where the text does not say.
    """

    file: str
    line: int
    kind: str
    seconds: float
    lock: str = ""


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
        flushed: safe on the disk; None where the text does not say.
        checkpoint: up to here changed pages are on the disk; None where the text does not say.
    """

    sequence: int
    flushed: int | None = None
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
        unknown: by section, the lines that were not understood; those of users' statements too. The lines before the first
            section are those of the empty name.
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
    unknown: Mapping[str, tuple[str, ...]] = field(default_factory=dict)


class _Lines:
    """The lines of a section, None where there is no such section; those that are taken are understood."""

    def __init__(self, lines: Iterable[str] | None) -> None:
        self._left = list(lines or ())
        self.exists = lines is not None

    def take(self, pattern: re.Pattern[str]) -> re.Match[str] | None:
        """Return the first line that a pattern matches as a whole, and take it."""
        for index, line in enumerate(self._left):
            if match := pattern.fullmatch(line):
                del self._left[index]
                return match
        return None

    def number(self, pattern: re.Pattern[str]) -> int | None:
        """Return the first number of the first line that a pattern matches, and take the line."""
        match = self.take(pattern)
        return int(match[1]) if match else None

    def all(self) -> list[str]:
        lines, self._left = self._left, []
        return lines

    def put_back(self, line: str) -> None:
        self._left.append(line)

    def rest(self) -> tuple[str, ...]:
        return tuple(line for line in self._left if not _UNUSED.fullmatch(line))


def parse(text: str) -> InnodbStatus:
    """Return what a status text says; whatever is missing, cut or strange in it is left out, and nothing is raised."""
    split = innodb_sections.split(text)
    head = _Lines(split.head)
    sections = {name: _Lines(lines) for name, lines in split.innodb.items()}

    def section(name: str) -> _Lines:
        return sections.get(name, _Lines(None))

    changes = section("INSERT BUFFER AND ADAPTIVE HASH INDEX")
    status = InnodbStatus(
        seconds=head.number(_SPAN),
        semaphores=_semaphores(section("SEMAPHORES")),
        log=_log(section("LOG")),
        history=_history(split.heads),
        pool=_pool(section("BUFFER POOL AND MEMORY")),
        pools=_pools(section("INDIVIDUAL BUFFER POOL INFO")),
        insert_buffer=_insert_buffer(changes),
        searches=_searches(changes if changes.exists else section("ADAPTIVE HASH INDEX")),
        admission=_admission(section("ROW OPERATIONS")),
        cut=split.cut,
    )
    rest = {"": head.rest(), **{name: lines.rest() for name, lines in sections.items()}, **split.users}
    return replace(status, unknown={name: lines for name, lines in rest.items() if lines})


def _semaphores(section: _Lines) -> SemaphoreText | None:
    if not section.exists:
        return None
    waits = tuple(_waits(section))
    spins = {}
    while match := section.take(_SPINS):
        spins[_KINDS[match[1]]] = Spins(int(match[2]), int(match[3]), int(match[4]))
    return SemaphoreText(is_reported=bool(waits or spins or section.take(_ARRAY)), waits=waits, spins=spins)


def _waits(section: _Lines) -> Iterator[Wait]:
    lines = deque(section.all())
    while lines:
        line = lines.popleft()
        match = _WAIT.fullmatch(line)
        if match is None:
            section.put_back(line)
            continue
        kind = lock = ""
        while lines and not _NEXT.fullmatch(lines[0]):
            line = lines.popleft()
            if latch := _LATCH.fullmatch(line):
                kind, lock = latch["kind"], latch["name"] or _place(latch["file"], latch["line"])
            elif mutex := _MUTEX.fullmatch(line):
                kind, lock = "Mutex", mutex["mutex"] or mutex["name"] or _place(mutex["file"], mutex["line"])
            elif not _OF_A_WAIT.fullmatch(line):
                section.put_back(line)
        yield Wait(PurePosixPath(match[1]).name, int(match[2]), kind, float(match[3]), lock)


def _place(file: str, line: str) -> str:
    return f"{PurePosixPath(file).name}:{line}"


def _log(section: _Lines) -> RedoLog | None:
    sequence, flushed, checkpoint = (section.number(pattern) for pattern in (_SEQUENCE, _FLUSHED, _CHECKPOINT))
    return None if sequence is None else RedoLog(sequence, flushed, checkpoint)


def _history(heads: Sequence[Sequence[str]]) -> int | None:
    """Return the length of the history list; None where a user's statement looks like another one."""
    lengths = {_Lines(head).number(_HISTORY) for head in heads}
    return lengths.pop() if len(lengths) == 1 else None


def _pool(section: _Lines) -> Pool | None:
    if not section.exists:
        return None
    pages, free, dirty, reads = (section.number(pattern) for pattern in (_POOL_SIZE, _POOL_FREE, _POOL_DIRTY, _POOL_READS))
    return Pool(pages, free, dirty, reads, _sum(section.take(_POOL_WRITES)))


def _pools(section: _Lines) -> dict[int, Pool]:
    parts: list[tuple[int, list[str]]] = []
    for line in section.all():
        if match := _POOL.fullmatch(line):
            parts.append((int(match[1]), []))
        elif parts:
            parts[-1][1].append(line)
        else:
            section.put_back(line)
    pools = {}
    for number, lines in parts:
        part = _Lines(lines)
        if pool := _pool(part):
            pools[number] = pool
        for line in part.all():
            section.put_back(line)
    return pools


def _insert_buffer(section: _Lines) -> InsertBuffer | None:
    match = section.take(_IBUF)
    return InsertBuffer(size=int(match[1]), free=int(match[2]), segment=int(match[3])) if match else None


def _searches(section: _Lines) -> Searches | None:
    match = section.take(_AHI)
    return Searches(float(match[1]), float(match[2])) if match else None


def _admission(section: _Lines) -> Admission | None:
    match = section.take(_INSIDE)
    return Admission(int(match[1]), int(match[2])) if match else None


def _sum(match: re.Match[str] | None) -> int | None:
    return sum(int(number) for number in match.groups() if number) if match else None
