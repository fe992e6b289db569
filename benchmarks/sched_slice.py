"""Runs a program with a time slice of its own: python benchmarks/sched_slice.py MICROSECONDS PROGRAM [ARGUMENT ...]

The kernel's fair scheduler (EEVDF) takes a slice from 0.1 to 100 ms from Linux 6.12 on (sched_setattr). The program's threads
inherit it.
"""

from __future__ import annotations

import ctypes
import os
import platform
import sys

NUMBERS = {"x86_64": 314, "aarch64": 274}
"""Of the system call sched_setattr, by machine."""


class Attributes(ctypes.Structure):
    """What the kernel calls struct sched_attr, in its first version."""

    _fields_ = (
        ("size", ctypes.c_uint32),
        ("policy", ctypes.c_uint32),
        ("flags", ctypes.c_uint64),
        ("nice", ctypes.c_int32),
        ("priority", ctypes.c_uint32),
        ("runtime", ctypes.c_uint64),
        ("deadline", ctypes.c_uint64),
        ("period", ctypes.c_uint64),
    )


def set_slice(microseconds: int) -> None:
    """Set the time slice of this process; its policy and nice value stay.

    Raises:
        OSError: the kernel refuses.
    """
    attributes = Attributes(
        size=ctypes.sizeof(Attributes),
        policy=os.sched_getscheduler(0),
        nice=os.getpriority(os.PRIO_PROCESS, 0),
        runtime=1000 * microseconds,
    )
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.syscall(NUMBERS[platform.machine()], 0, ctypes.byref(attributes), 0) != 0:
        number = ctypes.get_errno()
        raise OSError(number, f"sched_setattr: {os.strerror(number)}")


def main() -> None:
    try:
        slice_us, program = int(sys.argv[1]), sys.argv[2:]
        set_slice(slice_us)
        os.execvp(program[0], program)
    except (IndexError, ValueError):
        sys.exit((__doc__ or "").splitlines()[0])
    except OSError as error:
        sys.exit(str(error))


if __name__ == "__main__":
    main()
