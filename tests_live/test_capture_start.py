"""Captures of running servers under clients that dialin was not told about: complete, and the server as it was at the end."""

import io
import json
import os
import re
import signal
import stat
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path

import psutil
import pytest
import zstandard

from dialin.capture.open_sessions import ArmedSessions, count_armed
from dialin.paths import Home
from dialin.servers.capabilities import Capability, has
from dialin.variables import rules
from driving import needs_dialin_load
from live import FAST, INSTALLED, LIMIT, ONE_OR_ALL, find, kill, only_with_all, until
from live_traffic import prepare, traffic
from playground import option_file, playground
from warm_start import START

pytestmark = needs_dialin_load

PURPOSE = "capture"
BUILDS = [
    pytest.param(build, id=build.id, marks=() if build in ONE_OR_ALL else pytest.mark.other_build)
    for build in INSTALLED
    if build.version >= (5, 6)
]
ONE_LOAD = "oltp_point_select"
"""A load without BEGIN, which the slow log of MySQL 5.6 leaves out where it takes less than a microsecond."""


@pytest.fixture(scope="module", params=BUILDS)
def server(request):
    with playground(request.param, PURPOSE, "--set", "performance_schema=ON") as made:
        prepare(made)
        yield made


@pytest.fixture(scope="module")
def fast():
    with playground(find(FAST), PURPOSE, "--set", "performance_schema=ON") as made:
        prepare(made)
        yield made


LITTLE_FREE = ["--min-free", "1M"]
"""For tests: however full the disk of this machine is, a log of some MB is written."""


class Capture:
    """A capture that runs; what it says is read while it does."""

    def __init__(self, server, directory, *words):
        self.out = directory / "shop.capture"
        self._said = directory / "said"
        account = ["--attach", "--defaults-file", option_file(server, directory / "account.cnf"), "--yes"]
        command = [sys.executable, "-m", "dialin", "capture", "start", *account, "--out", self.out, *LITTLE_FREE, *words]
        with self._said.open("w") as said:
            nothing = {"stdin": subprocess.DEVNULL, "stdout": subprocess.DEVNULL}
            self.process = START([*map(str, command)], stderr=said, **nothing)

    @property
    def said(self):
        return self._said.read_text()

    def until_said(self, text):
        until(lambda: text in self.said or self.process.poll() is not None, every=0.02)
        assert text in self.said, self.said

    def finish(self, code=0):
        assert self.process.wait(LIMIT) == code, self.said
        return json.loads((self.out / "summary.json").read_text()) if self.out.exists() else None


@pytest.fixture
def capture(tmp_path):
    """Begins captures, and ends those that a failed test leaves."""
    started = []

    def begin(server, *words):
        started.append(Capture(server, tmp_path, *words))
        return started[-1]

    yield begin
    for one in started:
        if one.process.poll() is None:
            one.process.send_signal(signal.SIGCONT)
            one.process.terminate()
            one.process.wait(LIMIT)


COM_RESET_CONNECTION = 0x1F
ARMED, LOGGING = "Waiting at most", "Logging: "


def clients(server, path, rate="250"):
    return traffic(server, path, workload=ONE_LOAD, rate=rate)


def logs_of_captures(server):
    return list(Path(value(server, "datadir")).glob("dialin-capture-*"))


def left(server):
    """What a capture must not leave: logs, notes of it, and its watchdog."""
    home = Home.of()
    notes = [path for path in home.captures.glob("*") if path.suffix != ".listed"] + list(home.undo.glob("*.json"))
    return logs_of_captures(server) + notes


def watchdogs():
    """The watchdogs of this home: other tests may run beside this one."""
    found = []
    for process in psutil.process_iter():
        with suppress(psutil.Error):
            is_one = "dialin.capture.watchdog" in process.cmdline()
            if is_one and process.environ().get("DIALIN_HOME") == os.environ.get("DIALIN_HOME"):
                found.append(process)
    return found


def values(server):
    """Every variable, those too that only name files; not those that show a state."""
    return {name: value for name, value in server.query("SHOW GLOBAL VARIABLES") if not rules.is_identity(name)}


