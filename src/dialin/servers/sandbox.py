"""A sandbox: a private instance with its own data directory, socket and option file, which needs no system account.

Nobody else can reach it: only its owner can access the directory, and it listens only on its socket unless a port is given.
"""

from __future__ import annotations

import os
import re
import secrets
import signal
import socket as sockets
import subprocess
import tempfile
import uuid
from collections.abc import Mapping
from contextlib import AbstractContextManager, suppress
from dataclasses import replace
from pathlib import Path
from typing import IO, Any

from dialin.clock import Clock
from dialin.errors import LostConnectionError, MachineError, ServerError, UserError, server_failure
from dialin.model.build import Build
from dialin.model.cause import Cause, CauseCode, exit_at_limit, exit_by
from dialin.model.query import Query
from dialin.model.setting import Value
from dialin.paths import Home
from dialin.servers.account import STANDARD_PORT, Account
from dialin.servers.capabilities import Capability, base_options, has
from dialin.servers.connection import RefusedError, connect
from dialin.servers.containers import ENGINE_FAILED, Container, runs_as_root
from dialin.servers.ledger import Ledger, LedgerEntry
from dialin.servers.processes import identity, kill, processes, signal_name, spawn, tail, was_not_run
from dialin.variables import optionfile

BOOT_LIMIT = 120.0
"""Seconds after which a server that does not answer counts as hung."""

_LOST_LIMIT = 10.0
"""Seconds for which all connections to a server that starts may be lost: one that is not ready refuses them."""

INITIALISE_LIMIT = 900.0
"""Seconds that creating an empty data directory may take, even on a slow disk."""

_SOCKET_LIMIT = 100
"""The kernel takes 107 bytes for a unix socket's path; some clients take fewer."""

_SHELL_SIGNALS = 128
"""A command that ran a program which died of a signal ends with this number and the signal's, as a shell does."""

_AFTER_SERVER = 10.0
"""Seconds that the command of a container may run on after its server."""

_POLL = 0.02
_CAUGHT = re.compile(r"got signal (\d+)")


