"""The file of a suite may be anybody's: what it says is read once, and nothing in it is an internal error."""

import json
import os

import pytest

from dialin.errors import UserError
from dialin.model.suite import Suite
from dialin.suites.suite_file import read_plan, read_suite, write_suite
from fixtures.simulated_suites import suite_plan


def altered(directory, **changes):
    write_suite(directory, Suite(plan=suite_plan({"reads": 1, "writes": 1}, minutes=10)))
    document = json.loads((directory / "suite.json").read_text())
    document["plan"] |= changes
    (directory / "suite.json").write_text(json.dumps(document))
    return directory


MEMBER = {"name": "reads", "directory": "reads", "weight": 1, "options": {}}


@pytest.mark.parametrize(
    "changes",
    [
        {"fail_if_worse": 2},
        {"confidence": 5},
        {"worthwhile": float("inf")},
        {"minutes": float("nan")},
        {"created": 1e300},
        {"members": []},
        {"members": [{**MEMBER, "weight": 1e308}]},
        {"members": [{**MEMBER, "weight": float("inf")}]},
        {"members": [{**MEMBER, "directory": "../elsewhere"}]},
    ],
    ids=str,
)
def test_an_altered_file_is_an_ordinary_error(tmp_path, changes):
    assert read_plan(altered(tmp_path)).minutes == 10
    with pytest.raises(UserError, match="cannot be read as a suite"):
        read_plan(altered(tmp_path, **changes))


def test_a_pipe_in_its_place_is_not_waited_for(tmp_path):
    os.mkfifo(tmp_path / "suite.json")
    with pytest.raises(UserError, match="cannot be read as a suite"):
        read_suite(tmp_path)
