"""Run a server's help mode, in which it reads options, prints what came of them, and ends; nothing is started."""

from __future__ import annotations

import subprocess
import tempfile
from collections.abc import Mapping

from dialin.clock import Clock
from dialin.model.build import Build
from dialin.servers.capabilities import base_options
from dialin.variables.help_mode import Ask, Reply, read_reply

_TIMEOUT = 10.0
"""Seconds for one run; it takes a tenth of one, but some values have a server clear memory."""

_BUDGET = 60.0
"""Seconds for all runs together, after which a build is asked nothing more."""

_MEMORY = 2 * 2**20
"""KiB of address space: a server that is asked for the largest key buffer takes less and less until it gets some."""

_LIMITED = f'ulimit -v {_MEMORY}; exec "$@"'


def ask_of(build: Build, clock: Clock) -> Ask:
    """Return what runs a build's help mode with given options, as `variables.option_probing` needs it.

    Whatever goes wrong makes an incomplete reply, and no error; it is no answer where the binary hangs or has had its time,
    and one where it crashes.
    """
    end = clock.monotonic() + _BUDGET

    def ask(options: Mapping[str, int]) -> Reply:
        if clock.monotonic() > end:
            return Reply(complete=False, answered=False)
        # Without a data directory of its own a server would touch the default one.
        with tempfile.TemporaryDirectory(prefix="dialin-") as scratch:
            private = {
                **base_options(build),
                "datadir": scratch,
                "loose_secure_file_priv": scratch,
                "loose_log_error_verbosity": "2",
            }
            words = [f"--{name.replace('_', '-')}={value}" for name, value in private.items()]
            words += [f"--loose-{name.replace('_', '-')}={value}" for name, value in options.items()]
            return _run([*build.launcher, str(build.binary), "--no-defaults", *words, "--user=root", "--verbose", "--help"])

    return ask


def _run(arguments: list[str]) -> Reply:
    try:
        done = subprocess.run(
            ["/bin/sh", "-c", _LIMITED, "sh", *arguments],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=_TIMEOUT,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired):
        return Reply(complete=False, answered=False)
    printed, complained = (text.decode("utf-8", "replace") for text in (done.stdout, done.stderr))
    return read_reply(printed, complained, ended_well=done.returncode == 0)
