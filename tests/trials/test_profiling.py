"""A trial for a profile: what is recorded, and what is asked of the server."""

import threading
from contextlib import contextmanager
from dataclasses import replace

import pytest

from dialin.errors import MachineError, ServerError, UserError
from dialin.model.profile import ThreadKind
from dialin.model.trial import Purpose, Trial, TrialState
from dialin.probes import perf
from dialin.probes.perf_stacks import Call, Sample
from dialin.trials import profiling
from dialin.trials.probing import NoProbes, watch_nothing


class Server:
    pid = 4711

    def __init__(self, rows):
        self.rows = rows

    @contextmanager
    def connect(self, timeout=10.0):
        yield self.query

    def query(self, statement, arguments=()):
        if isinstance(self.rows, Exception):
            raise self.rows
        return self.rows


class Recording:
    """A perf that notes when it records; `broken` ends it."""

    def __init__(self, name, orders, broken=False):
        self.name, self.orders, self.broken = name, orders, broken

    @contextmanager
    def window(self):
        if self.broken:
            raise MachineError("perf has ended or does not answer")
        self.orders.append(f"{self.name} on")
        yield
        self.orders.append(f"{self.name} off")


@pytest.fixture
def recorded(monkeypatch, clock):
    """Let perf return these samples, whose times count from the beginning of the window; trace nothing unless it is given."""

    def use(*samples, trace=None, broken=False, per_sample=perf.PERIOD):
        began, orders = clock.monotonic(), []

        def at(one):
            return replace(one, time=one.time + began, until=one.until and one.until + began)

        @contextmanager
        def recording_stacks(pid, file):
            assert pid == Server.pid
            yield Recording("stacks", orders), per_sample

        @contextmanager
        def recording(pid, file, events):
            assert events == perf.TRACE
            if trace is None:
                raise MachineError("No permission to trace")
            yield Recording("trace", orders, broken)
            orders.append("trace ended")

        monkeypatch.setattr(perf, "recording_stacks", recording_stacks)
        monkeypatch.setattr(perf, "recording", recording)
        monkeypatch.setattr(profiling, "threads_by_inner_id", lambda pid: {7: 12, 8: 13} if pid == Server.pid else {})
        monkeypatch.setattr(perf, "stacks", lambda file, pid: map(at, samples))
        monkeypatch.setattr(perf, "trace", lambda file, pid: map(at, trace))
        return orders

    return use


def trial(purpose):
    return Trial(1, 1, 1, 1, "a", TrialState.RUNNING, 0.0, purpose=purpose)


def run(server, clock, seconds=3.0):
    watcher = profiling.by_purpose(watch_nothing, clock, 0.0)
    with watcher(trial(Purpose.PROFILE), server, None, lambda: 0.0) as watching:
        with watching.window():
            clock.sleep(seconds)
        clock.sleep(5)
    return watching.evidence(1).profile


@pytest.fixture
def turns(monkeypatch, clock):
    """Let the thread of a profile move the clock by its turns, up to these seconds, and then let the window end."""

    def use(seconds):
        over, end = threading.Event(), clock.monotonic() + seconds

        def wait(ended, wanted):
            left = end - clock.monotonic()
            clock.sleep(left if wanted is None else min(left, wanted))
            if clock.monotonic() >= end:
                over.set()
                return ended.wait()
            return False

        made = profiling.Profiler
        monkeypatch.setattr(profiling, "Profiler", lambda *given: made(*given, wait=wait))
        watcher = profiling.by_purpose(watch_nothing, clock, profiling.traced_seconds(seconds))
        with watcher(trial(Purpose.PROFILE), Server([]), None, lambda: 0.0) as watching, watching.window():
            over.wait()
        return watching.evidence(1).profile

    return use


def test_samples_are_cut_into_seconds_and_threads_of_a_container_named_as_the_server_names_them(recorded, clock):
    recorded(Sample("mysqld", 12, 0.5, ("main", "work")), Sample("mysqld", 13, 2.5, ("main", "work")))
    profile = run(Server([(7, "thread/innodb/log_writer_thread"), (8, "thread/sql/one_connection")]), clock)
    assert [round(one.ended - one.began, 6) for one in profile.slices] == [1.0, 1.0, 1.0]
    assert {one.kind: one.samples for one in profile.stacks} == {
        ThreadKind.LOG: (1, 0, 0),
        ThreadKind.CONNECTIONS: (0, 0, 1),
    }


