"""Whatever system call fails in a process beside a study: a changed server is restored, or named as changed.

These are `dialin restore`, the watchdog of a capture, an agent of dialin-load, and the process on a host of a fleet.
docs/faults.md says what is promised.
"""

import os
import pickle
import re
import subprocess
import sys
import time
from itertools import product

import pytest

from dialin.fleet.host_agent import HostAgent
from dialin.fleet.host_process import HostFailed, HostStudy, Ready, TrialEvent, TurnEnded
from dialin.fleet.worker import BlockRequest
from dialin.model.cause import Fault
from dialin.model.trial import Purpose, Trial, TrialState
from dialin.paths import Home
from dialin.places.check_study import check_question
from dialin.question.options import StudyOptions
from dialin.trials.events import TrialEnded
from dialin.trials.tools import Tools
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
NO_MEMORY = re.compile(r"memory allocation of \d+ bytes failed|fatal runtime error")
NO_RUST = "failed to allocate an alternative stack"
"""How the runtime of Rust ends a program that gets no memory, and one that does not even start."""


def matrix(*in_short, phases=(BEGIN, LATER)):
    """Every call that fails from a phase on, once and for ever; all but those named are in the long matrix only."""
    cells = []
    for call, phase, times in product(MOST, phases, (1, FOR_EVER)):
        name = f"{call}-{phase}-{often(times)}"
        if (call, phase, times) == ("mmap", BEGIN, FOR_EVER):
            continue  # neither Python nor Rust starts
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


@matrix("open-begin-1_times", phases=(BEGIN,))
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
    _, err = dialin("restore")
    assert values(server) == before, err
    assert left(server) == [], err
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


@matrix("thread-later-1_times")
def test_an_agent_fails_its_run_with_an_error_and_serves_the_next_one(server, failing, token, tmp_path, call, phase, times):
    account, since = option_file(server, tmp_path / "load.cnf"), tmp_path / "since"
    environment = failing.environment(call, times, since="" if phase is BEGIN else since)
    with agent(token, account, tmp_path, database=CLIENTS, environment=environment) as (address, said):
        since.touch()
        run_load(token, address)
        if NO_RUST in said.read_text():
            pytest.skip("the runtime of Rust does not start")
        if times == 1 and not said.read_text().startswith("error: ") and not NO_MEMORY.search(said.read_text()):
            assert run_load(token, address) == 0, said.read_text()
        check_words(said.read_text())
    sessions = "SELECT COUNT(*) FROM information_schema.processlist WHERE user = 'dialin'"
    until(lambda: server.query(sessions)[0][0] == 0)
    if not failing.count:
        pytest.skip("there is no such call in this phase")


HOST = "dialin.fleet.host_process"
OPTIONS = {"sweep": {"innodb_io_capacity": [300, 600]}, "tables": 2, "table-size": 5000, "threads": 1, "rate": 40}
MISTAKES = ("Traceback", "internal error", "fault of dialin")


@pytest.fixture(scope="module")
def checked(tmp_path_factory):
    """A study on sandboxes, as a coordinator has checked it."""
    options = {**OPTIONS, "server": FAST, "measure": 2, "warmup": 1, "minutes": 1, "worthwhile": 1.0}
    return check_question(StudyOptions.model_validate(options), tmp_path_factory.mktemp("study"), Tools.open(lambda line: None))


def run_on_host(checked, environment, since):
    """Have a host run a trial; what its process reports, and the last lines that it prints."""
    trial = Trial(1, 1, 1, 1, "300", TrialState.RUNNING, 0.0, purpose=Purpose.RACE)
    agent, reports, runs = HostAgent(environment), [], True
    try:
        agent.start(HostStudy("host", checked.spec, checked.inspected, {}))
        agent.run_block(1, BlockRequest(checked.spec, checked.inspected, (trial,)))
        limit = time.monotonic() + LIMIT
        while runs and not any(isinstance(one, (HostFailed, TurnEnded)) for one in reports):
            assert time.monotonic() < limit, reports
            records, runs = agent.reports(len(reports), 1.0)
            reports += map(pickle.loads, records)
            if any(isinstance(one, Ready) for one in reports):
                since.touch()
        return reports, agent.last_words()
    finally:
        agent.stop()


@matrix("write-later-1_times")
def test_the_process_of_a_host_blames_no_candidate_and_leaves_nothing(dialin, checked, failing, tmp_path, call, phase, times):
    if call == "mmap":
        pytest.skip("Python waits for ever for a thread that gets no memory as it begins; its host is then lost")
    since, files = tmp_path / "since", "/dialin-scratch-" if call in ("open", "write", "truncate") else "/sandboxes/"
    given = failing.environment(
        call, times, since="" if phase is BEGIN else since, part=files if call in ON_FILES else "", within=HOST
    )
    reports, said = run_on_host(checked, given, since)
    assert failing.left_running() == []
    ended = [one.event.trial for one in reports if isinstance(one, TrialEvent) and isinstance(one.event, TrialEnded)]
    assert not [one for one in ended if one.failure is not None and one.failure.fault in (Fault.SERVER, Fault.SETTING)]
    texts = [said, *(str(one.cause) for one in reports if isinstance(one, HostFailed))]
    assert not [words for words in MISTAKES for text in texts if words in text], texts
    if not failing.count:
        assert [one.state for one in ended] == [TrialState.DONE]
        pytest.skip("there is no such call in this phase")
    assert ended or any(isinstance(one, HostFailed) for one in reports) or said, "nobody knows why"
