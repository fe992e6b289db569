"""A client without any work: driver.py --bare measures a loop that only waits for sockets, receives and sends.

The loop sends point selects that were encoded before, and never looks at an answer: it chooses nothing and measures no latency.
What it takes is the kernel's price of a transaction on this machine, a great part of which is to wake the server's thread. A
client that sends the next request as soon as it can takes no less; one that gathers answers may. The loop is written in C
(bare_loop.c), so this needs a C compiler, `cc`.
"""

from __future__ import annotations

import ctypes
import shutil
import struct
import subprocess
import tempfile
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from pathlib import Path

import numpy as np
import pymysql

from dialin.errors import UserError, WorkloadError

SOURCE = Path(__file__).with_suffix(".c")
REQUESTS = 50_000
"""Of each connection: more than it sends in a few seconds, so that none is repeated."""
PREPARE, EXECUTE = 0x16, 0x17
"""The commands COM_STMT_PREPARE and COM_STMT_EXECUTE."""
REQUEST = np.dtype(
    {
        "names": ["length", "command", "statement", "flags", "iterations", "nulls", "has_types", "type", "value"],
        "formats": ["<u4", "u1", "<u4", "u1", "<u4", "u1", "u1", "<u2", "<u8"],
    }
)
"""The packet that executes a statement with an integer."""
LONGLONG = 8
"""The type of an integer of eight bytes, as sysbench sends it."""
PARETO = 7.2126
"""The exponent of sysbench's distribution for --rand-pareto-h=0.2: log(0.2) / log(0.8)."""


@contextmanager
def compiled() -> Iterator[ctypes.CDLL]:
    """Compile the loop.

    Raises:
        UserError: there is no C compiler.
    """
    if shutil.which("cc") is None:
        raise UserError("There is no C compiler, cc, for the bare loop", "Install one, or leave out --bare")
    with tempfile.TemporaryDirectory() as directory:
        library = Path(directory) / "bare_loop.so"
        subprocess.run(["cc", "-O2", "-shared", "-fPIC", "-o", library, SOURCE], check=True)
        yield ctypes.CDLL(str(library))


def prepare(connection: pymysql.Connection, sql: str) -> int:
    """Return the number of a statement with one parameter and one column."""
    connection._execute_command(PREPARE, sql)
    number = struct.unpack_from("<I", connection._read_packet().get_all_data(), 1)[0]
    for _ in ("parameter", "end", "column", "end"):
        connection._read_packet()
    return int(number)


def encode(statements: Sequence[int], rows: int, rng: np.random.Generator) -> bytes:
    """Return packets that execute one of the statements with the number of a row, both drawn as sysbench does."""
    packets = np.zeros(REQUESTS, REQUEST)
    packets["length"] = REQUEST.itemsize - 4
    packets["command"], packets["iterations"], packets["has_types"], packets["type"] = EXECUTE, 1, 1, LONGLONG
    packets["statement"] = rng.choice(statements, REQUESTS)
    packets["value"] = 1 + rows * rng.random(REQUESTS) ** PARETO
    return packets.tobytes()


def drive(
    library: ctypes.CDLL, socket: Path, connections: int, tables: int, rows: int, settle: float, seconds: float, seed: int
) -> tuple[float, float]:
    """Return transactions per second, and CPU microseconds of the loop per transaction.

    Raises:
        WorkloadError: a connection was lost.
    """
    rng = np.random.default_rng(seed)
    with ExitStack() as stack:
        requests, sockets = [], []
        for _ in range(connections):
            connection = pymysql.connect(
                unix_socket=str(socket), user="root", database="sbtest", ssl_disabled=True, autocommit=True
            )
            stack.callback(connection.close)
            connection._sock.setblocking(True)
            sockets.append(connection._sock.fileno())
            statements = [prepare(connection, f"SELECT c FROM sbtest{table} WHERE id=?") for table in range(1, tables + 1)]
            requests.append(encode(statements, rows, rng))
        figures = (ctypes.c_double * 2)()
        arguments = [
            (ctypes.c_int * connections)(*sockets),
            connections,
            b"".join(requests),
            REQUESTS,
            REQUEST.itemsize,
            ctypes.c_double(settle),
            ctypes.c_double(seconds),
            figures,
        ]
        # In a thread that ends, because it changes its scheduling policy.
        with ThreadPoolExecutor(1) as pool:
            if pool.submit(library.drive, *arguments).result() != 0:
                raise WorkloadError("a connection was lost")
    return figures[0], figures[1]
