"""The process of an attached server on this machine, and whether anything listens at the server's address."""

from __future__ import annotations

import socket as sockets
import struct
from collections.abc import Callable, Mapping
from pathlib import Path

import psutil

from dialin.servers.account import Account
from dialin.servers.processes import identity, tail

_SAME_START = 10.0
"""Seconds by which the start of a process and the start computed from its server's Uptime may differ."""


def find(account: Account, variables: Mapping[str, str], started: Callable[[], float]) -> int | None:
    """Return the PID of the server; None if it runs on another machine, or its PID cannot be determined."""
    if account.socket is not None:
        return _listener(account.socket)
    if not account.is_local or variables.get("hostname") != sockets.gethostname():
        return None
    # The PID file may be another server's, so its process must have started when this server did.
    try:
        number = int(Path(variables.get("pid_file", "")).read_text(encoding="ascii"))
        began = psutil.Process(number).create_time()
    except (OSError, ValueError, psutil.Error):
        return None
    return number if abs(started() - began) < _SAME_START else None


def listens(account: Account) -> bool:
    """Return whether anything accepts connections at the server's address."""
    if account.socket is not None:
        return _listener(account.socket) is not None
    try:
        sockets.create_connection((account.host, account.port), 3.0).close()
    except OSError:
        return False
    return True


def log_tail(account: Account, variables: Mapping[str, str]) -> str:
    """Return the last lines of the server's log; empty if it is not a readable file on this machine."""
    named = variables.get("log_error", "")
    if not named or named == "stderr" or not account.is_local:
        return ""
    return tail(Path(variables.get("datadir", "")) / named)


def _listener(path: Path) -> int | None:
    """Return the PID that listens on a unix socket, from the kernel; None if nothing does, or in another PID namespace."""
    with sockets.socket(sockets.AF_UNIX) as probe:
        try:
            probe.settimeout(3)
            probe.connect(str(path))
            credentials = probe.getsockopt(sockets.SOL_SOCKET, sockets.SO_PEERCRED, struct.calcsize("3i"))
        except OSError:
            return None
    number = int(struct.unpack("3i", credentials)[0])
    return number if number > 0 and identity(number) else None
