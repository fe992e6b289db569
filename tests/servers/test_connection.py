"""What is taken for an answer of a server, and how long one is waited for."""

from contextlib import suppress

import pymysql
import pytest

from dialin.errors import NoAnswerError
from dialin.servers import bounded_client, connection
from dialin.servers.account import Account
from dialin.servers.connection import RefusedError, is_reachable, open_stream, quote_identifier
from fixtures.hostile_server import hostile_server, raw, rows, sent

TIMED_OUT = pymysql.err.OperationalError(2013, "Lost connection to MySQL server during query (timed out)")


@pytest.fixture
def connecting(monkeypatch):
    """Lets connecting fail as the test says."""

    def set_up(failure):
        def connect(timeout, **options):
            raise failure

        monkeypatch.setattr(connection, "BoundedClient", connect)

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


def test_a_server_that_takes_connections_must_also_answer_a_statement():
    with hostile_server({"SELECT 1": rows([b"1"])}.get) as server:
        assert is_reachable(server.account)
    with hostile_server({"SELECT 1": raw(b"")}.get) as server:
        assert not is_reachable(server.account)


@pytest.mark.parametrize("first", [rows([b"1"], [b"2"]), sent(b"\xff\x7a\x04#42S02no such table")])
def test_only_rows_that_are_dropped_may_be_many_and_take_long(first, monkeypatch):
    monkeypatch.setattr(bounded_client, "HELD", bounded_client.Limits(rows=5))
    many = rows(*[[b"1"]] * 9)
    with hostile_server({"FIRST": first, "MANY": many}.get) as server, open_stream(server.account) as stream:
        with suppress(RefusedError):
            assert stream.exhaust("FIRST", 3600) == 2
        assert stream.exhaust("MANY", 3600) == 9
        with pytest.raises(NoAnswerError, match="more than 5 rows"):
            stream.query("MANY")


def test_the_client_library_still_reads_by_what_is_replaced_here():
    library, ours = vars(pymysql.Connection), vars(bounded_client.BoundedClient)
    replaced = {name for name in ours if name in library and not name.startswith("__")}
    assert replaced == {"connect", "_execute_command", "_read_packet", "_read_bytes", "_write_bytes"}
    assert all(hasattr(pymysql.Connection(defer_connect=True), name) for name in ("_rfile", "_sock", "_result"))


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
