"""Suites of studies with known truth: who gets rounds, when they end, and what they say together."""

import re
import shutil
from dataclasses import replace

import pytest

from dialin.cli.conduct_suite import (
    _accept_weaker_durability,
    _announce,
    _exit_code,
    _run_studies,
    diff_suites,
    show_suite,
)
from dialin.errors import ExitCode, InterruptedStudyError, MachineError, UserError
from dialin.model.progress import Progress, SessionState
from dialin.model.study import AA
from dialin.model.suite import GateState, Margin, Suite, SuiteOutcome
from dialin.model.trial import Purpose, Step
from dialin.model.verdict import CandidateState
from dialin.preflight.checked import CheckedStudy
from dialin.question.plan import plan
from dialin.store import requests
from dialin.store.lock import sole_runner
from dialin.store.store import Store
from dialin.suites import runner
from dialin.suites.check import CheckedMember
from dialin.suites.suite_file import read_suite, write_suite
from fixtures.long_form import only_with_all
from fixtures.simulated_runs import Killed
from fixtures.simulated_suites import SimulatedSuite, suite_plan
from fixtures.simulated_trials import SimulatedTrials


@pytest.fixture
def suite(monkeypatch, clock, spec, tmp_path):
    """A suite of two candidates, 1 and 4, of which 1 is the baseline."""
    two = spec.model_copy(update={"candidates": spec.candidates[:2], "measure": 10.0})
    return SimulatedSuite(monkeypatch, clock, two, tmp_path / "suite")


SECONDS = 15
"""Of a simulated trial."""

FORCED = {name: {"innodb_buffer_pool_instances": name} for name in ("1", "4")}


def levels(base, change=0.0, **others):
    return SimulatedTrials({"1": base, "4": base * (1 + change)}, **{"noise": 0.004, "in_force": FORCED, **others})


def cell(suite, workload):
    return next(row for row in suite.result.rows if row.name == workload).cells[0]


def test_each_round_gives_a_block_to_every_workload_whose_answer_is_open(suite):
    suite.run(suite_plan({"a": 1, "b": 1, "c": 1}, minutes=8, until="best"), {name: levels(1000) for name in "abc"})
    assert suite.order[:6] == ["a", "b", "c", "a", "b", "c"]
    told = [re.fullmatch(r"3 of 3 workloads open after (.+) of trials; at most about (.+) left", text) for text in suite.said]
    assert len(told) > 1, "a line for each round but the first"
    assert all(told)


def test_a_workload_that_is_decided_stops_and_the_noisy_one_gets_its_minutes(suite):
    trials = {"quiet": levels(1000, 0.2), "noisy": levels(1000, noise=0.03)}
    ended = suite.run(suite_plan({"quiet": 1, "noisy": 1}, minutes=15, until="best"), trials)
    assert len(trials["quiet"].ran) < len(trials["noisy"].ran) / 2
    assert ended.result.candidate("4").better == ["quiet"]
    assert suite.said[-1].startswith("1 of 2 workloads open")
    minutes = sum(len(one.ran) for one in trials.values()) * SECONDS / 60
    assert 13 <= minutes <= 15.5, "the minutes are those of all studies together"


def test_equal_candidates_end_early_and_nothing_is_claimed(suite):
    ended = suite.run(suite_plan(dict.fromkeys("abcd", 1), minutes=90), {name: levels(1000) for name in "abcd"})
    assert ended.result.outcome is SuiteOutcome.KEEP
    assert ended.result.minutes < 60
    assert not any(one.better or one.worse for one in ended.result.candidates)


