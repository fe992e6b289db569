"""How tests run dialin, and look at what it started. Builds and data come from dialin's own cache."""

import json
import os
import signal
import sqlite3
import subprocess
import sys
import time
from contextlib import closing, suppress
from pathlib import Path

import psutil
import pytest

import warm_start
from dialin.model.build import BuildReference
from dialin.paths import Home
from dialin.servers import builds
from dialin.servers.ledger import Ledger
from dialin.store.store import Store
from fixtures.internal_codes import codes_in
from home import WORKER, use_home_of_worker

if WORKER:
    use_home_of_worker()

MYSQL = os.environ.get("DIALIN_TEST_SERVER", "mysql@9.7")
LITTLE = ["--tables", "2", "--table-size", "10000", "--threads", "4", "--yes"]
SMALL = [*LITTLE, "--measure", "3", "--warmup", "2"]
SHORT = [*LITTLE, "--measure", "2", "--warmup", "1"]
EASY = ["--rate", "40"]
"""For studies whose figures do not matter: a load that leaves the CPUs to the tests beside it."""

LIMIT = 300
"""The most seconds that a test waits for something: it only ends a test that fails, however slow the machine is."""

TESTED = [BuildReference.parse(text) for text in os.environ.get("DIALIN_TEST_BUILDS", "").split()]
INSTALLED = [
    build
    for build in builds.discover(Home.of(), os.environ)
    if not TESTED or any(reference.matches(build) for reference in TESTED)
]
"""The builds that tests of what differs by build run on: those that `make test` names, or all that are here."""

ONLY_WITH_ALL = "make test-all runs it"
only_with_all = pytest.mark.skipif("DIALIN_TEST_ALL" not in os.environ, reason=ONLY_WITH_ALL)


def find(text):
    reference = BuildReference.parse(text)
    return next((build for build in builds.discover(Home.of(), os.environ) if reference.matches(build)), None)


ONE_OR_ALL = INSTALLED if "DIALIN_TEST_ALL" in os.environ else [build for build in INSTALLED if build == find(MYSQL)]
"""The builds that all other tests run on: one, and with `make test-all` each."""


FAST = "mariadb@10.11" if find("mariadb@10.11") else MYSQL
"""For studies that are not about one server: it starts for a quarter of MySQL's CPU."""

FAST_OR_ALL = INSTALLED if "DIALIN_TEST_ALL" in os.environ else [build for build in INSTALLED if build == find(FAST)]
"""The builds for tests of what all of them do alike: the fast one, and with `make test-all` each."""


REPLACED = ("--measure", "--minutes", "--threads", "--warmup", "--worthwhile")


def with_last(words):
    """Words in which the last value of an option replaces those before it: a test may change a shared list."""
    words = [*map(str, words)]
    earlier = {place for place, word in enumerate(words) if word in REPLACED and word in words[place + 1 :]}
    return [word for place, word in enumerate(words) if not {place, place - 1} & earlier]


class Dialin:
    """Runs the command as a user does."""

    any_code = None
    """For studies whose outcome does not matter."""

    def __init__(self, directory):
        self.directory = directory
        self._started = []

    def start(self, *words, environment=None):
        start = subprocess.Popen if environment else warm_start.START  # what is injected takes a start anew
        process = start(
            [sys.executable, "-m", "dialin", *with_last(words)],
            cwd=self.directory,
            env={**os.environ, **{name: str(value) for name, value in (environment or {}).items()}},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        self._started.append(process)
        return process

    def end(self):
        """End what a test that failed left running, so that it fails alone."""
        for process in self._started:
            if process.poll() is None:
                interrupt(process)
            process.stdout.close()
            process.stderr.close()

    def __call__(self, *words, code=0, timeout=400):
        process = self.start(*words)
        out, err = process.communicate(timeout=timeout)
        allowed = (0, 1) if code is self.any_code else (code,)
        assert process.returncode in allowed, f"exit code {process.returncode}\n{out}\n{err}"
        assert not codes_in(err), err
        return out, err

    def verdict(self, *words, code=0):
        out, _ = self(*words, "--json", code=code)
        return json.loads(out)


def until(condition, seconds=LIMIT, every=0.05):
    """Wait until something is true; what it returns. Looking takes a fifth of a CPU at most."""
    deadline = time.monotonic() + seconds
    while (began := time.monotonic()) < deadline:
        if found := condition():
            return found
        time.sleep(max(every, 4 * (time.monotonic() - began)))
    raise AssertionError("it did not become true in time")


NEWEST = """
SELECT trial.id FROM trial JOIN sample ON sample.trial = trial.id AND sample.step = 'measure'
WHERE trial.id = (SELECT MAX(id) FROM trial) AND (trial.block, trial.position) >= (?, ?) LIMIT 1
"""


def measuring(directory, *, block=1, position=1):
    """The running trial's entry, once the trial of that place has measured a second."""

    def look():
        # Not by the store: many tests wait at once, and reading all trials with all their variables takes CPU from the servers.
        with suppress(sqlite3.DatabaseError), closing(sqlite3.connect(f"file:{directory}/study.db?mode=ro", uri=True)) as db:
            return db.execute(NEWEST, (block, position)).fetchone()
        return None  # it is not there yet, or is being made

    (number,) = until(look, every=0.2)
    with Store.open(directory) as store:
        return next(trial for trial in store.trials() if trial.id == number)


def shown_of_processes():
    """Return what this user can see of all processes, one a line: their arguments and environments."""
    seen = [process.info for process in psutil.process_iter(["cmdline", "environ"])]
    return "\n".join(" ".join([*(one["cmdline"] or ()), *map("=".join, (one["environ"] or {}).items())]) for one in seen)


def children(process):
    """The servers and drivers of a running dialin, by the name of the file they wrote their number to."""
    found = {}
    for entry in Ledger(Home.of().ledger).entries():
        if entry.owner == process.pid:
            for path in Path(entry.directory).glob("*.pid"):
                with suppress(ValueError):  # it may be writing it now
                    found[path.stem] = int(path.read_text())
    return found


def interrupt(process):
    """End a process as Ctrl-C does; what it said on standard error."""
    process.send_signal(signal.SIGINT)
    return process.communicate(timeout=LIMIT)[1]


def finish(process):
    """Wait for a dialin that was started; return its exit code and its two outputs."""
    out, err = process.communicate(timeout=400)
    return process.returncode, out, err


def kill(pid):
    os.kill(pid, signal.SIGKILL)
    with suppress(psutil.NoSuchProcess):
        psutil.Process(pid).wait(LIMIT)
