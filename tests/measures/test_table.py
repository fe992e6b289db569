"""The table of measures: every goal has a row, every row says all that is needed, and where it is allowed."""

import re
from pathlib import Path

import pytest
from pydantic import ValidationError

from dialin.measures.table import (
    COSTS,
    LOG_FSYNCS,
    MEASURES,
    PROCESS,
    STATUS,
    goals_of_logs,
    goals_of_traffic,
    measure_of_study,
)
from dialin.model.study import Goal
from dialin.question.options import StudyOptions
from dialin.text import exact_percent
from dialin.workloads.traffic.reader import _STATUS
from fixtures.live_studies import Live, live_spec

every_goal = pytest.mark.parametrize("goal", list(Goal))


def test_each_goal_has_one_row():
    assert list(MEASURES) == list(Goal)


@every_goal
def test_a_row_has_its_texts_and_limits(goal):
    row = MEASURES[goal].filled(95, "transaction")
    assert row.goal is goal
    assert all([row.name, row.noun, row.short, row.aim, row.worse])
    assert not any("{" in text or "}" in text for text in (row.name, row.noun, row.short, row.aim, row.help))
    assert 0 < row.worthwhile <= row.worthwhile_of_tune < 1
    assert 0 < row.noise[0] < row.noise[1]
    assert row.seconds >= 10
    assert row.unit is None or goal is not Goal.THROUGHPUT


@every_goal
def test_what_is_compared_is_higher_for_the_better_figure_and_never_infinite(goal):
    row = MEASURES[goal]
    better, worse = (2.0, 1.0) if row.higher_is_better else (1.0, 2.0)
    assert row.compared(better) > row.compared(worse)
    assert row.higher_is_better or row.compared(0.0) == 1 / row.least


def test_a_cost_counts_what_a_probe_reads_and_live_traffic_counts_the_same():
    for goal, counters in COSTS.items():
        assert counters.probe in (PROCESS, STATUS)
        assert counters.names
        assert counters.probe == PROCESS or all(f"'{name}'" in _STATUS for name in (*counters.on(()), LOG_FSYNCS)), goal


def test_the_redo_log_counts_once_whether_a_server_counts_it_apart_or_not():
    counters = COSTS[Goal.IO]
    assert counters.on({LOG_FSYNCS}) == ("Innodb_data_read", "Innodb_data_written")
    assert counters.on(set()) == ("Innodb_data_read", "Innodb_data_written", "Innodb_os_log_written")


def test_texts_name_what_the_load_counts():
    assert MEASURES[Goal.CPU].filled(95, "query").noun == "CPU per query"
    assert MEASURES[Goal.LATENCY].filled(99, "query").noun == "p99 latency"
    assert measure_of_study(live_spec(Live({"400": 1.0}, goal=Goal.IO))).title == "I/O/statement KiB"


@every_goal
def test_a_goal_is_allowed_on_live_traffic_if_it_can_be_read_there(goal):
    options = {"attach": True, "traffic": "own", "sweep": {"innodb_io_capacity": [200, 400]}, "goal": goal}
    if goal in goals_of_traffic():
        assert StudyOptions.model_validate(options).goal is goal
    else:
        with pytest.raises(ValidationError, match=f"goal {goal} is not for live traffic"):
            StudyOptions.model_validate(options)


@every_goal
def test_a_cost_needs_probes_and_any_goal_is_allowed_under_a_load_that_dialin_applies(goal):
    options = {"server": "mysql", "sweep": {"innodb_io_capacity": [200, 400]}, "goal": goal}
    assert StudyOptions.model_validate(options).goal is goal
    if goal in COSTS:
        with pytest.raises(ValidationError, match="read by probes"):
            StudyOptions.model_validate({**options, "probes": False})


@every_goal
def test_the_documentation_of_the_method_has_a_row_for_each_goal(goal):
    text = (Path(__file__).parents[2] / "docs" / "method.md").read_text(encoding="utf-8")
    (row,) = re.findall(rf"^\| {goal} \|.*\| ([^|]*) \|$", text, re.MULTILINE)
    assert row.startswith(exact_percent(MEASURES[goal].worthwhile))


def test_logs_hold_no_costs():
    assert set(goals_of_logs()).isdisjoint(COSTS)
