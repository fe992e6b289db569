"""Creates datasets: an empty data directory for each build, and from it the prepared data of a workload."""

from __future__ import annotations

import errno
import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from functools import cached_property, partial
from pathlib import Path
from typing import Any

from dialin.clock import Clock
from dialin.datasets import filling, restore
from dialin.datasets.cache import DatasetCache, DatasetRemovedError, StoredDataset, copy, key_of
from dialin.datasets.saved_tables import SavedTables
from dialin.model.build import Build
from dialin.model.place import Restore, RestoreWay
from dialin.model.setting import Value
from dialin.paths import Home
from dialin.probes import host
from dialin.servers import copied_data
from dialin.servers.capabilities import Capability, has
from dialin.servers.copied_data import ISOLATION
from dialin.servers.ledger import Ledger
from dialin.servers.sandbox import Sandbox, free_port
from dialin.text import about
from dialin.variables import rules
from dialin.workloads.base import Dataset, Target, Workload

NeededData = tuple[Workload, Sequence[tuple[Build, Mapping[str, Value]]]]
"""A workload, and the builds that its data is prepared with, each with what shapes the data."""

BLANK_SIZE = 400 * 1024**2
"""The bytes that an empty data directory takes at most, approximately."""

_RECIPE = 3
"""The version of how datasets are created: 3 since the statistics of their tables are those of their rows."""

_FAST_TO_LOAD = 256 * 1024**2
"""Bytes of pages that any disk loads soon."""
_SOON = 10.0
"""Seconds of loading pages that nobody has to be told of."""

_ATTEMPTS = 3
"""Attempts to copy an empty data directory before another process removes it to make room."""

_STOP_LIMIT = 6 * 3600.0
"""Seconds that the end of preparing may take, each of its steps: writing all pages, and merging and purging what is left."""


