"""An empty data directory is held while it is copied, and made again where another process removed it just before."""

import shutil
import tempfile
from contextlib import contextmanager, nullcontext
from pathlib import Path
from types import SimpleNamespace

import pytest

from dialin.datasets import prepare
from dialin.datasets.cache import DatasetCache, DatasetRemovedError, StoredDataset, key_of
from dialin.datasets.prepare import BLANK_SIZE, Preparer
from dialin.errors import UserError
from dialin.model.build import Build, Vendor
from dialin.model.place import RestoreWay
from dialin.servers.ledger import Ledger


class Removed(Preparer):
    """Empty data directories of one file, each of the first so many removed as soon as it is looked up."""

    times = 0
    made = 0

    def blank(self, build, shape):
        def make(path):
            path.mkdir()
            (path / "ibdata1").write_bytes(b"x")
            self.made += 1

        dataset = self._cache.ensure({"build": build}, make, expected=1)
        if self.times:
            self.times -= 1
            shutil.rmtree(dataset.directory)
        return dataset


@pytest.fixture
def preparer(home, clock):
    return Removed(home, DatasetCache(home, clock), Ledger(home.ledger), clock, lambda _: None)


def test_one_that_is_removed_before_it_is_held_is_made_again(preparer, tmp_path):
    preparer.times = 1
    preparer.copy_blank("mysql@9.7.4", {}, tmp_path / "copy")
    assert (tmp_path / "copy" / "ibdata1").read_bytes() == b"x"
    assert preparer.made == 2


def test_one_that_is_always_removed_is_an_error_that_says_why(preparer, tmp_path):
    preparer.times = 99
    with pytest.raises(DatasetRemovedError, match="removed to make room"):
        preparer.copy_blank("mysql@9.7.4", {}, tmp_path / "copy")
    assert preparer.made == 3


class Filled:
    """A sandbox whose server is only asked, and for how long."""

    directory = data = Path("/nowhere")
    account = None

    def __init__(self, build):
        self.build, self.waits, self.boots = build, {}, []

    @contextmanager
    def connect(self, timeout=10.0):
        def query(statement, _arguments=()):
            self.waits[statement] = timeout
            return [("Innodb_redo_log_enabled", "ON")]

        yield query

    def boot(self, options):
        self.boots.append(options)

    def stop(self, _patience):
        pass


def test_a_server_that_guards_itself_again_has_as_long_as_writing_all_its_pages_takes(preparer, monkeypatch):
    sandbox = Filled(BUILD)
    load = SimpleNamespace(copied_data=None, expected_bytes=lambda: GB, prepare=lambda _target: None)
    monkeypatch.setattr(preparer, "copy_blank", lambda *_: None)
    preparer._fill(sandbox, load, {}, {})
    assert sandbox.waits["ALTER INSTANCE ENABLE INNODB REDO_LOG"] >= 3600
    assert [options.get("innodb_flush_method") for options in sandbox.boots] == ["nosync", None]


GB = 10**9
BUILD = Build(Vendor.ORACLE, (9, 7, 4), Path(__file__))


def data_of(size):
    return SimpleNamespace(
        data_facts=lambda: {"size": size},
        expected_bytes=lambda: size,
        how_to_shrink="a smaller one",
        separate_tables=(),
        copied_data=None,
    )


def test_room_is_needed_for_data_that_is_not_prepared_and_for_copies_of_the_largest(preparer, home, clock):
    load, shapes = data_of(10 * GB), [{}, {"innodb_page_size": 4096}]
    wanted = [(BUILD, shape) for shape in shapes]
    each = 10 * GB + BLANK_SIZE
    assert preparer.room_needed([(load, [*wanted, wanted[0]])]) == (2 * each, each)
    directory = home.datasets / key_of(prepare._facts(BUILD, load.data_facts(), {}))
    directory.mkdir(parents=True)
    (directory / "dataset.json").write_text('{"size": 7000000000}')
    assert preparer.room_needed([(load, wanted)]) == (each, each)
    assert preparer.room_needed([(load, wanted[:1])]) == (0, 7 * GB)


def test_the_loads_of_a_suite_need_room_for_all_their_data_but_once_for_what_they_share(preparer):
    small, large, none = data_of(10 * GB), data_of(20 * GB), []
    needed = [(load, [(BUILD, {})]) for load in (small, small, large)]
    assert preparer.room_needed(needed) == (30 * GB + 2 * BLANK_SIZE, 20 * GB + BLANK_SIZE)
    assert preparer.room_needed(none) == (0, 0)
    with pytest.raises(UserError, match=r"about 61\.3 GB exceeds"):
        preparer.room_needed([*needed, (data_of(30 * GB), [(BUILD, {})])])


def test_data_that_exceeds_the_cache_s_limit_is_refused_before_any_is_prepared(preparer):
    load, shapes = data_of(30 * GB), [{}, {"innodb_page_size": 4096}]
    preparer.room_needed([(load, [(BUILD, shapes[0])])])
    with pytest.raises(UserError, match=r"about 60\.8 GB exceeds.*DIALIN_CACHE_LIMIT_GB=57 or more, or give a smaller one"):
        preparer.room_needed([(load, [(BUILD, shape) for shape in shapes])])


