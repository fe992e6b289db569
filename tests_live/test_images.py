"""Servers in containers: an image made of a build that is installed here, run by this machine's podman."""

import json
import os
import shlex
import shutil
import subprocess
import time
from pathlib import Path

import psutil
import pytest

from dialin.errors import MachineError, ServerError, UserError
from dialin.model.trial import TrialState
from dialin.paths import Home
from dialin.servers.attached.entry import changed
from dialin.servers.containers import name_of
from dialin.servers.ledger import Ledger
from dialin.servers.processes import threads_by_inner_id
from dialin.servers.sandbox import Sandbox
from dialin.store.store import Store
from dialin.trials.tools import Tools
from dialin.variables.rules import identifies_instance
from driving import load, needs_dialin_load
from live import EASY, MYSQL, SHORT, find, interrupt, kill, measuring, only_with_all, until
from managed_server import EXAMPLES
from test_replay import SIZES, record

BUILD = find(MYSQL)
NAME = "localhost/dialin-test/server"
SIMPLE = """
[containers]
default_ulimits = []
[engine]
runtime = "runc"
cgroup_manager = "cgroupfs"
"""
"""For machines that are containers themselves: no higher limits, and no systemd."""

MIB = 2**20
SMALL_LOAD = ["--tables", "1", "--table-size", "5000", "--threads", "2"]
pytestmark = pytest.mark.timeout(600)


def podman(*words, **more):
    return subprocess.run(["podman", *map(str, words)], capture_output=True, text=True, **more)


@pytest.fixture(scope="module")
def image(tmp_path_factory):
    """The name of an image with two tags, `a` and `b`."""
    if shutil.which("podman") is None:
        pytest.skip("podman is not on PATH: apt-get install podman runc")
    if BUILD is None or not (Home.of().builds / BUILD.id / "usr" / "lib64").is_dir():
        pytest.skip(f"{MYSQL} is not installed with its own loader, which an image needs")
    root = tmp_path_factory.mktemp("image")
    shutil.copytree(Home.of().builds / BUILD.id / "usr", root / "usr", copy_function=os.link, symlinks=True)
    (root / "lib").symlink_to("usr/lib")
    (root / "lib64").symlink_to("usr/lib64")
    (root / "tmp").mkdir(mode=0o1777)
    (root / "etc" / "mysql" / "conf.d").mkdir(parents=True)
    (root / "etc" / "my.cnf").write_text("!includedir /etc/mysql/conf.d/\n")
    simple = root.with_name("containers.conf")
    simple.write_text(SIMPLE)
    with pytest.MonkeyPatch.context() as patch:
        tar = subprocess.Popen(["tar", "-C", root, "-c", "."], stdout=subprocess.PIPE)
        made = podman("import", "--message", "made by dialin's tests", "-", f"{NAME}:a", stdin=tar.stdout)
        tar.stdout.close()
        tar.wait()
        if made.returncode:
            pytest.skip(f"podman cannot import an image here: {made.stderr.strip()}")
        try:
            podman("tag", f"{NAME}:a", f"{NAME}:b", check=True)
            tried = ("run", "--rm", "--network=none", "--memory=64m", "--entrypoint=/usr/sbin/mysqld", f"{NAME}:a", "--version")
            if podman(*tried).returncode:
                patch.setenv("CONTAINERS_CONF", str(simple))
                if (ran := podman(*tried)).returncode:
                    pytest.skip(f"podman cannot run a container here: {ran.stderr.strip()}")
            yield f"image:{NAME}:a"
        finally:
            podman("rmi", "--force", f"{NAME}:a", f"{NAME}:b")
            for build in Home.of().builds.glob("*-image.localhost.dialin.test.server.*"):
                shutil.rmtree(build)


@pytest.fixture(scope="module")
def tools():
    return Tools.open(print)


@pytest.fixture(scope="module")
def build(image, tools):
    return tools.find(image, [])


def containers():
    """The names of containers, running or not, that this home's ledger could know."""
    return set(podman("ps", "--all", "--filter", "label=dialin", "--format", "{{.Names}}").stdout.split())


def booted(tools, build):
    sandbox = Sandbox.create(build, tools.home, tools.ledger, tools.clock)
    tools.preparer.copy_blank(build, {}, sandbox.data)
    return sandbox


