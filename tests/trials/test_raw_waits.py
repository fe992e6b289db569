"""Trials for raw waits: the ring is read in time, and what is missing of the server's own count is said."""

import threading
from contextlib import contextmanager
from pathlib import Path

import polars as pl
import pytest

from dialin.errors import DialinError, MachineError, UserError
from dialin.model.build import Build, Vendor
from dialin.model.cause import Fault
from dialin.model.record import LogCode, LogLine
from dialin.model.trial import Purpose, Trial, TrialState
from dialin.sentences.log_sentences import log_text
from dialin.sentences.probe_notes import probe_note_text
from dialin.servers.connection import RefusedError
from dialin.servers.wait_ring import WaitRing
from dialin.store import waits_file
from dialin.store.store import Store
from dialin.trials import raw_waits
from dialin.trials.raw_waits import Collector, by_purpose, check, needs, raise_priority

LOCKS = "wait/synch/sxlock/innodb/hash_table_locks"
SECOND = 10**12
GIB = 1024**3


class Server:
    """A server that keeps waits in a ring; `wait` makes some, `clock` tells its time."""

    def __init__(self, directory, clock, size=1000):
        self.directory, self.clock, self.size = directory, clock, size
        self.on = set()
        self.ring, self.count, self.event = [], 0, 0
        self.statements = []
        self.names = [LOCKS, "wait/io/file/sql/FRM"]
        self.full = False
        self.while_asked = None

    def now(self):
        return round(self.clock.monotonic() * SECOND)

    def wait(self, count, thread=40, name=LOCKS):
        for _ in range(count):
            self.event += 1
            if name in self.on:
                self.count += 1
                self.ring.append((thread, self.event, name, "shared_lock", self.now() - 500, 500, self.now()))
        del self.ring[: -self.size]

    def __call__(self, statement, arguments=()):
        self.statements.append(statement)
        words = " ".join(statement.split())
        if words.startswith("SELECT NAME FROM performance_schema.setup_instruments"):
            return [(name,) for name in self.names]
        if "setup_timers" in words:
            raise RefusedError("no such table", "", 1146)
        if "SET ENABLED = 'NO'" in words:
            self.on.clear()
        elif "SET ENABLED = %s" in words:
            self.on = set(arguments[2]) if arguments[0] == "YES" else self.on - set(arguments[2])
        elif words.startswith("TRUNCATE"):
            self.ring.clear()
        elif "INTO OUTFILE" in words:
            after, upto, names, path = arguments
            if self.full:
                raise RefusedError("No space left on device", "", 1026)
            rows = [(*row[:6], 1) for row in self.ring if after < row[6] <= upto and row[2] in names]
            Path(path).write_text("".join("\t".join(map(str, row)) + "\n" for row in rows))
        if "MAX(TIMER_END)" in words and self.while_asked:
            self.while_asked()
        newest = max((row[6] for row in self.ring), default=None)
        answers = {
            "@@secure_file_priv": [(f"{self.directory}/",)],
            "@@performance_schema_events_waits_history_long_size": [(self.size,)],
            "MAX(TIMER_END)": [(newest,)],
            "COUNT_STAR": [(self.count,)],
            "SELECT THREAD_ID FROM performance_schema.threads": [(1,), (2,)],
            "performance_timers": [(2_600_000_000,)],
        }
        return next((rows for part, rows in answers.items() if part in words), [])


def collected_text(candidate, waits):
    figures = {"pattern": waits.pattern, "events": waits.events, "lost": waits.lost, "candidate": candidate}
    return log_text(LogLine(0.0, LogCode.WAITS_COLLECTED, figures))


def texts(waits):
    return tuple(map(probe_note_text, waits.notes))


@pytest.fixture
def server(tmp_path, clock):
    (tmp_path / "tmp").mkdir()
    clock.sleep(100)
    return Server(tmp_path / "tmp", clock)


@pytest.fixture
def store(tmp_path, spec):
    with Store.create(tmp_path, spec, created=0, dialin_version="0", command="", host={}, servers={}) as made:
        yield made


def collector(server, clock, free=100 * GIB, pattern="hash_table_locks", memory=100 * GIB):
    free_at = free if callable(free) else lambda path: free
    return Collector(server, pattern, clock, server.directory.parent, free=free_at, memory=lambda: memory)


def stored_waits(collected, store, trial=1):
    evidence = collected.evidence(trial)
    store.save_waits(trial, evidence.waits, evidence.waits_file)
    return store.waits()[trial]


@contextmanager
def quiet(collected, monkeypatch):
    """A window whose thread does not run, so that the test says when the ring is looked at."""
    monkeypatch.setattr(collected, "_keep_up", lambda ring: None)
    with collected.window():
        yield collected._ring


