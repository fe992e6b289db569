"""Finds the account for an attached server in the sources that the standard client reads, in its order.

Option files come first (`/etc/my.cnf`, `/etc/mysql/my.cnf`, `~/.my.cnf`; if one is named, only that one), then
`~/.mylogin.cnf`; the last of several values wins. The environment supplies what they lack. A password comes only from these
sources, never from a command line, and no error quotes one.
"""

from __future__ import annotations

import os
import pwd
import stat
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from dialin.errors import UserError
from dialin.model.setting import whole_number
from dialin.servers.account import STANDARD_PORT, Account, Tls, TlsMode
from dialin.text import command_line, shorten
from dialin.variables import optionfile
from dialin.variables.optionfile import Option

GROUPS = ("client", "client-server", "client-mariadb", "dialin")
"""The groups that are read: those of every client of either family, and one only for dialin."""

SYSTEM_FILES = (Path("/etc/my.cnf"), Path("/etc/mysql/my.cnf"))

SOCKETS = tuple(
    map(Path, ("/run/mysqld/mysqld.sock", "/var/run/mysqld/mysqld.sock", "/var/lib/mysql/mysql.sock", "/tmp/mysql.sock"))  # noqa: S108
)
"""Where servers listen by default: Debian's, Red Hat's, and upstream's own places."""

_NO = ("0", "off", "false", "no", "disabled")
_WHERE_SET = "See the groups [client] and [dialin] of its option files"


@dataclass(slots=True)
class _Gathered:
    values: dict[str, str | None] = field(default_factory=dict, repr=False)
    notes: list[str] = field(default_factory=list)

    def take(self, options: Sequence[Option]) -> None:
        for option in options:
            name, value = option.name, option.value
            for prefix in ("skip_", "disable_"):
                if name.startswith(prefix):
                    name, value = name.removeprefix(prefix), "0"
            self.values[name] = value

    def text(self, name: str) -> str:
        return self.values.get(name) or ""


def find_account(
    defaults_file: Path | None,
    login_path: str | None,
    environment: Mapping[str, str],
    *,
    system_files: Sequence[Path] = SYSTEM_FILES,
    sockets: Sequence[Path] = SOCKETS,
) -> Account:
    """Return the account that the standard client would use.

    Args:
        defaults_file: the only option file to read; it must have one of the groups `GROUPS`.
        login_path: a login path of `~/.mylogin.cnf`, whose values win.
        environment: MYSQL_HOST, MYSQL_TCP_PORT, MYSQL_UNIX_PORT, MYSQL_PWD, MYSQL_TEST_LOGIN_FILE, HOME, USER.
        system_files: option files of the machine.
        sockets: where a server on this machine may listen.

    Returns:
        The account; its notes say which files were ignored, and which files with a password others may read.

    Raises:
        UserError: a file or a login path does not exist or cannot be read, or an option has an invalid value.
    """
    home = Path(environment["HOME"]) if environment.get("HOME") else Path.home()
    gathered = _Gathered()
    if defaults_file is not None:
        _read_named(gathered, defaults_file.expanduser())
    else:
        for path in (*system_files, home / ".my.cnf"):
            _read_usual(gathered, path)
    _read_login_paths(gathered, login_path, Path(environment.get("MYSQL_TEST_LOGIN_FILE") or home / ".mylogin.cnf"))
    host, port, socket = _place(gathered, environment, sockets)
    return Account(
        socket=socket,
        host=host,
        port=port,
        user=gathered.text("user") or _system_user(environment),
        password=gathered.text("password") or environment.get("MYSQL_PWD", ""),
        tls=_tls(gathered),
        fetches_public_key=_is_on(gathered, "get_server_public_key"),
        notes=tuple(gathered.notes),
    )


def _read_named(gathered: _Gathered, path: Path) -> None:
    if not path.exists():
        raise UserError(
            f"{path} does not exist",
            "--defaults-file names the option file of a client, with user, password and socket or host below [client]",
        )
    options = optionfile.options(path, GROUPS)
    if not options:
        raise UserError(f"{path} has no options in a group [client]", "Put user, password and socket or host below [client]")
    _take_file(gathered, options)


def _read_usual(gathered: _Gathered, path: Path) -> None:
    if not path.is_file() or not os.access(path, os.R_OK):
        return
    if path.stat().st_mode & stat.S_IWOTH:
        gathered.notes.append(f"{path} was not read, because everybody may write to it")
        return
    _take_file(gathered, optionfile.options(path, GROUPS))