class Preparer:
    """Makes the datasets that trials need.

    Raises:
        UserError: from any method: the disk has no room.
        ServerError: a server could not start or stop.
        WorkloadError: the load could not prepare its data.
    """

    def __init__(self, home: Home, cache: DatasetCache, ledger: Ledger, clock: Clock, say: Callable[[str], None]) -> None:
        self._home = home
        self._cache = cache
        self._ledger = ledger
        self._clock = clock
        self._say = say

    def telling(self, say: Callable[[str], None]) -> Preparer:
        """Return a preparer that reports its steps to `say`."""
        return Preparer(self._home, self._cache, self._ledger, self._clock, say)

    def in_use(self, dataset: StoredDataset) -> AbstractContextManager[None]:
        """Keep a dataset from being removed; see `DatasetCache.in_use`."""
        return self._cache.in_use(dataset)

    def remove(self, dataset: StoredDataset) -> bool:
        """Remove a dataset; False where it is in use."""
        return self._cache.remove(dataset.key)

    def blank(self, build: Build, shape: Mapping[str, Value]) -> StoredDataset:
        """Return an empty data directory of a build; `shape` holds the variables that are fixed at its creation."""

        def make(target: Path) -> None:
            self._say(f"Creating an empty data directory with {build.id}")
            with self._sandbox(build) as sandbox:
                sandbox.initialise(shape)
                _move(sandbox.data, target)

        return self._cache.ensure(_facts(build, None, shape), make, expected=BLANK_SIZE)

    @contextmanager
    def _sandbox(self, build: Build, port: int = 0) -> Iterator[Sandbox]:
        sandbox = Sandbox.create(build, self._home, self._ledger, self._clock, port=port)
        try:
            yield sandbox
        finally:
            sandbox.remove()

    def copy_blank(self, build: Build, shape: Mapping[str, Value], target: Path) -> None:
        """Copy an empty data directory of a build, and keep other processes from removing it meanwhile; see `blank`."""
        for attempt in range(_ATTEMPTS):
            blank = self.blank(build, shape)
            try:
                with self.in_use(blank):
                    copy(blank.data, target)
                return
            except DatasetRemovedError:
                if attempt == _ATTEMPTS - 1:
                    raise

    @contextmanager
    def running(self, build: Build, options: Mapping[str, Value]) -> Iterator[Sandbox]:
        """Run a server on an empty data directory during the `with` block, to query it."""
        with self._sandbox(build) as sandbox:
            self.copy_blank(build, rules.shapes_data(options), sandbox.data)
            sandbox.boot(options)
            yield sandbox

    def prepared(self, build: Build, workload: Workload, shape: Mapping[str, Value]) -> StoredDataset:
        """Return the prepared data of a workload on a build; where tables of a stopped preparation are saved, they are used."""
        facts = _facts(build, workload.data_facts(), shape)
        if dataset := self._cache.find(key_of(facts)):
            return dataset
        copied = workload.copied_data
        build = build.limited(None, None)  # the limits are the trials'
        with self._saved_tables(facts, workload) as saved:

            def make(target: Path) -> None:
                with self._sandbox(build, free_port() if workload.needs_port else 0) as sandbox:
                    setting = {**self._setting_to_prepare(build, workload), **shape, **(ISOLATION if copied else {})}
                    self._say(f"Preparing data with {build.id}: {workload.describe_data()} (once; later studies reuse it)")
                    if copied is not None and copied.is_dir():
                        _take_over(sandbox, copied, setting)
                    else:
                        self._fill(sandbox, workload, setting, shape, saved)
                    copied_data.check_prepared(sandbox.data)
                    _move(sandbox.data, target)

            expected = max(0, _expected_bytes(workload) - (saved.size if saved else 0))
            return self._cache.ensure(facts, make, expected=expected, smaller=workload.how_to_shrink)

    @contextmanager
    def _saved_tables(self, facts: Mapping[str, Any], workload: Workload) -> Iterator[SavedTables | None]:
        """Yield the tables of a dataset that are saved while it is prepared; None where that is not possible.

        No other process removes them during the `with` block. If it ends well, they are removed.
        """
        if not (_is_filled_fast(workload) and workload.separate_tables):
            yield None
            return
        entry = self._cache.ensure(_facts_of_saved(facts, _saved_by(workload)), Path.mkdir, expected=0)
        with self._cache.in_use(entry):
            yield SavedTables(self._cache, entry)
        self._cache.remove(entry.key)

    def _fill(
        self,
        sandbox: Sandbox,
        workload: Dataset,
        setting: Mapping[str, Value],
        shape: Mapping[str, Value],
        saved: SavedTables | None = None,
    ) -> None:
        """Fill a server; where there is much data, without what guards it against a crash, and start it once more with that."""
        build, size = sandbox.build, workload.expected_bytes()
        is_fast = _is_filled_fast(workload)
        self.copy_blank(build, shape, sandbox.data)
        sandbox.boot({**setting, **filling.fast_setting(build, size), **shape} if is_fast else setting)
        with sandbox.connect() as query:
            query("CREATE DATABASE sbtest")
            if is_fast:
                filling.begin_filling(query, build)
        with filling.telling_progress(sandbox.data, size, self._clock, self._say):
            target = Target(sandbox.account, sandbox.directory, data=sandbox.data)
            if saved is None:
                workload.prepare(target)
            else:
                saved.fill(workload, target, sandbox.data, partial(sandbox.connect, _STOP_LIMIT), self._say)
        with sandbox.connect(_STOP_LIMIT) as query:
            filling.update_statistics(query)
            if is_fast:
                filling.end_filling(query, build)  # answers once all changed pages are written
        if is_fast:
            sandbox.stop(_STOP_LIMIT)
            sandbox.boot({**filling.usual_setting(build), **shape})
            with sandbox.connect() as query:
                filling.check_guarded(query, build)
        sandbox.stop(_STOP_LIMIT)

    def forecast_restore(
        self, build: Build, workload: Dataset, shape: Mapping[str, Value], *, by_snapshot: bool = False
    ) -> Restore:
        """Return how the data of a workload is going to be restored before each trial, and how long that takes."""
        way = RestoreWay.SNAPSHOT if by_snapshot else None
        dataset = self.find(build, workload, shape)
        return restore.forecast(self._home, self._clock, dataset, _expected_bytes(workload), way, lambda: self._disk_speed)

    @cached_property
    def _disk_speed(self) -> float:
        """Bytes written per second, measured once: the workloads of a suite are told the same of the same data."""
        return restore.bytes_per_second(self._home, self._clock, None)

    def find(self, build: Build, workload: Dataset, shape: Mapping[str, Value]) -> StoredDataset | None:
        """Return the data of a workload on a build if it is prepared."""
        return self._cache.find(key_of(_facts(build, workload.data_facts(), shape)))

    def pool_load(
        self, build: Build, workload: Dataset, data: StoredDataset | None, pools: Sequence[int], warmup: float
    ) -> list[str]:
        """Return what the user should know of the buffer pools: how long loading pages takes, and what is not steady then.

        `data` is that of the workload if it is prepared; `pools` are the buffer pools' bytes, `warmup` the longest warm-up.
        """
        size = data.size if data is not None else _expected_bytes(workload)
        held = min(max(pools), size)
        if held < _FAST_TO_LOAD:
            return []
        speed = self._disk_speed if data is None else restore.bytes_per_second(self._home, self._clock, data)
        seconds = held / speed
        notes, loads = [], _loads_pages(build, workload, data)
        if seconds > _SOON and loads:
            notes.append(
                f"Before each warm-up, up to {held / 1e9:.1f} GB of pages are loaded into the buffer pool: about "
                f"{about(seconds)} at the speed of this disk"
            )
        if (size > min(pools) or not loads) and seconds > warmup:
            why = "is larger than the buffer pool" if loads else "comes without a list of pages to load into the buffer pool"
            notes.append(
                f"The data ({size / 1e9:.1f} GB) {why}: what is read from the disk may take about "
                f"{about(seconds)} to become steady at this size. A trial warms up for {warmup:.0f} s at most: --warmup "
                f"{math.ceil(seconds / 10) * 10}"
            )
        return notes

    def room_needed(self, needed: Sequence[NeededData]) -> tuple[int, int]:
        """Return about how many bytes data takes that is not prepared yet, and a copy of the largest.

        Raises:
            UserError: what has to be prepared does not fit into the cache with the rest.
        """
        self._cache.remove_remains()
        lacking, sizes = 0, dict[str, int]()
        for workload, wanted in needed:
            expected = _expected_bytes(workload)
            for key, key_of_saved in _keys(workload, wanted):
                dataset, saved = self._cache.find(key), self._cache.find(key_of_saved)
                if dataset is None and key not in sizes:
                    lacking += max(0, expected - (saved.size if saved else 0))
                sizes[key] = dataset.size if dataset else expected
        if lacking:
            self._cache.check_limit(sum(sizes.values()), smaller_data(needed))
        return lacking, max(sizes.values(), default=0)

    def removable(self, needed: Sequence[NeededData]) -> int:
        """Return the bytes of prepared data that nobody uses, without what is needed."""
        return self._cache.removable({key for one in needed for keys in _keys(*one) for key in keys})

    def make_room(self, directory: Path, needed: int) -> None:
        """Remove prepared data that nobody uses where a disk lacks `needed` bytes; see `DatasetCache.make_room`."""
        self._cache.make_room(directory, needed)

    def _setting_to_prepare(self, build: Build, workload: Dataset) -> dict[str, Value]:
        """Return the setting for preparing data: fast, and with the full list of the buffer pool's pages dumped at the stop."""
        half = host.memory_available() // 2
        pool = max(128 * 1024**2, min(half, round(1.5 * workload.expected_bytes())))
        options: dict[str, Value] = {
            "innodb_buffer_pool_size": pool,
            "innodb_flush_log_at_trx_commit": 0,
            "innodb_fast_shutdown": 0,
        }
        if has(build, Capability.POOL_DUMP):
            options["innodb_buffer_pool_dump_at_shutdown"] = "ON"
        if has(build, Capability.POOL_DUMP_PCT):
            options["innodb_buffer_pool_dump_pct"] = 100
        if has(build, Capability.DISABLE_LOG_BIN):
            options["disable_log_bin"] = "ON"
        return options


