"""What runs the blocks of a study in another process, on real servers."""

import os
from contextlib import closing

import pytest

from dialin.clock import SystemClock
from dialin.errors import DialinError
from dialin.fleet.fleet import FleetOfOne
from dialin.fleet.worker import BlockRequest
from dialin.model.trial import Purpose, Trial, TrialState
from dialin.paths import Home
from dialin.places import check_study
from dialin.places.permission import Permission
from dialin.question.options import StudyOptions
from dialin.race.runner import Runner
from dialin.servers.ledger import Ledger
from dialin.store.store import Store
from dialin.testing.worker_conformance import WorkerConformance
from dialin.trials.events import Sampled, TrialBegan
from dialin.trials.tools import Tools
from fixtures.silent_watcher import Silent
from live import FAST, only_with_all
from spawned_worker import spawned_worker

CAPACITY = "innodb_io_capacity"
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


@only_with_all  # tests/fleet shows whole studies; test_faults_of_helpers.py has a host run a trial on a real server
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
