"""The cache of datasets on disk.

A dataset is the data directory of a cleanly stopped server. It is created next to its final place and moved there when it is
complete, so an interrupted preparation leaves nothing that looks like a dataset. Copies share blocks with it if the file
system can (reflink), and are written to disk before a trial starts, so that no write-back overlaps with the measurement.
"""

from __future__ import annotations

import hashlib
import json
import math
import os
import shutil
import subprocess
import uuid
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from dialin.clock import Clock
from dialin.errors import DialinError, MachineError, UserError
from dialin.file_lock import locked, opened, try_lock
from dialin.paths import Home, parse_json, replace_text

DEFAULT_LIMIT = 50 * 1024**3
"""Bytes that all datasets together may take; `DIALIN_CACHE_LIMIT_GB` changes it."""


class DatasetRemovedError(DialinError):
    """A dataset was removed to make room before this process could lock it."""


_MANIFEST = "dataset.json"
_FORMAT = 1


@dataclass(frozen=True, slots=True)
class StoredDataset:
    """Prepared data, named by the digest of the facts that determine its content; `size` is bytes on disk."""

    key: str
    directory: Path
    size: int

    @property
    def data(self) -> Path:
        return self.directory / "data"


def key_of(facts: Mapping[str, Any]) -> str:
    """Return the name of the dataset with these facts: the first 16 hexadecimal digits of their SHA-256."""
    text = json.dumps({"format": _FORMAT, **facts}, sort_keys=True, default=str)
    return hashlib.sha256(text.encode("utf-8")).hexdigest()[:16]


