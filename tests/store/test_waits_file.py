"""Raw waits: files of a server become Parquet, and what they come to is what numpy says."""

import math
import tracemalloc

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dialin.store import waits_file
from dialin.store.waits_file import ALL, rank, summarise, write

LOCKS, MUTEX = "wait/synch/sxlock/innodb/hash_table_locks", "wait/synch/mutex/innodb/log_sys_mutex"


def file_of(directory, name, rows):
    path = directory / f"{name}.tsv"
    path.write_text("".join("\t".join(map(str, (*row, 1)[:7])) + "\n" for row in rows))
    return path


def parquet(directory, waits):
    """A Parquet file of waits as (instrument, operation, picoseconds)."""
    rows = [
        (1, number, instrument, operation, 1000 * number, wait) for number, (instrument, operation, wait) in enumerate(waits)
    ]
    write(directory / "trial-1.parquet", [file_of(directory, "waits", rows)])
    return directory / "trial-1.parquet"


def row(rows, instrument=LOCKS, operation=ALL):
    return next(one for one in rows if (one.instrument, one.operation) == (instrument, operation))


def test_every_event_of_every_file_is_kept_and_the_files_are_gone(tmp_path):
    files = [
        file_of(tmp_path, "a", [(40, 1, LOCKS, "shared_lock", 10, 385), (41, 1, LOCKS, "exclusive_lock", 20, 770)]),
        file_of(tmp_path, "b", [(40, 2, MUTEX, "lock", 30, 9_000_000_000_000)]),
        file_of(tmp_path, "empty", []),
    ]
    assert write(tmp_path / "waits" / "trial-3.parquet", files)[:2] == (3, 3)
    frame = pl.read_parquet(tmp_path / "waits" / "trial-3.parquet")
    assert frame.columns == ["thread", "event", "instrument", "operation", "start_ps", "wait_ps"]
    assert [frame.schema[name] for name in ("instrument", "operation")] == [pl.Categorical, pl.Categorical]
    assert frame.rows()[2] == (40, 2, MUTEX, "lock", 30, 9_000_000_000_000)
    assert [path.name for path in tmp_path.rglob("*") if path.is_file()] == ["trial-3.parquet"]


def test_an_event_that_stands_twice_in_a_file_is_kept_once(tmp_path):
    twice = [(40, 7, LOCKS, "shared_lock", 10, 385)] * 2 + [(41, 7, LOCKS, "shared_lock", 10, 385)]
    assert write(tmp_path / "t.parquet", [file_of(tmp_path, "a", twice)])[:2] == (2, 2)


def test_events_of_background_threads_are_read_but_not_kept(tmp_path):
    rows = [(1, 1, LOCKS, "shared_lock", 10, 385), (40, 1, LOCKS, "shared_lock", 10, 385)]
    assert write(tmp_path / "t.parquet", [file_of(tmp_path, "a", rows)], left_out=[1, 2])[:2] == (2, 1)
    assert pl.read_parquet(tmp_path / "t.parquet")["thread"].to_list() == [40]


def test_a_wait_that_the_server_counts_by_the_row_stands_for_all_of_them(tmp_path):
    rows = [(40, 1, "wait/io/table/sql/handler", "fetch", 10, 385, 100), (40, 2, LOCKS, "shared_lock", 10, 385)]
    assert write(tmp_path / "t.parquet", [file_of(tmp_path, "a", rows)])[:2] == (101, 2)


def test_a_wait_without_a_time_is_not_kept(tmp_path):
    rows = [(40, 1, LOCKS, "shared_lock", 10, "\\N"), (40, 2, LOCKS, "shared_lock", 10, 385)]
    assert write(tmp_path / "t.parquet", [file_of(tmp_path, "a", rows)])[:2] == (1, 1)


def test_no_events_come_to_no_rows(tmp_path):
    assert write(tmp_path / "t.parquet", [])[:2] == (0, 0)
    assert summarise(tmp_path / "t.parquet") == ()


def test_a_file_that_cannot_be_read_leaves_no_half_of_a_result(tmp_path):
    good = file_of(tmp_path, "a", [(40, 1, LOCKS, "shared_lock", 10, 385)])
    with pytest.raises(OSError, match="missing"):
        write(tmp_path / "t.parquet", [good, tmp_path / "missing.tsv"])
    assert list(tmp_path.glob("t.*")) == []


def test_a_full_disk_is_an_error_of_the_system_with_words(tmp_path, monkeypatch):
    def full(*_, **__):
        raise pl.exceptions.ComputeError("No space left on device")

    good = file_of(tmp_path, "a", [(40, 1, LOCKS, "shared_lock", 10, 385)])
    monkeypatch.setattr(pl.LazyFrame, "sink_parquet", full)
    with pytest.raises(OSError, match="No space left") as caught:
        write(tmp_path / "t.parquet", [good])
    assert "No space left" in caught.value.strerror
    assert list(tmp_path.glob("t.*")) == []


def test_a_file_that_is_damaged_is_an_error_of_the_system_with_words(tmp_path):
    (tmp_path / "t.parquet").write_bytes(b"PAR1 and no more")
    with pytest.raises(OSError, match=r"(?i)parquet") as caught:
        summarise(tmp_path / "t.parquet")
    assert caught.value.strerror


