"""Checks whether a server accepts a setting, without starting it.

A server that starts with a value out of range adjusts the value silently, or with a warning in a log that nobody reads. Its
validation mode or help mode reports the same within milliseconds.
"""

from __future__ import annotations

import re
import subprocess

from dialin.errors import ServerError, UserError
from dialin.model.build import Build
from dialin.model.setting import Setting, describe
from dialin.scratch import scratch
from dialin.servers.capabilities import Capability, base_options, has
from dialin.variables import optionfile

_TIMEOUT = 60.0
_COMPLAINT = re.compile(r"(adjusted to|not recognized|Error while setting value|[Uu]nknown (variable|option|suffix))")
_ERROR, _END = "[ERROR]", "Aborting"
_MOST_NAMED = 4
_LOG_PREFIX = re.compile(r"^.*\[(ERROR|Warning)\]\s*(\[[^\]]*\]\s*)*(\S*(mysqld|mariadbd):\s*)?|^\S*(mysqld|mariadbd):\s*")


def check(build: Build, settings: Setting) -> None:
    """Make sure that a build accepts a setting unchanged.

    Raises:
        UserError: the build would refuse the setting or adjust a value; the error quotes the server's message.
        ServerError: the binary cannot be run.
    """
    with scratch() as directory:
        options = {**base_options(build), "datadir": str(directory), "secure_file_priv": str(directory)}
        file = directory / "my.cnf"
        file.write_text(optionfile.render({"mysqld": {**options, **settings}}), encoding="utf-8")
        can_validate = has(build, Capability.VALIDATE_CONFIG)
        mode = ["--validate-config", "--log-error-verbosity=2"] if can_validate else ["--verbose", "--help"]
        try:
            done = subprocess.run(
                [*build.launcher, str(build.binary), f"--defaults-file={file}", *mode, "--user=root"],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.PIPE,
                timeout=_TIMEOUT,
                check=False,
            )
        except (OSError, subprocess.TimeoutExpired) as error:
            raise ServerError(f"{build.binary} cannot be run: {error}", "Name another build with --server") from error
    lines = done.stderr.decode("utf-8", "replace").splitlines()
    complaints = [line for line in lines if _COMPLAINT.search(line)]
    if can_validate and done.returncode and not complaints:
        complaints = [line for line in lines if _ERROR in line and _END not in line]
    if complaints:
        messages = dict.fromkeys(_LOG_PREFIX.sub("", line).strip().rstrip(".") for line in complaints)
        what = describe(settings) if len(settings) <= _MOST_NAMED else f"one of {len(settings)} values"
        raise UserError(f"{build.id} does not accept {what}: {'; '.join(messages)}", "Give a value that the server accepts")
