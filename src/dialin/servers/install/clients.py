"""Package clients, run as a user would run them: progress is reported while they download, and an error in one line."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from dialin.errors import UserError

Say = Callable[[str], None]
"""Takes one line of progress."""

MEGABYTE = 1_000_000
_SECONDS_BETWEEN_LINES = 5.0
_CREDENTIALS = re.compile(r"//[^/@\s]+@")
_ERROR_LINE = re.compile(
    r"^(E:|Err:|\[ERROR\]|\[FATAL\]|dpkg[^:]*: error|fatal:|npm (ERR!|error) (?!code|errno|syscall|path|dest))"
)


@dataclass(frozen=True, slots=True)
class Arrival:
    """The directory that a client downloads into, which may hold other files already, and how much is expected."""

    directory: Path
    megabytes: float


@dataclass(frozen=True, slots=True)
class Clients:
    """Runs the package clients of this machine."""

    say: Say
    interval: float = _SECONDS_BETWEEN_LINES

    def check(self, client: str) -> None:
        """Check that a client is installed, before a download with it is announced.

        Raises:
            UserError: the client is not on this machine.
        """
        if shutil.which(client) is None:
            raise missing(client)

    def run(self, arguments: Sequence[str], *, cwd: Path | None = None, arrival: Arrival | None = None) -> str:
        """Run a client to its end, in the C locale, and return its output.

        Raises:
            UserError: the client is not on this machine, or it failed.
        """
        megabytes_before = directory_megabytes(arrival.directory) if arrival else 0.0
        try:
            process = subprocess.Popen(
                arguments,
                cwd=cwd,
                env={**os.environ, "LC_ALL": "C", "DEBIAN_FRONTEND": "noninteractive"},
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                text=True,
                errors="replace",
                close_fds=False,  # the client keeps the lock of the install open; see `installer.exclusively`
            )
        except FileNotFoundError:
            raise missing(arguments[0]) from None
        with process:
            try:
                output = self._wait(process, arrival, megabytes_before)
            except BaseException:
                process.kill()
                raise
        if process.returncode:
            raise UserError(f"{arguments[0]} failed: {error_line(output)}")
        return output

    def _wait(self, process: subprocess.Popen[str], arrival: Arrival | None, megabytes_before: float) -> str:
        while True:
            try:
                return process.communicate(timeout=self.interval)[0]
            except subprocess.TimeoutExpired:
                if arrival:
                    arrived = max(0.0, directory_megabytes(arrival.directory) - megabytes_before)
                    self.say(f"  {arrived:.0f} of {arrival.megabytes:.0f} MB")


def missing(client: str) -> UserError:
    """Return the error for a client that this machine lacks."""
    remedies = {
        "mvn": "as root: apt-get install maven",
        "npm": "as root: apt-get install npm",
        "apt-get": "this needs Debian",
        "dpkg": "this needs Debian",
    }
    return UserError(f"{client} is not on this machine", remedies.get(client, f"install {client}"))


def error_line(output: str) -> str:
    """Return the line of a client's output that says what went wrong, without the credentials that a URL may carry."""
    lines = [line.strip() for line in output.splitlines() if line.strip()]
    line = next((line for line in lines if _ERROR_LINE.match(line)), lines[-1] if lines else "it printed nothing")
    return _CREDENTIALS.sub("//", line).rstrip(".")


def directory_megabytes(directory: Path) -> float:
    """Return the size of all files under a directory, in millions of bytes; files that vanish meanwhile are not counted."""
    total = 0
    for parent, _, names in os.walk(directory):
        for name in names:
            try:
                total += os.lstat(os.path.join(parent, name)).st_size  # noqa: PTH118 - a Path for each file costs more than it gives
            except FileNotFoundError:
                continue
    return total / MEGABYTE