def test_a_long_window_has_no_more_than_twenty_slices(recorded, clock):
    recorded(Sample("connection", 12, 0.5, ("main", "work")))
    assert len(run(Server([]), clock, 600.0).slices) == 20


def test_a_server_that_does_not_name_its_threads_is_profiled_all_the_same(recorded, clock):
    recorded(Sample("connection", 12, 0.5, ("main", "work")))
    assert run(Server(ServerError("There is no such table")), clock).samples == 1


def test_a_profile_without_a_sample_is_a_fault_of_this_machine(recorded, clock):
    recorded()
    with pytest.raises(MachineError, match="no thread"):
        run(Server([]), clock)


def test_other_trials_are_not_profiled(clock):
    with profiling.by_purpose(watch_nothing, clock, 0.0)(trial(Purpose.RACE), Server([]), None, lambda: 0.0) as watching:
        assert isinstance(watching, NoProbes)


def test_a_server_on_another_machine_is_refused():
    server = Server([])
    server.pid = None
    with pytest.raises(UserError, match="was not found on this machine"):
        profiling.check(server)


def test_waits_and_calls_are_traced_in_slices_of_their_own(recorded, turns):
    work = Sample("connection", 12, 0.5, ("main", "work"))
    wait = Sample("connection", 12, 0.5, ("main", "wait"), 0.75)
    late = Sample("connection", 12, 1.9, ("main", "wait"), float("inf"))
    while_sampled = Sample("connection", 12, 3.0, ("main", "wait"), 3.5)
    orders = recorded(replace(work, time=2.5), trace=[wait, late, while_sampled, Call("connection", 12, 0.2, ("futex",))])
    profile = turns(16.0)
    assert orders == ["trace on", "trace off", "trace ended", "stacks on", "stacks off"]
    assert [round(one.ended - one.began, 6) for one in profile.slices] == [1.0] * 14
    assert [round(one.ended - one.began, 6) for one in profile.waits.slices] == [1.0, 1.0]
    (waited,) = profile.waits.stacks
    assert waited.samples == (250_000, 100_000), "microseconds, a wait without an end to that of its slice"
    assert profile.waits.per_sample == 1e-6
    assert [(one.frames, one.samples) for one in profile.calls.stacks] == [(("futex",), (1, 0))]
    assert profile.untraced == ""


@pytest.mark.parametrize(("measure", "traced"), [(2.0, 0), (4.0, 1), (10.0, 1), (30.0, 3), (60.0, 7), (600.0, 8)])
def test_an_eighth_of_a_window_is_traced_eight_seconds_at_most_and_nothing_of_a_short_one(measure, traced):
    assert profiling.traced_seconds(measure) == traced


def test_a_short_window_is_not_traced_and_says_so(recorded, turns):
    orders = recorded(Sample("connection", 12, 0.5, ("main", "work")), trace=[])
    profile = turns(3.0)
    assert orders == ["stacks on", "stacks off"]
    assert "less than 4 s" in profile.untraced


def test_without_the_right_to_trace_stacks_are_sampled_all_the_same(recorded, turns):
    orders = recorded(Sample("connection", 12, 0.5, ("main", "work")))
    profile = turns(10.0)
    assert orders == ["stacks on", "stacks off"]
    assert (profile.samples, profile.waits, profile.calls) == (1, None, None)
    assert profile.untraced == "No permission to trace"


def test_a_trace_that_breaks_does_not_take_the_profile_with_it(recorded, turns):
    orders = recorded(Sample("connection", 12, 0.5, ("main", "work")), trace=[], broken=True)
    profile = turns(10.0)
    assert orders == ["trace ended", "stacks on", "stacks off"]
    assert profile.samples == 1
    assert "does not answer" in profile.untraced


def test_samples_of_cycles_share_the_cpu_time_that_the_kernel_counted(recorded, turns, clock, monkeypatch):
    monkeypatch.setattr(profiling.host, "cpu_seconds", lambda pid: clock.monotonic() / 2)
    recorded(*[Sample("connection", 12, 1.5, ("main", "work"))] * 100, trace=[], per_sample=None)
    assert turns(10.0).per_sample == pytest.approx((10 - 1) / 2 / 100)