def test_waits_read_in_slices_come_to_the_same(tmp_path, monkeypatch):
    waits = [([LOCKS, MUTEX][number // 90 % 2], f"op{number // 40}", 1000 * (number * 7919 % 997)) for number in range(200)]
    path = parquet(tmp_path, waits)
    whole = summarise(path)
    monkeypatch.setattr(waits_file, "_SLICE", 7)
    monkeypatch.setattr(waits_file, "_PIECE", 3)
    assert summarise(path) == whole


def test_summing_up_takes_no_more_memory_for_a_wait_than_is_estimated_with(tmp_path, monkeypatch):
    monkeypatch.setattr(waits_file, "_SLICE", 20_000)
    monkeypatch.setattr(waits_file, "_PIECE", 2_000)
    count = 1_000_000
    events = {"instrument": LOCKS, "operation": "shared_lock"}
    frame = pl.DataFrame({"wait_ps": np.arange(count, dtype=np.uint64)})
    frame.with_columns(**{name: pl.lit(text, pl.Categorical) for name, text in events.items()}).write_parquet(
        tmp_path / "t.parquet"
    )
    summarise(tmp_path / "t.parquet")
    tracemalloc.start()
    try:
        (whole, _) = summarise(tmp_path / "t.parquet")
        _, most = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert whole.count == count
    assert most <= waits_file.MEMORY * count


TIMES = st.lists(st.integers(0, 10**13), min_size=1, max_size=300)


@given(TIMES)
def test_figures_are_those_of_numpy(times):
    ordered = np.sort(np.array(times, dtype=np.uint64))
    result = waits_file._row(LOCKS, ALL, ordered)
    for share, own in ((50, result.p50), (90, result.p90), (99, result.p99), (99.9, result.p999)):
        assert own == np.percentile(ordered, share, method="inverted_cdf")
    assert (result.count, result.most, result.total) == (len(times), max(times), sum(times))
    assert result.mean == pytest.approx(np.mean(times))
    longest = max(1, len(times) // 100)
    if sum(times):
        assert result.worst_share == pytest.approx(sum(sorted(times)[-longest:]) / sum(times))
        assert result.ten_share == pytest.approx(sum(sorted(times)[-10:]) / sum(times))
    assert sum(result.histogram) == len(times)
    for power, count in enumerate(result.histogram):
        low, high = (0 if power == 0 else 1000 * 2**power), 1000 * 2 ** (power + 1)
        assert count == sum(low <= time < high for time in times)


@pytest.mark.parametrize(
    ("count", "share", "place"), [(1, 50, 1), (2, 50, 1), (1000, 99.9, 999), (1001, 99.9, 1000), (10, 90, 9)]
)
def test_the_nearest_rank_is_the_least_that_reaches_the_share(count, share, place):
    assert rank(count, share) == place


WAITS = st.lists(
    st.tuples(st.sampled_from([LOCKS, MUTEX, "wait/io/file/sql/FRM"]), st.sampled_from(["a", "b", "c"]), st.integers(0, 10**9)),
    min_size=1,
    max_size=200,
)


@given(WAITS)
def test_each_instrument_and_operation_has_its_own_row_and_each_instrument_one_of_all(tmp_path_factory, waits):
    rows = summarise(parquet(tmp_path_factory.mktemp("w"), waits))
    expected = {(instrument, operation) for instrument, operation, _ in waits} | {
        (instrument, ALL) for instrument, _, _ in waits
    }
    assert {(one.instrument, one.operation) for one in rows} == expected
    assert len(rows) == len(expected)
    for one in rows:
        own = [wait for instrument, op, wait in waits if instrument == one.instrument and one.operation in (op, ALL)]
        assert (one.count, one.total, one.most) == (len(own), sum(own), max(own))
        assert one.p50 == sorted(own)[math.ceil(len(own) / 2) - 1]
    assert [one.total for one in rows] == sorted((one.total for one in rows), reverse=True)


def test_the_row_of_all_comes_before_an_only_operation(tmp_path):
    rows = summarise(parquet(tmp_path, [(LOCKS, "shared_lock", 5)]))
    assert [one.operation for one in rows] == [ALL, "shared_lock"]


def test_a_few_long_waits_among_many_are_seen_in_the_worst_share(tmp_path):
    waits = (
        [(LOCKS, "shared_lock", 100_000)] * 9900 + [(LOCKS, "shared_lock", 10**10)] * 90 + [(LOCKS, "shared_lock", 10**12)] * 10
    )
    result = row(summarise(parquet(tmp_path, waits)))
    assert result.p99 < result.mean
    assert result.worst_share == pytest.approx((90 * 10**10 + 10**13) / result.total)
    assert result.ten_share == pytest.approx(10**13 / result.total)


def test_hundreds_of_instruments_and_a_wait_of_an_hour_are_reported_apart_at_a_few_picoseconds(tmp_path):
    hour = 3600 * 10**12
    waits = [(f"wait/synch/mutex/sql/{number}", f"op{number % 40}", 385 * number) for number in range(600)]
    rows = summarise(parquet(tmp_path, [*waits, (LOCKS, "op1", hour)]))
    assert row(rows).most == pytest.approx(hour, rel=1e-6)
    assert row(rows, "wait/synch/mutex/sql/599").most == pytest.approx(385 * 599, abs=64)
    assert sum(one.count for one in rows if one.operation == ALL) == 601


def test_a_wait_that_ended_before_it_began_by_the_servers_timer_took_no_time(tmp_path):
    path = tmp_path / "t.parquet"
    rows = [(1, 1, LOCKS, "shared_lock", 10, 2**64 - 2_000), (1, 2, LOCKS, "shared_lock", 20, 3_000)]
    assert write(path, [file_of(tmp_path, "a", rows)]) == (2, 2, 1)
    result = row(summarise(path))
    assert (result.count, result.most, result.total) == (2, 3_000, 3_000)
