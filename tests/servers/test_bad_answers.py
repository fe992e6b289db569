"""Whatever a server answers, dialin ends with an error about the server, in bounded time and memory; nothing is sent to it."""

import tracemalloc
from contextlib import contextmanager, suppress

import pytest

from dialin import answers
from dialin.errors import NoAnswerError, ServerError
from dialin.servers import bounded_client
from dialin.servers.connection import RefusedError, asked_columns, connect, global_variables, open_stream, within
from fixtures import hostile_server as hostile
from fixtures.hostile_server import hostile_server

ASKED = "SELECT name, value FROM t"
GOOD = hostile.rows([b"a", b"1"])
DRIP = hostile.drip(b"".join(hostile.packet(n, each) for n, each in enumerate([*hostile.head(1), hostile.row(b"z" * 200)], 1)))


def to_that(answer):
    """Return a server's answers: this one to the statement of the test, and what a client expects to all others."""
    return {ASKED: answer}.get


@contextmanager
def asking(answer, timeout=60.0):
    """Connect to a server that answers the statement of the test so; yields the connection and the server."""
    with hostile_server(to_that(answer)) as server, connect(server.account, timeout=timeout) as query:
        yield query, server


@contextmanager
def streaming(answer):
    with hostile_server(to_that(answer)) as server, open_stream(server.account) as stream:
        yield stream


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        (hostile.LOCAL_INFILE, "it asks for a file of this machine"),
        (hostile.rows([b"innodb_io_capacity", b"\xff\xfe"]), "it is not valid UTF-8"),
        (hostile.rows([b"innodb_io_capacity"]), "it does not have the columns that .* asks for"),
        (hostile.rows([b"innodb_io_capacity", b"200", b"extra"]), "it does not have the columns"),
        (hostile.sent(*hostile.head(2), hostile.row(b"short"), b"\xfe\0\0\2\0"), "it does not have the columns"),
        (hostile.sent(*hostile.head(1)[:2], b"no end of the columns"), "does not follow the protocol"),
        (hostile.sent(b"\1", b"a column that is none"), "does not follow the protocol"),
        (hostile.raw(hostile.packet(1, b"")), "does not follow the protocol|Lost connection"),
        (hostile.raw(b"\xff\xff\xff\1" + b"x" * 1000), "Lost connection"),
        (hostile.raw(hostile.packet(9, b"\0\0\0\2\0\0\0")), "sequence number"),
        (hostile.raw(b""), "Lost connection"),
    ],
)
def test_an_answer_that_is_none_is_an_error_of_the_server(answer, words):
    with asking(answer) as (query, server):
        with pytest.raises(ServerError, match=words):
            query(ASKED)
        assert server.received == b""


@pytest.mark.parametrize("greeting", [b"HTTP/1.1 400 Bad Request\r\n\r\n", b"\0\0\0\0", hostile.packet(0, b"\x0a"), b""])
def test_a_program_of_another_protocol_is_no_server(greeting):
    with (
        hostile_server(to_that(None), hostile.raw(greeting)) as server,
        pytest.raises(ServerError, match=r"does not speak the protocol|does not answer"),
        connect(server.account, timeout=0.3),
    ):
        pass


def test_a_connection_is_not_used_after_an_answer_that_could_not_be_read():
    with asking(hostile.rows([b"a", b"\xff"], [b"b", b"c"])) as (query, _):
        for _ in range(2):
            with pytest.raises(NoAnswerError):
                query(ASKED)


@pytest.mark.parametrize("answer", [DRIP, hostile.silence, hostile.endless_rows])
def test_an_answer_has_an_end_in_time(answer, monkeypatch):
    monkeypatch.setattr(bounded_client, "HELD", bounded_client.DROPPED)
    with asking(answer, timeout=0.5) as (query, _), pytest.raises(NoAnswerError, match="timed out"):
        query(ASKED)


def test_a_login_has_an_end_in_time():
    with (
        hostile_server(to_that(None), hostile.drip(hostile.packet(0, hostile.GREETING))) as server,
        pytest.raises(ServerError, match="timed out"),
        connect(server.account, timeout=0.3),
    ):
        pass


def test_many_statements_can_have_one_end_in_time():
    with asking(hostile.silence) as (query, _), within(query, 0.3), pytest.raises(NoAnswerError, match="timed out"):
        query(ASKED)
    with asking(GOOD) as (query, _), within(query, -1), pytest.raises(NoAnswerError, match="timed out"):
        query(ASKED)


def test_a_limit_for_many_statements_ends_with_them():
    with asking(GOOD) as (query, _):
        with within(query, 60), suppress(ValueError):
            raise ValueError
        assert query(ASKED) == [("a", "1")]


