"""Servers in containers, by the command of podman or docker: what is run, how it is found again, and how it is ended.

A container of a sandbox is named after the sandbox's entry in the ledger and labelled with it. Its server is a process of this
machine like any other: its PID and its control group can be read, and its data directory and socket are the sandbox's own
directories at the same paths. `podman run` ends with the server's exit code; it does not take the container with it when it is
killed, so a watchdog that reads a pipe from dialin removes the container as soon as dialin is gone.
"""

from __future__ import annotations

import math
import os
import shutil
import subprocess
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import cache
from pathlib import Path
from typing import IO, cast

from dialin.errors import MachineError, UserError
from dialin.model.build import Image
from dialin.model.cpus import cpu_time, parse_cpus
from dialin.probes import control_groups
from dialin.servers.processes import MARK, identity
from dialin.text import size

ENGINES = ("podman", "docker")
LABEL = "dialin"
_TIMEOUT = 60.0
_TRIES = 2
"""An engine that is busy may fail to remove a container once."""

_ROUNDED = 0.005
"""CPUs by which an engine may round a quota."""

ENGINE_FAILED = 125
"""The exit code of `run` where the engine could not run the container."""

_WATCH = """
read -r ended && exit
for pause in 0 1 2 4; do
    sleep $pause
    "$0" kill "$1"
    "$0" rm --force "$1"
done >/dev/null 2>&1
"""
"""The watchdog: reads a line where all ended well, and the end of the pipe where dialin is gone. It looks several times, since
`run` may still be making the container when dialin dies."""


def find_image(name: str) -> tuple[str, str]:
    """Return the engine that has an image, and the image's digest.

    Raises:
        UserError: the name is none, neither podman nor docker is here, or none of them has the image, which dialin never pulls.
    """
    if not name or name.startswith("-"):  # an engine would take that for an option
        raise UserError(f"image:{name} names no image", "Give its name and tag, such as image:mysql:8.4")
    engines = [engine for engine in ENGINES if shutil.which(engine)]
    if not engines:
        raise UserError(
            f"image:{name} needs podman or docker, and neither is on PATH", "Install podman: apt-get install podman"
        )
    complaints = []
    for engine in engines:
        done = _run(engine, "image", "inspect", "--format", "{{.Id}}", name)
        if done.returncode == 0 and done.stdout.strip():
            return engine, done.stdout.strip().removeprefix("sha256:")
        complaints.append(f"{engine}: {done.stderr.strip().splitlines()[-1] if done.stderr.strip() else 'no answer'}")
    raise UserError(f"There is no image {name} here ({'; '.join(complaints)})", f"Pull it: {engines[0]} pull {name}")


def is_here(image: Image) -> bool:
    """Return whether an image can still be run."""
    return shutil.which(image.engine) is not None and _run(image.engine, "image", "inspect", image.digest).returncode == 0


