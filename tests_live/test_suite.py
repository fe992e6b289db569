"""A suite of two workloads on real servers: killed in the middle, resumed, and read by every command that shows it."""

import json
from pathlib import Path

import jsonschema

from dialin.model.trial import TrialState
from dialin.store import read_only
from live import EASY, FAST, SHORT, children, kill, measuring

SCHEMA = json.loads((Path(__file__).parents[1] / "schema" / "suite.schema.json").read_text())
GATE = ["--fail-if-worse", "60%", "--minutes", "6", *SHORT, *EASY]
"""Under a load of a fixed rate nothing differs, so that the gate is passed as soon as there are enough trials."""


def trials(directory):
    return read_only.read(directory, lambda store: store.trials())


def test_a_suite_killed_in_a_trial_resumes_as_a_whole_and_is_read_by_every_command(dialin):
    out = dialin.directory / "suite"
    variable = ["sweep", "innodb_adaptive_hash_index=ON,OFF", "--server", FAST]
    workloads = ["--workload", "oltp_point_select=2", "--workload", "oltp_update_index"]
    process = dialin.start(*variable, *workloads, *GATE, "--out", out)
    measuring(out / "02-oltp-update-index")
    running = children(process)
    kill(process.pid)
    _, said = process.communicate()
    assert said.count("Preparing data") <= 1, "both workloads share one dataset"
    assert set(running) == {"server", "load"}
    first = out / "01-oltp-point-select"
    before = [trial for trial in trials(first) if trial.state is TrialState.DONE]
    assert len(before) == 2, "one block of the first workload, then one of the second"

    resumed = dialin.start("resume", out, "--json")
    text, err = resumed.communicate(timeout=600)
    assert resumed.returncode == 0, err
    suite = json.loads(text)
    jsonschema.validate(suite, SCHEMA)
    result = suite["result"]
    assert result["gate"]["state"] == "passed"
    assert suite["headline"].startswith("Passed: no workload is worse by more than 60 %.")
    assert [one["weight"] for one in suite["plan"]["members"]] == [2, 1]
    assert all(row["decided"] and row["cells"][0]["trials"] >= 3 for row in result["rows"])
    assert all({"server CPU", "context switches"} <= {cost["name"] for cost in row["costs"]} for row in result["rows"])
    done = [trial for trial in trials(first) if trial.state is TrialState.DONE]
    assert done[: len(before)] == before, "a finished trial was repeated"
    for name in ("report.html", "report.md", "suite.csv", "suite.json", "01-oltp-point-select/report.html"):
        assert (out / name).stat().st_size > 0

    assert "Passed" in dialin("report", out)[0]
    assert dialin("report", out, "--markdown")[0].startswith("# Passed")
    assert "Cost per operation" in dialin("explain", out)[0]
    assert "No change of any ratio" in dialin("diff", out, out)[0]