class Sandbox:
    """One private instance: made by `create`, then filled with data, booted, stopped and removed."""

    def __init__(self, build: Build, directory: Path, entry: LedgerEntry, ledger: Ledger, clock: Clock) -> None:
        self.build = build
        self.directory = directory
        self.entry = entry
        self._ledger = ledger
        self._clock = clock
        self._process: subprocess.Popen[bytes] | None = None
        self.socket = Path(entry.socket)
        self.data = directory / "data"
        self.log = directory / "error.log"
        self.option_file = directory / "my.cnf"
        self.account = Account(socket=self.socket, port=entry.port or STANDARD_PORT)
        volumes = [*dict.fromkeys((directory, self.socket.parent))]
        self._container = Container(build.image, entry.id, volumes) if build.image else None
        self._server_pid: int | None = None

    @classmethod
    def create(cls, build: Build, home: Home, ledger: Ledger, clock: Clock, *, keep: bool = False, port: int = 0) -> Sandbox:
        """Create the directory of a new sandbox; it is recorded in the ledger first."""
        name = uuid.uuid4().hex[:8]
        directory = home.sandboxes / name
        socket = directory / "s.sock"
        if len(str(socket)) > _SOCKET_LIMIT:
            socket = Path(tempfile.gettempdir()) / f"dialin-{name}" / "s.sock"
        engine = build.image.engine if build.image else ""
        entry = ledger.open(name, directory, keep=keep, build=build.id, port=port, socket=str(socket), engine=engine)
        directory.mkdir(parents=True, mode=0o700)
        socket.parent.mkdir(mode=0o700, exist_ok=socket.parent == directory)
        (directory / "tmp").mkdir()
        return cls(build, directory, entry, ledger, clock)

    @property
    def pid(self) -> int | None:
        if self._process is not None and self._process.poll() is None:
            if self._container is None:
                return self._process.pid
            return self._server_pid if self._server_pid is not None and identity(self._server_pid) else None
        live = processes(self.directory) if self._process is None else []
        return live[0].pid if live else None

    @property
    def data_directory(self) -> Path:
        return self.data

    def write_options(self, settings: Mapping[str, Value]) -> None:
        """Write the option file: the given settings, and the options that keep the sandbox private, which take precedence.

        Raises:
            UserError: a value cannot be written in an option file.
        """
        options: dict[str, Value] = {
            "datadir": str(self.data),
            "tmpdir": str(self.directory / "tmp"),
            "socket": str(self.socket),
            "pid_file": str(self.directory / "tmp" / "mysqld.pid"),
            "log_error": str(self.log),
            "secure_file_priv": str(self.directory / "tmp"),
            # Inside an image the server finds its own files.
            **base_options(self.build if self._container is None else replace(self.build, basedir=None, messages=None)),
        }
        if self.entry.port:
            options |= {"port": self.entry.port, "bind_address": "127.0.0.1"}
            if not self.entry.keep:  # root has no password: it is for the socket, so 127.0.0.1 must not be taken for localhost
                options["skip_name_resolve"] = "ON"
        else:
            options["skip_networking"] = "ON"
        if os.geteuid() == 0 if self.build.image is None else runs_as_root(self.build.image.engine):
            options["user"] = "root"
        self.option_file.write_text(optionfile.render({"mysqld": {**settings, **options}}), encoding="utf-8")
        self.option_file.chmod(0o600)

    def initialise(self, settings: Mapping[str, Value]) -> None:
        """Create an empty data directory with the given variables, which are fixed at its creation (such as the page size).

        Raises:
            ServerError: the server could not create one.
        """
        self.write_options(settings)
        if has(self.build, Capability.INITIALIZE_INSECURE):
            self._run("--initialize-insecure", feed=b"")
        else:
            (self.data / "mysql").mkdir(parents=True)
            self._run("--bootstrap", "--log-warnings=0", feed=_bootstrap_sql(self.build))

    def _run(self, *options: str, feed: bytes) -> None:
        (self.directory / "feed.sql").write_bytes(feed)
        with (self.directory / "feed.sql").open("rb") as source, (self.directory / "console.log").open("ab") as console:
            self._process = self._start(console, *options, feed=source)
            try:
                code = self._process.wait(INITIALISE_LIMIT)
            except subprocess.TimeoutExpired:
                self.kill()
                code = -signal.SIGKILL
        if self._was_not_run(code):
            raise self._not_run()
        if code != 0:
            raise server_failure(
                Cause(CauseCode.NO_DATA_DIRECTORY, {"build": self.build.id, "exit": self.exit()}), self.log_tail()
            )

    def _was_not_run(self, code: int) -> bool:
        return was_not_run(code) or (self._container is not None and code == ENGINE_FAILED)

    def _not_run(self) -> MachineError:
        words = tail(self.directory / "console.log", 1)
        return MachineError(f"{self.build.id} could not be run: {words}", "Check that its files are there, and the disk")

    def boot(self, settings: Mapping[str, Value], *, cpus: str | None = None) -> None:
        """Start the server with the given settings and wait until it answers.

        Raises:
            ServerError: the server ended, or did not answer in time; the error has the signal or the server's message.
            LostConnectionError: it runs, but every connection to it is lost.
            MachineError: the server could not be run, or its disk is full, or this machine has no room for a connection.
        """
        self.write_options(settings)
        with (self.directory / "console.log").open("ab") as console:
            self._process = self._start(console, cpus=cpus)
        self._await_answer(self._process)
        if self._container:
            self._server_pid = self._container.pid()
            # By this, too, the server is found in the ledger.
            (self.directory / "server.pid").write_text(f"{self._server_pid}\n", encoding="ascii")
            if (pid := self.pid) is not None:
                self._container.check_limits(pid)

    def _start(
        self, console: IO[bytes], *options: str, feed: IO[bytes] | int = subprocess.DEVNULL, cpus: str | None = None
    ) -> subprocess.Popen[bytes]:
        """Start the server, as a process of its own or in a container, whose command ends when the server does."""
        arguments = [f"--defaults-file={self.option_file}", *options]
        dies_by = None if self.entry.keep else "KILL"
        if self._container is None:
            command = [*self.build.launcher, str(self.build.binary), *arguments]
            return spawn(command, self.directory, "server", console, feed=feed, cpus=cpus, dies_by=dies_by)
        self._container.guard()
        self._container.clear()
        self._server_pid = None
        command = self._container.command(arguments, with_network=bool(self.entry.port), feeds=feed != subprocess.DEVNULL)
        return spawn(command, self.directory, "client", console, feed=feed, dies_by=dies_by)

    def _await_answer(self, process: subprocess.Popen[bytes]) -> None:
        limit = self._clock.monotonic() + BOOT_LIMIT
        lost_since: float | None = None
        while True:
            if process.poll() is not None:
                if self._was_not_run(process.returncode):
                    raise self._not_run()
                raise server_failure(
                    Cause(CauseCode.NOT_STARTED, {"build": self.build.id, "exit": self.exit()}), self.log_tail()
                )
            try:
                if self._answers():
                    return
                lost_since = None
            except LostConnectionError:
                now = self._clock.monotonic()
                lost_since = now if lost_since is None else lost_since
                if now - lost_since > _LOST_LIMIT:
                    raise
            if self._clock.monotonic() > limit:
                self.kill()
                raise server_failure(
                    Cause(CauseCode.NO_ANSWER_AFTER_START, {"build": self.build.id, "seconds": BOOT_LIMIT}), self.log_tail()
                )
            self._clock.sleep(_POLL)

    def _answers(self) -> bool:
        """Return whether the server takes connections, if only to refuse an account without its password.

        Raises:
            LostConnectionError: it accepted a connection, which was closed or reset.
            MachineError: this machine has no room for a connection.
        """
        if not self.socket.exists():
            return False
        try:
            with self.connect(2.0):
                return True
        except LostConnectionError:
            raise
        except ServerError as error:  # a server that is still starting refuses connections
            return error.cause.code is CauseCode.ACCOUNT_REFUSED

    def connect(self, timeout: float = 10.0) -> AbstractContextManager[Query]:
        return connect(self.account, timeout=timeout)

    def is_gone(self) -> bool:
        return self.pid is None

    def has_ended(self) -> bool:
        return self.is_gone()

    def log_tail(self) -> str:
        """Return the last lines of the error log, or of what the server printed before it had one."""
        return tail(self.log) or tail(self.directory / "console.log")

    def exit(self) -> dict[str, Any]:
        """Return how the server ended, as the figure `exit` of a `Cause`: its signal, or the last error in its log."""
        code = self._process.poll() if self._process else None
        if self._container is not None and self._process is not None and self.pid is None:
            with suppress(subprocess.TimeoutExpired):  # its command ends a moment after the server
                code = self._process.wait(_AFTER_SERVER)
        if self._container is not None and code is not None:
            image = self._container.image
            if image.memory is not None and code == _SHELL_SIGNALS + signal.SIGKILL:
                return exit_at_limit(image.memory, is_certain=self._container.ran_out_of_memory())
            code = _SHELL_SIGNALS - code if code > _SHELL_SIGNALS else code
        if code is not None and code < 0:
            return exit_by(code, signal=signal_name(-code))
        # The server's signal handler logs the signal and ends with an exit code.
        if code != 0 and (caught := _CAUGHT.findall(tail(self.log, 200))):
            return exit_by(code, signal=signal_name(int(caught[-1])))
        words = _last_error(self.log) or _last_error(self.directory / "console.log")
        return exit_by(code, words)

    def stop(self, patience: float = 300.0) -> None:
        """Stop the server cleanly and wait for it.

        Raises:
            ServerError: the server had ended already, did not stop in time, or did not exit cleanly.
        """
        process = self._process
        if process is None or process.poll() is not None:
            raise ServerError(Cause(CauseCode.ENDED_BEFORE_STOP, {"build": self.build.id}), log_tail=self.log_tail())
        if self._server_pid is None:
            process.send_signal(signal.SIGTERM)
        else:
            os.kill(self._server_pid, signal.SIGTERM)
        try:
            code = process.wait(patience)
        except subprocess.TimeoutExpired:
            self.kill()
            raise ServerError(
                Cause(CauseCode.NOT_STOPPED, {"build": self.build.id, "seconds": patience}), log_tail=self.log_tail()
            ) from None
        if code != 0:
            raise ServerError(
                Cause(CauseCode.NOT_STOPPED_CLEANLY, {"build": self.build.id, "exit": self.exit()}), log_tail=self.log_tail()
            )

    def kill(self) -> None:
        """Kill the server; its data is private and will be deleted. Raise MachineError where the kernel does not end it."""
        if self._process is not None and self._process.poll() is None:
            if self._container is not None:
                self._container.clear()
            kill(self._process, self.build.id)

    def has_certainly_ended(self) -> bool:
        """Return whether it is certain that no server of the sandbox runs."""
        is_over = self._process is None or self._process.poll() is not None
        return is_over and (self._container is None or self._container.has_ended())

    def remove(self) -> None:
        """End the server if it runs, and remove all files of the sandbox."""
        self.kill()
        self._ledger.end(self.entry)
        if self._container is not None:
            self._container.dismiss()


