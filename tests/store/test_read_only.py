import os
import shutil
import sqlite3
import stat
from contextlib import ExitStack, closing
from dataclasses import replace

import pytest

from dialin.errors import UserError
from dialin.sentences.log_sentences import log_text
from dialin.store import read_only, schema
from dialin.store.store import STUDY_FILE, Store
from fixtures import example_studies, stored_study


@pytest.fixture
def directory(tmp_path):
    place = tmp_path / "study"
    place.mkdir()
    stored_study.keep(example_studies.inconclusive(), place)
    return place


def contents(directory):
    return {path.name: (path.read_bytes(), path.stat().st_mtime_ns) for path in directory.iterdir()}


def test_a_study_is_read_as_it_was_written(directory):
    record = read_only.read(directory, lambda store: store.read())
    expected = example_studies.inconclusive()
    assert record.trials == expected.trials
    assert record.samples == expected.samples
    assert record.verdict == expected.verdict


def test_a_record_without_its_samples_is_the_same_otherwise(directory):
    whole = read_only.read(directory, lambda store: store.read())
    assert read_only.read(directory, lambda store: store.read(samples=False)) == replace(whole, samples={})


def test_reading_leaves_every_file_as_it_was_and_makes_none(directory):
    before = contents(directory)
    read_only.read(directory, lambda store: store.read())
    assert contents(directory) == before


def test_a_study_on_a_medium_that_nobody_can_write_to_is_read(directory):
    for path in (directory / STUDY_FILE, directory):
        path.chmod(stat.S_IRUSR | stat.S_IXUSR)
    try:
        assert read_only.read(directory, lambda store: len(store.trials())) == 3
    finally:
        directory.chmod(stat.S_IRWXU)


def test_a_running_study_is_read_beside_its_writer_with_its_newest_second(directory):
    with Store.open(directory) as writer:
        writer.say(5.0, "while it is read")
        result = read_only.read(directory, lambda store: store.read())
        writer.say(6.0, "and after")
    assert log_text(result.log[-1]) == "while it is read"


def test_a_study_that_begins_to_run_while_it_is_read_is_read_again(directory):
    result = []

    with ExitStack() as running:

        def ask(store):
            if not result:
                writer = running.enter_context(Store.open(directory))
                writer.say(5.0, "resumed")
            result.append(log_text(store.read().log[-1]))
            return result[-1]

        assert read_only.read(directory, ask) == "resumed"
    assert len(result) == 2


def test_nothing_can_be_written_by_who_reads(directory):
    with pytest.raises(Exception, match="readonly"):
        read_only.read(directory, lambda store: store.say(1.0, "no"))
    assert read_only.read(directory, lambda store: store.read()).log == example_studies.inconclusive().log


def test_changes_after_a_study_was_written_are_reported(directory):
    before = read_only.signature(directory)
    assert read_only.signature(directory) == before
    with Store.open(directory) as writer:
        writer.say(5.0, "news")
        assert read_only.signature(directory) != before


def test_a_directory_without_a_study_is_one_line(tmp_path):
    with pytest.raises(UserError, match="holds no dialin study"):
        read_only.read(tmp_path, lambda store: None)


def test_somebody_else_s_database_is_one_line(tmp_path):
    with closing(sqlite3.connect(tmp_path / STUDY_FILE)) as connection:
        connection.execute("CREATE TABLE study (format)")
    with pytest.raises(UserError, match="was not written by dialin"):
        read_only.read(tmp_path, lambda store: None)


@pytest.mark.parametrize("sql", ["DELETE FROM study", "DROP TABLE study"])
def test_a_study_whose_making_is_not_done_is_one_line(directory, sql):
    with closing(sqlite3.connect(directory / STUDY_FILE)) as connection, connection:
        connection.execute(sql)
    with pytest.raises(UserError, match="holds no study yet: it is being created, or its creation was interrupted"):
        read_only.read(directory, lambda store: None)


def test_a_file_that_is_no_database_is_one_line(tmp_path):
    (tmp_path / STUDY_FILE).write_bytes(os.urandom(4096))
    with pytest.raises(UserError, match="is damaged and cannot be read"):
        read_only.read(tmp_path, lambda store: None)


def test_a_study_of_another_version_is_one_line(directory):
    with closing(sqlite3.connect(directory / STUDY_FILE)) as connection, connection:
        connection.execute(f"UPDATE study SET format = {schema.FORMAT + 1}")
    with pytest.raises(UserError, match="another version of dialin"):
        read_only.read(directory, lambda store: None)


def test_a_study_that_was_killed_is_read_with_what_stands_in_its_log_alone(directory, tmp_path):
    killed = tmp_path / "killed"
    with Store.open(directory) as writer:
        writer.say(5.0, "the last words")
        shutil.copytree(directory, killed)
    assert log_text(read_only.read(killed, lambda store: store.read()).log[-1]) == "the last words"


def test_an_empty_log_that_was_left_behind_is_as_good_as_none(directory):
    (directory / f"{STUDY_FILE}-wal").touch()
    before = contents(directory)
    assert len(read_only.read(directory, lambda store: store.trials())) == 3
    assert contents(directory) == before


@pytest.mark.parametrize(
    "change",
    [
        "UPDATE trial SET candidate = 'another'",
        "UPDATE study SET host = '[1]'",
        "UPDATE study SET spec = '{}'",
        "UPDATE candidate SET setting = '[]'",
        "UPDATE trial SET state = 'odd'",
        "UPDATE trial SET steps = '7'",
    ],
)
def test_rows_that_were_altered_by_hand_are_damage_and_no_fault_of_dialin(directory, change):
    with closing(sqlite3.connect(directory / STUDY_FILE)) as connection, connection:
        connection.execute(change)
    with pytest.raises(UserError, match=r"is damaged|cannot be read by this dialin"):
        read_only.read(directory, lambda store: store.read())


ENDLESS = "WITH RECURSIVE n (x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n)"


@pytest.mark.parametrize(
    "made",
    [
        f"CREATE VIEW log AS {ENDLESS} SELECT x AS id, 0 AS at, '' AS text FROM n",
        "CREATE TABLE log (id INTEGER PRIMARY KEY, at, text AS (hex(zeroblob(400000000))))",
        f"CREATE TRIGGER endless AFTER INSERT ON trial BEGIN DELETE FROM trial WHERE id IN ({ENDLESS} SELECT x FROM n); END",
    ],
    ids=["view", "generated column", "trigger"],
)
@pytest.mark.parametrize("opened", [lambda place: read_only.read(place, lambda store: store.read()), Store.open])
def test_a_study_that_would_calculate_without_end_when_it_is_read_is_damaged(directory, made, opened):
    with closing(sqlite3.connect(directory / STUDY_FILE)) as study:
        if "log" in made:
            study.execute("DROP TABLE log")
        study.execute(made)
        study.commit()
    with pytest.raises(UserError, match="is damaged"):
        opened(directory)
