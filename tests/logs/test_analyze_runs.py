"""Verdicts on made logs of known answer, and on published ones where they are at hand."""

import re

import numpy as np
import pytest

from dialin.errors import UserError
from dialin.logs.analyze_runs import analyze
from dialin.logs.assignment import AssignmentRule
from dialin.logs.judgement import Request
from dialin.logs.log_folder import load
from dialin.measures.table import goals_of_logs
from dialin.model.study import Goal
from dialin.model.verdict import CandidateState, Outcome
from fixtures.analyses import BY, SHARED, codes, published, repeated, states, text
from fixtures.sysbench_logs import HEADER, SUMMARY, csv, human, series, write


def stamped(day, value):
    return f"2020-08-2{day}-06-00.bpi{value}.log"


def test_candidates_with_repeats_that_differ_have_a_winner_and_an_interval(analyzed):
    found = analyzed(repeated({8: 1000, 32: 1100}))
    assert (found.verdict, found.winners, found.baseline) == (Outcome.WINNER, ["32"], "8")
    assert states(found) == {"8": CandidateState.WORSE, "32": CandidateState.BETTER}
    ratio = found.candidates[1].ratio
    assert 1.05 < ratio.low < 1.1 < ratio.high < 1.15
    assert found.headline.startswith("32 wins by throughput: 1,006 → 1,106 tps, +9.9 % (+")
    assert found.headline.endswith(") against 8.")
    assert found.run_noise < 0.02


def test_candidates_with_repeats_that_do_not_differ_have_none(analyzed):
    found = analyzed(repeated({8: 1000, 32: 1000}), worthwhile=0.05)
    assert found.verdict is Outcome.NO_WORTHWHILE_DIFFERENCE


def test_one_run_of_each_claims_no_winner_however_far_apart_they_lie(analyzed):
    found = analyzed(repeated({8: 1000, 32: 5000}, runs=1))
    assert (found.verdict, found.winners) == (Outcome.INCONCLUSIVE, [])
    assert found.candidates[1].ratio.mean == pytest.approx(5, rel=0.02)
    assert (found.candidates[1].ratio.low, found.candidates[1].ratio.high) == (None, None)
    assert set(states(found).values()) == {CandidateState.NO_CLAIM}
    assert "no candidate has a second run in a cell" in found.headline
    assert "no interval" in text(found.warnings, "single_runs")


def test_copies_are_no_repeats(analyzed):
    one = {"bpi8.log": csv(series(1000, seed=1)), "bpi32.log": csv(series(1100, seed=2))}
    copies = {"bpi8-r2.log": one["bpi8.log"], "bpi32-r2.log": one["bpi32.log"], "bpi32-r3.log": human(series(1100, seed=2))}
    found = analyzed({**one, **copies})
    assert found.verdict is Outcome.INCONCLUSIVE
    assert [(one.runs, one.compared) for one in found.candidates] == [(1, 1), (1, 1)]
    first, second = [note.text for note in found.warnings if note.code == "copies"]
    assert first == "bpi8-r2 is a copy of bpi8, byte for byte: counted as one run"
    assert second == "bpi32-r2 and bpi32-r3 are copies of bpi32, in every figure: counted as one run"
    assert sum(run.copy_of is not None for run in found.runs) == 3


def test_a_copy_that_stands_for_another_candidate_counts_for_neither(analyzed):
    logs = repeated({8: 1000, 32: 1100}, runs=2)
    logs["bpi32-r9.log"] = logs["bpi8-r0.log"]
    found = analyzed(logs)
    assert [one.runs for one in found.candidates] == [1, 2]
    assert "but they are assigned to 8 and 32" in text(found.warnings, "copy_in_two_candidates")


def test_logs_that_are_all_one_are_no_comparison(analyzed):
    same = csv(series(1000))
    with pytest.raises(UserError, match="but they are assigned to 8 and 32"):
        analyzed({"bpi8.log": same, "bpi32.log": same})


def test_other_differences_of_names_are_named_and_only_like_is_compared_with_like(analyzed):
    logs = repeated({8: 1000, 32: 1100}, name="io5000.bpi{value}-r{run}.log")
    logs |= repeated({32: 2000}, name="io7000.bpi{value}-r{run}.log")
    found = analyzed(logs)
    assert "io differs between candidates (8: 5000; 32: 5000, 7000): only runs of the same io are compared" in text(
        found.confounds, "differs_too"
    )
    assert [(one.runs, one.compared) for one in found.candidates] == [(3, 3), (6, 3)]
    assert found.candidates[1].ratio.mean == pytest.approx(1.1, rel=0.02)
    assert found.candidates[1].tps.mean == pytest.approx(1100, rel=0.02)
    assert found.verdict is Outcome.WINNER


