"""Whatever system call fails, and whenever: a right verdict, a clear error or a study that can be resumed; nothing is harmed.

Here calls of dialin itself fail; test_faults_of_helpers.py has the processes beside it. docs/faults.md says what is promised.
"""

import json
import re
from itertools import product
from typing import NamedTuple

import pytest

from dialin.model.trial import TrialState
from dialin.paths import Home
from dialin.servers.ledger import Ledger
from dialin.store.store import Store
from failing_calls import FOR_EVER, MOST, ON_FILES, FailingCalls, needs_compiler, often
from live import EASY, FAST, LIMIT, SHORT, find, only_with_all
from managed_server import managed
from playground import SCHEMA, attached_sweep, playground

pytestmark = needs_compiler

BEGIN, TRIALS, END = "begin", "trials", "end"
SANDBOX, SNAPSHOT, ATTACHED, MANAGED = "sandbox", "snapshot", "attached", "managed"


class Cell(NamedTuple):
    """A call that fails, from a phase of a study on, at a place; `part` is of the path of the files whose calls fail."""

    place: str
    call: str
    phase: str
    times: int
    part: str = ""
    first: int = 1

    def __str__(self):
        return "-".join(filter(None, [self.place, self.call, self.phase, often(self.times), self.part.strip("/")]))


SHORT_MATRIX = [
    Cell(SANDBOX, "write", TRIALS, 1, "study.db"),
    Cell(ATTACHED, "write", BEGIN, 1, "/undo/"),
]
"""The store and the undo; tests/servers show what becomes of answers of a server that are lost."""

MANAGED_MATRIX = [
    *(Cell(MANAGED, call, TRIALS, FOR_EVER, "/undo/") for call in ("open", "write", "rename", "unlink")),
    *(Cell(MANAGED, call, TRIALS, FOR_EVER) for call in ("fork", "socket")),
    Cell(MANAGED, "recv", TRIALS, 3),
    Cell(MANAGED, "write", BEGIN, 1, "/undo/"),
]
"""Calls on the record of what is to be undone, on what the command is given, and those by which it is run."""

SNAPSHOT_MATRIX = [
    *(Cell(SNAPSHOT, call, TRIALS, times, "at-end") for call in ("open", "write", "rename") for times in (1, FOR_EVER)),
    *(Cell(SNAPSHOT, "fork", TRIALS, times) for times in (1, FOR_EVER)),
]
"""Calls on the record of what a snapshot command is to remove, and that by which the command is run."""

STARTS_NO_PYTHON = {
    ("mmap", BEGIN, FOR_EVER, ""),
    ("open", BEGIN, FOR_EVER, "/dialin"),
    ("read", BEGIN, 1, "/dialin"),
    ("read", BEGIN, FOR_EVER, "/dialin"),
}
"""Calls without which the interpreter starts no program, or cannot read dialin's own files."""

