"""PyMySQL's connection with limits: every answer has an end in time, in rows and in bytes, whatever the server sends.

PyMySQL limits only how long the server may be silent, so that a server which sends a byte now and then, or rows without end,
would hold dialin for ever or fill its memory.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pymysql
import pymysql.cursors
from pymysql.constants import CR

if TYPE_CHECKING:
    _Connection = pymysql.Connection[pymysql.cursors.Cursor]
else:
    _Connection = pymysql.Connection

MOST_ROWS = 1_000_000
"""Rows of an answer, with a packet for each column: more than a server has tables, digests or sessions."""

MOST_BYTES = 64 << 20

_EXACT_WITHIN = 0.05
"""The share of a time limit by which it may be exceeded: the socket's own limit is not renewed for every packet."""


@dataclass(frozen=True, slots=True)
class Limits:
    """The limits of an answer: rows in all, and bytes in all, or of each row where the rows are not kept."""

    rows: float = MOST_ROWS
    bytes: int = MOST_BYTES
    per_row: bool = False


HELD = Limits()
"""Answers that are held in memory."""

DROPPED = Limits(rows=float("inf"), per_row=True)
"""Answers whose rows are counted and dropped."""


class BoundedClient(_Connection):
    """A connection whose answers, and whose login, end within limits; an answer that exceeds one ends the connection.

    `timeout` is for the login as a whole, and for each answer as a whole, in seconds.

    Attributes:
        timeout: the same, for the answers of the next statements.
        limits: those of the next statements.
        ends: when the answers of all statements must have ended, on the monotonic clock; None for no such limit.
    """

    # PyMySQL's own, which its type stubs do not name.
    _force_close: Any
    _result: Any
    _rfile: Any
    _sock: Any

    def __init__(self, timeout: float, **options: Any) -> None:
        self.timeout = timeout
        self.limits = HELD
        self.ends: float | None = None
        self._is_logging_in = False
        self._allow_answer()
        super().__init__(connect_timeout=max(1, round(timeout)), read_timeout=timeout, write_timeout=timeout, **options)

    def connect(self, sock: Any = None) -> None:
        self._allow_answer()
        self._is_logging_in = True
        try:
            super().connect(sock)
        finally:
            self._is_logging_in = False

    def give_up(self) -> None:
        """Close the connection at once: what the server sends next would be taken for the next answer."""
        if self._result is not None:
            self._result.unbuffered_active = False  # or closing a cursor would read on
        self._force_close()

    def _allow_answer(self) -> None:
        ends = time.monotonic() + self.timeout
        self._answer_ends = ends if self.ends is None else min(ends, self.ends)
        self._rows_left = self.limits.rows
        self._bytes_left = self.limits.bytes
        self._socket_waits: float | None = None

    def _execute_command(self, command: Any, sql: Any) -> None:
        if not self._is_logging_in:
            self._allow_answer()
        super()._execute_command(command, sql)  # type: ignore[misc]

    def _read_packet(self, *packet_type: Any) -> Any:
        self._rows_left -= 1
        if self._rows_left < 0:
            raise self._too_large(f"more than {self.limits.rows:,.0f} rows")
        if self.limits.per_row:
            self._bytes_left = self.limits.bytes
        return super()._read_packet(*packet_type)  # type: ignore[no-untyped-call]

    def _read_bytes(self, num_bytes: int) -> bytes:
        self._bytes_left -= num_bytes
        if self._bytes_left < 0:
            raise self._too_large(f"more than {self.limits.bytes >> 20} MiB")
        parts = []
        while num_bytes:
            part = self._read_some(num_bytes)
            parts.append(part)
            num_bytes -= len(part)
        return b"".join(parts)

    def _read_some(self, most: int) -> bytes:
        """Read at least one byte: what has arrived, or what the socket receives next."""
        left = self._answer_ends - time.monotonic()
        try:
            if left <= 0:
                raise TimeoutError("timed out")
            if self._socket_waits is None or self._socket_waits - left > _EXACT_WITHIN * self.timeout:
                self._sock.settimeout(left)
                self._socket_waits = left
            self._rfile.peek()  # takes all that has arrived; without it read1 asks the system for each part of a row anew
            part: bytes = self._rfile.read1(most)
        except OSError as error:
            self.give_up()
            text = f"Lost connection to MySQL server during query ({error})"
            raise pymysql.OperationalError(CR.CR_SERVER_LOST, text) from error
        except BaseException:  # Ctrl-C in the middle of an answer: the rest of it must not be taken for another one
            self.give_up()
            raise
        if not part:
            self.give_up()
            raise pymysql.OperationalError(CR.CR_SERVER_LOST, "Lost connection to MySQL server during query")
        return part

    def _write_bytes(self, data: bytes) -> None:
        super()._write_bytes(data)  # type: ignore[misc]
        self._socket_waits = None  # PyMySQL may have given the socket another limit

    def _too_large(self, what: str) -> pymysql.OperationalError:
        self.give_up()
        return pymysql.OperationalError(CR.CR_NET_PACKET_TOO_LARGE, f"it has {what}, which dialin does not read")
