"""Error classes by whose fault an error is: the request, a setting, a server, the load, this machine. Each carries a remedy.

The terminal shows what is wrong and what to do. An unexpected exception is a fault of dialin: its traceback goes to a log file,
never to the terminal.
"""

from __future__ import annotations

import errno
import re
from collections.abc import Mapping, Sequence
from enum import IntEnum

from dialin.cause_sentences import sentence
from dialin.model.cause import Cause, CauseCode, Fault


class ExitCode(IntEnum):
    """The exit codes of dialin commands; scripts rely on them."""

    VERDICT = 0
    NO_VERDICT = 1
    MISUSE = 2
    FAILED_THROUGHOUT = 3
    WORSE = 4
    INTERRUPTED = 130


class DialinError(Exception):
    """Base of every error that dialin raises on purpose.

    Args:
        what: what is wrong, naming the thing as the user wrote it: in one line, or as a cause that a study can store.
        remedy: what to do about it, in one line.
        log_tail: the last lines of the server's or driver's log that shows the problem.
        resumable: whether the study can be resumed once the remedy is applied; the code that runs the study adds the command.
        fault: whose fault it is, if that is not what the class says. It decides what becomes of a trial that the error ends;
            None ends the study.
    """

    exit_code: ExitCode = ExitCode.NO_VERDICT
    fault: Fault | None = None

    def __init__(
        self,
        what: str | Cause,
        remedy: str = "",
        log_tail: str = "",
        *,
        resumable: bool = False,
        fault: Fault | None = None,
    ) -> None:
        text = sentence(what) if isinstance(what, Cause) else what
        super().__init__(text)
        self.what = text
        self.cause = what if isinstance(what, Cause) else Cause.quoted(what)
        self.remedy = remedy
        self.log_tail = log_tail
        self.resumable = resumable
        self.fault = fault or self.fault

    def __str__(self) -> str:
        if not self.remedy:
            return self.what
        problem = self.what if self.what.endswith("...") else f"{self.what.rstrip('.')}."
        return f"{problem} {self.remedy}"


class UserError(DialinError):
    """The request cannot be met as it was written; nothing was started, nothing was lost."""

    exit_code: ExitCode = ExitCode.MISUSE
    fault = Fault.REQUEST


class InapplicableError(UserError):
    """Options that a workload has no use for; `options` are their names in a study file."""

    def __init__(self, what: str, remedy: str, options: Sequence[str]) -> None:
        super().__init__(what, remedy)
        self.options = options


def together(mistakes: Sequence[UserError], where: str = "") -> UserError:
    """Return all mistakes of an input, of which there is at least one, as one error in one line; `where` comes first."""
    what = "; ".join(dict.fromkeys(one.what for one in mistakes))
    remedies = dict.fromkeys(one.remedy for one in mistakes if one.remedy)
    return UserError(f"{where}{what}", ". ".join(remedies).replace("?. ", "? "))


class SettingRefusedError(UserError):
    """A server refuses a value, or does not have the variable."""

    fault = Fault.SETTING


class ServerError(DialinError):
    """A server did not start, died, hung or refused a request."""

    exit_code = ExitCode.FAILED_THROUGHOUT
    fault = Fault.SERVER


class GuardTrippedError(ServerError):
    """The guard of a live server restored the baseline."""

    fault = Fault.GUARD


class NoAnswerError(ServerError):
    """A server could not be reached, or a connection to it broke; whether the network or the server is the reason is open."""

    fault = Fault.CONNECTION


class LostConnectionError(NoAnswerError):
    """A connection was closed or reset before an answer came. A server that hangs closes none; one that ends is seen to end."""


class WorkloadError(DialinError):
    """The load could not be prepared, or its driver died."""

    exit_code = ExitCode.FAILED_THROUGHOUT
    fault = Fault.WORKLOAD


class DriverKilledError(WorkloadError):
    """Something other than dialin killed the load driver."""

    fault = Fault.OUTSIDE


