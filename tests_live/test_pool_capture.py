"""Captures of applications whose connection pool is older than the log: on SQLAlchemy with its defaults, and on Django."""

import os
import subprocess
from itertools import product

import pytest

from dialin.capture.capture_files import make_capture
from dialin.capture.open_sessions import read_open_sessions
from dialin.datasets.cache import copy
from dialin.servers.sandbox import Sandbox
from dialin.trials.tools import Tools
from driving import BINARY, QUICK, finished, needs_dialin_load
from live import FAST, INSTALLED, LIMIT, MYSQL, find, only_with_all
from pooled_applications import ZONE, Bank, OscarShop, Shop

pytestmark = needs_dialin_load

NEWEST = {build.family: build for build in sorted(INSTALLED, key=lambda build: build.version)}
IS_LONG = "DIALIN_TEST_ALL" in os.environ
SECONDS = 60 if IS_LONG else 4
APPLICATIONS = {"bank": Bank, "shop": Shop, "django-oscar": OscarShop}
needs_oscar = pytest.mark.skipif(
    OscarShop.python() is None,
    reason="django-oscar is not on PATH: python -m venv V; V/bin/pip install 'django-oscar[sorl-thumbnail]==4.2.1' PyMySQL; "
    "PATH=V/bin:$PATH make test-all",
)
CASES = [
    pytest.param((build, name), marks=needs_oscar if name == "django-oscar" else (), id=f"{build.id}-{name}")
    for build, name in (product(NEWEST.values(), APPLICATIONS) if IS_LONG else [(find(MYSQL), "bank"), (find(FAST), "shop")])
]


def rows(sandbox, application):
    with sandbox.connect() as query:
        query("USE shop")
        return application.rows(query)


def zones(sandbox):
    with sandbox.connect() as query:
        return {zone for (zone,) in query("SELECT DISTINCT zone FROM shop.account")} - {""}


@pytest.fixture(scope="module", params=CASES)
def captured(request, tmp_path_factory):
    """A build, the directory with the data from before and two captures of the same log, the application, and what it left."""
    (build, name), directory = request.param, tmp_path_factory.mktemp("captured")
    tools = Tools.open(lambda text: None)
    sandbox = Sandbox.create(build, tools.home, tools.ledger, tools.clock)
    try:
        tools.preparer.copy_blank(build, {}, sandbox.data)
        sandbox.boot(QUICK)
        with sandbox.connect() as query:
            query("CREATE DATABASE shop")
        application = APPLICATIONS[name](sandbox)
        application.prepare()
        application.close_pool()
        sandbox.stop()
        copy(sandbox.data, directory / "data")
        extra = {"log_slow_extra": "ON"} if build.family == "mysql" else {}
        log = {"slow_query_log_file": str(directory / "slow.log"), "long_query_time": 0, "log_output": "NONE"}
        sandbox.boot({**QUICK, **log, **extra, "slow_query_log": "ON", "event_scheduler": "OFF"})
        application.open_pool()
        with sandbox.connect() as query:
            variables = dict(query("SHOW GLOBAL VARIABLES"))
            query("SET SESSION long_query_time = 1000")
            query("SET GLOBAL log_output = 'FILE'")
            sessions = read_open_sessions(query, build, variables, None)
            application.work(SECONDS)
            query("SET GLOBAL log_output = 'NONE'")
        left = rows(sandbox, application), zones(sandbox) if name == "bank" else None
    finally:
        sandbox.remove()
    (directory / "sessions.json").write_text(sessions.model_dump_json(by_alias=True))
    summaries = [
        make_capture([directory / "slow.log"], directory / name, counters=None, forget_text=False, sessions=given)
        for name, given in (("inferred.capture", None), ("told.capture", directory / "sessions.json"))
    ]
    return build, directory, summaries, application, left


def test_a_capture_has_the_transactions_that_the_application_counts(captured):
    build, _, summaries, application, _ = captured
    for summary in summaries:
        counted = sum(shape.transactions for shape in summary.transactions)
        assert (counted, sum(shape.rolled_back for shape in summary.transactions)) == (
            application.committed + application.rolled_back,
            application.rolled_back,
        )
        assert summary.autocommit.off == application.AUTOCOMMIT_OFF
    assert application.committed > 20
    inferred, told = (summary.autocommit for summary in summaries)
    assert inferred.inferred_off == application.AUTOCOMMIT_OFF
    assert told.inferred_off == (0 if build.family == "mysql" else application.AUTOCOMMIT_OFF), "MariaDB does not show it"


@pytest.mark.parametrize(
    ("name", "pace"),
    [
        ("inferred.capture", "full"),
        ("told.capture", "1"),
        pytest.param("inferred.capture", "1", marks=only_with_all),
        pytest.param("told.capture", "full", marks=only_with_all),
    ],
)
def test_a_replay_leaves_the_same_rows(captured, name, pace):
    build, directory, _, application, (original, set_by_pool) = captured
    tools = Tools.open(lambda text: None)
    sandbox = Sandbox.create(build, tools.home, tools.ledger, tools.clock)
    try:
        copy(directory / "data", sandbox.data)
        sandbox.boot({**QUICK, "event_scheduler": "OFF"})
        words = [BINARY, "run", f"capture:{directory / name}", f"--socket={sandbox.socket}", "--user=root"]
        done = subprocess.run([*words, "--json", f"--pace={pace}"], capture_output=True, text=True, timeout=LIMIT)
        replay = finished(done.returncode, done.stdout, done.stderr)
        assert rows(sandbox, application) == original
        if set_by_pool is not None:
            assert set_by_pool == {ZONE}
            told = name == "told.capture" and build.family == "mysql"  # MariaDB does not show it
            assert zones(sandbox) == ({ZONE} if told else {"SYSTEM"})
    finally:
        sandbox.remove()
    assert replay.total["transactions"] == application.committed + application.rolled_back
    assert replay.total["replay"]["new_errors"] == 0