def test_candidates_that_differ_in_something_else_throughout_are_not_compared(analyzed):
    logs = repeated({8: 1000}, name="io5000.bpi{value}-r{run}.log") | repeated({32: 1100}, name="io7000.bpi{value}-r{run}.log")
    found = analyzed(logs)
    assert found.verdict is Outcome.INCONCLUSIVE
    assert found.candidates[1].ratio is None
    assert "a difference may come from either" in text(found.confounds, "differs_too")
    assert analyzed(logs, by=BY, ignored=("io",)).verdict is Outcome.WINNER, "who knows better may say so"


def test_threads_that_only_the_logs_report_are_held_apart_as_well(analyzed):
    logs = {
        f"bpi{value}-r{run}.log": csv(series(1000, seed=9 * value + run), threads=value) for value in (8, 32) for run in (1, 2)
    }
    logs["bpi8-r3.log"] = csv(series(1000, seed=5), threads=32)
    found = analyzed(logs)
    assert text(found.confounds, "differs_too").startswith("threads differs between candidates (8: 8, 32; 32: 32)")
    assert [one.compared for one in found.candidates] == [1, 2]


def test_threads_that_are_the_candidate_are_no_confound(analyzed):
    logs = {
        f"threads{value}-r{run}.log": csv(series(100 * value, seed=9 * value + run), threads=value)
        for value in (8, 32)
        for run in (1, 2, 3)
    }
    found = analyzed(logs, by=r"threads(\d+)")
    assert found.confounds == []
    assert found.verdict is Outcome.WINNER


def test_candidates_that_ran_one_after_the_other_have_no_winner(analyzed):
    after = {stamped(day, 8 if day < 3 else 32): csv(series(1000 if day < 3 else 1100, seed=day)) for day in range(6)}
    found = analyzed(after)
    assert found.verdict is Outcome.INCONCLUSIVE
    assert "one after the other" in found.headline
    assert "all runs of one candidate precede those of the other (8 and 32)" in text(found.confounds, "one_after_the_other")
    assert found.candidates[1].ratio.low > 1, "the figure and its interval are shown"


def test_candidates_that_took_turns_may_win(analyzed):
    turns = {stamped(day, (8, 32)[day % 2]): csv(series((1000, 1100)[day % 2], seed=day)) for day in range(6)}
    found = analyzed(turns)
    assert found.verdict is Outcome.WINNER
    assert text(found.warnings, "not_randomised").endswith("8, 32, 8, 32, 8, 32")


def test_runs_of_one_setting_that_differ_as_settings_do_are_named(analyzed):
    logs = repeated({8: 1000, 32: 1020}, runs=2)
    logs["bpi8-r5.log"] = csv(series(1190, seed=77))
    found = analyzed(logs)
    assert found.verdict is Outcome.INCONCLUSIVE
    moved = text(found.warnings, "moved_between_runs")
    assert moved.startswith("Runs of one setting differ (8): 1,001 (bpi8-r0), 1,010 (bpi8-r1) and 1,186 (bpi8-r5) tps")
    assert "a difference of 18.5 %" in moved
    assert "candidates differ by" in moved
    assert "moved_between_runs" not in codes(analyzed(repeated({8: 1000, 32: 1100})).warnings)


def test_stalls_and_variation_of_single_runs_are_reported_though_nothing_is_claimed(analyzed):
    rough = series(1000, 1500, cv=0.2, stalls=[(second, 8) for second in range(100, 1400, 100)])
    found = analyzed({"bpi8.log": csv(rough), "bpi32.log": csv(series(1000, 1500, seed=2))})
    (finding,) = found.findings
    assert finding.code == "less_steady"
    assert "8 had more stalls" in finding.text
    assert "higher coefficient of variation" in finding.text
    assert (finding.data["candidate"], finding.data["steadier"]) == ("8", "32")
    rough_one, calm_one = found.candidates
    assert rough_one.stall_seconds_per_1000.mean > 40 > 5 > calm_one.stall_seconds_per_1000.mean == 0
    assert rough_one.cv.mean > 0.2 > 0.06 > calm_one.cv.mean
    assert found.verdict is Outcome.INCONCLUSIVE


