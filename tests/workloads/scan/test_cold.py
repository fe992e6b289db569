import os

from dialin.workloads.scan import cold


def test_pages_that_were_read_are_in_the_file_cache_and_dropped_ones_are_not(tmp_path):
    path = tmp_path / "table.MYD"
    path.write_bytes(os.urandom(4 * 1024**2))
    cold.drop([path])
    dropped = cold.cached([path])
    path.read_bytes()
    assert cold.cached([path]) == 4 * 1024**2
    assert dropped in (0, 4 * 1024**2)  # a file system in memory has nowhere to drop to


def test_an_empty_file_takes_no_cache(tmp_path):
    (tmp_path / "empty").touch()
    assert cold.cached([tmp_path / "empty"]) == 0