LONG_MATRIX = [
    Cell(SANDBOX, "recv", TRIALS, 40),
    Cell(SANDBOX, "open", BEGIN, 3, "/ledger/"),
    Cell(SANDBOX, "fsync", TRIALS, FOR_EVER, "study.db"),
    Cell(SANDBOX, "socket", TRIALS, 3),
    Cell(SANDBOX, "mmap", TRIALS, 3),
    Cell(ATTACHED, "fsync", TRIALS, FOR_EVER, "/undo/"),
    Cell(ATTACHED, "recv", TRIALS, 40),
    Cell(SANDBOX, "read", BEGIN, FOR_EVER, "/ledger/"),
    Cell(SANDBOX, "read", BEGIN, FOR_EVER, "/catalogues/"),
    Cell(ATTACHED, "read", TRIALS, FOR_EVER, "/undo/"),
    Cell(ATTACHED, "unlink", TRIALS, FOR_EVER, "/undo/"),
    Cell(ATTACHED, "flock", BEGIN, FOR_EVER, "/undo/"),
    Cell(ATTACHED, "send", TRIALS, 40),
    Cell(SANDBOX, "mkdir", BEGIN, 1, "/dialin"),
    Cell(SANDBOX, "mkdir", BEGIN, FOR_EVER, "study"),
    Cell(SANDBOX, "mkdir", TRIALS, FOR_EVER, "/sandboxes/"),
    Cell(SANDBOX, "truncate", TRIALS, FOR_EVER, "study/"),
    *(Cell(place, "connect", TRIALS, times) for place in (SANDBOX, ATTACHED) for times in (3, FOR_EVER)),
    *(
        Cell(place, call, phase, times, part)
        for place, call, phase, times in product((SANDBOX, ATTACHED), MOST, (BEGIN, TRIALS, END), (1, FOR_EVER))
        for part in ((("study/",) if phase is END else ("study/", "/dialin")) if call in ON_FILES else ("",))
        if Cell(place, call, phase, times, part) not in SHORT_MATRIX and (call, phase, times, part) not in STARTS_NO_PYTHON
    ),
]
"""Some more, then every call, phase and place, once and for ever; on files, those of the study and those of dialin's home."""


@pytest.fixture(scope="module")
def server():
    with playground(find(FAST)) as made:
        yield made


@pytest.fixture(scope="module")
def by_command(tmp_path_factory):
    with managed(find(FAST), tmp_path_factory.mktemp("managed")) as made:
        yield made


class Study:
    """A study under a fault, and what became of it."""

    def __init__(self, dialin, words, injector, again=()):
        self.dialin, self.words, self.again, self.out = dialin, words, again, dialin.directory / "study"
        self.failing = FailingCalls(injector, dialin.directory / "failed-calls")

    def run(self, cell):
        """Run it; returns its verdict, None without one, and what it said."""
        since = {BEGIN: "", TRIALS: self.out / "study.db", END: self.out / "report.html"}[cell.phase]
        fault = self.failing.environment(cell.call, cell.times, since=since, part=cell.part, first=cell.first)
        return self._ended(self.dialin.start(*self.words, "--out", self.out, "--json", environment=fault))

    def resume(self):
        if self.again:
            self.dialin("restore")  # as the study said: nothing else runs the user's command again
        return self._ended(self.dialin.start("resume", self.out, "--yes", "--json", *self.again))

    def _ended(self, process):
        out, err = process.communicate(timeout=LIMIT)
        assert "Traceback" not in err
        assert "internal error" not in err
        verdict = json.loads(out) if out.strip() else None
        if verdict is None:
            assert process.returncode in (1, 2, 3), err
            assert re.search(r"^dialin: .+\. .+", err, re.MULTILINE), f"no error with a remedy: {err}"
            is_misuse = process.returncode == 2
            assert not (is_misuse and (self.out / "study.db").exists()), f"misuse is only what started nothing: {err}"
        return verdict, err


def check_blames_nobody(verdict, out):
    """A candidate may be without a trial where the time was too short, but no trial failed."""
    states = {candidate["name"]: candidate["state"] for candidate in verdict["candidates"]}
    assert not {"unsafe", "better", "worse"} & set(states.values()), states
    with Store.open(out) as store:
        assert [trial.candidate for trial in store.trials() if trial.state is TrialState.FAILED] == []


def check(study, cell):
    """Run a study under a fault, and resume it if it can be."""
    verdict, err = study.run(cell)
    assert study.failing.left_running() == []
    if not study.failing.count:
        assert verdict is not None, err
        pytest.skip("there is no such call in this phase")
    if verdict is None and (study.out / "study.db").exists():
        verdict, _ = study.resume()
        assert study.failing.left_running() == []
    if verdict is not None:
        check_blames_nobody(verdict, study.out)
    return err


BUDGET = ["--minutes", "0.7"]
"""Enough for some trials: what a study under a fault finds does not matter."""


def sandboxed():
    return ["sweep", "innodb_io_capacity=300,3000", "--server", FAST, *SHORT, *EASY, *BUDGET, "--worthwhile", "100%"]


