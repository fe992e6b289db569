"""Ask the server itself whether it takes a setting, without starting it.

A server that is started with a value out of range changes it silently, or with a line in a log that nobody reads. Asked
beforehand, it says the same in milliseconds.
"""

from __future__ import annotations

import re
import subprocess
import tempfile
from pathlib import Path

from dialin.errors import ServerError, UserError
from dialin.model.build import Build
from dialin.model.setting import Setting, describe
from dialin.servers.capabilities import Capability, base_options, has
from dialin.variables import optionfile

_TIMEOUT = 60.0
_TAKEN_BADLY = re.compile(r"(adjusted to|not recognized|Error while setting value|[Uu]nknown (variable|option|suffix))")
_LEAD = re.compile(r"^.*\[(ERROR|Warning)\]\s*(\[[^\]]*\]\s*)*(\S*(mysqld|mariadbd):\s*)?|^\S*(mysqld|mariadbd):\s*")


def check(build: Build, settings: Setting) -> None:
    """Make sure that a build takes a setting as it is written.

    Raises:
        UserError: it would refuse it, or take another value instead; the error gives the server's own words.
        ServerError: the binary cannot be run.
    """
    with tempfile.TemporaryDirectory(prefix="dialin-") as scratch:
        options = {**base_options(build), "datadir": scratch, "secure_file_priv": scratch}
        file = Path(scratch) / "my.cnf"
        file.write_text(optionfile.render({"mysqld": {**options, **settings}}), encoding="utf-8")
        knows = has(build, Capability.VALIDATE_CONFIG)
        asking = ["--validate-config", "--log-error-verbosity=2"] if knows else ["--verbose", "--help"]
        try:
            done = subprocess.run(
                [*build.launcher, str(build.binary), f"--defaults-file={file}", *asking, "--user=root"],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.PIPE,
                timeout=_TIMEOUT,
                check=False,
            )
        except (OSError, subprocess.TimeoutExpired) as error:
            raise ServerError(f"{build.binary} cannot be run: {error}", "Name another build with --server") from error
    complaints = [line for line in done.stderr.decode("utf-8", "replace").splitlines() if _TAKEN_BADLY.search(line)]
    if complaints:
        words = _LEAD.sub("", complaints[0]).strip().rstrip(".")
        raise UserError(f"{build.id} does not accept {describe(settings)}: {words}", "Give a value that the server accepts")
