"""Finds what uses a build: servers in the ledger that are alive, and studies that a live dialin runs."""

from __future__ import annotations

import os
from pathlib import Path

from dialin.errors import UserError
from dialin.servers.ledger import Ledger
from dialin.servers.processes import processes
from dialin.store import lock
from dialin.store.store import Store
from dialin.text import command_line

PROCESSES = Path("/proc")


def users_of(build_id: str, ledger: Ledger) -> list[str]:
    """Return what uses a build, each as text, with how to end it where that is known; empty if nothing uses it.

    Between two trials a study runs no server, so studies are found by the lock that their dialin holds. Studies of other users
    are not visible.
    """
    users = []
    for entry in ledger.entries():
        if entry.build != build_id:
            continue
        if processes(Path(entry.directory)) or ledger.is_owned(entry):
            hint = command_line("dialin servers stop", entry.id) if entry.keep else f"started by process {entry.owner}"
            users.append(f"server {entry.id} ({hint})")
    users += [f"server {entry.id} on {entry.origin.host}" for entry in ledger.entries_elsewhere() if entry.build == build_id]
    return users + [
        f"the study in {directory} (Ctrl-C there)" for directory in _running_studies() if build_id in _builds_of(directory)
    ]


def _running_studies() -> list[Path]:
    directories = set()
    for process in PROCESSES.glob("[0-9]*"):
        try:
            descriptors = list((process / "fd").iterdir())
        except OSError:  # the process ended, or belongs to another user
            continue
        for descriptor in descriptors:
            try:
                path = Path(os.readlink(descriptor))  # noqa: PTH115 - the target itself, not resolved
                holder = lock.holder(path.parent) if path.name == lock.LOCK_FILE else None
                if holder is not None and str(holder.pid) == process.name:
                    directories.add(path.parent)
            except (OSError, ValueError):
                continue
    return sorted(directories)


def _builds_of(directory: Path) -> list[str]:
    try:
        with Store.open(directory) as store:
            return list(store.read().servers)
    except UserError:  # the study is being created, is damaged, or is of another version of dialin
        return []