class MachineError(DialinError):
    """This machine failed dialin: its disk, its memory, or a limit of open files or processes. No server is to blame."""

    fault = Fault.MACHINE

    def __init__(self, what: str, remedy: str = "", log_tail: str = "", *, resumable: bool = True) -> None:
        super().__init__(Cause(CauseCode.MACHINE, {"words": what, "advice": remedy}), remedy, log_tail, resumable=resumable)

    @classmethod
    def of(cls, error: OSError, what: str = "", remedy: str = "") -> MachineError:
        """Return the error of a system call that failed; `what` says what could not be done, in place of the file's name."""
        named = f"{error.filename}" if error.filename else ""
        return cls(": ".join(filter(None, [what or named, error.strerror or str(error)])), remedy or _remedy(error))


_REMEDIES: Mapping[int, str] = {
    errno.ENOSPC: "Free disk space",
    errno.EDQUOT: "Free disk space, or raise the quota",
    errno.EIO: "Look for faults of the disk in the kernel's log (dmesg)",
    errno.EROFS: "Mount the file system writable",
    errno.EMFILE: "Raise the limit of open files (ulimit -n)",
    errno.ENFILE: "Close programs with many open files, or raise fs.file-max",
    errno.ENOMEM: "Free memory",
    errno.ENOBUFS: "Free memory",
    errno.EAGAIN: "Raise the limit of processes (ulimit -u), or end some",
}


def _remedy(error: OSError) -> str:
    return _REMEDIES.get(error.errno or 0, "Check that it exists, that you have permission, and that the disk has space")


def is_machine_fault(error: OSError) -> bool:
    """Return whether this machine refused what any request needs, such as space or an open file, and not this request."""
    return error.errno in _REMEDIES


def os_error(error: OSError, request: DialinError) -> DialinError:
    """Return the error of a system call that failed: `request` where what was asked for is at fault, else the machine's."""
    return MachineError(request.what, _remedy(error)) if is_machine_fault(error) else request


_NO_THREAD = ("can't start new thread", "Resource temporarily unavailable")
"""What Python, and a panic of a library in Rust, says where the system lets a process have no more threads."""

_NO_HOME = "Could not determine home directory"
"""What Python says of a path such as `~somebody/file`, where there is no such user."""


def machine_error(error: BaseException) -> MachineError | None:
    """Return the error of dialin for what this machine refused a program; None where the exception is something else."""
    if isinstance(error, OSError):
        return MachineError.of(error)
    if isinstance(error, MemoryError):
        return MachineError("Memory is full", "Free memory")
    if (isinstance(error, RuntimeError) or type(error).__name__ == _PANIC) and any(words in str(error) for words in _NO_THREAD):
        remedy = "Raise the limit of processes (ulimit -u, or that of the container), or end other programs; then try again"
        return MachineError("This machine allows no more threads", remedy)
    if isinstance(error, RuntimeError) and _NO_HOME in str(error):
        return MachineError("A path begins with ~ and the name of no user of this machine", "Write the whole path")
    return None


_PANIC = "PanicException"
"""The class of a panic of a library in Rust, such as polars, which is in no module to import."""
_DISK_FULL = re.compile(r"No space left on device|Disk quota exceeded")


def server_failure(cause: Cause, log_tail: str) -> DialinError:
    """Return the error of a server that ended, hung or did not start; its log shows whether that is its own fault.

    A server on a full disk ends, or waits for space: then the disk is named, and no setting is to blame.
    """
    if _DISK_FULL.search(log_tail):
        return MachineError(f"The disk of the server is full. {sentence(cause)}", "Free disk space", log_tail)
    return ServerError(cause, log_tail=log_tail)


class ChangedByOthersError(DialinError):
    """Somebody else keeps changing a variable under test; what was measured so far is safe."""

    exit_code = ExitCode.NO_VERDICT


class ServerAwayError(DialinError):
    """An attached server did not come back in time, or came back as another one; what was measured so far is safe."""

    exit_code = ExitCode.NO_VERDICT


class OutOfTimeError(DialinError):
    """The minutes of a study were used up before a trial was completed; nothing failed."""


class InterruptedStudyError(DialinError):
    """The user asked to stop; what was measured so far is safe."""

    exit_code = ExitCode.INTERRUPTED
