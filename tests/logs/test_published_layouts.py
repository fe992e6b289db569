"""More layouts in which people publish results, each with what it must be taken for; all figures are made up."""

import json

import pytest

from dialin.logs.log_folder import load
from dialin.model.analysis import FileStatus, FolderKind
from fixtures.analyses import judged
from fixtures.sysbench_logs import human, series, write


def log(level, seed, threads=16):
    return human(series(level, seconds=60, seed=seed), threads=threads)


def old(level, seed, threads, *, transactions=True, reads=14.0, writes=4.0):
    """A log of sysbench 0.5; without transactions, as `--oltp-skip-trx` makes it."""
    tps = series(level, seconds=60, seed=seed)
    events = round(float(tps.sum()) * 2)
    lines = "".join(
        f"[{2 * second:4d}s] threads: {threads}, tps: {value if transactions else 0:.2f}, reads/s: {reads * value:.2f}, "
        f"writes/s: {writes * value:.2f}, response time: 12.30ms (95%)\n"
        for second, value in enumerate(tps, 1)
    )
    statements = round(float(tps.sum()) * 2 * (reads + writes))
    total = events if transactions else 0
    return (
        f"sysbench 0.5:  multi-threaded system evaluation benchmark\n\nNumber of threads: {threads}\n\n{lines}"
        f"OLTP test statistics:\n    transactions:                        {total}      ({total / 120:.2f} per sec.)\n"
        f"    read/write requests:                 {statements} ({statements / 120:.2f} per sec.)\n"
        f"    other operations:                    0      (0.00 per sec.)\n\nGeneral statistics:\n"
        f"    total time:                          120.0066s\n    total number of events:              {events}\n"
    )


def total_without_transactions(level, threads):
    """A log of sysbench with `--oltp-skip-trx` and no interval reports."""
    return (
        f"sysbench 1.0:  multi-threaded system evaluation benchmark\n\nNumber of threads: {threads}\n\nOLTP test statistics:\n"
        f"    transactions:                        0      (0.00 per sec.)\n"
        f"    read/write requests:                 {60 * level} ({level}.00 per sec.)\n"
        "    ignored errors:                      0      (0.00 per sec.)\n\nGeneral statistics:\n"
        "    total time:                          60.0066s\n         approx.  95 percentile:                7.84ms\n"
    )


def slap(seconds, clients, queries, engine=""):
    running = f"\tRunning for engine {engine}\n" if engine else ""
    return (
        f"Benchmark\n{running}\tAverage number of seconds to run all queries: {seconds:.3f} seconds\n"
        f"\tMinimum number of seconds to run all queries: {seconds:.3f} seconds\n"
        f"\tMaximum number of seconds to run all queries: {seconds:.3f} seconds\n"
        f"\tNumber of clients running queries: {clients}\n\tAverage number of queries per client: {queries}\n\n"
    )


def benchmark_sql(rate):
    begin = "07:09:53,455 [Thread-351] INFO   jTPCC : Term-00, "
    running = "Term-00, Running Average tpmTOTAL: 98607.17    Current tpmTOTAL: 1306284    Memory Usage: 66MB / 1550MB\n"
    return f"{running}{begin}\n{begin}Measured tpmC (NewOrders) = {rate}\n{begin}Measured tpmTOTAL = {2.2 * rate:.2f}\n"


def bench_base(rate):
    begin = "[INFO ] 2030-01-01 12:00:00,600 [main]  com.example.Workload run - "
    result = f"Results(nanoSeconds=60000043004, measuredRequests={60 * rate}) = {rate}.2667 requests/sec (throughput), "
    return f"{begin}======\n{begin}Rate limited reqs/s: {result}{rate}.2999 requests/sec (goodput)\n"


def hammerdb_report(nopm, job):
    result = {"active_virtual_users": 24, "nopm": nopm, "tpm": 2 * nopm, "chart_data": [{"metric": "NOPM", "value": nopm}]}
    return json.dumps(
        {"schema": "hammerdb-job-report-v1", "job": {"jobid": job, "release": "9.7.0"}, "result": result}, indent=2
    )


def k6_end(rate):
    return (
        f"    http_reqs{'.' * 30}: {240 * rate} {2 * rate}.77/s\n    iterations{'.' * 29}: {120 * rate} {rate}.88/s\n"
        f"    vus{'.' * 36}: 1      min=1  max=89\n\n"
        f"running (2m00.0s), 00/90 VUs, {120 * rate} complete and 0 interrupted iterations\n"
    )


