"""The command-line client, which reads dumps: they have statements of the client's own, such as DELIMITER."""

from __future__ import annotations

import shutil

from dialin.errors import UserError
from dialin.servers.account import Account

INSTALL = "apt-get install default-mysql-client"


def find_client() -> str | None:
    """Return the name of a client on this machine; None where there is none."""
    return next((name for name in ("mysql", "mariadb") if shutil.which(name)), None)


def client_of(account: Account) -> list[str]:
    """Return the words that start a client on a sandbox.

    Raises:
        UserError: there is none on this machine.
    """
    client = find_client()
    if client is None:
        raise UserError("A dump is loaded by the client mysql, which is not here", INSTALL)
    return [client, "--no-defaults", f"--socket={account.socket}", f"--user={account.user}"]