def test_stability_decides_where_it_is_the_goal_and_was_repeated(analyzed):
    rough = {f"bpi8-r{run}.log": csv(series(1000, seed=run, cv=0.15)) for run in range(3)}
    calm = {f"bpi32-r{run}.log": csv(series(990, seed=10 + run, cv=0.05)) for run in range(3)}
    found = analyzed(rough | calm, goal=Goal.STABILITY)
    assert (found.verdict, found.winners, found.worthwhile) == (Outcome.WINNER, ["32"], 0.25)
    assert found.candidates[1].goal_ratio.mean == pytest.approx(1 / 3, rel=0.15)
    assert found.candidates[1].goal_ratio.low < found.candidates[1].goal_ratio.mean < found.candidates[1].goal_ratio.high < 1
    assert "variation against" in found.headline


def test_latency_decides_where_it_is_the_goal(analyzed):
    logs = {
        f"bpi{value}-r{run}.log": csv(series(1000, seed=9 * value + run), latency=(12 if value == 8 else 9) + run / 10)
        for value in (8, 32)
        for run in range(3)
    }
    found = analyzed(logs, goal=Goal.LATENCY)
    assert found.winners == ["32"]
    assert found.candidates[1].goal_ratio.mean == pytest.approx(9 / 12, rel=0.02)


@pytest.mark.parametrize(
    ("logs", "goal"),
    [
        ({"bpi8.log": csv(series()), "bpi32.log": csv(series(seed=2), latency=0)}, Goal.LATENCY),
        ({"bpi8.log": human(series(), percentile=99, whole=False), "bpi32.log": csv(series(seed=2))}, Goal.LATENCY),
        ({"bpi8.log": csv(series()), "bpi32.log": csv(series(seed=2), interval=10)}, Goal.STABILITY),
    ],
)
def test_a_goal_that_the_logs_cannot_tell_of_is_refused(analyzed, logs, goal):
    with pytest.raises(UserError, match=r"latency|intervals"):
        analyzed(logs, goal=goal)


def test_logs_of_different_intervals_keep_their_throughput_and_lose_what_cannot_be_compared(analyzed):
    found = analyzed({"bpi8.log": csv(series(1000)), "bpi32.log": csv(series(1100, seed=2), interval=10)})
    assert found.candidates[1].ratio.mean == pytest.approx(1.1, rel=0.02)
    assert found.candidates[0].cv is found.candidates[0].stall_seconds_per_1000 is None
    assert found.findings == []
    assert {"different_intervals", "different_lengths"} <= set(codes(found.warnings))


def test_figures_of_ten_second_lines_are_in_seconds(analyzed):
    found = analyzed({"bpi8.log": csv(series(1000, 400, warm_up=40, stalls=((200, 3),), wave=(0.2, 30)), interval=10)})
    (run,) = found.runs
    assert (run.interval, run.seconds, run.stall_seconds, run.longest_stall, run.stalls) == (10, 4000, 30, 30, 1)
    assert 400 <= run.warm_up_seconds <= 900
    assert run.course == "oscillation"
    assert run.period == pytest.approx(300, rel=0.02)


def test_the_warm_up_is_found_and_left_out(analyzed):
    found = analyzed({"bpi8.log": csv(series(1000, 600, warm_up=150)), "bpi32.log": csv(series(1000, 600, seed=2))})
    cold, warm = sorted(found.runs, key=lambda run: -run.warm_up_seconds)
    assert 145 <= cold.warm_up_seconds <= 250
    assert cold.settled
    assert cold.tps == pytest.approx(1000, rel=0.01)
    assert text(found.warnings, "long_warm_up").startswith(f"{cold.label} had a long warm-up")
    assert warm.warm_up_seconds < 60


def test_a_warm_up_that_is_given_is_not_searched_for(analyzed):
    found = analyzed({"bpi8.log": csv(series(1000, 600, warm_up=150))}, skip=300)
    (run,) = found.runs
    assert (run.warm_up_seconds, run.warm_up_given) == (300, True)
    with pytest.raises(UserError, match=r"--skip 590 leaves 10 lines of bpi8\.log"):
        analyzed(skip=590)


