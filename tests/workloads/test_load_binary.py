import pytest

from dialin.errors import UserError
from dialin.workloads import load_binary


def program(path):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("#!/bin/sh\n")
    path.chmod(0o755)
    return path


@pytest.fixture
def python(tmp_path):
    """The interpreter of an environment without the program."""
    (tmp_path / "venv" / "bin").mkdir(parents=True)
    return str(tmp_path / "venv" / "bin" / "python")


def test_the_program_beside_python_goes_before_that_on_path(tmp_path, python):
    there = program(tmp_path / "usr" / "dialin-load")
    path = {"PATH": str(there.parent)}
    assert load_binary.find(path, python) == there
    beside = program(tmp_path / "venv" / "bin" / "dialin-load")
    assert load_binary.find(path, python) == beside


def test_the_program_that_the_environment_names_goes_before_all_others(tmp_path, python):
    program(tmp_path / "venv" / "bin" / "dialin-load")
    named = program(tmp_path / "own")
    assert load_binary.need({"DIALIN_LOAD": str(named)}, python) == named


@pytest.mark.parametrize("look", [load_binary.find, load_binary.need])
def test_an_environment_that_names_no_program_is_reported_so_and_nothing_else_is_taken(tmp_path, python, look):
    program(tmp_path / "venv" / "bin" / "dialin-load")
    with pytest.raises(UserError, match=r"DIALIN_LOAD names .*gone, which is not a program"):
        look({"DIALIN_LOAD": str(tmp_path / "gone")}, python)


def test_an_environment_may_say_to_do_without_the_program(tmp_path, python):
    program(tmp_path / "venv" / "bin" / "dialin-load")
    assert load_binary.find({"DIALIN_LOAD": "none"}, python) is None
    with pytest.raises(UserError, match="DIALIN_LOAD=none disables dialin-load"):
        load_binary.need({"DIALIN_LOAD": "none"}, python)


def test_a_missing_program_is_reported_with_its_remedy(tmp_path, python):
    assert load_binary.find({"PATH": str(tmp_path)}, python) is None
    with pytest.raises(UserError, match=r"dialin-load is not installed.*make setup"):
        load_binary.need({"PATH": str(tmp_path)}, python)


def test_a_file_that_is_no_program_is_not_taken_for_one(tmp_path, python):
    beside = program(tmp_path / "venv" / "bin" / "dialin-load")
    beside.chmod(0o644)
    assert load_binary.find({"PATH": ""}, python) is None
