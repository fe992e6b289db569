import os

import pytest

from dialin.errors import ExitCode, MachineError
from dialin.report import files
from fixtures import example_studies


def test_all_four_files_are_written(tmp_path):
    files.write_all(example_studies.no_difference(), tmp_path)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["recommended.cnf", "report.html", "report.md", "verdict.json"]


def test_where_something_is_to_be_set_its_statements_and_those_that_take_it_back_are_written_too(tmp_path):
    files.write_all(example_studies.winner(), tmp_path)
    assert "SET PERSIST innodb_buffer_pool_instances = 16;" in (tmp_path / "recommended.sql").read_text()
    assert "RESET PERSIST IF EXISTS innodb_buffer_pool_instances;" in (tmp_path / "undo.sql").read_text()


def test_statements_of_an_earlier_verdict_are_gone_once_nothing_is_to_be_set(tmp_path):
    files.write_all(example_studies.winner(), tmp_path)
    files.write_all(example_studies.no_difference(), tmp_path)
    assert not list(tmp_path.glob("*.sql"))


def test_without_a_verdict_there_is_a_report_and_no_recommendation(tmp_path):
    files.write_all(example_studies.unfinished(), tmp_path)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["report.html", "report.md"]


def test_the_files_are_as_readable_as_the_user_s_own(tmp_path):
    before = os.umask(0o022)
    try:
        files.write_all(example_studies.unfinished(), tmp_path)
    finally:
        os.umask(before)
    assert {path.stat().st_mode & 0o777 for path in tmp_path.iterdir()} == {0o644}


def test_a_write_that_fails_leaves_the_old_file_and_no_debris(tmp_path, monkeypatch):
    (tmp_path / "report.html").write_text("old")

    def full(handle):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(MachineError, match=r"cannot be written: No space left on device\. The study is safe"):
        files.write_all(example_studies.unfinished(), tmp_path)
    assert [(path.name, path.read_text()) for path in tmp_path.iterdir()] == [("report.html", "old")]


def test_a_directory_that_is_gone_is_one_line(tmp_path):
    with pytest.raises(MachineError, match="cannot be written"):
        files.write_all(example_studies.unfinished(), tmp_path / "gone")


def test_an_unwritable_file_is_no_misuse(tmp_path):
    (tmp_path / "verdict.json").mkdir()
    with pytest.raises(MachineError, match=r"verdict\.json cannot be written: Is a directory") as raised:
        files.write_all(example_studies.winner(), tmp_path)
    assert raised.value.exit_code is ExitCode.NO_VERDICT
    assert "dialin report" in raised.value.remedy