def check_sandbox(cell, dialin, injector):
    check(Study(dialin, sandboxed(), injector), cell)


SNAPSHOTS = """#!/bin/sh
set -eu
volume=$1 phase=$2 name=$3 place=${4-}
case $phase in
  take) cp -a "$place" "$volume/$name" ;;
  restore) cp -a "$volume/$name" "$volume/$name-trial"; ln -s "$volume/$name-trial" "$place" ;;
  remove) if [ -n "$place" ]; then rm -rf "$place" "$volume/$name-trial"; else rm -rf "$volume/$name"; fi ;;
esac
"""


def check_snapshot(cell, dialin, injector):
    """What a snapshot command has made is removed by the study, or by the next command."""
    volume, script = dialin.directory / "volume", dialin.directory / "snapshot.sh"
    volume.mkdir()
    script.write_text(SNAPSHOTS)
    script.chmod(0o755)
    given = ["--snapshot-command", f"{script} {volume}"]
    check(Study(dialin, [*sandboxed(), *given], injector, again=given), cell)
    said = []
    Ledger(Home.of().ledger).end_orphans(said.append)
    assert said == []
    assert [path.name for path in volume.iterdir()] == []


def check_attached(cell, dialin, injector, server):
    before = server.variables()
    study = Study(dialin, [*attached_sweep(server, dialin.directory), *BUDGET, "--yes"], injector)
    err = check(study, cell)
    if server.variables() != before or SCHEMA in server.schemas():
        assert "dialin restore" in err
        dialin("restore")
    assert server.variables() == before
    assert SCHEMA not in server.schemas()
    assert not [entry for entry in Home.of().undo.glob("*.json") if server.entry.socket in entry.read_text()]


def check_managed(cell, dialin, injector, by_command):
    before = by_command.state()
    words = ["sweep", "innodb_io_capacity=300,3000", "--baseline", "300", *SHORT, *EASY, "--worthwhile", "100%"]
    words, given = [*words, "--minutes", "2"], by_command.words()
    err = check(Study(dialin, [*words, *given], injector, again=given[given.index("--apply-command") :]), cell)
    if by_command.state() != before:
        assert "dialin restore" in err
    if list(Home.of().undo.glob("*.json")):
        dialin("restore")
    assert by_command.state() == before


def of(matrix, place):
    return pytest.mark.parametrize("cell", [cell for cell in matrix if cell.place == place], ids=str)


@of(SHORT_MATRIX, SANDBOX)
def test_a_failing_call_harms_no_study_on_a_sandbox(dialin, injector, cell):
    check_sandbox(cell, dialin, injector)


@only_with_all  # tests/servers/attached/test_undo.py has machines that fail, test_faults_of_helpers.py a restore that does
@of(SHORT_MATRIX, ATTACHED)
def test_a_failing_call_harms_no_attached_server(dialin, injector, server, cell):
    check_attached(cell, dialin, injector, server)


@only_with_all
@of(MANAGED_MATRIX, MANAGED)
def test_a_failing_call_harms_no_server_whose_settings_a_command_applies(dialin, injector, by_command, cell):
    check_managed(cell, dialin, injector, by_command)


@only_with_all
@of(SNAPSHOT_MATRIX, SNAPSHOT)
def test_a_failing_call_leaves_nothing_that_a_snapshot_command_has_made(dialin, injector, cell):
    check_snapshot(cell, dialin, injector)


@only_with_all
@of(LONG_MATRIX, SANDBOX)
def test_whatever_call_fails_a_study_on_a_sandbox_is_not_harmed(dialin, injector, cell):
    check_sandbox(cell, dialin, injector)


@only_with_all
@of(LONG_MATRIX, ATTACHED)
def test_whatever_call_fails_an_attached_server_is_not_harmed(dialin, injector, server, cell):
    check_attached(cell, dialin, injector, server)
