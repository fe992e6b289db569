"""Servers in containers: an image made of a build that is installed here, run by this machine's podman."""

import json
import os
import shlex
import shutil
import subprocess
import time
from contextlib import ExitStack
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
from images import (
    BUILD,
    NAME,
    PODMAN,
    SIMPLE,
    called,
    can_run,
    containers,
    docker_answers,
    import_image,
    make_file_system,
    podman,
    service_for_docker,
    without_podman,
)
from live import EASY, SHORT, interrupt, kill, measuring, only_with_all, until
from managed_server import EXAMPLES
from test_replay import SIZES, record

MIB = 2**20
SMALL_LOAD = ["--tables", "1", "--table-size", "5000", "--threads", "2"]
# In one process, for an image takes long to make: builds are asked for by name, which the groups of tests cannot see.
pytestmark = [pytest.mark.timeout(600), pytest.mark.usefixtures("file_system")]


@pytest.fixture(scope="module")
def file_system(tmp_path_factory):
    root = tmp_path_factory.mktemp("image") / "root"
    make_file_system(root)
    yield root
    for build in Home.of().builds.glob(f"*-image.{NAME.replace('/', '.').replace('-', '.')}.*"):
        shutil.rmtree(build)


@pytest.fixture(scope="module")
def image(file_system):
    """The name of an image with two tags, `a` and `b`."""
    if PODMAN is None:
        pytest.skip("podman is not on PATH: apt-get install podman runc")
    simple = file_system.with_name("containers.conf")
    simple.write_text(SIMPLE)
    with pytest.MonkeyPatch.context() as patch:
        if error := import_image(file_system, PODMAN, "import", "--message", "made by dialin's tests", "-", f"{NAME}:a"):
            pytest.skip(f"podman cannot import an image here: {error}")
        try:
            until(lambda: podman("tag", f"{NAME}:a", f"{NAME}:b").returncode == 0)  # a busy podman may not find it at once
            if not can_run(f"{NAME}:a", PODMAN)[0]:
                patch.setenv("CONTAINERS_CONF", str(simple))
                does_run, error = can_run(f"{NAME}:a", PODMAN)
                if not does_run:
                    pytest.skip(f"podman cannot run a container here: {error}")
            yield f"image:{NAME}:a"
        finally:
            podman("rmi", "--force", f"{NAME}:a", f"{NAME}:b")


@pytest.fixture(scope="module")
def tools():
    return Tools.open(print)


@pytest.fixture(scope="module")
def build(image, tools):
    return tools.find(image, [])


@pytest.fixture(scope="module")
def docker_build(request, file_system, tools, tmp_path_factory):
    """The build of an image that docker has."""
    if shutil.which("docker") is None:
        pytest.skip("docker is not on PATH")
    directory = tmp_path_factory.mktemp("docker")
    with ExitStack() as stack:
        if not docker_answers():
            request.getfixturevalue("image")  # podman's service runs containers as podman does, or the test is skipped
            stack.enter_context(service_for_docker(directory))
        if error := import_image(file_system, "docker", "import", "-", f"{NAME}:docker"):
            pytest.skip(f"docker cannot import an image here: {error}")
        try:
            with without_podman(directory):
                build = tools.find(f"image:{NAME}:docker", [])
            yield build
        finally:
            called("docker", "rmi", "--force", f"{NAME}:docker")


ENGINES = [pytest.param("build", id="podman"), pytest.param("docker_build", id="docker", marks=only_with_all)]
"""Of each engine its build; both are told the same words, so that `make test` runs one."""


@pytest.fixture(params=ENGINES)
def build_of_engine(request):
    return request.getfixturevalue(request.param)


def booted(tools, build):
    sandbox = Sandbox.create(build, tools.home, tools.ledger, tools.clock)
    tools.preparer.copy_blank(build, {}, sandbox.data)
    return sandbox


may_limit = pytest.mark.skipif(
    os.geteuid() != 0 and not Path("/sys/fs/cgroup/cgroup.controllers").exists(),
    reason="limits of an ordinary user's containers need version 2 of control groups",
)


@may_limit
def test_a_server_in_a_container_has_its_limits_and_is_a_process_of_this_machine(tools, build_of_engine):
    engine, binary = build_of_engine.image.engine, Path(build_of_engine.image.binary)
    sandbox = booted(tools, build_of_engine.limited(700 * MIB, "0"))
    try:
        sandbox.boot({})
        status = Path(f"/proc/{sandbox.pid}/status").read_text()
        assert "Cpus_allowed_list:\t0\n" in status
        assert f"Name:\t{binary.name}\n" in status
        assert threads_by_inner_id(sandbox.pid)[1] == sandbox.pid
        asked = "{{.HostConfig.Memory}} {{.HostConfig.MemorySwap}}"
        limits = called(engine, "inspect", "--format", asked, name_of(sandbox.entry.id))
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
    assert name_of(sandbox.entry.id) not in containers(engine)
    assert not sandbox.directory.exists()


LARGE = {"performance_schema": "ON", "performance_schema_events_statements_history_long_size": 1_000_000}
"""A server that takes more than a gigabyte as soon as it starts."""


