"""A study whose database is being made when dialin is stopped, or killed, is none: nothing of it stands in the way."""

import sqlite3
import struct
import subprocess
import sys
from contextlib import closing

import pytest

from dialin.cli import conduct
from dialin.errors import InterruptedStudyError, MachineError, UserError
from dialin.store import STUDY_FILE, UNFINISHED_STUDY_FILE, read_only, schema
from dialin.store.read_only import find_studies
from dialin.store.store import Store
from fixtures import example_studies, stored_study

KILLED = """
import os, signal, sys
from pathlib import Path
from dialin.store import schema
from fixtures import example_studies, stored_study

def killed(_):
    os.kill(os.getpid(), signal.SIGKILL)

schema.metadata.create_all = killed
stored_study.keep(example_studies.inconclusive(), Path(sys.argv[1]))
"""


@pytest.mark.parametrize("ends", [KeyboardInterrupt, SystemExit])
def test_a_study_that_is_stopped_while_it_is_made_leaves_nothing(tmp_path, monkeypatch, ends):
    def stopped(_):
        raise ends

    with monkeypatch.context() as patch:
        patch.setattr(schema.metadata, "create_all", stopped)
        with pytest.raises(ends):
            stored_study.keep(example_studies.inconclusive(), tmp_path)
    assert list(tmp_path.iterdir()) == []
    stored_study.keep(example_studies.inconclusive(), tmp_path)
    with Store.open(tmp_path) as store:
        assert store.trials()


def test_a_study_that_is_killed_while_it_is_made_can_be_made_again(tmp_path):
    place = tmp_path / "study"
    place.mkdir()
    environment = {"PYTHONPATH": ":".join(sys.path)}
    done = subprocess.run([sys.executable, "-c", KILLED, place], env=environment)
    assert done.returncode == -9
    assert {path.name for path in place.iterdir()} <= {UNFINISHED_STUDY_FILE, f"{UNFINISHED_STUDY_FILE}-journal"}
    assert not (place / STUDY_FILE).exists()
    stored_study.keep(example_studies.inconclusive(), place)
    assert not list(place.glob(f"{UNFINISHED_STUDY_FILE}*"))


KILLED_IN_A_CHANGE = """
import os, signal, sqlite3, sys
study = sqlite3.connect(sys.argv[1], isolation_level=None)
for statement in ("PRAGMA journal_mode=DELETE", "PRAGMA cache_size=1", "BEGIN", "DELETE FROM sample", "CREATE TABLE many (x)"):
    study.execute(statement)
study.executemany("INSERT INTO many VALUES (randomblob(1000))", [()] * 2000)
os.kill(os.getpid(), signal.SIGKILL)
"""


def test_a_study_whose_dialin_was_killed_in_the_middle_of_a_change_is_read_and_opened_as_it_was_before(tmp_path):
    stored_study.keep(example_studies.inconclusive(), tmp_path)
    with Store.open(tmp_path) as store:
        before = store.read().samples
    done = subprocess.run([sys.executable, "-c", KILLED_IN_A_CHANGE, tmp_path / STUDY_FILE])
    assert done.returncode == -9
    assert (tmp_path / f"{STUDY_FILE}-journal").stat().st_size
    files = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    assert read_only.read(tmp_path, lambda store: store.read()).samples == before
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == files, "reading changes nothing"
    with Store.open(tmp_path) as store:
        assert store.read().samples == before


def test_a_stop_before_the_study_is_made_says_that_nothing_was_measured(tmp_path):
    def stopped(_watcher):
        raise KeyboardInterrupt

    with pytest.raises(InterruptedStudyError, match="before the study began; nothing was measured"):
        conduct.perform(tmp_path, stopped)


def test_a_rename_that_fails_leaves_no_study(tmp_path, monkeypatch):
    monkeypatch.setattr("pathlib.Path.rename", lambda *_: (_ for _ in ()).throw(OSError(28, "No space left on device")))
    with pytest.raises(MachineError, match=r"No study can be written to .*: No space left on device"):
        stored_study.keep(example_studies.inconclusive(), tmp_path)
    assert list(tmp_path.iterdir()) == []


def hot_journal_naming(study, victim):
    """Leave a study as a dialin that was killed in a change; its journal names a file, as a change of two databases does."""
    subprocess.run([sys.executable, "-c", KILLED_IN_A_CHANGE, study / STUDY_FILE])
    name = str(victim).encode()
    end = struct.pack(">II", len(name), sum(name)) + bytes.fromhex("d9d505f920a163d7")
    with (study / f"{STUDY_FILE}-journal").open("ab") as journal:
        journal.write(struct.pack(">I", 2**30 // 4096 + 1) + name + end)


@pytest.mark.parametrize("opened", [lambda place: read_only.read(place, lambda store: store.read()), Store.open])
def test_reading_somebody_else_s_study_deletes_no_file_that_it_names(tmp_path, opened):
    place, victim = tmp_path / "study", tmp_path / "precious"
    place.mkdir()
    stored_study.keep(example_studies.inconclusive(), place)
    victim.write_text("mine")
    hot_journal_naming(place, victim)
    with pytest.raises(UserError, match="SQLite would delete a file that it names"):
        opened(place)
    assert victim.exists()
    assert place.parent in [path.parent for path in find_studies(tmp_path).studies], "it is listed, with the reason"
    with closing(sqlite3.connect(place / STUDY_FILE)) as sqlite:
        sqlite.execute("SELECT * FROM study")
    assert not victim.exists(), "what this test shows happens without dialin"