def test_each_workload_is_profiled_within_the_minutes_of_the_suite(monkeypatch, clock, spec, tmp_path):
    two = spec.model_copy(update={"candidates": spec.candidates[:2], "measure": 10.0, "profile": True})
    suite = SimulatedSuite(monkeypatch, clock, two, tmp_path / "suite")
    trials = {name: levels(1000, noise=0.03) for name in "abc"}
    suite.run(suite_plan(dict.fromkeys("abc", 1), minutes=15, until="best"), trials)
    profiled = {
        name: [trial.candidate for trial in one.ran if trial.purpose is Purpose.PROFILE] for name, one in trials.items()
    }
    assert profiled == {name: ["1", "4"] for name in "abc"}
    assert sum(len(one.ran) for one in trials.values()) * SECONDS / 60 <= 15.5


def slow(clock, **others):
    """Trials that take 48 s, of which 18 s are planned."""

    def end(trial):
        return replace(trial, steps={**trial.steps, Step.BOOT: 32.0})

    return levels(1000, before=lambda _: clock.sleep(33.1), end=end, **others)


def test_a_workload_does_not_begin_where_at_the_pace_of_the_others_its_first_block_exceeds_the_minutes(suite, clock):
    trials = {name: slow(clock) for name in "abc"}
    ended = suite.run(suite_plan(dict.fromkeys("abc", 1), minutes=4), trials)
    assert {name: len(one.ran) for name, one in trials.items()} == {"a": 2, "b": 2, "c": 0}
    assert any(text.startswith("c ends without an answer: The minutes were used up before") for text in suite.said)
    assert ended.result.minutes <= 4 * 1.03


def test_profiles_fit_the_minutes_though_trials_take_longer_than_planned(monkeypatch, clock, spec, tmp_path):
    two = spec.model_copy(update={"candidates": spec.candidates[:2], "measure": 10.0, "profile": True})
    suite = SimulatedSuite(monkeypatch, clock, two, tmp_path / "suite")
    trials = {name: slow(clock, noise=0.03) for name in "abc"}
    suite.run(suite_plan(dict.fromkeys("abc", 1), minutes=20, until="best"), trials)
    profiled = [trial.candidate for one in trials.values() for trial in one.ran if trial.purpose is Purpose.PROFILE]
    assert profiled == ["1", "4"] * 3
    assert 17 <= sum(len(one.ran) for one in trials.values()) * 48.1 / 60 <= 20 * 1.03


def test_a_gain_under_all_workloads_is_recommended_with_its_guard(suite):
    ended = suite.run(suite_plan({"a": 1, "b": 3}, minutes=60), {"a": levels(1000, 0.02), "b": levels(50, 0.06)})
    assert ended.result.outcome is SuiteOutcome.BETTER
    assert ended.result.recommended == "4"
    mean = ended.result.candidate("4").mean
    assert mean.low < (1.02 * 1.06**3) ** 0.25 < mean.high
    assert "no workload is worse by more than 1 %" in ended.headline


def test_a_value_that_wins_the_mean_and_loses_a_workload_is_named(suite):
    trials = {"writes": levels(1000, 0.12), "reads": levels(1000, -0.05), "both": levels(1000, 0.1)}
    ended = suite.run(suite_plan({"writes": 1, "reads": 1, "both": 1}, minutes=60), trials)
    assert ended.result.outcome is SuiteOutcome.TRADE_OFF
    assert ended.result.recommended == "1"
    assert ended.result.candidate("4").worse == ["reads"]
    assert "worse under reads (−" in ended.headline
    assert [row.name for row in ended.result.rows][-1] == "reads", "sorted by effect"


def test_killed_in_a_trial_it_resumes_as_a_whole_and_repeats_no_finished_trial(suite):
    plan = suite_plan({"a": 1, "b": 1}, minutes=12, until="best")

    def kill(trial):
        if trial.id == 4:
            raise Killed

    with pytest.raises(Killed):
        suite.run(plan, {"a": levels(1000), "b": levels(1000, before=kill)})
    before = suite.result(plan).result.minutes
    again = {"a": levels(1000), "b": levels(1000)}
    ended = suite.run(plan, again)
    assert all(trial.block >= 2 for trials in again.values() for trial in trials.ran)
    assert before < ended.result.minutes < 1.03 * 12 * 18.1 / SECONDS
    finished = {"a": levels(1000), "b": levels(1000)}
    suite.run(plan, finished)
    assert sum(len(trials.ran) for trials in finished.values()) <= 2, "a suite that has ended only shows its result again"


