"""What dialin writes down about a process before it starts it, so that it can always be found and ended again.

An entry names a private directory. Each process of the entry writes its own number to a `*.pid` file there before it becomes
the server or the driver, and carries the directory's unique path in its environment. A process is recognised by both, never by
its program's name: a number that was given to another process since is left alone.
"""

from __future__ import annotations

import json
import os
import shutil
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from dialin.paths import replace_text
from dialin.servers.processes import end, identity, processes


@dataclass(frozen=True, slots=True)
class Entry:
    """One thing that runs.

    Attributes:
        id: its name.
        directory: its private directory, removed with it.
        owner: the process number of the dialin that started it.
        owner_identity: what tells that process from a later one of the same number; see `processes.identity`.
        keep: it outlives the command that started it, until `dialin servers stop`.
        build: the build that it runs, in full.
        port: its TCP port, or 0 where it has none.
        socket: its unix socket, which lives elsewhere where the directory's path is too long for one.
    """

    id: str
    directory: str
    owner: int
    owner_identity: str
    keep: bool = False
    build: str = ""
    port: int = 0
    socket: str = ""


class Ledger:
    """The entries on this machine, a file each."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory

    def open(self, name: str, directory: Path, **facts: Any) -> Entry:
        """Write an entry, on disk before this returns; `facts` are further attributes of `Entry`."""
        entry = Entry(name, str(directory), os.getpid(), identity(os.getpid()), **facts)
        self._directory.mkdir(parents=True, exist_ok=True)
        replace_text(self._path(name), json.dumps(asdict(entry)))
        return entry

    def entries(self) -> list[Entry]:
        """Return all entries that can be read."""
        found = []
        for path in sorted(self._directory.glob("*.json")):
            try:
                found.append(Entry(**json.loads(path.read_text(encoding="utf-8"))))
            except (OSError, ValueError, TypeError):
                continue
        return found

    def end(self, entry: Entry) -> None:
        """End all processes of an entry, remove its directory, and strike it out."""
        for process in processes(Path(entry.directory)):
            end(process)
        shutil.rmtree(entry.directory, ignore_errors=True)
        if entry.socket and not entry.socket.startswith(f"{entry.directory}/"):
            shutil.rmtree(Path(entry.socket).parent, ignore_errors=True)
        self._path(entry.id).unlink(missing_ok=True)

    def end_orphans(self) -> list[Entry]:
        """End whatever was left by a dialin that is gone; returns what was ended."""
        orphans = [entry for entry in self.entries() if self._is_orphan(entry)]
        for entry in orphans:
            self.end(entry)
        return orphans

    def _is_orphan(self, entry: Entry) -> bool:
        if identity(entry.owner) == entry.owner_identity:
            return False
        return not (entry.keep and processes(Path(entry.directory)))

    def _path(self, name: str) -> Path:
        return self._directory / f"{name}.json"
