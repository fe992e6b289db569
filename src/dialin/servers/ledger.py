"""The record of each server and driver, written before it starts, so that dialin can always find and end its processes.

An entry names a private directory. Each process of the entry writes its PID to a `*.pid` file there before it executes the
server or the driver, and has the directory's unique path in its environment. dialin recognises a process by both, never by its
program's name, so it leaves a PID alone that now belongs to another process. An entry also records its origin: dialin never
ends or removes what another machine or container wrote into a shared directory.
"""

from __future__ import annotations

import json
import os
import shutil
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from dialin.paths import replace_text
from dialin.servers.origin import Origin, Relation, origin
from dialin.servers.processes import end, identity, processes


@dataclass(frozen=True, slots=True)
class LedgerEntry:
    """One running server or driver.

    Attributes:
        directory: its private directory, removed when the entry ends.
        owner: the PID of the dialin that started it.
        owner_identity: what distinguishes that process from a later one with the same PID; see `processes.identity`.
        keep: whether it outlives the command that started it, until `dialin servers stop`.
        build: the id of the build that it runs, such as `mysql@9.7.4`.
        socket: its unix socket, outside `directory` if the directory's path is too long for a socket.
    """

    id: str
    directory: str
    owner: int
    owner_identity: str
    origin: Origin
    keep: bool = False
    build: str = ""
    port: int = 0
    socket: str = ""


class Ledger:
    """The entries in a directory, one file each."""

    def __init__(self, directory: Path, here: Origin | None = None) -> None:
        self._directory = directory
        self._here = here or origin()

    def open(self, name: str, directory: Path, **facts: Any) -> LedgerEntry:
        """Write an entry, on disk before this returns; `facts` are further attributes of `LedgerEntry`."""
        entry = LedgerEntry(name, str(directory), os.getpid(), identity(os.getpid()), self._here, **facts)
        self._directory.mkdir(parents=True, exist_ok=True)
        replace_text(self._path(name), json.dumps(asdict(entry)))
        return entry

    def entries(self) -> list[LedgerEntry]:
        """Return the entries of this machine and PID namespace, including those from before a reboot."""
        return [entry for entry in self._read() if self._relation(entry) is not Relation.ELSEWHERE]

    def entries_elsewhere(self) -> list[LedgerEntry]:
        return [entry for entry in self._read() if self._relation(entry) is Relation.ELSEWHERE]

    def _read(self) -> list[LedgerEntry]:
        entries = []
        for path in sorted(self._directory.glob("*.json")):
            try:
                facts = json.loads(path.read_text(encoding="utf-8"))
                entries.append(LedgerEntry(**{**facts, "origin": Origin(**facts["origin"])}))
            except (OSError, ValueError, TypeError, KeyError):
                continue
        return entries

    def _relation(self, entry: LedgerEntry) -> Relation:
        return entry.origin.relation(self._here)

    def end(self, entry: LedgerEntry) -> None:
        """End all processes of an entry of this machine, and remove its directory and the entry."""
        if self._relation(entry) is Relation.HERE:  # after a reboot its PIDs belong to other processes
            for process in processes(Path(entry.directory)):
                end(process)
        shutil.rmtree(entry.directory, ignore_errors=True)
        if entry.socket and not entry.socket.startswith(f"{entry.directory}/"):
            shutil.rmtree(Path(entry.socket).parent, ignore_errors=True)
        self._path(entry.id).unlink(missing_ok=True)

    def end_orphans(self) -> list[LedgerEntry]:
        """End the entries that a dialin which is gone has left, and return them."""
        orphans = [entry for entry in self.entries() if self._is_orphan(entry)]
        for entry in orphans:
            self.end(entry)
        return orphans

    def _is_orphan(self, entry: LedgerEntry) -> bool:
        if self._relation(entry) is Relation.BEFORE_REBOOT:
            return True
        if identity(entry.owner) == entry.owner_identity:
            return False
        return not (entry.keep and processes(Path(entry.directory)))

    def _path(self, name: str) -> Path:
        return self._directory / f"{name}.json"