CPU = (
    "sysbench 1.0.20 (using bundled LuaJIT 2.1.0-beta2)\n\nRunning the test with following options:\nNumber of threads: 4\n\n"
    "Prime numbers limit: 10000\n\nThreads started!\n\nCPU speed:\n    events per second:  4123.45\n\nGeneral statistics:\n"
    "    total time:                          10.0005s\n    total number of events:              41240\n\n"
    "Latency (ms):\n         95th percentile:                        1.01\n"
)
LAYOUTS = {
    "a proxy and servers by number, without transactions, totals alone": (
        {
            f"issue7/{name}_thr{count}.log": total_without_transactions(level * count, count)
            for name, level in (("mysql1", 1000), ("mysql2", 1100), ("proxy124", 800), ("proxy130", 900))
            for count in (8, 16, 32)
        },
        FolderKind.ALTERNATIVES,
        ["mysql1", "mysql2", "proxy124", "proxy130"],
        1.1,
        "qps",
    ),
    "the same with interval reports, three runs": (
        {
            f"ahi{on}.r{run}.txt": old(level, run + 10 * on, 16, transactions=False, writes=0.0)
            for on, level in ((0, 1000), (1, 1150))
            for run in (1, 2, 3)
        },
        FolderKind.ALTERNATIVES,
        ["0", "1"],
        1.15,
        "qps",
    ),
    "a numbered directory for each server, read-only and read-write, iostat and option file beside": (
        {
            **{
                f"series06/res{place}/sysbench.{load}.{count}.res": old(
                    level * count, place + count + round(9 * writes), count, writes=writes
                )
                for place, level in ((11, 100), (12, 120), (13, 90))
                for load, writes in (("ro", 0.0), ("rw", 4.0))
                for count in (1, 8, 64)
            },
            **{
                f"series06/res{place}/iostat.{load}.8.res": "avg-cpu:  %user\n" * 9
                for place in (11, 12)
                for load in ("ro", "rw")
            },
            "series06/res11/my.cnf": "[mysqld]\nquery_cache_size = 0\n",
            "series06/DESC": "11 ... MySQL\n12 ... MariaDB\n",
        },
        FolderKind.SUITE,
        ["11", "12", "13"],
        1.2,
        "tps",
    ),
    "directories that name products, settings and sizes, the threads named in two ways": (
        {
            f"raw/{place}/{name.format(count)}": old(level * count, count, count, writes=0.0)
            for place, level, name in (
                ("res.mysql57", 100, "res.{}.ro.txt"),
                ("res.mysql57.AHI0", 110, "res.thr{}.ro.txt"),
                ("res.ps57.AHI0.tp96", 95, "res.thr{}.ro.txt"),
            )
            for count in (1, 10, 100)
        },
        FolderKind.ALTERNATIVES,
        ["res.mysql57", "res.mysql57.AHI0", "res.ps57.AHI0.tp96"],
        1.1,
        "tps",
    ),
    "a directory for each character set, two lengths of ranges": (
        {
            f"{charset}/res01/sysbench.ro.{length}.{count}.res": old(level * count, count + level, count, writes=0.0)
            for charset, level in (("latin1", 120), ("utf8-general", 110), ("utf8mb4-unicode", 100))
            for length in ("short", "long")
            for count in (1, 16)
        },
        FolderKind.ALTERNATIVES,
        ["latin1", "utf8-general", "utf8mb4-unicode"],
        110 / 120,
        "tps",
    ),
    "positions in names: product, version, load, threads, run": (
        {
            f"{product}_{version}_oltp_read_write_{count}_{run}.log": log(level * count, count + run + level, count)
            for product, version, level in (("mariadb", "11.4", 100), ("mysql", "8.4", 110))
            for count in (16, 64)
            for run in (1, 2, 3)
        },
        FolderKind.ALTERNATIVES,
        ["mariadb_11.4", "mysql_8.4"],
        1.1,
        "tps",
    ),
    "two files that differ by a word": (
        {"sysbench_output_doublewrite.txt": log(1000, 1), "sysbench_output_nodoublewrite.txt": log(1200, 2)},
        FolderKind.ALTERNATIVES,
        ["sysbench_output_doublewrite", "sysbench_output_nodoublewrite"],
        1.2,
        "tps",
    ),
    "the end of k6 alone": (
        {"90VUS-with-proxy.txt": k6_end(393), "90VUS-without-proxy.txt": k6_end(432)},
        FolderKind.ALTERNATIVES,
        ["with", "without"],
        1.1,
        "iterations/s",
    ),
    "mysqlslap with two numbers of clients": (
        {
            f"pool-{pool}-c{clients}-{run}.txt": slap((10 + run / 10) / speed, clients, 100)
            for pool, speed in (("128M", 1.0), ("512M", 1.25))
            for clients in (10, 50)
            for run in (1, 2, 3)
        },
        FolderKind.ALTERNATIVES,
        ["128M", "512M"],
        1.25,
        "qps",
    ),
    "mysqlslap with two engines in one file, and without a number of queries": (
        {"slap.txt": "".join(slap(seconds, 100, 0, engine) for engine, seconds in (("innodb", 2.0), ("myisam", 1.6)))},
        FolderKind.ALTERNATIVES,
        ["innodb", "myisam"],
        1.25,
        "rounds/s",
    ),
    "BenchmarkSQL": (
        {
            f"{build}/run_{run}.log": benchmark_sql(rate + run)
            for build, rate in (("mysql-8.0.36", 70_000), ("mysql-8.4.0", 77_000))
            for run in (1, 2)
        },
        FolderKind.ALTERNATIVES,
        ["8.0.36", "8.4.0"],
        1.1,
        "tpmC",
    ),
    "what BenchBase prints at its end": (
        {f"bpi{count}.run{run}.out": bench_base(rate + run) for count, rate in ((1, 400), (8, 440)) for run in (1, 2)},
        FolderKind.ALTERNATIVES,
        ["1", "8"],
        1.1,
        "tps",
    ),
    "reports of HammerDB's jobs": (
        {
            f"{build}/6A{nopm + job}03.json": hammerdb_report(nopm + job, f"6A{nopm + job}03")
            for build, nopm in (("mariadb-11.8", 300_000), ("mysql-9.7", 330_000))
            for job in (23, 33)
        },
        FolderKind.ALTERNATIVES,
        ["mariadb-11.8", "mysql-9.7"],
        1.1,
        "NOPM",
    ),
    "tests of the CPU and of files beside": (
        {
            "cpu.log": CPU,
            "fileio.log": CPU.replace("CPU speed", "File operations"),
            "oltp-a.log": log(1000, 1),
            "oltp-b.log": log(1100, 2),
        },
        FolderKind.ALTERNATIVES,
        ["a", "b"],
        1.1,
        "tps",
    ),
    "a table made of each log beside it": (
        {
            name: text
            for size, level in ((4000, 1000), (8000, 1300))
            for name, text in (
                (f"au.sz{size}.thr100.oltp.txt", log(level, size, 100)),
                (f"au.sz{size}.thr100.oltp.txt.csv", "".join(f"{second},{level}.5,4.4\n" for second in range(1, 61))),
            )
        },
        FolderKind.ALTERNATIVES,
        ["4000", "8000"],
        1.3,
        "tps",
    ),
    "a table of results, a line for each run": (
        {
            "results/summary.csv": "server,workload,threads,run,tps,qps,p95_ms,notes\n"
            + "".join(
                f"mysql-{build},oltp_read_write,{count},{run},{level * count + run}.5,{20 * level * count},{count}.1,ok\n"
                for build, level in (("8.0.36", 100), ("8.4.0", 110))
                for count in (16, 64)
                for run in (1, 2, 3)
            )
        },
        FolderKind.ALTERNATIVES,
        ["8.0.36", "8.4.0"],
        1.1,
        "tps",
    ),
    "a table of results with a time of day and a variable": (
        {
            "bench.csv": "timestamp;innodb_io_capacity;workload;tps;avg_latency_ms\n"
            + "".join(
                f"2030-01-01 1{run}:{20 * place}:00;{capacity};{load};{level + run}.5;3.1\n"
                for place, (capacity, level) in enumerate(((200, 1000), (2000, 1200)))
                for load in ("oltp_read_only", "oltp_write_only")
                for run in (1, 2)
            )
        },
        FolderKind.SUITE,
        ["200", "2000"],
        1.2,
        "tps",
    ),
    "a table of results beside the logs that it sums up": (
        {
            **{f"pool{size}-r{run}.log": log(level, size + run) for size, level in ((8, 1000), (16, 1200)) for run in (1, 2)},
            "results.csv": "pool,run,tps\n8,1,999\n8,2,1001\n16,1,1201\n16,2,1199\n",
        },
        FolderKind.ALTERNATIVES,
        ["8", "16"],
        1.2,
        "tps",
    ),
    "nights of a pipeline, a directory for each": (
        {
            f"2030-01-0{day}/{build}/oltp_read_write.log": log(level, day + level)
            for day in (1, 2, 3)
            for build, level in (("main", 1000), ("candidate", 1080))
        },
        FolderKind.ALTERNATIVES,
        ["candidate", "main"],
        1 / 1.08,
        "tps",
    ),
}


