from pathlib import Path

import pytest

from dialin.errors import ServerError
from dialin.probes.innodb_status import InnodbStatusProbe
from dialin.sentences.probe_notes import probe_note_text
from probes.asked import Asked

SAMPLES = Path(__file__).parent / "samples"
STATEMENT = "SHOW ENGINE INNODB STATUS"


@pytest.fixture
def probe():
    """Return a probe of a server that answers with recorded texts, one after the other."""

    def made(*samples):
        texts = iter((SAMPLES / sample).read_text() for sample in samples)

        def query(statement):
            assert statement == STATEMENT
            return [("InnoDB", "", next(texts))]

        return InnodbStatusProbe(query)

    return made


def test_a_server_with_two_pools_reports_each_of_them(probe):
    reading = probe("mysql@5.5.9/deadlock.txt").read()
    assert reading.notes == ()
    assert reading.gauges == {
        "history_list": 13351,
        "checkpoint_age": 16971447 - 9588925,
        "ibuf_size_pages": 1,
        "ibuf_segment_pages": 2,
        "ibuf_free_pages": 0,
        "ahi_hash_searches_per_s": 79.92,
        "ahi_other_searches_per_s": 387.61,
        "queries_inside": 0,
        "queries_queued": 0,
        "pending_reads": 0,
        "pending_writes": 0,
        "pool_size_pages": 65536,
        "free_pages": 64683,
        "dirty_pages": 407,
        "pool/0/free_pages": 32353,
        "pool/0/dirty_pages": 198,
        "pool/1/free_pages": 32330,
        "pool/1/dirty_pages": 209,
    }
    assert reading.counters == {
        "log_bytes": 16971447,
        "spin/mutex/spins": 17545,
        "spin/mutex/rounds": 0,
        "spin/mutex/os_waits": 5753,
        "spin/rw_shared/spins": 6509,
        "spin/rw_shared/rounds": 0,
        "spin/rw_shared/os_waits": 4528,
        "spin/rw_excl/spins": 348,
        "spin/rw_excl/rounds": 0,
        "spin/rw_excl/os_waits": 1665,
    }


def test_threads_at_a_semaphore_are_counted_at_each_reading_and_added_up(probe):
    watching = probe("mysql@8.0.33/loaded.txt", "mysql@8.0.33/quiet.txt", "mysql@8.0.33/loaded.txt")
    place = "trx0trx.cc:381/Mutex"
    readings = [watching.read() for _ in range(3)]
    assert [reading.gauges[f"semaphore/{place}"] for reading in readings] == [23, 0, 23]
    assert [reading.counters[f"semaphore_seen/{place}"] for reading in readings] == [23, 23, 46]
    assert [reading.counters[f"semaphore_waited/{place}"] for reading in readings] == [0, 0, 0]


def test_seconds_so_far_are_added_up_by_place_and_kind_of_lock(probe):
    reading = probe("mariadb@10.2.11/loaded.txt").read()
    semaphores = {name: value for name, value in reading.counters.items() if name.startswith("semaphore_seen/")}
    assert sum(semaphores.values()) == 22
    assert semaphores["semaphore_seen/lock0wait.cc:78/Mutex"] == 13


@pytest.mark.parametrize("build", ["mariadb@10.11.5", "mariadb@10.11.19", "mariadb@11.4.5"])
def test_a_server_that_reports_nothing_of_semaphores_gives_a_note(probe, build):
    watching = probe(f"{build}/quiet.txt", f"{build}/loaded.txt")
    first, second = watching.read(), watching.read()
    assert first.notes == second.notes != ()
    assert "SEMAPHORES" in probe_note_text(first.notes[0])
    assert set(first.counters) == {"log_bytes"}
    assert "queries_inside" not in first.gauges
    assert "ibuf_size_pages" not in first.gauges


@pytest.mark.parametrize("build", ["mysql@5.5.9", "mysql@5.6.24", "mariadb@10.1.23", "mariadb@10.2.11", "mysql@9.7.4"])
def test_a_server_that_reports_of_semaphores_gives_no_note(probe, build):
    assert probe(f"{build}/quiet.txt").read().notes == ()


def test_rates_over_less_than_a_second_are_left_out(probe):
    reading = probe("mysql@9.7.4/deadlock.txt").read()
    assert not [name for name in reading.gauges if name.startswith("ahi_")]


def test_a_missing_privilege_is_a_note_and_the_server_is_not_asked_again():
    asked = Asked({STATEMENT: 1227})
    watching = InnodbStatusProbe(asked)
    first, second = watching.read(), watching.read()
    assert "PROCESS" in probe_note_text(first.notes[0])
    assert first == second
    assert asked.statements == [STATEMENT]


def test_a_server_that_does_not_answer_is_an_error():
    def query(statement):
        raise ServerError("The server is gone")

    with pytest.raises(ServerError):
        InnodbStatusProbe(query).read()


@pytest.mark.parametrize("rows", [[], [("InnoDB", "", "DISABLED")]])
def test_a_server_without_innodb_gives_a_note(rows):
    reading = InnodbStatusProbe(lambda statement: rows).read()
    assert reading.notes
    assert reading.counters == reading.gauges == {}


def test_a_text_that_was_cut_gives_what_it_holds_and_a_note():
    whole = (SAMPLES / "mysql@5.6.24/loaded.txt").read_text()
    half = whole[: whole.index("BUFFER POOL AND MEMORY")]
    reading = InnodbStatusProbe(lambda statement: [("InnoDB", "", half)]).read()
    assert "cut" in probe_note_text(reading.notes[0])
    assert reading.gauges["history_list"] == 125
    assert reading.counters["spin/mutex/os_waits"] == 117
    assert "checkpoint_age" not in reading.gauges