def kill_in(workload, when):
    """Trials of workloads a and b of which one is killed: as it begins, or at its end, before it is stored."""

    def kill(trial):
        if trial.id == when[1]:
            raise Killed
        return trial

    hook = {"begins": "before", "ends": "end"}[when[0]]
    return {name: levels(1000, **({hook: kill} if name == workload else {})) for name in "ab"}


@pytest.mark.parametrize("workload", [pytest.param("a", marks=only_with_all), "b"])
@pytest.mark.parametrize("when", [("begins", 1), ("ends", 1), ("begins", 2), ("ends", 4), ("begins", 5)])
def test_killed_anywhere_it_keeps_what_was_measured_and_comes_to_its_result(suite, workload, when):
    plan = suite_plan({"a": 1, "b": 1}, minutes=8)
    with pytest.raises(Killed):
        suite.run(plan, kill_in(workload, when))
    before = suite.done_trials(plan)
    ended = suite.run(plan, {name: levels(1000) for name in "ab"})
    after = suite.done_trials(plan)
    assert {name: after[name][: len(trials)] for name, trials in before.items()} == before
    assert len(before.get(workload, [])) == when[1] - 1
    assert [row.name for row in ended.result.rows if row.cells[0].ratio is None] == []
    assert ended.result.minutes < 1.1 * 8 * 18.1 / SECONDS


def test_killed_before_all_studies_have_begun_the_others_begin_at_the_resume(suite, monkeypatch):
    plan = suite_plan({"a": 1, "b": 1}, minutes=8)
    begin = runner.begin

    def kill_second(ready, place, *others, **named):
        if place.name == "b":
            raise Killed
        return begin(ready, place, *others, **named)

    with monkeypatch.context() as patched:
        patched.setattr(runner, "begin", kill_second)
        with pytest.raises(Killed):
            suite.run(plan, {name: levels(1000) for name in "ab"})
    ended = suite.run(plan, {name: levels(1000) for name in "ab"})
    assert len(ended.result.rows) == 2
    assert ended.result.outcome is SuiteOutcome.KEEP


def test_it_ends_after_the_block_under_way_where_that_is_asked_for_and_resumes(suite, tmp_path):
    plan = suite_plan({"a": 1, "b": 1}, minutes=8)

    def ask(trial):
        if trial.id == 3:
            requests.ask_to_stop(tmp_path / "suite")

    with pytest.raises(InterruptedStudyError, match="Stopped after a block"):
        suite.run(plan, {"a": levels(1000, before=ask), "b": levels(1000)})
    assert {name: len(trials) for name, trials in suite.done_trials(plan).items()} == {"a": 4, "b": 2}
    requests.withdraw_stop(tmp_path / "suite")
    assert suite.run(plan, {name: levels(1000) for name in "ab"}).result.outcome is SuiteOutcome.KEEP


def test_a_workload_under_which_nothing_works_ends_alone(suite):
    trials = {"fine": levels(1000), "broken": levels(1000, fails=frozenset({"1", "4"}))}
    ended = suite.run(suite_plan({"fine": 1, "broken": 1}, minutes=8), trials)
    assert any("broken ends without an answer" in text for text in suite.said)
    assert len(trials["fine"].ran) >= 6
    assert ended.result.outcome is SuiteOutcome.INCONCLUSIVE


def fail_with(directory, reason):
    with Store.open(directory) as store:
        store.save_progress(Progress(SessionState.FAILED, 0.0, reason=reason))