def value(server, name):
    return server.query(f"SELECT @@GLOBAL.{name}")[0][0]


def is_switched_on(server):
    is_on = value(server, "slow_query_log") == 1 or value(server, "general_log") == 1
    return is_on and value(server, "log_output") == "FILE"


def is_logging(server):
    return any(path.stat().st_size > 10_000 for path in logs_of_captures(server))


def statements(directory):
    """The time of each statement of a capture."""
    with (directory / "statements.zst").open("rb") as file:
        text = zstandard.ZstdDecompressor().stream_reader(file, read_across_frames=True)
        lines = io.TextIOWrapper(text, encoding="latin-1")
        return [float(line.split()[2]) for line in lines if re.match(r"S \d+ \d+\.\d{6} ", line)]


def check_coverage(summary):
    """Questions are read some milliseconds before and after the log is on, in a capture of a few seconds."""
    coverage = summary["coverage"]
    assert coverage["questions"] > 200
    assert coverage["logged"] / coverage["questions"] == pytest.approx(1, abs=0.1), coverage


def test_sessions_that_begin_anew_are_captured_whole_and_the_server_is_as_it_was(capture, server, tmp_path):
    before = values(server)
    with clients(server, tmp_path / "old clients"):
        run = capture(server, "--minutes", "0.05", "--arm", "5m")
        run.until_said(ARMED)
    with clients(server, tmp_path / "new clients"):
        summary = run.finish()
    assert values(server) == before
    assert left(server) == []
    check_coverage(summary)
    load = next(digest for digest in summary["digests"] if "sbtest" in digest["digest"])
    assert load["statements"] > 200
    if load["counted"] is not None:
        # The performance schema is read before Questions: some milliseconds, or a tenth of the capture on a busy machine.
        assert load["logged"] == pytest.approx(load["counted"], rel=0.15)
    assert re.search(r"Coverage \d+\.\d\d % \([\d,]+ of [\d,]+ Questions\)", run.said)
    assert re.search(r"Load now: [\d,]+ statements/s\. The log takes about \d.* per second", run.said)
    # Where the server's log has seconds, too.
    times = statements(run.out)
    assert summary["capture"]["clock"] == "microsecond"
    assert len({round(1000 * at) for at in times}) > 20 * (times[-1] - times[0])
    assert {path.name for path in run.out.iterdir()} == {
        "statements.zst",
        "summary.json",
        "keep.json",
        "counters-before.json",
        "counters-after.json",
        "sessions.json",
        "variables.json",
    }
    assert stat.S_IMODE(run.out.stat().st_mode) == 0o700
    assert {stat.S_IMODE(path.stat().st_mode) for path in run.out.iterdir()} == {0o600}
    stored = json.loads((run.out / "variables.json").read_text())
    assert stored["before"]["long_query_time"] == stored["after"]["long_query_time"] == before["long_query_time"]


@pytest.mark.each_build
def test_sessions_are_armed_by_their_own_value_where_the_server_shows_it_else_by_their_number(server):
    threshold = values(server)["long_query_time"]
    old = [server.connect() for _ in range(3)]
    server.query("SET GLOBAL long_query_time = 0")
    new, ours = server.connect(), server.connect(user="dialin")

    def query(statement, arguments=()):
        with ours.cursor() as cursor:
            cursor.execute(statement, arguments or None)
            return list(cursor.fetchall())

    def count():
        return count_armed(query, server.build, armed_since=new.thread_id(), not_ours={ours.thread_id()})

    is_exact = has(server.build, Capability.VARIABLES_BY_THREAD)
    try:
        assert count() == ArmedSessions(4, tuple(sorted(each.thread_id() for each in old)), is_exact=is_exact)
        if is_exact:
            old[0]._execute_command(COM_RESET_CONNECTION, b"")  # what a pool sends: its session takes the new value
            old[0]._read_ok_packet()
            assert count().unarmed == 2
        old.pop().close()
        until(lambda: count().total == 3)
        assert count().unarmed == (1 if is_exact else 2)
    finally:
        for connection in (*old, new, ours):
            connection.close()
        server.query(f"SET GLOBAL long_query_time = {threshold}")


