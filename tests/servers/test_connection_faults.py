"""Whose fault it is that a server could not be asked: decided where the error arises."""

import errno
import os
import socket

import pymysql
import pytest

from dialin.errors import LostConnectionError, MachineError, NoAnswerError
from dialin.model.cause import CauseCode, Fault
from dialin.servers import connection
from dialin.servers.account import Account
from dialin.servers.connection import RefusedError, TurnedAwayError, connect, is_reachable
from fixtures.hostile_server import closing_socket


def failing(number):
    return OSError(number, os.strerror(number))


@pytest.fixture
def listening(tmp_path):
    with closing_socket(tmp_path / "s.sock"):
        yield Account(socket=tmp_path / "s.sock")


def ask(account):
    with connect(account, timeout=2) as query:
        query("SELECT 1")


def test_a_server_that_hangs_up_loses_the_connection(listening):
    with pytest.raises(LostConnectionError) as raised:
        ask(listening)
    assert raised.value.fault is Fault.CONNECTION


def test_a_server_that_never_answers_loses_no_connection(tmp_path):
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(tmp_path / "s.sock"))
        listener.listen()
        with (
            pytest.raises(NoAnswerError, match="timed out") as raised,
            connect(Account(socket=tmp_path / "s.sock"), timeout=0.1),
        ):
            pass
    assert type(raised.value) is NoAnswerError


def test_where_nothing_listens_there_is_no_answer(tmp_path):
    with pytest.raises(NoAnswerError, match="does not answer") as raised:
        ask(Account(socket=tmp_path / "nowhere.sock"))
    assert type(raised.value) is NoAnswerError
    assert not is_reachable(Account(socket=tmp_path / "nowhere.sock"))


@pytest.mark.parametrize("number", [errno.EMFILE, errno.ENFILE, errno.ENOMEM, errno.ENOBUFS])
def test_without_room_for_a_connection_this_machine_is_at_fault(listening, number, monkeypatch):
    def refuse(*_arguments, **_words):
        raise failing(number)

    monkeypatch.setattr(pymysql.connections.socket, "socket", refuse)
    with pytest.raises(MachineError, match=os.strerror(number)):
        ask(listening)


@pytest.mark.parametrize("number", [errno.ECONNRESET, errno.EPIPE, errno.ETIMEDOUT, errno.EHOSTUNREACH, errno.EAGAIN])
def test_a_network_that_fails_is_not_the_machine(listening, number, monkeypatch):
    def refuse(*_arguments, **_words):
        raise failing(number)

    monkeypatch.setattr(pymysql.connections.socket, "socket", refuse)
    with pytest.raises(NoAnswerError) as raised:
        ask(listening)
    assert isinstance(raised.value, LostConnectionError) is (number in (errno.ECONNRESET, errno.EPIPE))


def lost(number):
    """The error of the client library for an answer that could not be read: it hides that of the system."""
    try:
        try:
            raise failing(number)
        except OSError as error:
            raise pymysql.err.OperationalError(2013, f"Lost connection to MySQL server during query ({error})") from None
    except pymysql.err.OperationalError as error:
        return error


@pytest.mark.parametrize(
    ("error", "kind", "fault"),
    [
        (lost(errno.ECONNRESET), LostConnectionError, Fault.CONNECTION),
        (lost(errno.ETIMEDOUT), NoAnswerError, Fault.CONNECTION),
        (lost(errno.EIO), MachineError, Fault.MACHINE),
        (lost(errno.ENOMEM), MachineError, Fault.MACHINE),
        (pymysql.err.OperationalError(2006, "Server has gone away"), LostConnectionError, Fault.CONNECTION),
        (pymysql.err.InterfaceError(0, ""), NoAnswerError, Fault.CONNECTION),
        (pymysql.err.OperationalError(1317, "Query execution was interrupted"), RefusedError, Fault.CONNECTION),
        (pymysql.err.OperationalError(1053, "Server shutdown in progress"), RefusedError, Fault.CONNECTION),
        (pymysql.err.OperationalError(1227, "Access denied"), RefusedError, Fault.REQUEST),
        (pymysql.err.OperationalError(1290, "--read-only"), RefusedError, Fault.REQUEST),
        (pymysql.err.InternalError(1037, "Out of memory"), RefusedError, Fault.SERVER),
    ],
)
def test_each_error_of_a_statement_has_its_own_fault(error, kind, fault):
    known = connection._statement_error("SHOW GLOBAL VARIABLES", error)
    assert (type(known), known.fault) == (kind, fault)


@pytest.mark.parametrize(
    ("number", "fault", "code"),
    [
        (1040, Fault.SERVER, CauseCode.TURNED_AWAY),
        (1045, Fault.REQUEST, CauseCode.ACCOUNT_REFUSED),
        (1203, Fault.REQUEST, CauseCode.TURNED_AWAY),
        (1053, Fault.CONNECTION, CauseCode.TURNED_AWAY),
    ],
)
def test_a_server_that_turns_a_connection_away_answers(number, fault, code):
    error = connection._connecting_error(Account(), "db1:3306", pymysql.err.OperationalError(number, "No"))
    assert (type(error), error.fault, error.cause.code) == (TurnedAwayError, fault, code)
    assert connection.is_server_error(error)