class DatasetCache:
    """All datasets of this machine, of at most `limit` bytes in total.

    The least recently used are removed first: for the limit, and where the disk lacks room. `say` takes a line for each.
    """

    def __init__(
        self, home: Home, clock: Clock, limit: int = DEFAULT_LIMIT, say: Callable[[str], None] = lambda _line: None
    ) -> None:
        self._root = home.datasets
        self._clock = clock
        self._limit = limit
        self._say = say

    def find(self, key: str) -> StoredDataset | None:
        """Return a dataset and mark it as used now; None if it does not exist."""
        manifest = self._root / key / _MANIFEST
        dataset = _read(manifest)
        if dataset:
            self._mark_used(manifest)
        return dataset

    def _mark_used(self, manifest: Path) -> None:
        now = self._clock.now()
        os.utime(manifest, (now, now))

    def ensure(
        self, facts: Mapping[str, Any], make: Callable[[Path], None], *, expected: int, smaller: str = ""
    ) -> StoredDataset:
        """Return the dataset with these facts; it is created if it does not exist.

        Args:
            facts: everything that determines its content.
            make: creates a data directory at the given path.
            expected: about how many bytes it will take.
            smaller: what the user may give for a smaller dataset; see `check_space`.

        Raises:
            UserError: the disk has no room for it.
            MachineError: it could not be written to disk.
        """
        key = key_of(facts)
        if dataset := self.find(key):
            return dataset
        self._root.mkdir(parents=True, exist_ok=True)
        self.remove_remains()
        with locked(self._lock_file(key)):
            if dataset := self.find(key):
                return dataset
            self._make_room(expected, smaller)
            workplace = self._root / f".making-{key}-{uuid.uuid4().hex[:8]}"
            try:
                workplace.mkdir()
                make(workplace / "data")
                size = tree_size(workplace)
                manifest = {"size": size, "facts": dict(facts), "made": self._clock.now()}
                (workplace / _MANIFEST).write_text(json.dumps(manifest, indent=1, default=str), encoding="utf-8")
                self._mark_used(workplace / _MANIFEST)
                flush(workplace)
                shutil.rmtree(self._root / key, ignore_errors=True)
                workplace.rename(self._root / key)
            finally:
                shutil.rmtree(workplace, ignore_errors=True)
            return StoredDataset(key, self._root / key, size)

    def remove_remains(self) -> None:
        """Remove what killed preparations have left."""
        for path in self._root.glob(".making-*"):
            self._remove_unless_in_use(path.name.split("-")[1], path)

    def measure(self, dataset: StoredDataset) -> None:
        """Record how many bytes a dataset takes after files were added to it, and mark it as used now."""
        manifest = dataset.directory / _MANIFEST
        recorded = parse_json(manifest.read_text(encoding="utf-8"))
        replace_text(manifest, json.dumps({**recorded, "size": tree_size(dataset.directory)}, indent=1))
        self._mark_used(manifest)

    @contextmanager
    def in_use(self, dataset: StoredDataset) -> Iterator[None]:
        """Keep a dataset from being removed to make room, by this process or another.

        Raises:
            DatasetRemovedError: it was removed meanwhile.
        """
        with locked(self._lock_file(dataset.key), shared=True):
            if not self.find(dataset.key):
                raise DatasetRemovedError(
                    "The prepared data was removed to make room", "Try again, or raise DIALIN_CACHE_LIMIT_GB"
                )
            yield

    def remove(self, key: str) -> bool:
        """Remove a dataset; False where it is in use."""
        return self._remove_unless_in_use(key, self._root / key)

    def _lock_file(self, key: str) -> Path:
        return self._root / f".{key}.lock"

    def _remove_unless_in_use(self, key: str, path: Path) -> bool:
        try:
            with opened(self._lock_file(key)) as descriptor:
                if is_free := try_lock(descriptor):
                    shutil.rmtree(path, ignore_errors=True)
                return is_free and not path.exists()
        except PermissionError:  # another user's, who shares this cache
            return False

    def check_limit(self, needed: int, smaller: str = "") -> None:
        """Raise UserError if `needed` bytes are more than all datasets may take; the remedy suggests to give `smaller`."""
        if needed > self._limit:
            remedy = f"Set DIALIN_CACHE_LIMIT_GB={math.ceil(needed / 1024**3)} or more"
            raise UserError(
                f"Prepared data of about {needed / 1e9:.1f} GB exceeds the cache's limit of {self._limit / 1e9:.1f} GB",
                f"{remedy}, or give {smaller}" if smaller else remedy,
            )

    def removable(self, keep: Collection[str] = ()) -> int:
        """Return the bytes of all data that nobody uses, but for the keys in `keep`: they may be removed to make room."""
        return sum(one.size for one in self._stored() if one.key not in keep and not self._is_in_use(one.key))

    def make_room(self, directory: Path, needed: int) -> None:
        """Remove data that nobody uses until the disk of a directory has `needed` bytes free, plus a tenth.

        Nothing is removed where that would not suffice, or where the directory is on another file system.
        """
        if not share_disk(self._root, directory):
            return
        lacking = lacking_space(directory, needed)
        if lacking > self.removable():
            return
        for dataset in self._stored():
            if lacking <= 0:
                return
            if self._give_up(dataset):
                lacking -= dataset.size  # a file system may free the space only later

    def _give_up(self, dataset: StoredDataset) -> bool:
        """Remove a dataset to make room; False where it is in use."""
        is_removed = self._remove_unless_in_use(dataset.key, dataset.directory)
        if is_removed:
            self._say(f"Removed prepared data that no study uses, to make room: {dataset.size / 1e9:.1f} GB")
        return is_removed

    def _is_in_use(self, key: str) -> bool:
        try:
            with opened(self._lock_file(key)) as descriptor:
                return not try_lock(descriptor)
        except PermissionError:  # another user's, who shares this cache
            return True

    def _stored(self) -> list[StoredDataset]:
        """Return all datasets, the least recently used first."""
        stored = []
        for manifest in self._root.glob(f"[!.]*/{_MANIFEST}"):  # one that is being made, and written to disk, is hidden
            with suppress(FileNotFoundError):  # another process has removed it
                if dataset := _read(manifest):
                    stored.append((manifest.stat().st_mtime, dataset.key, dataset))
        return [dataset for _, _, dataset in sorted(stored)]

    def _make_room(self, needed: int, smaller: str) -> None:
        self.check_limit(needed, smaller)
        datasets = self._stored()
        total = sum(dataset.size for dataset in datasets)
        for dataset in datasets:
            if total + needed <= self._limit:
                break
            if self._give_up(dataset):
                total -= dataset.size
        self.check_limit(total + needed, smaller)
        self.make_room(self._root, needed)
        check_space(self._root, needed, smaller)


