"""Folders as people have them, each a kind that was once read wrongly, with the right result."""

from pathlib import Path

import pytest

from dialin.errors import UserError
from dialin.logs.analyze_runs import analyze
from dialin.logs.assignment import AssignmentRule
from dialin.logs.beside_logs import read_beside
from dialin.logs.csv_tables import NO_COLUMNS, CsvColumns
from dialin.logs.judgement import Request
from dialin.logs.log_folder import load
from dialin.model.analysis import FileStatus, FolderKind
from dialin.model.verdict import Outcome
from fixtures.analyses import text
from fixtures.sysbench_logs import csv, series, write

FOLDERS = Path(__file__).parents[1] / "fixtures" / "log_folders"


def judged(name, by=None, columns=NO_COLUMNS, **asked):
    path = FOLDERS / name
    folder = load([path], columns)
    logs, roots = {run.name: run.path for run in folder.runs}, [path] if path.is_dir() else []
    request = Request(rule=AssignmentRule(by=by), **asked)
    return analyze(folder, request, read_beside(logs, roots))


def test_a_run_that_goes_on_in_zeros_is_judged_up_to_there():
    found = judged("never-ends.txt")
    (run,) = found.runs
    assert run.seconds == 70
    assert run.tps == pytest.approx(634.4, rel=0.01)
    assert run.cv < 0.1
    note = text(found.warnings, "never_ended")
    assert "from 71.0 s on" in note
    assert "31 threads gone" in note


def test_thread_counts_of_one_server_are_a_scaling_and_no_alternatives():
    found = judged("one-server")
    assert (found.kind, found.verdict, found.candidates, found.winners) == (FolderKind.SCALING, None, [], [])
    curves = {curve.conditions["load"]: curve for curve in found.scaling}
    expected = {
        "point_select": [(20926, 1), (81343, 0.97), (280181, 0.84), (549083, 0.41)],
        "read_only": [(642, 1), (2408, 0.94), (7476, 0.73), (11793, 0.29)],
        "read_write": [(411, 1), (1452, 0.88), (3766, 0.57), (4425, 0.17)],
        "write_only": [(1903, 1), (5481, 0.72), (9256, 0.30), (7301, 0.06)],
    }
    for name, points in expected.items():
        assert [point.threads for point in curves[name].points] == [1, 4, 16, 64]
        assert [point.tps for point in curves[name].points] == pytest.approx([tps for tps, _ in points], rel=0.005)
        assert [point.efficiency for point in curves[name].points] == pytest.approx([e for _, e in points], abs=0.006)
    assert {load: curve.peak_threads for load, curve in curves.items()} == {
        "point_select": 64, "read_only": 64, "read_write": 64, "write_only": 16,
    }  # fmt: skip
    assert 16 <= curves["write_only"].usl.peak <= 64
    assert not [note for note in found.warnings if note.code == "incomplete"]


def test_a_ramp_of_rates_names_what_was_sustained_and_no_higher_rate_wins():
    found = judged("rate-ramp")
    assert (found.kind, found.verdict, found.winners) == (FolderKind.RATE_RAMP, None, [])
    (ramp,) = found.ramps
    assert ramp.highest_sustained == 1400
    assert [(point.rate, round(point.tps)) for point in ramp.points] == [
        (300, 300), (900, 901), (1400, 1399), (1800, 1698), (2600, 1700),
    ]  # fmt: skip
    assert [point.sustained for point in ramp.points] == [True, True, True, False, False]
    assert [point.overloaded for point in ramp.points] == [False, False, False, False, True]
    behind, overloaded = ramp.points[3:]
    assert behind.waiting == pytest.approx(30_482, rel=0.01)
    assert overloaded.waiting == 100_000
    assert overloaded.seconds == 115
    assert behind.latency_end_ms > 10_000 > 1_000 > behind.latency_begin_ms
    failed = {entry.file: entry.detail for entry in found.files if entry.status is FileStatus.FAILED}
    assert list(failed) == ["open_rate1600.txt", "open_rate3200.txt"]
    assert "never began" in failed["open_rate3200.txt"]


def test_a_requested_rate_is_no_candidate_even_where_somebody_names_it_so():
    found = judged("rate-ramp", by=r"open_rate(\d+)")
    assert (found.kind, found.verdict, found.winners) == (FolderKind.RATE_RAMP, None, [])