@may_limit
def test_a_server_that_the_kernel_kills_at_the_limit_is_reported_as_that(tools, build_of_engine):
    sandbox = booted(tools, build_of_engine.limited(256 * MIB, None))
    try:
        with pytest.raises(ServerError, match=r"memory limit of its container \(256 MiB, --server-memory\)"):
            sandbox.boot(LARGE)
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
def test_a_sweep_in_containers_reports_the_image_and_its_limits(dialin, build_of_engine):
    build = build_of_engine
    limits, out = ["--server-memory", "1G", "--server-cpus", "1.5"], dialin.directory / "study"
    words = ["sweep", "sort_buffer_size=256K,512K", "--server", build.id, *limits, *SHORT, *EASY, "--minutes", "5"]
    process = dialin.start(*words, "--out", out)
    measuring(out, position=2)
    interrupt(process)
    report, _ = dialin("report", out, "--markdown", "--full", code=dialin.any_code)
    assert f"{build.image.engine} image {build.image.name}" in report
    assert f"sha256:{build.image.digest}" in report
    assert "memory limit of the server's container: 1.0 GiB" in report
    assert "CPUs of the servers: 1.5" in report
    with Store.open(out) as store:
        trials = [trial.id for trial in store.trials() if trial.state is TrialState.DONE]
        periods = [store.watched()[trial]["process"].counters["quota_periods"] for trial in trials]
    assert periods
    assert all(count > 0 for count in periods)


@only_with_all  # a second copy is unpacked and tried
def test_two_tags_of_one_image_are_two_builds(tools, image, build):
    other = tools.find(f"image:{NAME}:b", [])
    assert other.id != build.id
    assert other.image.digest == build.image.digest
    assert tools.find(image, []) == build


def test_an_image_that_is_not_here_is_reported_with_the_command_that_pulls_it(tools, image):
    with pytest.raises(UserError, match=r"There is no image no\.such/image:1 here") as caught:
        tools.find("image:no.such/image:1", [])
    assert caught.value.remedy.endswith(" pull no.such/image:1")


INSTANTS = (0.1, 0.3, 0.6, 1.0, 1.5, 2.0, 3.0, 4.0, 5.5, 7.0)
TRIED = (("build", 3.0),)
"""The engine's build and the instant that `make test` tries."""


@pytest.mark.parametrize(
    ("named", "seconds"),
    [
        pytest.param(named, seconds, id=f"{named}-{seconds}", marks=() if (named, seconds) in TRIED else only_with_all)
        for named, instants in (("build", INSTANTS), ("docker_build", (0.3, 3.0)))
        for seconds in instants
    ],
)
def test_no_container_outlives_a_dialin_that_is_killed_at_any_instant(request, dialin, named, seconds):
    build = request.getfixturevalue(named)
    process, names = killed(dialin, build, seconds)
    until(lambda: not watchdogs(names))
    assert not names & containers(build.image.engine)
    Ledger(Home.of().ledger).end_orphans()
    until(lambda: not containers_of(process))  # another dialin may be removing them at this moment


def test_the_next_dialin_removes_a_container_whose_watchdog_was_killed_too(dialin, build):
    _, names = killed(dialin, build, 0.0, with_watchdog=True)
    assert names & containers()
    Ledger(Home.of().ledger).end_orphans()
    assert not names & containers()


def killed(dialin, build, seconds, *, with_watchdog=False):
    """A study that was killed some seconds after its first container was made, and its containers' names."""
    words = ["sweep", "sort_buffer_size=256K,512K", "--server", build.id, *SHORT, *EASY, "--minutes", "2"]
    process = dialin.start(*words, "--out", f"killed-{seconds}")
    until(lambda: containers_of(process))
    time.sleep(seconds)
    if with_watchdog:
        until(lambda: containers_of(process) & containers(build.image.engine, which="--filter=status=running"))
        for each in watchdogs(containers_of(process)):
            each.kill()
    names = containers_of(process)
    process.kill()
    process.wait()
    return process, names | containers_of(process)


def containers_of(process):
    """The names of all containers that the ledger has of a dialin, which may have been killed."""
    return {name_of(entry.id) for entry in Ledger(Home.of().ledger).entries() if entry.owner == process.pid}


def watchdogs(names):
    """The processes that remove containers when their dialin is gone."""
    running = psutil.process_iter(["cmdline"])
    return [each for each in running if (words := each.info["cmdline"]) and words[0] == "/bin/sh" and set(words) & names]


@only_with_all  # tests/servers/test_containers.py shows the sizes, the sweep the limit
def test_sizes_of_a_pod_are_compared_with_the_pool_at_half_of_each(dialin, image):
    load = [*SHORT, *EASY, "--minutes", "1", "--worthwhile", "100%"]
    words = ["compare", "--server", image, "--server-memory", "1G,2G,4G", *load]
    found = dialin.verdict(*words, "--out", "sizes", code=dialin.any_code)
    pools = {each["name"]: int(each["in_force"]["innodb_buffer_pool_size"]) for each in found["candidates"]}
    assert pools == {"1G": 512 * MIB, "2G": 1024 * MIB, "4G": 2048 * MIB}
    assert found["baseline"] == "4G"
    assert all(each["trials"] > 0 for each in found["candidates"])


@only_with_all  # fit_check and the space of a tune are tested without servers
@may_limit
def test_a_tune_in_containers_tries_nothing_that_its_limit_does_not_hold(dialin, image):
    words = ["tune", "innodb_buffer_pool_size=64M..8G", "--server", image, "--server-memory", "2G", *SHORT, *EASY]
    dialin.verdict(*words, "--goal", "latency", "--minutes", "4", "--out", "tune", code=dialin.any_code)
    with Store.open(dialin.directory / "tune") as store:
        plan, trials = store.read().spec.question, store.trials()
    tried = {int(trial.in_force["innodb_buffer_pool_size"]) for trial in trials if trial.in_force}
    assert plan.memory.limit <= 2048 * MIB
    assert len(tried) > 1
    assert max(tried) < 2048 * MIB
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
    entrypoint: {binary}
    command: [--user=root, --datadir={data}, --socket={socket}, --secure-file-priv={directory}/tmp, --skip-networking,
              --loose-mysqlx=OFF]
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
        names["binary"] = sandbox.build.image.binary
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
