"""Tables that are complete survive the end of the preparation that filled them, whenever that is."""

from contextlib import contextmanager

import pytest

from dialin.datasets import prepare, saved_tables
from dialin.datasets.cache import DatasetCache
from dialin.datasets.prepare import BLANK_SIZE, Preparer
from dialin.datasets.saved_tables import SavedTables
from dialin.model.build import Build, Vendor
from dialin.servers.account import Account
from dialin.servers.connection import RefusedError
from dialin.servers.ledger import Ledger
from dialin.workloads.base import Target

ROWS = 300 * 1024**2
"""Bytes from which on a preparation can be resumed."""


class Server:
    """A server that exports and imports the files of its tables as real ones do."""

    def __init__(self, place):
        self.data = place
        self.files = place / "sbtest"
        self.files.mkdir(parents=True)
        self.exported = []
        self.refuses = ()
        self.before_import = lambda name: None

    @contextmanager
    def connect(self):
        yield self.query

    def query(self, statement):
        verb, *words = statement.split()
        if any(statement.startswith(refused) for refused in self.refuses):
            raise RefusedError(statement, "", 1064)
        if statement.startswith("SHOW CREATE TABLE"):
            return [(words[-1], f"CREATE TABLE {words[-1]}")]
        if verb == "FLUSH":
            self.exported = [word.strip(",") for word in words[1:-2]]
            for name in self.exported:
                assert (self.files / f"{name}.ibd").exists()
                (self.files / f"{name}.cfg").write_text(name)
        if verb == "UNLOCK":
            for name in self.exported:
                (self.files / f"{name}.cfg").unlink()
        if verb == "CREATE":
            (self.files / f"{words[-1]}.ibd").write_text("no rows")
        if "DISCARD" in words:
            (self.files / f"{words[1]}.ibd").unlink()
        if "IMPORT" in words:
            assert (self.files / f"{words[1]}.cfg").read_text() == words[1]
            self.before_import(words[1])
        return [("", "check", "status", "OK")] if verb == "CHECK" else []


class Load:
    """Four tables; the preparation ends before the first of `fails`, as Ctrl-C or a kill would end it."""

    separate_tables = ("t1", "t2", "t3", "t4")
    copied_data = None
    how_to_shrink = ""

    def __init__(self, server=None, fails=()):
        self.server, self.fails, self.prepared = server, fails, []

    def version(self):
        return "driver 1"

    def expected_bytes(self):
        return ROWS

    def data_facts(self):
        return {"load": "four"}

    def prepare_tables(self, _target, names):
        for name in names:
            if name in self.fails:
                raise KeyboardInterrupt
            self.prepared.append(name)
            (self.server.files / f"{name}.ibd").write_text(f"rows of {name}")


@pytest.fixture
def said():
    return []


@pytest.fixture
def entry(home, clock):
    cache = DatasetCache(home, clock)
    return cache, cache.ensure({"saved": 1}, lambda path: path.mkdir(), expected=0)


@pytest.fixture
def fill(entry, said, tmp_path, monkeypatch):
    monkeypatch.setattr(saved_tables, "tables_at_once", lambda _count, _size: 2)

    def fill(server, *fails):
        load = Load(server, fails)
        target = Target(Account(), tmp_path)
        SavedTables(*entry).fill(load, target, server.data, server.connect, said.append)
        return load.prepared

    return fill


def rows_in(server):
    return {path.name: path.read_text() for path in server.files.iterdir()}


ALL = {f"t{number}.ibd": f"rows of t{number}" for number in range(1, 5)}


def test_the_next_preparation_uses_the_tables_that_are_complete_and_fills_the_rest(fill, said, tmp_path):
    with pytest.raises(KeyboardInterrupt):
        fill(Server(tmp_path / "killed"), "t4")
    assert said == []
    resumed = Server(tmp_path / "resumed")
    assert fill(resumed) == ["t3", "t4"], "t3 was filled, but not saved"
    assert said == ["Resuming a preparation that was stopped: 2 of 4 tables are complete"]
    assert rows_in(resumed) == ALL


def test_one_that_is_stopped_again_and_again_only_goes_on(fill, said, tmp_path):
    for turn in range(2):
        with pytest.raises(KeyboardInterrupt):
            fill(Server(tmp_path / str(turn)), "t3")
    last = Server(tmp_path / "last")
    assert fill(last) == ["t3", "t4"]
    assert len(said) == 2
    assert rows_in(last) == ALL


