"""Captures of running servers under clients that dialin was not told about: complete, and the server as it was at the end."""

import io
import json
import os
import re
import signal
import stat
from contextlib import suppress
from pathlib import Path

import psutil
import pytest
import zstandard

from dialin.paths import Home
from dialin.variables import rules
from driving import needs_dialin_load
from live import FAST, INSTALLED, find, finish, kill, until
from live_traffic import prepare, traffic
from playground import option_file, playground

pytestmark = needs_dialin_load

DOCUMENT = Path(__file__).parent.parent / "docs" / "capture.md"
BUILDS = [pytest.param(build, id=build.id) for build in INSTALLED if build.version >= (5, 6)]
START = ["capture", "start", "--attach", "--yes"]
ONE_LOAD = "oltp_point_select"
"""A load without BEGIN, which the slow log of MySQL 5.6 leaves out where it takes less than a microsecond."""


@pytest.fixture(scope="module", params=BUILDS)
def server(request):
    with playground(request.param, DOCUMENT, "--set", "performance_schema=ON") as made:
        prepare(made)
        yield made


@pytest.fixture(scope="module")
def fast():
    with playground(find(FAST), DOCUMENT, "--set", "performance_schema=ON") as made:
        prepare(made)
        yield made


def account(server, directory):
    return ["--defaults-file", option_file(server, directory / "account.cnf")]


def clients(server, path, rate="3000"):
    return traffic(server, path, workload=ONE_LOAD, rate=rate)


def logs_of_captures(server):
    return list(Path(values(server)["datadir"]).glob("dialin-capture-*"))


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
    return values(server)[name]


def is_armed(server):
    return float(value(server, "long_query_time")) == 0


def is_logging(server):
    return any(path.stat().st_size > 10_000 for path in logs_of_captures(server))


def statements(directory):
    """The time of each statement of a capture."""
    with (directory / "statements.zst").open("rb") as file:
        text = zstandard.ZstdDecompressor().stream_reader(file, read_across_frames=True)
        lines = io.TextIOWrapper(text, encoding="latin-1")
        return [float(line.split()[2]) for line in lines if re.match(r"S \d+ \d+\.\d{6} ", line)]


def test_sessions_that_begin_anew_are_captured_whole_and_the_server_is_as_it_was(dialin, server, tmp_path):
    before = values(server)
    out = tmp_path / "shop.capture"
    with clients(server, tmp_path / "old clients"):
        process = dialin.start(*START, *account(server, tmp_path), "--minutes", "0.05", "--arm", "5m", "--out", out)
        until(lambda: is_armed(server))
    assert process.poll() is None  # it waits for sessions that are gone now
    with clients(server, tmp_path / "new clients"):
        code, _, err = finish(process)
    assert code == 0, err
    assert values(server) == before
    assert left(server) == []
    summary = json.loads((out / "summary.json").read_text())
    coverage = summary["coverage"]
    assert 0.998 <= coverage["logged"] / coverage["questions"] <= 1.002, coverage
    assert coverage["questions"] > 1000
    load = next(digest for digest in summary["digests"] if "sbtest" in digest["digest"])
    assert load["statements"] > 1000
    if load["counted"] is not None:
        assert load["logged"] == pytest.approx(load["counted"], rel=0.002)
    assert f"Coverage {100 * coverage['logged'] / coverage['questions']:.2f} %" in err
    assert re.search(r"Load now: [\d,]+ statements/s\. The log takes about \d.* per second", err)
    # Where the server's log has seconds, too.
    times = statements(out)
    assert summary["capture"]["clock"] == "microsecond"
    assert len({round(1000 * at) for at in times}) > len(times) / 6
    assert {path.name for path in out.iterdir()} == {
        "statements.zst",
        "summary.json",
        "keep.json",
        "counters-before.json",
        "counters-after.json",
        "variables.json",
    }
    assert stat.S_IMODE(out.stat().st_mode) == 0o700
    assert {stat.S_IMODE(path.stat().st_mode) for path in out.iterdir()} == {0o600}
    stored = json.loads((out / "variables.json").read_text())
    assert stored["before"]["long_query_time"] == stored["after"]["long_query_time"] == before["long_query_time"]


