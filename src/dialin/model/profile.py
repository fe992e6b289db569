"""Profiles of a server while load was measured: where its threads used the CPU, where they waited, and their system calls."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import lru_cache

KERNEL = "_[k]"
"""What the name of a frame ends with if it is in the kernel, as the tools for flame graphs know it."""

PREEMPTED = f"preempted{KERNEL}"
"""The only frame of the time in which a thread could run, and another one had the CPU."""

_SYSTEM_CALL = re.compile(r"__(?:x64|arm64|ia32|se|s390x|riscv)_(?:compat_)?sys_(?P<name>\w+)")

_WAITS_FOR_OTHERS = re.compile(r"os_event|my_cond_|inline_mysql_|native_|std::|safe_|PolicyMutex|TTASEventMutex|ib_mutex|vio_")
"""Functions that wait for whatever calls them: the caller says what for."""


class ThreadKind(StrEnum):
    """What a thread of the server does."""

    CONNECTIONS = "connections"
    LOG = "redo log"
    FLUSH = "page flush"
    PURGE = "purge"
    IO = "I/O"
    OTHER = "other threads"


@dataclass(frozen=True, slots=True)
class Slice:
    """A part of the measured window, in seconds since the epoch."""

    began: float
    ended: float


@dataclass(frozen=True, slots=True)
class Stack:
    """A call stack, and how often it was sampled.

    Attributes:
        frames: the functions, the outermost first; those of the kernel end with `KERNEL`. Of a system call, its name alone.
        samples: how often each slice of the profile has it.
    """

    kind: ThreadKind
    frames: tuple[str, ...]
    samples: tuple[int, ...]

    @property
    def function(self) -> str:
        """The function that used the CPU: time in the kernel belongs to the system call, or to what interrupted the program."""
        name, is_call = in_kernel(self.frames)
        if not name:
            return self.frames[-1] if self.frames else ""
        return f"{name} (system call)" if is_call else f"{name} (kernel)"

    @property
    def waits_in(self) -> str:
        """The function that waited, with the system call in which it did."""
        called, _ = in_kernel(self.frames)
        callers = [frame for frame in self.frames if not frame.endswith(KERNEL)]
        waiting = next((one for one in reversed(callers) if not _WAITS_FOR_OTHERS.match(one)), "".join(callers[-1:]))
        return f"{waiting} ({called})" if waiting and called else waiting or called


def in_kernel(frames: Sequence[str]) -> tuple[str, bool]:
    """Return what a stack does in the kernel, and whether that is a system call, by its name; an empty text for nothing."""
    kernel = [frame for frame in frames if frame.endswith(KERNEL)]
    called = next(filter(None, map(_system_call, kernel)), None)
    return called or "".join(kernel[:1]).removesuffix(KERNEL), called is not None


@lru_cache(maxsize=10_000)
def _system_call(frame: str) -> str | None:
    found = _SYSTEM_CALL.fullmatch(frame.removesuffix(KERNEL))
    return found["name"] if found else None


@dataclass(frozen=True, slots=True)
class Profile:
    """The stacks of one trial: of the CPU time of its server, of the time that threads waited, or of system calls.

    Attributes:
        per_sample: what each sample stands for: seconds of CPU time or of waiting, or a number of calls.
        waits: where threads waited, in other slices of the trial; None where that was not traced. `calls` are the system calls.
        untraced: why that was not traced; empty where it was.
    """

    per_sample: float
    slices: Sequence[Slice]
    stacks: Sequence[Stack]
    waits: Profile | None = None
    calls: Profile | None = None
    untraced: str = ""

    @property
    def samples(self) -> int:
        return sum(sum(stack.samples) for stack in self.stacks)