def test_waits_in_the_window_are_kept_and_no_others(server, clock, store, monkeypatch):
    collected = collector(server, clock)
    server.wait(50)
    with quiet(collected, monkeypatch):
        server.wait(30)
        server.wait(5, name="wait/io/file/sql/FRM")
        clock.sleep(10)
    server.wait(50)
    waits = stored_waits(collected, store)
    assert (waits.pattern, waits.events, waits.lost, waits.seconds) == ("hash_table_locks", 30, 0, 10)
    assert (waits.timer, waits.frequency) == ("CYCLE", 2.6e9)
    assert {row.instrument for row in waits.rows} == {LOCKS}
    assert pl.read_parquet(store.directory_of_waits / "trial-1.parquet").height == 30
    assert list(server.directory.iterdir()) == []


def test_the_ring_is_read_before_it_wraps_and_no_event_comes_twice(server, clock, store, monkeypatch):
    collected = collector(server, clock)
    with quiet(collected, monkeypatch) as ring:
        for _ in range(40):
            clock.sleep(0.1)
            server.wait(100)
            collected.look(ring)
    waits = stored_waits(collected, store)
    assert (waits.events, waits.lost) == (4000, 0)
    events = pl.read_parquet(store.directory_of_waits / "trial-1.parquet")
    assert events.select("thread", "event").n_unique() == 4000


def test_waits_that_the_ring_no_longer_held_are_counted_as_lost_exactly(server, clock, store, monkeypatch):
    collected = collector(server, clock)
    with quiet(collected, monkeypatch):
        clock.sleep(1)
        server.wait(2500)
    waits = stored_waits(collected, store)
    assert (waits.events, waits.lost) == (1000, 1500)
    assert collected_text("8", waits) == (
        "Collecting the raw waits of hash_table_locks with 8: 1,000 events, 1,500 more lost (60.0 %)"
    )


def test_two_windows_of_one_trial_are_added_up(server, clock, store, monkeypatch):
    collected = collector(server, clock)
    for count in (10, 20):
        with quiet(collected, monkeypatch):
            clock.sleep(3)
            server.wait(count)
    waits = stored_waits(collected, store)
    assert (waits.events, waits.lost, waits.seconds) == (30, 0, 6)


def test_background_threads_are_not_the_loads_and_not_lost(server, clock, store, monkeypatch):
    collected = collector(server, clock)
    with quiet(collected, monkeypatch):
        clock.sleep(1)
        server.wait(10)
        server.wait(4, thread=2)
    waits = stored_waits(collected, store)
    assert (waits.events, waits.lost) == (10, 0)


def test_a_disk_that_fills_up_ends_the_reading_and_the_rest_is_said_to_be_lost(server, clock, store, monkeypatch):
    collected = collector(server, clock, free=GIB)
    with quiet(collected, monkeypatch):
        clock.sleep(1)
        server.wait(10)
    waits = stored_waits(collected, store)
    assert (waits.events, waits.lost) == (0, 10)
    assert any("disk" in note for note in texts(waits))


def test_a_study_directory_that_the_waits_would_fill_ends_the_reading_too(server, clock, store, monkeypatch):
    asked = []

    def free(path):
        asked.append(path)
        return 100 * GIB if path == server.directory else raw_waits._LEAST_FREE + 1000

    collected = collector(server, clock, free)
    with quiet(collected, monkeypatch) as ring:
        for _ in range(10):
            clock.sleep(1)
            server.wait(300)
            collected.look(ring)
    waits = stored_waits(collected, store)
    assert set(asked) == {server.directory, server.directory.parent}
    assert 0 < waits.events < 1000
    assert waits.events + waits.lost == 3000
    assert texts(waits) == ("Reading stopped: less than 2 GB of disk would have remained",)


