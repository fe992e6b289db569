import os

import pytest

from dialin.errors import UserError
from dialin.store.read_only import find_studies


def make(directory):
    directory.mkdir(parents=True)
    (directory / "study.db").touch()
    return directory


def test_studies_are_those_with_a_database_at_any_depth_and_not_below_another(tmp_path):
    one, two = make(tmp_path / "one"), make(tmp_path / "2026" / "11" / "two")
    make(one / "evidence" / "inner")
    make(tmp_path / ".trash" / "hidden")
    (tmp_path / "link").symlink_to(tmp_path)
    (tmp_path / "other").mkdir()
    assert find_studies(tmp_path).studies == [two, one]
    assert find_studies(one).studies == [one]


def test_a_directory_that_cannot_be_searched_is_a_problem_with_its_reason(tmp_path, monkeypatch):
    closed = tmp_path / "closed"
    closed.mkdir()
    scan = os.scandir

    def refuse(path):
        if path == closed or path == str(closed):
            raise PermissionError(13, "Permission denied", os.fspath(closed))
        return scan(path)

    monkeypatch.setattr(os, "scandir", refuse)
    assert find_studies(tmp_path).problems == [(closed, "Permission denied")]


def test_a_path_that_is_no_directory_is_refused(tmp_path):
    with pytest.raises(UserError, match="is not a directory"):
        find_studies(tmp_path / "gone")
