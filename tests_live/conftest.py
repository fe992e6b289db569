"""What tests on real servers share."""

import base64
import gc
import os
import shutil
import sys
from pathlib import Path

import pytest

from browser import chromium, opened  # noqa: F401
from dialin.cli import app
from dialin.model.place import Attachment
from dialin.paths import Home
from dialin.servers.attached.undo import UndoLog
from dialin.servers.capabilities import Capability, has
from dialin.servers.ledger import Ledger
from dialin.servers.processes import processes
from failing_calls import compiled
from home import WORKER, remove_home_of_worker
from live import INSTALLED, MYSQL, ONE_OR_ALL, ONLY_WITH_ALL, Dialin, find, with_last
from playground import option_file, playground

FIRST = (
    "images",
    "report_in_browser",
    "attached_study",
    "managed",
    "attached_server",
    "profile",
    "in_force",
    "attached_departure",
    "capture_start",
    "dialin_load",
    "live_traffic",
    "attached_restart",
    "suite",
    "tune",
    "replay",
    "statements",
    "restore",
    "deciding",
    "watch",
    "command",
    "study",
    "faults",
    "changed_during_trial",
    "persisted_by_others",
    "dialin_load_study",
    "waits",
    "standard_streams",
    "pool_capture",
    "load_hosts",
    "faults_of_helpers",
    "confounds",
    "install",
    "tune_attached",
    "workloads",
    "servers",
    "builds",
    "advise",
    "recommended_sql",
    "load_sources",
    "switching",
    "fleet_and_search",
    "dialin_load_counters",
    "hiccups",
    "shared_home",
    "option_files",
    "scan",
    "resizing",
    "preparing",
    "probes",
    "archives",
    "variables",
    "server_files",
    "capture",
)
"""Files in the order in which their tests begin: first those whose tests of one process take longest, so that none of them runs
alone at the end; all others come after them."""


def group_of(item):
    """The name of the tests that run in one process with a test: those of its file, or of its file and build; none where it
    runs a study of its own and shares nothing."""
    file = item.path.stem
    used = {name: fixtures[-1] for name, fixtures in item._fixtureinfo.name2fixturedefs.items()}
    if file == "test_watch":
        used.pop("chromium", None)  # it starts in no time beside a study
    shared = [name for name, one in used.items() if one.scope == "module"]
    if "dialin" in used and not shared:
        return None
    given = item.callspec.params if hasattr(item, "callspec") else {}
    return "-".join([file, *(_name(given[name]) for name in shared if name in given)]).replace("@", "-")


def _name(given):
    """What a parameter is called, the same in all processes: a build's text has the home of the process."""
    return "-".join(map(_name, given)) if isinstance(given, tuple) else getattr(given, "id", str(given))


gc.disable()  # while tests are collected, which is little but modules


def pytest_collection_finish():
    """Leave what is imported by now out of all collections of garbage, which would look at it again and again."""
    gc.freeze()
    gc.enable()


def pytest_configure(config):
    config.addinivalue_line("markers", "other_build: of a build that only tests of each build, and `make test-all`, run on")
    config.addinivalue_line("markers", "each_build: what it shows differs by build, so that `make test` runs it on each")


@pytest.hookimpl(tryfirst=True)  # before pytest-xdist reads the groups
def pytest_collection_modifyitems(config, items):
    """Keep tests together that share something; each of the others goes to whoever has nothing to do.

    Tests of other builds are left out, but for `make test-all`: to hand out a thousand to be skipped takes seconds.
    """

    def rank(item):
        name = item.path.stem.removeprefix("test_")
        return FIRST.index(name) if name in FIRST else len(FIRST)

    for item in items:
        if group := group_of(item):
            item.add_marker(pytest.mark.xdist_group(group))
    left_out = [item for item in items if is_left_out(item)]
    config.hook.pytest_deselected(items=left_out)
    items[:] = sorted((item for item in items if not is_left_out(item)), key=rank)


def is_left_out(item):
    """Whether only `make test-all` runs a test."""
    if any(mark.kwargs.get("reason") == ONLY_WITH_ALL and mark.args[0] for mark in item.iter_markers("skipif")):
        return True
    return item.get_closest_marker("other_build") and not item.get_closest_marker("each_build")


def pytest_sessionfinish():
    if "ray_environment" in sys.modules:
        sys.modules["ray_environment"].TOKEN.unlink(missing_ok=True)
    if WORKER:
        remove_home_of_worker()


@pytest.fixture(scope="session", autouse=True)
def ready():
    """The servers and sysbench are there: `make test` brings them."""
    assert shutil.which("sysbench"), "sysbench is not installed: make test brings it, or apt-get install sysbench"
    assert find(MYSQL), f"{MYSQL} is not installed: make test brings it, or dialin servers install {MYSQL}"


@pytest.fixture
def dialin(tmp_path):
    command = Dialin(tmp_path)
    yield command
    command.end()
    ledger = Ledger(Home.of().ledger)
    left = [
        entry
        for entry in ledger.entries()
        if not entry.keep and not ledger.is_owned(entry) and processes(Path(entry.directory))
    ]
    assert not left, "a server or a driver was left behind"


@pytest.fixture
def refused(tmp_path, monkeypatch, capsys):
    """Calls the command with what it refuses before anything starts, in this process; what it said."""
    monkeypatch.chdir(tmp_path)

    def call(*words):
        monkeypatch.setattr(sys, "argv", ["dialin", *with_last(words)])
        with pytest.raises(SystemExit) as ended:
            app.main()
        err = capsys.readouterr().err
        assert ended.value.code == 2, err
        assert "Traceback" not in err
        return err

    return call


SERVERS = [
    pytest.param(build, id=build.id, marks=() if build in ONE_OR_ALL else pytest.mark.other_build) for build in INSTALLED
]
WITH_PERSIST = [build for build in ONE_OR_ALL if has(build, Capability.PERSIST)]


@pytest.fixture(scope="session")
def injector(tmp_path_factory):
    """The library that makes system calls fail."""
    return compiled(tmp_path_factory.mktemp("injector"))


@pytest.fixture(scope="module", params=SERVERS)
def server(request):
    with playground(request.param) as made:
        yield made


@pytest.fixture(scope="module", params=WITH_PERSIST, ids=lambda build: build.id)
def modern(request):
    """A server that keeps variables over SQL, and can be restarted."""
    with playground(request.param) as made:
        yield made


@pytest.fixture
def token(tmp_path):
    """The file with the token that agents of dialin-load share."""
    path = tmp_path / "load.token"
    path.touch(mode=0o600)
    path.write_text(base64.b64encode(os.urandom(32)).decode())
    return path


@pytest.fixture
def log(tmp_path):
    return UndoLog(Home(tmp_path / "home").undo)


@pytest.fixture
def attachment(server, tmp_path):
    return Attachment(defaults_file=str(option_file(server, tmp_path / "my.cnf")))
