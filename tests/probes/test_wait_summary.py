import pytest

from dialin.probes.wait_summary import WaitSummaryProbe
from dialin.sentences.probe_notes import probe_note_text
from probes.asked import Asked

LOG = "wait/io/file/innodb/innodb_log_file"
ON = {"@@performance_schema": [(1,)]}
# Of MySQL 9.7.4, but for the table.
SERVER = {
    **ON,
    "events_waits_summary": [("wait/io/file/sql/binlog", 1164, 191176819324), (LOG, 2061, 251642434330)],
    "SUM_TIMER_MISC": [(LOG, 8, 274060, 29640168, 1291, 3044352, 11784966000, 762, 239827828162)],
    "table_io_waits": [("sbtest", "sbtest1", 70, 5_000_000_000, 30, 1_000_000_000)],
    "setup_instruments": [(1,)],
}


def texts(notes):
    return tuple(dict.fromkeys(map(probe_note_text, notes)))


def test_waits_files_and_tables_are_reported_in_seconds():
    reading = WaitSummaryProbe(Asked(SERVER)).read()
    assert reading.counters == pytest.approx(
        {
            "wait/io/file/sql/binlog/count": 1164,
            "wait/io/file/sql/binlog/seconds": 0.191176819324,
            f"{LOG}/count": 2061,
            f"{LOG}/seconds": 0.251642434330,
            f"file/{LOG}/reads": 8,
            f"file/{LOG}/read_bytes": 274060,
            f"file/{LOG}/read_seconds": 0.000029640168,
            f"file/{LOG}/writes": 1291,
            f"file/{LOG}/write_bytes": 3044352,
            f"file/{LOG}/write_seconds": 0.011784966,
            f"file/{LOG}/others": 762,
            f"file/{LOG}/other_seconds": 0.239827828162,
            "table/sbtest.sbtest1/fetches": 70,
            "table/sbtest.sbtest1/fetch_seconds": 0.005,
            "table/sbtest.sbtest1/writes": 30,
            "table/sbtest.sbtest1/write_seconds": 0.001,
        }
    )
    assert reading.notes == ()


def test_mysql_5_5_reports_no_times_of_files_and_none_is_made_up():
    server = {
        **ON,
        "events_waits_summary": [],
        "SUM_TIMER_MISC": 1054,
        "NULL": [(LOG, 12, 139264, None, 1926, 4067328, None, None, None)],
        "setup_instruments": [(1,)],
    }
    reading = WaitSummaryProbe(Asked(server)).read()
    assert reading.counters == {
        f"file/{LOG}/reads": 12,
        f"file/{LOG}/read_bytes": 139264,
        f"file/{LOG}/writes": 1926,
        f"file/{LOG}/write_bytes": 4067328,
    }
    assert "table_io_waits_summary_by_table" in probe_note_text(reading.notes[0])


def test_a_performance_schema_that_is_off_is_said_and_requested_once():
    asked = Asked({"@@performance_schema": [(0,)]})
    probe = WaitSummaryProbe(asked)
    for _ in range(2):
        assert texts(probe.read().notes) == (
            "The performance schema is off (performance_schema=OFF), so waits and statements are not available",
        )
    assert len(asked.statements) == 1


def test_a_server_without_a_performance_schema_is_no_error():
    reading = WaitSummaryProbe(Asked({"@@performance_schema": 1193})).read()
    assert texts(reading.notes) == ("This server has no performance schema, so waits and statements are not available",)


def test_missing_instruments_of_locks_are_said():
    reading = WaitSummaryProbe(Asked({**SERVER, "setup_instruments": []})).read()
    assert texts(reading.notes) == (
        "The instruments of mutexes and locks (wait/synch/%) are off, so waits for them are not available",
    )


def test_an_account_without_the_privilege_is_no_error():
    reading = WaitSummaryProbe(Asked({**ON, "performance_schema.": 1142})).read()
    assert not reading.counters
    assert texts(reading.notes) == (
        "The account lacks SELECT on performance_schema, so waits and statements are not available",
    )
