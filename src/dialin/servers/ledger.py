"""The record of each server and driver, written before it starts, so that dialin can always find and end its processes.

An entry names a private directory. Each process of the entry writes its PID to a `*.pid` file there before it executes the
server or the driver, and has the directory's unique path in its environment. dialin recognises a process by both, never by its
program's name, so it leaves a PID alone that now belongs to another process. An entry also records its origin: dialin never
ends or removes what another machine or container wrote into a shared directory.

The dialin that wrote an entry holds a lock on it from before the entry exists until after it is gone; the kernel releases the
lock when that process ends. Whoever cannot take the lock leaves the entry alone, so that what runs is never taken for left
behind, even where the process list cannot be read.

A command of the user that made what is in a directory is recorded there: it is run again, to remove that, before the directory
is removed. Only records of this user's own, or root's, are acted on: another user's, in a shared directory, may name any
command and any directory.
"""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from pydantic import TypeAdapter

from dialin.clock import SystemClock
from dialin.errors import DialinError, MachineError, UserError, is_machine_fault
from dialin.model.cause import Cause, CauseCode
from dialin.paths import read_record, replace_text
from dialin.probes.kernel_files import mounts_within
from dialin.servers import containers
from dialin.servers.attached import user_command
from dialin.servers.locks import Locks
from dialin.servers.origin import Origin, Relation, origin
from dialin.servers.processes import end, processes
from dialin.text import command_line


@dataclass(frozen=True, slots=True)
class LedgerEntry:
    """One running server or driver.

    Attributes:
        directory: its private directory, removed when the entry ends.
        owner: the PID of the dialin that started it.
        keep: whether it outlives the command that started it, until `dialin servers stop`.
        build: the id of the build that it runs, such as `mysql@9.7.4`.
        engine: what runs its container, `podman` or `docker`; empty for a process of this machine.
        socket: its unix socket, outside `directory` if the directory's path is too long for a socket.
    """

    id: str
    directory: str
    owner: int
    origin: Origin
    keep: bool = False
    build: str = ""
    port: int = 0
    socket: str = ""
    engine: str = ""


@dataclass(frozen=True, slots=True)
class _AtEnd:
    """A command of the user that removes what it has made, within `limit` seconds; `work` is the directory that it runs in."""

    command: str
    arguments: tuple[str, ...]
    limit: float
    work: str


_COMMANDS = "at-end.json"
_RUNS_IN = "command"
"""The directory in which the user's command has its PID, in that of the entry."""


def run_user_command(directory: Path, command: str, arguments: Sequence[str], at_end: Sequence[str], limit: float) -> None:
    """Run a command of the user, and record first with which arguments it undoes that before the directory is removed.

    Args:
        directory: of an entry; private, for a command may hold a secret.
        command: what the user gave.
        arguments: further arguments.
        at_end: the arguments that undo it; they may be used although the command did not succeed.
        limit: seconds that it may take, each time.

    Raises:
        As `user_command.run`.
    """
    recorded = [*_recorded(directory), _AtEnd(command, tuple(at_end), limit, str(Path.cwd()))]
    _record(directory, recorded)
    try:
        user_command.run(command, arguments, purpose=user_command.SNAPSHOT, limit=limit, directory=directory / _RUNS_IN)
    except UserError:  # it cannot be run, and has made nothing
        _record(directory, recorded[:-1])
        raise


def _record(directory: Path, commands: Sequence[_AtEnd]) -> None:
    replace_text(directory / _COMMANDS, json.dumps([asdict(one) for one in commands]), mode=0o600)


def _recorded(directory: Path) -> list[_AtEnd]:
    try:
        return TypeAdapter(list[_AtEnd]).validate_python(read_record(directory / _COMMANDS))
    except FileNotFoundError:
        return []
    except (OSError, ValueError) as error:  # what the commands made is not known to be gone
        why = error.strerror if isinstance(error, OSError) else "it is no record of this version of dialin"
        remedy = "Remove what the snapshot command made, then that file; no command in it was run"
        raise MachineError(f"{directory / _COMMANDS} cannot be read: {why}", remedy) from error


def _undo_user_commands(directory: Path) -> None:
    for process in processes(directory / _RUNS_IN):
        user_command.end_group(process.pid)
    for one in reversed(recorded := _recorded(directory)):
        user_command.run(
            one.command,
            one.arguments,
            purpose=user_command.SNAPSHOT,
            limit=one.limit,
            directory=directory / _RUNS_IN,
            work=Path(one.work),
        )
        for place in one.arguments:
            _check_gone(directory, Path(place))
        recorded = recorded[:-1]
        with suppress(OSError):  # a full disk must not keep what is on it; at worst the command is asked to remove it again
            _record(directory, recorded)


def _check_gone(directory: Path, place: Path) -> None:
    """Raise CommandError if a command that was to remove a path in a directory has left there more than an empty directory."""
    if not place.is_relative_to(directory) or not os.path.lexists(place):
        return
    left = "is still mounted" if mounts_within(place) else "" if _is_empty(place) else "is still there"
    if left:
        raise user_command.CommandError(
            Cause(CauseCode.NOT_RESTORED, {"words": f"{place} {left}"}), "Let `remove` unmount and remove what `restore` made"
        )