def tcp_account(account: Account, database: str) -> Account:
    """Return a new account, with a password of its own, that may use one schema of a sandbox through its TCP port.

    Raises:
        ServerError: the server refuses it.
    """
    user, password = "'dialin_load'@'127.0.0.1'", secrets.token_hex(16)
    with connect(account) as query:
        with suppress(RefusedError):  # it is there only if the data was prepared with one
            query(f"DROP USER {user}")
        query(f"CREATE USER {user} IDENTIFIED BY %s", (password,))
        query(f"GRANT ALL ON `{database}`.* TO {user}")
    return Account(host="127.0.0.1", port=account.port, user="dialin_load", password=password, fetches_public_key=True)


def free_port() -> int:
    """Return a TCP port of the loopback interface that is free now."""
    with sockets.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


def check_port(port: int) -> None:
    """Raise UserError if a port cannot be listened on."""
    with sockets.socket() as probe:
        probe.setsockopt(sockets.SOL_SOCKET, sockets.SO_REUSEADDR, 1)
        try:
            probe.bind(("127.0.0.1", port))
        except OSError as error:
            raise UserError(
                f"Port {port} cannot be listened on: {error.strerror}", "Give another --port, or leave it out for a free one"
            ) from error


def _bootstrap_sql(build: Build) -> bytes:
    roots = [build.messages, build.basedir and build.basedir / "share", build.basedir and build.basedir / "share" / "mysql"]
    for root in [*filter(None, roots), Path("/usr/share/mysql"), Path("/usr/share/mariadb")]:
        tables = [
            path
            for stem in ("system_tables", "performance_tables", "system_tables_data")
            for path in (root / f"mysql_{stem}.sql", root / f"mariadb_{stem}.sql")
            if path.is_file()
        ]
        if len(tables) >= 2:
            extra = [root / name for name in ("fill_help_tables.sql", "maria_add_gis_sp_bootstrap.sql")]
            extra += [root / name for name in ("mysql_sys_schema.sql", "mariadb_sys_schema.sql")]
            parts = [path.read_bytes() for path in [*tables, *extra] if path.is_file()]
            return b"SET @auth_root_socket=NULL;\nUSE mysql;\n" + b"\n".join([*parts, _only_root(build)])
    raise ServerError(f"{build.id} lacks the SQL files for its system tables", "Install the package with its share directory")


def _only_root(build: Build) -> bytes:
    # The same accounts as after --initialize-insecure; the SQL files let root in over TCP and anybody over the socket.
    accounts = b"global_priv" if has(build, Capability.GLOBAL_PRIV) else b"user"
    return b"DELETE FROM " + accounts + b" WHERE user = '' OR (user = 'root' AND host <> 'localhost');\n"


def _last_error(log: Path) -> str:
    lines = tail(log, 200).splitlines()
    errors = [line for line in lines if "Unrecognized value" in line]  # 5.5 logs this fatal error without [ERROR]
    errors += [line for line in lines if "[ERROR]" in line and "Aborting" not in line]
    chosen = errors[0] if errors else (lines[-1] if lines else "")
    return chosen.split("[ERROR]")[-1].strip()[:400]
