"""What the coordinator calls on a host: it says what is there, takes copies, and keeps the process that runs trials."""

from __future__ import annotations

import os
import pickle
import platform
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
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
from dialin.servers import builds
from dialin.servers.ledger import Ledger
from dialin.workloads import load_binary

_PROGRAM = "from dialin.fleet.host_process import main; main()"
"""Not `python -m`, in which what is reported would belong to a module of another name."""

_TRIAL = 30.0
"""Seconds of the trial whose noise is shown."""

_WITHIN = 60.0
"""Seconds that the process may take to end its trial and server; then it is killed, and they are ended after it."""


@dataclass(frozen=True, slots=True)
class HostState:
    """What there is on a host before it is prepared.

    Attributes:
        version: of dialin.
        machine: the kind of processor, as the kernel names it.
        facts: what the machine is; see `probes.host.inventory`.
        noise: trial-to-trial standard deviation of a trial of half a minute, by the newest study that dialin ran there;
            None where there was none.
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
    """Serves one study on one host. Every method returns soon, but for `wait` seconds of `reports` and the end of `stop`."""

    def __init__(self, environment: Mapping[str, str] | None = None) -> None:
        self._environment = {**os.environ, **(environment or {})}
        self._home = Home.of(self._environment)
        self._directory = Path(tempfile.mkdtemp(prefix="dialin-host-"))
        self._journal = JournalReader(self._directory / "journal")
        self._process: subprocess.Popen[bytes] | None = None
        self._arrivals: dict[str, Arrival] = {}

    def is_there(self) -> bool:
        """Answer: the agent runs, and holds its node if that was asked for. `__ray_ready__` is not there over `ray://`."""
        return True

    def state(self) -> HostState:
        """Return what there is here; nothing is started but the servers' own `--version`."""
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
        """Return the digest of what is at a place of dialin's home; None where nothing is."""
        path = self._path(place)
        return digest(path) if path.exists() else None

    def drop_dataset(self, key: str) -> bool:
        """Remove prepared data that is other than the coordinator's; False where a study uses it."""
        return DatasetCache(self._home, SystemClock()).remove(key)

    def driver_digest(self) -> str | None:
        """Return the digest of the load driver that is installed here; None where there is none."""
        program = load_binary.find(self._environment)
        return digest(program) if program else None

    def use_driver(self, place: str) -> None:
        """Use the load driver at a place of dialin's home from now on."""
        self._environment[load_binary.VARIABLE] = str(self._path(place))

    def take(self, place: str, piece: bytes, size: int) -> None:
        """Take a piece of what is copied to a place of dialin's home.

        Raises:
            DialinError: the disk has no room for `size` bytes, those of the whole.
        """
        if place not in self._arrivals:
            check_space(self._home.root, 2 * size)
            self._arrivals[place] = Arrival(self._path(place))
        self._arrivals[place].add(piece)

    def finish(self, place: str, expected: str) -> None:
        """Put what was copied to its place.

        Raises:
            DialinError: its digest is not the expected one.
        """
        self._arrivals.pop(place).finish(expected)

    def _path(self, place: str) -> Path:
        if ".." in Path(place).parts or Path(place).is_absolute():
            raise DialinError(f"{place} is outside dialin's home", "")
        return self._home.root / place

    def start(self, study: HostStudy) -> None:
        """Start the process that runs trials, after the servers that a dead one left are ended; it reports when it is ready."""
        Ledger(self._home.ledger).end_orphans()
        words = [sys.executable, "-c", _PROGRAM, str(self._directory)]
        log = (self._directory / "log").open("wb")
        self._process = subprocess.Popen(
            words, stdin=subprocess.PIPE, stdout=log, stderr=log, env=self._environment, start_new_session=True
        )
        self._order(study)

    def run_block(self, turn: int, request: BlockRequest) -> None:
        self._order(RunBlock(turn, request))

    def break_off(self, turn: int) -> None:
        """End a turn; its end is reported once its server is gone."""
        self._order(BreakOff(turn))

    def reports(self, after: int, wait: float) -> tuple[list[bytes], bool]:
        """Return what the process reports after a number, and whether it still runs; waits for something new.

        Whoever asks again for what was lost on the way gets it again. Asking says to the process that somebody is there.
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
        """Return the last lines of what the process wrote beside its journal."""
        return "\n".join((self._directory / "log").read_text(encoding="utf-8", errors="replace").splitlines()[-5:])

    def stop(self) -> None:
        """End the process, with its trial and server."""
        process = self._process
        if process is not None:
            process.terminate()
            try:
                process.wait(_WITHIN)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
                Ledger(self._home.ledger).end_orphans()
        shutil.rmtree(self._directory, ignore_errors=True)

    def _order(self, order: Any) -> None:
        if self._process is None or self._process.stdin is None:
            return
        try:
            self._process.stdin.write(pickle.dumps(order))
            self._process.stdin.flush()
        except OSError:
            pass  # it has ended, and `reports` says so
