"""Reads the call stacks and traces that `perf script` prints, and adds them up by kind of thread and by slice of time."""

from __future__ import annotations

import platform
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache, lru_cache
from math import inf
from pathlib import PurePath

from dialin.model.profile import KERNEL, PREEMPTED, Slice, Stack, ThreadKind, in_kernel
from dialin.text import visible

FIELDS = "comm,tid,time,period,ip,sym,dso"
"""The fields that `perf script` must print."""

TRACE_FIELDS = "comm,pid,tid,time,event,ip,sym,dso,trace"
"""Those of a trace of switches and system calls."""

_TRACED = re.compile(r"\s*(?P<name>\S.*?)\s+(?P<process>-?\d+)/(?P<thread>-?\d+)\s+(?P<time>\d+\.\d+):\s+(?P<event>\S.*?)\s*")
_CALL = re.compile(r"raw_syscalls:sys_enter\S*\s+NR (?P<number>\d+)\b.*")
_SWITCH = re.compile(r"PERF_RECORD_SWITCH(?:_CPU_WIDE)?\s+(?P<way>IN|OUT)(?P<preempted>\s+preempt)?(?:\s+(?:next|prev) .*)?")
_LIBRARY = re.compile(r"(?:libc|libpthread|libaio|liburing|libstdc\+\+|ld)\b[^/]*|\[vdso\]")
"""Files of functions that wait for whatever calls them."""

_SAMPLE = re.compile(r"(?P<name>\S.*?)\s+(?P<thread>\d+)\s+(?P<time>\d+\.\d+):\s+\d+\s*")
_FRAME = re.compile(r"\s+(?P<address>[0-9a-f]+) (?P<symbol>.+) \((?P<file>[/\[].*?|[^()]*)(?: \(deleted\))?\)")
_NO_SYMBOL = "[unknown]"

Counts = Counter[int]
"""How often each slice has a stack."""

_KINDS: Sequence[tuple[ThreadKind, re.Pattern[str]]] = (
    (ThreadKind.PURGE, re.compile(r"srv_purge|purge_coordinator|row_purge_step|srv_wkr|srv_worker")),
    (ThreadKind.LOG, re.compile(r"^ib_log|/innodb/log_|log_(?:writer|flusher|checkpointer|.*notifier)")),
    (ThreadKind.FLUSH, re.compile(r"page_clean|pg_flush|page_flush|buf_flush_page")),
    (ThreadKind.IO, re.compile(r"^ib_io|/innodb/io_|io_handler|fil_aio")),
    (ThreadKind.CONNECTIONS, re.compile(r"^connection$|one_connection|handle_connection|do_command|thread_pool/worker")),
)
"""How threads are recognized: by their name in the performance schema or the kernel, or by a function that they are in.

Threads of connections purge nothing, but call functions with `purge` in their names when they commit.
"""


@dataclass(frozen=True, slots=True)
class Sample:
    """A stack, the outermost frame first; `time` is of the clock that perf recorded with, in seconds.

    Attributes:
        until: of a wait, when it ended, in infinity where that was not recorded; None of a sample.
    """

    name: str
    thread: int
    time: float
    frames: tuple[str, ...]
    until: float | None = None


@dataclass(frozen=True, slots=True)
class Call(Sample):
    """A system call, whose name is the only frame."""


def read_samples(lines: Iterable[str]) -> Iterator[Sample]:
    """Yield the samples that `perf script -F FIELDS` prints; lines that are neither a sample nor a frame are left out."""
    head: re.Match[str] | None = None
    frames: list[str] = []
    for line in lines:
        text = line.rstrip("\n")
        if frame := _FRAME.fullmatch(text):
            frames.append(_name(frame["symbol"], frame["file"]))
        elif found := _SAMPLE.fullmatch(text):
            if head is not None:
                yield _sample(head, frames)
            head, frames = found, []
    if head is not None:
        yield _sample(head, frames)


def _sample(head: re.Match[str], frames: Sequence[str]) -> Sample:
    return Sample(head["name"], int(head["thread"]), float(head["time"]), tuple(reversed(frames)) or (_NO_SYMBOL,))