def test_sessions_that_stay_are_refused_by_the_slow_log_and_are_all_in_the_general_log(dialin, fast, tmp_path):
    before = values(fast)
    words = [*START, *account(fast, tmp_path), "--minutes", "0.03"]
    with clients(fast, tmp_path / "clients"):
        _, err = dialin(*words, "--arm", "1s", "--out", tmp_path / "slow.capture", code=2)
        assert "4 of 4 sessions" in err
        assert "--source general" in err
        assert values(fast) == before
        dialin(*words, "--source", "general", "--out", tmp_path / "general.capture")
    assert values(fast) == before
    assert left(fast) == []
    assert not (tmp_path / "slow.capture").exists()
    summary = json.loads((tmp_path / "general.capture" / "summary.json").read_text())
    coverage = summary["coverage"]
    assert 0.998 <= coverage["logged"] / coverage["questions"] <= 1.002, coverage
    assert summary["capture"]["clock"] == "microsecond"


WHEN = {
    "before anything is set": lambda server: watchdogs(),
    "while sessions are waited for": is_armed,
    "as the log is switched on": lambda server: value(server, "slow_query_log") == "ON",
    "while the log grows": is_logging,
}


@pytest.mark.parametrize("when", WHEN)
def test_a_dialin_that_is_killed_leaves_nothing_and_its_log_is_off_at_once(dialin, fast, tmp_path, when):
    before = values(fast)
    arm = "5m" if "waited" in when else "0s"
    words = [*START, *account(fast, tmp_path), "--accept-unarmed", "--arm", arm, "--out", tmp_path / "shop.capture"]
    with clients(fast, tmp_path / "clients", rate="500"):
        process = dialin.start(*words)
        until(lambda: WHEN[when](fast), every=0.005)
        kill(process.pid)
        until(lambda: values(fast) == before, every=0.02)
        until(lambda: not watchdogs())
    process.communicate()
    assert left(fast) == []
    assert not (tmp_path / "shop.capture").exists()


def test_what_both_leave_when_both_are_killed_the_next_command_removes(dialin, fast, tmp_path):
    before = values(fast)
    words = [*START, *account(fast, tmp_path), "--accept-unarmed", "--arm", "0s", "--out", tmp_path / "shop.capture"]
    with clients(fast, tmp_path / "clients", rate="500"):
        process = dialin.start(*words)
        until(lambda: is_logging(fast))
        (dog,) = watchdogs()
        for pid in (dog.pid, process.pid):
            os.kill(pid, signal.SIGKILL)
        process.communicate()
        assert value(fast, "slow_query_log") == "ON"
        assert logs_of_captures(fast)
        dialin("restore")
    assert values(fast) == before
    assert left(fast) == []


@pytest.mark.parametrize("sent", [signal.SIGTERM, signal.SIGINT])
def test_a_dialin_that_is_stopped_keeps_what_was_captured(dialin, fast, tmp_path, sent):
    before = values(fast)
    words = [*START, *account(fast, tmp_path), "--accept-unarmed", "--arm", "0s", "--out", tmp_path / "shop.capture"]
    process = dialin.start(*words)
    until(lambda: logs_of_captures(fast))
    with clients(fast, tmp_path / "clients"):
        until(lambda: is_logging(fast))
        process.send_signal(sent)
        code, _, err = finish(process)
    assert code == 130, err
    assert "what was captured is kept" in err
    assert values(fast) == before
    assert left(fast) == []
    assert json.loads((tmp_path / "shop.capture" / "summary.json").read_text())["capture"]["statements"] > 10