@pytest.mark.parametrize("windows", [1, 2])
def test_no_more_waits_are_kept_than_there_is_memory_to_sum_up_and_the_rest_is_counted(
    server, clock, store, monkeypatch, windows
):
    collected = collector(server, clock, memory=2 * 5000 * waits_file.MEMORY)
    for _ in range(windows):
        with quiet(collected, monkeypatch) as ring:
            for _ in range(100 // windows):
                clock.sleep(1)
                server.wait(300)
                collected.look(ring)
    waits = stored_waits(collected, store)
    assert 5000 - server.size <= waits.events <= 5000 + server.size
    assert waits.events + waits.lost == 30_000
    assert texts(waits) == ("Reading stopped: a trial stores at most about 5,000 waits, to limit the memory for their summary",)


def test_as_many_as_there_is_memory_for_are_all_kept(server, clock, store, monkeypatch):
    collected = collector(server, clock, memory=2 * 5000 * waits_file.MEMORY)
    with quiet(collected, monkeypatch) as ring:
        for _ in range(15):
            clock.sleep(1)
            server.wait(300)
            collected.look(ring)
    waits = stored_waits(collected, store)
    assert (waits.events, waits.lost, waits.notes) == (4500, 0, ())


def test_however_much_memory_there_is_a_trial_keeps_a_hundred_million(server, clock, monkeypatch):
    collected = collector(server, clock, memory=1024 * GIB)
    with quiet(collected, monkeypatch):
        assert collected._most == 100_000_000


def test_a_slow_answer_about_the_servers_time_loses_no_wait(server, clock, store, monkeypatch):
    def slowly():
        server.while_asked = None
        clock.sleep(5)
        server.wait(10)

    server.while_asked = slowly
    collected = collector(server, clock, free=100 * GIB)
    with quiet(collected, monkeypatch) as ring:
        for _ in range(30):
            clock.sleep(0.5)
            server.wait(250)
            collected.look(ring)
    waits = stored_waits(collected, store)
    assert (waits.events, waits.lost) == (7510, 0)


def test_an_interrupt_does_not_wait_for_a_reading_under_way(server, clock, monkeypatch):
    reading, over = threading.Event(), threading.Event()

    def read_for_ever(ring):
        reading.set()
        over.wait(60)

    collected = collector(server, clock)
    monkeypatch.setattr(raw_waits, "_BRIEFLY", 0.01)
    monkeypatch.setattr(collected, "_keep_up", read_for_ever)
    asked = []

    def interrupt():
        assert reading.wait(60)
        asked.extend(server.statements)
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt), collected.window():
        interrupt()
    left = any(thread.name == "waits" for thread in threading.enumerate())
    over.set()
    assert left, "the thread ends with its connection"
    assert server.statements == asked


@pytest.mark.parametrize(
    ("error", "reason"),
    [(OSError(28, "No space"), "No space"), (AttributeError("no read"), "no read"), (ValueError(), "ValueError")],
)
def test_whatever_ends_the_reading_is_noted(server, clock, monkeypatch, error, reason):
    def fail(ring):
        raise error

    collected = collector(server, clock)
    monkeypatch.setattr(collected, "look", fail)
    collected._keep_up(collected._ring)
    note = probe_note_text(*collected._notes)
    assert note.startswith("The wait history could not be read while the load ran: ")
    assert reason in note


def test_a_directory_of_the_server_that_is_gone_is_no_fault_of_the_server(server, clock, monkeypatch):
    def gone(path):
        raise FileNotFoundError(2, "No such directory")

    collected = collector(server, clock, gone)
    with pytest.raises(MachineError, match="No such directory"), quiet(collected, monkeypatch):
        server.wait(1)


def test_a_disk_that_fills_up_while_the_waits_are_written_says_how_to_go_on(server, clock, store, monkeypatch):
    def full(*_, **__):
        raise pl.exceptions.ComputeError("No space left on device")

    collected = collector(server, clock)
    with quiet(collected, monkeypatch):
        server.wait(1)
    monkeypatch.setattr(pl.DataFrame, "write_parquet", full)
    with pytest.raises(DialinError, match=r"cannot be written.*No space left on device") as caught:
        collected.evidence(1)
    assert (caught.value.fault, caught.value.resumable) == (Fault.MACHINE, True)


def test_a_reading_that_the_server_refuses_is_noted_and_the_last_one_still_counts(server, clock, store):
    collected = collector(server, clock)
    with collected.window():
        server.full = True
        server.wait(600)
        while not collected._notes:  # the thread looks in its own time
            pass
        server.full = False
    waits = stored_waits(collected, store)
    assert any("No space left" in note for note in texts(waits))
    assert (waits.events, waits.lost) == (600, 0)


def test_a_server_without_such_an_instrument_collects_nothing_and_says_so(server, clock, store):
    collected = collector(server, clock, pattern="no_such_lock")
    with collected.window():
        server.wait(10)
    waits = stored_waits(collected, store)
    assert (waits.events, waits.lost, waits.rows) == (0, 0, ())
    assert texts(waits) == ("No instrument of this server matches no_such_lock",)


def test_a_load_that_fails_is_what_is_reported_not_the_server_that_went_with_it(server, clock, monkeypatch):
    collected = collector(server, clock)

    def fail():
        server.full = True
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError), quiet(collected, monkeypatch):
        fail()


