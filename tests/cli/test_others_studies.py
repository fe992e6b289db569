"""Studies that the reader may not write: a colleague's, or one on a read-only medium."""

import os
import shutil
import stat
import subprocess
import sys

import pytest

from dialin.store.store import STUDY_FILE, Store
from fixtures import example_studies, stored_study

UNPRIVILEGED = ["setpriv", "--bounding-set", "-all", "--inh-caps", "-all"] if os.geteuid() == 0 else []
"""What takes from root the right to write where others may not."""


def read_as_another(directory, *words):
    for path in (*directory.iterdir(), directory):
        path.chmod(stat.S_IRUSR | (stat.S_IXUSR if path.is_dir() else 0))
    try:
        return subprocess.run(
            [*UNPRIVILEGED, sys.executable, "-m", "dialin", *words, str(directory)],
            env={**os.environ, "DIALIN_HOME": str(directory.parent / "home")},
            capture_output=True,
            text=True,
        )
    finally:
        directory.chmod(stat.S_IRWXU)


@pytest.fixture
def study(tmp_path):
    place = tmp_path / "study"
    place.mkdir()
    stored_study.keep(example_studies.winner(), place)
    return place


def test_the_report_of_a_study_that_may_not_be_written_is_shown_with_a_note(study):
    done = read_as_another(study, "report")
    assert (done.returncode, done.stderr.count("you may not write there")) == (0, 1)
    assert done.stdout.startswith("innodb_buffer_pool_instances = 16")
    assert [path.name for path in study.iterdir() if path.name.startswith("report")] == []


def test_what_explains_it_is_shown(study):
    done = read_as_another(study, "explain")
    assert (done.returncode, done.stderr) == (0, "")


def test_a_killed_study_is_read_without_the_index_that_cannot_be_made(study, tmp_path):
    killed = tmp_path / "killed"
    killed.mkdir()
    with Store.open(study) as writer:
        writer.say(5.0, "the last words")
        for name in (STUDY_FILE, f"{STUDY_FILE}-wal"):
            shutil.copy(study / name, killed)
    done = read_as_another(killed, "report")
    assert (done.returncode, done.stderr.count("cannot be")) == (0, 0), done.stderr