@pytest.mark.parametrize("name", LAYOUTS)
def test_a_layout_is_taken_for_what_it_is(tmp_path, name):
    logs, kind, candidates, ratio, unit = LAYOUTS[name]
    found = judged(write(tmp_path / "a", **logs))
    assert (found.kind, found.unit) == (kind, unit)
    compared = found.suite[0].candidates if kind is FolderKind.SUITE else found.candidates
    assert [one.name for one in compared] == candidates
    assert compared[1].ratio.mean == pytest.approx(ratio, abs=0.03)
    used = (FileStatus.USED, FileStatus.SUMMARY_ONLY)
    beside = ("cpu.log", "fileio.log", "results.csv", ".txt.csv", "DESC", ".cnf")
    assert not any(entry.status in used for entry in found.files if entry.file.endswith(beside) or "iostat" in entry.file)
    assert not any(entry.status is FileStatus.FAILED for entry in found.files)


def test_numbers_at_the_end_of_names_that_each_cell_has_are_repeats(tmp_path):
    logs, *_ = LAYOUTS["positions in names: product, version, load, threads, run"]
    found = judged(write(tmp_path / "a", **logs))
    assert [list(run.conditions.values()) for run in found.runs if "_16_" in run.file] == [["16"]] * 6
    assert "1, 2 and 3 as the count of runs" in found.taken_as[1]
    assert found.candidates[1].ratio.low is not None