def test_a_suite_has_a_row_for_each_load_and_no_average():
    for by in (None, r"(srv\d+)\."):
        found = judged("summary-only", by=by)
        assert (found.kind, found.verdict, found.candidates) == (FolderKind.SUITE, Outcome.INCONCLUSIVE, [])
        ratios = {row.load: row.candidates[1].ratio.mean for row in found.suite}
        expected = {"insert": 0.770, "point_query": 0.890, "read_write": 0.948, "scan": 0.857, "update_index": 1.202}
        assert ratios == pytest.approx(expected, abs=0.001)
        assert all(one.ratio.low is None for row in found.suite for one in row.candidates[1:])
        assert all(run.seconds == pytest.approx(400, abs=0.1) for run in found.runs)
        assert "not-to-be-shown" not in found.model_dump_json()


@pytest.mark.parametrize("by", [None, "(direct|router)/"])
def test_loads_that_only_read_stand_alone(by):
    found = judged("us-two-runs", by=by)
    ratios = {(cell.where["threads"] if "threads" in cell.where else cell.where["thr"]): cell.candidates[1].goal_ratio.mean - 1
              for cell in found.cells}  # fmt: skip
    assert ratios == pytest.approx({"1": -0.161, "64": -0.163, "600": 2.659}, abs=0.002)
    alone = [run for run in found.runs if run.conditions["statements"] == "reads"]
    assert [run.tps for run in alone] == pytest.approx([537.5], rel=0.005)
    assert sum(entry.status is FileStatus.FAILED for entry in found.files) == 2


@pytest.mark.parametrize("by", [None, r"(v\d)\."])
def test_lines_without_a_comma_are_read_and_the_stalls_in_them_count(by):
    found = judged("no-comma", by=by)
    stalled = next(run for run in found.runs if run.file.endswith("v2.oltp.64.res"))
    assert (stalled.stall_seconds, stalled.percentile) == (20, 99)
    assert stalled.tps == pytest.approx(5611, rel=0.005)
    ratios = [cell.candidates[1].goal_ratio.mean - 1 for cell in found.cells]
    assert ratios == pytest.approx([-0.027, -0.187], abs=0.002)


@pytest.mark.parametrize("by", [None, r"(new|old)\."])
def test_a_forced_end_is_a_note_and_no_setting(by):
    found = judged("forced-shutdown", by=by)
    assert found.winners == ["new"]
    assert found.candidates[1].ratio.mean - 1 == pytest.approx(-0.098, abs=0.001)
    assert "7 to 25 transactions" in text(found.warnings, "unfinished")


def test_totals_of_checkpoints_are_not_those_of_the_run():
    found = judged("checkpoint-report.txt")
    (run,) = found.runs
    assert run.tps == pytest.approx(5201, rel=0.005)
    assert "at 310 s" in text(found.warnings, "incomplete")


def test_directories_of_versions_are_one_factor():
    for by in (None, "((?:mariadb|mysql)/[^/]+)/", "(mariadb|mysql)/"):
        found = judged("two-products", by=by)
        assert found.kind is FolderKind.ALTERNATIVES
        assert [cell.candidates[1].goal_ratio.mean - 1 for cell in found.cells] == pytest.approx([-0.094, -0.126], abs=0.002)
        differ = text(found.confounds, "candidates_differ_in")
        candidates = [one.name for one in found.candidates]
        assert f"redo log (effective): 1.5 GiB ({candidates[0]}), 3.0 GiB ({candidates[1]})" in differ
        assert f"performance_schema: OFF ({candidates[0]}), ON ({candidates[1]})" in differ
        assert f"table_open_cache_instances: 1 ({candidates[0]}), 32 ({candidates[1]})" in differ
        assert f"innodb_snapshot_isolation: ON ({candidates[0]}), none" in differ
        assert not {"server_uuid", "version", "mysqlx_port", "hostname"} & {*differ.replace(":", "").split()}
        assert {entry.status for entry in found.files} == {FileStatus.USED, FileStatus.BESIDE}


