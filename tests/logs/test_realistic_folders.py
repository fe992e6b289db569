"""Folders as people publish them, each with what it must be taken for."""

import json

import pytest

from dialin.errors import UserError
from dialin.logs.log_folder import load
from dialin.model.analysis import FileStatus, FolderKind
from fixtures.analyses import judged
from fixtures.sysbench_logs import csv, human, series, write


def log(level, seed, threads=16):
    return human(series(level, seed=seed), threads=threads)


def old(level, seed):
    lines = "".join(
        f"[{second:4d}s] threads: 16, tps: {tps:.2f}, reads: {14 * tps:.2f}, writes: {4 * tps:.2f}, "
        "response time: 12.30ms (95%), errors: 0.00, reconnects:  0.00\n"
        for second, tps in enumerate(series(level, seed=seed), 1)
    )
    head = "sysbench 0.5:  multi-threaded system evaluation benchmark\n\nNumber of threads: 16\nReport intermediate results "
    return f"{head}every 1 second(s)\n\nThreads started!\n\n{lines}"


def summary(threads, level):
    return (
        f"sysbench 1.0.20\n\nNumber of threads: {threads}\n\nSQL statistics:\n    transactions:          {60 * level}"
        f" ({level}.00 per sec.)\n\nGeneral statistics:\n    total time:            60.0123s\n"
    )


def results(level):
    return "".join(
        f"Vuser 1:{users} Active Virtual Users configured\n"
        f"Vuser 1:TEST RESULT : System achieved {level * users} NOPM from {3 * level * users} MySQL TPM\n"
        for users in (1, 2, 4)
    )


def sweep(names, levels, threads=(16, 64), runs=1):
    """Return logs by name; names have the candidate, the threads and the run."""
    return {
        names.format(c=name, t=count, r=run): log(level * count / 16, place * 100 + count + run, count)
        for place, (name, level) in enumerate(levels.items())
        for count in threads
        for run in range(1, runs + 1)
    }


def benchbase(name, level, seed):
    """Return the files that BenchBase writes of one run."""
    rates = series(level, seconds=60, seed=seed)
    head = "Time (seconds),Throughput (requests/second),Average Latency (millisecond),95th Percentile Latency (millisecond)"
    rows = "".join(f"{second},{rate},3.1,9.5\n" for second, rate in enumerate(rates, 1))
    raw = "Transaction Type Index,Transaction Name,Start Time (microseconds),Latency (microseconds),Worker Id (start number)\n"
    raw += "".join(f"1,NewOrder,{1.7e9 + at / 20:.6f},3000,1\n" for at in range(1200))
    result = {"Current Timestamp (milliseconds)": 1.7e12 + seed, "scalefactor": "1", "terminals": "16"}
    return {
        f"{name}.samples.csv": f"{head}\n{rows}",
        f"{name}.results.csv": f"{head}\n{rows}",
        f"{name}.results.NewOrder.csv": f"{head}\n{rows}",
        f"{name}.raw.csv": raw,
        f"{name}.summary.json": json.dumps({**result, "Throughput (requests/second)": float(rates.mean())}, indent=2),
        f"{name}.metrics.json": json.dumps({"uptime": "90", "questions": str(1000 + seed)}),
        f"{name}.params.json": json.dumps(
            {"innodb_page_size": "16384", "innodb_io_capacity": "200", "timestamp": f"1{seed}.5"}
        ),
    }


def totals(level):
    return (
        "sysbench 0.4.12:  multi-threaded system evaluation benchmark\n\nNumber of threads: 16\n\nOLTP test statistics:\n"
        f"    transactions:                        {60 * level}  ({level}.12 per sec.)\n"
        "    deadlocks:                           0      (0.00 per sec.)\n\nTest execution summary:\n"
        "    total time:                          60.0021s\n         approx.  95 percentile:              12.30ms\n"
    )


def ycsb(rate):
    return f"[OVERALL], RunTime(ms), 60012\n[OVERALL], Throughput(ops/sec), {rate}\n[READ], Operations, 99\n"


def k6(level):
    lines = (
        f"running (0m{at:02}.0s), 16/16 VUs, {round(level * at)} complete and 0 interrupted iterations\n" for at in range(1, 60)
    )
    return "".join(lines)


