"""Logs of programs other than sysbench, in the lines that they print."""

import gzip
import io
import random
import tarfile
import zipfile

import numpy as np
import pytest

from dialin.errors import UserError
from dialin.logs import other_programs
from dialin.logs.csv_tables import CsvColumns, columns_of
from dialin.logs.log_folder import load, natural_order
from dialin.logs.other_programs import first_lines, read_other
from dialin.logs.run_figures import sum_up_run
from dialin.model.analysis import FileStatus
from dialin.readers.log_text import files
from dialin.workloads.command.load_file import Output
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
    assert run.header["program"] == "go-tpc TPC-C"
    assert set(run.errors) == {0.3}


@pytest.mark.parametrize("pair", [("TPS: 100", "ERR: 2"), ("ERR: 2", "TPS: 100")])
@pytest.mark.parametrize(("figure", "tps"), [("rate", 100), ("count", 10)])
def test_errors_on_lines_of_their_own_are_no_intervals(pair, figure, tps):
    output = Output(lines=rf"^(?:TPS: (?P<{figure}>\d+)|ERR: (?P<errors>\d+))")
    (run,) = other_programs._of_rows([line for _ in SECONDS for line in pair], output, None)
    assert (run.tps.tolist(), run.errors.tolist()) == ([tps] * 30, [0.2] * 30)


def test_failed_requests_of_locust_are_errors_and_no_throughput(tmp_path):
    head = "Timestamp,User Count,Type,Name,Requests/s,Failures/s,50%,90%,95%,99%,Total Request Count,Total Failure Count,"
    rows = [f"{1_790_000_000 + at},4,GET,look,3,0,40,90,95,99,{100 * at},{10 * at},44.5" for at in SECONDS]
    (run,) = runs_of(tmp_path, [f"{head}Total Average Response Time", *rows])
    assert (set(run.tps), set(run.errors)) == ({90}, {10})


def test_the_totals_of_ycsb_become_rates(tmp_path):
    lines = [f"2026-01-01 00:00:{at:02}:000 {at} sec: {at * 500} operations; 500 current ops/sec" for at in SECONDS]
    (run,) = runs_of(tmp_path, lines)
    assert (len(run.tps), run.unit) == (29, "operations/s")
    assert set(run.tps) == {500}


def test_what_a_program_reports_at_its_end_is_no_dip(tmp_path):
    lines = [f"running (0d00h{at // 60:02}m{at % 60:04.1f}s), 4/4 VUs, {at * 40} complete and 0 interrupted" for at in SECONDS]
    after = int(SECONDS[-1])
    lines.append(f"running (0d00h{after // 60:02}m{after % 60:02}.2s), 0/4 VUs, {after * 40 + 1} complete and 0 interrupted")
    (run,) = runs_of(tmp_path, lines)
    assert set(run.tps.round(6)) == {40}


def test_totals_that_are_printed_twice_at_the_end_are_no_zero(tmp_path):
    lines = [f"2026-01-01 00:00:{at:02}:000 {at} sec: {at * 500} operations; 500 current ops/sec" for at in SECONDS]
    (run,) = runs_of(tmp_path, [*lines, lines[-1]])
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


def test_numbers_with_a_decimal_comma_are_read_where_semicolons_divide_columns(tmp_path):
    (run,) = runs_of(tmp_path, ["time;tps", *(f"{at},0;812,5" for at in SECONDS)])
    assert (run.times[-1], set(run.tps)) == (30, {812.5})


def test_a_table_without_names_and_with_decimal_commas_is_divided_at_its_semicolons(tmp_path):
    path = tmp_path / "run.csv"
    path.write_text("".join(f"{at},0;812,5\n" for at in SECONDS))
    ((_, opened),) = files(path)
    (run,) = read_other(opened, str(path), CsvColumns("1", "2"))
    assert (run.times[-1], set(run.tps)) == (30, {812.5})


@pytest.mark.parametrize("step", [1, 5, 60])
def test_intervals_of_a_short_run_are_not_its_repeats(tmp_path, step):
    """A table of results has a line for each run; these lines are even in time, and so are intervals of two runs."""
    lines = [f"{step * at},{level + at % 3},16,{name}" for name, level in (("a", 1000), ("b", 1200)) for at in range(1, 13)]
    assert [run.times.size for run in runs_of(tmp_path, ["time,tps,threads,name", *lines])] == [12, 12]


@pytest.mark.parametrize("times", [[60, 60, 60], [61.2, 60.1, 60.4], [60.01, 60.02, 60.09], [300, 605, 913]])
def test_lines_that_each_took_about_as_long_are_runs(tmp_path, times):
    lines = [f"{time},{level},16,{name}" for name, level in (("a", 1000), ("b", 1200)) for time in times]
    assert [run.times.size for run in runs_of(tmp_path, ["time,tps,threads,server", *lines])] == [0] * 6


