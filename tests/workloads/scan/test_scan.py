import threading
from contextlib import contextmanager

import pytest

from dialin.errors import NoAnswerError, ServerError, UserError
from dialin.model.workload import WorkloadSpec
from dialin.servers import load_sessions
from dialin.servers.account import Account
from dialin.workloads.base import Target
from dialin.workloads.scan import load as loads
from dialin.workloads.scan import scan as scans
from dialin.workloads.scan.load import ScanLoad, run_report
from dialin.workloads.scan.scan import Scan

COLD = {"cache": "cold"}
WARM = {"cache": "warm"}


def scan(options=(), **others):
    return Scan(
        WorkloadSpec(name="scan", kind="scan", tables=1, threads=1, table_size=100_000, options=dict(options)).model_copy(
            update=others
        )
    )


class FakeServer:
    """Says what was asked of it, and which tables it has."""

    def __init__(self, tables=()):
        self.tables, self.asked = list(tables), []

    @contextmanager
    def connect(self, account, timeout=0):
        yield self.query

    def query(self, statement, arguments=()):
        self.asked.append(statement)
        if statement.startswith("SHOW TABLES"):
            return [(name,) for name in self.tables if name.startswith("scan_copy")]
        if statement.startswith("RENAME"):
            for move in statement.removeprefix("RENAME TABLE ").split(", "):
                old, new = move.split(" TO ")
                self.tables[self.tables.index(old)] = new
        return [(1000,)] if "data_length" in statement or "CONNECTION_ID" in statement else []


def test_innodb_that_is_to_be_cold_starts_a_server_for_each_trial_and_says_why():
    assert "no statement empties InnoDB's buffer pool" in scan(COLD).traits.restarts
    assert scan(WARM).traits.restarts is None
    assert scan({"engine": "MyISAM"}).traits.restarts is None


def test_a_cold_trial_has_no_run_before_and_a_warm_one_has_one():
    assert scan(COLD).traits.runs.warm_up == 0
    assert scan(WARM).traits.runs.warm_up == 1
    assert scan({"runs": "5"}).traits.runs.measured == 5


def test_only_runs_that_can_be_cold_again_are_made_up_for():
    assert scan({"engine": "MyISAM"}).traits.runs.most > scan({"engine": "MyISAM"}).traits.runs.measured
    assert scan(COLD).traits.runs.most == scan(COLD).traits.runs.measured


def test_data_is_shared_by_scans_that_differ_in_the_query_alone():
    assert scan({"query": "full", **WARM}).data_facts() == scan({"query": "join", **WARM}).data_facts()


@pytest.mark.parametrize("other", [{"engine": "MyISAM"}, {"row-bytes": "100"}, {"fragmented": "10%"}, {"cache": "cold"}])
def test_data_differs_by_all_that_decides_it(other):
    assert scan({**WARM, **other}).data_facts() != scan(WARM).data_facts()


def test_several_numbers_of_threads_need_a_copy_for_each_run_of_each():
    assert scan(COLD, levels=(1, 4), threads=4).data_facts()["copies"] == 6


def test_a_sort_of_the_table_needs_room_for_each_thread_that_makes_one():
    one = scan({"query": "ordered", **WARM})
    assert one.temporary_bytes() > one.expected_bytes()  # what is sorted, and what pieces are merged into
    assert scan({"query": "ordered", **WARM}, levels=(2, 8), threads=8).temporary_bytes() == 8 * one.temporary_bytes()
    assert one.expected_bytes() == scan({"query": "full", **WARM}).expected_bytes()


@pytest.mark.parametrize("options", [{}, {"query": "join"}, {"sql": "SELECT 1"}])
def test_a_query_that_sorts_nothing_needs_no_room_of_its_own(options):
    assert scan(options).temporary_bytes() == 0


def test_the_schema_may_have_any_name(monkeypatch, tmp_path):
    server = FakeServer(["scan1"])
    monkeypatch.setattr(scans, "connect", server.connect)
    scan(WARM)._make_ready(Target(Account(), tmp_path, "my-app"), 1)
    scan(WARM).prepare(Target(Account(), tmp_path, "my`app"))
    assert [text for text in server.asked if text.startswith("USE")] == ["USE `my-app`", "USE `my``app`"]