def test_the_course_of_runs_after_their_warm_up_is_reported(analyzed):
    t = np.arange(1000)
    logs = {
        "bpi1.log": csv(series(1000, 1000) * (1 + t / 4000)),
        "bpi2.log": csv(series(1000, 1000, seed=2) * np.where(t < 600, 1, 0.8)),
        "bpi3.log": csv(series(1000, 1000, seed=3, wave=(0.2, 120))),
        "bpi4.log": csv(series(1000, 1000, seed=4)),
    }
    found = analyzed(logs)
    reported = [note for note in found.warnings if note.code.startswith("course_")]
    assert {note.code for note in reported} >= {"course_oscillation"}
    assert any("period of 2 min" in note.text for note in reported)
    assert not any(note.data["run"] == "bpi4.log" for note in reported)
    assert {run.label: run.course for run in found.runs}["bpi4"] == "steady"
    assert all(run.course != "steady" or not run.settled for run in found.runs if run.label in ("bpi1", "bpi2"))


def test_the_one_thing_that_tells_runs_apart_names_the_candidates(analyzed):
    found = analyzed(repeated({8: 1000, 32: 1100}, name="x-io7000.bpi{value}-r{run}.txt"), by=None)
    assert [one.name for one in found.candidates] == ["8", "32"]
    assert found.winners == ["32"]
    assert found.taken_as[1] == r"Taken as: candidates 8 and 32 (found: --by 'bpi(\d+)')."


def test_where_two_things_tell_runs_apart_each_log_is_a_candidate_and_expressions_are_proposed(analyzed):
    logs = repeated({8: 1000, 32: 1100}, name="io5000.bpi{value}-r{run}.txt")
    logs |= repeated({8: 900, 32: 950}, name="io7000.bpi{value}-r{run}.txt")
    found = analyzed(logs, by=None)
    assert len(found.candidates) == 12
    assert found.verdict is Outcome.INCONCLUSIVE
    assert found.proposals == [r"io(\d+)", r"bpi(\d+)"]
    assert r"Group the runs: --by 'io(\d+)' (5000, 7000); or --by 'bpi(\d+)' (8, 32)." in found.reason


def test_runs_of_one_setting_that_differ_are_named_where_each_log_is_a_candidate(analyzed):
    logs = {"io5.bpi8-r1.log": csv(series(1000)), "io5.bpi8-r2.log": csv(series(1200, seed=2))}
    logs |= {"io7.bpi8.log": csv(series(1050, seed=3)), "io7.bpi32.log": csv(series(1050, seed=4))}
    assert "(io 5, bpi 8)" in text(analyzed(logs, by=None).warnings, "moved_between_runs")


def test_a_table_sorts_logs_in_its_own_order_and_what_it_lacks_is_left_out(analyzed):
    logs = repeated({8: 1000, 32: 1100, 64: 1000})
    found = analyzed(logs, table={"many": ["*bpi32*"], "few": ["bpi8*"]})
    assert [one.name for one in found.candidates] == ["many", "few"]
    assert found.baseline == "many"
    assert found.verdict is Outcome.WINNER
    assert found.confounds == []
    assert text(found.warnings, "left_out").startswith("3 logs without a candidate, left out: bpi64-r0")


def test_columns_that_candidates_of_a_table_differ_by_together_are_named(analyzed):
    logs = repeated({8: 1000}, name="io5000.bpi{value}-r{run}.log") | repeated({32: 1100}, name="io7000.bpi{value}-r{run}.log")
    found = analyzed(logs, table={"a": ["*bpi8*"], "b": ["*bpi32*"]})
    assert found.verdict is Outcome.WINNER
    assert text(found.confounds, "differ_together").startswith("io and bpi differ together")


def test_a_baseline_is_named_by_its_name_or_by_its_log(analyzed):
    logs = repeated({8: 1000, 32: 1100})
    assert analyzed(logs, baseline="32").baseline == "32"
    assert analyzed(baseline="bpi32-r1.log").baseline == "32"
    with pytest.raises(UserError, match=r"The baseline '64' is not one of the candidates\. They are 8 and 32"):
        analyzed(baseline="64")


def test_logs_of_one_candidate_have_nothing_to_be_compared_with(analyzed):
    found = analyzed(repeated({8: 1000}))
    assert found.headline == "All runs belong to one candidate, 8: there is nothing to compare."
    assert found.verdict is Outcome.INCONCLUSIVE


def test_a_run_in_which_nothing_happened_is_judged_without_a_fault(analyzed):
    dead = {f"bpi8-r{run}.log": csv([0.0] * (100 + run)) for run in range(2)}
    for goal in (Goal.THROUGHPUT, Goal.STABILITY):
        found = analyzed({**dead, **repeated({32: 1000})}, goal=goal)
        assert "8" not in found.winners


