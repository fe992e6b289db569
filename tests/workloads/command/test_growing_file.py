"""The file that a program writes is read while it grows, and whatever else is there is neither waited for nor removed."""

import os
import tracemalloc

import pytest

from dialin.errors import UserError
from dialin.workloads.command.growing_file import GrowingFile


def test_lines_are_read_as_they_are_completed(tmp_path):
    path = tmp_path / "out.csv"
    path.write_text("of an earlier run\n")
    file = GrowingFile.anew(path)
    assert file.read(str) is None
    path.write_text("one\ntw")
    assert (file.read(str), file.read(str)) == ("one", None)
    with path.open("a") as more:
        more.write("o\r\n")
    assert file.read(str) == "two"
    file.close()


def test_nothing_but_a_file_is_removed_or_waited_for(tmp_path):
    pipe, link, directory = tmp_path / "pipe", tmp_path / "link", tmp_path / "directory"
    os.mkfifo(pipe)
    link.symlink_to(os.devnull)
    directory.mkdir()
    for path in (pipe, link, directory):
        with pytest.raises(UserError, match="not a regular file"):
            GrowingFile(path).read(str)
    for path in (pipe, directory):
        with pytest.raises(UserError, match="not a regular file"):
            GrowingFile.anew(path)
    assert len(list(tmp_path.iterdir())) == 3


def test_of_a_link_that_a_program_made_to_its_file_only_the_link_is_removed(tmp_path):
    path, target = tmp_path / "latest.csv", tmp_path / "run-1.csv"
    target.write_text("of an earlier run\n")
    path.symlink_to(target)
    assert GrowingFile.anew(path).read(str) is None
    assert list(tmp_path.iterdir()) == [target]


def test_no_more_is_read_than_what_is_asked_for(tmp_path):
    path = tmp_path / "out.csv"
    path.write_text("row\n" * 1_000_000)
    file = GrowingFile(path)
    tracemalloc.start()
    try:
        assert [file.read(str) for _ in range(1000)] == ["row"] * 1000
        assert tracemalloc.get_traced_memory()[1] < 40 << 20, "a mebibyte of lines, and not a thousand"
    finally:
        tracemalloc.stop()
    file.close()
