import bz2
import gzip
import io
import lzma
import tarfile
import zipfile

import numpy as np
import pytest
import zstandard
from hypothesis import given
from hypothesis import strategies as st

from dialin.readers import log_text, sysbench_log
from dialin.readers.log_text import DAMAGED, TooLargeError
from dialin.readers.sysbench_log import UnreadableLog, read
from dialin.workloads.sysbench import parse_line
from fixtures.sysbench_logs import csv, human, parse, series

TPS = [237.53, 300.0, 0.0]


def read_one(path):
    """The only file at a path, or why it could not be read."""
    (file,) = read(path)
    return file


@pytest.mark.parametrize("make", [human, csv])
def test_both_forms_report_the_same(make):
    (log,) = parse(make(TPS, threads=56, latency=442.73))
    assert log.tps.tolist() == TPS
    assert log.times.tolist() == [1, 2, 3]
    assert log.latency_ms.tolist() == [442.73] * 3
    assert log.errors.tolist() == [0.5] * 3
    assert (log.threads, log.interval, log.percentile, log.summary.transactions) == (56, 1, 95, 538)


def test_a_line_as_percona_publishes_it_is_read():
    (log,) = parse("1,56,237.53,7323.89,3304.66,3322.47,696.76,442.73,0.25,0.00\n")
    assert (log.tps[0], log.latency_ms[0], log.errors[0], log.threads) == (237.53, 442.73, 0.25, 56)
    assert (log.percentile, log.summary) == (None, None)


def test_the_line_that_is_read_while_a_trial_runs_is_the_line_of_a_log():
    text = human(TPS, whole=False)
    assert [parse_line(line).tps for line in text.splitlines()] == TPS == parse(text)[0].tps.tolist()


def test_other_intervals_are_understood_from_the_time_column():
    (log,) = parse(csv(TPS, interval=10))
    assert log.interval == 10


def test_line_ends_of_windows_and_lines_of_other_kinds_change_nothing():
    text = human(TPS).replace("\n", "\r\n").replace("[ 2s ]", "FATAL: 1,2,3\r\n2020-08-21T06:15 [ 2s ]")
    assert parse(text)[0].tps.tolist() == TPS
    assert parse(csv(TPS).replace("\n", "\r\n"))[0].tps.tolist() == TPS


def test_runs_that_follow_each_other_in_one_file_are_reported_apart():
    first, second = parse(csv([1, 2, 3], threads=8) + csv([4, 5], threads=16))
    assert (first.tps.tolist(), first.threads, first.summary.transactions) == ([1, 2, 3], 8, 6)
    assert (second.tps.tolist(), second.threads, second.summary.transactions) == ([4, 5], 16, 9)


def test_a_summary_is_that_of_the_run_before_it():
    logs = parse(csv([1, 2, 3]) + csv([4, 5], whole=False))
    assert [log.summary and log.summary.transactions for log in logs] == [6, None]


@pytest.mark.parametrize(
    "text", ["", "a,b,c", "1,2,3", "Threads started!\n", "1,56,x,1,1,1,1,1,1,1\n", "[ 1s ] thds: 1 tps: 1.2.3"]
)
def test_text_that_is_no_log_holds_no_run(text):
    assert parse(text) == ()


@given(st.text(alphabet="[ ]s0123456789.,:thdpqrwolaicenv()/%\n", max_size=300))
def test_no_text_is_too_odd(text):
    for log in parse(text):
        assert np.isfinite(log.tps).all()


def test_gzip_is_known_by_its_first_bytes_not_by_its_name(tmp_path):
    text = csv(TPS)
    (tmp_path / "packed.txt").write_bytes(gzip.compress(text.encode()))
    (tmp_path / "plain.gz").write_text(text)
    packed, plain = read_one(tmp_path / "packed.txt"), read_one(tmp_path / "plain.gz")
    assert packed.digest == plain.digest
    assert packed.logs[0].tps.tolist() == plain.logs[0].tps.tolist() == TPS


def test_a_log_that_is_cut_short_is_said_so(tmp_path):
    path = tmp_path / "log.gz"
    path.write_bytes(gzip.compress(csv(series()).encode())[:-100])
    assert isinstance(read_one(path).error, EOFError)
    path.write_bytes(b"\x1f\x8bnothing")
    assert isinstance(read_one(path).error, DAMAGED)


def test_files_larger_than_any_log_are_not_unpacked(tmp_path, monkeypatch):
    monkeypatch.setattr(log_text, "LARGEST", 1024**2)
    path = tmp_path / "bomb.gz"
    path.write_bytes(gzip.compress(b"0" * 2 * 1024**2))
    error = read_one(path).error
    assert isinstance(error, TooLargeError)
    assert "larger than 1 MiB" in error.what


def test_a_file_that_may_not_be_read_is_one_line(tmp_path):
    assert read_one(tmp_path / "none").error.strerror == "No such file or directory"


