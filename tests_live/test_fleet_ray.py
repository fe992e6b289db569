"""Studies on Ray clusters of two nodes, each a raylet of its own on this machine, with real servers; Ray asks for its token."""

import gc
import os
import socket
import subprocess
import sys
import time
import warnings
from contextlib import contextmanager, suppress
from pathlib import Path

import psutil
import pytest

import ray_environment
from cable import cable
from dialin.clock import SystemClock
from dialin.errors import DialinError
from dialin.model.record import LogCode
from dialin.model.trial import TrialState
from dialin.paths import Home
from dialin.places.check_study import check_question
from dialin.question.options import StudyOptions
from dialin.race.runner import Runner
from dialin.store.store import Store
from dialin.trials.tools import Tools
from dialin.workloads import load_binary
from fixtures.silent_watcher import Silent
from live import FAST, SHORT, finish, kill, until

pytest.importorskip("ray", reason="Ray is not installed: pip install 'dialin[fleet]'")

from ray.cluster_utils import Cluster

from dialin.fleet.host_setup import HostNeeds
from dialin.fleet.ray_fleet import Patience, ray_fleet

SWEEP = ["sweep", "innodb_io_capacity=300,600", "--server", FAST, *SHORT, "--worthwhile", "0.1%", "--confidence", "0.999"]
NODE = {"num_cpus": 1, "object_store_memory": 100 * 1024**2}
LOOPBACK = "127.0.0.1"


class Nodes:
    """A cluster whose nodes have a home each; builds and prepared data are those of this machine unless told otherwise."""

    def __init__(self, path, ip=LOOPBACK):
        self._path, self._node = path, {"node_ip_address": ip, **NODE}
        with socket.socket() as free:
            free.bind((ip, 0))
            port = free.getsockname()[1]
        head = {"include_dashboard": False, "ray_client_server_port": port, **self._node}
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # Ray leaves files of its own to the garbage collector
            self._cluster = Cluster(initialize_head=True, head_node_args=head)
            gc.collect()
        self.addresses = {"gcs": self._cluster.address, "client": f"ray://{ip}:{port}"}
        self.address, self._nodes = self._cluster.address, {}

    def add(self, name, *, empty=False):
        self._nodes[name] = self._cluster.add_node(
            resources={"dialin": 1}, node_name=name, env_vars=self._home_of(name, empty), **self._node
        )

    @contextmanager
    def beyond(self, cable, name):
        """A node at the other end of a cable."""
        words = ["--address", self.address, "--node-ip-address", cable.there, "--node-name", name, "--num-cpus", "1"]
        words += ["--resources", '{"dialin": 1}', "--object-store-memory", str(NODE["object_store_memory"]), "--block"]
        ray = Path(sys.executable).with_name("ray")
        environment = os.environ | self._home_of(name) | {ray_environment.LARGER_CLUSTER: "1"}
        started = subprocess.Popen([*cable.inside, ray, "start", *words], env=environment, stdout=subprocess.DEVNULL)
        try:
            yield
        finally:
            every = [started, *psutil.Process(started.pid).children(recursive=True)] if started.poll() is None else []
            for process in every:
                with suppress(psutil.Error):
                    process.kill()
            started.wait()

    def _home_of(self, name, empty=False):
        """The environment of a node with a home of its own."""
        home, here = self.home(name), Home.of().root
        home.mkdir(exist_ok=True)
        for shared in () if empty else ("builds", "catalogues", "datasets"):
            if not (home / shared).exists():
                (home / shared).symlink_to(here / shared)
        return {"DIALIN_HOME": str(home)}

    def home(self, name):
        return self._path / name

    def kill(self, name):
        self._cluster.remove_node(self._nodes.pop(name), allow_graceful=False)

    def servers(self, name):
        """The processes that run from or on the home of a node."""
        mark = str(self._path / name / "sandboxes")
        every = psutil.process_iter(["cmdline"])
        return [process for process in every if any(mark in word for word in process.info["cmdline"] or ())]

    def end(self):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # as above
            self._cluster.shutdown()
            del self._cluster, self._nodes
            gc.collect()


@pytest.fixture
def nodes(tmp_path):
    cluster = Nodes(tmp_path)
    yield cluster
    cluster.end()


def record_of(out):
    with Store.open(out) as store:
        return store.read()


def log_of(out, code):
    with Store.open(out) as store:
        return [line.figures["host"] for _, line in store.log_after(0) if line.code is code]


def running_on(out):
    """The hosts on which a trial runs now that has samples."""
    with suppress(DialinError), Store.open(out) as store:  # it is not there yet, or is being made
        return {t.host for t in store.trials() if t.state is TrialState.RUNNING and store.samples_of(t.id)}
    return set()


def check_blocks(record):
    """Nothing is counted twice, and every trial that ended is whole."""
    done = [trial for trial in record.trials if trial.state is TrialState.DONE]
    places = [(trial.block, trial.host, trial.candidate, trial.purpose) for trial in done]
    assert len(places) == len(set(places))
    for trial in done:
        seconds = [sample.second for sample in record.samples[trial.id]]
        assert seconds == list(range(1, len(seconds) + 1)) != []
        assert trial.in_force["innodb_io_capacity"] == trial.candidate
    return done


