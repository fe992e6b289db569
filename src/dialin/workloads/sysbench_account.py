"""The account that sysbench logs in with: the password in a private file, never on its command line, and TLS by files."""

from __future__ import annotations

import os
from pathlib import Path

from dialin.errors import UserError
from dialin.servers.account import Account
from dialin.workloads import private

CONFIG = "sysbench.cnf"

_LONGEST = 255
"""The most bytes in a line of its configuration file, line end included; sysbench 1.0.20 reads the rest as another line."""

_TLS_FILES = {"ssl-ca": "cacert.pem", "ssl-cert": "client-cert.pem", "ssl-key": "client-key.pem"}
"""The only names under which sysbench looks for these files, in the directory that it runs in."""

_REMEDIES = (
    ("error 3159", "The server wants TLS: give ssl-ca, ssl-cert and ssl-key; sysbench needs all three"),
    (
        "error 2026",
        "sysbench takes TLS with ssl-ca, ssl-cert and ssl-key only; check that ssl-ca signed the server's certificate",
    ),
    (
        "error 2059",
        "Its client library lacks the plugin that the account logs in with: reinstall libmariadb3 or libmysqlclient",
    ),
    ("error 2061", "The account needs TLS, or the server's RSA key (caching_sha2_password_auto_generate_rsa_keys)"),
    ("error 1045", "Check that the account may connect without TLS, or give ssl-ca, ssl-cert and ssl-key"),
    ("error 1044", "Grant the account ALL on the schema of the load"),
    ("error 1142", "Grant the account ALL on the schema of the load"),
)


def check(account: Account) -> None:
    """Raise UserError where a configuration file cannot hold the password, or TLS is required and a certificate is missing."""
    if account.password:
        _password_line(account.password)
    if _takes_tls(account):
        _tls_files(account)


def options(account: Account, directory: Path) -> dict[str, object]:
    """Return sysbench's options for an account; a file with the password, and links to TLS files, go to the directory.

    Raises:
        UserError: see `check`.
    """
    words: dict[str, object] = {}
    if account.password:
        path = directory / CONFIG
        private.write(path, _password_line(account.password))
        words["config-file"] = path
    if account.socket is not None:
        words["mysql-socket"] = account.socket
    else:
        # The client library takes the name localhost for a unix socket.
        words["mysql-host"] = "127.0.0.1" if account.host == "localhost" else account.host
        words["mysql-port"] = account.port
    words["mysql-user"] = account.user
    if _takes_tls(account):
        for name, file in _tls_files(account).items():
            link = directory / name
            link.unlink(missing_ok=True)
            link.symlink_to(file)
        words["mysql-ssl"] = "on"
    return words


def remedy(words: str) -> str:
    """Return the remedy for a sysbench that failed, from its last lines of output."""
    return next((text for sign, text in _REMEDIES if sign in words), "See its log")


def _takes_tls(account: Account) -> bool:
    """Return whether TLS is used: where it is required, but on a socket, which is private, only if all its files are given."""
    return account.tls.is_required and (account.socket is None or all(account.tls.files.values()))


def _password_line(password: str) -> str:
    """Return the line of a configuration file that holds a password; sysbench supports quotes there, but no escapes."""
    quote = next((each for each in ('"', "'") if each not in password), "")
    bare = not quote and password[0] not in "#'\"" and not any(each in ", " or each.isspace() for each in password)
    line = f"mysql-password={quote}{password}{quote}\n"
    if not (quote or bare) or not password.isprintable() or len(line.encode()) > _LONGEST:
        raise UserError(
            "sysbench cannot be given the account's password: it is too long, has both kinds of quotes, or is not plain text",
            "Change the account's password",
        )
    return line


def _tls_files(account: Account) -> dict[str, Path]:
    files = {}
    for option, file in account.tls.files.items():
        if not file:
            raise UserError(
                f"TLS is required, and sysbench supports it only with a client certificate: {option} is missing",
                "Give ssl-ca, ssl-cert and ssl-key, or connect through the server's unix socket",
            )
        path = Path(file).expanduser().absolute()
        if not os.access(path, os.R_OK):
            raise UserError(f"{option} {path} cannot be read", "Correct the path or its permissions")
        files[_TLS_FILES[option]] = path
    return files
