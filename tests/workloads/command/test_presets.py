"""The files that come with dialin read what their programs print; the lines are written anew in the form of each program."""

import pytest

from dialin.readers.load_rows import MEAN
from dialin.workloads.command import load_file
from dialin.workloads.command.intervals import Intervals
from dialin.workloads.command.preset_names import path_of, preset_names

GO_TPC = (
    "[Current] NEW_ORDER - Takes(s): 1.0, Count: 58, TPM: 3504.5, Sum(ms): 2887.4, Avg(ms): 49.7, 50th(ms): 35.7, "
    "90th(ms): 104.9, 95th(ms): 130.0, 99th(ms): 142.6, 99.9th(ms): 151.0, Max(ms): 151.0"
)
LOCUST_HEAD = (
    "Timestamp,User Count,Type,Name,Requests/s,Failures/s,50%,66%,75%,80%,90%,95%,98%,99%,99.9%,99.99%,100%,"
    "Total Request Count,Total Failure Count,Total Median Response Time,Total Average Response Time,Total Min Response Time,"
    "Total Max Response Time,Total Average Content Size"
)
LINES = {
    "go-tpc:tpcc": ([GO_TPC], {"kind": "NEW_ORDER", "count": 58, 95: 130.0, MEAN: 49.7}),
    "go-tpc:ch": (
        [GO_TPC, "[Current] Q14    - Count: 2, Sum(ms): 61.0, Avg(ms): 30.5"],
        {"kind": "Q14", "count": 2, MEAN: 30.5, "seconds": None},
    ),
    "locust": (
        [LOCUST_HEAD, "1790000000,4,GET,look,3.1,0.2,40,50,60,70,90,95,98,110,120,120,120,31,2,40,44.5,8,120,15"],
        {"kind": "look", "time": 1790000000, "count": 29, "errors": 2, 95: 95, MEAN: 44.5},
    ),
    "ycsb": (
        ["2026-01-05 10:00:07:123 7 sec: 21000 operations; 3100.5 current ops/sec; [READ: Count=1500, Max=900, Min=80]"],
        {"time": 7, "count": 21000},
    ),
    "hammerdb:tprocc": (["31500 MySQL tpm"], {"rate": 31500}),
    "benchbase:tpcc": (["[INFO ] 10:00:07 [Thread-3] Throughput: 812.25 txn/sec"], {"rate": 812.25}),
    "sysbench-tpcc": (
        ["[ 3s ] thds: 4 tps: 91.0 qps: 2600.1 (r/w/o: 1200.0/1210.1/190.0) lat (ms,95%): 87.5 err/s 0.5 reconn/s: 0.00"],
        {"time": 3, "rate": 91, 95: 87.5, "errors": 0.5},
    ),
    "k6": (["running (0d00h01m02.0s), 04/04 VUs, 480 complete and 0 interrupted iterations"], {"time": 62, "count": 480}),
    "jmeter": (
        ["summary +   1200 in 00:00:10 =  120.0/s Avg:    81 Min:     7 Max:   410 Err:    30 (2.50%)"],
        {"count": 1170, "errors": 30, "seconds": 10, MEAN: 81},
    ),
}
OTHERS = {
    "go-tpc:tpcc": ["[Summary] PAYMENT - Takes(s): 60.0, Count: 900, TPM: 900.0", "tpmC: 900.0", "execute run failed, err ..."],
    "locust": [LOCUST_HEAD, LINES["locust"][0][1].replace("GET,look", ",Aggregated")],
    "hammerdb:tprocc": ["TEST RESULT : System achieved 13500 NOPM from 31500 MySQL TPM"],
    "jmeter": ["summary =   1200 in 00:00:10 =  120.0/s Avg:    81 Min:     7 Max:   410 Err:     0 (0.00%)"],
}


RUN = {"go-tpc:tpcc", "locust", "go-tpc:ch", "sysbench-tpcc"}
"""The files whose programs were run for real; tests_live/test_command.py runs the first two where they are installed."""


def test_every_file_has_lines_here_and_says_whether_its_program_was_run():
    assert set(LINES) == set(preset_names())
    for name in LINES:
        tested = load_file.read(path_of(name)).tested
        assert tested.startswith("Run for real: " if name in RUN else "Not run here; ")