def test_a_table_is_not_saved_any_more_while_a_server_changes_its_file(fill, entry, said, tmp_path):
    fill(Server(tmp_path / "stopped"))
    marked = []

    def die(name):
        marked.extend(path.name for path in entry[1].data.glob(f"{name}*"))
        raise KeyboardInterrupt

    dying = Server(tmp_path / "dying")
    dying.before_import = die
    with pytest.raises(KeyboardInterrupt):
        fill(dying)
    assert marked == []
    assert fill(Server(tmp_path / "next")) == ["t1"]
    assert said[-1] == "Resuming a preparation that was stopped: 3 of 4 tables are complete"


@pytest.mark.parametrize("refused", ["CREATE TABLE t2", "ALTER TABLE t2 DISCARD", "ALTER TABLE t2 IMPORT", "CHECK TABLE t2"])
def test_a_table_that_the_next_server_does_not_accept_is_filled_again(fill, tmp_path, refused):
    fill(Server(tmp_path / "stopped"))
    server = Server(tmp_path / "next")
    server.refuses = (refused,)
    assert fill(server) == ["t2"]
    assert rows_in(server) == ALL


def test_files_without_the_mark_that_they_are_complete_are_not_used(fill, entry, tmp_path):
    for ending in (".ibd", ".cfg"):
        (entry[1].data / f"t1{ending}").write_text("half of it")
    server = Server(tmp_path / "next")
    assert fill(server) == ["t1", "t2", "t3", "t4"]
    assert rows_in(server) == ALL


def test_where_a_build_exports_no_tables_all_are_filled_each_time(fill, said, tmp_path):
    for turn in range(2):
        server = Server(tmp_path / str(turn))
        server.refuses = ("FLUSH TABLES",)
        assert fill(server) == ["t1", "t2", "t3", "t4"]
        assert rows_in(server) == ALL
    assert said == []


BUILD = Build(Vendor.ORACLE, (9, 7, 4), None)


@pytest.fixture
def preparer(home, clock, monkeypatch):
    monkeypatch.setattr(prepare, "fingerprint", lambda build: build.id)
    return Preparer(home, DatasetCache(home, clock), Ledger(home.ledger), clock, lambda _line: None)


def saved_tables_of(preparer):
    return preparer._saved_tables(prepare._facts(BUILD, Load().data_facts(), {}), Load())


@pytest.fixture
def cache(preparer):
    """The cache after a preparation was stopped whose first table was complete."""

    def prepare_first_table():
        with saved_tables_of(preparer) as saved:
            (saved._entry.data / "t1.ibd").write_bytes(b"x" * 80_000)
            preparer._cache.measure(saved._entry)
            assert preparer._cache.removable() == 0, "it is in use"
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        prepare_first_table()
    return preparer._cache


def test_saved_tables_are_no_dataset_but_count_as_data_that_may_be_removed(preparer, cache):
    assert preparer.find(BUILD, Load(), {}) is None
    assert cache.removable() > 80_000
    needed = [(Load(), [(BUILD, {})])]
    assert preparer.removable(needed) == 0, "this load uses them"
    assert preparer.room_needed(needed)[0] < BLANK_SIZE + ROWS - 80_000


def test_another_build_of_the_load_driver_does_not_use_them(preparer, cache, monkeypatch):
    monkeypatch.setattr(Load, "version", lambda _self: "driver 2")
    with saved_tables_of(preparer) as saved:
        assert [*saved._entry.data.iterdir()] == []


def test_they_are_removed_once_the_data_is_prepared(preparer, cache):
    with saved_tables_of(preparer) as saved:
        assert [path.name for path in saved._entry.data.iterdir()] == ["t1.ibd"]
    assert cache.removable() == 0


def test_little_data_and_data_whose_tables_are_not_separate_is_prepared_anew(preparer, monkeypatch):
    for attribute, value in (("expected_bytes", lambda _self: 1000), ("separate_tables", ())):
        with monkeypatch.context() as patched:
            patched.setattr(Load, attribute, value)
            with saved_tables_of(preparer) as saved:
                assert saved is None
