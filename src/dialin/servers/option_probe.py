"""Runs a server's help mode, in which the server reads its options, prints the resulting values and exits."""

from __future__ import annotations

import subprocess
from collections.abc import Mapping

from dialin.clock import Clock
from dialin.model.build import Build
from dialin.scratch import scratch
from dialin.servers.capabilities import base_options
from dialin.variables.help_mode import Ask, Reply, read_reply

_TIMEOUT = 10.0
"""Seconds for one run; most take a tenth of a second, but some values make the server clear memory."""

_BUDGET = 60.0
"""Seconds for all runs of a build together; after that, it is not run any more."""

_MEMORY = 2 * 2**20
"""KiB of address space: with the largest key buffer, a server tries smaller sizes until an allocation succeeds."""

_LIMITED = f'ulimit -v {_MEMORY}; exec "$@"'


def ask_of(build: Build, clock: Clock) -> Ask:
    """Return a function that runs a build's help mode with given options, for `variables.option_probing`.

    A failure makes the reply incomplete and raises no error. If the binary hangs, cannot be run, or the time of `_BUDGET` is
    over, the reply is marked as not answered; a crash still counts as an answer.
    """
    end = clock.monotonic() + _BUDGET

    def ask(options: Mapping[str, int]) -> Reply:
        if clock.monotonic() > end:
            return Reply(complete=False, answered=False)
        # Without a data directory of its own a server would touch the default one.
        with scratch() as directory:
            private = {
                **base_options(build),
                "datadir": str(directory),
                "loose_secure_file_priv": str(directory),
                "loose_log_error_verbosity": "2",
            }
            arguments = [f"--{name.replace('_', '-')}={value}" for name, value in private.items()]
            arguments += [f"--loose-{name.replace('_', '-')}={value}" for name, value in options.items()]
            return _run([*build.launcher, str(build.binary), "--no-defaults", *arguments, "--user=root", "--verbose", "--help"])

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
    output, messages = (text.decode("utf-8", "replace") for text in (done.stdout, done.stderr))
    return read_reply(output, messages, ended_well=done.returncode == 0)