def test_the_error_that_ended_a_workload_is_part_of_the_result(suite, tmp_path, capsys):
    broken = {"1", "4"}
    plan = suite_plan({"fine": 1, "broken": 1}, minutes=8)
    suite.run(plan, {"fine": levels(1000), "broken": levels(1000, fails=frozenset(broken))})
    fail_with(tmp_path / "suite" / "broken", "The program is not there")
    write_suite(tmp_path / "suite", Suite(plan=plan))
    assert show_suite(tmp_path / "suite", json=False) is ExitCode.NO_VERDICT
    shown = " ".join(capsys.readouterr().out.split())
    assert "broken ended without an answer: The program is not there" in shown
    assert "too few trials could be compared under broken for a mean" in shown


@pytest.mark.parametrize(
    ("session", "command"),
    [(SessionState.FINISHED, "dialin resume {} --minutes 10"), (SessionState.RUNNING, "dialin resume {}")],
)
def test_an_inconclusive_suite_says_how_to_go_on_and_takes_more_minutes_where_its_own_are_used_up(
    suite, tmp_path, capsys, session, command
):
    plan, directory = suite_plan({"a": 1, "b": 1}, minutes=5, until="best"), tmp_path / "suite"
    suite.run(plan, {name: levels(1000, noise=0.2) for name in "ab"})
    write_suite(directory, Suite(plan=plan))
    for name in "ab":
        with Store.open(directory / name) as store:
            store.save_progress(Progress(session, 0.0))
    assert show_suite(directory, json=False) is ExitCode.NO_VERDICT
    assert capsys.readouterr().err.splitlines()[-1] == f"More trials may answer it: {command.format(directory)}"


def test_where_no_workload_could_be_measured_it_failed_throughout(suite, tmp_path):
    plan = suite_plan({"a": 1, "b": 1}, minutes=8, fail_if_worse=0.03)
    suite.run(plan, {name: levels(1000, fails=frozenset({"1", "4"})) for name in "ab"})
    assert _exit_code(suite.result(plan).result) is ExitCode.FAILED_THROUGHOUT


def test_a_workload_that_gets_no_time_has_not_failed_and_the_suite_asks_for_minutes(suite, clock, tmp_path, capsys):
    hanging = levels(1000, fails=frozenset({"1", "4"}), before=lambda _: clock.sleep(300))
    plan, directory = suite_plan({"a": 1, "b": 1}, minutes=8), tmp_path / "suite"
    result = suite.run(plan, {"a": hanging, "b": levels(1000)}).result
    assert {row.name: bool(row.failure) for row in result.rows} == {"a": True, "b": False}
    write_suite(directory, Suite(plan=plan))
    assert show_suite(directory, json=False) is ExitCode.NO_VERDICT
    assert capsys.readouterr().err.splitlines()[-1] == f"More trials may answer it: dialin resume {directory} --minutes 16"


@pytest.mark.parametrize(
    ("error", "raised"), [(KeyboardInterrupt(), InterruptedStudyError), (MachineError("The disk is full"), MachineError)]
)
@pytest.mark.parametrize("at", [1, 4])
def test_a_suite_that_is_stopped_or_fails_has_the_reports_of_what_was_measured(suite, tmp_path, at, error, raised):
    def stop(trial):
        if trial.id == at:
            raise error

    plan, directory = suite_plan({"a": 1, "b": 1}, minutes=20), tmp_path / "suite"
    checked = suite.checked(plan, {"a": levels(1000, before=stop), "b": levels(1000)})
    directory.mkdir()
    write_suite(directory, Suite(plan=plan))
    with pytest.raises(raised) as stopped:
        _run_studies(plan, directory, checked, suite.tools())
    assert f"dialin resume {directory}" in stopped.value.remedy
    for name in ("report.html", "report.md", "suite.csv", "a/report.html", "b/report.html"):
        assert (directory / name).stat().st_size > 0
    written, stored = read_suite(directory).result, suite.result(plan).result
    assert [(row.name, row.cells) for row in written.rows] == [(row.name, row.cells) for row in stored.rows]


