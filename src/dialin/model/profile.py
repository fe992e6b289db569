"""CPU profiles of a server: call stacks of its threads, sampled while load was measured."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

KERNEL = "_[k]"
"""What the name of a frame ends with if it is in the kernel, as the tools for flame graphs know it."""

_SYSTEM_CALL = re.compile(r"__(?:x64|arm64|ia32|se|s390x|riscv)_(?:compat_)?sys_(?P<name>\w+)")


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
        frames: the functions, the outermost first; those of the kernel end with `KERNEL`.
        samples: how often each slice of the profile has it.
    """

    kind: ThreadKind
    frames: tuple[str, ...]
    samples: tuple[int, ...]

    @property
    def function(self) -> str:
        """The function that used the CPU: time in the kernel belongs to the system call, or to what interrupted the program."""
        kernel = [frame.removesuffix(KERNEL) for frame in self.frames if frame.endswith(KERNEL)]
        if not kernel:
            return self.frames[-1] if self.frames else ""
        called = next((found["name"] for frame in kernel if (found := _SYSTEM_CALL.fullmatch(frame))), None)
        return f"{called} (system call)" if called else f"{kernel[0]} (kernel)"


@dataclass(frozen=True, slots=True)
class Profile:
    """The profile of one trial.

    Attributes:
        seconds_per_sample: the CPU time that each sample stands for.
    """

    seconds_per_sample: float
    slices: Sequence[Slice]
    stacks: Sequence[Stack]

    @property
    def samples(self) -> int:
        return sum(sum(stack.samples) for stack in self.stacks)