def _read(manifest: Path) -> StoredDataset | None:
    try:
        size = int(parse_json(manifest.read_text(encoding="utf-8"))["size"])
    except (OSError, ValueError, KeyError, TypeError, OverflowError):
        return None
    return StoredDataset(manifest.parent.name, manifest.parent, size)


MARGIN = 1.1
"""The free space that is asked for, as a multiple of what is needed."""


def lacking_space(directory: Path, needed: int) -> float:
    """Return how many bytes a file system lacks to have `needed` bytes free plus a tenth; negative where it has more."""
    return needed * MARGIN - free_space(directory)


def free_space(directory: Path) -> int:
    """Return how many bytes are free on the file system of a directory, which need not exist yet."""
    return shutil.disk_usage(_existing(directory)).free


def share_disk(one: Path, other: Path) -> bool:
    """Return whether two directories, which need not exist yet, are on one file system."""
    return _existing(one).stat().st_dev == _existing(other).stat().st_dev


def _existing(directory: Path) -> Path:
    return next(path for path in [directory, *directory.parents] if path.exists())


def check_space(directory: Path, needed: int, smaller: str = "", removable: int = 0) -> None:
    """Raise UserError if a file system lacks `needed` bytes plus a tenth; the remedy suggests to give `smaller`.

    `removable` bytes there can be freed (`DatasetCache.removable`).
    """
    if (lacking := lacking_space(directory, needed)) > removable:
        free = needed * MARGIN - lacking + removable
        raise UserError(
            f"{_existing(directory)} has {free / 1e9:.1f} GB free; about {needed * MARGIN / 1e9:.1f} GB are needed",
            f"Free some space{f', give {smaller}' if smaller else ''}, or set DIALIN_HOME to a larger disk",
        )


def copy(source: Path, target: Path) -> None:
    """Copy a data directory, sharing blocks where the file system can, and write it to disk.

    The copy gets a new server identity, because servers with the same `server_uuid` cannot replicate each other.

    Raises:
        MachineError: the directory could not be copied completely.
    """
    done = subprocess.run(
        # -H: of a link to a directory, the directory is copied; a server on a copy of the link would change the original.
        ["cp", "--archive", "-H", "--reflink=auto", "--sparse=auto", "--", str(source), str(target)],
        capture_output=True,
        check=False,
    )
    if done.returncode != 0:
        words = done.stderr.decode("utf-8", "replace").strip().splitlines()
        reason = words[-1] if words else "unknown reason"
        raise MachineError(f"{source} could not be copied: {reason}", "Check that the disk is healthy and has space")
    (target / "auto.cnf").unlink(missing_ok=True)
    flush(target)


def flush(directory: Path) -> None:
    """Write all dirty data of the directory's file system to disk, and wait until that is done.

    Raises:
        MachineError: not all could be written.
    """
    done = subprocess.run(["sync", "--file-system", str(directory)], check=False, capture_output=True)
    if done.returncode != 0:
        reason = done.stderr.decode("utf-8", "replace").strip() or f"sync ended with code {done.returncode}"
        raise MachineError(f"{directory} could not be written to disk: {reason}", "Look for faults of the disk (dmesg)")


def tree_size(directory: Path) -> int:
    """Return how many bytes the files under a directory take on disk; a server may run there, and remove some."""
    size = 0
    for path in directory.rglob("*"):
        with suppress(FileNotFoundError):
            size += path.lstat().st_blocks * 512
    return size