def test_the_list_of_an_archive_is_read_once_however_many_files_it_has(tmp_path, monkeypatch):
    path = tmp_path / "all.zip"
    with zipfile.ZipFile(path, "w") as archive:
        for number in range(300):
            archive.writestr(f"{number}.log", csv([1.0 + number, 2.0, 3.0]))
    lists, real = [], zipfile.ZipFile._RealGetContents
    monkeypatch.setattr(zipfile.ZipFile, "_RealGetContents", lambda archive: (lists.append(archive), real(archive)))
    logs = list(read(path))
    assert [file.logs[0].tps[0] for file in logs] == [1.0 + number for number in range(300)]
    assert len(lists) == 1


def test_a_damaged_file_of_an_archive_leaves_the_others(tmp_path):
    path = tmp_path / "all.zip"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_STORED) as archive:
        for name in ("a.log", "b.log", "c.log"):
            archive.writestr(name, csv(TPS) + name)
    path.write_bytes(path.read_bytes().replace(b"b.log", b"B.log", 1).replace(csv(TPS).encode() + b"B.log", b"x" * 10, 1))
    with zipfile.ZipFile(path) as archive:
        offset = archive.infolist()[1].header_offset
    content = bytearray(path.read_bytes())
    content[offset + 60 : offset + 70] = b"\1" * 10
    path.write_bytes(content)
    files = list(read(path))
    assert [file.name for file in files] == ["a.log", "b.log", "c.log"]
    assert [isinstance(file, UnreadableLog) for file in files] == [False, True, False]


LINES = human([float(number) for number in range(1, 41)], whole=False).encode().splitlines(keepends=True)


@pytest.mark.parametrize("chunk", [64, 4096, 1024**2])
@pytest.mark.parametrize(
    "text",
    [
        b"".join(LINES[:20]) + b"\0" * 5000 + LINES[20] + b"".join(LINES[21:]),
        b"".join(LINES[:20]) + LINES[20][:30] + b"\0" * 5000 + LINES[20][30:] + b"".join(LINES[21:]),
        b"\0" * 5000 + LINES[20] + b"".join(LINES[:20]) + b"".join(LINES[21:]),
    ],
    ids=["between lines", "within a line", "at the start"],
)
def test_lines_with_the_zeros_of_a_power_loss_are_skipped_and_counted(tmp_path, text, chunk, monkeypatch):
    if text.startswith(b"\0") and chunk < 5000:
        pytest.skip("a file that begins with nothing but zeros is no log")
    monkeypatch.setattr(sysbench_log, "_CHUNK", chunk)
    (tmp_path / "a.log").write_bytes(text)
    file = read_one(tmp_path / "a.log")
    assert file.zeros == 5000
    assert file.logs[0].tps.tolist() == [float(number) for number in range(1, 41) if number != 21]


@pytest.mark.parametrize("start", [b"\x7fELF\2\1\1\0", b"\0" * 100, bytes(range(256))])
def test_a_binary_file_is_no_log_and_only_its_start_is_read(tmp_path, start, monkeypatch):
    monkeypatch.setattr(sysbench_log, "_CHUNK", 4096)
    (tmp_path / "a.log").write_bytes(start.ljust(4096, b"\0") + human(TPS).encode())
    assert read_one(tmp_path / "a.log").logs == ()


@pytest.mark.parametrize(
    ("line", "errors"),
    [
        ("[  10s] threads: 32, tps: 957.08, reads/s: 13434.57, writes/s: 3828.53, response time: 57.02ms (99%)", 0),
        (
            "[ 10s] threads: 32, tps: 957.08, reads: 1.00, writes: 2.00, response time: 57.02ms (99%), "
            "errors: 0.25, reconnects:  0.00",
            0.25,
        ),
        ("[  10s] threads: 32, tps: 957.08, reads/s: 13434.57, writes/s: 3828.53 response time: 57.02ms (99%)", 0),
        (
            "[  10s] threads: 32, tps: 957.08, reads: 1.00, writes: 2.00, response time: 57020.00us (99%), errors: 0.25, "
            "reconnects:  0.00",
            0.25,
        ),
        ("[  10s] threads: 32, tps: 957.08, reads/s: 13434.57, writes/s: 3828.53, response time: 0.05702s (99%)", 0),
    ],
)
def test_lines_of_sysbench_0_5_are_read(line, errors):
    (log,) = parse(line + "\n")
    assert (log.times[0], log.threads, log.tps[0], log.percentile) == (10, 32, 957.08, 99)
    assert log.latency_ms[0] == pytest.approx(57.02)
    assert log.errors[0] == errors


def test_a_log_that_is_cut_anywhere_while_it_is_streamed_is_the_same(tmp_path, monkeypatch):
    (tmp_path / "a.log").write_text(human(series()))
    whole = read_one(tmp_path / "a.log")
    monkeypatch.setattr(sysbench_log, "_CHUNK", 97)
    streamed = read_one(tmp_path / "a.log")
    assert streamed.digest == whole.digest
    assert streamed.logs[0].tps.tolist() == whole.logs[0].tps.tolist()
    assert streamed.logs[0].summary == whole.logs[0].summary


