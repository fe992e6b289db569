"""After any trial, restored data has every byte of the prepared data: on real servers, after loads and after crashes."""

import json
import os
import random
import signal
import subprocess
import threading
import time
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest

from dialin.datasets.cache import StoredDataset
from dialin.datasets.restore import KeptData, TrialData, choose_way, restore_pages
from dialin.errors import DialinError
from dialin.fleet.tree_copy import digest
from dialin.model.place import RestoreWay
from dialin.servers.sandbox import Sandbox
from dialin.trials.tools import Tools
from dialin.workloads import load_binary
from driving import needs_dialin_load
from live import FAST, FAST_OR_ALL, ONE_OR_ALL, find, only_with_all

pytestmark = needs_dialin_load

EXAMPLES = Path(__file__).parents[1] / "examples" / "snapshot"
ROWS = 6000
POOL = {"innodb_buffer_pool_size": 32 * 1024**2}


def differences(original, copy):
    """The files that differ in their bytes or kind, apart from the identity that each server has of its own."""
    listed = [{str(path.relative_to(root)) for path in root.rglob("*")} - {"auto.cnf"} for root in (original, copy)]
    if listed[0] != listed[1]:
        return sorted(listed[0] ^ listed[1])
    files = [name for name in sorted(listed[0]) if (original / name).is_file()]
    return [name for name in files if (original / name).read_bytes() != (copy / name).read_bytes()]


def filled(original, copy):
    """The tables that take more room on disk in a copy: pages that the server compresses have lost their holes."""
    blocks = {path.name: path.stat().st_blocks for path in (original / "sbtest").iterdir()}
    return [name for name, count in blocks.items() if (copy / "sbtest" / name).stat().st_blocks > 1.1 * count + 64]


def fill(query):
    query("CREATE DATABASE sbtest")
    query("USE sbtest")
    columns = "(id INT PRIMARY KEY, k INT NOT NULL, c CHAR(120) NOT NULL, b MEDIUMBLOB, KEY (k))"
    tables = {
        "rows_table": "ENGINE=InnoDB",
        "parts": "ENGINE=InnoDB PARTITION BY HASH(id) PARTITIONS 3",
        "squeezed": "ENGINE=InnoDB ROW_FORMAT=COMPRESSED KEY_BLOCK_SIZE=8",
        "with_holes": "ENGINE=InnoDB COMPRESSION='zlib'",
        "holes_of_mariadb": "ENGINE=InnoDB PAGE_COMPRESSED=1",
        "in_general": "ENGINE=InnoDB TABLESPACE=general",
        "flat": "ENGINE=MyISAM",
    }
    made = []
    with suppress(DialinError):
        query("CREATE TABLESPACE general ADD DATAFILE 'general.ibd' ENGINE=InnoDB")
    for name, options in tables.items():
        with suppress(DialinError):  # not every build has all of these
            query(f"CREATE TABLE {name} {columns} {options}")
            made.append(name)
    for name in made:
        for first in range(0, ROWS, 500):
            values = ",".join(
                f"({n}, {n * 7 % 1000}, REPEAT('{n % 10}', 120), REPEAT('b', {30_000 if n % 500 == 0 else 10}))"
                for n in range(first, first + 500)
            )
            query(f"INSERT INTO {name} VALUES {values}")
    return made


def change(query, tables, chance):
    """Change rows in every way: in place, to other pages, into new pages; free pages; some statements may be cut off."""
    query("USE sbtest")
    for number in range(60):
        table, at = chance.choice(tables), chance.randrange(ROWS)
        for statement in (
            f"UPDATE {table} SET k = k + 1 WHERE id BETWEEN {at} AND {at + 20}",
            f"UPDATE {table} SET b = REPEAT('x', {chance.choice([5, 9000, 40_000])}) WHERE id = {at}",
            f"DELETE FROM {table} WHERE id BETWEEN {at} AND {at + 60}",
            f"INSERT IGNORE INTO {table} VALUES ({ROWS + number}, 1, 'new', REPEAT('n', 20000))",
        ):
            query(statement)


def change_schema(query):
    query("USE sbtest")
    query("ALTER TABLE rows_table ADD COLUMN extra INT, ENGINE=InnoDB")
    query("TRUNCATE TABLE parts")
    query("CREATE TABLE another AS SELECT id, k FROM rows_table")
    query("OPTIMIZE TABLE flat")


