"""The command-line clients of this machine for dumps, which may contain client commands such as DELIMITER."""

from __future__ import annotations

import shutil
import subprocess

from dialin.errors import UserError
from dialin.servers.account import Account

INSTALL = "apt-get install default-mysql-client"


def find_client() -> str | None:
    """Return the name of a client that is installed on this machine, or None."""
    return next((name for name in ("mysql", "mariadb") if shutil.which(name)), None)


def need_client() -> str:
    """Return the name of a client that is installed on this machine; raise UserError where there is none."""
    client = find_client()
    if client is None:
        raise UserError("A dump is loaded by the client mysql, which is not here", INSTALL)
    return client


def client_of(account: Account) -> list[str]:
    """Return the command, with its arguments, that connects a client to a sandbox.

    Of the client's own commands, it obeys only DELIMITER and those of character sets; `system` in a dump is an error.

    Raises:
        UserError: no client is installed on this machine.
    """
    return [need_client(), "--no-defaults", "--binary-mode", f"--socket={account.socket}", f"--user={account.user}"]


def dump_command(server: str | None) -> str:
    """Return the command that dumps at an exact moment of a server's transactions, with an option that the program here has.

    Args:
        server: the server's version, as it says it; None where it is not known.
    """
    program = next((name for name in ("mysqldump", "mariadb-dump") if shutil.which(name)), None)
    if program is None:
        return "mysqldump --single-transaction --source-data (--master-data with programs that lack it)"
    done = subprocess.run([program, "--help"], stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
    if "--source-data" in done.stdout:
        return f"{program} --single-transaction --source-data"
    # MySQL 8.4 has no SHOW MASTER STATUS, which --master-data sends.
    release = (server or "").partition("-")[0].split(".")
    is_new = "MariaDB" not in (server or "") and [int(part) for part in release[:2] if part.isdecimal()] >= [8, 4]
    return f"{program} --lock-all-tables" if is_new else f"{program} --single-transaction --master-data"
