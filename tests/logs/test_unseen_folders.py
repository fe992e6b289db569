"""Folders in forms that were met after the readers were made, each with what it must be taken for; all figures are made up."""

import json

import numpy as np
import pytest

from dialin.logs.log_folder import load
from dialin.model.analysis import FileStatus, FolderKind
from dialin.stats import steady
from fixtures.analyses import judged
from fixtures.sysbench_logs import HEADER, csv, human, series, write


def log(level, seed, threads=16):
    return human(series(level, seconds=60, seed=seed), threads=threads)


def totals(level, seconds=60):
    return (
        f"SQL statistics:\n    transactions:                        {seconds * level} ({level}.00 per sec.)\n\n"
        f"General statistics:\n    total time:                          {seconds}.0123s\n\n"
        "Latency (ms):\n         95th percentile:                       12.30\n"
    )


def minute(level, seed, threads=16):
    """A log of a minute with a line every ten seconds."""
    lines = human(series(level, seconds=6, seed=seed), threads=threads, whole=False).splitlines()
    lines = [line.replace(f"[ {place}s ]", f"[ {10 * place}s ]") for place, line in enumerate(lines, 1)]
    return HEADER.format(threads=threads) + "\n".join(lines) + "\n" + totals(level + seed)


def counter(level, seed):
    """The log of HammerDB's transaction counter with a line each second."""
    lines = (
        f"{round(60 * tps)} MySQL tpm @ Mon Jan  6 20:{44 + second // 60}:{second % 60:02} UTC 2031\n"
        for second, tps in enumerate(series(level, seconds=120, seed=seed))
    )
    return f"Hammerdb Transaction Counter Log @ Mon Jan  6 20:44:00 UTC 2031\n{'+-' * 30}\n{''.join(lines)}"


def console(nopm):
    """What HammerDB prints on a terminal: its counter, then the result twice."""
    lines = "".join(f"Vuser {one}:RUNNING\n{1000 * one} MySQL tpm\n" for one in range(2, 82))
    result = f"TEST RESULT : System achieved {nopm} NOPM from {2 * nopm} MySQL TPM"
    users = "80 Active Virtual Users configured"
    return f"81 Virtual Users Created with Monitor VU\n{lines * 4}Vuser 1:{users}\nVuser 1:{result}\n" + json.dumps(
        ["69E6902A5D4C03E253035383", users, result], indent=2
    )


def slaps(seconds):
    return "".join(f",mixed,{seconds + run / 1000:.3f},{seconds - 0.1:.3f},{seconds + 0.1:.3f},50,100\n" for run in range(3))


def docker(text):
    """The same as the logs of a container hold it."""
    return "".join(
        json.dumps({"log": f"{line}\n", "stream": "stdout", "time": "2031-01-06T20:44:00.1Z"}) + "\n"
        for line in text.splitlines()
    )


