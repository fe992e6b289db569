"""Suites on real servers: killed in the middle, resumed, read by every command that shows one, watched, and of every kind."""

import json
import os
import shutil
import sys
from pathlib import Path

import jsonschema

from browser import needs_chromium
from dialin.model.trial import TrialState
from dialin.store import read_only
from driving import load
from live import EASY, FAST, LIMIT, SHORT, children, find, kill, measuring, only_with_all
from test_command import FILE, PROGRAM
from test_dialin_load_study import SLOW
from test_replay import record
from test_watch import is_state, link_of

SCHEMA = json.loads((Path(__file__).parents[1] / "schema" / "suite.schema.json").read_text())
GATE = ["--fail-if-worse", "60%", "--minutes", "6", *SHORT, *EASY]
"""Under a load of a fixed rate nothing differs, so that the gate is passed as soon as there are enough trials."""


PROFILED = ["--profile"] if shutil.which("perf") and "DIALIN_TEST_ALL" in os.environ else []
"""tests/suites shows that each workload is profiled, test_profile.py what perf sees of a real server."""


def trials(directory):
    return read_only.read(directory, lambda store: store.trials())


def test_a_suite_killed_in_a_trial_resumes_as_a_whole_and_is_read_by_every_command(dialin):
    out = dialin.directory / "suite"
    variable = ["sweep", "innodb_adaptive_hash_index=ON,OFF", "--server", FAST]
    workloads = ["--workload", "oltp_point_select=2", "--workload", "oltp_update_index"]
    process = dialin.start(*variable, *workloads, *GATE, *PROFILED, "--out", out)
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
    if PROFILED:
        assert all(row["profile"]["trials"][0]["samples"] > 0 for row in result["rows"])
        assert "CPU profiles" in dialin("explain", out)[0]
        shown = dialin("explain", out, "--profile")[0]
        assert all(shown.count(row["name"]) >= 1 for row in result["rows"])
        dialin("explain", out, "--folded", dialin.directory / "folded")
        written = {path.parent.name for path in (dialin.directory / "folded").rglob("*.folded")}
        assert written == {row["directory"] for row in result["rows"]}


@needs_chromium
@only_with_all  # tests/dashboard/test_follow_suite.py shows what the page is given, test_watch.py the page and its stop
def test_the_live_page_shows_the_suite_as_a_whole_and_stops_it_after_its_block(dialin, opened):
    out = dialin.directory / "suite"
    words = [
        "sweep",
        "innodb_adaptive_hash_index=ON,OFF",
        "--server",
        FAST,
        "--workload",
        "oltp_point_select,oltp_update_index",
    ]
    process = dialin.start(*words, *GATE, "--out", out, "--watch")
    one = opened(link_of(process.stderr), "phone", "dark")
    one.until(is_state("running"))
    one.until("document.documentElement.dataset.report >= 1")
    one.until("document.querySelectorAll('#rows tr').length === 2")
    one.until("document.getElementById('block').textContent.includes(', block ')")
    one.drawn()
    assert one.violations() == []
    assert one.page.evaluate("document.documentElement.scrollWidth <= innerWidth"), "the page is wider than the screen"
    one.page.locator("#after-block").click()
    _, err = process.communicate(timeout=LIMIT)
    assert process.returncode == 130, err
    assert f"dialin resume {out}" in err
    one.until(is_state("stopped"))
    assert one.page.locator("#command-text").text_content() == f"dialin resume {out}"
    assert one.complaints == []


@only_with_all  # tests/suites shows that any kind may be one of a suite; other tests run each kind
def test_workloads_of_every_kind_are_one_suite_of_a_study_file(dialin):
    def prepare(sandbox):
        load("prepare", "oltp_read_write", sandbox, tables=1, table_size=1000)

    def run(sandbox):
        sizes = {"tables": 1, "table_size": 1000}
        return load("run", "oltp_read_write", sandbox, "--time=10", "--rate=50", "--connections=2", code=None, **sizes)

    record(find(FAST), dialin.directory, prepare, run, lambda sandbox: None)
    (dialin.directory / "slow.toml").write_text(SLOW)
    program = FILE.format(python=sys.executable, program=PROGRAM, behaviour="works")
    (dialin.directory / "mine.toml").write_text(program)
    (dialin.directory / "study.toml").write_text(
        f"""
        server = "{FAST}"
        workload = ["oltp_point_select=2", "./slow.toml", "command:./mine.toml", "scan", "capture:./shop.capture"]
        data = "./data"
        pace = "full"
        sweep = {{ innodb_adaptive_hash_index = ["ON", "OFF"] }}
        threads = 2
        tables = 1
        table-size = 10000
        measure = 2
        warmup = 1
        minutes = 16
        fail-if-worse = "90%"
        """
    )
    out = dialin.directory / "suite"
    text, _ = dialin("run", "study.toml", "--out", out, "--json", "--yes")
    result = json.loads(text)["result"]
    assert {row["name"]: row["unit"] for row in result["rows"]} == {
        "oltp_point_select": "tps",
        "slow": "tps",
        "command:mine": "tps",
        "scan": "runs/s",
        "capture:shop": "tps",
    }
    assert result["gate"]["state"] == "passed"
