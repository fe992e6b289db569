"""What runs did over their time is said in plain sentences, from their logs to the note and the table's cell."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from dialin.logs import course_notes
from dialin.logs.log_folder import Run
from dialin.logs.run_figures import sum_up_run
from dialin.model.course import Course
from dialin.report.document.analysis_tables import course_cell, start_cell
from fixtures.sysbench_logs import csv, parse, series


def noted(tps):
    """Return one run's figures, and the texts of what is said of it by code."""
    (log,) = parse(csv(tps))
    run = sum_up_run(Run("a.log", Path("a.log"), log), "a", "a", {}, None).run
    kinds = (
        course_notes.unsettled,
        course_notes.long_warm_up,
        course_notes.faster_starts,
        course_notes.courses,
        course_notes.dips,
    )
    return run, {note.code: note.text for kind in kinds for note in kind([run])}


def test_a_collapse_says_from_which_level_to_which_one_and_when():
    t = np.arange(6000)
    run, texts = noted(np.where(t < 3000, 1.04, 0.37) * series(1000, 6000))
    assert run.course is Course.COLLAPSE
    assert run.warm_up_seconds < 100
    assert run.shift_at == pytest.approx(3000, abs=2)
    first, last = (f"{level:,.0f}" for level in run.levels)
    assert f"fell from {first} to {last} tps at" in texts["course_collapse"]
    assert "did not recover" in texts["course_collapse"]
    assert course_cell(run).startswith("fell by 64.")


def test_a_run_that_falls_to_nothing_and_stays_fell_by_all():
    run, texts = noted(series(1000, 600) * (np.arange(600) < 400))
    assert course_cell(run) == "fell by 100.0 % at 401 s"
    assert "to 0 tps at 401 s" in texts["course_collapse"]
    assert run.stall_seconds == 200


def test_two_levels_have_their_name():
    run, texts = noted(series(1000, 1200) * np.where(np.arange(1200) % 200 < 100, 1, 0.1))
    assert run.cv > 0.6
    assert "switched 11 times between about " in texts["course_two_levels"]
    assert course_cell(run) == "two levels, 11 switches"


def test_seconds_without_a_pattern_and_a_cv_of_64_percent_are_erratic():
    run, texts = noted(np.random.default_rng(1).lognormal(7, 0.586, 600))
    assert course_cell(run) == "erratic"
    assert "varied too much to be called steady" in texts["course_erratic"]


def test_a_faster_start_is_left_out_and_said_to_be_one():
    run, texts = noted(series(1000, 5000) * np.where(np.arange(5000) < 300, 1.25, 1))
    assert run.start_change == pytest.approx(0.25, abs=0.03)
    assert start_cell(run).endswith(", faster")
    assert "long_warm_up" not in texts
    assert "faster in its first 5 min" in texts["faster_start"]


def test_a_slow_start_is_a_warm_up():
    run, texts = noted(series(1000, 1000, warm_up=250))
    assert run.start_change < -0.3
    assert "faster" not in start_cell(run)
    assert "long_warm_up" in texts


def test_a_dip_of_each_minute_says_its_seconds():
    seconds = np.arange(1, 3001)
    run, texts = noted(series(1000, 3000) * np.where(np.isin(seconds % 60, (46, 47)), 0.7, 1))
    assert run.course is Course.STEADY
    assert run.dip.seconds == [46, 47]
    assert course_cell(run) == "steady, dips each 1 min"
    assert "seconds 46\N{EN DASH}47" in texts["periodic_dips"]
    assert texts["periodic_dips"].endswith("look for something on the host that runs every minute")


def test_the_seconds_of_a_dip_do_not_depend_on_what_was_left_out():
    seconds = np.arange(1, 3001)
    run, _ = noted(series(1000, 3000, warm_up=130) * np.where(np.isin(seconds % 60, (46, 47)), 0.7, 1))
    assert run.warm_up_seconds >= 130
    assert run.dip.seconds == [46, 47]


def test_a_log_of_two_days_is_described_in_its_own_seconds():
    tps = series(1000, 180_000, seed=4)
    tps[:9_000] *= 0.5
    tps[120_000:] *= 0.7
    run, notes = noted(tps)
    assert run.warm_up_seconds == pytest.approx(9_000, abs=100)
    assert run.shift_at == pytest.approx(120_000, abs=100)
    assert run.tps == pytest.approx(float(tps[9_000:].mean()), rel=0.01), "the mean is that of all seconds"
    assert "fell from" in notes["course_shift"]