def _take_file(gathered: _Gathered, options: Sequence[Option]) -> None:
    for source in {option.path: None for option in options if option.name == "password" and option.value}:
        if source.stat().st_mode & (stat.S_IRGRP | stat.S_IROTH):
            gathered.notes.append(f"{source} holds a password and others may read it; run {command_line('chmod 600', source)}")
    gathered.take(options)


def _read_login_paths(gathered: _Gathered, login_path: str | None, path: Path) -> None:
    """Read the login path `client`, as every client does, then the requested one, whose values win."""
    if not path.is_file():
        if login_path is not None:
            raise UserError(f"{path} does not exist, so there is no login path {login_path}", _MAKE_LOGIN_PATH)
        return
    try:
        text = _decrypted(path)
        options = {group: optionfile.options(path, (group,), text) for group in ("client", login_path) if group}
    except UserError as error:
        if login_path is not None:
            raise
        gathered.notes.append(f"{error.what}, and was left out")
        return
    if login_path is not None and not options[login_path]:
        raise UserError(f"{path} has no login path {login_path}", _MAKE_LOGIN_PATH)
    for group_options in options.values():
        gathered.take(group_options)


_MAKE_LOGIN_PATH = "`mysql_config_editor print --all` lists them, `mysql_config_editor set --login-path=NAME` makes one"


def _decrypted(path: Path) -> str:
    """Return the decrypted text of a file of login paths.

    Raises:
        UserError: others may read the file, so that clients ignore it, or it is not a file of login paths.
    """
    import myloginpath

    try:
        if path.stat().st_mode & (stat.S_IRWXG | stat.S_IRWXO):
            raise UserError(f"{path} is open to others", command_line("chmod 600", path))
        return str(myloginpath.read(str(path)))
    except OSError as error:
        raise UserError(f"{path} cannot be read: {error.strerror}", "Check its permissions") from None
    except UserError:
        raise
    except Exception:
        # The library and its dependencies raise errors of many kinds, which may quote the decrypted text.
        raise UserError(f"{path} is not a file of login paths", _MAKE_LOGIN_PATH) from None


def _place(gathered: _Gathered, environment: Mapping[str, str], sockets: Sequence[Path]) -> tuple[str, int, Path | None]:
    host = gathered.text("host") or environment.get("MYSQL_HOST", "") or "localhost"
    port = _port(gathered.text("port") or environment.get("MYSQL_TCP_PORT", "") or str(STANDARD_PORT))
    protocol = gathered.text("protocol").lower()
    if protocol not in ("", "tcp", "socket"):
        raise UserError(f"The protocol {protocol} is not supported by dialin", "Use tcp or socket")
    if protocol == "tcp" or (protocol != "socket" and host != "localhost"):
        return host, port, None
    named = gathered.text("socket") or environment.get("MYSQL_UNIX_PORT", "")
    existing = [Path(named)] if named else [path for path in sockets if path.exists()]
    return host, port, (existing or list(sockets))[0]


def _port(text: str) -> int:
    port = whole_number(text) or 0
    if not 0 < port < 65_536:
        raise UserError(f"{shorten(text, 60)!r} is not a port", _WHERE_SET)
    return port


def _system_user(environment: Mapping[str, str]) -> str:
    if os.geteuid() == 0:
        return "root"
    return environment.get("USER") or environment.get("LOGNAME") or pwd.getpwuid(os.geteuid()).pw_name


def _tls(gathered: _Gathered) -> Tls:
    """Return how connections are encrypted, by the options of either family's client.

    `ssl-ca` alone requires a server certificate that is signed by this CA. MariaDB's `ssl` requires TLS, and its
    `ssl-verify-server-cert` verifies the host name as well. A client certificate requires TLS.
    """
    certificate, key, ca = gathered.text("ssl_cert"), gathered.text("ssl_key"), gathered.text("ssl_ca")
    mode = TlsMode.PREFERRED
    if written := gathered.text("ssl_mode"):
        try:
            mode = TlsMode(written.lower().replace("-", "_"))
        except ValueError:
            modes = ", ".join(each.value.upper() for each in TlsMode)
            raise UserError(f"ssl-mode {written} is unknown", f"There are {modes}") from None
    elif "ssl" in gathered.values and not _is_on(gathered, "ssl"):
        mode = TlsMode.DISABLED
    elif _is_on(gathered, "ssl_verify_server_cert"):
        mode = TlsMode.VERIFY_IDENTITY
    elif ca:
        mode = TlsMode.VERIFY_CA
    elif certificate or _is_on(gathered, "ssl"):
        mode = TlsMode.REQUIRED
    return Tls(mode, ca or None, certificate or None, key or None)


def _is_on(gathered: _Gathered, name: str) -> bool:
    return name in gathered.values and (gathered.values[name] or "on").lower() not in _NO
