"""What load programs print becomes rows of figures."""

import pytest

from dialin.errors import UserError
from dialin.readers.load_rows import MEAN, LoadRow, belongs, by_columns, by_keys, by_pattern, row_of


def test_named_groups_are_figures():
    read = by_pattern(r"(?P<kind>\w+): (?P<count>\d+) in (?P<seconds>[\d.]+), p95 (?P<p95_ms>[\d.]+), (?P<latency_ms>[\d.]+)")
    row = read("PAY: 38 in 1.0, p95 4.5, 2.5")
    assert (row.kind, row.count, row.seconds, row.latencies) == ("PAY", 38, 1.0, {95: 4.5, MEAN: 2.5})
    assert read("Finished PAY") is None


def test_columns_are_found_by_name_or_number_and_rows_are_skipped():
    read = by_columns({"time": "at", "count": 2, "p99_9_ms": "99.9%"}, "ms", skip={"name": "all"})
    assert read("at,n,99.9%,name") is None
    row = read("1500,7,N/A,get")
    assert (row.time, row.count, row.latencies) == (1.5, 7, {})
    assert read("1500,7,3.5,all") is None
    assert read("2500,8,") is None
    assert read("2500,8,3.5,get").latencies == {99.9: 3.5}


def test_a_missing_column_is_named():
    with pytest.raises(UserError, match=r"no column 'n'. It has a, b"):
        by_columns({"count": "n"})("a,b")


def test_keys_within_objects_are_read_and_other_lines_left_out():
    read = by_keys({"rate": "data.rate", "time": "at"})
    row = read('{"at": "2026-01-01T00:00:01+00:00", "data": {"rate": 5}}')
    assert (row.rate, row.time) == (5, 1767225601.0)
    assert read("{damaged") is None
    assert read("[1]") is None
    assert read('{"data": 5}') is None


@pytest.mark.parametrize(("text", "seconds"), [("00:01:30", 90), ("1m30.5s", 90.5), ("0h00m02s", 2), (2, 2), ("soon", None)])
def test_times_are_read(text, seconds):
    assert row_of({"count": 1, "time": text}).time == seconds


@pytest.mark.parametrize("count", ["-1", "nan", "inf", "x", True, None])
def test_text_that_is_no_amount_is_no_row(count):
    assert row_of({"count": count}) is None


@pytest.mark.parametrize(
    ("text", "count"),
    [
        *(("1,234", 1234), ("1,234,567.5", 1_234_567.5), ("12,345", 12_345)),
        *(("49,7", 49.7), ("812,25", 812.25), ("3100,512", 3100.512), ("0,125", 0.125), ("1.234,56", 1234.56)),
        ("5,0004", 5.0004),
    ],
)
def test_a_comma_stands_between_thousands_or_is_the_decimal_mark(text, count):
    assert row_of({"count": text}).count == count


def test_a_csv_may_come_after_other_lines_and_a_byte_order_mark():
    read = by_columns({"time": "at", "count": "n"})
    assert [read(line) for line in ("", "Starting 4 clients", "\ufeffat,n", "1,5")][:3] == [None] * 3
    assert read("2,7").count == 7


NINES = "9" * 5000


@pytest.mark.parametrize(
    "time",
    [
        *(NINES, f"{NINES}:00:00", f"{'9' * 400}:00:00", f"{NINES}d", "1e999", "\x1b[2J"),
        *("0001-01-01T00:00:00", "9999-12-31T23:59:59-23:00"),
    ],
)
def test_no_time_that_a_program_prints_ends_the_trial(time):
    read = row_of({"count": 1, "time": time}).time
    assert read is None or abs(read) < 1e12


@pytest.mark.parametrize("count", [NINES, "1e308", 10**299])
def test_figures_whose_sum_would_be_infinite_are_no_figures(count):
    assert row_of({"count": count}) is None


@pytest.mark.parametrize("line", ["1\r2,5", "x" * 200_000 + ",5", '"' * 9, "\0,5"])
def test_a_line_that_is_no_csv_is_left_out(line):
    read = by_columns({"time": 1, "rate": 2})
    row = read(line)
    assert row is None or row.time is None


def test_a_row_may_have_only_errors_where_the_line_has_no_count():
    row = row_of({"kind": "a", "count": None, "errors": "3"})
    assert (row.errors, row.has_only_errors) == (3, True)
    assert row_of({"kind": "a", "count": "N/A", "errors": "3"}) is None


def test_a_kind_that_comes_again_or_a_later_time_begins_the_next_interval():
    rows = [LoadRow("a", time=1, count=5)]
    assert belongs(rows, LoadRow("b", time=1, count=5))
    assert belongs(rows, LoadRow("a", time=1, errors=5))
    assert not belongs(rows, LoadRow("a", time=1, count=5))
    assert not belongs(rows, LoadRow("b", time=2, count=5))


def test_kinds_whose_lines_have_times_a_little_apart_are_of_one_interval():
    rows = [LoadRow("a", time=1.001, count=5)]
    assert belongs(rows, LoadRow("b", time=1.004, count=5), within=0.5)
    assert not belongs(rows, LoadRow("a", time=1.004, count=5), within=0.5)
    assert not belongs(rows, LoadRow("b", time=1.6, count=5), within=0.5)


def test_errors_without_a_time_are_of_the_interval_beside_them():
    assert belongs([LoadRow(time=1, count=5)], LoadRow(errors=2))
    assert belongs([LoadRow(errors=2)], LoadRow(time=1, count=5))
    assert not belongs([LoadRow(errors=2), LoadRow(time=1, count=5)], LoadRow(time=2, count=5))


@pytest.mark.parametrize(("unit", "per"), [("s", 1), ("ms", 10**3), ("us", 10**6), ("ns", 10**9)])
def test_times_of_today_are_read_in_any_unit(unit, per):
    assert row_of({"count": 1, "time": 1_793_000_000 * per}, unit).time == 1_793_000_000
