"""The account that dialin-load logs in with: the password in a private file, never on its command line."""

from __future__ import annotations

import os
from pathlib import Path

from dialin.errors import UserError
from dialin.servers.account import Account, TlsMode
from dialin.workloads import private
from dialin.workloads.base import Target

CONFIG = "dialin-load.cnf"

_ESCAPES = {"\\": "\\\\", '"': '\\"', "\n": "\\n", "\r": "\\r", "\t": "\\t", "\b": "\\b"}
"""How characters are escaped between the quotes of an option file."""


def check(account: Account) -> None:
    """Raise UserError where an option file cannot hold the password, or a TLS file is missing or cannot be read."""
    if "\0" in account.password:
        raise UserError("The account's password contains a zero byte, which an option file cannot hold", "Change the password")
    tls = account.tls
    if tls.mode in (TlsMode.VERIFY_CA, TlsMode.VERIFY_IDENTITY) and not tls.ca:
        raise UserError("dialin-load needs the CA certificate to verify the server's certificate", "Give ssl-ca")
    if bool(tls.certificate) != bool(tls.key):
        there, missing = ("cert", "key") if tls.certificate else ("key", "cert")
        raise UserError(
            f"ssl-{there} is given without ssl-{missing}: a client certificate needs its key",
            f"Give ssl-{missing} too; it is the same file if that holds both",
        )
    for option, file in tls.files.items():
        if file and not os.access(_path(file), os.R_OK):
            raise UserError(f"{option} {_path(file)} cannot be read", "Correct the path or its permissions")


def options(target: Target, database: str) -> list[str]:
    """Return dialin-load's options for a server; a password is written to an option file in the target's directory."""
    account, directory = target.account, target.directory
    words = [f"--sessions-file={target.sessions_file}"]
    if account.password:
        path = directory / CONFIG
        escaped = "".join(_ESCAPES.get(character, character) for character in account.password)
        private.write(path, f'[client]\npassword = "{escaped}"\n')
        words.append(f"--defaults-file={path}")
    if account.socket is not None:
        words.append(f"--socket={account.socket}")
    else:
        words += [f"--host={account.host}", f"--port={account.port}"]
    words += [f"--user={account.user}", f"--database={database}", f"--ssl-mode={account.tls.mode}"]
    words += [f"--{option}={_path(file)}" for option, file in account.tls.files.items() if file]
    if account.fetches_public_key:
        words.append("--get-server-public-key")
    return words


def _path(file: str) -> Path:
    return Path(file).expanduser().absolute()