@pytest.mark.parametrize("per", [1, 10**3, 10**6, 10**9])
def test_dates_in_a_table_are_read_in_any_unit(tmp_path, per):
    (run,) = runs_of(tmp_path, ["timestamp,tps", *(f"{(1_793_000_000 + at) * per},812" for at in SECONDS)])
    assert (run.interval, run.times.size) == (1, 30)


@pytest.mark.parametrize(
    ("text", "program", "unit", "rate"),
    [
        ("[OVERALL], RunTime(ms), 60012\n[OVERALL], Throughput(ops/sec), 8301.5", "YCSB", "operations/s", 8301.5),
        ("[Summary] PAYMENT - Takes(s): 60.0, Count: 9, TPM: 9.0\ntpmC: 912.5, tpmTotal: 2030.1", "go-tpc", "tpmC", 912.5),
        ("<TpmC>\n                 1234.567 TpmC", "tpcc-mysql", "tpmC", 1234.567),
        ('{\n  "scalefactor": "1",\n  "Throughput (requests/second)": 812.25,\n  "x": 9\n}', "BenchBase", "tps", 812.25),
    ],
)
def test_the_result_of_a_program_is_read_where_nothing_else_is_in_the_file(tmp_path, text, program, unit, rate):
    (run,) = runs_of(tmp_path, text.splitlines())
    assert (run.header["program"], run.unit, run.summary.tps) == (program, unit, rate)


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


@pytest.mark.parametrize(
    ("head", "unit"),
    [("time,nopm,tpm", "NOPM"), ("timestamp,tpm", "TPM"), ("time;tpm", "TPM"), ("time\ttps", "tps"), ("time|tpm", None)],
)
def test_a_csv_of_tpm_or_nopm_keeps_its_unit(tmp_path, head, unit):
    divider = next((one for one in ";\t|" if one in head), ",")
    lines = [
        head,
        *(divider.join(map(str, (1_741_269_600 + at, 9000 + at, 20_000)[: head.count(divider) + 1])) for at in SECONDS),
    ]
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
def test_text_that_no_program_wrote_is_no_run(tmp_path, lines):
    assert runs_of(tmp_path, lines) == []
    ((_, opened),) = files(tmp_path / "run.log")
    assert columns_of(first_lines(opened)) == []


def test_a_percentile_that_is_not_given_drops_no_row_and_a_throughput_that_is_no_number_does(tmp_path):
    gaps = {3: "0,", 5: "0,-", 7: "0,NaN", 9: "nan,4"}
    run = runs_of(tmp_path, ["time,tps,p95", *(f"{second},{gaps.get(second, '100,9')}" for second in range(1, 41))])[0]
    assert (run.times.size, run.percentile) == (39, 95)
    assert run.tps.min() == 0
    assert run.latency_ms.tolist()[:4] == [9, 9, 0, 9]
    (run,) = runs_of(tmp_path, ["time,tps,p95", *(f"{second},100,{'' if second == 3 else 9}" for second in range(1, 41))])
    assert (run.times.size, run.percentile) == (40, None), "a latency that is not known is not made up"


@pytest.mark.parametrize("is_packed", [False, True])
def test_only_a_csv_in_the_same_directory_is_samples_of_hammerdb(tmp_path, is_packed):
    table = "time,tps\n" + "".join(f"{second},{100 + second % 7}\n" for second in range(40))
    members = {
        "a/result.log": "Vuser 1:TEST RESULT : System achieved 100 NOPM from 230 MySQL TPM\n",
        "a/samples.csv": table,
        "b/own.csv": table.replace("0\n", "1\n"),
        "a/sysbench.log": human(series(1000)),
    }
    if is_packed:
        with zipfile.ZipFile(tmp_path / "all.zip", "w") as archive:
            for name, content in members.items():
                archive.writestr(name, content)
    for name, content in {} if is_packed else members.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(content)
    beside = [entry.file for entry in load([tmp_path]).files if entry.status is FileStatus.BESIDE]
    assert [name.removeprefix("all.zip/") for name in beside] == ["a/samples.csv"]


def test_a_member_of_a_tar_in_utf_16_is_read(tmp_path):
    content = human(series(1000)).encode("utf-16")
    with tarfile.open(tmp_path / "a.tar", "w") as archive:
        member = tarfile.TarInfo("a.log")
        member.size = len(content)
        archive.addfile(member, io.BytesIO(content))
    (run,) = load([tmp_path]).runs
    assert run.log.times.size == len(series(1000))


