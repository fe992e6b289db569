"""An empty data directory is held while it is copied, and made again where another process removed it just before."""

import shutil

import pytest

from dialin.datasets.cache import DatasetCache, DatasetRemovedError
from dialin.datasets.prepare import Preparer
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
