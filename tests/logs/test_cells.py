"""Runs are compared within cells, by their plain means, and nothing wins without a repeat in a cell."""

import numpy as np
import pytest

from dialin.logs.analyze_runs import analyze
from dialin.logs.assignment import AssignmentRule
from dialin.logs.beside_logs import read_beside
from dialin.logs.judgement import Request
from dialin.logs.log_folder import load
from dialin.model.verdict import CandidateState, Outcome
from fixtures.analyses import BY, SHARED, codes, published, repeated, states, text
from fixtures.sysbench_logs import csv, series, write


def dead_for_a_third(level, seed):
    tps = series(level, 300, seed=seed)
    tps[200:] = 0
    return tps


def test_throughput_is_transactions_by_seconds_and_no_dead_stretch_is_forgiven(analyzed):
    logs = {f"bpiA-r{run}.log": csv(dead_for_a_third(1000, run)) for run in range(3)}
    logs |= {f"bpiB-r{run}.log": csv(series(800, 300, seed=10 + run)) for run in range(3)}
    found = analyzed(logs, by=r"bpi(A|B)")
    assert (found.verdict, found.winners) == (Outcome.WINNER, ["B"])
    assert [round(one.tps.mean, -1) for one in found.candidates] == [670, 800]
    assert found.candidates[1].ratio.mean == pytest.approx(1.2, rel=0.02)


def test_the_ranking_is_that_of_the_plain_means(analyzed):
    stalling = series(1100, 300, stalls=[(second, 4) for second in range(20, 300, 20)])
    found = analyzed({"bpi8.log": csv(stalling), "bpi32.log": csv(series(1000, 300, seed=2))})
    tps = {run.candidate: run.tps for run in found.runs}
    assert tps["8"] < tps["32"]
    assert found.candidates[1].ratio.mean == pytest.approx(tps["32"] / tps["8"])


THREADS = (8, 16, 32, 64, 128, 256, 512, 1024)


def series_of_cells(effect, runs=1, *, ios=(5000,), seed=0, start=0.0, noise=0.005):
    """Return logs of A and B at each thread count and io, one start of the server each where there is one run."""
    random = np.random.default_rng(seed)
    logs = {}
    for name in "AB":
        begun = random.normal(0, start)
        for io in ios:
            for threads in THREADS:
                for run in range(runs):
                    level = 100 * threads**0.5 * np.exp(effect(name, threads) + begun + random.normal(0, noise))
                    tps = series(level, 60, seed=random.integers(1 << 30))
                    logs[f"{name}-io{io}-t{threads}-r{run}.log"] = csv(tps, threads=threads)
    return logs


def test_one_start_per_candidate_at_many_thread_counts_claims_nothing(analyzed):
    for seed in range(10):
        found = analyzed(series_of_cells(lambda *_: 0, seed=seed, start=0.02), by="^(A|B)")
        assert (found.verdict, found.winners) == (Outcome.INCONCLUSIVE, [])
        assert set(states(found).values()) == {CandidateState.NO_CLAIM}
        assert found.candidates[1].ratio.low is None
        assert "own runs" not in found.headline + found.reason
        assert "no candidate has a second run in a cell" in found.headline
        assert "in 8 cells" in found.headline


def test_a_difference_that_depends_on_threads_is_said_with_its_ranges_though_no_cell_has_a_repeat(analyzed):
    def effect(name, threads):
        return 0 if name == "A" else np.log(2 if threads == 512 else 0.94)

    found = analyzed(series_of_cells(effect, ios=(200, 2000, 5000, 10000)), by="^(A|B)")
    assert found.verdict is Outcome.INCONCLUSIVE
    (finding,) = [note for note in found.findings if note.code == "depends_on_cell"]
    assert finding.text.startswith("B against A depends on t: +")
    assert "at t 512, −" in finding.text
    assert "permutation test, p = 0.0" in finding.text or "p < 0.001" in finding.text
    assert (finding.data["factor"], finding.data["levels"], finding.data["repeated"]) == ("t", ["512"], False)
    assert len(found.cells) == 32
    (there,) = [cell for cell in found.cells if cell.where == {"io": "200", "t": "512"}]
    assert there.candidates[1].goal_ratio.mean == pytest.approx(2, rel=0.05)
    assert there.candidates[1].goal_ratio.low is None


