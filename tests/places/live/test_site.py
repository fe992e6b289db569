"""When a live server may be changed, and what puts it back."""

import time
from types import SimpleNamespace

import pytest

from dialin.errors import InterruptedStudyError, ServerError
from dialin.model.traffic import TrafficSecond
from dialin.model.trial import Purpose, Step, Trial, TrialState
from dialin.places.live.guard import LEAST_KNOWN, LiveGuard, stop_file
from dialin.places.live.site import LiveChangeDetector, LiveServer, OpenLiveServer, seconds_until
from dialin.testing.fake_clock import FakeClock
from dialin.trials.change_detector import VariablesChangedError
from fixtures.live_studies import BASE, VARIABLE, Live, live_spec

HOUR = 3600.0
SLOT = 65.0
NEW = "400"


def at(hour, minute=0):
    """A moment of local time."""
    return time.mktime((2026, 3, 4, hour, minute, 0, 0, 0, -1))


class Server:
    """A live server that is set and read; `restore` puts the baseline back."""

    def __init__(self):
        self.build, self.values, self.set_to = None, {VARIABLE: BASE}, []

    def variables(self):
        return dict(self.values)

    def set_global(self, wanted):
        self.values |= {name: str(value) for name, value in wanted.items()}
        self.set_to.append(self.values[VARIABLE])
        return {VARIABLE: self.values[VARIABLE]}

    def restore(self):
        self.values[VARIABLE] = BASE


def usual_second(latency=2.0):
    return TrafficSecond(1.0, {"all": 100.0}, {"all": 100 * latency}, {"errors": 0.0, "aborted": 0.0}, running=1.0)


class Watched(FakeClock):
    """A clock by which the guard sees a second of the server for each that passes."""

    guard = None

    def sleep(self, seconds):
        before = int(self.monotonic())
        super().sleep(seconds)
        for _ in range(int(self.monotonic()) - before if self.guard else 0):
            self.guard.look(usual_second())


@pytest.fixture
def server():
    return Server()


@pytest.fixture
def opened(server):
    """Opens a live server with options, at a moment."""

    def open_with(now=None, **options):
        clock, spec = Watched(now or at(2)), live_spec(Live(effects={NEW: 0.8}))
        live = spec.place.model_copy(update=options)
        tools = SimpleNamespace(clock=clock)
        site = LiveServer(spec, live, server, None, tools, SLOT)
        detector = LiveChangeDetector([VARIABLE], lambda: clock.guard.has_acted())  # noqa: PLW0108 - it is made below
        detector.remember(server.variables())

        def restore():
            server.restore()
            detector.remember(server.variables())

        clock.guard = LiveGuard(live, restore, clock, stop_file(live.stop_file))
        return OpenLiveServer(site, {VARIABLE: BASE}, detector, clock.guard, restore, spec)

    return open_with


def trial(candidate, block=1, position=1):
    return Trial(1, block, 1, position, candidate, TrialState.RUNNING, 0.0, purpose=Purpose.RACE)


def watched_baseline(live):
    for _ in range(LEAST_KNOWN):
        live.guard.look(usual_second())


@pytest.mark.parametrize(
    ("hours", "now", "room", "seconds"),
    [
        ("01:00-05:00", at(2), 600, 0),
        ("01:00-05:00", at(0, 30), 600, HOUR / 2),
        ("01:00-05:00", at(4, 55), 600, 20 * HOUR + 300),
        ("22:00-04:00", at(23), 600, 0),
        ("22:00-04:00", at(3), 600, 0),
        ("22:00-04:00", at(12), 600, 10 * HOUR),
        ("01:00-01:05", at(1), 600, 0),
    ],
)
def test_a_block_begins_within_quiet_hours_that_have_room_for_it(hours, now, room, seconds):
    assert seconds_until(hours, now, room) == seconds


def test_quiet_hours_must_have_room_for_periods_whose_washout_was_lengthened(opened):
    live = opened(now=at(4, 57), between="01:00-05:00", at_most=0.9)
    live.began -= HOUR
    assert live.wait_for_block() == 0
    longer = live.spec.place.model_copy(update={"washout": live.spec.place.washout + 60})
    live.add_candidates(live.spec.model_copy(update={"place": longer}), {})
    assert live.wait_for_block() == 20 * HOUR + 180


