"""Data that a command of the user restores, by snapshots of the volume that it lies on: LVM, ZFS, btrfs, a cloud's volumes.

The command is called with one of these lists of arguments after those that the user gave. NAME is a word of letters, digits and
dashes, and stands for the prepared data of one study, or of a suite:

- `take NAME SOURCE`: once, before the first trial. SOURCE is the directory with the prepared data, which it must not change.
- `restore NAME TARGET`: before each trial. Makes the directory TARGET, which does not exist, with the data as it was taken.
- `remove NAME TARGET`: after each trial, once its server has ended. Removes TARGET; a trial may have written anything there.
- `remove NAME`: at the end. Removes what `take` has made.

Exit code 0 means that it is done. A `remove` that finds nothing to remove succeeds: it is also called after a `take` or
`restore` that failed or was killed, by the next dialin where this one was killed. Whatever fails is the command's fault, and
ends the study.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

from dialin.datasets.cache import StoredDataset
from dialin.errors import MachineError
from dialin.model.cause import Cause, CauseCode
from dialin.servers.attached.user_command import CommandError
from dialin.servers.ledger import run_user_command

LIMIT = 3600.0
"""Seconds that a call may take: `take` may copy all data."""

_HEAD = 16 * 1024
"""The first bytes of a system file, which hold the checkpoint of a redo log: a server that ran there has changed them."""


class Snapshots:
    """The snapshots of one study, or of those of a suite: `names` has those that were taken, by the keys of their datasets."""

    def __init__(self, command: str, names: dict[str, str]) -> None:
        self._command = command
        self._names = names

    def has(self, dataset: StoredDataset) -> bool:
        return dataset.key in self._names

    def take(self, dataset: StoredDataset, place: Path) -> None:
        """Have a snapshot taken; `place` is the directory of a ledger's entry, whose end removes it.

        Raises:
            UserError: the command cannot be run.
            CommandError: it failed, or did not return in time.
        """
        name = f"{dataset.key}-{place.name.rpartition('-')[2]}"
        run_user_command(place, self._command, ["take", name, str(dataset.data)], ["remove", name], LIMIT)
        self._names[dataset.key] = name

    def restore(self, dataset: StoredDataset, target: Path) -> None:
        """Have the data of a snapshot that was taken put at a path, in the directory of a ledger's entry, whose end removes it.

        Raises:
            UserError: the command cannot be run.
            CommandError: it failed, did not return in time, or what is there is not the data.
            MachineError: a file cannot be read.
        """
        name = self._names[dataset.key]
        at_end = ["remove", name, str(target)]
        run_user_command(target.parent, self._command, ["restore", name, str(target)], at_end, LIMIT)
        if wrong := next(_differences(dataset.data, target), None):
            remedy = "Let `restore` make a copy that may be written, of the data as it was when `take` ended"
            raise CommandError(Cause(CauseCode.NOT_RESTORED, {"words": wrong}), remedy)


def _differences(original: Path, copy: Path) -> Iterator[str]:
    """Yield how a copy differs in its files, their sizes, their being files of their own and the heads of system files.

    The server's identity may lack.
    """
    if not copy.is_dir():
        yield f"{copy} is not a directory"
        return
    for path in sorted(original.rglob("*")):
        name = path.relative_to(original)
        if path.is_symlink() or str(name) == "auto.cnf":
            continue
        try:
            wanted, found = path.stat(), (copy / name).stat()
        except OSError:
            yield f"{copy / name} is missing"
            continue
        if os.path.samestat(wanted, found):
            yield f"{copy / name} is the prepared data itself"
        elif path.is_file() and wanted.st_size != found.st_size:
            yield f"{copy / name} has {found.st_size} bytes instead of {wanted.st_size}"
        elif path.is_file() and str(name.parent) in _OF_SYSTEM and _head(path) != _head(copy / name):
            yield f"{copy / name} has other bytes than the prepared data"


_OF_SYSTEM = (".", "#innodb_redo")
"""The directories of system files."""


def _head(file: Path) -> bytes:
    try:
        with file.open("rb") as opened:
            return opened.read(_HEAD)
    except OSError as error:
        raise MachineError.of(error) from error
