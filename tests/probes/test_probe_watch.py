import threading
from contextlib import contextmanager

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dialin.errors import ServerError
from dialin.model.evidence import Gauge, ProbeNote, ProbeNoteCode
from dialin.probes.probe import Reading
from dialin.probes.probe_watch import Watch
from dialin.sentences.probe_notes import probe_note_text
from dialin.testing.fake_clock import FakeClock

NO_DISK = ProbeNote(ProbeNoteCode.DISK_UNKNOWN)


def texts(notes):
    return tuple(map(probe_note_text, notes))


class StopClock(FakeClock):
    """A clock on which the watch's thread wakes only when the test says so."""

    def __init__(self):
        super().__init__(100.0)
        self.asleep, self.wake, self.free = threading.Semaphore(0), threading.Semaphore(0), False
        self.naps = []

    def sleep(self, seconds):
        self.naps.append(seconds)
        self.asleep.release()
        if not self.free:
            self.wake.acquire()

    def pass_time(self, seconds):
        super().sleep(seconds)

    def tick(self, seconds):
        """Let time pass, and the watch look once."""
        self.asleep.acquire()
        self.pass_time(seconds)
        self.wake.release()
        self.asleep.acquire()
        self.asleep.release()


class ScriptedProbe:
    """A probe that tells what it is given, one after another, and the last for ever after."""

    def __init__(self, clock, *readings, name="probe", period=0.0, takes=0.0):
        self.clock, self.readings, self.name, self.period, self.takes = clock, list(readings), name, period, takes
        self.asked = 0

    def read(self):
        self.asked += 1
        self.clock.pass_time(self.takes)
        reading = self.readings.pop(0) if len(self.readings) > 1 else self.readings[0]
        if isinstance(reading, Exception):
            raise reading
        return reading


def count(value):
    return Reading({"n": value})


@pytest.fixture
def clock():
    return StopClock()


@contextmanager
def watching(clock, *probes, **more):
    with Watch(probes, clock, **more) as watch:
        try:
            yield watch
        finally:
            clock.free = True
            clock.wake.release()


def saw(watch, name="probe"):
    return next(one for one in watch.taken() if one.probe == name)


def test_a_counter_is_reported_by_how_much_it_rose_while_the_window_was_open(clock):
    with watching(clock, ScriptedProbe(clock, count(5), count(12))) as watch:
        with watch.window():
            clock.pass_time(10)
        assert (saw(watch).counters, saw(watch).seconds, saw(watch).readings) == ({"n": 7}, 10, 2)


def test_counts_between_two_windows_are_nobodys(clock):
    with watching(clock, ScriptedProbe(clock, count(0), count(3), count(1000), count(1004))) as watch:
        for seconds in (10, 20):
            with watch.window():
                clock.pass_time(seconds)
            clock.pass_time(500)
        assert (saw(watch).counters, saw(watch).seconds) == ({"n": 7}, 30)


def test_a_counter_that_did_not_move_is_kept(clock):
    with watching(clock, ScriptedProbe(clock, count(5))) as watch:
        with watch.window():
            clock.pass_time(10)
        assert saw(watch).counters == {"n": 0}
        assert not watch.points().at


def test_a_counter_that_was_reset_began_anew_and_one_that_is_new_began_at_nothing(clock):
    with watching(clock, ScriptedProbe(clock, count(100), Reading({"n": 4, "new": 9}))) as watch:
        with watch.window():
            clock.pass_time(10)
        assert saw(watch).counters == {"n": 4, "new": 9}


def test_a_probe_is_read_at_its_own_pace(clock):
    quick, slow = (ScriptedProbe(clock, count(1), name=name, period=period) for name, period in (("quick", 1), ("slow", 3)))
    ends = ScriptedProbe(clock, count(1), name="ends")
    with watching(clock, quick, slow, ends) as watch:
        with watch.window():
            for _ in range(12):
                clock.tick(0.5)
        assert [one.readings for one in watch.taken()] == [1 + 6 + 1, 1 + 2 + 1, 2]


def test_no_probe_is_read_outside_of_a_window(clock):
    probe = ScriptedProbe(clock, count(1), period=1)
    with watching(clock, probe):
        for _ in range(4):
            clock.tick(1)
        assert probe.asked == 0


def test_a_probe_that_answers_slowly_is_asked_less_often(clock):
    probe = ScriptedProbe(clock, count(1), period=1, takes=0.5)
    with watching(clock, probe) as watch, watch.window():
        for _ in range(18):
            clock.tick(0.5)
        assert probe.asked == 1, "half a second is a twentieth of ten, and it took the first half second of them"
        clock.tick(0.5)
        assert probe.asked == 2


def test_it_looks_when_something_is_due_and_seldom_in_between(clock):
    fails = ScriptedProbe(clock, ServerError("It is broken"), name="fails", period=0.01)
    with watching(clock, ScriptedProbe(clock, count(1), period=1), fails) as watch, watch.window():
        for seconds in (0.1, 0.4, 0.37, 0.1, 0.1):
            clock.tick(seconds)
        assert clock.naps[1:] == pytest.approx([0.5, 0.5, 0.13, 0.05, 0.5])


def test_a_probe_that_fails_twice_is_left_alone_and_the_others_are_not(clock):
    fails = ScriptedProbe(clock, ServerError("It is broken", "Mend it"), name="fails", period=1)
    works = ScriptedProbe(clock, count(1), name="works", period=1)
    with watching(clock, fails, works) as watch:
        with watch.window():
            for _ in range(5):
                clock.tick(1)
        assert (fails.asked, works.asked) == (2, 7)
        assert texts(saw(watch, "fails").notes) == ("fails could not be read: It is broken",)
        assert saw(watch, "fails").counters == {}