SCRIPTS = (
    "oltp_delete", "oltp_insert", "oltp_point_select", "oltp_read_only", "oltp_read_write", "oltp_update_index",
    "oltp_update_non_index", "oltp_write_only", "select_random_points",
)  # fmt: skip
POOLS = {"8G": 1000, "16G": 1200}
ALTERNATIVES = {
    "a minute in six lines each": (
        {
            f"pool{pool}-t{count}-r{run}.log": minute(level * count, run + count, count)
            for pool, level in POOLS.items()
            for count in (16, 64)
            for run in (1, 2, 3)
        },
        ["8G", "16G"],
        1.2,
    ),
    "directories that end in the minute of the run": (
        {
            f"res-tpcc-{name}-2031-01-{day + place}-1{place}-42/thr{count}/res.txt": log(
                level * count, day + level + count, count
            )
            for place, (name, level) in enumerate((("GR-slv16-BP20", 100), ("GR-slv16-mm-BEFORE", 120), ("PXC-slv1", 90)))
            for day in (10, 20)
            for count in (1, 16)
        },
        ["res-tpcc-GR-slv16-BP20", "res-tpcc-GR-slv16-mm-BEFORE", "res-tpcc-PXC-slv1"],
        1.2,
    ),
    "the point of the ending was forgotten": (
        {
            f"{build}.BP25/res.thr{count}txt": log(level * count, count + level, count)
            for build, level in (("mariadb-10.5.4", 100), ("mysql-8.0.21", 110))
            for count in (1, 12, 56)
        },
        ["mariadb-10.5.4.BP25", "mysql-8.0.21.BP25"],
        1.1,
    ),
    "names in Chinese": (
        {
            f"{name}/线程{count}.log": log(level * count, count + level, count)
            for name, level in (("优化前", 100), ("优化后", 120))
            for count in (16, 64)
        },
        ["优化前", "优化后"],
        1.2,
    ),
    "sessions of HammerDB, its counter and a CSV beside the terminal's output": (
        {
            f"results/2031010{day}-203838/bp-{size}GiB/{name}": text
            for day in (5, 6)
            for size, nopm in ((10, 150_000), (30, 180_000))
            for name, text in (
                ("hammerdbcli.out", console(nopm + day)),
                (f"hdbtcount_69E6{size}A5D4C03E2{day}.log", counter(nopm / 30, day + size)),
                ("tpm_1sec.csv", "elapsed_s,tpm\n" + "".join(f"{at},{2 * nopm}\n" for at in range(1, 99))),
                ("hammerdb_run.out", "jobid=69E6\nnum_vu=80\n---\nHAMMERDB RESULT\n\n"),
            )
        },
        ["10GiB", "30GiB"],
        1.2,
    ),
    "the counter of HammerDB alone": (
        {f"pool{pool}_{run}/hdbtcount.log": counter(level, level + run) for pool, level in POOLS.items() for run in (1, 2, 3)},
        ["8G", "16G"],
        1.2,
    ),
    "the CSV of mysqlslap": ({f"pool{pool}.csv": slaps(2400 / level) for pool, level in POOLS.items()}, ["8G", "16G"], 1.2),
    "numbered runs that differ in the option file beside": (
        {
            f"run{run:02}/{name}": text
            for run in range(1, 7)
            for pool, level in [list(POOLS.items())[run % 2]]
            for name, text in (
                ("my.cnf", f"[mysqld]\ninnodb_buffer_pool_size = {pool}\nport = 330{run}\nsync_binlog = 1\n"),
                ("sysbench-16.log", log(level, run, 16)),
                ("sysbench-64.log", log(4 * level, 10 + run, 64)),
            )
        },
        ["innodb_buffer_pool_size=8G", "innodb_buffer_pool_size=16G"],
        1.2,
    ),
    "dates with the name of a month and hours with an h": (
        {
            f"pool{pool}_0{day}-Jan-2031_1{(day + place) % 2}h{20 + day}.log": log(level, day + level)
            for place, (pool, level) in enumerate(POOLS.items())
            for day in (1, 2, 3)
        },
        ["8G", "16G"],
        1.2,
    ),
    "a spreadsheet of means, with commas between thousands": (
        {
            "results.csv": "Server,Threads,Avg TPS,QPS\n"
            + "".join(
                f'{server},{count},"{level * count + run:,}.5","{20 * level * count:,}"\n'
                for server, level in (("old", 100), ("new", 120))
                for count in (16, 64)
                for run in (1, 2)
            )
        },
        ["new", "old"],
        1 / 1.2,
    ),
    "lines of sysbench that somebody made a CSV of": (
        {
            f"pool{pool}_{run}.csv": "time_s,threads,tps,qps,p95_ms\n"
            + "".join(
                f"{at},16,{tps},{20 * tps},9.5\n" for at, tps in enumerate(series(level, seconds=60, seed=run + level), 1)
            )
            for pool, level in POOLS.items()
            for run in (1, 2, 3)
        },
        ["8G", "16G"],
        1.2,
    ),
    "totals that were copied out of the logs beside": (
        {
            **{f"pool{pool}_{run}.log": log(level, level + run) for pool, level in POOLS.items() for run in (1, 2, 3)},
            "summary.txt": "".join(f"pool {pool}\n{totals(level)}" for pool, level in POOLS.items()),
        },
        ["8G", "16G"],
        1.2,
    ),
    "files that a browser has numbered": (
        {
            f"pool {pool}{number}.log": log(level, level + run)
            for pool, level in POOLS.items()
            for run, number in enumerate(("", " (1)", " (2)"))
        },
        ["8G", "16G"],
        1.2,
    ),
    "loops of all": (
        {f"loop_{loop}/pool{pool}.log": log(level, level + loop) for pool, level in POOLS.items() for loop in (1, 2)},
        ["8G", "16G"],
        1.2,
    ),
    "the log files of containers": (
        {
            f"pool{pool}-{run}/{level + run:x}0a9f7c1e-json.log": docker(log(level, level + run))
            for pool, level in POOLS.items()
            for run in (1, 2)
        },
        ["8G", "16G"],
        1.2,
    ),
    "products by two letters": (
        {
            f"{name}/oltp_read_only_ps_t{count}.log": log(level * count, count + level, count)
            for name, level in (("ms", 100), ("ps", 120))
            for count in (16, 64)
        },
        ["ms", "ps"],
        1.2,
    ),
    "a name for each server before the threads": (
        {
            f"{name}_run_thread{count}_tables1.log": log(level * count, count + level, count)
            for name, level in (("mysql", 100), ("tidb", 120))
            for count in (50, 100)
        },
        ["mysql_run_thread", "tidb_run_thread"],
        1.2,
    ),
}


@pytest.mark.parametrize("name", ALTERNATIVES)
def test_the_candidates_of_a_folder_are_found_and_compared(tmp_path, name):
    files, candidates, ratio = ALTERNATIVES[name]
    found = judged(write(tmp_path / "a", **files))
    assert found.kind is FolderKind.ALTERNATIVES
    assert [one.name for one in found.candidates] == candidates
    assert found.candidates[1].ratio.mean == pytest.approx(ratio, abs=0.03)
    used = (FileStatus.USED, FileStatus.SUMMARY_ONLY)
    beside = ("summary.txt", "tpm_1sec.csv", "hammerdb_run.out", ".cnf")
    assert not any(entry.status in used for entry in found.files if entry.file.endswith(beside))