CONFOUNDED = {
    name: {**FORCED[name], "innodb_buffer_pool_size": size} for name, size in (("1", "134217728"), ("4", "268435456"))
}


@pytest.mark.parametrize("change", [0.0, -0.2])
def test_what_something_else_could_explain_answers_no_gate_and_uses_up_no_minutes(suite, change):
    trials = {"a": levels(1000), "b": levels(1000, change, in_force=CONFOUNDED)}
    ended = suite.run(suite_plan({"a": 1, "b": 1}, minutes=60, fail_if_worse=0.03), trials)
    assert ended.result.gate.state is GateState.OPEN
    assert ended.result.gate.open == [("b", "4")]
    assert "something else could explain a difference (see its study) under b" in ended.headline
    assert ended.result.gate.minutes_needed is None
    assert ended.result.minutes < 40


def test_what_could_explain_a_difference_could_hide_one_so_that_the_baseline_is_not_kept_for_it(suite):
    trials = {"a": levels(1000), "b": levels(1000, in_force=CONFOUNDED)}
    ended = suite.run(suite_plan({"a": 1, "b": 1}, minutes=30), trials)
    assert ended.result.outcome is SuiteOutcome.INCONCLUSIVE
    assert "something else could explain a difference under some workload" in ended.headline


def test_a_workload_whose_study_is_not_there_leaves_the_gate_open_and_the_mix_without_a_mean(suite, tmp_path):
    plan = suite_plan({"a": 1, "b": 1}, minutes=60, fail_if_worse=0.03)
    assert suite.run(plan, {name: levels(1000) for name in "ab"}).result.gate.state is GateState.PASSED
    shutil.rmtree(tmp_path / "suite" / "b")
    rest = suite.result(plan)
    assert rest.result.gate.state is GateState.OPEN
    assert "too few trials were completed under b (not measured)" in rest.headline
    assert rest.result.candidate("4").mean is None


def test_weaker_durability_is_accepted_afterwards_on_the_same_trials(monkeypatch, clock, spec, tmp_path):
    variable = "innodb_flush_log_at_trx_commit"
    candidates = tuple(
        one.model_copy(update={"name": value, "setting": {variable: value}})
        for one, value in zip(spec.candidates, ("1", "2"), strict=False)
    )
    question = spec.model_copy(update={"candidates": candidates, "baseline": "1", "measure": 10.0})
    suite = SimulatedSuite(monkeypatch, clock, question, tmp_path / "suite")
    plan = suite_plan({"a": 1, "b": 1}, minutes=30)
    forced = {value: {variable: value} for value in ("1", "2")}
    trials = {name: SimulatedTrials({"1": 1000, "2": 1300}, noise=0.004, in_force=forced) for name in "ab"}
    before = suite.run(plan, trials)
    assert before.result.outcome is SuiteOutcome.INCONCLUSIVE
    assert "--accept-weaker-durability allows that" in before.headline
    write_suite(tmp_path / "suite", Suite(plan=plan))
    with sole_runner(tmp_path / "suite"), pytest.raises(UserError, match="is in use by a running study"):
        _accept_weaker_durability(tmp_path / "suite")
    _accept_weaker_durability(tmp_path / "suite")
    after = suite.result(plan)
    assert (after.result.outcome, after.result.recommended) == (SuiteOutcome.BETTER, "2")
    assert after.result.minutes == before.result.minutes


def test_suites_are_compared_by_workload_though_one_has_no_answer(suite, tmp_path, capsys):
    trials = {"fine": levels(1000, 0.2), "broken": levels(1000, fails=frozenset({"1", "4"}))}
    plan = suite_plan({"fine": 1, "broken": 1}, minutes=8)
    suite.run(plan, trials)
    directory = tmp_path / "suite"
    write_suite(directory, Suite(plan=plan))
    diff_suites(directory, directory, json=False)
    shown = capsys.readouterr().out
    assert "No change of any ratio is shown." in shown
    assert "Not compared: broken: A has too few completed trials to compare." in shown