def locust(level):
    head = "Timestamp,User Count,Type,Name,Requests/s,Failures/s,50%,90%,95%,99%,Total Request Count,Total Failure Count,"
    rows = (f"{1_790_000_000 + at},16,GET,look,3,0,40,90,95,99,{level * at},0,44.5\n" for at in range(60))
    return f"{head}Total Average Response Time\n{''.join(rows)}"


DSTAT = '"Dstat 0.7.3 CSV output"\n"Host:","db1"\n\n"time","usr","sys"\n' + "01-03 12:00:01,10.1,2.3\n" * 100
VMSTAT = "procs -----------memory----------\n r  b   swpd   free\n" + " 1  0      0 1000\n" * 100
BUILDS = {"8.0.36": 100, "8.4.0": 110}
ALTERNATIVES = {
    "blog sweep with a run script in each directory": (
        {
            **sweep("bpi{c}/run{r}/sysbench_{t}.log", {8: 1000, 32: 1100}, runs=3),
            "bpi8/run.sh": "mysqld --x=8",
            "bpi32/run.sh": "mysqld --x=32",
        },
        ["8", "32"],
        1.1,
    ),
    "other programs watched the machine": (
        {**sweep("mysql{c}-t{t}.log", {57: 900, 80: 1000}), "mysql57-t16.dstat.csv": DSTAT, "vmstat.log": VMSTAT},
        ["57", "80"],
        1.11,
    ),
    "a directory for each number of threads": (sweep("mysql-{c}/t{t}/out.txt", BUILDS), ["8.0.36", "8.4.0"], 1.1),
    "lines end as on Windows": (
        {name: text.replace("\n", "\r\n") for name, text in sweep("pool{c}-r{r}.txt", {1: 1000, 2: 1200}, (16,), 3).items()},
        ["1", "2"],
        1.2,
    ),
    "packed": (sweep("my_{c}.rw.t{t}.log.gz", {8036: 1000, 8400: 1100}), ["8036", "8400"], 1.1),
    "two versions of sysbench, candidates of one letter": (
        {f"a-r{run}.log": old(1000, run) for run in (1, 2, 3)} | {f"b-r{run}.log": log(1100, 10 + run) for run in (1, 2, 3)},
        ["a", "b"],
        1.1,
    ),
    "dates in the names": (
        {
            f"2024-03-0{day}_1{hour}-00-00_buffer{pool}G_t16.log": log(level, 10 * day + hour)
            for day in (1, 2, 3)
            for hour, (pool, level) in enumerate(((8, 1000), (16, 1100)) if day != 2 else ((16, 1100), (8, 1000)))
        },
        ["8G", "16G"],
        1.1,
    ),
    "one run was killed, one is empty, one never connected": (
        {
            **sweep("x{c}-r{r}.log", {8: 1000, 16: 1100}, (16,), 2),
            "x8-r3.log": log(1000, 9)[:9000],
            "x8-r4.log": "",
            "x16-r3.log": "sysbench 1.0.20\n\nFATAL: unable to connect to MySQL server\n",
        },
        ["8", "16"],
        1.1,
    ),
    "each line has the time of day before it": (
        {
            name: "".join(f"Mar 01 12:00:01 {line}\n" for line in text.splitlines())
            for name, text in sweep("v{c}-r{r}.log", {1: 1000, 2: 1100}, (16,), 2).items()
        },
        ["1", "2"],
        1.1,
    ),
    "summaries alone, the threads after the name": (
        {
            f"{name}_{count}.txt": summary(count, level * count)
            for name, level in (("innodb", 100), ("myrocks", 80))
            for count in (8, 16, 32)
        },
        ["innodb", "myrocks"],
        0.8,
    ),
    "isolation levels, the runs numbered": (
        {
            f"{name}.{run}.log": log(level, level + run)
            for name, level in (("read-committed", 1000), ("repeatable-read", 900))
            for run in (1, 2, 3)
        },
        ["read-committed", "repeatable-read"],
        0.9,
    ),
    "results of HammerDB for several numbers of users in one file": (
        {"maria.log": results(2000), "mysql.log": results(1900)},
        ["maria", "mysql"],
        0.95,
    ),
    "output of nohup": (
        {"v1/nohup.out": f"nohup: ignoring input\n{log(1000, 1)}\nreal\t3m20.1s\n", "v2/nohup.out": log(1100, 2)},
        ["1", "2"],
        1.1,
    ),
    "log of the preparation beside": (
        {
            "prepare.log": "sysbench 1.0.20 (using LuaJIT)\n\nCreating table 'sbtest1'...\n",
            "run_a.log": log(1000, 1),
            "run_b.log": log(1200, 3),
        },
        ["run_a", "run_b"],
        1.2,
    ),
    "BenchBase writes seven files of each run": (
        {
            name: text
            for build, level in (("8.0.36", 800), ("8.4.0", 880))
            for run in (1, 2)
            for name, text in benchbase(f"mysql-{build}/tpcc_2024-03-01_1{run}-00-00", level, run + round(level)).items()
        },
        ["8.0.36", "8.4.0"],
        1.1,
    ),
    "sysbench 0.4 prints totals only": (
        {f"my{c}.r{run}.out": totals(level + run) for c, level in ((51, 1000), (56, 1200)) for run in (1, 2)},
        ["51", "56"],
        1.2,
    ),
    "YCSB prints a result only": (
        {f"pool{pool}G.r{run}.out": ycsb(rate + run) for pool, rate in ((4, 8000), (8, 8800)) for run in (1, 2)},
        ["4G", "8G"],
        1.1,
    ),
    "logs of docker compose name the container in each line": (
        {
            name: "".join(f"bench-1  | {line}\n" for line in text.splitlines())
            for name, text in sweep("mysql{c}_r{r}.log", {80: 1000, 84: 1100}, (16,), 2).items()
        },
        ["80", "84"],
        1.1,
    ),
    "pasted into Markdown, one page for each server": (
        {
            f"{name}.md": "# Results\n\nAs [before](x).\n\n"
            + "".join(f"## {n} threads\n\n```\n{log(level * n, seed + n, n)}```\n" for n in (4, 16))
            for seed, (name, level) in enumerate((("percona", 100), ("oracle", 110)))
        },
        ["oracle", "percona"],
        1 / 1.1,
    ),
    "the layout of Percona Lab: results beside iostat and the option file": (
        {
            **{
                name: log(level, seed, 56)
                for seed, (name, level) in enumerate(
                    (f"mysql-8.0.19/BP{pool}/threads56/{run}/sysbench.log", level)
                    for pool, level in ((25, 1000), (100, 1300))
                    for run in ("run1", "run2")
                )
            },
            "mysql-8.0.19/BP25/threads56/run1/iostat.log": VMSTAT,
            "mysql-8.0.19/BP25/my.cnf": "[mysqld]\ninnodb_buffer_pool_size = 25G\n",
            "mysql-8.0.19/BP100/my.cnf": "[mysqld]\ninnodb_buffer_pool_size = 100G\n",
        },
        ["25", "100"],
        1.3,
    ),
    "names without an ending, as of the insert benchmark's author": (
        {
            f"{build}/sb.o.read-write.range100.pk1.dop{count}": log(level * count, count + level, count)
            for build, level in (("my5651_rel", 100), ("my8039_rel", 90))
            for count in (1, 8)
        },
        ["5651", "8039"],
        0.9,
    ),
    "a job's result of HammerDB in JSON": (
        {
            f"{name}/result_{run}.json": json.dumps(
                [f"TEST RESULT : System achieved {nopm + run} NOPM from {2 * nopm} MySQL TPM"]
            )
            for name, nopm in (("adaptive", 30_000), ("fixed", 33_000))
            for run in (1, 2)
        },
        ["adaptive", "fixed"],
        1.1,
    ),
    "k6 before and after": (
        {f"{name}-{run}.log": k6(level + run) for name, level in (("after", 440), ("before", 400)) for run in (1, 2)},
        ["after", "before"],
        1 / 1.1,
    ),
    "the history of Locust, beside its other files": (
        {
            **{
                f"{name}/r{run}_stats_history.csv": locust(level + run)
                for name, level in (("v1", 400), ("v2", 440))
                for run in (1, 2)
            },
            "v1/r1_stats.csv": "Type,Name,Request Count,Failure Count\nGET,look,9,0\n,Aggregated,9,0\n",
            "v1/r1_failures.csv": "Method,Name,Error,Occurrences\n",
        },
        ["1", "2"],
        1.1,
    ),
    "a spreadsheet's decimal commas": (
        {
            f"redo{size}M_{run}.csv": "time;tps\n"
            + "".join(f"{at};{value:.2f}\n".replace(".", ",") for at, value in enumerate(series(level, seed=run + size), 1))
            for size, level in ((64, 1000), (512, 1200))
            for run in (1, 2)
        },
        ["64M", "512M"],
        1.2,
    ),
    "builds of a pipeline": (
        {
            f"artifacts/build-{build}/sysbench-rw-16thr-run{run}.txt": log(level, build + run)
            for build, level in ((101, 1000), (102, 950))
            for run in (1, 2, 3)
        },
        ["101", "102"],
        0.95,
    ),
    "one file for each server, numbers of threads one after the other": (
        {
            f"{name}.log": "".join(f"### threads {count}\n{log(level * count, seed + count, count)}" for count in (1, 4, 16))
            for seed, (name, level) in enumerate((("mariadb114", 500), ("mysql84", 450)))
        },
        ["mariadb114", "mysql84"],
        0.9,
    ),
}