def _is_empty(place: Path) -> bool:
    try:
        return not place.is_symlink() and place.is_dir() and not any(place.iterdir())
    except OSError:
        return False


def _remove(directory: Path) -> None:
    """Remove a directory with all that is in it.

    Raises:
        MachineError: a file system is mounted in it, whose files are not dialin's to remove.
    """
    if mounted := mounts_within(directory):
        raise MachineError(
            f"{directory} is not removed: a file system is mounted at {mounted[0]}", command_line("umount", mounted[0])
        )
    shutil.rmtree(directory, ignore_errors=True)


class Ledger:
    """The entries in a directory, one file each."""

    def __init__(self, directory: Path, here: Origin | None = None) -> None:
        self._directory = directory
        self._here = here or origin()
        self._locks = Locks(directory, SystemClock())

    def open(self, name: str, directory: Path, **facts: Any) -> LedgerEntry:
        """Write an entry, on disk before this returns; `facts` are further attributes of `LedgerEntry`."""
        entry = LedgerEntry(name, str(directory), os.getpid(), self._here, **facts)
        self._directory.mkdir(parents=True, exist_ok=True)
        self._locks.take(name)
        try:
            replace_text(self._path(name), json.dumps(asdict(entry)), mode=0o644)
        except BaseException:
            self._locks.remove(name)
            raise
        return entry

    def entries(self) -> list[LedgerEntry]:
        """Return this user's entries of this machine and PID namespace, including those from before a reboot.

        Raises:
            OSError: this machine has no room to read them.
        """
        return [entry for entry in self._read() if self._relation(entry) is not Relation.ELSEWHERE]

    def entries_elsewhere(self) -> list[LedgerEntry]:
        """Return the entries that are to be left alone: those of other machines or containers, and of other users."""
        own = self.entries()
        return [entry for entry in self._read(of_others=True) if entry not in own]

    def _read(self, *, of_others: bool = False) -> list[LedgerEntry]:
        entries = []
        for path in sorted(self._directory.glob("*.json")):
            try:
                entries.append(TypeAdapter(LedgerEntry).validate_python(read_record(path, of_others=of_others)))
            except (OSError, ValueError) as error:
                if isinstance(error, OSError) and is_machine_fault(error):
                    raise
        return entries

    def _relation(self, entry: LedgerEntry) -> Relation:
        return entry.origin.relation(self._here)

    def is_owned(self, entry: LedgerEntry) -> bool:
        """Return whether the dialin that wrote an entry still runs, or may: there is no room to find out."""
        try:
            return not self._locks.is_free(entry.id)
        except OSError:
            return True

    def end(self, entry: LedgerEntry) -> bool:
        """End all processes of an entry of this machine, and remove its directory and the entry; return whether any ran.

        Raises:
            DialinError: the container was not removed, or a command of the user did not remove what it had made, or what is
                mounted there is not dialin's; directory and entry stay.
        """
        # After a reboot its PIDs belong to other processes.
        live = processes(Path(entry.directory)) if self._relation(entry) is Relation.HERE else []
        for process in live:
            end(process)
        if entry.engine and not containers.remove(entry.engine, entry.id):
            name = containers.name_of(entry.id)
            remove = command_line(f"{entry.engine} rm --force", name)
            raise MachineError(
                f"{entry.engine} did not remove the container {name}",
                f"Remove it ({remove}), or delete {self._path(entry.id)} if it is gone",
            )
        _undo_user_commands(Path(entry.directory))
        _remove(Path(entry.directory))
        if entry.socket and not entry.socket.startswith(f"{entry.directory}/"):
            shutil.rmtree(Path(entry.socket).parent, ignore_errors=True)
        self._path(entry.id).unlink(missing_ok=True)
        self._locks.remove(entry.id)
        return bool(live)

    def end_orphans(self, say: Callable[[str], None] = lambda _text: None) -> list[tuple[LedgerEntry, bool]]:
        """End the entries that a dialin which is gone has left; return each with whether a process of it still ran.

        What a command of the user did not remove is said, and tried again by the next dialin.
        """
        ended = []
        for entry in self.entries():
            if not self._is_left(entry):
                continue
            if not self._path(entry.id).exists():  # its dialin, or another one, ended it meanwhile
                self._locks.remove(entry.id)
            elif entry.keep and self._relation(entry) is Relation.HERE and processes(Path(entry.directory)):
                self._locks.release(entry.id)
            else:
                try:
                    ended.append((entry, self.end(entry)))
                except DialinError as error:
                    self._locks.release(entry.id)
                    say(f"Not removed: what is in {entry.directory}, left by an earlier dialin. {error}")
        return ended

    def _is_left(self, entry: LedgerEntry) -> bool:
        """Return whether the dialin that wrote an entry is gone; its lock is then held here."""
        try:
            return not self.is_owned(entry) and self._locks.take(entry.id, patience=0)
        except OSError:
            return False  # another user's, or there is no room to find out

    def _path(self, name: str) -> Path:
        return self._directory / f"{name}.json"
