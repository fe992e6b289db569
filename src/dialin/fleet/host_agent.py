"""The agent that the coordinator calls on a host: it reports the host's state, receives copies, and runs the trial process."""

from __future__ import annotations

import os
import pickle
import platform
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import dialin
from dialin.clock import SystemClock
from dialin.datasets.cache import DatasetCache, check_space
from dialin.datasets.prepare import BLANK_SIZE
from dialin.errors import DialinError
from dialin.evidence import fitness_findings
from dialin.fleet.host_process import BreakOff, HostStudy, RunBlock, StillThere
from dialin.fleet.journal import JournalReader
from dialin.fleet.tree_copy import Arrival, digest
from dialin.fleet.worker import BlockRequest
from dialin.model.fitness import Finding
from dialin.paths import Home
from dialin.preflight import machine_noise
from dialin.probes import fitness_facts
from dialin.probes import host as machine
from dialin.scratch import remove_left, scratch
from dialin.servers import builds
from dialin.servers.ledger import Ledger
from dialin.servers.processes import kill
from dialin.workloads import load_binary

_PROGRAM = "from dialin.fleet.host_process import main; main()"
"""Not `python -m`: the classes of the pickled reports would then belong to the module `__main__`."""

_TRIAL = 30.0
"""The length, in seconds, of the trials whose noise is shown."""

_WITHIN = 60.0
"""Seconds that the process may take to end its trial and server; after that it is killed, and then they are ended."""


@dataclass(frozen=True, slots=True)
class HostState:
    """The state of a host before it is prepared.

    Attributes:
        machine: the processor architecture, as the kernel names it.
        facts: the inventory of the machine; see `probes.host.inventory`.
        noise: trial-to-trial standard deviation for trials of 30 s, from the newest study that dialin ran there; None if there
            is none.
        now: the host's clock, seconds since the epoch.
    """

    version: str
    python: str
    machine: str
    facts: Mapping[str, Any]
    builds: Sequence[str]
    findings: Sequence[Finding]
    noise: float | None
    now: float


class HostAgent:
    """Serves one study on one host. Every method returns soon, except `stop`, and `reports` while it waits for a report."""

    def __init__(self, environment: Mapping[str, str] | None = None) -> None:
        self._environment = {**os.environ, **(environment or {})}
        self._home = Home.of(self._environment)
        self._open = ExitStack()
        self._directory = self._open.enter_context(scratch())
        self._journal = JournalReader(self._directory / "journal")
        self._process: subprocess.Popen[bytes] | None = None
        self._arrivals: dict[str, Arrival] = {}

    def is_there(self) -> bool:
        """Return True: an answer shows that the agent runs and has its resources. `__ray_ready__` is missing over `ray://`."""
        return True

    def state(self) -> HostState:
        """Return the state of this host; of the servers, only `--version` is run."""
        root = next(path for path in (self._home.root, *self._home.root.parents) if path.is_dir())
        return HostState(
            version=dialin.__version__,
            python=platform.python_version(),
            machine=platform.machine(),
            facts=machine.inventory(self._home.root),
            builds=[build.id for build in builds.discover(self._home, self._environment)],
            findings=fitness_findings.findings(fitness_facts.facts(root, SystemClock()), BLANK_SIZE),
            noise=machine_noise.newest(self._home.noise, _TRIAL),
            now=time.time(),
        )

    def digest_of(self, place: str) -> str | None:
        """Return the digest of the file or directory at a place in dialin's home; None if there is none."""
        path = self._path(place)
        return digest(path) if path.exists() else None

    def drop_dataset(self, key: str) -> bool:
        """Remove prepared data that differs from the coordinator's; return False if a study uses it."""
        return DatasetCache(self._home, SystemClock()).remove(key)

    def driver_digest(self) -> str | None:
        """Return the digest of the load driver that is installed here; None if none is."""
        program = load_binary.find(self._environment)
        return digest(program) if program else None

    def use_driver(self, place: str) -> None:
        """Use the load driver at a place in dialin's home from now on."""
        self._environment[load_binary.VARIABLE] = str(self._path(place))

    def take(self, place: str, piece: bytes, size: int) -> None:
        """Receive a piece of a copy for a place in dialin's home; `size` is the bytes of the whole copy.

        Raises:
            DialinError: the disk has no room for the copy.
        """
        if place not in self._arrivals:
            check_space(self._path(place), 2 * size)
            self._arrivals[place] = Arrival(self._path(place))
        self._arrivals[place].add(piece)

    def finish(self, place: str, expected: str) -> None:
        """Move a complete copy to its place; raise DialinError where the digest of the copy is not the expected one."""
        self._arrivals.pop(place).finish(expected)

    def _path(self, place: str) -> Path:
        if ".." in Path(place).parts or Path(place).is_absolute():
            raise DialinError(f"{place} is outside dialin's home", "")
        return self._home.root / place

    def start(self, study: HostStudy) -> None:
        """End the servers that a dead process left, and start the process that runs trials; it reports when it is ready."""
        remove_left()
        Ledger(self._home.ledger).end_orphans()
        command = [sys.executable, "-c", _PROGRAM, str(self._directory)]
        with (self._directory / "log").open("wb") as log:
            self._process = subprocess.Popen(
                command, stdin=subprocess.PIPE, stdout=log, stderr=log, env=self._environment, start_new_session=True
            )
        self._order(study)

    def run_block(self, turn: int, request: BlockRequest) -> None:
        self._order(RunBlock(turn, request))

    def interrupt(self, turn: int) -> None:
        """End a turn; its end is reported once its server is gone."""
        self._order(BreakOff(turn))

    def reports(self, after: int, wait: float) -> tuple[list[bytes], bool]:
        """Return the reports after a number, and whether the process still runs; wait up to `wait` seconds for a new report.

        Reports that were lost on the way can be requested again. Each call is a sign of life for the process.
        """
        self._order(StillThere())
        until = time.monotonic() + wait
        while True:
            runs = self._process is not None and self._process.poll() is None
            records = self._journal.after(after)
            if records or not runs or time.monotonic() >= until:
                return records, runs
            time.sleep(0.02)

    def last_words(self) -> str:
        """Return the last lines of the process's log, which holds its output and errors."""
        return "\n".join((self._directory / "log").read_text(encoding="utf-8", errors="replace").splitlines()[-5:])

    def stop(self) -> None:
        """End the process, with its trial and server."""
        process = self._process
        if process is not None:
            process.terminate()
            try:
                process.wait(_WITHIN)
            except subprocess.TimeoutExpired:
                kill(process, "The process of a host")
                Ledger(self._home.ledger).end_orphans()
            with suppress(OSError):
                process.stdin.close()  # type: ignore[union-attr]  # it is a pipe
        self._open.close()

    def _order(self, order: Any) -> None:
        if self._process is None or self._process.stdin is None:
            return
        try:
            self._process.stdin.write(pickle.dumps(order))
            self._process.stdin.flush()
        except OSError:
            pass  # the process has ended, as `reports` shows
