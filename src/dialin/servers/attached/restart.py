"""The user's command that restarts an attached server."""

from __future__ import annotations

import shlex
import subprocess
import tempfile
from collections.abc import Iterable

from dialin.errors import ServerError, UserError, os_error
from dialin.model.cause import Cause, CauseCode, Fault
from dialin.servers.processes import kill

LIMIT = 600.0
"""Seconds that a restart command may take."""

_TAIL = 8192
_LINES = 20


class RestartCommandError(ServerError):
    """The user's restart command failed, or did not return in time."""

    fault = Fault.REQUEST


def split_command(command: str) -> list[str]:
    """Return the program and arguments of a restart command, split as by a shell.

    Raises:
        UserError: the command is empty, or its quotes do not close.
    """
    try:
        words = shlex.split(command)
    except ValueError as error:
        raise UserError(f"The restart command cannot be read: {error}", "Close its quotes") from None
    if not words:
        raise UserError("The restart command is empty", 'Give one like "systemctl restart mysql"')
    return words


def run(command: str) -> str:
    """Run a restart command to its end, without a shell; return the last lines of its output.

    The command runs in a new session, so that Ctrl-C does not end a server that it starts.

    Raises:
        UserError: the command cannot be run.
        RestartCommandError: the command failed, or did not return in time; the error has its output.
    """
    words = split_command(command)
    # A file, not a pipe: a server that the command starts may keep its end of a pipe open for ever.
    with tempfile.TemporaryFile() as output:
        try:
            process = subprocess.Popen(
                words, stdin=subprocess.DEVNULL, stdout=output, stderr=subprocess.STDOUT, start_new_session=True
            )
        except OSError as error:
            request = UserError(
                f"The restart command cannot be run: {words[0]}: {error.strerror}", "Give a program with its arguments"
            )
            raise os_error(error, request) from None
        try:
            code: int | None = process.wait(LIMIT)
        except subprocess.TimeoutExpired:
            kill(process, words[0])
            code = None
        output.seek(0)
        printed = "\n".join(output.read()[-_TAIL:].decode("utf-8", "replace").splitlines()[-_LINES:])
    if code is None:
        raise RestartCommandError(
            Cause(CauseCode.RESTART_COMMAND_SLOW, {"seconds": LIMIT, "program": words[0]}),
            "Give a command that returns once the server has started",
            printed,
        )
    if code != 0:
        # Only the program is named: an argument may be a secret, and the failure of a trial is stored.
        failed = Cause(CauseCode.RESTART_COMMAND_FAILED, {"exit_code": code, "program": words[0]})
        raise RestartCommandError(failed, "Run it by hand", printed)
    return printed


def did_not_restart(error: ServerError, persisted: Iterable[str]) -> ServerError:
    """Return the error of a server that does not answer, perhaps because it cannot start with what dialin persisted."""
    return ServerError(
        Cause(CauseCode.MAY_NOT_START, {"cause": error.cause.as_stored(), "variables": sorted(persisted)}),
        "Start it once with --persisted-globals-load=OFF, run `dialin restore`, then start it as usual",
        error.log_tail,
    )