@pytest.mark.parametrize(
    ("name", "lines", "rates"),
    [
        (
            "ycsb",
            [
                "2026-01-05 10:00:01:000 1 sec: 400 operations; 400 current ops/sec; est completion in 57 days",
                "2026-01-05 10:00:02:000 2 sec: 1000 operations; 600 current ops/sec; [READ: Count=310, Max=90, Min=8, Avg=20]",
                "2026-01-05 10:00:03:001 3 sec: 1500 operations; 500 current ops/sec; [UPDATE: Count=250, Max=95, Min=9]",
            ],
            [600, 500],
        ),
        (
            "k6",
            [
                f"running (0d00h00m{second:04.1f}s), 2/2 VUs, {40 * second} complete and 0 interrupted iterations"
                for second in (1, 2, 4)
            ],
            [40, 40],
        ),
        ("hammerdb:tprocc", ["0 MySQL tpm", "60000 MySQL tpm", "66000 MariaDB tpm"], [0, 1000, 1100]),
        (
            "benchbase:tpcc",
            ["[INFO ] 10:00:07 [Thread-3] Throughput: 812.25 txn/sec", "Starting", "Throughput: 8.0 txn/sec"],
            [812.25, 8],
        ),
        (
            "jmeter",
            [
                "summary +   1200 in 00:00:10 =  120.0/s Avg:    81 Min:     7 Max:   410 Err:     0 (0.00%) Active: 4",
                "summary =   1200 in 00:00:10 =  120.0/s Avg:    81 Min:     7 Max:   410 Err:     0 (0.00%)",
                "summary +    900 in 00:00:10 =   90.0/s Avg:    99 Min:     7 Max:   410 Err:     0 (0.00%) Active: 4",
            ],
            [120, 90],
        ),
    ],
)
def test_successive_lines_of_a_program_become_its_throughput(name, lines, rates):
    file = load_file.read(path_of(name))
    read, per = file.output.reader(), 60.0 if file.output.per == "minute" else 1.0
    intervals = Intervals(file.interval, file.percentile(95), cumulative=file.output.cumulative, per=per)
    intervals.begin(0.0)
    rows = [row for line in lines if (row := read(line)) is not None]
    arrivals = [place * file.interval if row.time is None else row.time for place, row in enumerate(rows, 1)]
    seconds = [intervals.second([row], arrived) for row, arrived in zip(rows, arrivals, strict=True)]
    assert [second.tps for second in seconds if second is not None] == pytest.approx(rates)


@pytest.mark.parametrize("name", LINES)
def test_a_line_of_the_program_becomes_its_figures(name):
    lines, expected = LINES[name]
    read = load_file.read(path_of(name)).output.reader()
    row = [read(line) for line in lines][-1]
    assert row is not None
    assert {key: row.latencies[key] if isinstance(key, int) else getattr(row, key) for key in expected} == expected


def test_sysbench_tpcc_is_read_though_its_older_versions_print_csv():
    read = load_file.read(path_of("sysbench-tpcc")).output.reader()
    row = read("3,4,91.00,2600.10,1200.00,1210.10,190.00,87.50,0.50,0.00")
    assert (row.time, row.rate, row.latencies, row.errors) == (3, 91, {95: 87.5}, 0.5)
    assert read("Initializing worker threads...") is None


def test_the_queries_of_go_tpc_stand_beside_its_transactions():
    read = load_file.read(path_of("go-tpc:ch")).output.reader()
    transaction, failed = read(GO_TPC), read("[Current] Q14_ERR - Count: 2, Sum(ms): 61.0, Avg(ms): 30.5")
    assert (transaction.kind, transaction.count, transaction.latencies[95]) == ("NEW_ORDER", 58, 130.0)
    assert (failed.kind, failed.errors, failed.has_only_errors) == ("Q14", 2, True)


def test_what_go_tpc_prints_of_failed_transactions_is_their_number():
    read = load_file.read(path_of("go-tpc:tpcc")).output.reader()
    row = read(GO_TPC.replace("NEW_ORDER", "NEW_ORDER_ERR").replace("Count: 58", "Count: 3"))
    assert (row.kind, row.errors, row.has_only_errors, row.seconds, row.latencies) == ("NEW_ORDER", 3, True, 1.0, {})


@pytest.mark.parametrize("name", OTHERS)
def test_totals_and_other_lines_are_left_out(name):
    read = load_file.read(path_of(name)).output.reader()
    assert [read(line) for line in OTHERS[name]] == [None] * len(OTHERS[name])
