"""What is taken for an answer of a server, and how long one is waited for."""

import pymysql
import pytest

from dialin.errors import ServerError
from dialin.servers import connection
from dialin.servers.account import Account
from dialin.servers.connection import RefusedError, Stream, is_reachable, open_stream, quote_identifier

TIMED_OUT = pymysql.err.OperationalError(2013, "Lost connection to MySQL server during query (timed out)")


class FakeCursor:
    """Notes how long the client would wait for an answer when a statement is sent."""

    def __init__(self, client):
        self._client = client

    def __enter__(self):
        return self

    def __exit__(self, *exception):
        pass

    def __iter__(self):
        return iter([(1,), (2,)])

    def execute(self, statement, arguments=None):
        self._client.waits.append((statement, self._client._read_timeout))
        if self._client.refusal:
            raise self._client.refusal

    def fetchall(self):
        return [(1,)]


class FakeClient:
    open = False

    def __init__(self, read_timeout=10.0, refusal=None):
        self._read_timeout, self.refusal, self.waits = read_timeout, refusal, []

    def cursor(self, kind=None):
        return FakeCursor(self)


@pytest.fixture
def connecting(monkeypatch):
    """Lets connecting come to what the test says; tells what it was asked for."""

    def set_up(outcome):
        asked = []

        def connect(**options):
            asked.append(options)
            if isinstance(outcome, Exception):
                raise outcome
            return outcome

        monkeypatch.setattr(connection.pymysql, "connect", connect)
        return asked

    return set_up


@pytest.mark.parametrize(
    "failure",
    [
        TIMED_OUT,
        pymysql.err.OperationalError(2003, "Can't connect"),
        ConnectionRefusedError(111, "Connection refused"),
        pymysql.err.InterfaceError(0, ""),
    ],
)
def test_a_server_that_cannot_be_reached_does_not_answer(connecting, failure):
    connecting(failure)
    assert not is_reachable(Account())


@pytest.mark.parametrize(("number", "text"), [(1040, "Too many connections"), (1045, "Access denied"), (3159, "TLS only")])
def test_a_server_that_refuses_to_be_asked_does_answer(connecting, number, text):
    connecting(pymysql.err.OperationalError(number, text))
    assert is_reachable(Account())


def test_a_server_that_takes_connections_must_also_answer_a_statement(connecting):
    connecting(FakeClient())
    assert is_reachable(Account())
    connecting(FakeClient(refusal=TIMED_OUT))
    assert not is_reachable(Account())


def test_only_rows_that_are_thrown_away_are_waited_for_long():
    client = FakeClient(read_timeout=10)
    stream = Stream(client)
    stream.query("USE sbtest")
    assert stream.exhaust("SELECT *", 3600) == 2
    stream.query("SELECT 1")
    assert client.waits == [("USE sbtest", 10), ("SELECT *", 3600), ("SELECT 1", 10)]


def test_after_a_statement_that_failed_answers_are_waited_for_as_before():
    client = FakeClient(read_timeout=10, refusal=pymysql.err.ProgrammingError(1146, "no such table"))
    with pytest.raises(RefusedError):
        Stream(client).exhaust("SELECT *", 3600)
    assert client._read_timeout == 10


def test_connecting_for_many_rows_is_not_waited_for_longer_than_for_few(connecting):
    asked = connecting(TIMED_OUT)
    with pytest.raises(ServerError, match="does not answer"), open_stream(Account()):
        pass
    assert (asked[0]["connect_timeout"], asked[0]["read_timeout"]) == (10, 10)


def test_the_client_library_still_goes_by_what_is_set_after_connecting():
    assert "_read_timeout" in vars(pymysql.Connection(defer_connect=True, read_timeout=5))


@pytest.mark.parametrize(("name", "text"), [("sbtest", "`sbtest`"), ("my-app", "`my-app`"), ("a`b", "`a``b`")])
def test_any_name_can_stand_in_a_statement(name, text):
    assert quote_identifier(name) == text


def test_only_the_values_of_secrets_are_hidden():
    values = {
        "disconnect_on_expired_password": "ON",
        "secure_auth": "ON",
        "report_password": "hunter2",
        "wsrep_sst_auth": "me:hunter2",
        "old_passwords": "0",
        "some_plugin_token": "abc",
        "master_secret": "",
    }
    shown = connection.global_variables(lambda _: list(values.items()))
    hidden = {name for name, value in shown.items() if value == connection.HIDDEN}
    assert hidden == {"report_password", "wsrep_sst_auth", "some_plugin_token"}
    assert {name: value for name, value in shown.items() if name not in hidden} == {
        name: value for name, value in values.items() if name not in hidden
    }