may_limit = pytest.mark.skipif(
    os.geteuid() != 0 and not Path("/sys/fs/cgroup/cgroup.controllers").exists(),
    reason="limits of an ordinary user's containers need version 2 of control groups",
)


@may_limit
def test_a_server_in_a_container_has_its_limits_and_is_a_process_of_this_machine(tools, build):
    sandbox = booted(tools, build.limited(700 * MIB, "0"))
    try:
        sandbox.boot({})
        status = Path(f"/proc/{sandbox.pid}/status").read_text()
        assert "Cpus_allowed_list:\t0\n" in status
        assert "Name:\tmysqld\n" in status
        assert threads_by_inner_id(sandbox.pid)[1] == sandbox.pid
        limits = podman("inspect", "--format", "{{.HostConfig.Memory}} {{.HostConfig.MemorySwap}}", name_of(sandbox.entry.id))
        assert limits.stdout.split() == [str(700 * MIB)] * 2
        with sandbox.connect() as query:
            ((networking,),) = query("SELECT @@skip_networking")
        assert networking == 1
        sandbox.stop()
        assert sandbox.pid is None
        sandbox.boot({})
        assert sandbox.pid is not None
    finally:
        sandbox.remove()
    assert name_of(sandbox.entry.id) not in containers()
    assert not sandbox.directory.exists()


@may_limit
def test_a_server_that_the_kernel_kills_at_the_limit_is_reported_as_that(tools, build):
    sandbox = booted(tools, build.limited(96 * MIB, None))
    try:
        with pytest.raises(ServerError, match=r"memory limit of its container \(96 MiB, --server-memory\)"):
            sandbox.boot({})
    finally:
        sandbox.remove()


@pytest.mark.skipif(may_limit.args[0] is False, reason="this user's containers can be limited")
def test_a_limit_that_nobody_would_enforce_is_an_error(tools, build):
    sandbox = booted(tools, build.limited(700 * MIB, None))
    try:
        with pytest.raises(MachineError, match=r"podman does not enforce the memory limit of 700 MiB"):
            sandbox.boot({})
    finally:
        sandbox.remove()


@may_limit
def test_a_sweep_in_containers_reports_the_image_and_its_limits(dialin, image, build):
    limits = ["--server-memory", "1G", "--server-cpus", "0.5"]
    load = [*SHORT, *EASY, "--minutes", "1", "--worthwhile", "100%"]
    words = ["sweep", "sort_buffer_size=256K,512K", "--server", image, *limits, *load]
    found = dialin.verdict(*words, "--out", "study", code=dialin.any_code)
    (facts,) = found["server"]["builds"].values()
    assert facts["image"] == f"{NAME}:a"
    assert facts["image_digest"] == f"sha256:{build.image.digest}"
    report, _ = dialin("report", "study", "--markdown", "--full", code=dialin.any_code)
    assert "memory limit of the server's container: 1.0 GiB" in report
    assert "CPUs of the servers: 0.5" in report
    assert build.image.digest in report
    assert all(each["trials"] >= 2 for each in found["candidates"])
    with Store.open(dialin.directory / "study") as store:
        counted = [watched["process"].counters for watched in store.watched().values()]
    assert all(one["quota_periods"] > 0 for one in counted)


def test_two_tags_of_one_image_are_two_builds(tools, image, build):
    other = tools.find(f"image:{NAME}:b", [])
    assert other.id != build.id
    assert other.image.digest == build.image.digest
    assert tools.find(image, []) == build


def test_an_image_that_is_not_here_is_reported_with_the_command_that_pulls_it(tools, image):
    with pytest.raises(UserError, match=r"There is no image no\.such/image:1 here") as caught:
        tools.find("image:no.such/image:1", [])
    assert caught.value.remedy.endswith(" pull no.such/image:1")


INSTANTS = (0.1, 0.3, 0.6, 1.0, 1.5, 2.0, 4.0, 5.5, 7.0)