def test_two_studies_side_by_side_never_share_a_host_and_hosts_without_anything_get_copies(dialin, nodes, tmp_path):
    nodes.add("east", empty=True)
    nodes.add("west")
    outs = [tmp_path / "first", tmp_path / "second"]
    words = [*SWEEP, "--minutes", "0.7", "--fleet", nodes.address, "--fleet-hosts", "1", "--out"]
    processes = [dialin.start(*words, out) for out in outs]
    ended = [finish(process) for process in processes]
    assert all(code in (0, 1) for code, _, _ in ended), ended
    records = [record_of(out) for out in outs]
    hosts = [{trial.host for trial in check_blocks(record)} for record in records]
    assert sorted(map(len, hosts)) == [1, 1]
    assert hosts[0] | hosts[1] == {"east", "west"}
    assert all(record.verdict is not None for record in records)
    assert list((tmp_path / "east" / "builds").glob("*/build.json")), "the build was copied"
    assert list((tmp_path / "east" / "datasets").glob("*/dataset.json")), "the data was copied"
    assert nodes.servers("east") == nodes.servers("west") == []


def test_a_node_that_dies_in_mid_trial_loses_its_trial_alone_and_one_that_joins_takes_the_next_block(dialin, nodes, tmp_path):
    nodes.add("east")
    nodes.add("west")
    out = tmp_path / "study"
    process = dialin.start(*SWEEP, "--minutes", "1.5", "--fleet", nodes.address, "--out", out)
    until(lambda: running_on(out) == {"east", "west"}, every=0.2)
    nodes.kill("west")
    until(lambda: log_of(out, LogCode.HOST_LOST) == ["west"], every=0.2)
    until(lambda: not nodes.servers("west"), seconds=30)
    nodes.add("north")
    code, shown, err = finish(process)
    assert code in (0, 1), err
    assert "(raylet)" not in shown + err, "Ray itself prints nothing"
    record = record_of(out)
    done = check_blocks(record)
    lost = [trial for trial in record.trials if trial.host == "west"]
    assert [trial.state for trial in lost].count(TrialState.INTERRUPTED) == 1
    assert {trial.host for trial in done} >= {"east", "north"}
    begun_anew = [trial for trial in record.trials if trial.block == lost[-1].block and trial.host != "west"]
    assert tuple(trial.candidate for trial in begun_anew) == record.blocks[lost[-1].block - 1].order
    assert record.verdict is not None


@pytest.mark.parametrize("way", ["gcs", "client"])
def test_a_coordinator_that_is_killed_leaves_no_server_after_30_seconds_and_its_study_resumes(dialin, nodes, tmp_path, way):
    nodes.add("east")
    nodes.add("west")
    out = tmp_path / "study"
    process = dialin.start(*SWEEP, "--minutes", "1.2", "--fleet", nodes.addresses[way], "--out", out)
    until(lambda: running_on(out) == {"east", "west"}, every=0.2)
    kill(process.pid)
    process.communicate()
    until(lambda: not nodes.servers("east") and not nodes.servers("west"), seconds=30)
    _, err = dialin("resume", out, "--fleet", nodes.addresses[way], "--yes", code=dialin.any_code)
    record = record_of(out)
    check_blocks(record)
    assert {trial.session for trial in record.trials} == {1, 2}
    assert [trial.state for trial in record.trials if trial.session == 1].count(TrialState.INTERRUPTED) == 2
    assert record.verdict is not None, err


def processes_of(nodes, name, words):
    """The processes of a node whose command line has these words."""
    home, found = nodes.home(name), []
    for process in psutil.process_iter(["cmdline"]):
        with suppress(psutil.Error):
            if words in " ".join(process.info["cmdline"] or ()) and process.environ().get("DIALIN_HOME") == str(home):
                found.append(process)
    return found


def test_a_host_that_cannot_be_reached_for_a_while_loses_nothing(dialin, nodes, tmp_path):
    """Its agent stands still for longer than a call may take: what the trial reports meanwhile is in the journal."""
    nodes.add("east")
    nodes.add("west")
    out = tmp_path / "study"
    process = dialin.start(*SWEEP, "--minutes", "1.2", "--fleet", nodes.address, "--out", out)
    until(lambda: running_on(out) == {"east", "west"}, every=0.2)
    if os.geteuid() == 0:  # Ray lowers the priority of its programs, and only root may raise it again
        assert {server.nice() for server in nodes.servers("east")} == {0}
    (agent,) = processes_of(nodes, "east", "ray::HostAgent")
    agent.suspend()
    time.sleep(13)
    agent.resume()
    code, _, err = finish(process)
    assert code in (0, 1), err
    record = record_of(out)
    assert {trial.state for trial in record.trials} == {TrialState.DONE}
    assert {trial.host for trial in check_blocks(record)} == {"east", "west"}
    assert log_of(out, LogCode.HOST_LOST) == []


@pytest.fixture
def apart(tmp_path):
    """Two nodes that run nothing in common but a cable, which can be pulled."""
    with cable() as way:
        cluster = Nodes(tmp_path, way.here)
        try:
            cluster.add("east")
            with cluster.beyond(way, "west"):
                yield cluster, way
        finally:
            cluster.end()