def read_trace(lines: Iterable[str], pid: int) -> Iterator[Sample | Call]:
    """Yield a process's waits and system calls that `perf script` prints with `TRACE_FIELDS`; some waits have no frames.

    A stack is followed by the switch of its thread away from the CPU, and at the end of the wait by one back to it; what other
    CPUs did may be between them.
    """
    frames: list[tuple[str, str]] = []
    leaving: dict[int, list[tuple[str, str]]] = {}
    waiting: dict[int, Sample] = {}
    for line in lines:
        text = line.rstrip("\n")
        if frame := _FRAME.fullmatch(text):
            frames.append((_name(frame["symbol"], frame["file"]), frame["file"]))
            continue
        traced = _TRACED.fullmatch(text)
        if traced is None:
            continue
        frames = []
        if int(traced["process"]) != pid:
            continue
        thread, time, event = int(traced["thread"]), float(traced["time"]), traced["event"]
        if call := _CALL.fullmatch(event):
            yield Call(traced["name"], thread, time, (name_of_call(int(call["number"])),))
        elif (switch := _SWITCH.fullmatch(event)) is None:
            leaving[thread] = frames
        elif switch["way"] == "IN":
            if wait := waiting.pop(thread, None):
                yield replace(wait, until=time)
        else:
            if wait := waiting.pop(thread, None):
                yield wait
            stack = _waiting_frames(leaving.pop(thread, []))
            waiting[thread] = Sample(traced["name"], thread, time, (PREEMPTED,) if switch["preempted"] else stack, inf)
    yield from waiting.values()


def _waiting_frames(frames: Sequence[tuple[str, str]]) -> tuple[str, ...]:
    """Return the frames of a wait, given with their files from the innermost: what waited, and what for in the kernel."""
    called, _ = in_kernel([name for name, _ in reversed(frames)])
    own = [(name, PurePath(file).name) for name, file in frames if not name.endswith(KERNEL)]
    while len(own) > 1 and _LIBRARY.fullmatch(own[0][1]):
        own.pop(0)
    return (*(name for name, _ in reversed(own)), *([called + KERNEL] if called else []))


@lru_cache(maxsize=100_000)
def _name(symbol: str, file: str) -> str:
    """Return the name of a frame: its function, or in brackets the file that has no name for it."""
    in_kernel = file.startswith("[") and file not in ("[vdso]", "[unknown]")
    name = f"[{PurePath(file.strip('[]')).name or 'unknown'}]" if symbol == _NO_SYMBOL else symbol
    return visible(name).replace(";", ":") + (KERNEL if in_kernel else "")


def kind_of(names: Iterable[str], stacks: Mapping[tuple[str, ...], int]) -> ThreadKind:
    """Return what a thread does: by its names, or where these say nothing, by the functions of most of its samples.

    `stacks` has how often each was sampled; those that say nothing do not count.
    """
    if kind := _recognized(names):
        return kind
    votes: Counter[ThreadKind] = Counter()
    for frames, count in stacks.items():
        if kind := _recognized(frames):
            votes[kind] += count
    return max(sorted(votes), key=lambda one: votes[one], default=ThreadKind.OTHER)


def _recognized(texts: Iterable[str]) -> ThreadKind | None:
    return next((kind for text in texts for kind, pattern in _KINDS if pattern.search(text)), None)


def add_up(samples: Iterable[Sample], slices: Sequence[Slice], threads: Mapping[int, str], offset: float) -> list[Stack]:
    """Return the stacks of samples, those with most samples first; samples outside the slices are left out.

    A wait counts its microseconds up to the end of its slice; those of waits without frames count, by thread, for the stacks
    that are known. `threads` has names of threads by their number, as the server calls them; `offset` is the seconds from the
    clock of perf to that of the slices.
    """
    names: dict[int, list[str]] = {}
    found: dict[int, dict[tuple[str, ...], Counts]] = {}
    for sample in samples:
        at = sample.time + offset
        number = next((number for number, one in enumerate(slices) if one.began <= at < one.ended), None)
        if number is not None:
            own = names.setdefault(sample.thread, [threads[sample.thread]] if sample.thread in threads else [])
            if sample.name not in own:
                own.append(sample.name)
            weight = 1 if sample.until is None else round(1e6 * (min(sample.until + offset, slices[number].ended) - at))
            found.setdefault(sample.thread, {}).setdefault(sample.frames, Counter())[number] += weight
    counts: dict[tuple[ThreadKind, tuple[str, ...]], Counts] = {}
    for thread, stacks in found.items():
        unknown = stacks.pop((), Counter()).total()
        known = sum(one.total() for frames, one in stacks.items() if frames != (PREEMPTED,))
        factor = 1 + unknown / known if known else 1.0
        kind = kind_of(names[thread], {frames: one.total() for frames, one in stacks.items()})
        for frames, one in stacks.items():
            scaled = one if frames == (PREEMPTED,) else Counter({place: round(factor * count) for place, count in one.items()})
            counts.setdefault((kind, frames), Counter()).update(scaled)
    added = [Stack(kind, frames, tuple(one[number] for number in range(len(slices)))) for (kind, frames), one in counts.items()]
    return sorted(added, key=lambda one: (-sum(one.samples), one.kind, one.frames))