def test_a_reading_that_failed_once_costs_nothing_of_what_was_counted(clock):
    probe = ScriptedProbe(clock, count(1), ServerError("Slow"), count(6), ServerError("Slow"), count(9), period=1)
    with watching(clock, probe) as watch:
        with watch.window():
            for _ in range(3):
                clock.tick(1)
            clock.pass_time(1)
        assert (saw(watch).counters, saw(watch).seconds) == ({"n": 8}, 4)


def test_a_window_whose_first_reading_failed_is_reported_from_the_second_on(clock):
    with watching(clock, ScriptedProbe(clock, ServerError("Slow"), count(5), count(9), period=1)) as watch:
        with watch.window():
            clock.tick(1)
            clock.pass_time(3)
        assert (saw(watch).counters, saw(watch).seconds) == ({"n": 4}, 3)


def test_a_fault_of_a_probe_is_noted_and_costs_no_trial(clock):
    with watching(clock, ScriptedProbe(clock, count(1), ValueError("odd"), period=1)) as watch:
        with watch.window():
            clock.tick(1)
        assert texts(saw(watch).notes) == ("probe could not be read: a fault of dialin, ValueError('odd')",)


def test_gauges_are_summed_up(clock):
    readings = [Reading(gauges={"g": value}) for value in (4, 1, 9, 2)]
    with watching(clock, ScriptedProbe(clock, *readings, period=1)) as watch:
        with watch.window():
            clock.tick(1)
            clock.tick(1)
        assert saw(watch).gauges == {"g": Gauge(first=4, last=2, least=1, most=9, mean=4)}


def test_the_cost_of_reading_is_counted(clock):
    cpu = iter(range(100))
    with watching(clock, ScriptedProbe(clock, count(1), takes=0.25), thread_cpu=lambda: next(cpu) / 1000) as watch:
        with watch.window():
            clock.pass_time(10)
        assert saw(watch).waited == pytest.approx(0.5)
        assert saw(watch).cpu == pytest.approx(0.002)
        assert saw(watch).seconds == pytest.approx(10.25), "from the middle of one reading to the middle of the other"


def test_a_window_that_an_error_ends_asks_nobody_again(clock):
    probe = ScriptedProbe(clock, count(1))
    with watching(clock, probe) as watch:
        with pytest.raises(ServerError), watch.window():
            raise ServerError("It is gone")
        assert probe.asked == 1


def test_rates_and_values_over_time_are_reported_with_one_time_for_each_reading(clock):
    readings = [Reading({"n": n, "m": 2 * n, "still": 7}, {"g": -n}) for n in (0, 10, 40)]
    with watching(clock, ScriptedProbe(clock, *readings, period=1)) as watch:
        with watch.window():
            clock.tick(2)
            clock.pass_time(3)
        points = watch.points()
    figures = zip(points.at, points.which, points.value, strict=True)
    assert [(at - 100, points.names[which][1], value) for at, which, value in figures] == [
        (0, "g", 0),
        (2, "g", -10),
        (2, "n", 5),
        (2, "m", 10),
        (5, "g", -40),
        (5, "n", 10),
        (5, "m", 20),
    ]


def test_the_same_note_is_kept_once(clock):
    with watching(clock, ScriptedProbe(clock, Reading(notes=(NO_DISK,)))) as watch:
        with watch.window():
            pass
        assert saw(watch).notes == (NO_DISK,)


def test_without_a_probe_that_has_a_pace_no_thread_runs(clock):
    before = set(threading.enumerate())
    with Watch([ScriptedProbe(clock, count(1))], clock):
        assert set(threading.enumerate()) <= before


def test_its_thread_ends_with_it(clock):
    before = set(threading.enumerate())
    with watching(clock, ScriptedProbe(clock, count(1), period=1)):
        (started,) = set(threading.enumerate()) - before
    assert not started.is_alive()


@given(st.lists(st.lists(st.integers(0, 1000), min_size=1, max_size=6), min_size=1, max_size=4))
def test_however_often_it_is_read_a_counter_rose_by_the_same(rises):
    """The rises of each window: the first reading is at its beginning; what rises between windows is not counted."""
    clock, at, readings = StopClock(), 0, []
    for window in rises:
        at += 17
        readings.append(count(at))
        for rise in window:
            at += rise
            readings.append(count(at))
    with watching(clock, ScriptedProbe(clock, *readings, period=1)) as watch:
        for window in rises:
            with watch.window():
                for _ in window[:-1]:
                    clock.tick(1)
        assert saw(watch).counters == {"n": sum(map(sum, rises))}


def test_of_a_long_trial_sums_have_every_reading_and_figures_over_time_have_ever_fewer(clock):
    seconds, probe = 10_000, ScriptedProbe(clock, Reading({"n": 0.0}, {"level": 0.0}))
    watch = Watch([probe], clock)
    with watch.window():
        for second in range(1, seconds + 1):
            probe.readings = [Reading({"n": 3.0 * second}, {"level": float(second)})]
            clock.pass_time(1)
            watch._read(watch._accounts[0])
    taken, points = watch.taken()[0], watch.points()
    assert taken.counters == {"n": 3.0 * seconds}
    assert taken.seconds == seconds
    assert taken.gauges["level"].mean == pytest.approx(seconds / 2, rel=0.001), "each reading counts once"
    rates = [
        (at, value)
        for at, which, value in zip(points.at, points.which, points.value, strict=True)
        if points.names[which][1] == "n"
    ]
    assert {value for _, value in rates} == {3.0}
    times = [at - rates[0][0] + 1 for at, _ in rates]
    assert times[:900] == list(range(1, 901)), "of 15 minutes, every second"
    assert times[900:905] == [902, 904, 906, 908, 910]
    assert 2500 < len(times) < 3000
    assert times[-1] > seconds - 12
