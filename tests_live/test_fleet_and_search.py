"""What names candidates while a study runs, and what runs its blocks elsewhere, on real servers."""

import json
import os
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest

from dialin.clock import SystemClock
from dialin.errors import DialinError
from dialin.fleet.fleet import FleetOfOne
from dialin.fleet.worker import BlockRequest
from dialin.model.trial import Purpose, Trial, TrialState
from dialin.paths import Home
from dialin.places import check_study
from dialin.places.attached.check import Permission
from dialin.question.options import StudyOptions
from dialin.race.runner import Runner
from dialin.servers.ledger import Ledger
from dialin.store.store import Store
from dialin.testing.worker_conformance import WorkerConformance
from dialin.trials.events import Sampled, TrialBegan
from dialin.trials.tools import Tools
from fixtures.silent_watcher import Silent
from live import FAST, find, interrupt, kill, measuring, only_with_all
from playground import option_file, playground
from spawned_worker import spawned_worker

CAPACITY, DEPTH = "innodb_io_capacity", "innodb_lru_scan_depth"
OPTIONS = {
    "sweep": {CAPACITY: [300, 600]},
    "tables": 2,
    "table-size": 5000,
    "threads": 1,
    "rate": 40,
    "measure": 2,
    "warmup": 1,
    "minutes": 10,
    "worthwhile": 0.001,
    "confidence": 0.999,
}


def start(what, out, question):
    here = Path(__file__).parent
    words = [sys.executable, str(here / "entering_study.py"), what, str(out), json.dumps(question)]
    path = os.pathsep.join([str(here.parent / "tests"), os.environ.get("PYTHONPATH", "")])
    return subprocess.Popen(words, env={**os.environ, "PYTHONPATH": path}, stderr=subprocess.PIPE, text=True)


def killed_in(block, out, question):
    """The study as it stood when it was killed in a block."""
    process = start("begin", out, question)
    measuring(out, block=block)
    kill(process.pid)
    process.communicate()
    with Store.open(out) as store:
        return store.read()


@only_with_all  # tests/race/test_entering.py shows it on simulated servers
@pytest.mark.parametrize("switch", ["set", "restart"])
def test_a_candidate_enters_in_block_2_and_a_study_killed_in_block_3_goes_on_in_the_same_order(tmp_path, switch):
    out = tmp_path / "study"
    question = {
        "options": {**OPTIONS, "server": FAST, "switch": switch},
        "space": [],
        "entering": {CAPACITY: 900},
        "block": 2,
    }
    before = killed_in(3, out, question)
    assert [(one.name, one.born) for one in before.spec.candidates] == [("300", 1), ("600", 1), ("entering", 2)]

    process = start("resume", out, question)
    measuring(out, block=4)
    interrupt(process)
    with Store.open(out) as store:
        record = store.read()
    assert record.spec.candidates == before.spec.candidates
    assert record.blocks[: len(before.blocks)] == before.blocks
    assert [len(block.order) for block in record.blocks[:3]] == [2, 3, 3]
    done = [trial for trial in record.trials if trial.state is TrialState.DONE]
    assert {trial.in_force[CAPACITY] for trial in done if trial.candidate == "entering"} == {"900"}
    assert {trial.in_force[CAPACITY] for trial in done if trial.candidate != "entering"} == {"300", "600"}
    ran = [(trial.block, trial.candidate) for trial in done]
    assert len(ran) == len(set(ran)), "no finished trial is repeated"
    for block in record.blocks[:3]:
        assert [name for number, name in ran if number == block.number] == list(block.order)


def test_the_undo_of_an_attached_server_covers_what_candidates_that_enter_may_set(dialin, tmp_path):
    with playground(find(FAST)) as server:
        out, before = tmp_path / "study", server.variables()
        account = {"attach": True, "defaults-file": str(option_file(server, tmp_path / "account.cnf"))}
        question = {"options": {**OPTIONS, **account}, "space": [DEPTH], "entering": {DEPTH: 512}, "block": 2}
        record = killed_in(3, out, question)
        assert {trial.in_force.get(DEPTH) for trial in record.trials if trial.candidate == "entering"} >= {"512"}
        dialin("restore")
        assert server.variables() == before


@pytest.fixture(scope="module")
def checked(tmp_path_factory):
    """A study on sandboxes, checked."""
    tools = Tools.open(lambda line: None)
    question = StudyOptions.model_validate({**OPTIONS, "server": FAST, "worthwhile": 1.0, "confidence": 0.95})
    return check_study.check_question(question, tmp_path_factory.mktemp("question"), tools, Permission())


@pytest.fixture
def began(checked, tmp_path):
    """The study, its store, and its directory."""
    out = tmp_path / "study"
    out.mkdir()
    with Store.create(out, checked.spec, created=0, dialin_version="0", command="", host={}, servers=checked.servers) as store:
        yield checked, store, out


def test_a_worker_in_a_spawned_process_runs_a_study_to_its_verdict(began):
    checked, store, out = began
    with spawned_worker(checked, {}, out) as worker:
        assert worker.process.pid != os.getpid()
        runner = Runner(
            store, SystemClock(), Silent(), checked.plan, FleetOfOne(worker), store.begin_session(), inspected=checked.inspected
        )
        verdict = runner.run()
    record = store.read()
    done = [trial for trial in record.trials if trial.state is TrialState.DONE]
    assert len(done) >= 4
    assert all(trial.in_force[CAPACITY] == trial.candidate and trial.host for trial in done)
    assert all(record.samples[trial.id] and "status" in record.watched[trial.id] for trial in done)
    assert verdict.blocks >= 2
    assert verdict.trials == len(done)


def test_a_block_that_is_broken_off_leaves_no_server_behind(began):
    checked, _, out = began
    trial = Trial(1, 1, 1, 1, "300", TrialState.RUNNING, 0.0, purpose=Purpose.RACE)
    with spawned_worker(checked, {}, out) as worker:
        with closing(worker.run_block(BlockRequest(checked.spec, checked.inspected, (trial,)))) as events:
            assert isinstance(next(events), TrialBegan)
            assert any(isinstance(event, Sampled) for event in events)
        owned = [entry for entry in Ledger(Home.of().ledger).entries() if entry.owner == worker.process.pid]
    assert owned == []
    with pytest.raises((DialinError, OSError, EOFError)):
        next(worker.run_block(BlockRequest(checked.spec, checked.inspected, (trial,))))


@only_with_all  # every worker of tests/fleet keeps it too, on simulated servers
class TestSpawnedWorker(WorkerConformance):
    """A `LocalWorker`, reached over a pipe."""

    @pytest.fixture(autouse=True)
    def _began(self, began):
        self.checked, _, self.out = began

    def open_worker(self):
        return spawned_worker(self.checked, {}, self.out)

    def make_request(self):
        trials = (
            Trial(number, 1, 1, number, candidate.name, TrialState.RUNNING, 0.0, purpose=Purpose.RACE)
            for number, candidate in enumerate(self.checked.spec.candidates, 1)
        )
        return BlockRequest(self.checked.spec, self.checked.inspected, tuple(trials))