def smaller_data(needed: Sequence[NeededData]) -> str:
    """Return what the user may give for less data, of the workload with the most; empty where there is nothing."""
    return max((workload for workload, _ in needed), key=_expected_bytes).how_to_shrink if needed else ""


def _move(data: Path, target: Path) -> None:
    """Move a data directory, to another file system if need be.

    Raises:
        MachineError: it could not be copied there.
    """
    try:
        data.rename(target)
    except OSError as error:
        if error.errno != errno.EXDEV:
            raise
        copy(data, target)


def _take_over(sandbox: Sandbox, source: Path, setting: Mapping[str, Value]) -> None:
    """Fill a sandbox with a copy of another server's data directory, and let root log in to it.

    If that server has listed the pages of its buffer pool, trials begin with them: the list is left as it is.
    """
    copy(source, sandbox.data)
    copied_data.remove_unneeded(sandbox.data, source)
    sandbox.boot({**setting, **filling.usual_setting(sandbox.build), "skip_grant_tables": "ON"})
    with sandbox.connect() as query:
        copied_data.check_files(query)
        for statement in copied_data.root_login_statements(sandbox.build):
            query(statement)
    sandbox.stop(_STOP_LIMIT)


def _loads_pages(build: Build, workload: Dataset, data: StoredDataset | None) -> bool:
    """Return whether a server on the data of a workload begins by loading the pages of a list that is there."""
    if not has(build, Capability.POOL_DUMP):
        return False
    source = data.data if data is not None else workload.copied_data
    return source is None or not source.is_dir() or (source / _POOL_LIST).exists()