def test_a_text_in_utf_16_is_decoded_in_pieces_and_a_larger_one_than_any_log_is_refused(tmp_path, monkeypatch):
    from dialin.readers import log_text

    (tmp_path / "a.log").write_bytes(("ä" * 300_000).encode("utf-16"))
    ((_, opened),) = files(tmp_path / "a.log")
    with opened() as stream:
        assert stream.read().decode() == "ä" * 300_000
    monkeypatch.setattr(log_text, "LARGEST", 200_000)
    (tmp_path / "b.log").write_text(human(series(1000)))
    assert [entry.status for entry in load([tmp_path]).files if entry.file == "a.log"] == [FileStatus.TOO_LARGE]


def test_lines_are_cut_and_binaries_have_none(tmp_path):
    (tmp_path / "long").write_text("x" * 200_000)
    (tmp_path / "binary").write_bytes(b"\x01\x02" * 5000)
    ((_, long),), ((_, binary),) = files(tmp_path / "long"), files(tmp_path / "binary")
    assert max(map(len, first_lines(long))) <= 64 * 1024
    assert first_lines(binary) == []


def test_a_packed_file_that_is_damaged_behind_its_start_is_unreadable(tmp_path):
    whole = gzip.compress(bytes(range(1, 32)) + random.Random(1).randbytes(200_000))
    (tmp_path / "torn.gz").write_bytes(whole[: len(whole) // 50])
    (tmp_path / "good.log").write_text(human(series(1000)))
    assert {entry.file: entry.status for entry in load([tmp_path]).files} == {
        "good.log": FileStatus.USED,
        "torn.gz": FileStatus.UNREADABLE,
    }


@pytest.mark.parametrize(("time", "is_left_out"), [("0", True), ("99999999999999", True), ("nan", False), ("1e300", False)])
def test_one_wrong_time_makes_no_run_of_decades(tmp_path, time, is_left_out):
    head = "timeStamp,elapsed,label,responseCode,responseMessage,threadName,success,bytes,grpThreads,allThreads"
    rows = [f"{1_700_000_000_000 + 20 * at},5,q,200,OK,t-1,true,9,8,8" for at in range(2000)]
    (tmp_path / "requests.csv").write_text("\n".join([head, *rows, rows[0].replace("1700000000000", time)]))
    (tmp_path / "sysbench.log").write_text(human(series(500)))
    folder = load([tmp_path])
    assert len(folder.runs) == 1 + (not is_left_out)
    odd = [entry.detail for entry in folder.files if entry.status is FileStatus.TOO_LARGE]
    assert odd == (["has times that are years apart. Remove the lines with a wrong time"] if is_left_out else [])


@pytest.mark.parametrize(
    "row", ["nan,1", "1,inf", "1e999,1", "1,1e300", "0001-01-01,1", "9999-12-31T23:59:59-23:00,1", "²,1", "1\r2,3"]
)
def test_a_row_that_is_none_leaves_the_others(tmp_path, row):
    (tmp_path / "run.csv").write_text("\n".join(["time,tps", *(f"{at},100" for at in SECONDS), row]), newline="")
    folder = load([tmp_path])
    assert [run.log.tps[0] for run in folder.runs][:1] == [100]
    assert all(np.isfinite(run.log.times).all() and np.isfinite(run.log.tps).all() for run in folder.runs)


@pytest.mark.parametrize("columns", [CsvColumns("²", "2"), CsvColumns("9" * 5000, "2"), CsvColumns("1", "0")])
def test_a_column_that_no_file_has_is_named(tmp_path, columns):
    (tmp_path / "run.csv").write_text("".join(f"{at},100\n" for at in SECONDS))
    with pytest.raises(UserError, match=r"has no column|no report"):
        load([tmp_path], columns)


def test_numbers_of_any_length_in_names_and_parameters_end_no_analysis(tmp_path):
    with tarfile.open(tmp_path / "logs.tar", "w") as archive:
        for name in ("threads_" + "9" * 5000, "threads_²", "r" + "1" * 5000):
            text = human(series(500)).encode()
            member = tarfile.TarInfo(f"{name}.log")
            member.size = len(text)
            archive.addfile(member, io.BytesIO(text))
    (tmp_path / "params.txt").write_text(f"virtual_users: ²\nthreads: {'9' * 5000}\nduration_seconds: {'9' * 5000}\n")
    runs = load([tmp_path]).runs
    assert len(runs) == 3
    assert natural_order("a" + "9" * 5000) > natural_order("a10") > natural_order("a9") > natural_order("a")
    assert natural_order("a007") == natural_order("a7")
