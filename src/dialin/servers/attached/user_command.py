"""The user's commands that an attached server is restarted with, that apply settings to it, or that restore data."""

from __future__ import annotations

import os
import shlex
import signal
import subprocess
import tempfile
from collections.abc import Iterable, Sequence
from contextlib import suppress
from pathlib import Path

import psutil

from dialin.errors import MachineError, ServerError, UserError, os_error
from dialin.model.cause import Cause, CauseCode, Fault
from dialin.scratch import scratch
from dialin.servers.processes import kill, processes, spawn, wait_shortening, was_not_run

LIMIT = 600.0
"""Seconds that a command may take."""

RESTART, APPLY, SNAPSHOT = "restart", "apply", "snapshot"
"""What a command is for."""

_EXAMPLES = {
    RESTART: "systemctl restart mysql",
    APPLY: "examples/apply/option-file.sh my.cnf",
    SNAPSHOT: "./snapshot.sh /dev/vg",
}
_RETURNS = {SNAPSHOT: "Give a command that returns once it is done"}

_TAIL = 8192
_LINES = 20
_ENDS_WITHIN = 5.0
"""Seconds that the processes of a command may take to end after SIGTERM."""


class CommandError(ServerError):
    """A command of the user failed, did not return in time, or did not do what it is for."""

    fault = Fault.REQUEST


def split_command(command: str, purpose: str = RESTART) -> list[str]:
    """Return the program and arguments of a command, split as by a shell.

    Raises:
        UserError: the command is empty, or its quotes do not close.
    """
    try:
        words = shlex.split(command)
    except ValueError as error:
        raise UserError(f"The {purpose} command cannot be read: {error}", "Close its quotes") from None
    if not words:
        raise UserError(f"The {purpose} command is empty", f'Give one like "{_EXAMPLES[purpose]}"')
    return words


def run(
    command: str,
    arguments: Sequence[str] = (),
    *,
    purpose: str = RESTART,
    limit: float | None = None,
    directory: Path | None = None,
    work: Path | None = None,
) -> str:
    """Run a command to its end, without a shell; return the last lines of its output.

    It runs in a new session, so that Ctrl-C does not end a server that it starts. If it does not return in time, it is ended
    with all processes of its group.

    Args:
        command: what the user gave.
        arguments: further arguments.
        purpose: `RESTART`, `APPLY` or `SNAPSHOT`.
        limit: seconds that it may take, by default `LIMIT`.
        directory: a private directory, which holds its PID while it runs; a new one where None is given.
        work: the directory that it runs in; the current one where None is given.

    Raises:
        UserError: the command cannot be run.
        CommandError: it failed, or did not return in time; the error has its output.
        MachineError: the private directory cannot be made.
    """
    words, limit = [*split_command(command, purpose), *arguments], LIMIT if limit is None else limit
    if directory is None:
        with scratch() as made:
            return _run(words, purpose, limit, made, work)
    try:
        directory.mkdir(parents=True, exist_ok=True, mode=0o700)
    except OSError as error:
        raise MachineError.of(error) from error
    await_earlier(directory, limit)
    return _run(words, purpose, limit, directory, work)


def _run(words: Sequence[str], purpose: str, limit: float, directory: Path, work: Path | None) -> str:
    # A file, not a pipe: a server that the command starts may keep its end of a pipe open for ever.
    with tempfile.TemporaryFile() as output:
        try:
            process = spawn(words, directory, purpose, output.fileno(), dies_by=None, work=work or Path.cwd())
        except OSError as error:
            raise os_error(error, _not_run(words[0], purpose, error.strerror or "")) from None
        try:
            code: int | None = wait_shortening(process, limit, output.fileno())
        except subprocess.TimeoutExpired:
            end_group(process.pid)
            kill(process, words[0])
            code = None
        (directory / f"{purpose}.pid").unlink(missing_ok=True)
        output.seek(max(0, os.fstat(output.fileno()).st_size - _TAIL))
        printed = "\n".join(output.read(_TAIL).decode("utf-8", "replace").splitlines()[-_LINES:])
    if code is None:
        raise CommandError(
            Cause(CauseCode.COMMAND_SLOW, {"purpose": purpose, "seconds": limit, "program": words[0]}),
            _RETURNS.get(purpose, "Give a command that returns once the server has started"),
            printed,
        )
    if was_not_run(code):
        raise _not_run(words[0], purpose, printed.rpartition(": ")[2])
    if code != 0:
        # Only the program is named: an argument may be a secret, and the failure of a trial is stored.
        failed = Cause(CauseCode.COMMAND_FAILED, {"purpose": purpose, "exit_code": code, "program": words[0]})
        raise CommandError(failed, "Run it by hand", printed)
    return printed


def _not_run(program: str, purpose: str, why: str) -> UserError:
    return UserError(f"The {purpose} command cannot be run: {program}: {why}", "Give a program with its arguments")


def await_earlier(directory: Path, limit: float = LIMIT) -> None:
    """Wait until the command that an interrupted or killed dialin ran has ended; end it after `limit` seconds."""
    for process in processes(directory):
        try:
            process.wait(limit)
        except psutil.TimeoutExpired:
            end_group(process.pid)


def end_group(leader: int) -> None:
    """End all processes of a group: first by SIGTERM, so that a command may clean up, then by SIGKILL."""
    for number, seconds in ((signal.SIGTERM, _ENDS_WITHIN), (signal.SIGKILL, 0.0)):
        with suppress(ProcessLookupError):
            os.killpg(leader, number)
        with suppress(psutil.NoSuchProcess, psutil.TimeoutExpired):
            psutil.Process(leader).wait(seconds)


def did_not_restart(error: ServerError, persisted: Iterable[str]) -> ServerError:
    """Return the error of a server that does not answer, perhaps because it cannot start with what dialin persisted."""
    return ServerError(
        Cause(CauseCode.MAY_NOT_START, {"cause": error.cause.as_stored(), "variables": sorted(persisted)}),
        "Start it once with --persisted-globals-load=OFF, run `dialin restore`, then start it as usual",
        error.log_tail,
    )