@contextmanager
def preparing(tools, build, name):
    """A dataset of a build with tables of all kinds, and the tables' names."""
    sandbox = Sandbox.create(build, tools.home, tools.ledger, tools.clock)
    try:
        tools.preparer.copy_blank(build, {}, sandbox.data)
        sandbox.boot({**POOL, "innodb_fast_shutdown": 0})
        with sandbox.connect() as query:
            tables = fill(query)
        sandbox.stop()
        directory = tools.home.sandboxes / f"dataset-{name}-{os.getpid()}"
        directory.mkdir()
        sandbox.data.rename(directory / "data")
    finally:
        sandbox.remove()
    yield StoredDataset("key", directory, 1), tables
    subprocess.run(["rm", "-rf", "--", str(directory)], check=True)


@pytest.fixture(scope="module")
def prepared(tools, server_build, tmp_path_factory):
    with preparing(tools, server_build, tmp_path_factory.mktemp("restore").name) as made:
        yield made


@pytest.fixture(scope="module")
def server_build(request):
    return request.param


@pytest.fixture(scope="module")
def tools():
    return Tools.open(print)


class Trials:
    """Trials of a dataset: each takes the data, runs a server on it, and gives the data back."""

    def __init__(self, tools, build, dataset, snapshot_command=None, way=RestoreWay.PAGES, kept=None):
        self.tools, self.build, self.dataset = tools, build, dataset
        say = self._fail if snapshot_command is None else print
        self.data = TrialData(tools.home, tools.ledger, tools.clock, say, way, snapshot_command=snapshot_command, kept=kept)

    @staticmethod
    def _fail(text):
        raise AssertionError(text)

    def run(self, act, *, kill):
        sandbox = Sandbox.create(self.build, self.tools.home, self.tools.ledger, self.tools.clock)
        try:
            self.data.take(self.dataset, sandbox.data)
            assert differences(self.dataset.data, sandbox.data) == []
            assert filled(self.dataset.data, sandbox.data) == []
            sandbox.boot(POOL)
            with sandbox.connect(60) as query:
                act(query)
                if kill:
                    os.kill(sandbox.pid, signal.SIGKILL)
            if not kill:
                sandbox.stop()
            sandbox.kill()
            self.data.keep(self.dataset, sandbox.data)
        finally:
            sandbox.remove()

    def restored(self):
        """Restore once more without a trial, and return what was done."""
        kept = next(path for path in self.tools.home.sandboxes.glob("trials-*") if (path / "key" / "data").exists()) / "key"
        done = restore_pages(
            self.dataset.data, kept / "data", index=self.dataset.directory / "pages.index", state=kept / "state"
        )
        assert differences(self.dataset.data, kept / "data") == []
        return done, kept


@pytest.mark.parametrize("server_build", ONE_OR_ALL, indirect=True, ids=lambda build: build.id)
def test_restored_data_is_equal_to_the_last_byte_whatever_a_trial_did_and_however_it_ended(tools, server_build, prepared):
    dataset, tables = prepared
    chance = random.Random(server_build.id)
    trials = Trials(tools, server_build, dataset)
    try:
        trials.run(lambda query: change(query, tables, chance), kill=False)
        done, kept = trials.restored()
        assert done["changed"] > 0
        # Whether first blocks are then read also depends on how fast that is here at this time.
        assert json.loads((kept / "state").read_text())["rule"] == "holds", "pages were written that do not show it"
        trials.run(lambda query: change(query, tables, chance), kill=True)
        trials.run(change_schema, kill=False)
        trials.run(change_schema, kill=True)
        trials.restored()
        trials.run(lambda query: query(f"SELECT SUM(k) FROM sbtest.{tables[0]}"), kill=False)
        done, _ = trials.restored()
        assert done["untouched"] >= len(list((dataset.data / "sbtest").iterdir())), "a load that only reads leaves tables alone"
    finally:
        trials.data.end()


@pytest.mark.parametrize("server_build", FAST_OR_ALL, indirect=True, ids=lambda build: build.id)
def test_two_loads_leave_one_copy_for_each_other_and_each_is_proved(tools, server_build, prepared):
    dataset, tables = prepared
    chance, kept = random.Random(server_build.id), KeptData()
    both = [Trials(tools, server_build, dataset, kept=kept) for _ in range(2)]
    try:
        proofs = []
        for trials in (both[0], both[0], both[1], both[0], both[1]):
            trials.run(lambda query: change(query, tables, chance), kill=trials is both[1])
            proofs.append(trials.data.last["by_blocks"])
            assert len(list(tools.home.sandboxes.glob("trials-*/key/data"))) == 1
        assert not proofs[3], "what the second has changed is compared in full, once"
    finally:
        for trials in both:
            trials.data.end()


