import json
import os
import shutil
import threading
from types import SimpleNamespace

import pytest

from dialin.datasets.cache import DatasetCache, check_space, copy, key_of, tree_size
from dialin.errors import DialinError, MachineError, UserError

FACTS = {"build": "mysql@9.7.4", "tables": 4}


def maker(size=1000, calls=None):
    def make(path):
        path.mkdir()
        (path / "ibdata1").write_bytes(b"x" * size)
        if calls is not None:
            calls.append(path)

    return make


def test_a_dataset_is_made_once_and_found_again(home, clock):
    cache, calls = DatasetCache(home, clock), []
    first = cache.ensure(FACTS, maker(calls=calls), expected=1)
    second = cache.ensure(FACTS, maker(calls=calls), expected=1)
    assert first == second
    assert len(calls) == 1
    assert (second.data / "ibdata1").read_bytes() == b"x" * 1000


def test_the_key_depends_on_every_fact_and_not_on_their_order():
    assert key_of({"a": 1, "b": 2}) == key_of({"b": 2, "a": 1})
    assert key_of({"a": 1}) != key_of({"a": 2})


def test_a_preparation_that_fails_leaves_nothing_that_looks_like_a_dataset(home, clock):
    cache = DatasetCache(home, clock)

    def fail(path):
        path.mkdir()
        raise DialinError("no luck")

    with pytest.raises(DialinError):
        cache.ensure(FACTS, fail, expected=1)
    assert cache.find(key_of(FACTS)) is None
    assert [path for path in home.datasets.iterdir() if path.is_dir()] == []


def test_data_that_could_not_be_written_to_disk_is_no_dataset(home, clock, tmp_path, monkeypatch):
    (tmp_path / "sync").write_text("#!/bin/sh\necho 'sync: error syncing: Input/output error' >&2; exit 1\n")
    (tmp_path / "sync").chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=os.pathsep)
    cache = DatasetCache(home, clock)
    with pytest.raises(MachineError, match=r"could not be written to disk: .*Input/output error"):
        cache.ensure(FACTS, maker(), expected=1)
    assert cache.find(key_of(FACTS)) is None


def test_data_that_is_still_being_written_to_disk_is_not_removed_to_make_room(home, clock, monkeypatch):
    cache, removable = DatasetCache(home, clock), []
    monkeypatch.setattr("dialin.datasets.cache.flush", lambda _directory: removable.append(cache.removable()))
    cache.ensure(FACTS, maker(80_000), expected=1)
    assert removable == [0]
    assert cache.removable() > 80_000


@pytest.mark.parametrize("facts", [FACTS, {"other": 1}], ids=["of the same data", "of other data"])
def test_remains_of_a_killed_preparation_are_removed_by_the_next(home, clock, facts):
    cache = DatasetCache(home, clock)
    leftover = home.datasets / f".making-{key_of(FACTS)}-abcdef01"
    (leftover / "data").mkdir(parents=True)
    cache.ensure(facts, lambda path: maker()(path) if not leftover.exists() else pytest.fail("no room"), expected=1)
    assert not leftover.exists()


def test_what_is_being_prepared_elsewhere_is_no_remains(home, clock):
    cache, seen = DatasetCache(home, clock), []

    def make(path):
        maker()(path)
        DatasetCache(home, clock).remove_remains()
        seen.append(path.exists())

    cache.ensure(FACTS, make, expected=1)
    assert seen == [True]


def test_the_limit_that_would_be_enough_is_named_before_anything_is_prepared(home, clock):
    with pytest.raises(UserError, match=r"about 107\.4 GB exceeds.*DIALIN_CACHE_LIMIT_GB=100 or more, or give a smaller one"):
        DatasetCache(home, clock).check_limit(100 * 1024**3, "a smaller one")
    DatasetCache(home, clock, limit=100 * 1024**3).check_limit(100 * 1024**3)


def test_a_preparation_under_way_elsewhere_is_waited_for_and_used(home, clock):
    calls = []
    gate = threading.Event()

    def slow(path):
        gate.set()
        maker(calls=calls)(path)

    other = threading.Thread(target=lambda: DatasetCache(home, clock).ensure(FACTS, slow, expected=1))
    other.start()
    gate.wait(5)
    DatasetCache(home, clock).ensure(FACTS, maker(calls=calls), expected=1)
    other.join()
    assert len(calls) == 1


def test_the_dataset_unused_longest_goes_first_when_the_limit_is_reached(home, clock):
    cache = DatasetCache(home, clock, limit=320_000)
    for name in ("old", "used", "new"):
        clock.sleep(10)
        cache.ensure({"name": name}, maker(80_000), expected=80_000)
        if name == "used":
            clock.sleep(10)
            cache.find(key_of({"name": "old"}))
    clock.sleep(10)
    cache.ensure({"name": "fourth"}, maker(80_000), expected=80_000)
    there = {json.loads(path.read_text())["facts"]["name"] for path in home.datasets.glob("*/dataset.json")}
    assert "old" in there
    assert "used" not in there


def test_no_room_on_the_disk_is_said_before_anything_is_made(home, clock):
    calls = []
    with pytest.raises(UserError, match="GB free"):
        DatasetCache(home, clock, limit=10**19).ensure(FACTS, maker(calls=calls), expected=10**18)
    assert calls == []