_X86_64 = """
0 read 1 write 2 open 3 close 4 stat 5 fstat 7 poll 8 lseek 9 mmap 10 mprotect 11 munmap 12 brk 13 rt_sigaction
14 rt_sigprocmask 16 ioctl 17 pread64 18 pwrite64 19 readv 20 writev 21 access 23 select 24 sched_yield 25 mremap
26 msync 28 madvise 35 nanosleep 39 getpid 41 socket 42 connect 43 accept 44 sendto 45 recvfrom 46 sendmsg 47 recvmsg
48 shutdown 54 setsockopt 55 getsockopt 56 clone 60 exit 72 fcntl 74 fsync 75 fdatasync 76 truncate 77 ftruncate
82 rename 87 unlink 96 gettimeofday 98 getrusage 128 rt_sigtimedwait 186 gettid 202 futex 203 sched_setaffinity
204 sched_getaffinity 206 io_setup 207 io_destroy 208 io_getevents 209 io_submit 219 restart_syscall 221 fadvise64
228 clock_gettime 230 clock_nanosleep 232 epoll_wait 233 epoll_ctl 234 tgkill 257 openat 262 newfstatat 263 unlinkat
264 renameat 270 pselect6 271 ppoll 277 sync_file_range 281 epoll_pwait 285 fallocate 288 accept4 295 preadv
296 pwritev 309 getcpu 318 getrandom 324 membarrier 327 preadv2 328 pwritev2 332 statx 333 io_pgetevents 334 rseq
425 io_uring_setup 426 io_uring_enter 427 io_uring_register 435 clone3 441 epoll_pwait2 449 futex_waitv
454 futex_wake 455 futex_wait
"""
"""Of 64-bit programs (the kernel's arch/x86/entry/syscalls/syscall_64.tbl)."""

_GENERIC = """
0 io_setup 1 io_destroy 2 io_submit 4 io_getevents 21 epoll_ctl 22 epoll_pwait 25 fcntl 29 ioctl 35 unlinkat
38 renameat 45 truncate 46 ftruncate 47 fallocate 56 openat 57 close 62 lseek 63 read 64 write 65 readv 66 writev
67 pread64 68 pwrite64 69 preadv 70 pwritev 72 pselect6 73 ppoll 79 newfstatat 80 fstat 82 fsync 83 fdatasync
84 sync_file_range 93 exit 98 futex 101 nanosleep 113 clock_gettime 115 clock_nanosleep 122 sched_setaffinity
123 sched_getaffinity 124 sched_yield 128 restart_syscall 131 tgkill 134 rt_sigaction 135 rt_sigprocmask
137 rt_sigtimedwait 165 getrusage 168 getcpu 169 gettimeofday 172 getpid 178 gettid 198 socket 202 accept 203 connect
206 sendto 207 recvfrom 208 setsockopt 209 getsockopt 210 shutdown 211 sendmsg 212 recvmsg 214 brk 215 munmap
216 mremap 220 clone 222 mmap 223 fadvise64 226 mprotect 227 msync 233 madvise 242 accept4 278 getrandom
283 membarrier 286 preadv2 287 pwritev2 291 statx 292 io_pgetevents 293 rseq 425 io_uring_setup 426 io_uring_enter
427 io_uring_register 435 clone3 441 epoll_pwait2 449 futex_waitv 454 futex_wake 455 futex_wait
"""
"""Of architectures without a table of their own, as arm64 and riscv64 (the kernel's include/uapi/asm-generic/unistd.h)."""

_TABLES = {"x86_64": _X86_64, "aarch64": _GENERIC, "arm64": _GENERIC, "riscv64": _GENERIC, "loongarch64": _GENERIC}


@cache
def _names(machine: str) -> dict[int, str]:
    words = _TABLES.get(machine, "").split()
    return {int(number): name for number, name in zip(words[::2], words[1::2], strict=True)}


def name_of_call(number: int, machine: str | None = None) -> str:
    """Return the name of a system call on this machine; its number where servers seldom make it."""
    return _names(machine or platform.machine()).get(number, f"system call {number}")