_POOL_LIST = "ib_buffer_pool"
"""The list of the buffer pool's pages, by its default name, which no study may change."""


def _expected_bytes(workload: Dataset) -> int:
    return BLANK_SIZE + workload.expected_bytes()


def _is_filled_fast(workload: Dataset) -> bool:
    return workload.copied_data is None and workload.expected_bytes() >= filling.FROM


def _facts(build: Build, workload: Mapping[str, Any] | None, shape: Mapping[str, Value]) -> dict[str, Any]:
    return {"made": _RECIPE, "build": fingerprint(build), "workload": workload, "shape": dict(sorted(shape.items()))}


def _saved_by(workload: Workload) -> str | None:
    """Return the load driver that alone may use the tables that it saved, which it is asked for; None where none are saved."""
    return workload.version() if workload.separate_tables else None


def _facts_of_saved(facts: Mapping[str, Any], saved_by: str | None) -> dict[str, Any]:
    return {**facts, "tables_saved_by": saved_by}


def _keys(workload: Workload, wanted: Iterable[tuple[Build, Mapping[str, Value]]]) -> list[tuple[str, str]]:
    """Return the keys of different datasets, each with the key of its saved tables."""
    of_workload, saved_by = workload.data_facts(), _saved_by(workload)
    all_facts = [_facts(build, of_workload, shape) for build, shape in wanted]
    return sorted({(key_of(facts), key_of(_facts_of_saved(facts, saved_by))) for facts in all_facts})


def fingerprint(build: Build) -> str:
    """Return what distinguishes a binary from another of the same version: its path, size and modification time."""
    facts = build.binary.stat()
    return f"{build.id} {build.binary.resolve()} {facts.st_size} {int(facts.st_mtime)}"