@pytest.mark.parametrize(
    ("smaller", "says"),
    [
        ("a smaller --table-size", r"Free some space, give a smaller --table-size, or set DIALIN_HOME"),
        ("", r"Free some space, or set DIALIN_HOME"),
    ],
)
def test_only_what_makes_the_data_smaller_is_advised(home, clock, smaller, says):
    with pytest.raises(UserError, match=says):
        DatasetCache(home, clock, limit=10**19).ensure(FACTS, maker(), expected=10**18, smaller=smaller)


def test_data_larger_than_the_caches_limit_is_refused_with_the_name_of_the_limit(home, clock):
    DatasetCache(home, clock).ensure({"name": "old"}, maker(10), expected=10)
    with pytest.raises(UserError, match="DIALIN_CACHE_LIMIT_GB"):
        DatasetCache(home, clock, limit=1000).ensure(FACTS, maker(), expected=2000)
    assert names_of(home) == {"old"}, "nothing is removed in vain"


def test_data_in_use_is_never_removed_to_make_room(home, clock):
    cache = DatasetCache(home, clock, limit=150_000)
    used = cache.ensure({"name": "used"}, maker(80_000), expected=80_000)
    with cache.in_use(used), pytest.raises(UserError, match="DIALIN_CACHE_LIMIT_GB"):
        cache.ensure({"name": "other"}, maker(80_000), expected=80_000)
    assert cache.find(used.key)
    cache.ensure({"name": "other"}, maker(80_000), expected=80_000)
    assert not cache.find(used.key)


def test_a_copy_is_whole_and_leaves_the_original_alone(tmp_path):
    source = tmp_path / "a"
    (source / "sub").mkdir(parents=True)
    (source / "sub" / "t.ibd").write_bytes(b"rows")
    copy(source, tmp_path / "b")
    (tmp_path / "b" / "sub" / "t.ibd").write_bytes(b"changed")
    assert (source / "sub" / "t.ibd").read_bytes() == b"rows"
    assert tree_size(source) > 0


def test_a_copy_that_cannot_be_made_says_why(tmp_path):
    with pytest.raises(DialinError, match="could not be copied"):
        copy(tmp_path / "nowhere", tmp_path / "b")


class Disk:
    """A disk of a certain size on which only datasets lie."""

    def __init__(self, home, size):
        self.home, self.size = home, size

    def usage(self, _path):
        used = sum(tree_size(path.parent) for path in self.home.datasets.glob("*/dataset.json"))
        return SimpleNamespace(free=self.size - used)


@pytest.fixture
def disk(home, monkeypatch):
    made = Disk(home, 10**9)
    monkeypatch.setattr(shutil, "disk_usage", made.usage)
    return made


def names_of(home):
    return {json.loads(path.read_text())["facts"]["name"] for path in home.datasets.glob("*/dataset.json")}


def test_where_the_disk_is_tight_data_that_nobody_uses_gives_way_the_oldest_first(home, clock, disk):
    said = []
    cache, made = DatasetCache(home, clock, say=said.append), {}
    for name in ("oldest", "used", "newer", "newest"):
        clock.sleep(10)
        made[name] = cache.ensure({"name": name}, maker(80_000), expected=80_000)
    each = made["used"].size
    disk.size = 5 * each
    assert cache.removable({made["newest"].key}) == 3 * each
    with cache.in_use(made["used"]):
        assert cache.removable() == 3 * each
        clock.sleep(10)
        cache.ensure({"name": "more"}, maker(80_000), expected=round(1.5 * each))
        assert names_of(home) == {"used", "newer", "newest", "more"}
        cache.make_room(home.datasets, 2 * each)
    assert names_of(home) == {"used", "more"}
    assert said == ["Removed prepared data that no study uses, to make room: 0.0 GB"] * 3


def test_where_all_that_could_go_would_not_suffice_nothing_is_removed(home, clock, disk):
    cache = DatasetCache(home, clock)
    made = cache.ensure({"name": "old"}, maker(80_000), expected=80_000)
    disk.size = 2 * made.size
    with pytest.raises(UserError, match="GB free"):
        cache.ensure({"name": "huge"}, maker(), expected=10 * made.size)
    assert names_of(home) == {"old"}


def test_what_can_be_removed_counts_as_free_when_a_study_is_checked(home, disk):
    disk.size = 1000
    check_space(home.root, 1800, removable=1000)
    with pytest.raises(UserError, match="GB free"):
        check_space(home.root, 1900, removable=1000)


def test_a_link_that_somebody_put_in_place_of_a_lock_in_a_shared_cache_leads_nowhere(home, clock, tmp_path):
    home.datasets.mkdir(parents=True)
    (tmp_path / "precious").write_text("mine")
    (home.datasets / f".{key_of(FACTS)}.lock").symlink_to(tmp_path / "precious")
    with pytest.raises(OSError, match="symbolic link"):
        DatasetCache(home, clock).ensure(FACTS, maker(), expected=1)
    assert (tmp_path / "precious").read_text() == "mine"


def test_of_a_link_to_a_directory_the_directory_is_copied(tmp_path):
    """A server on a copy of the link would change the original."""
    (tmp_path / "a").mkdir()
    (tmp_path / "a" / "t.ibd").write_bytes(b"rows")
    (tmp_path / "link").symlink_to(tmp_path / "a")
    copy(tmp_path / "link", tmp_path / "b")
    (tmp_path / "b" / "t.ibd").write_bytes(b"changed")
    assert not (tmp_path / "b").is_symlink()
    assert (tmp_path / "a" / "t.ibd").read_bytes() == b"rows"