def test_units_and_names_change_no_verdict(analyzed, tmp_path):
    plain = analyzed(repeated({8: 1000, 32: 1100}))
    renamed = {name.replace("bpi8", "bpi99"): log for name, log in repeated({8: 10, 32: 11}).items()}
    folder = load([write(tmp_path / "renamed", **renamed)])
    other = analyze(folder, Request(rule=AssignmentRule(by=BY), baseline="99"))
    assert (other.verdict, other.winners) == (plain.verdict, plain.winners)
    assert other.candidates[0].ratio.mean == pytest.approx(plain.candidates[1].ratio.mean, rel=0.01)


def test_a_log_with_a_summary_alone_is_used_as_the_one_figure_that_it_is(analyzed):
    alone = HEADER.format(threads=16) + SUMMARY.format(transactions=5000)
    found = analyzed({"bpi8.log": alone, "bpi32.log": alone.replace("100.00 per sec", "120.00 per sec")})
    assert [one.tps.mean for one in found.candidates] == pytest.approx([100, 120])
    assert found.candidates[1].ratio.mean == pytest.approx(1.2)
    assert found.candidates[0].cv is None
    assert {run.cv for run in found.runs} == {None}
    mixed = analyzed({"bpi8.log": alone, "bpi32.log": csv(series(120))})
    assert mixed.candidates[1].ratio.mean == pytest.approx(1.2, rel=0.02)
    assert mixed.findings == []


def test_a_winner_whose_transactions_fail_more_often_is_said_to(analyzed):
    logs = repeated({8: 1000, 32: 1100})
    failing = {name: re.sub(r",0\.50,0\.00$", ",55.00,0.00", log, flags=re.M) for name, log in logs.items() if "bpi32" in name}
    found = analyzed(logs | failing)
    assert found.winners == ["32"]
    assert found.headline.endswith("against 8, but more of its transactions failed.")
    assert "More transactions of 32 failed (4.7 % against 0.0 % of 8)" in text(found.findings, "more_errors")
    assert codes(analyzed(logs).findings) == []


@published
def test_of_the_published_logs_three_that_are_one_count_as_one():
    found = analyze(load([SHARED]), Request(rule=AssignmentRule(by=BY)))
    copies = [run for run in found.runs if run.copy_of is not None]
    assert len(found.runs) == 9
    assert {run.copy_of for run in copies} == {"node3-08-21-11-33.io7000.BP140.threads56.bpi32.sysbench.txt.gz"}
    assert len(copies) == 2
    assert "byte for byte: counted as one run" in text(found.warnings, "copies")
    assert [(one.name, one.runs, one.compared) for one in found.candidates] == [("8", 2, 2), ("32", 5, 1)]


@published
@pytest.mark.parametrize("by", [BY, r"io(\d+)", None])
@pytest.mark.parametrize("goal", goals_of_logs())
def test_of_the_published_logs_no_winner_is_claimed_from_runs_without_repeats(by, goal):
    found = analyze(load([SHARED]), Request(rule=AssignmentRule(by=by), goal=goal))
    assert (found.verdict, found.winners) == (Outcome.INCONCLUSIVE, [])
    assert found.headline.startswith("Inconclusive: no winner by")
    assert "single_runs" in codes(found.warnings)


@published
def test_of_the_published_logs_eight_instances_stall_and_vary_more_than_thirty_two():
    found = analyze(load([SHARED]), Request(rule=AssignmentRule(by=BY)))
    few, many = found.candidates
    assert few.stall_seconds_per_1000.mean > 40 > 1 > many.stall_seconds_per_1000.mean
    assert few.cv.mean > 0.17 > 0.08 > many.cv.mean
    (finding,) = found.findings
    assert finding.text.startswith("8 had more stalls (")
    assert "and a higher coefficient of variation (" in finding.text


@published
def test_of_the_published_logs_the_other_variable_the_shift_of_level_and_the_cold_start_are_named():
    found = analyze(load([SHARED]), Request(rule=AssignmentRule(by=BY)))
    assert text(found.confounds, "differs_too").startswith(
        "io differs between candidates (8: 7000; 32: 5000, 7000, 8000, 10000)"
    )
    assert {"moved_between_runs", "long_warm_up", "course_oscillation", "not_randomised"} <= set(codes(found.warnings))
    assert all(800 < run.warm_up_seconds < 2000 for run in found.runs)