def test_the_others_do_not_use_up_the_minutes_where_a_workload_ended_with_too_little_for_a_mean(suite):
    trials = {"fine": levels(1000, 0.1), "broken": levels(1000, fails=frozenset({"4"}))}
    ended = suite.run(suite_plan({"fine": 1, "broken": 1}, minutes=60), trials)
    assert cell(ended, "fine").state is CandidateState.BETTER
    assert ended.result.minutes < 20


def test_a_gate_stays_open_and_asks_for_minutes_until_there_are_the_trials_of_a_decision(suite):
    plan = suite_plan({"a": 1}, minutes=20, fail_if_worse=0.03)

    def kill(trial):
        if trial.id == 7:
            raise Killed

    with pytest.raises(Killed):
        suite.run(plan, {"a": levels(1000, -0.5, before=kill)})
    early = suite.result(plan)
    assert cell(early, "a").trials < 4
    assert early.result.gate.state is GateState.OPEN
    assert early.result.gate.minutes_needed > 0
    assert cell(early, "a").state is not CandidateState.WORSE
    assert suite.run(plan, {"a": levels(1000, -0.5)}).result.gate.state is GateState.WORSE


@pytest.mark.parametrize(
    ("change", "state", "code"),
    [(0.0, GateState.PASSED, ExitCode.VERDICT), (-0.1, GateState.WORSE, ExitCode.WORSE)],
)
def test_a_gate_is_answered_and_every_workload_is_measured(suite, change, state, code):
    trials = {"a": levels(1000), "b": levels(1000, change)}
    ended = suite.run(suite_plan({"a": 1, "b": 1}, minutes=60, fail_if_worse=0.03), trials)
    assert ended.result.gate.state is state
    assert _exit_code(ended.result) is code
    assert cell(ended, "a").margin is Margin.NOT_WORSE
    assert ended.result.minutes < 40, "it stops where the question is answered"


def test_a_gate_that_a_failed_workload_leaves_open_says_so(suite, tmp_path):
    plan = suite_plan({"fine": 1, "broken": 1}, minutes=60, fail_if_worse=0.03)
    suite.run(plan, {"fine": levels(1000), "broken": levels(1000, fails=frozenset({"1", "4"}))})
    fail_with(tmp_path / "suite" / "broken", "The program is not there")
    headline = "Not answered: an error ended it (see below) under broken (not measured)."
    assert suite.result(plan).headline == headline


def test_a_gate_that_time_does_not_answer_says_how_much_more_would(suite, tmp_path, capsys):
    plan = suite_plan({"a": 1}, minutes=5, fail_if_worse=0.01)
    ended = suite.run(plan, {"a": levels(1000, noise=0.02)})
    assert ended.result.gate.state is GateState.OPEN
    assert ended.result.gate.open == [("a", "4")]
    assert ended.result.gate.minutes_needed > 0
    assert "more would show it" in ended.headline
    directory = tmp_path / "suite"
    write_suite(directory, Suite(plan=plan))
    assert show_suite(directory, json=False) is ExitCode.NO_VERDICT
    last = capsys.readouterr().err.splitlines()[-1]
    assert re.fullmatch(rf"About .+ more would show it: dialin resume {directory} --minutes \d+", last)


def test_a_candidate_whose_server_fails_under_a_workload_fails_the_gate(suite):
    trials = {"a": levels(1000), "b": levels(1000, fails=frozenset({"4"}))}
    ended = suite.run(suite_plan({"a": 1, "b": 1}, minutes=30, fail_if_worse=0.03), trials)
    assert ended.result.gate.state is GateState.WORSE
    assert cell(ended, "b").margin is Margin.FAILED
    assert cell(ended, "b").state is CandidateState.UNSAFE
    assert "server failed" in ended.headline


