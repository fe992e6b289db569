import csv
import io
import os
from dataclasses import replace

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import dialin
from dialin.errors import UserError
from dialin.frames import Format, columns, samples_export
from dialin.store import read_only
from dialin.text import csv_cell
from fixtures import example_studies


def written(directory, path, form):
    return read_only.read(directory, lambda store: samples_export.write(store, path, form))


def test_parquet_holds_what_the_frame_holds(kept, record, tmp_path):
    directory = kept(record)
    path = tmp_path / "samples.parquet"
    count = written(directory, path, Format.PARQUET)
    found = pl.read_parquet(path)
    assert found.equals(dialin.open_study(directory).samples)
    assert count == found.height


def test_the_study_s_own_directories_are_no_place_for_samples(kept):
    directory = kept(example_studies.inconclusive())
    for place in read_only.read(directory, lambda store: (store.directory_of_series, store.directory_of_waits)):
        with pytest.raises(UserError, match="belongs to the study itself"):
            samples_export.check_place(place / "trial-1.parquet", directory)
    samples_export.check_place(directory / "mine" / "trial-1.parquet", directory)


def test_csv_has_a_header_and_a_row_for_each_second(kept, tmp_path):
    record = example_studies.winner()
    path = tmp_path / "samples.csv"
    count = written(kept(record), path, Format.CSV)
    rows = list(csv.DictReader(io.StringIO(path.read_text(encoding="utf-8"))))
    assert list(rows[0]) == list(columns.SAMPLES)
    assert len(rows) == count == sum(map(len, record.samples.values()))
    assert {row["candidate"] for row in rows} == {"1", "2", "4", "8", "16", "32", "64"}
    assert rows[0]["time"].endswith("Z")
    assert rows[0]["lost"] == "false"
    assert [float(row["tps"]) for row in rows[:80]] == [sample.tps for sample in record.samples[1]]


def test_a_study_without_a_second_is_a_table_without_rows(kept, tmp_path):
    record = replace(example_studies.unfinished(), samples={})
    directory = kept(record)
    assert written(directory, tmp_path / "a.csv", Format.CSV) == 0
    assert (tmp_path / "a.csv").read_text().strip() == ",".join(columns.SAMPLES)
    written(directory, tmp_path / "a.parquet", Format.PARQUET)
    assert dict(pl.read_parquet_schema(tmp_path / "a.parquet")) == columns.schema(columns.SAMPLES)


def test_samples_that_come_in_many_pieces_are_all_there_once(kept):
    record = example_studies.winner()
    directory = kept(record)
    parts = read_only.read(directory, lambda store: list(samples_export.iterate_frames(store, rows=333)))
    assert len(parts) > 5
    assert samples_export.concatenate_frames(parts).equals(dialin.open_study(directory).samples)


@pytest.mark.parametrize(
    ("name", "shown"),
    [
        ("16", "16"),
        ("-1", "-1"),
        ("+0.5", "+0.5"),
        ("=1+1", "'=1+1"),
        ("@SUM(A1)", "'@SUM(A1)"),
        ("-1+cmd|' /C calc'!A0", "'-1+cmd|' /C calc'!A0"),
        ("  =1", "'  =1"),
        ("\t=1", "\\x09=1"),
        ("a\x1b[31m\nb\x00", "a\\x1b[31m\\x0ab\\x00"),
    ],
)
def test_a_cell_of_csv_is_no_formula_and_acts_on_no_terminal(name, shown):
    assert csv_cell(name) == shown


@given(st.text())
def test_no_text_is_obeyed_by_a_spreadsheet_or_breaks_a_row(text):
    shown = csv_cell(text)
    assert "\n" not in shown
    assert "\r" not in shown
    if shown.lstrip()[:1] in tuple("=+-@"):
        float(shown)
    stream = io.StringIO()
    csv.writer(stream).writerow([shown])
    assert next(csv.reader(io.StringIO(stream.getvalue()))) == [shown]


def test_parquet_keeps_names_as_they_are_and_csv_makes_them_harmless(kept, tmp_path):
    record = example_studies.hostile()
    directory = kept(record)
    written(directory, tmp_path / "a.parquet", Format.PARQUET)
    written(directory, tmp_path / "a.csv", Format.CSV)
    exact = set(pl.read_parquet(tmp_path / "a.parquet")["candidate"])
    assert exact == {one.name for one in record.spec.candidates}
    text = (tmp_path / "a.csv").read_text(encoding="utf-8")
    assert not set(text) & {"\x1b", "\x07", "\u202e", "\x00"}
    assert {len(row) for row in csv.reader(io.StringIO(text))} == {len(columns.SAMPLES)}


@pytest.mark.parametrize("form", Format)
def test_a_write_that_fails_leaves_the_old_file_and_no_debris(kept, tmp_path, monkeypatch, form):
    directory = kept(example_studies.inconclusive())
    place = tmp_path / "out"
    place.mkdir()
    (place / "samples").write_text("old")

    def full(handle):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(UserError, match="cannot be written: No space left on device"):
        written(directory, place / "samples", form)
    assert [(path.name, path.read_text()) for path in place.iterdir()] == [("samples", "old")]


def test_a_directory_that_is_not_there_is_one_line(kept, tmp_path):
    with pytest.raises(UserError, match="cannot be written: No such file or directory"):
        written(kept(example_studies.inconclusive()), tmp_path / "gone" / "samples.csv", Format.CSV)
