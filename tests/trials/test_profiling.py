"""A trial for a profile: what is recorded, and what is asked of the server."""

from contextlib import contextmanager, nullcontext

import pytest

from dialin.errors import MachineError, ServerError, UserError
from dialin.model.profile import ThreadKind
from dialin.model.trial import Purpose, Trial, TrialState
from dialin.probes import perf
from dialin.probes.perf_stacks import Sample
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
    def window(self):
        return nullcontext()


@pytest.fixture
def recorded(monkeypatch, clock):
    """Let perf return these samples, whose times count from the beginning of the window."""

    def use(*samples):
        began = clock.monotonic()

        @contextmanager
        def recording(pid, file):
            assert pid == Server.pid
            yield Recording()

        monkeypatch.setattr(perf, "recording", recording)
        monkeypatch.setattr(profiling, "threads_by_inner_id", lambda pid: {7: 12, 8: 13} if pid == Server.pid else {})
        monkeypatch.setattr(
            perf, "stacks", lambda file: [Sample(one.name, one.thread, one.time + began, one.frames) for one in samples]
        )

    return use


def trial(purpose):
    return Trial(1, 1, 1, 1, "a", TrialState.RUNNING, 0.0, purpose=purpose)


def run(server, clock, seconds=3.0):
    watcher = profiling.by_purpose(watch_nothing, clock)
    with watcher(trial(Purpose.PROFILE), server, None, lambda: 0.0) as watching:
        with watching.window():
            clock.sleep(seconds)
        clock.sleep(5)
    return watching.evidence(1).profile


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
    with profiling.by_purpose(watch_nothing, clock)(trial(Purpose.RACE), Server([]), None, lambda: 0.0) as watching:
        assert isinstance(watching, NoProbes)


def test_a_server_on_another_machine_is_refused():
    server = Server([])
    server.pid = None
    with pytest.raises(UserError, match="was not found on this machine"):
        profiling.check(server)
