"""What a load still executes on a server is ended, and nothing else."""

from contextlib import contextmanager

import pytest

from dialin.errors import ServerError
from dialin.servers import load_sessions
from dialin.servers.account import Account
from dialin.servers.connection import RefusedError
from dialin.servers.load_sessions import Ended, UnreportedSessions, end_left, end_recorded, on_record, record, recorded

ME = 100


class Server:
    """A process list; a session that is killed is gone after it was listed `rolls_back` times more."""

    def __init__(self, clock, uptime=5000, rolls_back=0):
        self.clock, self.uptime, self.rolls_back = clock, uptime, rolls_back
        self.sessions = {ME: ("me", "localhost", None, "Query")}
        self.killed, self.by_process, self.answers = {}, {}, True

    def add(self, number, user="me", host="localhost", database="shop", command="Query"):
        self.sessions[number] = (user, host, database, command)

    @contextmanager
    def connect(self, account, timeout=0):
        if not self.answers:
            raise ServerError("The server does not answer", "See its log")
        yield self.query

    def query(self, statement, arguments=()):
        if statement == "SELECT CONNECTION_ID()":
            return [(ME,)]
        if statement.startswith("SHOW GLOBAL STATUS"):
            return [("Uptime", str(self.uptime))]
        if statement.startswith("KILL "):
            number = int(statement.removeprefix("KILL "))
            if number not in self.sessions:
                raise RefusedError(f"Unknown thread id: {number}", "", 1094)
            self.killed[number] = self.rolls_back
            return []
        if "session_account_connect_attrs" in statement:
            if self.by_process is None:
                raise RefusedError("SELECT command denied", "", 1142)
            return [(number,) for number, pid in self.by_process.items() if (str(pid),) == arguments]
        assert statement == "SHOW PROCESSLIST"
        for number, times in list(self.killed.items()):
            if not times:
                self.sessions.pop(number, None)
            self.killed[number] -= 1
        return [
            (number, user, host, database, command, 3, "", "")
            for number, (user, host, database, command) in self.sessions.items()
        ]


@pytest.fixture
def server(clock, monkeypatch):
    made = Server(clock)
    monkeypatch.setattr(load_sessions, "connect", made.connect)
    monkeypatch.setattr(load_sessions, "SystemClock", lambda: clock)
    return made


@pytest.fixture
def path(tmp_path):
    return tmp_path / "load.sessions"


def test_a_record_is_read_up_to_the_line_that_a_killed_driver_did_not_finish(path):
    assert recorded(path) == []
    record(path, [3, 4], 1700000000.5)
    with path.open("a") as file:
        file.write("5 1700000001.250\n6")
    assert [(each.number, each.opened) for each in recorded(path)] == [(3, 1700000000.5), (4, 1700000000.5), (5, 1700000001.25)]


def test_only_what_the_sessions_on_record_execute_is_ended(server, clock, path):
    server.add(1)
    server.add(2, command="Sleep")
    server.add(3, user="app")
    server.add(4)
    record(path, [1, 2, 3, 5, ME], clock.now())
    assert end_recorded(server.query, path, clock) == Ended(1, 0)
    assert set(server.sessions) == {3, 4, ME}, "3 is another user's, 4 not on record; 2 was idle, and may have been sent more"
    assert not path.exists()


def test_numbers_from_before_a_restart_of_the_server_are_those_of_other_sessions_now(server, clock, path):
    server.uptime = 60
    for number in (1, 2):
        server.add(number)
    record(path, [1], clock.now() - 62)
    record(path, [2], clock.now() - 60)
    assert end_recorded(server.query, path, clock) == Ended(1, 0)
    assert 1 in server.sessions


def test_a_statement_that_is_rolled_back_is_awaited_but_not_for_ever(server, clock, path):
    server.rolls_back = 5
    server.add(1)
    record(path, [1], clock.now())
    assert end_recorded(server.query, path, clock) == Ended(1, 0)
    server.rolls_back = 10**9
    server.add(2)
    record(path, [2], clock.now())
    assert end_recorded(server.query, path, clock) == Ended(0, 1)


def test_a_server_that_does_not_answer_keeps_the_record_for_later(server, clock, path):
    server.add(1)
    record(path, [1], clock.now())
    server.answers = False
    end_left(Account(), path)
    assert len(recorded(path)) == 1
    server.answers = True
    end_left(Account(), path)
    assert (1 in server.sessions, recorded(path)) == (False, [])


def test_without_a_record_the_server_is_not_asked(server, path):
    server.answers = False
    end_left(Account(), path)
    path.write_text("")
    end_left(Account(), path)


def test_a_preparation_that_is_interrupted_is_ended_on_the_server(server, path, monkeypatch):
    server.sessions[ME] = ("me", "localhost", "shop", "Query")
    with on_record(Account(), server.query, path):
        assert [each.number for each in recorded(path)] == [ME]
    assert recorded(path) == []
    ended = []
    monkeypatch.setattr(load_sessions, "end_left", lambda account, path: ended.extend(recorded(path)))
    with pytest.raises(KeyboardInterrupt), on_record(Account(), server.query, path):
        raise KeyboardInterrupt
    assert [each.number for each in ended] == [ME]


@pytest.fixture
def unreported(server, path):
    """Sessions of a driver that opens two in the schema `shop`; sessions up to `ME` were there before."""
    return UnreportedSessions(Account(), "shop", 2, path)


def numbers(path):
    return [each.number for each in recorded(path)]


def test_the_sessions_of_a_driver_are_those_of_its_process_where_the_server_shows_that(server, unreported, path):
    for number in (101, 102, 103):
        server.add(number)
    server.by_process = {101: 4711, 102: 4711, 103: 4712, 50: 4711}
    assert unreported.record(4711)
    assert numbers(path) == [101, 102]
    server.by_process = {}
    assert unreported.record(4711)
    assert numbers(path) == [101, 102], "they are looked for once"


@pytest.mark.parametrize("by_process", [{}, None])
def test_elsewhere_they_are_those_that_came_with_the_driver_if_they_are_as_many(server, unreported, path, by_process):
    server.by_process = by_process
    server.add(99)
    server.add(101)
    server.add(102, user="app")
    server.add(103, database="other")
    server.add(104, host="db2")
    assert not unreported.record(4711)
    assert numbers(path) == [], "one of two is not open yet"
    server.add(105)
    assert unreported.record(4711)
    assert numbers(path) == [101, 105]


def test_nobody_is_recorded_where_others_use_the_same_account(server, unreported, path):
    for number in (101, 102, 103):
        server.add(number)
    assert not unreported.record(4711)
    assert numbers(path) == []


def test_a_machine_s_clock_that_was_set_after_dialin_began_leaves_no_statement(server, clock, path, monkeypatch):
    """The driver, which is another process, writes what the clock says now."""
    monkeypatch.setattr(clock, "wall", lambda: clock.now() - 3600)
    server.uptime = 60
    server.add(1)
    record(path, [1], clock.wall() - 30)
    assert end_recorded(server.query, path, clock) == Ended(1, 0)