def test_with_repeats_a_difference_that_changes_its_sign_is_claimed_where_it_is_so(analyzed):
    found = analyzed(
        series_of_cells(lambda name, threads: 0 if name == "A" else 0.2 if threads > 100 else -0.2, 3), by="^(A|B)"
    )
    assert (found.verdict, found.winners) == (Outcome.INCONCLUSIVE, [])
    assert "the better one depends on the cell" in found.headline
    (finding,) = [note for note in found.findings if note.code == "depends_on_cell"]
    assert "F test of interaction, p < 0.001" in finding.text
    assert "The interval excludes 0 % in 8 of 8 cells" in finding.text


def test_with_repeats_a_difference_of_one_sign_is_claimed_with_its_range(analyzed):
    found = analyzed(series_of_cells(lambda name, threads: 0 if name == "A" else 0.5 if threads > 100 else 0.1, 3), by="^(A|B)")
    assert found.winners == ["B"]
    assert "it depends on the cell, +" in found.headline


def test_cells_are_no_repeats_of_each_other(analyzed):
    repeated_once = analyzed(series_of_cells(lambda name, _: 0.05 * (name == "B"), 3, start=0.02), by="^(A|B)").candidates[1]
    one_cell = analyzed(
        {name: log for name, log in series_of_cells(lambda name, _: 0.05 * (name == "B"), 3).items() if "-t8-" in name},
        by="^(A|B)",
    ).candidates[1]
    width = repeated_once.ratio.high / repeated_once.ratio.low
    assert width > (one_cell.ratio.high / one_cell.ratio.low) ** 0.4, "eight cells do not make the interval a third as wide"


def test_versions_that_begin_alike_are_cells_and_no_repeats(analyzed):
    logs = {}
    for version, level in (("10.11", 1000), ("10.11.10", 1800)):
        for name in "AB":
            for run in range(3 if (name == "A") == (version == "10.11") else 1):
                seed = int(level + 10 * run + ord(name))
                logs[f"mariadb-{version}-cand{name}-r{run}.log"] = csv(series(level, seed=seed))
    found = analyzed(logs, by="cand(A|B)")
    assert [(factor.name, factor.values, factor.crossed) for factor in found.factors] == [
        ("mariadb", ["10.11", "10.11.10"], True)
    ]
    assert found.candidates[1].ratio.mean == pytest.approx(1, abs=0.02)
    assert found.verdict is not Outcome.WINNER
    assert "differs_too" not in codes(found.confounds), "a crossed factor is no confound"
    ignoring = analyzed(logs, by="cand(A|B)", ignored=("mariadb",))
    assert ignoring.candidates[1].ratio.mean > 1.3


def test_throughput_and_ratio_of_a_candidate_rest_on_the_same_cells(analyzed):
    logs = repeated({8: 1000, 32: 1035}, name="io5000.bpi{value}-r{run}.log")
    logs |= repeated({8: 3000}, name="io7000.bpi{value}-r{run}.log") | repeated({64: 900}, name="io5000.bpi{value}-r{run}.log")
    logs |= repeated({8: 500, 64: 450}, name="io200.bpi{value}-r{run}.log")
    found = analyzed(logs)
    for one in found.candidates[1:]:
        assert one.tps.mean / one.baseline_tps == pytest.approx(one.ratio.mean)
    few, many = found.candidates[1:]
    assert (few.cells, many.cells) == (1, 2)
    assert few.baseline_tps > 1.2 * many.baseline_tps


def test_findings_compare_within_cells(analyzed):
    rough = [(second, 8) for second in range(50, 900, 50)]
    logs = {
        "io5000.bpi8.log": csv(series(1000, 900, seed=1)),
        "io5000.bpi64.log": csv(series(1000, 900, seed=2)),
        "io7000.bpi8.log": csv(series(1000, 900, cv=0.2, seed=3, stalls=rough)),
        "io7000.bpi8-r2.log": csv(series(1000, 900, cv=0.2, seed=4, stalls=rough)),
    }
    assert analyzed(logs).findings == []
    logs["io7000.bpi64.log"] = csv(series(1000, 900, cv=0.2, seed=5, stalls=rough))
    assert "less_steady" not in codes(analyzed(logs).findings)