def test_a_server_that_dialin_did_not_start_is_scanned_warm_only():
    with pytest.raises(UserError, match="cold scan") as refused:
        scan(COLD).check_account(Account())
    assert "cache=warm" in refused.value.remedy
    scan(WARM).check_account(Account())


def test_each_cold_run_reads_a_copy_that_the_server_has_not_read(monkeypatch, tmp_path):
    server = FakeServer([f"scan_copy{number}" for number in (1, 2, 3)])
    monkeypatch.setattr(scans, "connect", server.connect)
    target, workload, read = Target(Account(), tmp_path, data=tmp_path), scan(COLD), []
    for _ in range(3):
        before = set(server.tables)
        workload._make_ready(target, 1)
        read.append((before - set(server.tables)) & {"scan_copy1", "scan_copy2", "scan_copy3"})
        assert "scan1" in server.tables
    assert set.union(*read) == {"scan_copy1", "scan_copy2", "scan_copy3"}
    with pytest.raises(ServerError, match="none is cold"):
        workload._make_ready(target, 1)


def test_a_warm_run_drops_nothing(monkeypatch, tmp_path):
    server = FakeServer(["scan1"])
    monkeypatch.setattr(scans, "connect", server.connect)
    facts = scan(WARM)._make_ready(Target(Account(), tmp_path, data=tmp_path), 4)
    assert facts == {"bytes_a_run": 4000.0}
    assert not any(text.startswith(("FLUSH", "RENAME")) for text in server.asked)


def test_the_bytes_of_a_query_of_the_users_own_are_not_claimed_to_be_known(monkeypatch, tmp_path):
    monkeypatch.setattr(scans, "connect", FakeServer(["scan1"]).connect)
    assert scan({**WARM, "sql": "SELECT 1"})._make_ready(Target(Account(), tmp_path), 1) == {}


def test_a_run_lasts_until_the_last_connection_is_done():
    second = run_report(1, [(0.0, 2.0), (0.1, 4.0)])
    assert (second.seconds, second.tps, second.latency_ms) == (4.0, 0.5, pytest.approx(3900))


class FakeStream:
    """A connection whose statement does what it is told."""

    def __init__(self, number, act, asked):
        self.number, self._act, self._asked = number, act, asked

    def query(self, statement, arguments=()):
        self._asked.append(statement)
        return [(self.number,)]

    def exhaust(self, statement, timeout):
        return self._act(self.number)


def connections(monkeypatch, place, act, count=2, *, cpus=None, asked=None, database="sbtest"):
    numbers = iter(range(1, count + 1))

    @contextmanager
    def streaming(account):
        yield FakeStream(next(numbers), act, [] if asked is None else asked)

    monkeypatch.setattr(loads, "open_stream", streaming)
    return ScanLoad(Target(Account(), place, database), "SELECT 1", count, lambda: {"bytes_a_run": 7.0}, cpus)


def scans_under_way():
    return [thread for thread in threading.enumerate() if thread.name == "scan"]


@pytest.fixture
def hold():
    """Holds queries up until it is set."""
    event = threading.Event()
    yield event
    event.set()
    for thread in scans_under_way():
        thread.join(10)


def test_a_run_is_one_query_on_every_connection(monkeypatch, tmp_path):
    ran = []
    load = connections(monkeypatch, tmp_path, ran.append, count=3)
    second = load.read(10)
    assert sorted(ran) == [1, 2, 3]
    assert second.tps == pytest.approx(3 / second.seconds)
    assert load.facts() == {"bytes_a_run": 7.0}
    load.stop()


def test_connections_outlive_a_small_wait_timeout_between_runs_and_find_any_schema(monkeypatch, tmp_path):
    asked = []
    connections(monkeypatch, tmp_path, print, 1, asked=asked, database="my-app").stop()
    assert "SET SESSION wait_timeout = 28800" in asked
    assert "USE `my-app`" in asked