def test_a_log_ends_at_its_largest_size(dialin, fast, tmp_path):
    words = [*START, *account(fast, tmp_path), "--arm", "5s", "--max-size", "1M", "--out", tmp_path / "shop.capture"]
    process = dialin.start(*words)
    until(lambda: logs_of_captures(fast))
    with clients(fast, tmp_path / "clients"):
        code, _, err = finish(process)
    assert code == 0, err
    assert "reached --max-size" in err
    summary = json.loads((tmp_path / "shop.capture" / "summary.json").read_text())
    assert 1 << 20 <= summary["log_bytes"] < 4 << 20
    coverage = summary["coverage"]
    assert 0.995 <= coverage["logged"] / coverage["questions"] <= 1.005, coverage
    assert left(fast) == []


def test_a_watchdog_that_is_killed_ends_the_capture(dialin, fast, tmp_path):
    before = values(fast)
    words = [*START, *account(fast, tmp_path), "--arm", "5s", "--out", tmp_path / "shop.capture"]
    process = dialin.start(*words)
    until(lambda: logs_of_captures(fast))
    with clients(fast, tmp_path / "clients"):
        until(lambda: is_logging(fast))
        (dog,) = watchdogs()
        dog.kill()
        code, _, err = finish(process)
    assert code == 0, err
    assert "watchdog of the capture was ended" in err
    assert values(fast) == before
    assert left(fast) == []


def test_a_dialin_that_hangs_does_not_keep_the_log_on(dialin, fast, tmp_path):
    before = values(fast)
    words = [*START, *account(fast, tmp_path), "--arm", "5s", "--minutes", "0.02", "--out", tmp_path / "shop.capture"]
    process = dialin.start(*words)
    until(lambda: value(fast, "slow_query_log") == "ON", every=0.01)
    process.send_signal(signal.SIGSTOP)
    until(lambda: values(fast) == before)
    process.send_signal(signal.SIGCONT)
    code, _, err = finish(process)
    assert code in (0, 2), err  # 2: it was stopped before the log had anything
    assert values(fast) == before
    assert left(fast) == []


def test_a_slow_log_that_others_write_stays_theirs(dialin, fast, tmp_path):
    theirs = fast.directory / "their-slow.log"
    fast.query(f"SET GLOBAL slow_query_log_file = '{theirs}'", "SET GLOBAL slow_query_log = ON")
    try:
        before, content = values(fast), theirs.read_text()
        words = [*START, *account(fast, tmp_path), "--minutes", "0.03", "--arm", "5s", "--out", tmp_path / "shop.capture"]
        _, err = dialin(*words, code=2)
        assert "would fill that log" in err
        process = dialin.start(*words, "--source", "slow")
        until(lambda: logs_of_captures(fast))
        with clients(fast, tmp_path / "clients", rate="500"):
            code, _, err = finish(process)
        assert code == 0, err
        assert values(fast) == before
        after = theirs.read_text()
        assert after.startswith(content)
        # The server writes its three lines again; the sessions of the capture are gone by then.
        assert left(fast) == []
    finally:
        fast.query("SET GLOBAL slow_query_log = OFF")


def test_what_cannot_be_captured_is_refused_and_nothing_is_changed(fast, refused, tmp_path):
    before = values(fast)
    words = [*START, *account(fast, tmp_path), "--out", tmp_path / "shop.capture"]
    fast.query("SET GLOBAL log_output = 'TABLE'")
    try:
        assert "log_output is TABLE" in refused(*words)
    finally:
        fast.query("SET GLOBAL log_output = 'FILE'")
    fast.query("REVOKE SUPER ON *.* FROM dialin@localhost")
    try:
        assert "SUPER" in refused(*words)
    finally:
        fast.query("GRANT SUPER ON *.* TO dialin@localhost")
    assert "no terminal is there to ask" in refused(*[word for word in words if word != "--yes"])
    assert "not on this machine" in refused(*words, "--log-dir", tmp_path / "nowhere")
    assert values(fast) == before
    assert left(fast) == []
