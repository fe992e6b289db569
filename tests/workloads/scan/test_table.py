import re

import pytest

from dialin.workloads.scan import table
from dialin.workloads.scan.scan_options import read_scan_options


@pytest.mark.parametrize("engine", ["InnoDB", "MyISAM", "Aria"])
def test_a_size_makes_a_table_of_about_that_size(engine):
    options = read_scan_options({"engine": engine, "size": "256M"})
    assert table.table_bytes(options, table.rows_of(options, options.size)) == pytest.approx(256 * 1024**2, rel=0.01)


@pytest.mark.parametrize("row_bytes", [32, 200, 267, 268, 1999, 2000])
@pytest.mark.parametrize("row_format", ["fixed", "dynamic"])
def test_the_columns_make_up_the_bytes_of_a_row(row_format, row_bytes):
    shape = table.row(read_scan_options({"engine": "MyISAM", "row-format": row_format, "row-bytes": str(row_bytes)}))
    assert 12 + sum(shape.fixed) + shape.mean == row_bytes
    assert all(0 < length <= 255 for length in shape.fixed)


def test_a_fixed_row_has_no_variable_column():
    statement = table.create(read_scan_options({"engine": "MyISAM", "row-format": "fixed"}), "scan1")
    assert "VARCHAR" not in statement
    assert statement.endswith("ENGINE=MyISAM DEFAULT CHARSET=latin1 ROW_FORMAT=FIXED")


def test_every_row_is_written_once():
    rows = 2 * table.CHUNK + 17
    statements = list(table.fill(read_scan_options({}), "scan1", rows))
    counts = [int(re.search(r"WHERE s.id <= (\d+)", text)[1]) for text in statements]
    begins = [int(re.search(r"SELECT s.id \+ (\d+)", text)[1]) for text in statements]
    assert counts == [table.CHUNK, table.CHUNK, 17]
    assert begins == [0, table.CHUNK, 2 * table.CHUNK]


def test_nothing_is_fragmented_unless_requested():
    assert not list(table.fragment(read_scan_options({}), "scan1", 1000))


def test_rows_that_are_deleted_are_put_back():
    statements = list(table.fragment(read_scan_options({"fragmented": "20%"}), "scan1", 1000))
    gone = next(text for text in statements if text.startswith("DELETE"))
    back = next(text for text in statements if text.startswith("INSERT"))
    assert "CRC32(CONCAT('gone', id)) % 1000 < 200" in gone
    assert "CRC32(CONCAT('gone', s.id + 0)) % 1000 < 200" in back


@pytest.mark.parametrize("options", [{}, {"query": "ordered"}, {"query": "join"}])
def test_a_query_of_dialins_own_returns_one_row(options):
    text = table.query(read_scan_options(options), 1000)
    assert "SUM(" in text or text.endswith("LIMIT 999, 1")


def test_a_query_of_the_users_own_is_run_as_it_is():
    sql = "SELECT number FROM scan1 WHERE note LIKE '%ab%'"
    assert table.query(read_scan_options({"sql": sql}), 1000) == sql


def test_no_function_is_used_that_some_build_lacks():
    options = read_scan_options({"fragmented": "10%"})
    statements = [table.seed(options, 100), *table.fill(options, "scan1", 100), *table.fragment(options, "scan1", 100)]
    assert not any(name in text for text in statements for name in ("MD5", "SHA", "RAND("))