def test_many_logs_that_nobody_sorted_are_not_compared_one_by_one(analyzed):
    few = {f"x{index}.log": csv(series(1000, 100, cv=0.02 * (1 + index), seed=index)) for index in range(5)}
    many = {f"x{index}.log": csv(series(1000, 100, cv=0.02 * (1 + index), seed=index)) for index in range(15)}
    assert "less_steady" in codes(analyzed(few, by=None).findings)
    assert analyzed(many, by=None).findings == []


def test_a_shared_date_does_not_hide_that_candidates_ran_one_after_the_other(analyzed):
    logs = {}
    for place, name in enumerate("AAAABBBB"):
        hour = place if place != 4 else 3
        logs[f"2026-03-01-{hour:02}-00.cand{name}-r{place}.log"] = csv(series(1000 if name == "A" else 1100, seed=place))
    found = analyzed(logs, by="cand(A|B)")
    assert (found.verdict, found.winners) == (Outcome.INCONCLUSIVE, [])
    assert "(A and B)" in text(found.confounds, "one_after_the_other")


def test_one_after_the_other_is_a_matter_of_each_pair(analyzed):
    logs = {}
    for place, name in enumerate("ABABABCCC"):
        logs[f"2026-03-01-{place:02}-00.cand{name}.log"] = csv(series({"A": 1000, "B": 1100, "C": 1300}[name], seed=place))
    logs["candB-r9.log"] = csv(series(1100, seed=99))
    found = analyzed(logs, by="cand([ABC])")
    assert found.verdict is Outcome.INCONCLUSIVE
    assert text(found.confounds, "one_after_the_other").count(" and ") == 2


def test_numbers_that_may_only_count_the_runs_are_offered_to_be_ignored(analyzed):
    logs = {f"bpi{value}-{run}.log": csv(series(1000, seed=10 * value + run)) for value in (8, 32) for run in (1, 2)}
    found = analyzed(logs)
    assert found.verdict is Outcome.INCONCLUSIVE
    assert text(found.warnings, "single_runs").endswith("If number only numbers the runs, add --ignore 'number'")
    assert [one.compared for one in analyzed(logs, by=BY, ignored=("number",)).candidates] == [2, 2]


def test_three_numbers_that_each_candidate_has_count_the_runs(analyzed):
    logs = {f"bpi{value}-{run}.log": csv(series(1000, seed=10 * value + run)) for value in (8, 32) for run in (1, 2, 3)}
    found = analyzed(logs)
    assert [one.compared for one in found.candidates] == [3, 3]
    assert found.taken_as[1].endswith("number 1, 2 and 3 as the count of runs.")


def run_script(directory, text):
    directory.mkdir(parents=True, exist_ok=True)
    (directory / "run.sh").write_text(text)


@pytest.fixture
def beside(tmp_path):
    """Analyze all logs below a directory together with the files beside them."""

    def call(**asked):
        folder = load([tmp_path])
        beside = read_beside({run.name: run.path for run in folder.runs}, [tmp_path])
        return analyze(folder, Request(rule=AssignmentRule(**asked)), beside)

    return call


def test_an_option_that_differs_in_run_scripts_is_named_and_makes_cells(tmp_path, beside):
    for day, option, level in (("first", "", 1000), ("second", " --innodb_log_file_size=20GB", 1190)):
        for name in "AB":
            for run in range(3 if (day == "first") == (name == "A") else 1):
                log = csv(series(level, seed=int(level) + 10 * run + ord(name)))
                write(tmp_path / day, **{f"cand{name}-r{run}.log": log})
        run_script(tmp_path / day, f"#!/bin/bash\nmysqld --innodb_buffer_pool_size=140G{option} &\n")
    found = beside(by="cand(A|B)", ignored=("wording",))
    assert "innodb_log_file_size: 20GB, none" in text(found.confounds, "options_differ")
    assert "innodb_buffer_pool_size" not in text(found.confounds, "options_differ")
    assert found.candidates[1].ratio.mean == pytest.approx(1, abs=0.02)
    assert found.verdict is not Outcome.WINNER
    pooled = beside(by="cand(A|B)", ignored=("wording", "innodb_log_file_size"))
    assert pooled.candidates[1].ratio.mean > 1.05