def test_sessions_that_stay_are_refused_by_the_slow_log_and_are_all_in_the_general_log(capture, fast, tmp_path):
    before = values(fast)
    with clients(fast, tmp_path / "clients"):
        run = capture(fast, "--arm", "1s")
        assert run.finish(code=2) is None
        assert "4 of 4 sessions" in run.said
        assert "--source general" in run.said
        assert values(fast) == before
        summary = capture(fast, "--source", "general", "--minutes", "0.03").finish()
    assert values(fast) == before
    assert left(fast) == []
    check_coverage(summary)
    assert summary["capture"]["clock"] == "microsecond"


WITHOUT_NUMBERS = [
    pytest.param(build, id=build.id) for build in INSTALLED if not has(build, Capability.SESSION_NUMBERS_IN_SLOW_LOG)
]


@pytest.mark.parametrize("build", WITHOUT_NUMBERS)
def test_a_slow_log_without_session_numbers_is_refused_before_anything_is_set(capture, build, tmp_path):
    with playground(build, PURPOSE) as old:
        prepare(old)
        before = values(old)
        refused = capture(old)
        assert refused.finish(code=2) is None
        assert "no session numbers" in refused.said
        assert "--source general" in refused.said
        assert values(old) == before
        with clients(old, tmp_path / "clients"):
            summary = capture(old, "--source", "general", "--minutes", "0.03").finish()
        assert values(old) == before
    assert summary["capture"]["lack"] is None
    assert summary["capture"]["statements"] > 10


KILLED = [
    pytest.param(lambda run, server: until(watchdogs), marks=only_with_all, id="before anything is set"),
    pytest.param(lambda run, server: run.until_said(ARMED), id="while sessions are waited for"),
    pytest.param(lambda run, server: until(lambda: is_switched_on(server)), marks=only_with_all, id="as the log goes on"),
    pytest.param(lambda run, server: until(lambda: is_logging(server)), id="while the log grows"),
]


@pytest.mark.parametrize("wait", KILLED)
def test_a_dialin_that_is_killed_leaves_nothing_and_its_log_is_off_at_once(capture, fast, tmp_path, wait, request, capsys):
    before = values(fast)
    arm = "5m" if "waited" in request.node.callspec.id else "0s"
    with clients(fast, tmp_path / "clients"):
        run = capture(fast, "--accept-unarmed", "--arm", arm, *(["--source", "general"] if arm == "0s" else []))
        wait(run, fast)
        kill(run.process.pid)
        killed = time.monotonic()
        until(lambda: values(fast) == before, every=0.02)
        took = time.monotonic() - killed
        until(lambda: not watchdogs())
    with capsys.disabled():
        sys.stdout.write(f"\nserver as before {took:.2f} s after kill -9 {request.node.callspec.id}\n")
    assert left(fast) == []
    assert not run.out.exists()


def test_the_next_command_removes_the_remains_when_dialin_and_its_watchdog_are_killed(capture, dialin, fast, tmp_path):
    before = values(fast)
    run = capture(fast)
    run.until_said(LOGGING)
    with clients(fast, tmp_path / "clients"):
        until(lambda: is_logging(fast))
        for pid in (*[dog.pid for dog in watchdogs()], run.process.pid):
            os.kill(pid, signal.SIGKILL)
        run.process.wait()
        assert is_switched_on(fast)
        assert logs_of_captures(fast)
        dialin("restore")
    assert values(fast) == before
    assert left(fast) == []


@pytest.mark.parametrize("sent", [signal.SIGTERM, pytest.param(signal.SIGINT, marks=only_with_all)])
def test_a_dialin_that_is_stopped_keeps_what_was_captured(capture, fast, tmp_path, sent):
    before = values(fast)
    run = capture(fast)
    run.until_said(LOGGING)
    with clients(fast, tmp_path / "clients"):
        until(lambda: is_logging(fast))
        run.process.send_signal(sent)
        summary = run.finish(code=130)
    assert "what was captured is kept" in run.said
    assert values(fast) == before
    assert left(fast) == []
    assert summary["capture"]["statements"] > 10


