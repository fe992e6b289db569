"""Folders as people have them, each a kind that was once read wrongly, with the right result."""

from pathlib import Path

import pytest

from dialin.logs.analyze_runs import Request, analyze
from dialin.logs.assignment import AssignmentRule
from dialin.logs.log_folder import load
from dialin.logs.sibling_files import read_options
from fixtures.analyses import text

FOLDERS = Path(__file__).parents[1] / "fixtures" / "log_folders"


def judged(name, by=None, **asked):
    path = FOLDERS / name
    folder = load([path])
    options = read_options({run.name: run.path for run in folder.runs}, [path] if path.is_dir() else [])
    return analyze(folder, Request(rule=AssignmentRule(by=by), **asked), options)


def test_a_run_that_goes_on_in_zeros_is_judged_up_to_there():
    found = judged("never-ends.txt")
    (run,) = found.runs
    assert run.seconds == 70
    assert run.tps == pytest.approx(634.4, rel=0.01)
    assert run.cv < 0.1
    note = text(found.warnings, "never_ended")
    assert "from 71.0 s on" in note
    assert "31 threads gone" in note
