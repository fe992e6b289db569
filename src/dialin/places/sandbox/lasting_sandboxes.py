"""Private servers to play with: started by one command, ended by another, and reachable by their owner alone."""

from __future__ import annotations

import secrets
import shlex
from collections.abc import Mapping
from pathlib import Path

from dialin.clock import Clock
from dialin.datasets.prepare import Preparer
from dialin.errors import UserError
from dialin.model.build import Build
from dialin.model.setting import Value
from dialin.paths import Home
from dialin.servers.capabilities import Capability, has
from dialin.servers.ledger import Ledger, LedgerEntry
from dialin.servers.processes import processes
from dialin.servers.sandbox import Sandbox, check_port, free_port
from dialin.servers.sandbox_client import INSTALL, find_client
from dialin.variables import optionfile, rules
from dialin.workloads import private

_CLIENT = "client.cnf"


def start(
    build: Build,
    setting: Mapping[str, Value],
    port: int,
    home: Home,
    ledger: Ledger,
    clock: Clock,
    preparer: Preparer,
) -> LedgerEntry:
    """Start a server that outlives this command.

    Its root account gets a password before the server takes connections; the password is in an option file that only its owner
    can read.

    Raises:
        UserError: the port is taken.
        ServerError: it does not start.
    """
    if build.image is not None:
        raise UserError(f"{build.id} runs in a container, for a study only", f"Use {build.image.engine} run, or another build")
    chosen = port or free_port()
    check_port(chosen)
    sandbox = Sandbox.create(build, home, ledger, clock, keep=True, port=chosen)
    try:
        preparer.copy_blank(build, rules.shapes_data(setting), sandbox.data)
        password = secrets.token_urlsafe(18)
        first = sandbox.directory / "first.sql"
        private.write(first, _set_password(build, password))
        client: dict[str, Value] = {"user": "root", "password": password, "socket": str(sandbox.socket)}
        private.write(sandbox.directory / _CLIENT, optionfile.render({"client": client}))
        sandbox.boot({**setting, "init_file": str(first)})
        first.unlink()
    except BaseException:
        sandbox.remove()
        raise
    return sandbox.entry


def running(ledger: Ledger) -> list[LedgerEntry]:
    """Return the servers that `start` started and that still run."""
    return [entry for entry in ledger.entries() if entry.keep and processes(Path(entry.directory))]


def how_to_connect(entry: LedgerEntry) -> str:
    """Return the command line that connects to a server; the password stays in its file."""
    client = find_client()
    missing = "" if client else f"; the client comes with {INSTALL}"
    command = shlex.join([client or "mysql", f"--defaults-file={Path(entry.directory) / _CLIENT}"])
    return f"{command}   (TCP: 127.0.0.1:{entry.port}{missing})"


def _set_password(build: Build, password: str) -> str:
    # token_urlsafe holds letters, digits, - and _ only, so it cannot end the literal.
    if has(build, Capability.ALTER_USER):
        return f"ALTER USER 'root'@'localhost' IDENTIFIED BY '{password}';\n"
    return f"SET PASSWORD FOR 'root'@'localhost' = PASSWORD('{password}');\n"