def test_the_speed_of_the_disk_is_measured_once_for_all_workloads_of_a_suite(preparer, monkeypatch):
    speeds = iter([125e6])
    monkeypatch.setattr("dialin.datasets.restore.bytes_per_second", lambda *_: next(speeds))
    monkeypatch.setattr("dialin.datasets.restore.choose_way", lambda _: RestoreWay.COPY)
    seconds = [preparer.forecast_restore(BUILD, data_of(size * GB), {}).seconds for size in (30, 30, 60)]
    assert seconds == pytest.approx([243, 243, 483], abs=1)
    assert preparer.pool_load(BUILD, data_of(100 * GB), None, [15 * GB], 300.0)


def test_what_takes_long_to_warm_up_is_said_beforehand(preparer, monkeypatch):
    monkeypatch.setattr("dialin.datasets.restore.bytes_per_second", lambda home, clock, dataset: 125e6)
    large = data_of(100 * GB)
    loading, unsteady = preparer.pool_load(BUILD, large, None, [64 * 10**6, 15 * GB], 12.0)
    assert loading == (
        "Before each warm-up, up to 15.0 GB of pages are loaded into the buffer pool: about 2 min at the speed of this disk"
    )
    assert unsteady == (
        "The data (100.4 GB) is larger than the buffer pool: what is read from the disk may take about 2 min to become steady "
        "at this size. A trial warms up for 12 s at most: --warmup 120"
    )
    assert preparer.pool_load(BUILD, large, None, [15 * GB], 300.0) == [loading]
    assert len(preparer.pool_load(BUILD, data_of(3 * GB), None, [15 * GB], 12.0)) == 1, "all of it fits the pool"
    assert preparer.pool_load(BUILD, data_of(1 * GB), None, [128 * 1024**2], 12.0) == [], "soon done"


def test_where_a_server_has_no_list_of_pages_to_load_the_load_reads_them_and_that_is_said(preparer, monkeypatch, tmp_path):
    monkeypatch.setattr("dialin.datasets.restore.bytes_per_second", lambda home, clock, dataset: 125e6)
    pools, copied = [15 * GB], data_of(10 * GB)
    copied.copied_data = tmp_path
    old = Build(Vendor.ORACLE, (5, 5, 9), Path(__file__))
    stored = StoredDataset("key", tmp_path, 10 * GB)
    (tmp_path / "data").mkdir()
    for build, load, data in ((old, data_of(10 * GB), None), (BUILD, copied, None), (BUILD, data_of(10 * GB), stored)):
        (said,) = preparer.pool_load(build, load, data, pools, 12.0)
        assert "comes without a list of pages to load into the buffer pool" in said
        assert "A trial warms up for 12 s at most: --warmup " in said
    for place in (tmp_path, stored.data):
        (place / "ib_buffer_pool").touch()
    for load, data in ((copied, None), (data_of(10 * GB), stored)):
        (said,) = preparer.pool_load(BUILD, load, data, pools, 12.0)
        assert said.startswith("Before each warm-up")


def test_the_list_of_pages_of_a_server_whose_data_is_copied_stays(monkeypatch):
    sandbox = Filled(BUILD)
    for name in ("copy", "copied_data.remove_unneeded", "copied_data.check_files"):
        monkeypatch.setattr(f"dialin.datasets.prepare.{name}", lambda *_: None)
    prepare._take_over(sandbox, Path("/backup"), {"innodb_buffer_pool_dump_at_shutdown": "ON"})
    assert sandbox.boots[0]["innodb_buffer_pool_dump_at_shutdown"] == "OFF"


@pytest.mark.parametrize("is_link", [True, False], ids=["MyISAM", "InnoDB"])
def test_a_load_that_makes_tables_outside_of_the_data_directory_is_refused_for_no_restore_would_reach_them(
    preparer, monkeypatch, tmp_path, is_link
):
    sandbox, far = SimpleNamespace(data=tmp_path / "sandbox"), tmp_path / "elsewhere" / "orders"
    load = SimpleNamespace(**vars(data_of(1000)), needs_port=False, describe_data=lambda: "orders")

    def fill(sandbox, *_):
        sandbox.data.mkdir()
        if is_link:
            (sandbox.data / "orders.MYD").symlink_to(far)
        else:
            (sandbox.data / "orders.isl").write_text(str(far))

    monkeypatch.setattr(preparer, "_sandbox", lambda *_: nullcontext(sandbox))
    monkeypatch.setattr(preparer, "_fill", fill)
    with pytest.raises(UserError, match=r"elsewhere/orders is a file of that data, and lies outside of its directory"):
        preparer.prepared(BUILD, load, {})
    assert preparer.find(BUILD, load, {}) is None


def test_data_is_moved_to_the_cache_from_whichever_file_system_it_was_made_on(tmp_path):
    with tempfile.TemporaryDirectory(dir="/dev/shm") as elsewhere:
        made = Path(elsewhere, "data")
        made.mkdir()
        (made / "ibdata1").write_text("pages")
        prepare._move(made, tmp_path / "data")
    assert (tmp_path / "data" / "ibdata1").read_text() == "pages"
