"""Logs of programs other than sysbench, in the lines that they print."""

import pytest

from dialin.logs.other_programs import NO_COLUMNS, columns_of, read_other

SECONDS = range(1, 31)


def runs_of(tmp_path, lines):
    path = tmp_path / "run.log"
    path.write_text("\n".join(lines) + "\n")
    return [log for file in read_other(path, NO_COLUMNS) for log in file.logs]


def go_tpc(second):
    latencies = "Sum(ms): 2887.4, Avg(ms): 49.7, 50th(ms): 35.7, 90th(ms): 88.1, 95th(ms): 104.9, 99th(ms): 201.3"
    tail = f"{latencies}, 99.9th(ms): 201.3, Max(ms): 201.3"
    return [
        f"[Current] NEW_ORDER - Takes(s): 10.0, Count: {400 + second}, TPM: 3504.5, {tail}",
        f"[Current] PAYMENT - Takes(s): 10.0, Count: 500, TPM: 3504.5, {tail}",
        f"[Current] NEW_ORDER_ERR - Takes(s): 10.0, Count: 3, TPM: 3504.5, {tail}",
    ]


def test_the_kinds_of_go_tpc_add_up_over_the_time_that_its_lines_take(tmp_path):
    (run,) = runs_of(tmp_path, [line for second in SECONDS for line in go_tpc(second)])
    assert (run.times[-1], run.interval, run.percentile) == (300, 10, 95)
    assert run.tps[0] == pytest.approx(90.1)
    assert run.latency_ms[0] == 104.9


def test_the_totals_of_ycsb_become_rates(tmp_path):
    lines = [f"2026-01-01 00:00:{at:02}:000 {at} sec: {at * 500} operations; 500 current ops/sec" for at in SECONDS]
    (run,) = runs_of(tmp_path, lines)
    assert (len(run.tps), run.unit) == (29, "operations/s")
    assert set(run.tps) == {500}


def test_the_intervals_of_tpcc_mysql_are_rates(tmp_path):
    new = [f"  {10 * at}, 332, 95%: 106.395, 99%: 140.286, max_rt: 195.888, 332|105.5, 33|42.6" for at in SECONDS]
    (run,) = runs_of(tmp_path, new)
    assert (run.interval, run.percentile, run.tps[0], run.latency_ms[0]) == (10, 95, 33.2, 106.395)
    old = [f"  {10 * at}, 145(0):0.4|0.6, 146(0):0.2|0.3, 14(0):0.1|0.1" for at in SECONDS]
    (run,) = runs_of(tmp_path, old)
    assert set(run.tps) == {14.5}


def test_the_samples_of_benchbase_are_a_csv_of_usual_names(tmp_path):
    head = "Time (seconds),Throughput (requests/second),Average Latency (microseconds),Minimum Latency (microseconds)"
    (run,) = runs_of(tmp_path, [head, *(f"{5 * at},{1000 + at},3000,100" for at in SECONDS)])
    assert (run.interval, run.tps[0]) == (5, 1001)


def test_the_counter_of_hammerdb_is_per_minute(tmp_path):
    (run,) = runs_of(tmp_path, [f"{60_000 + at} MySQL tpm" for at in SECONDS])
    assert (run.interval, run.times[-1]) == (10, 300)
    assert run.tps[0] == pytest.approx(60_001 / 60)


def test_a_run_begins_where_time_goes_back(tmp_path):
    lines = ["time,tps", *(f"{at},100" for at in SECONDS), *(f"{at},200" for at in SECONDS)]
    assert [set(run.tps) for run in runs_of(tmp_path, lines)] == [{100}, {200}]


@pytest.mark.parametrize(
    "lines", [[""], ["a text", "of words"], ["time,tps"], ["a,b,c", "1,2,3"], ["\0\0"], ["x" * 200_000] * 3]
)
def test_what_no_program_wrote_is_no_run(tmp_path, lines):
    assert runs_of(tmp_path, lines) == []
    assert columns_of(tmp_path / "run.log") == []
