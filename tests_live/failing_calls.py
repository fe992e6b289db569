"""Makes system calls of one process fail, by `faults/injector.c`; docs/faults.md says what dialin promises then."""

import errno
import shutil
import subprocess
from pathlib import Path

import psutil
import pytest

COMPILER = shutil.which("cc") or shutil.which("gcc")
SOURCE = Path(__file__).parent / "faults" / "injector.c"

needs_compiler = pytest.mark.skipif(COMPILER is None, reason="there is no C compiler (cc) for the fault injector")

FOR_EVER = 0

ERRORS = {
    "open": errno.EMFILE,
    "read": errno.EIO,
    "write": errno.ENOSPC,
    "truncate": errno.EIO,
    "fsync": errno.EIO,
    "rename": errno.ENOSPC,
    "unlink": errno.EIO,
    "mkdir": errno.ENOSPC,
    "flock": errno.ENOLCK,
    "socket": errno.EMFILE,
    "connect": errno.ETIMEDOUT,
    "send": errno.ECONNRESET,
    "recv": errno.ECONNRESET,
    "mmap": errno.ENOMEM,
    "thread": errno.EAGAIN,
    "fork": errno.EAGAIN,
}
MOST = tuple(call for call in ERRORS if call not in ("truncate", "mkdir", "connect"))
"""The calls of the matrix of studies, which has single cells of the others."""

ON_FILES = ("open", "read", "write", "truncate", "fsync", "rename", "unlink", "mkdir", "flock")


def compiled(directory):
    """Compile the injector; its library."""
    library = directory / "injector.so"
    subprocess.run([COMPILER, "-shared", "-fPIC", "-O1", "-o", library, SOURCE, "-ldl"], check=True)
    return library


class FailingCalls:
    """Calls of a process that fail, and what became of it."""

    def __init__(self, injector, log):
        self.injector, self.log = injector, log

    def environment(self, call, times, *, since="", part="", first=1, within=""):
        """What makes a call fail: from when a file exists, on files of a path, in the process with this part of its words."""
        given = {
            "LD_PRELOAD": self.injector,
            "FAULT_CALL": call,
            "FAULT_PATH": part,
            "FAULT_SINCE": since,
            "FAULT_FIRST": first,
            "FAULT_TIMES": times,
            "FAULT_ERRNO": ERRORS[call],
            "FAULT_LOG": self.log,
            "FAULT_IN": within,
            "RUST_BACKTRACE": 0,
        }
        return {name: str(value) for name, value in given.items()}

    @property
    def count(self):
        return self.log.stat().st_size if self.log.exists() else 0

    def left_running(self):
        """What the process started and is still there, by an inherited variable."""
        left = []
        for process in psutil.process_iter(["environ", "cmdline", "status"]):
            environment = process.info["environ"] or {}
            if environment.get("FAULT_LOG") == str(self.log) and process.info["status"] != psutil.STATUS_ZOMBIE:
                left.append(process.info["cmdline"])
        return left


def often(times):
    """A number of failing calls, for the name of a test."""
    return f"{times}_times" if times else "for_ever"
