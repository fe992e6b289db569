"""Identifies a server binary: its flavour and version, from `--version`."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Sequence
from pathlib import Path

from dialin.errors import UserError
from dialin.model.build import Flavour, Version

_TIMEOUT = 20.0
_VERSION = re.compile(r"\bVer (?P<version>(?P<numbers>\d+\.\d+\.\d+)\S*)(?P<rest>[^\n]*)")
_LIBRARY = re.compile(r"error while loading shared libraries: (?P<library>[^:]+):")


def identify(binary: Path, launcher: Sequence[str] = ()) -> tuple[Flavour, Version, str]:
    """Return the flavour and version of a server binary, and the version as the binary prints it.

    Raises:
        UserError: the binary does not run here, or is not a MySQL or MariaDB server.
    """
    try:
        done = subprocess.run(
            [*launcher, str(binary), "--no-defaults", "--version"],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=_TIMEOUT,
            check=False,
        )
    except subprocess.TimeoutExpired:
        raise UserError(f"{binary} did not report its version within {_TIMEOUT:.0f} s") from None
    except OSError as error:
        raise UserError(f"{binary} cannot be run: {error.strerror}", "Is it built for this machine, and executable?") from error
    output = done.stdout.decode("utf-8", "replace")
    match = _VERSION.search(output)
    if done.returncode == 0 and match:
        # The line begins with the binary's path, which may contain any word; only the text after `Ver` is the server's.
        text = match["version"]
        flavour = Flavour.MARIADB if "mariadb" in (text + match["rest"]).lower() else Flavour.MYSQL
        return flavour, tuple(map(int, match["numbers"].split("."))), text
    complaint = done.stderr.decode("utf-8", "replace").strip()
    if missing := _LIBRARY.search(complaint):
        raise UserError(f"{binary} needs {missing['library']}, which this machine lacks", "Install the package that has it")
    last = (complaint or output.strip()).splitlines()[-1:] or [f"it ended with {done.returncode}"]
    raise UserError(f"{binary} is not a MySQL or MariaDB server: {last[0]}")