@pytest.mark.parametrize("seconds", [3.0, *(pytest.param(more, marks=only_with_all) for more in INSTANTS)])
def test_no_container_outlives_a_dialin_that_is_killed_at_any_instant(dialin, image, build, seconds):
    process, mine = started(dialin, image, seconds)
    process.kill()
    process.wait()
    time.sleep(1)
    until(lambda: not mine & containers(), 60, 0.5)
    time.sleep(8 if seconds in INSTANTS else 0)  # the watchdog has looked for the last time
    assert not mine & containers()
    Ledger(Home.of().ledger).end_orphans()
    assert not [entry for entry in Ledger(Home.of().ledger).entries() if entry.owner == process.pid]


def test_the_next_dialin_removes_a_container_whose_watchdog_was_killed_too(dialin, image, build):
    process, mine = started(dialin, image, 0.0)
    until(lambda: mine & containers())
    for child in psutil.Process(process.pid).children():
        if child.cmdline()[0] == "/bin/sh" and set(child.cmdline()) & mine:
            child.kill()
    process.kill()
    process.wait()
    assert mine & containers()
    Ledger(Home.of().ledger).end_orphans()
    assert not mine & containers()


def started(dialin, image, seconds):
    """A study that runs since some seconds, and the names of its containers so far."""
    words = ["sweep", "sort_buffer_size=256K,512K", "--server", image, *SHORT, *EASY, "--minutes", "2"]
    process = dialin.start(*words, "--out", f"killed-{seconds}")

    def names():
        return {name_of(entry.id) for entry in Ledger(Home.of().ledger).entries() if entry.owner == process.pid}

    first = until(names)
    time.sleep(seconds)
    return process, first | names()


@only_with_all  # tests/servers/test_containers.py shows the sizes, the sweep the limit
def test_sizes_of_a_pod_are_compared_with_the_pool_at_half_of_each(dialin, image):
    load = [*SHORT, *EASY, "--minutes", "1", "--worthwhile", "100%"]
    words = ["compare", "--server", image, "--server-memory", "768M,1G", *load]
    found = dialin.verdict(*words, "--out", "sizes", code=dialin.any_code)
    pools = {each["name"]: int(each["in_force"]["innodb_buffer_pool_size"]) for each in found["candidates"]}
    assert pools == {"768M": 384 * MIB, "1G": 512 * MIB}


@only_with_all  # fit_check and the space of a tune are tested without servers
@may_limit
def test_a_tune_in_containers_tries_nothing_that_its_limit_does_not_hold(dialin, image):
    words = ["tune", "innodb_buffer_pool_size=64M..8G", "--server", image, "--server-memory", "900M", *SHORT, *EASY]
    dialin(*words, "--goal", "latency", "--minutes", "4", "--out", "tune", "--json", code=dialin.any_code)
    with Store.open(dialin.directory / "tune") as store:
        trials = store.trials()
    tried = {int(trial.in_force["innodb_buffer_pool_size"]) for trial in trials if trial.in_force}
    assert len(tried) > 2
    assert max(tried) < 900 * MIB
    assert not [trial for trial in trials if trial.state is TrialState.FAILED]


@only_with_all  # tests of advice show the command
@may_limit
def test_advice_in_a_container_counts_its_limit_and_names_the_image(dialin, image):
    words = ["advise", "--json", "--seconds", "2", "--server", image, "--server-memory", "1G", *SMALL_LOAD]
    out, _ = dialin(*words, "--set", "innodb_flush_log_at_trx_commit=2")
    advice = json.loads(out)
    (weaker,) = (one for one in advice["experiments"] if one["variable"] == "innodb_flush_log_at_trx_commit")
    assert f"--server {image} --server-memory 1G" in weaker["command"]


def prepare(sandbox):
    load("prepare", "oltp_read_write", sandbox, tables=1, table_size=20_000)


def run(sandbox):
    return load("run", "oltp_read_write", sandbox, "--time=6", "--rate=30", "--connections=4", code=None, **SIZES)


@needs_dialin_load
@only_with_all  # a replay's data is restored, and its load applied, as any other's
def test_a_capture_is_replayed_on_a_server_in_a_container(dialin, image, tmp_path):
    record(BUILD, tmp_path, prepare, run, lambda sandbox: None)
    words = ["sweep", "innodb_io_capacity=200,2000", "--server", image, "--minutes", "2", "--yes", "--out", "replay"]
    words += ["--workload", f"capture:{tmp_path / 'shop.capture'}", "--data", tmp_path / "data", "--pace", "1"]
    dialin(*words, "--json", code=dialin.any_code)
    with Store.open(dialin.directory / "replay") as store:
        watched = [store.watched()[trial.id]["load"] for trial in store.trials() if trial.state is TrialState.DONE]
    assert len(watched) >= 2
    assert all(one.gauges["replay_new_errors"].most == one.gauges["replay_other_rows"].most == 0 for one in watched)