def test_a_gate_is_passed_at_once_by_a_file_that_changes_nothing_though_the_machine_is_noisy(suite):
    same = {name: {"innodb_buffer_pool_instances": "1"} for name in ("1", "4")}
    trials = {"a": levels(1000, noise=0.1, in_force=same)}
    ended = suite.run(suite_plan({"a": 1}, minutes=60, fail_if_worse=0.03), trials)
    assert ended.result.gate.state is GateState.PASSED
    assert cell(ended, "a").state is CandidateState.EQUAL
    assert ended.result.minutes < 10


def test_a_gate_measures_every_candidate_until_each_is_answered(monkeypatch, clock, spec, tmp_path):
    three = spec.model_copy(update={"measure": 10.0})
    suite = SimulatedSuite(monkeypatch, clock, three, tmp_path / "suite")
    forced = {**FORCED, "16": {"innodb_buffer_pool_instances": "16"}}
    trials = {"a": SimulatedTrials({"1": 1000, "4": 1000, "16": 700}, in_force=forced, noise=0.004)}
    ended = suite.run(suite_plan({"a": 1}, minutes=40, fail_if_worse=0.03), trials)
    assert {one.candidate: one.margin for one in ended.result.rows[0].cells} == {"4": Margin.NOT_WORSE, "16": Margin.WORSE}
    assert ended.result.gate.worse == [("a", "16")]
    assert "under a with 16 (−29" in ended.headline


@pytest.mark.parametrize(
    ("change", "outcome", "code", "headline"),
    [
        (0.0, SuiteOutcome.IDENTICAL, ExitCode.VERDICT, "no difference is claimed under any of 2 workloads or over the mix"),
        (-0.3, SuiteOutcome.FALSE_CLAIM, ExitCode.NO_VERDICT, "came out as different under b: comparisons on this machine"),
    ],
)
def test_identical_candidates_are_measured_to_the_last_minute_and_no_claim_is_their_good_result(
    monkeypatch, clock, spec, tmp_path, capsys, change, outcome, code, headline
):
    identical = spec.model_copy(update={"candidates": spec.candidates[:2], "measure": 10.0, "question": AA()})
    suite = SimulatedSuite(monkeypatch, clock, identical, tmp_path / "suite")
    trials = {"a": levels(1000, in_force={}), "b": levels(1000, change, noise=0.03, in_force={})}
    plan = suite_plan({"a": 1, "b": 1}, minutes=12)
    ended = suite.run(plan, trials)
    assert ended.result.outcome is outcome
    assert headline in ended.headline
    assert ended.result.minutes > 0.9 * 12 * 18.1 / SECONDS
    noise = {row.name: row.noise for row in ended.result.rows}
    assert 0 < noise["a"] < noise["b"] < 0.06
    write_suite(tmp_path / "suite", Suite(plan=plan))
    assert show_suite(tmp_path / "suite", json=False) is code
    shown = capsys.readouterr()
    assert "could use more trials" not in shown.out
    assert ("dialin doctor" in shown.err.splitlines()[-1]) == (outcome is SuiteOutcome.FALSE_CLAIM)
    assert "More trials" not in shown.err


def test_a_suite_says_how_many_blocks_its_minutes_hold_before_it_begins(spec, tmp_path, capsys):
    asked = suite_plan({"a": 1, "b": 3}, minutes=60)
    plans = [plan(spec.model_copy(update={"minutes": 30.0, "measure": seconds})) for seconds in (10.0, 20.0)]
    ready = [CheckedStudy(spec, one, {"mysql@9.7.4": {}}, workload=None, site=None) for one in plans]
    checked = [CheckedMember(member, one) for member, one in zip(asked.members, ready, strict=True)]
    _announce(asked, checked, tmp_path)
    said = capsys.readouterr().err.splitlines()
    assert said[-2:] == [
        "Under 2 workloads: a and b (weight 3)",
        f"At most about 60 minutes of trials: about 18 to 27 blocks of 3 trials under each workload, 10 to 20 s measured in "
        f"each trial; written to {tmp_path}",
    ]