@pytest.mark.parametrize("at_most", [0.5, 0.25, 0.1])
def test_the_server_is_away_from_the_baseline_for_its_share_of_the_time_at_most(opened, server, at_most):
    live = opened(at_most=at_most)
    watched_baseline(live)
    changed_for = 0.0
    for block in range(1, 7):
        for position, name in enumerate((NEW, BASE), start=1):
            stage = live.stage(trial(name, block, position))
            list(stage.ready())
            live.clock.sleep(SLOT)
            changed_for += SLOT * (server.values[VARIABLE] == NEW)
            stage.end(well=True)
        share = changed_for / (live.clock.monotonic() - live.began)
        assert share <= at_most + 1e-9
    assert share > 0.9 * at_most
    assert changed_for == 6 * SLOT


def test_a_block_waits_for_its_hours_with_the_baseline_in_force(opened, server):
    live = opened(now=at(0, 30), between="01:00-05:00")
    watched_baseline(live)
    stage = live.stage(trial(NEW))
    steps = list(stage.ready())
    assert steps == [Step.PAUSE, Step.SET]
    assert live.clock.now() == pytest.approx(at(1), abs=1)
    assert server.values[VARIABLE] == NEW
    stage.end(well=True)
    assert server.values[VARIABLE] == BASE


def test_no_candidate_comes_into_force_before_the_baseline_is_known(opened, server):
    live = opened()
    began = live.clock.monotonic()
    assert list(live.stage(trial(NEW)).ready()) == [Step.PAUSE, Step.SET]
    assert live.clock.monotonic() - began >= LEAST_KNOWN


def test_after_a_trip_the_next_candidate_waits_until_the_server_is_as_usual(opened, server):
    live = opened()
    watched_baseline(live)
    stage = live.stage(trial(NEW))
    list(stage.ready())
    live.guard.look(usual_second(latency=50.0))
    assert server.values[VARIABLE] == BASE
    with pytest.raises(ServerError):
        live.guard.check()
    stage.end(well=False)
    live.guard.look(usual_second(latency=50.0))
    began = live.clock.monotonic()
    assert list(live.stage(trial(NEW, block=2)).ready()) == [Step.PAUSE, Step.SET]
    assert live.clock.monotonic() - began >= 5


def test_a_stop_file_ends_a_study_that_waits_without_a_change(opened, server, tmp_path):
    live = opened(now=at(0, 30), between="01:00-05:00", stop_file=str(tmp_path / "stop"))
    watched_baseline(live)
    steps = live.stage(trial(NEW)).ready()
    assert next(steps) is Step.PAUSE
    (tmp_path / "stop").touch()
    with pytest.raises(InterruptedStudyError, match="stop file"):
        next(steps)
    assert server.set_to == []


def test_a_stop_file_puts_back_a_candidate_that_is_in_force_within_a_second(opened, server, tmp_path):
    live = opened(stop_file=str(tmp_path / "stop"))
    watched_baseline(live)
    list(live.stage(trial(NEW)).ready())
    (tmp_path / "stop").touch()
    live.clock.sleep(1)
    assert server.values[VARIABLE] == BASE
    with pytest.raises(InterruptedStudyError, match="stop file"):
        live.guard.check()


def test_a_guard_that_is_faster_than_the_change_leaves_the_baseline_in_force(opened, server):
    live = opened()
    watched_baseline(live)
    slow = server.set_global

    def set_while_it_stalls(wanted):
        live.guard.look(None)
        return slow(wanted)

    server.set_global = set_while_it_stalls
    with pytest.raises(ServerError):
        list(live.stage(trial(NEW)).ready())
    assert server.values[VARIABLE] == BASE


def test_values_that_were_read_before_the_guard_acted_are_no_change_by_somebody_else(opened, server):
    live = opened()
    watched_baseline(live)
    stage = live.stage(trial(NEW))
    list(stage.ready())
    read = server.variables()
    live.guard.look(usual_second(latency=50.0))
    stage.detector.check(read, Step.VERIFY)
    stage.end(well=False)
    assert list(live.stage(trial(NEW, block=2)).ready()) == [Step.PAUSE, Step.SET]


def test_a_value_that_somebody_else_sets_is_noticed_where_the_guard_has_not_acted(opened, server):
    live = opened()
    watched_baseline(live)
    stage = live.stage(trial(NEW))
    list(stage.ready())
    with pytest.raises(VariablesChangedError):
        stage.detector.check({VARIABLE: "999"}, Step.VERIFY)