COMPOSE = """
name: {name}
services:
  db:
    image: {image}
    entrypoint: /usr/sbin/mysqld
    command: [--user=root, --datadir={data}, --socket={socket}, --skip-networking, --mysqlx=OFF, --secure-file-priv=NULL]
    network_mode: none
    volumes: ["{directory}:{directory}"]
x-podman:
  in_pod: false
"""


class Composed:
    """A server as a service of a compose file, which podman-compose runs."""

    def __init__(self, sandbox, directory):
        self.sandbox, self.file, self.account = sandbox, directory / "compose.yaml", directory / "account.cnf"
        self.name = f"dialin-test-{sandbox.entry.id.lower()}"
        names = {"data": sandbox.data, "socket": sandbox.socket, "directory": sandbox.directory}
        self.file.write_text(COMPOSE.format(name=self.name, image=f"{NAME}:a", **names))
        self.account.write_text(f"[client]\nuser = root\nsocket = {sandbox.socket}\n")
        self.compose("up", "--detach")
        until(self.answers)

    def compose(self, *words):
        subprocess.run(["podman-compose", "-f", self.file, *words], check=True, capture_output=True)

    def answers(self):
        try:
            return self.state()
        except ServerError:
            return None

    def state(self):
        """What a study must leave as it was: all variables, and what is mounted into the container."""
        with self.sandbox.connect() as query:
            variables = dict(query("SHOW GLOBAL VARIABLES"))
        mounts = podman("inspect", "--format", "{{range .Mounts}}{{.Destination}} {{end}}", f"{self.name}_db_1", check=True)
        return variables, mounts.stdout

    def words(self):
        command = shlex.join([str(EXAMPLES / "compose.sh"), str(self.file), "db"])
        return ["--attach", "--defaults-file", self.account, "--apply-command", command, *SHORT, *EASY, "--worthwhile", "100%"]


@pytest.fixture(scope="module")
def composed(tools, build, tmp_path_factory):
    if shutil.which("podman-compose") is None:
        pytest.skip(
            "podman-compose is not on PATH: python -m venv V; V/bin/pip install podman-compose; PATH=V/bin:$PATH make test"
        )
    sandbox = booted(tools, build)
    made = None
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("COMPOSE", "podman-compose")
        try:
            made = Composed(sandbox, tmp_path_factory.mktemp("composed"))
            yield made
        finally:
            if made is not None:
                made.compose("down")
            sandbox.remove()


def values_of_two_trials(composed, out):
    """What the server has for back_log while it is measured."""
    values = set()
    for position in (1, 2):
        measuring(out, position=position)
        values.add(composed.state()[0]["back_log"])
    return values


def assert_as_before(composed, before):
    """The container is another one with another host name, but has the same variables and volumes."""
    now = composed.state()
    assert now[0]["hostname"] != before[0]["hostname"]
    differing = changed(before[0], now[0])
    assert {name: value for name, value in differing.items() if not identifies_instance(name)} == {}
    assert now[1] == before[1]


def test_the_service_of_a_compose_file_gets_each_setting_and_is_then_as_it_was(dialin, composed):
    before, out = composed.state(), dialin.directory / "study"
    process = dialin.start("sweep", "back_log=70", "--minutes", "5", *composed.words(), "--out", out)
    values = values_of_two_trials(composed, out)
    err = interrupt(process)
    assert values == {before[0]["back_log"], "70"}, err
    assert_as_before(composed, before)


def test_the_service_of_a_compose_file_is_put_back_after_a_kill(dialin, composed):
    before, out = composed.state(), dialin.directory / "study"
    process = dialin.start("sweep", "back_log=70", "--minutes", "5", *composed.words(), "--out", out)
    values = values_of_two_trials(composed, out)
    kill(process.pid)
    process.communicate()
    assert values == {before[0]["back_log"], "70"}
    _, err = dialin("restore")
    assert "the original settings: applied by the command" in err
    assert_as_before(composed, before)
