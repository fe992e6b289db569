"""Whatever system call fails in a process beside a study: a changed server is restored, or named as changed.

These are `dialin restore`, the watchdog of a capture, and an agent of dialin-load. docs/faults.md says what is promised.
"""

import os
import subprocess
import sys
import time
from itertools import product

import pytest

from dialin.paths import Home
from driving import BINARY, needs_dialin_load
from failing_calls import FOR_EVER, MOST, ON_FILES, FailingCalls, needs_compiler, often
from live import FAST, LIMIT, MYSQL, find, kill, only_with_all, until
from live_traffic import SCHEMA as CLIENTS
from live_traffic import prepare
from playground import LEAVES_CHANGED, SCHEMA, option_file, playground
from test_capture_start import LOGGING, PURPOSE, Capture, left, values, watchdogs
from test_load_hosts import agent

pytestmark = [needs_compiler, needs_dialin_load]

BEGIN, LATER = "begin", "later"
IN_WATCHDOG = tuple(call for call in MOST if call not in ("read", "unlink", "flock", "send"))
IN_AGENT = ("open", "write", "socket", "recv", "thread")
"""The calls of dialin-load that fail: the runtime of Rust itself ends a program that gets no memory."""


def matrix(*in_short, calls=IN_WATCHDOG, phases=(BEGIN, LATER)):
    """Every call that fails from a phase on, once and for ever; all but those named are in the long matrix only."""
    cells = []
    for call, phase, times in product(calls, phases, (1, FOR_EVER)):
        name = f"{call}-{phase}-{often(times)}"
        if calls is not IN_AGENT and (call, phase, times) == ("mmap", BEGIN, FOR_EVER):
            continue  # Python does not start
        cells.append(pytest.param(call, phase, times, id=name, marks=() if name in in_short else only_with_all))
    return pytest.mark.parametrize(("call", "phase", "times"), cells)


@pytest.fixture(scope="module")
def server():
    build = find(MYSQL if "DIALIN_TEST_ALL" in os.environ else FAST)
    with playground(build, PURPOSE, "--set", "performance_schema=ON") as made:
        prepare(made)
        made.query(*(f"GRANT ALL ON {schema}.* TO 'dialin'@'localhost'" for schema in (SCHEMA, CLIENTS)))
        yield made


@pytest.fixture
def failing(injector, dialin):
    yield FailingCalls(injector, dialin.directory / "failed-calls")
    dialin("restore")  # so that a test that fails does so alone


def part(call):
    """The files on which a call fails: Python reads its own when it starts."""
    return "/undo/" if call in ON_FILES else ""


def check_words(err):
    assert not [words for words in ("Traceback", "internal error", "panicked") if words in err], err


def is_as_before(server, before):
    return values(server) == before and (SCHEMA,) not in server.query("SHOW DATABASES")


@matrix("open-begin-1_times", calls=MOST, phases=(BEGIN,))
def test_a_change_that_could_not_be_restored_is_named_and_the_next_restore_does_it(dialin, server, failing, call, phase, times):
    before = values(server)
    account = option_file(server, dialin.directory / "account.cnf")
    words = [sys.executable, "-c", LEAVES_CHANGED, str(Home.of().undo), str(account)]
    with subprocess.Popen(words, stdout=subprocess.PIPE, text=True) as victim:
        assert victim.stdout.readline() == "changed\n"
        kill(victim.pid)
    process = dialin.start("restore", environment=failing.environment(call, times, part=part(call)))
    _, err = process.communicate(timeout=LIMIT)
    check_words(err)
    if process.returncode == 0:
        assert is_as_before(server, before), err
    else:
        assert process.returncode in (1, 3), err
        dialin("restore")
    assert is_as_before(server, before)
    assert left(server) == []
    if not failing.count:
        pytest.skip("there is no such call")


@matrix("open-later-1_times")
def test_a_watchdog_restores_the_log_or_the_next_command_does(dialin, server, failing, monkeypatch, call, phase, times):
    before, since = values(server), dialin.directory / "since"
    since_when = since if phase is LATER else ""
    given = failing.environment(call, times, since=since_when, part=part(call), within="dialin.capture.watchdog")
    for name, value in given.items():
        monkeypatch.setenv(name, value)
    run = Capture(server, dialin.directory)
    until(lambda: LOGGING in run.said or run.process.poll() is not None)
    since.touch()
    if run.process.poll() is None:
        time.sleep(0.5)  # so that a call while it watches fails
        kill(run.process.pid)
    run.process.wait(LIMIT)
    for name in given:
        monkeypatch.delenv(name)
    until(lambda: not watchdogs())
    check_words(run.said)
    if values(server) != before:
        assert times == FOR_EVER, "one call that fails is tried again"
    dialin("restore")
    assert values(server) == before
    assert left(server) == []
    if not failing.count:
        pytest.skip("there is no such call in this phase")


def run_load(token, address):
    words = [
        BINARY,
        "run",
        "oltp_point_select",
        "--agents",
        address,
        "--token-file",
        token,
        "--connections",
        "2",
        "--time",
        "2",
    ]
    words += ["-o", "tables=1", "-o", "table-size=1000"]
    done = subprocess.run(words, capture_output=True, text=True, timeout=LIMIT)
    check_words(done.stderr)
    assert done.returncode == 0 or done.stderr.startswith("error: "), done.stderr
    return done.returncode


@matrix("thread-later-1_times", calls=IN_AGENT)
def test_an_agent_fails_its_run_with_an_error_and_serves_the_next_one(server, failing, token, tmp_path, call, phase, times):
    account, since = option_file(server, tmp_path / "load.cnf"), tmp_path / "since"
    environment = failing.environment(call, times, since="" if phase is BEGIN else since)
    with agent(token, account, tmp_path, database=CLIENTS, environment=environment) as (address, said):
        since.touch()
        run_load(token, address)
        if times == 1 and not said.read_text().startswith("error: "):  # as where it cannot listen
            assert run_load(token, address) == 0, said.read_text()
        check_words(said.read_text())
    sessions = "SELECT COUNT(*) FROM information_schema.processlist WHERE user = 'dialin'"
    until(lambda: server.query(sessions)[0][0] == 0)
    if not failing.count:
        pytest.skip("there is no such call in this phase")
