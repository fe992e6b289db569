import gzip

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dialin.errors import UserError
from dialin.workloads import sysbench_log
from dialin.workloads.sysbench_log import parse, parse_line, read
from study.analysis.made import csv, human, series

TPS = [237.53, 300.0, 0.0]


@pytest.mark.parametrize("make", [human, csv])
def test_both_forms_tell_the_same(make):
    (log,) = parse(make(TPS, threads=56, latency=442.73))
    assert log.tps.tolist() == TPS
    assert log.times.tolist() == [1, 2, 3]
    assert log.latency_ms.tolist() == [442.73] * 3
    assert log.errors.tolist() == [0.5] * 3
    assert (log.threads, log.interval, log.percentile, log.transactions) == (56, 1, 95, 538)


def test_a_line_as_percona_publishes_it_is_read():
    (log,) = parse("1,56,237.53,7323.89,3304.66,3322.47,696.76,442.73,0.25,0.00\n")
    assert (log.tps[0], log.latency_ms[0], log.errors[0], log.threads) == (237.53, 442.73, 0.25, 56)
    assert (log.percentile, log.transactions) == (None, None)


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


def test_runs_that_follow_each_other_in_one_file_are_told_apart():
    first, second = parse(csv([1, 2, 3], threads=8) + csv([4, 5], threads=16))
    assert (first.tps.tolist(), first.threads, first.transactions) == ([1, 2, 3], 8, 6)
    assert (second.tps.tolist(), second.threads, second.transactions) == ([4, 5], 16, 9)


def test_a_summary_is_that_of_the_run_before_it():
    logs = parse(csv([1, 2, 3]) + csv([4, 5], whole=False))
    assert [log.transactions for log in logs] == [6, None]


@pytest.mark.parametrize(
    "text", ["", "a,b,c", "1,2,3", "Threads started!\n", "1,56,x,1,1,1,1,1,1,1\n", "[ 1s ] thds: 1 tps: 1.2.3"]
)
def test_what_is_no_log_holds_no_run(text):
    assert parse(text) == ()


@given(st.text(alphabet="[ ]s0123456789.,:thdpqrwolaicenv()/%\n", max_size=300))
def test_no_text_is_too_odd(text):
    for log in parse(text):
        assert np.isfinite(log.tps).all()


def test_gzip_is_known_by_its_first_bytes_not_by_its_name(tmp_path):
    text = csv(TPS)
    (tmp_path / "packed.txt").write_bytes(gzip.compress(text.encode()))
    (tmp_path / "plain.gz").write_text(text)
    packed, plain = read(tmp_path / "packed.txt"), read(tmp_path / "plain.gz")
    assert packed.digest == plain.digest
    assert packed.logs[0].tps.tolist() == plain.logs[0].tps.tolist() == TPS


def test_a_log_that_is_cut_short_is_said_so(tmp_path):
    path = tmp_path / "log.gz"
    path.write_bytes(gzip.compress(csv(series()).encode())[:-100])
    with pytest.raises(UserError, match="cut short or damaged"):
        read(path)
    path.write_bytes(b"\x1f\x8bnothing")
    with pytest.raises(UserError, match="cut short or damaged"):
        read(path)


def test_what_is_larger_than_any_log_is_not_unpacked(tmp_path, monkeypatch):
    monkeypatch.setattr(sysbench_log, "LARGEST", 1024**2)
    path = tmp_path / "bomb.gz"
    path.write_bytes(gzip.compress(b"0" * 2 * 1024**2))
    with pytest.raises(UserError, match="larger than 1 MiB"):
        read(path)


def test_what_may_not_be_read_is_one_line(tmp_path):
    with pytest.raises(UserError, match="cannot be read: No such file"):
        read(tmp_path / "none")
