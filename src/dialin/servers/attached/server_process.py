"""The process of an attached server on this machine, as the kernel shows it: never by what the server says of itself.

An address on this machine does not mean that the server is here: an SSH tunnel, a proxy or a container may listen there. The
process is the server's if it owns the listening socket and runs a server's program.
"""

from __future__ import annotations

import os
import re
import socket as sockets
import stat
import struct
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import psutil

from dialin.servers.account import Account
from dialin.servers.processes import identity

_SERVER = re.compile(r"(mysqld|mariadbd)([.-].*)?")
_LOADER = re.compile(r"ld(-linux.*|-musl.*)?\.so(\..*)?")
"""The dynamic loader, which runs a program that is named after its own options."""

_LISTENS = "0A"
"""The state of a listening socket in /proc/net/tcp."""

_HERE = {"0100007F", "0" * 8, "0" * 32, "0" * 24 + "01000000", "0" * 16 + "FFFF00000100007F"}
"""The addresses at which a connection to this machine by 127.0.0.1 or ::1 can end, as /proc/net/tcp writes them."""


@dataclass(frozen=True, slots=True)
class ServerProcess:
    """The process of a server.

    Attributes:
        identity: what distinguishes it from a later process with the same PID; see `processes.identity`.
        user: the ID of the user that it runs as.
        proc: its directory in /proc.
    """

    pid: int
    identity: str
    user: int
    proc: Path

    @property
    def is_alive(self) -> bool:
        return identity(self.pid) == self.identity

    def open_files(self) -> dict[Path, tuple[int, int]] | None:
        """Return the regular files that it has open, with device and inode; None where this user may not see them."""
        files = {}
        try:
            links = list((self.proc / "fd").iterdir())
        except OSError:
            return None
        for link in links:
            with suppress(OSError):  # closed meanwhile
                facts = link.stat()
                if stat.S_ISREG(facts.st_mode):
                    files[link.readlink()] = (facts.st_dev, facts.st_ino)
        return files

    def works_in(self, directory: Path) -> bool:
        """Return whether it has a file of this directory open, or the directory is its current one."""
        with suppress(OSError):
            if (self.proc / "cwd").readlink() == directory:
                return True
        return any(path.parent == directory for path in self.open_files() or ())

    def sees(self, path: Path) -> bool:
        """Return whether a path leads this process to the same file as us: a container has other files under the same paths."""
        try:
            ours, its = path.stat(), Path(f"{self.proc}/root{path}").stat()
        except PermissionError:
            return _is_in_our_namespace(self.proc)
        except OSError:
            return False
        return (ours.st_dev, ours.st_ino) == (its.st_dev, its.st_ino)


def find(account: Account, hostname: str) -> ServerProcess | None:
    """Return the process of the server at an address; None if it is on another machine, or is not certain.

    `hostname` is what the server calls its machine.
    """
    if account.socket is not None:
        pid = _listener(account.socket)
        return _server(pid) if pid is not None else None
    if not account.is_local or hostname != sockets.gethostname():
        return None
    return _server_on_port(account.port)


def listens(account: Account) -> bool:
    """Return whether anything accepts connections at the server's address."""
    if account.socket is not None:
        return _listener(account.socket) is not None
    try:
        sockets.create_connection((account.host, account.port), 3.0).close()
    except OSError:
        return False
    return True


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


def _server(pid: int) -> ServerProcess | None:
    """Return a process if it runs a server's program."""
    proc = Path(f"/proc/{pid}")
    name, user = identity(pid), _user(proc)
    if not name or user is None or not is_server_program(_arguments(proc)):
        return None
    return ServerProcess(pid, name, user, proc)


def is_server_program(arguments: list[str]) -> bool:
    """Return whether a command line runs mysqld or mariadbd, itself or by the dynamic loader."""
    first, *others = (word.rpartition("/")[2] for word in arguments or [""])
    if _LOADER.fullmatch(first):
        return any(_SERVER.fullmatch(name) for name in others)
    return _SERVER.fullmatch(first) is not None


def _server_on_port(port: int) -> ServerProcess | None:
    listening = _listening(port)
    servers = list(_servers()) if listening else []
    owners = [server for server in servers if _owns(server, {inode for inode, _ in listening})]
    if not owners:  # where the files of other users' processes are not seen: the only server of the user that listens
        users = {user for _, user in listening}
        owners = [server for server in servers if server.open_files() is None and {server.user} == users]
    return owners[0] if len(owners) == 1 else None


def _servers() -> Iterator[ServerProcess]:
    for pid in psutil.pids():
        if server := _server(pid):
            yield server


def _owns(server: ServerProcess, inodes: set[int]) -> bool:
    """Return whether a process has all of these sockets open."""
    missing = {f"socket:[{inode}]" for inode in inodes}
    with suppress(OSError):
        for link in (server.proc / "fd").iterdir():
            with suppress(OSError):
                missing.discard(str(link.readlink()))
    return not missing


def _listening(port: int) -> set[tuple[int, int]]:
    """Return inode and user of each socket that listens on a port at an address of this machine's loopback."""
    sockets_there = set()
    for table in ("tcp", "tcp6"):
        with suppress(OSError):
            for line in Path("/proc/net", table).read_text(encoding="ascii").splitlines()[1:]:
                fields = line.split()
                address, _, number = fields[1].partition(":")
                if fields[3] == _LISTENS and int(number, 16) == port and address in _HERE:
                    sockets_there.add((int(fields[9]), int(fields[7])))
    return sockets_there


def _arguments(proc: Path) -> list[str]:
    with suppress(OSError):
        return os.fsdecode((proc / "cmdline").read_bytes()).split("\0")
    return []


def _user(proc: Path) -> int | None:
    fields = _status(proc).get("Uid", "").split()
    return int(fields[1]) if len(fields) > 1 else None


def _is_in_our_namespace(proc: Path) -> bool:
    """Return whether a process is not in a container, as far as every user may see that: it has one PID."""
    return len(_status(proc).get("NSpid", "").split()) == 1


def _status(proc: Path) -> dict[str, str]:
    with suppress(OSError):
        lines = (proc / "status").read_text(encoding="utf-8", errors="replace").splitlines()
        return {name: value for name, _, value in (line.partition(":") for line in lines)}
    return {}