DELAYS = (0.002, 0.01, 0.03, 0.06, 0.1) if "DIALIN_TEST_ALL" in os.environ else (0.002, 0.02, 0.06)
"""Seconds after which a restore is killed."""


@pytest.mark.parametrize("server_build", FAST_OR_ALL, indirect=True, ids=lambda build: build.id)
def test_a_restore_that_is_killed_is_made_good_by_the_next(tools, server_build, prepared):
    dataset, tables = prepared
    chance = random.Random(server_build.id)
    trials = Trials(tools, server_build, dataset)
    try:
        trials.run(lambda query: change(query, tables, chance), kill=True)
        _, kept = trials.restored()
        for delay in DELAYS:
            trials.run(lambda query: change(query, tables, chance), kill=True)
            words = [load_binary.need(), "restore", dataset.data, kept / "data"]
            words += ["--index", dataset.directory / "pages.index", "--state", kept / "state"]
            process = subprocess.Popen(words, stdout=subprocess.DEVNULL)
            threading.Timer(delay, process.kill).start()
            process.wait()
            time.sleep(0.02)
            trials.restored()
    finally:
        trials.data.end()


SNAPSHOT = """#!/bin/sh
set -eu
volume=$1 phase=$2 name=$3 place=${4-}
case $phase in
  take) cp -a "$place" "$volume/$name" ;;
  restore) cp -a "$volume/$name" "$volume/$name-trial"; ln -s "$volume/$name-trial" "$place" ;;
  remove) rm -rf "${place:-/nowhere}" "$volume/$name${place:+-trial}" ;;
esac
"""


@only_with_all  # tests/datasets/test_snapshots.py shows it
@pytest.mark.parametrize("server_build", FAST_OR_ALL, indirect=True, ids=lambda build: build.id)
def test_a_command_of_the_user_restores_the_data_to_the_last_byte_too(tools, server_build, prepared, tmp_path):
    dataset, tables = prepared
    chance = random.Random(server_build.id)
    script, volume = tmp_path / "snapshot.sh", tmp_path / "volume"
    script.write_text(SNAPSHOT)
    script.chmod(0o755)
    volume.mkdir()
    trials = Trials(tools, server_build, dataset, f"{script} {volume}")
    for kill in (True, False, True):
        trials.run(lambda query: change(query, tables, chance), kill=kill)
        assert not list(volume.glob("*-trial"))
    trials.run(change_schema, kill=False)
    trials.run(lambda query: None, kill=False)
    trials.data.end()
    assert list(volume.iterdir()) == []


@pytest.fixture
def on_btrfs(tmp_path):
    """Tools that have their home on a btrfs in a file, and where that is mounted."""
    image, mount = tmp_path / "image", tmp_path / "btrfs"
    mount.mkdir()
    image.touch()
    os.truncate(image, 4 * 1024**3)
    try:
        subprocess.run(["mkfs.btrfs", "--quiet", image], check=True, capture_output=True)
        subprocess.run(["mount", "-o", "loop", image, mount], check=True, capture_output=True)
    except (OSError, subprocess.CalledProcessError) as error:
        pytest.skip(f"no btrfs can be mounted here: {getattr(error, 'stderr', error)}")
    try:
        yield Tools.open(print, {**os.environ, "DIALIN_HOME": str(mount / "home")}), mount
    finally:
        subprocess.run(["umount", mount], check=True)


@only_with_all
def test_where_the_file_system_shares_blocks_restored_data_is_equal_too_and_the_prepared_data_stays(on_btrfs):
    tools, mount = on_btrfs
    build, chance = find(FAST), random.Random(1)
    assert choose_way(tools.home) is RestoreWay.REFLINK
    with preparing(tools, build, "btrfs") as (dataset, tables):
        before = digest(dataset.data)
        for command in (None, f"{EXAMPLES}/btrfs.sh {mount}"):
            trials = Trials(tools, build, dataset, command, way=None)
            for kill in (True, False, True):
                trials.run(lambda query: change(query, tables, chance), kill=kill)
            trials.run(change_schema, kill=False)
            trials.run(lambda query: None, kill=False)
            trials.data.end()
            assert digest(dataset.data) == before
            assert [path.name for path in mount.iterdir()] == ["home"]