def test_a_network_that_is_cut_for_a_while_loses_nothing(dialin, apart, tmp_path):
    nodes, way = apart
    out = tmp_path / "study"
    process = dialin.start(*SWEEP, "--minutes", "1.2", "--fleet", nodes.address, "--out", out)
    until(lambda: running_on(out) == {"east", "west"}, every=0.2)
    way.pull()
    time.sleep(12)
    way.plug()
    code, _, err = finish(process)
    assert code in (0, 1), err
    record = record_of(out)
    assert {trial.state for trial in record.trials} == {TrialState.DONE}
    assert {trial.host for trial in check_blocks(record)} == {"east", "west"}
    assert log_of(out, LogCode.HOST_LOST) == []


def test_a_host_that_is_cut_off_for_good_leaves_no_server_and_its_block_runs_elsewhere(dialin, apart, tmp_path):
    nodes, way = apart
    out = tmp_path / "study"
    process = dialin.start(*SWEEP, "--minutes", "1.5", "--fleet", nodes.address, "--out", out)
    until(lambda: running_on(out) == {"east", "west"}, every=0.2)
    way.pull()
    until(lambda: not nodes.servers("west"), seconds=30)
    code, _, err = finish(process)
    assert code in (0, 1), err
    assert log_of(out, LogCode.HOST_LOST) == ["west"]
    record = record_of(out)
    check_blocks(record)
    (cut,) = [trial for trial in record.trials if trial.state is TrialState.INTERRUPTED]
    anew = [trial.candidate for trial in record.trials if trial.block == cut.block and trial.host == "east"]
    assert tuple(anew) == record.blocks[cut.block - 1].order


def test_a_host_that_hangs_is_lost_and_its_block_runs_elsewhere(nodes, tmp_path, monkeypatch):
    nodes.add("east")
    nodes.add("west")
    monkeypatch.chdir(tmp_path)
    tools = Tools.open(lambda line: None)
    options = {"sweep": {"innodb_io_capacity": [300, 600]}, "server": FAST, "tables": 2, "table-size": 10000, "threads": 1}
    short = {"measure": 2, "warmup": 1, "minutes": 1.2, "worthwhile": 0.001, "confidence": 0.999}
    ready = check_question(StudyOptions.model_validate({**options, **short}), tmp_path, tools)
    out = tmp_path / "study"
    out.mkdir()

    class Hanging(Silent):
        def sampled(self, trial, sample):
            if trial.host == "west":
                for process in processes_of(nodes, "west", "dialin.fleet.host_process"):
                    process.suspend()

    facts = {"created": 0, "dialin_version": "0", "command": "", "host": {}, "servers": ready.servers}
    with Store.create(out, ready.spec, **facts) as store, ready.site.open(lambda line: None) as site:
        builds, driver = ready.site.builds.values(), load_binary.find()
        needs = HostNeeds(tools.home, ready.spec, builds, site.datasets, driver, ready.inspected)
        with ray_fleet(nodes.address, needs, out, lambda line: None, patience=Patience(silent=15)) as fleet:
            clock, session = SystemClock(), store.begin_session()
            runner = Runner(store, clock, Hanging(), ready.plan, fleet, session, inspected=ready.inspected)
            runner.run()
        record = store.read()
    (lost,) = [line for line in record.log if line.code is LogCode.HOST_LOST]
    assert (lost.figures["host"], lost.figures["cause"]["code"]) == ("west", "host_silent")
    (interrupted,) = [trial for trial in record.trials if trial.state is TrialState.INTERRUPTED and trial.host == "west"]
    anew = [trial.candidate for trial in record.trials if trial.block == interrupted.block and trial.host == "east"]
    assert tuple(anew) == record.blocks[interrupted.block - 1].order
    assert nodes.servers("west") == [], "what the process that hung left behind is ended after it"


def listening():
    """The addresses on which what this process has started listens."""
    addresses = set()
    for process in psutil.Process().children(recursive=True):
        with suppress(psutil.Error):
            addresses |= {one.laddr.ip for one in process.net_connections("inet") if one.status == psutil.CONN_LISTEN}
    return {address.removeprefix("::ffff:") for address in addresses}  # of IPv6 sockets that take IPv4


@pytest.mark.parametrize("way", ["gcs", "client"])
def test_a_cluster_is_shown_to_those_who_have_its_token_and_to_nobody_else(dialin, nodes, monkeypatch, way):
    nodes.add("east")
    shown, _ = dialin("fleet", "status", "--fleet", nodes.addresses[way])
    assert "1 host, 0 held by studies" in shown
    assert "requires no token" not in shown
    assert not processes_of(nodes, "east", "ray::HostAgent"), "whoever looks leaves nothing there"
    assert listening() <= {LOOPBACK}
    monkeypatch.setenv("RAY_AUTH_MODE", "disabled")
    _, err = dialin("fleet", "status", "--fleet", nodes.addresses[way], code=2)
    assert "cannot be reached" in err
    assert "Traceback" not in err