def test_a_log_ends_at_its_largest_size(capture, fast, tmp_path):
    run = capture(fast, "--max-size", "1M")
    run.until_said(LOGGING)
    with clients(fast, tmp_path / "clients", rate="1000"):
        summary = run.finish()
    assert "reached --max-size" in run.said
    assert 1 << 20 <= summary["log_bytes"] < 4 << 20
    check_coverage(summary)
    assert left(fast) == []


@only_with_all
def test_a_log_of_which_no_capture_can_be_made_is_kept_and_named(capture, fast, tmp_path):
    before = values(fast)
    run = capture(fast, "--minutes", "0.05")
    run.until_said(LOGGING)
    with clients(fast, tmp_path / "clients"):
        run.out.mkdir()
        assert run.process.wait(LIMIT) == 2
    (log,) = logs_of_captures(fast)
    assert f"The log is kept, with statements in clear text: dialin capture from {log}" in run.said
    assert values(fast) == before
    assert left(fast) == [log]
    log.unlink()


@only_with_all
def test_a_watchdog_that_is_killed_ends_the_capture(capture, fast, tmp_path):
    before = values(fast)
    run = capture(fast)
    run.until_said(LOGGING)
    with clients(fast, tmp_path / "clients"):
        until(lambda: is_logging(fast))
        (dog,) = watchdogs()
        dog.kill()
        run.finish()
    assert "watchdog of the capture was ended" in run.said
    assert values(fast) == before
    assert left(fast) == []


@only_with_all
def test_a_dialin_that_hangs_does_not_keep_the_log_on(capture, fast):
    before = values(fast)
    run = capture(fast, "--minutes", "0.02")
    run.until_said(LOGGING)
    run.process.send_signal(signal.SIGSTOP)
    until(lambda: values(fast) == before)
    run.process.send_signal(signal.SIGCONT)
    run.process.wait(LIMIT)
    assert values(fast) == before
    assert left(fast) == []


def test_a_slow_log_that_others_write_stays_theirs(capture, fast, tmp_path):
    theirs = fast.directory / "their-slow.log"
    fast.query(f"SET GLOBAL slow_query_log_file = '{theirs}'", "SET GLOBAL slow_query_log = ON")
    try:
        before, content = values(fast), theirs.read_text()
        run = capture(fast)
        run.finish(code=2)
        assert "would fill that log" in run.said
        run = capture(fast, "--minutes", "0.1", "--source", "slow")
        run.until_said(LOGGING)
        # Sessions that outlive the capture would write into their log.
        with traffic(fast, tmp_path / "clients", workload=ONE_LOAD, seconds=1) as short:
            short.process.wait(LIMIT)
        run.finish()
        assert values(fast) == before
        after = theirs.read_text()
        assert after.startswith(content)
        assert "sbtest" not in after
        assert left(fast) == []
    finally:
        fast.query("SET GLOBAL slow_query_log = OFF")


def test_impossible_captures_are_refused_and_nothing_is_changed(fast, refused, tmp_path):
    before = values(fast)
    account = ["--attach", "--defaults-file", option_file(fast, tmp_path / "account.cnf")]
    words = ["capture", "start", *account, "--out", tmp_path / "shop.capture", *LITTLE_FREE]
    fast.query("SET GLOBAL log_output = 'TABLE'")
    try:
        assert "log_output is TABLE" in refused(*words)
    finally:
        fast.query("SET GLOBAL log_output = 'FILE'")
    privilege = "SYSTEM_VARIABLES_ADMIN" if has(fast.build, Capability.PERSIST) else "SUPER"
    fast.query(f"REVOKE {privilege} ON *.* FROM dialin@localhost")
    try:
        assert privilege in refused(*words)
    finally:
        fast.query(f"GRANT {privilege} ON *.* TO dialin@localhost")
    assert "not on this machine" in refused(*words, "--log-dir", tmp_path / "nowhere")
    assert "would leave less than 900 TiB" in refused(*words[:-2], "--min-free", "900T")
    assert "no terminal is there to ask" in refused(*words)
    assert values(fast) == before
    assert left(fast) == []
