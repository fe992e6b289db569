"""Logs of programs other than sysbench, in the lines that they print."""

import io
import tarfile
import zipfile

import pytest

from dialin.logs.csv_tables import columns_of
from dialin.logs.log_folder import load
from dialin.logs.other_programs import first_lines, read_other
from dialin.logs.run_figures import sum_up_run
from dialin.model.analysis import FileStatus
from dialin.readers.log_text import files
from fixtures.sysbench_logs import human, series

SECONDS = range(1, 31)


def runs_of(tmp_path, lines):
    path = tmp_path / "run.log"
    path.write_text("\n".join(lines) + "\n")
    ((_, opened),) = files(path)
    return list(read_other(opened, str(path)))


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


def test_single_transactions_of_benchbase_become_seconds_with_their_percentiles(tmp_path):
    head = "Transaction Type Index,Transaction Name,Start Time (microseconds),Latency (microseconds),Worker Id (start number)"
    rows = [f"1,NewOrder,{1_700_000_000 + at / 100:.6f},{1000 * (1 + at % 100)},{at % 4}" for at in range(3000)]
    (run,) = runs_of(tmp_path, [head, *rows])
    assert (run.threads, run.interval, run.unit, len(run.tps)) == (4, 1, "tps", 30)
    assert run.tps[5:] == pytest.approx(100, abs=1)
    assert run.percentile == 95
    assert run.latency_ms[10] == pytest.approx(96, abs=2)
    assert run.other_latencies[50][10] == pytest.approx(51, abs=2)
    assert run.other_latencies[99][10] == pytest.approx(100, abs=2)


def test_the_requests_of_jmeter_become_seconds_and_failed_ones_are_errors(tmp_path):
    head = "timeStamp,elapsed,label,responseCode,responseMessage,threadName,success,bytes,grpThreads,allThreads"
    rows = [f"{1_700_000_000_000 + 20 * at},5,q,200,OK,t-{at % 8},{str(at % 10 != 0).lower()},9,8,8" for at in range(2000)]
    (run,) = runs_of(tmp_path, [head, *rows])
    assert (run.threads, run.unit) == (8, "requests/s")
    assert run.tps[1:] == pytest.approx(45)
    assert run.errors[1:] == pytest.approx(5)


@pytest.mark.parametrize(("head", "unit"), [("time,nopm,tpm", "NOPM"), ("timestamp,tpm", "TPM"), ("time;tpm", None)])
def test_a_csv_of_tpm_or_nopm_keeps_its_unit(tmp_path, head, unit):
    lines = [head, *(f"{1_741_269_600 + at},{9000 + at}" + (",20000" if "nopm" in head else "") for at in SECONDS)]
    assert [(run.unit, run.tps[0]) for run in runs_of(tmp_path, lines)] == ([(unit, 9001)] if unit else [])


def test_the_percentiles_in_a_csv_are_all_read(tmp_path):
    head = "Time (seconds),Throughput (requests/second),Median Latency (microseconds),95th Percentile Latency (microseconds),"
    head += "99th Percentile Latency (microseconds),Maximum Latency (microseconds)"
    (run,) = runs_of(tmp_path, [head, *(f"{at},1000,3000,9000,12000,90000" for at in SECONDS)])
    assert (run.percentile, run.latency_ms[0]) == (95, 9)
    assert {one: values[0] for one, values in run.other_latencies.items()} == {50: 3, 99: 12}


@pytest.mark.parametrize("form", ["zip", "tar", "tar.gz"])
def test_logs_of_any_program_are_read_in_archives_and_hidden_files_are_not(tmp_path, form):
    texts = {
        "./runs/old/a.log": "\n".join(line for second in SECONDS for line in go_tpc(second)),
        "runs/new/b.csv": "time,tps\n" + "".join(f"{at},100\n" for at in SECONDS),
        "runs/new/c.log": human(series(500)),
        "runs/._c.log": human(series(900, seed=2)),
        "runs/notes.csv": "a,b,c\n1,2,3\n4,5,6\n",
    }
    path = tmp_path / f"results.{form}"
    if form == "zip":
        with zipfile.ZipFile(path, "w") as archive:
            for name, text in texts.items():
                archive.writestr(name, text)
    else:
        with tarfile.open(path, "w:gz" if form == "tar.gz" else "w") as archive:
            for name, text in texts.items():
                (member := tarfile.TarInfo(name)).size = len(text)
                archive.addfile(member, io.BytesIO(text.encode()))
    folder = load([path])
    assert sorted(run.name.rpartition("/")[2] for run in folder.runs) == ["a.log", "b.csv", "c.log"]
    (other,) = [entry for entry in folder.files if entry.status is FileStatus.NO_LOG]
    assert "a CSV with a, b, c" in other.detail


def test_a_log_in_utf_16_is_read(tmp_path):
    (tmp_path / "run.txt").write_bytes(human(series(500)).replace("\n", "\r\n").encode("utf-16"))
    (run,) = load([tmp_path]).runs
    assert (run.log.tps.size, run.log.threads, run.log.summary is not None) == (200, 16, True)


def test_a_histogram_of_sysbench_gives_the_percentiles_of_a_run(tmp_path):
    histogram = "Latency histogram (values are in milliseconds)\n       value  ------------- distribution ------------- count\n"
    histogram += "".join(f"     {value}.000 |{'*' * 10:40s} {count}\n" for value, count in ((1, 50), (5, 45), (20, 4), (80, 1)))
    head, _, tail = human(series(500)).partition("SQL statistics")
    (tmp_path / "run.txt").write_text(f"{head}{histogram}SQL statistics{tail}")
    ((run,),) = [load([tmp_path]).runs]
    figures = sum_up_run(run, "run", "run", {}, None).run.latencies_ms
    assert (figures["p50"], figures["p99"]) == (1, 20)
    assert figures["p95"] == pytest.approx(12.3), "that of the lines, without the warm-up"


@pytest.mark.parametrize(
    "lines", [[""], ["a text", "of words"], ["time,tps"], ["a,b,c", "1,2,3"], ["\0\0"], ["x" * 200_000] * 3]
)
def test_what_no_program_wrote_is_no_run(tmp_path, lines):
    assert runs_of(tmp_path, lines) == []
    ((_, opened),) = files(tmp_path / "run.log")
    assert columns_of(first_lines(opened)) == []
