"""A study whose rows somebody altered by hand is damaged: one ordinary error, and never of the other studies beside it."""

import shutil
import sqlite3
from contextlib import closing

import pytest
from sqlalchemy import JSON, Boolean, Float, Integer

from dialin.errors import UserError
from dialin.report.study_list import StudyLister
from dialin.store import read_only, schema
from dialin.store.store import STUDY_FILE, Store
from fixtures import example_studies, stored_study
from fixtures.long_form import IS_LONG

DEEP = "[" * 3000 + "]" * 3000
HUGE = f'{{"a": {"9" * 5000}}}'


@pytest.fixture(scope="module")
def kept(tmp_path_factory):
    place = tmp_path_factory.mktemp("kept")
    stored_study.keep(example_studies.inconclusive(), place)
    return place


@pytest.fixture(scope="module")
def filled(kept):
    """The tables that have rows in the example."""
    with closing(sqlite3.connect(kept / STUDY_FILE)) as connection:
        return {
            name for name in schema.metadata.tables if connection.execute(f"SELECT EXISTS (SELECT * FROM {name})").fetchone()[0]
        }


@pytest.fixture
def altered(kept, filled, tmp_path):
    """Sets a column of the last row of a table, in a copy of the study; returns its directory, None without such a row."""

    def alter(table, column, value):
        if table not in filled:
            return None
        place = tmp_path / "study"
        shutil.copytree(kept, place)
        with closing(sqlite3.connect(place / STUDY_FILE)) as connection, connection:
            connection.execute(f"UPDATE {table} SET {column} = ? WHERE rowid = (SELECT MAX(rowid) FROM {table})", (value,))
        return place

    return alter


def others(column):
    """Values that a column cannot have."""
    kind = column.type
    if isinstance(kind, schema.Array):
        return ["{}", "5", DEEP, HUGE, "no JSON", b"\x00\xff", 5]
    if isinstance(kind, (JSON, schema.Object)):
        return ["[]", "5", '"a"', DEEP, HUGE, "no JSON", b"\x00\xff", 5]
    if isinstance(kind, schema.Moment):
        return ["abc", 9e999, -1e18, 1e300, -1, b"\x00"]
    if isinstance(kind, schema.Amount):
        return ["abc", 9e999, -1.0, b"\x00"]
    if isinstance(kind, Float):
        return ["abc", 9e999, -9e999, b"\x00"]
    if isinstance(kind, (Integer, Boolean)):
        return ["abc", 1.5, b"\x00"]
    return [b"\x00\xff"]


def in_turn(values, place):
    """The values that `make test` gives a column: two of them, others for the next column, so that each kind gets all."""
    return values if IS_LONG else [values[n % len(values)] for n in sorted({place % len(values), (place + 1) % len(values)})]


COLUMNS = [
    (table.name, column.name, value)
    for table in schema.metadata.sorted_tables
    for place, column in enumerate(column for column in table.columns if not column.primary_key)
    for value in in_turn(others(column), place)
]


@pytest.mark.parametrize(
    ("table", "column", "value"), COLUMNS, ids=[f"{table}-{column}-{str(value)[:9]}" for table, column, value in COLUMNS]
)
def test_a_value_of_another_type_is_damage(altered, table, column, value):
    place = altered(table, column, value)
    if place is None:
        pytest.skip("the example has no such row")

    def read(store):
        store.read()
        store.progress()

    with pytest.raises(UserError, match=r"is damaged and cannot be read|another version of dialin|cannot be read by this"):
        read_only.read(place, read)


ALTERED_JSON = [
    ("trial", "in_force", '{"a": [1]}'),
    ("trial", "real", '{"a": null}'),
    ("trial", "steps", '{"measure": "abc"}'),
    ("trial", "steps", '{"no step": 1}'),
    ("trial", "costs", '{"seconds": "abc"}'),
    ("trial", "failure", '{"step": "measure"}'),
    ("trial", "changes", '[{"name": "a"}]'),
    ("trial", "driver_choices", "[5]"),
    ("trial", "transaction_times", '[{"no": 1}]'),
    ("trial", "state", "no state"),
    ("sample", "step", "no step"),
    ("watched", "saw", '{"probe": "status", "gauges": {"a": {"first": "x"}}}'),
    ("study", "verdict", '{"verdict": "no outcome"}'),
    ("block", "candidates", '["a", 5]'),
]


@pytest.mark.parametrize(("table", "column", "text"), ALTERED_JSON)
def test_altered_content_of_another_shape_is_damage(altered, table, column, text):
    place = altered(table, column, text)
    if place is None:
        pytest.skip("the example has no such row")
    with pytest.raises(UserError, match="is damaged and cannot be read"):
        read_only.read(place, lambda store: store.read())


def test_a_study_that_was_altered_cannot_be_resumed(altered):
    with pytest.raises(UserError, match="is damaged"):
        Store.open(altered("trial", "started", "abc"))


def test_an_altered_study_is_one_line_in_the_list_of_a_folder(altered, kept, tmp_path):
    folder = tmp_path / "studies"
    shutil.copytree(kept, folder / "good")
    for number, (column, value) in enumerate([("created", -1e18), ("created", 9e999), ("host", DEEP), ("command", b"\xff")]):
        shutil.move(altered("study", column, value), folder / f"bad{number}")
    listed = StudyLister(folder).document().studies
    assert [bool(study.problem) for study in listed] == [False, True, True, True, True]


@pytest.mark.parametrize("fault", ["DROP TABLE look", "ALTER TABLE look DROP COLUMN decided"])
def test_a_table_or_column_that_is_missing_is_damage(kept, tmp_path, fault):
    place = tmp_path / "study"
    shutil.copytree(kept, place)
    with closing(sqlite3.connect(place / STUDY_FILE)) as connection, connection:
        connection.execute(fault)
    with pytest.raises(UserError, match="is damaged and cannot be read"):
        read_only.read(place, lambda store: store.read())


def test_every_column_has_a_type_that_is_checked():
    for table in schema.metadata.sorted_tables:
        statement = schema._of_other_types(table)
        assert all(f'typeof("{column.name}")' in statement for column in table.columns)