@pytest.mark.parametrize("name", ["a minute in six lines each", "files that a browser has numbered", "loops of all"])
def test_runs_that_are_only_numbered_are_repeats(tmp_path, name):
    files, *_ = ALTERNATIVES[name]
    found = judged(write(tmp_path / "a", **files))
    assert found.candidates[1].ratio.low is not None


@pytest.mark.parametrize(
    ("names", "loads"),
    [
        ("{build}/{load}.log", SCRIPTS),
        ("{build}/workload{load}.log", "abcdef"),
        ("workload_{load}-{build}.log", "abf"),
    ],
)
def test_the_loads_of_programs_are_told_from_candidates(tmp_path, names, loads):
    files = {
        names.format(build=build, load=load): log(level * (place + 1) ** 3, place + level)
        for build, level in (("8.0.36", 100), ("8.4.0", 110))
        for place, load in enumerate(loads)
    }
    found = judged(write(tmp_path / "a", **files))
    assert found.kind is FolderKind.SUITE
    assert [len(row.candidates) for row in found.suite] == [2] * len(loads)


def test_a_ramp_of_rates_beside_a_scaling_is_no_comparison(tmp_path):
    files = {f"res_thr{count}.txt": log(500 * count**0.7, count, count) for count in (10, 20, 40)}
    for rate in (500, 1000, 1500):
        files[f"res_rate{rate}.txt"] = log(rate, rate, 64).replace("Report", f"Target transaction rate: {rate}/sec\nReport")
    found = judged(write(tmp_path / "a", **files))
    assert found.kind is FolderKind.RATE_RAMP
    assert [point.rate for point in found.ramps[0].points] == [500, 1000, 1500]
    assert [point.threads for curve in found.scaling for point in curve.points] == [10, 20, 40]


def test_the_counter_of_hammerdb_is_read_by_its_own_clock(tmp_path):
    (run,) = load([write(tmp_path / "a", hdbtcount__log=counter(500, 1))]).runs
    assert (run.log.interval, run.log.times[-1] - run.log.times[0]) == (1, 119)
    assert run.log.tps.mean() == pytest.approx(500, rel=0.02)


def test_a_result_that_is_printed_twice_is_one_run(tmp_path):
    (run,) = load([write(tmp_path / "a", hammerdbcli__out=console(1000))]).runs
    assert (run.log.summary.tps, run.log.unit, run.log.threads) == (1000, "NOPM", 80)


def test_few_lines_count_only_where_their_total_does_not(tmp_path):
    text = minute(1000, 1)
    folder = load([write(tmp_path / "a", a__log=text, b__log=text[: text.index("SQL")], c__log=csv(series(1000)))])
    assert [(entry.file, entry.status) for entry in folder.files] == [
        ("a.log", FileStatus.SUMMARY_ONLY), ("b.log", FileStatus.TOO_SHORT), ("c.log", FileStatus.USED),
    ]  # fmt: skip
    assert folder.files[0].detail.startswith("6 lines, too few")


def test_passwords_that_a_script_printed_into_logs_are_not_shown(tmp_path):
    files = {
        f"{name}.log": log(1000, seed).replace("Number of", f"Root password: hunter{seed}\nNumber of")
        for seed, name in enumerate(("old", "new"), 1)
    }
    assert "hunter" not in judged(write(tmp_path / "a", **files)).model_dump_json()


def test_totals_alone_are_a_run_each(tmp_path):
    text = "".join(f"Number of threads: {count}\n{totals(100 * count)}" for count in (4, 16))
    found = judged(write(tmp_path / "a", summary__txt=text))
    assert found.kind is FolderKind.SCALING
    assert [point.tps for point in found.scaling[0].points] == [400, 1600]


def shapes():
    rng = np.random.default_rng(5)
    time = np.arange(3001)
    for cv in (0.0, 0.03, 0.08, 0.15, 0.4):
        noise = 1 + cv * rng.standard_normal(time.size)
        for level in (1.0, 1 + 0.03 * np.sin(time / 9), 1 + 0.1 * np.sin(time / 400), np.where(time % 900 < 500, 1, 0.7)):
            yield np.maximum(1000 * level * noise, 0)
        yield np.maximum(1000 * noise + 40 * np.cumsum(rng.standard_normal(time.size)), 1)


def test_what_is_seen_at_a_glance_is_what_a_closer_look_shows(monkeypatch):
    every = list(shapes())
    quick = [steady.examine_run(x) for x in every]
    monkeypatch.setattr(steady, "_are_close", lambda *_: False)
    monkeypatch.setattr(steady, "_LONG", 10**9)
    assert quick == [steady.examine_run(x) for x in every]
    assert len({one.course for one in quick}) >= 4