def test_a_server_that_answers_nobody_is_called_hung_long_before_a_run_may_end(monkeypatch, tmp_path, hold):
    monkeypatch.setattr(loads, "_LOOK_EVERY", 0.01)
    looks = []
    monkeypatch.setattr(loads, "is_reachable", lambda account: bool(looks.append(account)))
    load = connections(monkeypatch, tmp_path, lambda number: hold.wait(10))
    with pytest.raises(ServerError, match="The server hung"):
        load.read(10)
    assert len(looks) == 2


def test_a_server_that_answers_now_and_then_is_waited_for(monkeypatch, tmp_path, hold):
    monkeypatch.setattr(loads, "_LOOK_EVERY", 0.01)
    looks = []

    def answers(account):
        looks.append(account)
        if len(looks) == 6:
            hold.set()
        return len(looks) % 2 == 0

    monkeypatch.setattr(loads, "is_reachable", answers)
    assert connections(monkeypatch, tmp_path, lambda number: hold.wait(10)).read(10) is not None


def test_cpus_that_cannot_be_had_end_the_run_with_words_and_leave_no_thread_behind(monkeypatch, tmp_path):
    def refuse(pid, cpus):
        raise OSError(22, "Invalid argument")

    monkeypatch.setattr(loads.os, "sched_setaffinity", refuse)
    load = connections(monkeypatch, tmp_path, print, cpus="0")
    with pytest.raises(OSError, match="Invalid argument"):
        load.read(10)
    load.stop()
    assert not scans_under_way()


def test_threads_that_wait_for_others_end_where_not_all_could_be_started(monkeypatch, tmp_path):
    begin, started = threading.Thread.start, []

    def start(thread):
        if started:
            raise KeyboardInterrupt
        started.append(thread)
        begin(thread)

    ran = []
    load = connections(monkeypatch, tmp_path, ran.append)
    with monkeypatch.context() as patched:
        patched.setattr(threading.Thread, "start", start)
        with pytest.raises(KeyboardInterrupt):
            load.read(10)
    ended(monkeypatch)
    load.stop()
    started[0].join(10)
    assert not scans_under_way()
    assert ran == []


def test_queries_that_do_not_end_are_waited_for_together_not_one_after_another(monkeypatch, tmp_path, hold):
    ended(monkeypatch)
    load = connections(monkeypatch, tmp_path, lambda number: hold.wait(10), count=20)
    assert load.read(0.01) is None
    waited = []
    monkeypatch.setattr(loads, "_END_WITHIN", 0.2)
    join = threading.Thread.join

    def noted(thread, timeout=None):
        waited.append(timeout)
        join(thread, timeout)

    with monkeypatch.context() as patched:
        patched.setattr(threading.Thread, "join", noted)
        load.stop()
    assert len(waited) == 20
    assert waited[-1] == 0


def test_a_connection_that_loses_its_server_ends_the_run_though_others_go_on(monkeypatch, tmp_path, hold):
    def act(number):
        if number == 1:
            raise NoAnswerError("Lost connection")
        hold.wait(10)

    load = connections(monkeypatch, tmp_path, act)
    with pytest.raises(NoAnswerError, match="Lost connection"):
        load.read(10)


def ended(monkeypatch, when=lambda: None):
    """What was ended on the server: the sessions on record."""
    numbers = []

    def end(account, path):
        numbers.extend(session.number for session in load_sessions.recorded(path))
        when()

    monkeypatch.setattr(loads.load_sessions, "end_left", end)
    return numbers


def test_running_queries_are_ended_when_the_load_is_stopped(monkeypatch, tmp_path, hold):
    load = connections(monkeypatch, tmp_path, lambda number: hold.wait(10))
    numbers = ended(monkeypatch, hold.set)
    assert load.read(0.01) is None
    load.stop()
    assert numbers == [1, 2]


def test_a_load_whose_queries_have_ended_leaves_no_session_on_record(monkeypatch, tmp_path):
    load = connections(monkeypatch, tmp_path, print)
    assert [session.number for session in load_sessions.recorded(tmp_path / "load.sessions")] == [1, 2]
    load.read(10)
    load.stop()
    assert load_sessions.recorded(tmp_path / "load.sessions") == []