@pytest.mark.parametrize("by", [None, "(build-[ab])/"])
def test_repeats_of_one_server_start_have_no_winner(by):
    found = judged("one-start", by=by)
    one, other = found.candidates
    assert (found.verdict, found.winners) == (Outcome.INCONCLUSIVE, [])
    assert f"because {one.name} has repeats of one start of the server only" in found.headline
    assert other.ratio.mean - 1 == pytest.approx(-0.054, abs=0.001)
    assert (other.ratio.low, other.ratio.high) == (None, None)
    assert "started once for 3 runs" in text(found.confounds, "shared_start"), "a start without a port serves no run"
    assert [note.data for note in found.confounds if note.code == "shared_start"] == [
        {"candidate": one.name, "starts": 1, "runs": 3, "by": "error log"}
    ]
    assert f"{one.name} 4 times, with 512 MiB" in text(found.warnings, "redo_log_full")


def test_the_json_of_sysbench_is_read():
    (run,) = judged("json-report.txt").runs
    assert (run.seconds, run.threads) == (60, 12)
    assert run.tps == pytest.approx(1482.6, rel=0.001)


def test_a_result_of_hammerdb_is_a_run_in_its_own_unit_and_its_samples_are_none():
    found = judged("hammerdb")
    assert [(run.tps, run.unit, run.threads, run.seconds) for run in found.runs] == [
        (17_778, "NOPM", 12, 180), (24_160, "NOPM", 12, 180),
    ]  # fmt: skip
    assert found.unit == "NOPM"
    assert found.candidates[1].ratio.mean - 1 == pytest.approx(0.359, abs=0.001)
    assert found.candidates[1].ratio.low is None
    assert "innodb_buffer_pool_size: 2G (2G), 5G (5G)" in text(found.confounds, "candidates_differ_in")


def test_a_csv_with_usual_names_is_read_and_one_without_names_by_its_columns():
    (run,) = judged("own-csv/one-run-with-header.csv").runs
    assert (run.threads, run.seconds, run.percentile) == (32, 240, 95)
    assert run.tps == pytest.approx(1983.8, rel=0.001)
    with pytest.raises(UserError, match="--time-column"):
        judged("own-csv/four-runs-no-header.csv")
    unsure = {entry.file: entry.detail for entry in judged("hammerdb").files if entry.status is FileStatus.NO_LOG}
    assert any("a CSV with time, questions, qps, tps, threads_running: name its columns" in one for one in unsure.values())
    found = judged("own-csv/four-runs-no-header.csv", columns=CsvColumns("1", "3", "2", "5"), baseline="small")
    assert [run.threads for run in found.runs] == [8, 32, 8, 32]
    assert [run.tps for run in found.runs] == pytest.approx([878.0, 1565.0, 904.7, 1983.8], rel=0.001)
    ratios = [next(one.goal_ratio.mean for one in cell.candidates if one.name == "large") for cell in found.cells]
    assert ratios == pytest.approx([1.030, 1.268], abs=0.001)
    with pytest.raises(UserError, match="no column 'rate'"):
        judged("own-csv/one-run-with-header.csv", columns=CsvColumns("seconds", "rate"))


def test_a_suite_with_repeats_claims_by_load_and_wins_only_under_all(tmp_path):
    def logs(levels):
        return {
            f"{name}/{load_name}_r{run}.log": csv(
                series(level * (1 + 0.003 * run), seed=run + 10 * place + 100 * (name == "new"))
            )
            for (name, load_name), (place, level) in zip(levels, enumerate(levels.values()), strict=True)
            for run in range(3)
        }

    levels = {("old", "insert"): 1000, ("new", "insert"): 1100, ("old", "scan"): 50, ("new", "scan"): 60}
    request = Request(rule=AssignmentRule(by="(old|new)/"), baseline="old")
    found = analyze(load([write(tmp_path / "a", **logs(levels))]), request)
    assert (found.kind, found.verdict, found.winners) == (FolderKind.SUITE, Outcome.WINNER, ["new"])
    assert {row.load: row.winners for row in found.suite} == {"insert": ["new"], "scan": ["new"]}
    crossed = analyze(load([write(tmp_path / "b", **logs(levels | {("new", "scan"): 40}))]), request)
    assert (crossed.verdict, crossed.winners) == (Outcome.INCONCLUSIVE, [])
    assert "proven better in 1 and worse in 1" in crossed.headline
