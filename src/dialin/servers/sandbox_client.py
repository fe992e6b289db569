"""The command-line client, which reads dumps: they have statements of the client's own, such as DELIMITER."""

from __future__ import annotations

import shutil

from dialin.errors import UserError
from dialin.servers.account import Account


def client_of(account: Account) -> list[str]:
    """Return the words that start a client on a sandbox.

    Raises:
        UserError: there is none on this machine.
    """
    client = next((found for name in ("mysql", "mariadb") if (found := shutil.which(name))), None)
    if client is None:
        raise UserError("A dump is loaded by the client mysql, which is not here", "apt-get install default-mysql-client")
    return [client, "--no-defaults", f"--socket={account.socket}", f"--user={account.user}"]