def test_a_study_that_cannot_be_written_says_so(server, clock, store, monkeypatch):
    collected = collector(server, clock)
    (store.directory_of_waits).write_text("in the way")
    with quiet(collected, monkeypatch):
        server.wait(1)
    with pytest.raises(DialinError, match="cannot be written"):
        collected.evidence(1)


def test_a_server_that_may_not_write_files_is_refused(server):
    server.directory = ""
    with pytest.raises(DialinError, match="may not write files"):
        WaitRing(lambda statement, arguments=(): [(None,)], [LOCKS])


def trial(purpose):
    return Trial(0, 1, 1, 1, "1", TrialState.RUNNING, 0.0, purpose=purpose)


BUILD = Build(Vendor.ORACLE, (9, 7, 4), Path("/mysqld"))


def test_only_trials_for_waits_are_started_with_instruments():
    assert needs(BUILD, trial(Purpose.RACE), "hash_table_locks", GIB) == {}
    assert needs(BUILD, trial(Purpose.CONFIRM), "hash_table_locks", GIB) == {}
    assert needs(BUILD, trial(Purpose.WAITS), "hash_table_locks", GIB)["performance_schema"] == "ON"


def test_only_trials_for_waits_collect_them_and_probes_leave_these_alone(server, clock):
    probed = []

    def clean(*arguments):
        probed.append(arguments)

    class Instance:
        pid = None

        @contextmanager
        def connect(self, timeout):
            yield server

    watcher = by_purpose(clean, "hash_table_locks", clock, server.directory.parent)
    watcher(trial(Purpose.RACE), Instance(), BUILD, float)
    assert len(probed) == 1
    with watcher(trial(Purpose.WAITS), Instance(), BUILD, float) as watching:
        assert isinstance(watching, Collector)
    assert len(probed) == 1
    assert server.statements[0].startswith("SET SESSION wait_timeout"), "the connection outlives a long warm-up"


class Tools:
    """Builds with the instruments that they have."""

    def __init__(self, **names):
        self.names = names
        self.preparer = self

    @contextmanager
    def running(self, build, options):
        assert options == {"performance_schema": "ON"}
        self.build = build
        yield self

    @contextmanager
    def connect(self):
        yield lambda statement, arguments=(): [(name,) for name in self.names[self.build]]


def test_a_pattern_that_no_build_knows_is_refused_with_the_nearest_names():
    tools = Tools(mariadb=["wait/synch/mutex/sql/LOCK_open", "wait/synch/rwlock/innodb/hash_table_lock"])
    with pytest.raises(UserError, match="hash_table_locks") as caught:
        check("hash_table_locks", {"mariadb@10.11.5": "mariadb"}, tools)
    assert "wait/synch/rwlock/innodb/hash_table_lock" in caught.value.remedy


def test_a_pattern_that_one_of_two_builds_knows_is_said_of_the_other():
    tools = Tools(old=[LOCKS], new=["wait/synch/mutex/sql/LOCK_open"])
    notes = check("hash_table_locks", {"mysql@9.7.4": "old", "mariadb@10.11.5": "new"}, tools)
    assert notes == ["mariadb@10.11.5 has no wait instrument that matches hash_table_locks: no raw waits are collected from it"]
    assert check(None, {"mysql@9.7.4": "none"}, tools) == []


def test_none_lost_is_said_so(server, clock, store, monkeypatch):
    collected = collector(server, clock)
    with quiet(collected, monkeypatch):
        server.wait(3)
    assert (
        collected_text("1", stored_waits(collected, store))
        == "Collecting the raw waits of hash_table_locks with 1: 3 events, none lost"
    )


def test_the_thread_that_writes_the_ring_down_goes_first_where_the_server_tells_which_it_is():
    asked = []
    raise_priority(lambda _: [(7,)], {7: 4711}, lambda *given: asked.append(given))
    assert [(number, priority < 0) for _, number, priority in asked] == [(4711, True)]


def test_no_thread_of_this_machine_is_taken_for_one_of_a_container():
    raise_priority(lambda _: [(4711,)], {7: 4711}, lambda *given: pytest.fail("the server has another number for it"))


@pytest.mark.parametrize("answer", [[], [(None,)], RefusedError("no such column", "", 1054)])
def test_a_server_that_does_not_tell_its_thread_is_collected_from_all_the_same(answer):
    def query(_):
        if isinstance(answer, Exception):
            raise answer
        return answer

    raise_priority(query, {4711: 4711}, lambda *given: pytest.fail("no thread is known"))


def test_who_may_not_set_priorities_collects_all_the_same():
    def refused(*_):
        raise PermissionError

    raise_priority(lambda _: [(4711,)], {4711: 4711}, refused)
