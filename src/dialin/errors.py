"""Error classes by what is at fault: the request, a server, or the load. Each error carries a remedy.

The terminal shows what is wrong and what to do. An unexpected exception is a fault of dialin: its traceback goes to a log file,
never to the terminal.
"""

from __future__ import annotations

from enum import IntEnum

from dialin.cause_sentences import sentence
from dialin.model.cause import Cause


class ExitCode(IntEnum):
    """The exit codes of dialin commands; scripts rely on them."""

    VERDICT = 0
    NO_VERDICT = 1
    MISUSE = 2
    FAILED_THROUGHOUT = 3
    INTERRUPTED = 130


class DialinError(Exception):
    """Base of every error that dialin raises on purpose.

    Args:
        what: what is wrong, naming the thing as the user wrote it: in one line, or as a cause that a study can store.
        remedy: what to do about it, in one line.
        log_tail: the last lines of the server's or driver's log that shows the problem.
        resumable: whether the study can be resumed once the remedy is applied; the code that runs the study adds the command.
    """

    exit_code: ExitCode = ExitCode.NO_VERDICT

    def __init__(self, what: str | Cause, remedy: str = "", log_tail: str = "", *, resumable: bool = False) -> None:
        text = sentence(what) if isinstance(what, Cause) else what
        super().__init__(text)
        self.what = text
        self.cause = what if isinstance(what, Cause) else Cause.quoted(what)
        self.remedy = remedy
        self.log_tail = log_tail
        self.resumable = resumable

    def __str__(self) -> str:
        if not self.remedy:
            return self.what
        problem = self.what if self.what.endswith("...") else f"{self.what.rstrip('.')}."
        return f"{problem} {self.remedy}"


class UserError(DialinError):
    """The request cannot be met as it was written; nothing was started, nothing was lost."""

    exit_code = ExitCode.MISUSE


class ServerError(DialinError):
    """A server did not start, died, hung or refused a request."""

    exit_code = ExitCode.FAILED_THROUGHOUT


class WorkloadError(DialinError):
    """The load could not be prepared, or its driver died."""

    exit_code = ExitCode.FAILED_THROUGHOUT


class ChangedByOthersError(DialinError):
    """Somebody else keeps changing a variable under test; what was measured so far is safe."""

    exit_code = ExitCode.NO_VERDICT


class ServerAwayError(DialinError):
    """An attached server did not come back in time, or came back as another one; what was measured so far is safe."""

    exit_code = ExitCode.NO_VERDICT


class InterruptedStudyError(DialinError):
    """The user asked to stop; what was measured so far is safe."""

    exit_code = ExitCode.INTERRUPTED
