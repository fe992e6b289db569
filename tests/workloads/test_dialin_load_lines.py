import json
from pathlib import Path

import pytest

from dialin.errors import WorkloadError
from dialin.model.load_driver import ALL_KINDS, DriverChoice
from dialin.stats.counted_times import known_percentile
from dialin.workloads.base import Second
from dialin.workloads.dialin_load_lines import OTHER_STREAM, ErrorLine, Report, Timers, parse_stream_line
from fixtures.stream_lines import HISTOGRAM, second

SCHEMA = Path(__file__).parents[2] / "schema"


def test_a_second_is_read_with_what_it_reports_of_the_driver():
    rates = {"tps": 200, "reads": 2800, "writes": 800, "other": 400, "errors": 4, "reconnects": 2}
    expected = Second(3, **rates, latency_ms=3.5, codes={1213: 3, 1205: 1}, choice=DriverChoice(8, 3, False))
    read = Report(expected, Timers(4, 2.0, 1.5), 5, 7, 8, 16, 1200.5, 9.0, 0.0, [0.4, 0.2], 300.0, 100.0)
    assert parse_stream_line(second(), 95) == read


def test_a_part_of_a_second_is_reported_by_the_second():
    found = parse_stream_line(second(seconds=0.5), 95).second
    assert (found.tps, found.reads, found.errors) == (400, 5600, 8)


def test_no_timers_are_late_by_nothing():
    timers = {"count": 0, "late_mean": None, "late_max": None}
    assert parse_stream_line(second(timers=timers), 95).timers == Timers(0, 0, 0)


@pytest.mark.parametrize("percentile", [99, 75])
def test_a_percentile_that_is_not_reported_is_read_from_the_histogram(percentile, monkeypatch):
    asked = []
    monkeypatch.setattr(
        "dialin.workloads.dialin_load_lines.quantile", lambda text, share: asked.append((text, share)) or 123_400.0
    )
    assert parse_stream_line(second(), percentile).second.latency_ms == 12.34
    assert asked == [(HISTOGRAM, percentile / 100)]


def test_a_second_without_transactions_has_no_latency(monkeypatch):
    monkeypatch.setattr("dialin.workloads.dialin_load_lines.quantile", lambda text, share: None)
    assert (
        parse_stream_line(second(transactions=0, latency={"mean": None, "p95": None, "max": None}), 95).second.latency_ms == 0
    )


def test_times_that_cannot_be_read_are_the_drivers_error():
    broken = parse_stream_line(second(latency_by_transaction={"pay": {"latency_histogram": "AAAA"}})).second
    with pytest.raises(WorkloadError, match="not of the same build"):
        broken.times()


@pytest.mark.parametrize(("gather", "expected"), [("on", True), ("off", False), (None, None)])
def test_a_second_says_what_the_driver_has_chosen_so_far(gather, expected):
    found = parse_stream_line(second(gather=gather, load_threads=2)).second
    assert found.choice == DriverChoice(8, 2, expected)
    assert found.is_choosing is (expected is None)


def test_each_kind_of_transaction_has_its_times_as_the_driver_counted_them():
    sample = json.loads((SCHEMA / "good" / "load-second-closed-loop.json").read_text())
    times = parse_stream_line(json.dumps(sample)).second.times()
    assert {name: sum(counts.values()) for name, counts in times.items()} == sample["by_transaction"]
    for name, counts in times.items():
        reported = sample["latency_by_transaction"][name]["latency"]
        assert [round(known_percentile(counts, share), 4) for share in (0.5, 0.9, 0.95)] == [
            reported["p50"],
            reported["p90"],
            reported["p95"],
        ]
        assert known_percentile(counts, 0.99) is reported["p99"] is None


def test_an_error_is_reported_with_its_remedy():
    line = json.dumps({"type": "error", "fault": "server", "what": "it is gone", "remedy": "Start it"})
    assert parse_stream_line(line, 95) == ErrorLine("it is gone", "Start it")


@pytest.mark.parametrize(
    "line", ["", "a warning", "{", "[]", "{}", '{"type":"start"}', '{"type":"error"}', '{"type":"second",']
)
def test_other_lines_are_neither(line):
    assert parse_stream_line(line, 95) is None


@pytest.mark.parametrize("line", ['{"type":"second"}', second(errors=None), second(timers={}), second(oldest_ms="long")])
def test_a_second_of_another_format_is_an_error_with_its_remedy(line):
    assert parse_stream_line(line, 95) == OTHER_STREAM


def test_of_one_kind_of_transaction_there_are_times_too():
    sample = json.loads((SCHEMA / "good" / "load-second-closed-loop.json").read_text())
    times = parse_stream_line(json.dumps({**sample, "latency_by_transaction": {}})).second.times()
    assert list(times) == [ALL_KINDS]
    assert sum(times[ALL_KINDS].values()) == sample["transactions"]