@pytest.mark.parametrize("answer", [hostile.endless_rows, hostile.endless_row])
def test_an_answer_has_an_end_in_memory(answer, monkeypatch):
    monkeypatch.setattr(bounded_client, "HELD", bounded_client.Limits(rows=20_000, bytes=4 << 20))
    tracemalloc.start()
    try:
        too_large = pytest.raises(NoAnswerError, match=r"cannot be read: it has more than (20,000 rows|4 MiB)")
        with asking(answer) as (query, _), too_large:
            query(ASKED)
        assert tracemalloc.get_traced_memory()[1] < 100 << 20
    finally:
        tracemalloc.stop()


def test_the_limits_hold_what_real_servers_answer():
    assert bounded_client.HELD.rows >= 1_000_000
    assert bounded_client.HELD.bytes == 64 << 20


def test_rows_that_are_dropped_have_no_end_but_in_time_and_in_the_size_of_each():
    with streaming(hostile.endless_rows) as stream, pytest.raises(NoAnswerError, match="timed out"):
        stream.exhaust(ASKED, 0.5)
    with streaming(hostile.endless_row) as stream, pytest.raises(NoAnswerError, match="more than 64 MiB"):
        stream.exhaust(ASKED, 60)


def test_a_long_error_of_a_server_is_shown_shortened():
    error = b"\xff\x10\x04#08004" + b"A" * 100_000
    with asking(hostile.sent(error)) as (query, _), pytest.raises(RefusedError) as caught:
        query(ASKED)
    assert len(caught.value.what) < 1000


def test_variables_with_values_that_are_none_are_read_as_text():
    with hostile_server({"SHOW GLOBAL VARIABLES": hostile.rows([b"a", None])}.get) as server, connect(server.account) as query:
        assert global_variables(query) == {"a": "None"}


# Columns that a statement asks for


@pytest.mark.parametrize(
    ("statement", "columns"),
    [
        ("SELECT 1", (1, 1)),
        ("\n  SELECT @@GLOBAL.`a`", (1, 1)),
        ("SELECT a, b FROM t, u", (2, 2)),
        ("SELECT DISTINCT a, COALESCE(b, 0), (SELECT c, d FROM e) FROM f", (3, 3)),
        ("SELECT 'a, b', \"x\", `c,d` FROM t", (3, 3)),
        ("SELECT COUNT(*) FROM t", (1, 1)),
        ("SELECT a * 2, b FROM t", (2, 2)),
        ("SELECT * FROM t", (0, None)),
        ("SELECT GET_LOCK(%s, %s)", (1, 1)),
        ("SELECT a, b UNION ALL SELECT c, d", (2, 2)),
        ("SHOW GLOBAL VARIABLES", (2, 2)),
        ("SHOW GLOBAL STATUS LIKE 'Uptime'", (2, 2)),
        ("SHOW ENGINE INNODB STATUS", (3, 3)),
        ("SHOW PROCESSLIST", (8, None)),
        ("SHOW TABLES LIKE 'a'", (0, None)),
        ("SET GLOBAL a = 1", (0, None)),
        ("INSERT INTO t SELECT a, b FROM u", (0, None)),
        ("", (0, None)),
    ],
)
def test_the_columns_of_a_statement_are_counted(statement, columns):
    assert asked_columns(statement) == columns


# Values


@pytest.mark.parametrize("value", [None, "nan", "inf", "1e400", "abc", "", b"\xff", "-"])
def test_an_answer_that_is_no_number_is_an_error_of_the_server(value):
    for read in (answers.number, answers.whole):
        with pytest.raises(ServerError, match=r"cannot be read: .* is not a"):
            read(value)


@pytest.mark.parametrize("value", [float("inf"), "9" * 5000, "1.5"])
def test_an_answer_that_is_no_whole_number_is_an_error_of_the_server(value):
    with pytest.raises(ServerError, match="is not a whole number"):
        answers.whole(value)


def test_values_are_read_as_they_are():
    assert (answers.whole("12"), answers.whole(12), answers.number("1.5"), answers.number(2)) == (12, 12, 1.5, 2.0)
    assert answers.single([(7, 8)]) == 7


@pytest.mark.parametrize("rows", [[], [()]])
def test_an_empty_answer_is_an_error_of_the_server(rows):
    with pytest.raises(ServerError, match="it is empty"):
        answers.single(rows)


def test_escapes_in_a_value_are_shown_as_such():
    with pytest.raises(ServerError) as caught:
        answers.whole("\x1b[31m" + "9" * 9000)
    assert "\x1b" not in caught.value.what
    assert len(caught.value.what) < 200