def test_versions_of_sysbench_in_the_headers_of_logs_are_cells(analyzed):
    logs = {}
    for version, level in (("1.0.20", 1000), ("1.1.0", 1300)):
        for name in "AB":
            for run in range(3 if (version == "1.0.20") == (name == "A") else 1):
                log = csv(series(level, seed=int(level) + 10 * run + ord(name))).replace("1.0.20", version)
                logs[f"cand{name}-{'abc'[run]}{version[2]}-r{run}.log"] = log
    found = analyzed(logs, by="cand(A|B)", ignored=("wording", "a", "b", "c"))
    assert "sysbench: 1.0.20, 1.1.0" in text(found.confounds, "options_differ")
    assert found.candidates[1].ratio.mean == pytest.approx(1, abs=0.02)


def test_a_log_without_a_header_is_no_other_version(analyzed):
    logs = {
        f"bpi{value}-r{run}.log": csv(series(1000, seed=value + run), whole=run > 0) for value in (8, 32) for run in range(3)
    }
    found = analyzed(logs)
    assert found.factors == []
    assert [one.compared for one in found.candidates] == [3, 3]


def test_an_option_that_is_the_candidate_is_named_and_does_not_keep_candidates_apart(tmp_path, beside):
    for value, level in ((8, 1000), (32, 1100)):
        logs = {f"bpi{value}-r{run}.log": csv(series(level, seed=value + run)) for run in range(3)}
        write(tmp_path / f"bpi{value}", **logs)
        run_script(tmp_path / f"bpi{value}", f"mysqld --innodb-buffer-pool-instances={value} --port=33{value}\n")
    found = beside(by=BY, ignored=("port", "bpi"))
    assert found.winners == ["32"]
    assert text(found.confounds, "candidates_differ_in").endswith("innodb_buffer_pool_instances: 8 (8), 32 (32)")


@published
@pytest.mark.parametrize("size", [None, "20GB"])
def test_beside_the_published_logs_an_option_of_the_later_runs_is_named(tmp_path, size):
    for path in SHARED.iterdir():
        directory = tmp_path / ("early" if "06-15" in path.name or "07-57" in path.name else "late")
        directory.mkdir(exist_ok=True)
        (directory / path.name).symlink_to(path)
        option = f" --innodb_log_file_size={size}" if size and directory.name == "late" else ""
        run_script(directory, f"mysqld --innodb_buffer_pool_size=140G{option} &\n")
    folder = load([tmp_path])
    beside = read_beside({run.name: run.path for run in folder.runs}, [tmp_path])
    found = analyze(folder, Request(rule=AssignmentRule(by=BY, ignored=("wording",))), beside)
    named = [note.text for note in found.confounds if note.code == "options_differ"]
    assert ["innodb_log_file_size: 20GB, none" in one for one in named] == ([True] if size else [])


def test_a_number_of_threads_without_a_key_has_its_name_from_the_log(analyzed):
    logs = {
        f"bpi{value}/RW_{threads}th.log": csv(series(100 * threads, seed=value + threads), threads=threads)
        for value in (8, 32)
        for threads in (1, 16, 64)
    }
    assert [factor.name for factor in analyzed(logs).factors] == ["threads"]


def test_candidates_at_other_hours_of_the_day_have_no_winner(analyzed):
    logs = {
        f"2026-03-0{day}-{hour}-00.cand{name}.log": csv(series(level, seed=10 * day + level))
        for day in (1, 2, 3)
        for name, hour, level in (("A", "09", 1000), ("B", "21", 1100))
    }
    found = analyzed(logs, by="cand(A|B)")
    assert (found.verdict, found.winners) == (Outcome.INCONCLUSIVE, [])
    assert "because candidates ran at other hours of the day" in found.headline
    assert "(A and B)" in text(found.confounds, "at_other_hours")


def test_candidates_whose_runs_are_longer_than_others_are_not_compared(analyzed):
    logs = repeated({8: 1000}, seconds=200) | repeated({32: 1100}, seconds=400)
    found = analyzed(logs)
    assert (found.verdict, found.winners) == (Outcome.INCONCLUSIVE, [])
    assert "all runs of one candidate are longer" in found.headline
    assert "of_other_lengths" in codes(found.confounds)
