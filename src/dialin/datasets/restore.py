"""Restores the prepared data before each trial, in the cheapest way that the disk allows.

Without reflinks, the data of the last trial is kept, and dialin-load copies into it what the trial has changed: its module
`restore` says how that is found. Data that cannot be restored so is copied in full. The kept data is in the ledger: what a
killed dialin leaves is removed, and never used again. A snapshot command of the user takes the place of all that.
"""

from __future__ import annotations

import json
import mmap
import os
import shutil
import subprocess
import tempfile
import uuid
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from dialin.clock import Clock
from dialin.datasets.cache import StoredDataset, check_space, copy, flush
from dialin.datasets.snapshots import Snapshots
from dialin.errors import DialinError, MachineError, UserError, os_error
from dialin.model.place import Restore, RestoreWay
from dialin.paths import Home, parse_json, replace_text
from dialin.servers.ledger import Ledger, LedgerEntry
from dialin.servers.processes import kill, spawn
from dialin.workloads import load_binary

_MEASURED = "restore.json"
_INDEX = "pages.index"
_ENOUGH = 2
"""Restores by changed pages until their time is known: the first of them compares all bytes."""
_PROBE = 32 * 1024**2
"""The bytes that are written to learn how fast the disk is."""


def choose_way(home: Home) -> RestoreWay:
    """Return how data is restored here: by reflinks if the file system has them, else changed pages only, else a full copy."""
    home.sandboxes.mkdir(parents=True, exist_ok=True)
    if _has_reflinks(home):
        return RestoreWay.REFLINK
    return RestoreWay.PAGES if load_binary.find() is not None else RestoreWay.COPY


def _has_reflinks(home: Home) -> bool:
    home.datasets.mkdir(parents=True, exist_ok=True)
    source, target = home.datasets / f".reflink-{uuid.uuid4().hex}", home.sandboxes / f".reflink-{uuid.uuid4().hex}"
    try:
        source.write_bytes(b"x" * 4096)
        done = subprocess.run(["cp", "--reflink=always", "--", str(source), str(target)], capture_output=True, check=False)
        return done.returncode == 0
    except OSError as error:
        raise MachineError.of(error) from error
    finally:
        source.unlink(missing_ok=True)
        target.unlink(missing_ok=True)


def forecast(
    home: Home,
    clock: Clock,
    dataset: StoredDataset | None,
    expected: int,
    way: RestoreWay | None = None,
    speed: Callable[[], float] | None = None,
) -> Restore:
    """Return how data is going to be restored, and in how many seconds per trial.

    `dataset` is the data, with the seconds that its last restore took; None where it is not prepared yet. `expected` is about
    how many bytes it has, `way` is a given way, and `speed` returns how many bytes per second the disk writes, where that is
    known.
    """
    way = way or choose_way(home)
    if dataset is not None and (measured := _measured(dataset, way)) is not None:
        return measured
    if way is RestoreWay.SNAPSHOT:
        return Restore(way=way, seconds=0)
    if way is RestoreWay.REFLINK:
        return Restore(way=way, seconds=_REFLINKED)
    return Restore(
        way=way, seconds=(dataset.size if dataset else expected) / (speed() if speed else bytes_per_second(home, clock))
    )


_REFLINKED = 1.0
"""About how many seconds sharing the blocks of a data directory takes, whatever its size."""


def _measured(dataset: StoredDataset, way: RestoreWay) -> Restore | None:
    with suppress(OSError, ValueError, KeyError, TypeError):
        facts = parse_json((dataset.directory / _MEASURED).read_text(encoding="utf-8"))
        found = Restore(way=facts["way"], seconds=facts["seconds"], measured=True)
        return found if found.way is way or (way is RestoreWay.PAGES and found.way is RestoreWay.COPY) else None
    return None