@pytest.mark.parametrize("numbers", [(1, 2), (1, 2, 4), (2, 3, 4)])
def test_numbers_that_may_be_settings_are_no_repeats(tmp_path, numbers):
    logs = {
        f"{number}_{name}.log": log(level, number + level)
        for name, level in (("old", 900), ("new", 1000))
        for number in numbers
    }
    found = judged(write(tmp_path / "a", **logs))
    assert {one.runs // one.cells for one in found.candidates if one.cells} == {1}


def test_a_run_that_only_fails_is_not_measured_by_its_statements(tmp_path):
    text = old(1000, 1, 16, transactions=False).replace("(95%)\n", "(95%), errors: 5.00, reconnects:  0.00\n")
    (run,) = load([write(tmp_path / "a", a__log=text)]).runs
    assert (run.log.unit, run.log.tps.max()) == ("tps", 0)


def test_tpcc_mysql_names_its_transactions_in_newer_versions(tmp_path):
    head = "***************************************\noption c with value '100'\n\nMEASURING START.\n\n"
    lines = (
        f"{at:4d}, trx: {380 + at}, 95%: 167.168, 99%: 191.273, max_rt: 245.694, 388|163.449, 40|136.786, 36|829.054\n"
        for at in range(1, 61)
    )
    (run,) = load([write(tmp_path / "a", a__txt=head + "".join(lines) + "\n<TpmC>\n                 81439.164 TpmC\n")]).runs
    assert run.log.tps.tolist() == [380 + at for at in range(1, 61)]
    assert run.log.latency_ms[0] == 167.168


def test_the_query_cache_is_no_load(tmp_path):
    logs = {
        f"{name}/sysbench.{count}.res": log(1000, count + len(name), count)
        for name in ("31-query-cache-off", "32-plain")
        for count in (8, 32)
    }
    assert judged(write(tmp_path / "a", **logs)).kind is FolderKind.ALTERNATIVES


def test_a_table_of_results_of_one_server_is_a_scaling(tmp_path):
    rows = "".join(f"{count},{round(500 * count**0.7)},{count}\n" for count in (1, 4, 16, 64))
    found = judged(write(tmp_path / "a", results__csv=f"threads,tps,p95\n{rows}"))
    assert found.kind is FolderKind.SCALING
    assert [point.threads for point in found.scaling[0].points] == [1, 4, 16, 64]


def test_lines_of_a_table_that_are_alike_are_runs_where_they_say_what_tells_them_apart(tmp_path):
    rows = "".join(f"{name},{run},1000\n" for name in ("old", "new") for run in (1, 2, 3))
    found = judged(write(tmp_path / "a", results__csv=f"config,run,tps\n{rows}"))
    assert [one.runs for one in found.candidates] == [3, 3]
