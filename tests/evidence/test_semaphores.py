"""Who waited for InnoDB's semaphores: means of readings that are counted, spins a second, and what servers do not tell."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import ExitStack
from dataclasses import replace

import pytest

from dialin.evidence import measured
from dialin.evidence import semaphores as evidence
from dialin.evidence.measured import MeasuredTrial
from dialin.evidence.semaphores import MOST_PLACES, waiting_threads
from dialin.model.evidence import Watched
from dialin.model.record import StudyRecord
from dialin.probes.probe import Reading
from dialin.probes.probe_watch import Watch
from dialin.testing.fake_clock import FakeClock
from fixtures.evidence_of import of_record
from fixtures.example_evidence import levels, nothing_moved, waits_moved
from fixtures.study_builder import HOSTILE

semaphores = of_record(evidence.semaphores)

PLACE = "semaphore_seen/btr0sea.cc:122/S-lock"
SPINS = {f"spin/mutex/{figure}": value for figure, value in (("spins", 400.0), ("rounds", 9000.0), ("os_waits", 20.0))}
ZEROS = dict.fromkeys(SPINS, 0.0)
OTHERS = {"log_bytes": 1e6}


def watched(record: StudyRecord, of: Callable[[str], Mapping[str, float]], readings: int = 11) -> StudyRecord:
    """Return a record whose status of InnoDB told these counters, by candidate, in 10 s of each trial."""
    seen = {trial.id: {"innodb": Watched("innodb", 10, of(trial.candidate), readings=readings)} for trial in record.trials}
    return replace(record, watched=seen)


def test_threads_are_a_mean_of_the_readings_that_had_one_before_them_and_of_trials() -> None:
    found = semaphores(watched(waits_moved(), lambda name: SPINS | {PLACE: 30.0 * (name == "1")}))
    (place,) = found.places
    assert (place.place, place.lock) == ("btr0sea.cc:122", "S-lock")
    assert place.waiting == {"1": pytest.approx(3.0), "8": 0.0}


class Always:
    """A probe that sees two threads waiting at each reading, and adds them up as the real one does."""

    name, period = "innodb", 0.0

    def __init__(self) -> None:
        self._sum = 0.0

    def read(self) -> Reading:
        self._sum += 2
        return Reading(SPINS | {PLACE: self._sum})


@pytest.mark.parametrize("windows", [1, 4])
def test_as_many_threads_as_wait_at_each_reading_are_reported_however_many_windows_there_are(windows: int) -> None:
    clock = FakeClock()
    watch = Watch([Always()], clock)
    with ExitStack() as stack:
        stack.enter_context(watch)
        for _ in range(windows):
            with watch.window():
                clock.sleep(5)
    one = replace(measured.of(waits_moved())[0], watched={"innodb": watch.taken()[0]}, windows=windows)
    assert waiting_threads(PLACE)(one) == 2.0


def test_a_trial_that_measures_several_numbers_of_threads_has_a_window_for_each() -> None:
    assert {one.windows for one in measured.of(levels())} == {4}
    assert {one.windows for one in measured.of(waits_moved())} == {1}


def test_a_trial_without_two_readings_of_a_window_reports_nothing_of_places() -> None:
    record = watched(waits_moved(), lambda _: SPINS | {PLACE: 3.0}, readings=1)
    assert semaphores(record).places == []


def test_the_places_with_most_threads_are_reported_and_those_without_any_are_not() -> None:
    counters = {f"semaphore_seen/file0.cc:{line}/Mutex": float(line) for line in range(12)}
    found = semaphores(watched(waits_moved(), lambda _: SPINS | counters))
    assert [one.place for one in found.places] == [f"file0.cc:{line}" for line in range(11, 11 - MOST_PLACES, -1)]
    assert semaphores(watched(waits_moved(), lambda _: SPINS | {PLACE: 0.0})).places == []


def test_spins_are_reported_by_kind_and_second() -> None:
    (row,) = semaphores(watched(waits_moved(), lambda name: {key: value * int(name) for key, value in SPINS.items()})).spins
    assert row.kind == "mutex"
    assert row.spins == {"1": 40.0, "8": 320.0}
    assert row.rounds == {"1": 900.0, "8": 7200.0}
    assert row.os_waits == {"1": 2.0, "8": 16.0}


def test_zeros_whatever_the_load_are_a_sentence_and_no_table_and_places_stay() -> None:
    found = semaphores(watched(waits_moved(), lambda _: ZEROS | {PLACE: 30.0}))
    assert found.spins == []
    assert [one.place for one in found.places] == ["btr0sea.cc:122"]
    (note,) = found.notes
    assert note.startswith("The server's counts of spins, rounds and waits for InnoDB's locks were zero")


def test_a_candidate_that_never_had_to_wait_on_a_build_that_counts_is_zero() -> None:
    found = semaphores(watched(waits_moved(), lambda name: SPINS if name == "1" else ZEROS))
    assert found.spins[0].rounds == {"1": 900.0, "8": 0.0}
    assert found.notes == []


def test_a_server_that_leaves_its_section_empty_is_named_and_shows_no_zeros() -> None:
    found = semaphores(watched(waits_moved(), lambda name: OTHERS | (SPINS | {PLACE: 30.0} if name == "1" else {})))
    assert found.places[0].waiting.keys() == found.spins[0].spins.keys() == {"1"}
    (note,) = found.notes
    assert note.startswith("With 8, the server's status does not report semaphores: MariaDB")
    (note,) = semaphores(watched(waits_moved(), lambda _: OTHERS)).notes
    assert note.startswith("The server's status does not report semaphores")


def test_where_the_status_could_not_be_read_nothing_is_reported_at_all() -> None:
    for record in (nothing_moved(), watched(waits_moved(), lambda _: {})):
        found = semaphores(record)
        assert not any((found.places, found.spins, found.notes))


def test_a_reading_of_an_empty_section_is_no_thread_that_did_not_wait() -> None:
    def reported(counters: Mapping[str, float]) -> MeasuredTrial:
        return measured.of(watched(waits_moved(), lambda _: counters))[0]

    assert waiting_threads(PLACE)(reported(OTHERS)) is None
    assert waiting_threads(PLACE)(reported(SPINS)) == 0.0


def test_hostile_names_of_places_are_kept_as_they_are_for_what_shows_them() -> None:
    found = semaphores(watched(waits_moved(), lambda _: SPINS | {f"semaphore_seen/{HOSTILE}:1/S-lock": 30.0}))
    assert found.places[0].place == f"{HOSTILE}:1"