def bytes_per_second(home: Home, clock: Clock, dataset: StoredDataset | None = None) -> float:
    """Return how fast the disk is: reading the largest file of a dataset, or writing where there is none.

    Raises:
        MachineError: it cannot be read or written.
    """
    if dataset is not None:
        return _read_per_second(dataset, clock)
    probe = home.sandboxes / f".probe-{uuid.uuid4().hex}"
    try:
        began = clock.monotonic()
        probe.write_bytes(b"\1" * _PROBE)
        flush(home.sandboxes)
        return _PROBE / max(1e-3, clock.monotonic() - began)
    except OSError as error:
        raise MachineError.of(error) from error
    finally:
        probe.unlink(missing_ok=True)


def _read_per_second(dataset: StoredDataset, clock: Clock) -> float:
    try:
        file = max((path for path in dataset.data.rglob("*") if path.is_file()), key=lambda path: path.stat().st_size)
        with file.open("rb", buffering=0) as opened:
            middle = max(0, file.stat().st_size // 2 - _PROBE)
            os.posix_fadvise(opened.fileno(), middle, _PROBE, os.POSIX_FADV_DONTNEED)
            opened.seek(middle)
            began = clock.monotonic()
            read = len(opened.read(_PROBE))
            return max(1, read) / max(1e-3, clock.monotonic() - began)
    except OSError as error:
        raise MachineError.of(error) from error


_WAYS = {
    RestoreWay.REFLINK: "a copy that shares its blocks (reflink)",
    RestoreWay.PAGES: "only what the last trial changed is copied",
    RestoreWay.COPY: "a full copy",
    RestoreWay.SNAPSHOT: "your snapshot command",
}


def restore_sentence(restore: Restore, before: str) -> str:
    """Return how data is restored, and how long that takes, in a sentence without its full stop; `before` names before what."""
    if restore.way is RestoreWay.SNAPSHOT and not restore.measured:
        return f"Data is restored before each {before}: {_WAYS[restore.way]} (not measured yet)"
    about = "about" if restore.measured or restore.way is not RestoreWay.PAGES else "at most about"
    source = "as measured here" if restore.measured else "not measured yet"
    seconds = f"{restore.seconds:.1f}" if restore.seconds < _EXACT_BELOW else f"{restore.seconds:.0f}"
    return f"Data is restored before each {before}: {_WAYS[restore.way]}, {about} {seconds} s ({source})"


_EXACT_BELOW = 10.0


def shows_mapped_writes(directory: Path) -> bool:
    """Return whether the times of a directory's files show who wrote them through a mapping: those of tmpfs do not.

    MariaDB maps its redo log in /dev/shm, and MyISAM's tables can be mapped.
    """
    probe = directory / f".mapped-{uuid.uuid4().hex}"
    try:
        probe.write_bytes(b"1")
        os.utime(probe, (0, 0))
        with probe.open("r+b") as opened, mmap.mmap(opened.fileno(), 0) as mapped:
            mapped[0] ^= 1  # a page that was read may be written without the kernel's help
            mapped.flush()
        return probe.stat().st_mtime_ns > 0
    except OSError:  # no file can be mapped there
        return True
    finally:
        probe.unlink(missing_ok=True)


def restore_pages(
    original: Path, target: Path, *, index: Path, state: Path, prove: bool = False, whole: bool = False
) -> dict[str, Any]:
    """Make a copy of a data directory equal to it again; `state` is the file in which the copy was left last.

    `prove`: another load than those of earlier restores has changed the copy, so all bytes of files that it wrote are compared.
    `whole`: all bytes of all files are compared, because their times do not show which were written.

    Returns:
        What dialin-load did, by the names of `restore::Done` in the crate.

    Raises:
        UserError: dialin-load is not installed, or the directory is no copy.
        MachineError: a file could not be read or written.
    """
    words = [load_binary.need(), "restore", original, target, "--index", index, "--state", state]
    words += [*["--prove"] * prove, *["--whole"] * whole]
    with tempfile.TemporaryFile() as output:
        code = _run([str(word) for word in words], target.parent, output.fileno())
        output.seek(0)
        lines = output.read().decode("utf-8", "replace").strip().splitlines()
    if code != 0:
        said = next((line.removeprefix("error: ") for line in lines if line.startswith("error: ")), None)
        raise MachineError(said or f"dialin-load ended with code {code}", "Check that the disk is healthy and has space")
    last = lines[-1] if lines else ""
    try:
        facts: dict[str, Any] = dict(parse_json(last))
        _ = facts["bytes_written"]  # a program of another version may end well, too
        return facts
    except (TypeError, ValueError, KeyError):
        raise MachineError(f"dialin-load does not say what it restored, but {last[:80]!r}", "Install dialin again") from None


def _run(words: Sequence[str], directory: Path, output: int) -> int:
    """Run the driver to its end; it ends with dialin, so that nobody writes where a killed dialin's files were removed."""
    try:
        process = spawn(words, directory, "restore", output)
    except OSError as error:
        raise os_error(error, UserError(f"dialin-load cannot be run: {error.strerror}", "Check its file")) from error
    try:
        return process.wait()
    except BaseException:
        kill(process, "dialin-load")
        raise
    finally:
        (directory / "restore.pid").unlink(missing_ok=True)


class KeptData:
    """The data that trials leave for the next ones, in an entry of the ledger: of each dataset one copy, for all studies here.

    The studies of a suite share it, for their trials run one after another. It is removed with the last of them.

    Attributes:
        snapshots: the names of the snapshots that were taken, by the keys of their datasets.
        full_copies: seconds of full copies, by the keys of their datasets.
        changed_by: whose trial has changed the data last, by the keys of their datasets.
        shows_writes: whether the times of its files show which were written; True until there is any.
    """

    def __init__(self) -> None:
        self.users: list[TrialData] = []
        self.snapshots: dict[str, str] = {}
        self.full_copies: defaultdict[str, list[float]] = defaultdict(list)
        self.changed_by: dict[str, TrialData] = {}
        self.shows_writes = True
        self._entry: LedgerEntry | None = None
        self._proved: defaultdict[str, list[TrialData]] = defaultdict(list)

    @property
    def directory(self) -> Path | None:
        """Where the data is; None where nothing is kept."""
        return Path(self._entry.directory) if self._entry is not None else None

    @property
    def is_shared(self) -> bool:
        """Whether several studies use it."""
        return len(self.users) > 1

    def open(self, ledger: Ledger, home: Home) -> Path:
        """Return the directory, which is made if there is none."""
        if self._entry is None:
            name = f"trials-{uuid.uuid4().hex[:8]}"  # orphans end by name: behind all sandboxes, which snapshots may depend on
            self._entry = ledger.open(name, home.sandboxes / name)
            Path(self._entry.directory).mkdir(parents=True, mode=0o700)
            self.shows_writes = shows_mapped_writes(Path(self._entry.directory))
        return Path(self._entry.directory)

    def has(self, key: str) -> bool:
        """Return whether there is data of a dataset."""
        return self.directory is not None and (self.directory / key / "data").is_dir()

    def begin(self, key: str) -> None:
        """Forget who has changed the data of a dataset: it is copied anew."""
        self.changed_by.pop(key, None)
        self._proved.pop(key, None)

    def needs_proof(self, key: str) -> bool:
        """Return, once, whether it was changed by a study of which no restore has shown yet what it changes."""
        user, proved = self.changed_by.get(key), self._proved[key]
        if user is None or user in proved:
            return False
        proved.append(user)
        return len(proved) > 1  # what is known of the first is in the state of the copy

    def remove(self, ledger: Ledger) -> None:
        """Remove all of it.

        Raises:
            CommandError: the user's command did not remove its snapshots; the next dialin tries again.
        """
        self.snapshots.clear()
        entry, self._entry = self._entry, None
        if entry is not None:
            ledger.end(entry)


class TrialData:
    """The data that trials of a study run on: `take` restores it for one, `keep` takes it back for the next.

    A load that changes most pages of little data is restored faster by a full copy: what was measured decides from the
    third restore on.

    Args:
        way: how data is restored; None for the cheapest way here.
        spare: bytes that a trial writes to temporary files beside its data.
        snapshot_command: the user's command that restores data; None where dialin does.
        kept: what the trials of this study, and of those beside it, leave for the next ones.

    Attributes:
        last: what dialin-load did in the last restore, see `restore_pages`; None after a full copy.
    """

    def __init__(
        self,
        home: Home,
        ledger: Ledger,
        clock: Clock,
        say: Callable[[str], None],
        way: RestoreWay | None = None,
        spare: int = 0,
        snapshot_command: str | None = None,
        kept: KeptData | None = None,
    ) -> None:
        self._home = home
        self._ledger = ledger
        self._clock = clock
        self._say = say
        self.last: Mapping[str, Any] | None = None
        self._way = way if snapshot_command is None else RestoreWay.SNAPSHOT
        self._is_given = self._way is not None
        self._kept = kept if kept is not None else KeptData()
        self._kept.users.append(self)
        self._snapshots = Snapshots(snapshot_command, self._kept.snapshots) if snapshot_command is not None else None
        self._spare = spare
        self._own_seconds: defaultdict[tuple[str, RestoreWay], list[float]] = defaultdict(list)

    def begin(self, dataset: StoredDataset) -> None:
        """Have the user's command, if there is one, take the data of a dataset: that may last, and is no part of a trial.

        Raises:
            UserError: the command cannot be run.
            CommandError: it failed.
        """
        if self._snapshots is not None and not self._snapshots.has(dataset):
            self._say("Your snapshot command takes the prepared data")
            self._snapshots.take(dataset, self._kept.open(self._ledger, self._home))

    def take(self, dataset: StoredDataset, target: Path) -> None:
        """Put the data of a dataset at a path, which does not exist yet, and write it to disk.

        Raises:
            UserError: the disk lacks room for it.
            MachineError: it could not be copied.
            CommandError: the user's command did not restore it.
        """
        self.last = None
        if self._snapshots is not None:
            self.begin(dataset)
            began = self._clock.monotonic()
            self._make_room(0)
            self._snapshots.restore(dataset, target)
            (target / "auto.cnf").unlink(missing_ok=True)
            flush(target)
            self._remember(dataset, RestoreWay.SNAPSHOT, self._clock.monotonic() - began)
            return
        began, cheapest = self._clock.monotonic(), self._cheapest(dataset)
        changed_by = self._kept.changed_by.get(dataset.key) if self._kept.has(dataset.key) else None
        if not (cheapest is RestoreWay.PAGES and self._restore(dataset, target)):
            if self._kept.directory is not None and not (self._kept.is_shared and self._kept.has(dataset.key)):
                shutil.rmtree(self._kept.directory / dataset.key, ignore_errors=True)
            self._make_room(dataset.size)
            copy(dataset.data, target)
        seconds = self._clock.monotonic() - began
        if self._way is RestoreWay.REFLINK:
            self._remember(dataset, RestoreWay.REFLINK, seconds)
        elif self.last is None or changed_by is None:  # from nothing, all is written
            self._remember(dataset, RestoreWay.COPY, seconds)
        elif changed_by is self:  # what another load has changed tells nothing of this one
            self._remember(dataset, RestoreWay.PAGES, seconds)

    def _cheapest(self, dataset: StoredDataset) -> RestoreWay:
        """Return how a dataset is restored next."""
        self._way = self._way or choose_way(self._home)
        if self._is_given or self._way is not RestoreWay.PAGES:
            return self._way
        pages, copies = (self._seconds(dataset, way) for way in (RestoreWay.PAGES, RestoreWay.COPY))
        return RestoreWay.COPY if len(pages) >= _ENOUGH and copies and copies[-1] < min(pages) else RestoreWay.PAGES

    def _restore(self, dataset: StoredDataset, target: Path) -> bool:
        """Restore by changed pages; return False where that failed, and nothing is left at the target."""
        kept = self._kept.open(self._ledger, self._home) / dataset.key
        if self._kept.has(dataset.key):
            self._make_room(0, keep=dataset)
            (kept / "data").rename(target)
        else:
            shutil.rmtree(kept, ignore_errors=True)
            self._make_room(dataset.size)
            kept.mkdir()
            self._kept.begin(dataset.key)
        index, prove, whole = dataset.directory / _INDEX, self._kept.needs_proof(dataset.key), not self._kept.shows_writes
        try:
            self.last = restore_pages(dataset.data, target, index=index, state=kept / "state", prove=prove, whole=whole)
        except DialinError as error:
            self._say(f"{error.what}: the data is copied in full from now on")
            self._way = RestoreWay.COPY
            self._kept.remove(self._ledger)
            unusable = target.with_name(f"{target.name}-unusable")
            with suppress(OSError):  # somebody may still write there: nothing of it may be left where the copy comes
                target.rename(unusable)
            shutil.rmtree(unusable, ignore_errors=True)
            return False
        (target / "auto.cnf").unlink(missing_ok=True)
        flush(target)
        return True

    def _make_room(self, needed: int, keep: StoredDataset | None = None) -> None:
        """Remove kept data, but for that of `keep`, one by one, until the disk has room for `needed` bytes and temporary files.

        Raises:
            UserError: it lacks room even so.
        """
        kept = self._kept.directory.glob("*/data") if self._kept.directory is not None else ()
        others = [data.parent for data in kept if keep is None or data.parent.name != keep.key]
        while True:
            try:
                return check_space(self._home.sandboxes, needed + self._spare)
            except UserError:
                if not others:
                    raise
                shutil.rmtree(others.pop(), ignore_errors=True)

    def has(self, dataset: StoredDataset) -> bool:
        """Return whether data of this dataset is kept, so that restoring it takes no more room."""
        if self._snapshots is not None:
            return True
        return self._way is RestoreWay.PAGES and self._kept.has(dataset.key)

    def keep(self, dataset: StoredDataset, data: Path) -> None:
        """Take back the data of a trial whose server has ended, in whatever state it is."""
        if self._kept.directory is None or self._way is not RestoreWay.PAGES:
            return
        kept = self._kept.directory / dataset.key
        if (kept / "state").exists() and not (kept / "data").exists():
            self._kept.changed_by[dataset.key] = self
            with suppress(OSError):  # the next trial gets a full copy
                data.rename(kept / "data")

    def _seconds(self, dataset: StoredDataset, way: RestoreWay) -> list[float]:
        """Return the seconds that restores took so far; those of full copies are the same under any load."""
        return self._kept.full_copies[dataset.key] if way is RestoreWay.COPY else self._own_seconds[dataset.key, way]

    def _remember(self, dataset: StoredDataset, way: RestoreWay, seconds: float) -> None:
        """Store the seconds of the fastest restore of this study, by the way that comes next: slower ones were disturbed."""
        self._seconds(dataset, way).append(seconds)
        following = self._cheapest(dataset)
        if measured := self._seconds(dataset, following):
            with suppress(OSError):  # only a forecast depends on it
                replace_text(dataset.directory / _MEASURED, json.dumps({"way": following, "seconds": min(measured)}))

    def end(self) -> None:
        """Remove all data that is kept, and the snapshots, unless another study uses them.

        Raises:
            CommandError: the user's command did not remove them; the next dialin tries again.
        """
        if self in self._kept.users:
            self._kept.users.remove(self)
        if not self._kept.users:
            self._kept.remove(self._ledger)
