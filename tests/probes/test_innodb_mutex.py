from pathlib import Path

import pytest

from dialin.errors import ServerError
from dialin.probes.innodb_mutex import MOST_POOL, InnodbMutexProbe
from dialin.sentences.probe_notes import probe_note_text
from probes.asked import Asked

SAMPLES = Path(__file__).parent / "samples"
BUILDS = sorted(path.name for path in SAMPLES.iterdir() if path.is_dir())
SILENT = [build for build in BUILDS if build.startswith(("mariadb@10.11", "mariadb@11"))]


def probe(build, *, rows=None, pool=1 << 30):
    if rows is None:
        rows = [tuple(line.split("\t")) for line in (SAMPLES / build / "mutex.txt").read_text().splitlines()]

    def query(statement):
        if statement == "SHOW ENGINE INNODB STATUS":
            return [("InnoDB", "", (SAMPLES / build / "quiet.txt").read_text())]
        return rows if statement == "SHOW ENGINE INNODB MUTEX" else [(pool,)]

    return InnodbMutexProbe(query)


@pytest.mark.parametrize("build", [build for build in BUILDS if build not in SILENT])
def test_every_row_of_every_build_is_counted(build):
    reading = probe(build).read()
    lines = (SAMPLES / build / "mutex.txt").read_text().splitlines()
    assert sum(reading.counters.values()) == sum(int(line.rpartition("=")[2]) for line in lines)
    assert reading.notes == ()
    assert not [name for name in reading.counters if name.startswith("/") or "storage/innobase" in name]


def test_locks_keep_their_own_names_without_the_directories_of_another_machine():
    counters = probe("mysql@5.5.9").read().counters
    assert counters["combined buf0buf.c:898/os_waits"] == 5015
    assert counters["btr0sea.c:182/os_waits"] == 72
    assert probe("mariadb@10.1.23").read().counters["&log_sys->mutex/os_waits"] == 630
    assert probe("mariadb@10.2.11").read().counters["sum rwlock: buf0buf.cc:1471/waits"] == 7053


def test_locks_of_one_name_are_added_up():
    assert probe("mysql@5.6.24").read().counters["hash0hash.cc:392/os_waits"] == 2


def test_whatever_a_row_counts_is_reported():
    rows = [("InnoDB", "LOG_SYS", "spins=5,waits=2,calls=70"), ("InnoDB", "odd", "nothing to count")]
    assert probe("mysql@9.7.4", rows=rows).read().counters == {"LOG_SYS/spins": 5, "LOG_SYS/waits": 2, "LOG_SYS/calls": 70}


@pytest.mark.parametrize("build", SILENT)
def test_a_server_that_counts_nothing_says_so(build):
    reading = probe(build).read()
    assert reading.counters == {}
    assert "does not count" in probe_note_text(reading.notes[0])


def test_a_server_on_which_nothing_waited_yet_is_not_said_to_count_nothing():
    assert probe("mysql@9.7.4", rows=[]).read().notes == ()


def test_a_server_with_a_large_pool_is_not_asked():
    reading = probe("mysql@9.7.4", pool=MOST_POOL + 1).read()
    assert reading.counters == {}
    assert "64 GiB" in probe_note_text(reading.notes[0])


def test_a_missing_privilege_is_a_note():
    asked = Asked({"MUTEX": 1227, "innodb_buffer_pool_size": [(1 << 30,)]})
    assert "PROCESS" in probe_note_text(InnodbMutexProbe(asked).read().notes[0])


def test_a_server_without_innodb_is_a_note():
    asked = Asked({"innodb_buffer_pool_size": 1193})
    assert "InnoDB" in probe_note_text(InnodbMutexProbe(asked).read().notes[0])
    assert len(asked.statements) == 1


def test_a_server_that_does_not_answer_is_an_error():
    def query(statement):
        raise ServerError("The server is gone")

    with pytest.raises(ServerError):
        InnodbMutexProbe(query).read()
