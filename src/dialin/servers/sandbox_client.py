"""The command-line client, which loads dumps: a dump may contain client commands, such as DELIMITER."""

from __future__ import annotations

import shutil

from dialin.errors import UserError
from dialin.servers.account import Account

INSTALL = "apt-get install default-mysql-client"


def find_client() -> str | None:
    """Return the name of a client that is installed on this machine, or None."""
    return next((name for name in ("mysql", "mariadb") if shutil.which(name)), None)


def client_of(account: Account) -> list[str]:
    """Return the command, with its arguments, that connects a client to a sandbox.

    Raises:
        UserError: no client is installed on this machine.
    """
    client = find_client()
    if client is None:
        raise UserError("A dump is loaded by the client mysql, which is not here", INSTALL)
    return [client, "--no-defaults", f"--socket={account.socket}", f"--user={account.user}"]