@pytest.mark.parametrize("name", ALTERNATIVES)
def test_the_candidates_of_a_folder_are_found_and_compared(tmp_path, name):
    logs, candidates, ratio = ALTERNATIVES[name]
    found = judged(write(tmp_path / "a", **logs))
    assert found.kind is FolderKind.ALTERNATIVES
    assert [one.name for one in found.candidates] == candidates
    assert found.candidates[1].ratio.mean == pytest.approx(ratio, abs=0.03)
    unread = (".dstat.csv", ".sh", "vmstat.log", "iostat.log", ".raw.csv", ".results.csv", "_stats.csv", "_failures.csv")
    assert not any(entry.status is FileStatus.USED for entry in found.files if entry.file.endswith(unread))


def test_runs_of_several_numbers_of_threads_in_one_file_are_a_scaling(tmp_path):
    text = "".join(f"### {count}\n{log(500 * count**0.7, count, count)}" for count in (1, 4, 16, 64))
    found = judged(write(tmp_path / "a", all__log=text))
    assert found.kind is FolderKind.SCALING
    assert [point.threads for point in found.scaling[0].points] == [1, 4, 16, 64]


def test_two_things_that_differ_are_proposed_and_threads_are_not(tmp_path):
    logs = {
        f"sysbench_rw_threads-{count}_bp-{pool}G_flush-{flush}.out": log(1000, count + pool + flush, count)
        for count in (16, 64) for pool in (4, 8) for flush in (1, 2)
    }  # fmt: skip
    found = judged(write(tmp_path / "a", **logs))
    assert len(found.proposals) == 2
    assert not any("threads" in one for one in found.proposals)


@pytest.mark.parametrize(
    ("file", "says"),
    [
        ({"iibench.txt": "".join(f"{at}00000\t{at}.1\t50000\t49000\n" for at in range(100))}, "no report of a load program"),
        ({"results.csv": "threads,commits,p95\n1,100,5\n2,190,6\n4,350,7\n"}, "a CSV with threads, commits, p95"),
        ({"pgbench.log": "progress: 1.0 s, 1234.5 tps, lat 12.3 ms stddev 1.2\n" * 90}, "no report of a load program"),
    ],
)
def test_folders_that_are_not_read_are_refused_with_the_reason(tmp_path, file, says):
    with pytest.raises(UserError, match=says):
        judged(write(tmp_path / "a", **file))


def test_csv_and_text_of_one_run_are_copies_also_with_other_line_ends(tmp_path):
    tps = series(1000)
    folder = load([write(tmp_path / "a", a__log=human(tps), b__csv=csv(tps).replace("\n", "\r\n"))])
    assert sorted(run.copy_of is not None for run in folder.runs) == [False, True]
