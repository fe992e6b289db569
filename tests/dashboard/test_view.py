import json
from collections import deque
from dataclasses import replace
from pathlib import Path

from dashboard.writing import RUNNING, TRIAL, sample
from dialin.dashboard.follow import Snapshot
from dialin.dashboard.study_state import State
from dialin.dashboard.view import view
from dialin.model.study import Candidate
from dialin.model.trial import Step
from dialin.model.workload import LoadTraits, Runs
from dialin.report.board import Board

HOSTILE = "<script>alert(1)</script>\x1b[2J\u202e"


def board(spec, seconds=(), **others):
    given = {"trial": TRIAL, "step": Step.MEASURE, "step_began": 1001.0, "began": 900.0, "ends": 1600.0, "blocks": 6}
    return Board(spec=spec, seconds=deque(seconds), standings=RUNNING.standings, **{**given, **others})


def reported(state, board, **others):
    return json.loads(view(Snapshot(state, board, progress=RUNNING, **others), Path("/st udy"), 1021.0))


def test_a_running_study_reports_where_it_is_and_may_be_stopped(spec):
    found = reported(State.RUNNING, board(spec, [sample(1, Step.WARM_UP, 50.0), sample(2), sample(3, gap=0.9)]))
    assert (found["name"], found["command"]) == ("Running", "")
    assert (found["block"], found["left"]) == ("block 1 of about 6", "about 10 min left")
    assert found["trial"] == ["Trial 2 of the block", "innodb_buffer_pool_instances = 4", "measuring for 20 s"]
    assert (found["may_stop"], found["may_end_block"]) == (True, True)
    assert found["what"] == "innodb_buffer_pool_instances on mysql@9.7.4"
    chart = found["chart"]
    assert (chart["x"], chart["rate"], chart["warm"], chart["lost"]) == ([1, 2, 3], [50.0, 100.0, 100.0], 1, [2])
    assert chart["words"] == "100 transactions/s, p95 20.0 ms, 1 s of host stalls"
    assert chart["about"] == "The last 3 seconds: 50.0 to 100 transactions/s. Grey: the warm-up, which is not measured."


def test_candidates_are_reported_as_they_stand(spec):
    rows = reported(State.RUNNING, board(spec))["rows"]
    assert [(row["label"], row["trials"], row["failed"], row["rate"]) for row in rows] == [
        ("1", "1", "", "1,000"),
        ("4", "0", "1 failed", "–"),
        ("16", "0", "", "–"),
    ]
    assert [row["change"] for row in rows] == ["baseline", "–", "–"]
    assert [row["runs"] for row in rows] == [False, True, False]
    assert len({row["colour"] for row in rows}) == 3


def test_a_study_that_died_reports_where_and_how_to_go_on_and_cannot_be_stopped(spec):
    found = reported(State.DEAD, board(spec, [sample(1)]))
    assert found["name"] == "Dead"
    assert found["command"] == "dialin resume '/st udy'"
    assert found["block"] == "in block 1 of about 6"
    assert "left" not in found
    assert found["trial"][1] == "innodb_buffer_pool_instances = 4"
    assert (found["may_stop"], found["may_end_block"]) == (False, False)


def test_a_finished_study_shows_its_candidates_and_no_seconds(spec):
    found = reported(State.FINISHED, board(spec, [sample(1)]))
    assert found["rows"]
    assert "chart" not in found
    assert "block" not in found


def test_a_study_that_is_still_to_come_can_be_reported():
    found = reported(State.READYING, Board())
    assert found["name"] == "Preparing"
    assert found["log"] == []


def test_a_study_that_was_reported_to_stop_is_not_reported_again(spec):
    found = json.loads(view(Snapshot(State.RUNNING, board(spec)), Path("/s"), 1021.0, stopping=True))
    assert found["name"] == "Stopping"
    assert (found["may_stop"], found["may_end_block"]) == (False, False)


def test_that_it_stops_after_its_block_is_reported_while_it_runs(spec):
    assert reported(State.RUNNING, board(spec), stops=True)["stops"]
    assert not reported(State.STOPPED, board(spec), stops=True)["stops"]


def test_runs_of_a_timed_query_are_reported_by_the_time_they_take(spec):
    traits = LoadTraits(unit="run", runs=Runs(warm_up=0, measured=3, most=6, seconds=1.0))
    scan = spec.model_copy(update={"workload": spec.workload.model_copy(update={"traits": traits})})
    chart = reported(State.RUNNING, board(scan, [sample(1, tps=0.25, seconds=4.0)]))["chart"]
    assert chart["latency"] == [4.0]
    assert chart["words"] == "0.25 runs/s, 4.00 s/run"
    assert chart["titles"] == ["runs/s", "seconds per run", "runs of the trial"]


def test_text_that_would_act_is_shown_and_never_obeyed(spec):
    named = Candidate(name=HOSTILE, setting={"init_connect": HOSTILE}, server="mysql@9.7.4")
    study = spec.model_copy(update={"candidates": (spec.candidates[0], named)})
    given = board(study, trial=replace(TRIAL, candidate=HOSTILE), lines=deque([(1.0, HOSTILE)]))
    text = view(Snapshot(State.RUNNING, given), Path(f"/{HOSTILE}"), 1021.0, trouble=HOSTILE)
    assert "\\u001b" not in text
    assert "\u202e" not in json.dumps(json.loads(text), ensure_ascii=False)
    assert "\\\\x1b[2J\\\\u202e" in text