@contextmanager
def exported(engine: str, digest: str) -> Iterator[IO[bytes]]:
    """Yield the file system of an image as a tar stream; no program of the image is run.

    Raises:
        MachineError: the engine fails.
    """
    made = _run(engine, "create", "--pull=never", "--network=none", "--entrypoint", "/", digest)
    if made.returncode != 0:
        raise MachineError(f"{engine} could not make a container: {made.stderr.strip()}", f"Try: {engine} run {digest[:12]}")
    container = made.stdout.strip().splitlines()[-1]
    try:
        with subprocess.Popen([engine, "export", container], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as process:
            try:
                yield cast("IO[bytes]", process.stdout)
            finally:
                process.kill()
    finally:
        _run(engine, "rm", "--force", container)


class Container:
    """The container of a sandbox: at most one at a time, each run under the same name."""

    def __init__(self, image: Image, entry_id: str, directories: Sequence[Path]) -> None:
        self.image = image
        self.name = name_of(entry_id)
        self._entry_id = entry_id
        self._directories = directories
        self._watchdog: subprocess.Popen[bytes] | None = None

    def command(self, arguments: Sequence[str], *, with_network: bool = False, feeds: bool = False) -> list[str]:
        """Return the command that runs the image's server with arguments, and ends with it."""
        engine, limits = self.image.engine, []
        if self.image.memory is not None:
            # The same limit with swap: without swap of its own the server cannot be slow instead of out of memory.
            limits += [f"--memory={self.image.memory}", f"--memory-swap={self.image.memory}"]
        if self.image.cpus:
            limits += [f"--cpuset-cpus={self.image.cpus}" if cpu_time(self.image.cpus) is None else f"--cpus={self.image.cpus}"]
        volumes = [f"--volume={path}:{path}" for path in self._directories]
        interactive = ["--interactive"] if feeds else []
        return [
            *(engine, "run", *interactive, "--pull=never", f"--name={self.name}", f"--label={LABEL}={self._entry_id}"),
            *(f"--network={'host' if with_network else 'none'}", f"--user={user(engine)}", "--security-opt=label=disable"),
            *(f"--env={MARK}={self._directories[0]}", f"--workdir={self._directories[0]}", *volumes, *limits),
            *(f"--entrypoint={self.image.binary}", self.image.digest, *arguments),
        ]

    def guard(self) -> None:
        """Start the watchdog, before the first container."""
        if self._watchdog is None:
            self._watchdog = subprocess.Popen(
                ["/bin/sh", "-c", _WATCH, self.image.engine, self.name], stdin=subprocess.PIPE, start_new_session=True
            )

    def pid(self) -> int | None:
        """Return the PID of the server on this machine, or None."""
        text = self._inspect("{{.State.Pid}}")
        return int(text) if text.isdecimal() and int(text) else None

    def check_limits(self, pid: int) -> None:
        """Raise MachineError where the kernel does not limit the server: an engine without the right to do so only warns."""
        limit = self._missing_limit(pid)
        if limit and identity(pid):
            raise MachineError(
                f"{self.image.engine} does not enforce {limit} here",
                "Run dialin as root, or let systemd delegate the controllers of control groups (version 2) to your user",
            )

    def _missing_limit(self, pid: int) -> str:
        memory, cpus = self.image.memory, self.image.cpus
        if memory is not None and (control_groups.memory_limit(None, process=pid) or math.inf) > memory:
            return f"the memory limit of {size(memory)} (--server-memory)"
        if cpus is None:
            return ""
        time = cpu_time(cpus)
        if time is None:
            with suppress(OSError):
                if not os.sched_getaffinity(pid) <= parse_cpus(cpus):
                    return f"the CPUs {cpus} (--server-cpus)"
        elif (control_groups.cpu_quota(process=pid) or math.inf) > time + _ROUNDED:
            return f"the time of {cpus} CPUs (--server-cpus)"
        return ""

    def ran_out_of_memory(self) -> bool:
        """Return whether it is certain that the kernel killed the server at the container's limit.

        With version 1 of control groups podman does not see that; the kernel's log names the container, where it may be read.
        """
        if self._inspect("{{.State.OOMKilled}}") == "true":
            return True
        number = self._inspect("{{.Id}}")
        return bool(number) and any("oom" in line and number in line for line in _run("dmesg").stdout.splitlines())

    def clear(self) -> None:
        """End the server, and remove the container."""
        remove(self.image.engine, self._entry_id)

    def has_ended(self) -> bool:
        """Return whether the engine confirms that no server runs in the container."""
        states = _states(self.image.engine, self._entry_id)
        return states is not None and states <= {"created", "exited", "stopped", "dead"}

    def dismiss(self) -> None:
        """End the watchdog, once nothing is left for it to remove."""
        if self._watchdog is not None and self._watchdog.stdin is not None:
            with suppress(OSError):
                self._watchdog.stdin.write(b"ended\n")
                self._watchdog.stdin.close()
            self._watchdog.wait()
            self._watchdog = None

    def _inspect(self, form: str) -> str:
        return _run(self.image.engine, "inspect", "--type=container", "--format", form, self.name).stdout.strip()


def name_of(entry_id: str) -> str:
    return f"dialin-{entry_id}"


def remove(engine: str, entry_id: str) -> bool:
    """Remove the container of an entry of the ledger, running or not; return whether it is certain that there is none left."""
    for _ in range(_TRIES):
        # `rm --force` alone would let podman's server shut down in ten seconds first.
        _run(engine, "kill", name_of(entry_id))
        done = _run(engine, "rm", "--force", name_of(entry_id))
        if done.returncode == 0 or _states(engine, entry_id) == set():  # old engines fail where there is none
            return True
    return False


def _states(engine: str, entry_id: str) -> set[str] | None:
    """Return the states of an entry's containers, of which there is one at most; None where the engine does not answer."""
    found = _run(engine, "ps", "--all", f"--filter=label={LABEL}={entry_id}", "--format={{.State}}")
    return set(found.stdout.split()) if found.returncode == 0 else None


def runs_as_root(engine: str) -> bool:
    """Return whether the user inside is root: podman's rootless root, and docker's, is the user outside."""
    return user(engine).startswith("0:")


@cache
def user(engine: str) -> str:
    """Return the user inside whose files belong, outside, to the user who runs dialin."""
    if engine == "docker" and os.geteuid() != 0:
        options = _run(engine, "info", "--format", "{{.SecurityOptions}}").stdout
        if "rootless" not in options:
            return f"{os.geteuid()}:{os.getegid()}"
    return "0:0"


def _run(*command: str) -> subprocess.CompletedProcess[str]:
    try:
        return subprocess.run(
            command, stdin=subprocess.DEVNULL, capture_output=True, text=True, errors="replace", timeout=_TIMEOUT, check=False
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        return subprocess.CompletedProcess(command, ENGINE_FAILED, "", str(error))