def test_the_command_before_a_run_says_how_long_it_was_to_be():
    def run(seconds):
        return f"+ sysbench --time={seconds} run\n" + csv(TPS)

    assert [log.header.get("time") for log in parse(run(3) + run(5) + csv(TPS))] == ["3", "5", None]


def test_the_totals_are_those_of_the_end_not_of_a_checkpoint():
    lines = human(TPS).splitlines(keepends=True)
    at = next(number for number, line in enumerate(lines) if line.startswith("[ 2s ]"))
    checkpoint = (
        "[ 1s ] Checkpoint report:\nSQL statistics:\n    transactions:    237  (237.53 per sec.)\n    total time:  1.0s\n"
    )
    (log,) = parse("".join([*lines[:at], checkpoint, *lines[at:]]))
    assert log.tps.tolist() == TPS
    assert log.summary == parse(human(TPS))[0].summary
    (killed,) = parse("".join([*lines[:at], checkpoint, lines[at]]))
    assert killed.summary is None


def test_totals_of_sysbench_1_1_have_their_seconds():
    (log,) = parse("sysbench 1.1.0\n    transactions:     84     (0.21 per sec.)\n    time elapsed:         400.0093s\n")
    assert (log.summary.transactions, log.summary.seconds) == (84, 400.0093)


def test_the_text_of_a_forced_end_is_no_option():
    (log,) = parse(human(TPS) + "Number of unfinished transactions on forced shutdown: 11\nSomething else: 12\n")
    assert (log.unfinished, log.header) == (11, parse(human(TPS))[0].header)


def test_a_record_of_the_json_reporter_may_be_cut_between_any_of_its_lines():
    record = (
        '  {{\n    "time": {0},\n    "threads": 8,\n    "tps": {1}.50,\n    "qps": {{\n      "total": 100.00,\n'
        '      "reads": 70.00,\n      "writes": 20.00,\n      "other": 10.00\n    }},\n    "latency": 12.50,\n'
        '    "errors": 0.00,\n    "reconnects": 0.00\n  }},\n'
    )
    records = "".join(record.format(second, 100 + second) for second in range(1, 6))
    lines = f"[\n{records}]\n".encode().splitlines(keepends=True)
    for cut in range(len(lines)):
        (run,) = sysbench_log.parse([b"".join(lines[:cut]), b"".join(lines[cut:])])
        assert run.tps.tolist() == [101.5, 102.5, 103.5, 104.5, 105.5], cut
    (run,) = sysbench_log.parse(lines)
    assert run.times.tolist() == [1, 2, 3, 4, 5]


def _tar_of(path, text):
    with tarfile.open(path, "w:gz") as archive:
        for name in ("one.log", "two.log"):
            member = tarfile.TarInfo(name)
            member.size = len(text)
            archive.addfile(member, io.BytesIO(text))


def _zip_of(path, text):
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("one.log", text)


@pytest.mark.parametrize("form", ["zip", "tar.gz"])
def test_a_log_is_read_though_a_large_file_that_is_none_is_packed_with_it(tmp_path, monkeypatch, form):
    monkeypatch.setattr(log_text, "_MOST_UNPACKED", 1024**2)
    members = {"ib_logfile0": b"\0\1" * 4 * 1024**2, "run.log": human(series(1000)).encode()}
    path = tmp_path / f"all.{form}"
    if form == "zip":
        with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
            for name, content in members.items():
                archive.writestr(name, content)
    else:
        with tarfile.open(path, "w:gz") as archive:
            for name, content in members.items():
                (member := tarfile.TarInfo(name)).size = len(content)
                archive.addfile(member, io.BytesIO(content))
    assert [(file.name, len(file.logs)) for file in read(path)] == [("ib_logfile0", 0), ("run.log", 1)]


@pytest.mark.parametrize(
    "write",
    [
        lambda path, text: path.write_bytes(gzip.compress(text)),
        lambda path, text: path.write_bytes(bz2.compress(text)),
        lambda path, text: path.write_bytes(lzma.compress(text)),
        lambda path, text: path.write_bytes(zstandard.compress(text)),
        _tar_of,
        _zip_of,
    ],
    ids=["gzip", "bzip2", "xz", "zstandard", "tar", "zip"],
)
def test_a_file_that_unpacks_to_more_than_any_log_is_left_out_soon(tmp_path, monkeypatch, write):
    monkeypatch.setattr(log_text, "_MOST_UNPACKED", 1024**2)
    write(tmp_path / "bomb", b"x\n" * 4 * 1024**2)
    *others, last = read(tmp_path / "bomb")
    assert all(not isinstance(one, UnreadableLog) or isinstance(one.error, TooLargeError) for one in others)
    assert isinstance(last.error, TooLargeError)
    assert "unpacks to more than" in str(last.error)
    assert str(last.error).endswith("Pack only the logs")
