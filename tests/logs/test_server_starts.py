"""Repeats that one start of a server may have served: seen in uptimes, scripts and times, allowed for where nothing shows."""

import os

import pytest

from dialin.logs.analyze_runs import analyze
from dialin.logs.assignment import AssignmentRule
from dialin.logs.beside_logs import read_beside
from dialin.logs.judgement import Request
from dialin.logs.log_folder import load
from dialin.logs.run_scripts import restarts_between
from dialin.model.analysis import Starts
from dialin.model.verdict import Outcome
from fixtures.analyses import BY, codes, repeated, text
from fixtures.sysbench_logs import csv, series, write

LOGS = repeated({8: 1000, 32: 1100})
NO_RESTART = """#!/bin/bash
echo "starting"
systemctl restart mysqld
for run in 1 2 3; do
  for t in 8 16; do
    sysbench oltp_read_write.lua --threads=$t \\
      --time=200 run | tee r$run.log   # restart here?
  done
done
"""
IN_FUNCTIONS = """restart_server() {
  mysqladmin shutdown
  mysqld_safe --defaults-file=my.cnf &
}
bench() { sysbench oltp --threads=$1 run > x.log; }
one_pass() {
  for t in 1 2 4; do
    bench $t
  done
}
for ((i=1; i<=3; i++)); do restart_server; one_pass; done
"""


def judged(directory, **asked):
    folder = load([directory])
    beside = read_beside({run.name: run.path for run in folder.runs}, [directory])
    return analyze(folder, Request(rule=AssignmentRule(by=BY), **asked), beside)


def states(analysis):
    return [one.starts for one in analysis.candidates]


@pytest.mark.parametrize(
    ("script", "restarts"),
    [
        (NO_RESTART, False),
        (NO_RESTART.replace("  for t", "  systemctl restart mysqld\n  for t"), True),
        (IN_FUNCTIONS, True),
        (IN_FUNCTIONS.replace("restart_server; one_pass", "one_pass"), False),
        ("for t in 8 16 32; do sysbench oltp --threads=$t run; done\n", None),
        ("sysbench oltp run\n", None),
        ("for i in 1 2 3\ndo\n docker restart db && sysbench x run\ndone\n", True),
        ("for i in $(seq 3); do sysbench x run; done", False),
        ("done\n}\n{ ;; \n" * 3, None),
    ],
)
def test_a_script_shows_whether_the_server_is_restarted_for_each_repeat(script, restarts):
    assert restarts_between(script) is restarts


REPEATS = "for run in 1 2 3; do\n  {}\n  sysbench oltp --time=60 run > r$run.log\ndone\n"


@pytest.mark.parametrize(
    ("command", "restarts"),
    [
        ("pidstat -C mysqld 1 200 &", False),
        ("systemctl start node_exporter", False),
        ("systemctl start mysqld_exporter", None),
        ("perf record -p $(pidof mysqld) &", False),
        ("PID=$(pgrep mysqld); ps aux | grep mysqld", False),
        ('mysql -e "FLUSH STATUS; SHOW VARIABLES"', False),
        ("echo restart mysql", False),
        ("if [ $run = 1 ]; then mysqladmin ping; fi", False),
        ("n=$((n+1)); export X=$n", False),
        ("mysql <<EOF\nanything here\nEOF", False),
        ('mysql <<< "x"\n./other.sh\nx', None),
        ("mysqld --initialize-insecure", False),
        ("killall mysqld", None),
        ("mysqladmin shutdown", None),
        ("start_monitoring", None),
        ("./start_dstat.sh", None),
        ("bash prepare.sh", None),
        ("$RESTART", None),
        ('"${PREPARE}" now', None),
        ("ssh host reboot", None),
        ("reset_everything", None),
        ("sudo systemctl restart mysql", True),
        ("if ! systemctl restart mariadb; then exit 1; fi", True),
        ("service mysql start", True),
        ("/etc/init.d/mysql restart", True),
        ('sudo -u mysql nohup "$HOME/bin/mysqld" --user=mysql &', True),
        ("env LD_PRELOAD=/x.so /usr/sbin/mariadbd &", True),
        ("LD_PRELOAD=/x.so mysqld_safe &", True),
        ("ssh db1 'systemctl stop mysqld; systemctl start mysqld'", True),
        ("./restart_server.sh", True),
        ("start_mysqld my.cnf", True),
        ("docker run -d mysql:8.4", True),
    ],
)
def test_only_a_command_that_starts_a_server_counts_and_one_that_hides_what_it_does_proves_nothing(command, restarts):
    assert restarts_between(REPEATS.format(command)) is restarts


def test_functions_are_read_wherever_the_script_defines_them():
    script = "all() {\n for run in 1 2 3; do again; sysbench x run; done\n}\nagain() {\n mysqld_safe &\n}\nall\n"
    assert restarts_between(script) is True
    assert restarts_between(script.replace("mysqld_safe &", "sleep 5")) is False
    assert restarts_between(script.replace("mysqld_safe &", "./other.sh")) is None


@pytest.mark.parametrize(("script", "state"), [(NO_RESTART, Starts.SHARED), (IN_FUNCTIONS, Starts.SEPARATE)])
def test_a_run_script_decides_whether_repeats_count(tmp_path, script, state):
    found = judged(write(tmp_path / "a", **LOGS, bench__sh=script))
    assert states(found) == [state, state]
    assert found.winners == ([] if state is Starts.SHARED else ["32"])
    if state is Starts.SHARED:
        assert "By its run script, the server of 8 started once for 3 runs" in text(found.confounds[:1], "shared_start")
        assert found.candidates[1].ratio.low is None


@pytest.mark.parametrize(
    ("uptimes", "state"),
    [((300, 510, 730), Starts.SHARED), ((230, 231, 240), Starts.SEPARATE), ((230, 231, 500), Starts.SHARED)],
)
def test_uptimes_that_grow_by_the_length_of_a_run_are_those_of_one_start(tmp_path, uptimes, state):
    beside = {
        f"bpi{value}-r{run}.status.txt": f"Threads_running\t3\nUptime\t{uptime}\nUptime_since_flush_status\t9\n"
        for value in (8, 32)
        for run, uptime in enumerate(uptimes)
    }
    directory = write(tmp_path / "a", **LOGS, **beside)
    for listing in directory.glob("*.status.txt"):
        uptime = int(listing.read_text().split()[3])
        started = 1_700_000_000 + (10_000 if uptime == 230 else 20_000 if uptime == 240 else 0)
        os.utime(listing, (started + uptime, started + uptime))
    found = judged(directory)
    assert states(found) == [state, state]
    starts = {note.data["starts"] for note in found.confounds if note.code == "shared_start"}
    assert starts == ({1 if uptimes[0] == 300 else 2} if state is Starts.SHARED else set())


def test_uptimes_that_grow_but_began_at_other_moments_show_nothing(tmp_path):
    beside = {f"bpi{value}-r{run}.status.txt": f"Uptime\t{300 + 300 * run}\n" for value in (8, 32) for run in range(3)}
    directory = write(tmp_path / "a", **LOGS, **beside)
    for listing in directory.glob("*.status.txt"):
        os.utime(listing, (1_700_000_000, 1_700_000_000))
    assert states(judged(directory)) == [Starts.UNKNOWN] * 2


def test_one_listing_beside_the_runs_of_all_candidates_has_to_cover_all_of_them(tmp_path):
    for uptime, state in ((4000, Starts.SHARED), (700, Starts.UNKNOWN)):
        directory = write(tmp_path / str(uptime), **LOGS, status__txt=f"Uptime\t{uptime}\n")
        assert states(judged(directory)) == [state] * 2


def test_the_word_of_the_user_counts_before_a_run_script_and_the_contradiction_is_said(tmp_path):
    directory = write(tmp_path / "a", **LOGS, bench__sh=NO_RESTART)
    found = judged(directory, restarted=True)
    assert states(found) == [Starts.SEPARATE] * 2
    assert found.winners == ["32"]
    assert "although by the run script, one start served several" in text(found.warnings, "restarts_contradicted")
    assert "restarts_contradicted" not in codes(judged(directory).warnings)


def test_an_error_log_counts_before_the_word_of_the_user_and_says_how_often_the_server_started(tmp_path):
    ready = "2026-01-01T00:00:00Z 0 [System] [MY-010931] mysqld: ready for connections. Version: '8.4.0' port: 3306\n"
    logs = {f"{name.partition('-')[0]}/{name}": log for name, log in LOGS.items()}
    errors = {f"{place}/error.log": ready * 2 for place in ("bpi8", "bpi32")}
    found = judged(write(tmp_path / "a", **logs, **errors), restarted=True)
    assert states(found) == [Starts.SHARED] * 2
    assert "the server of 8 started 2 times for 3 runs" in text(found.confounds[:1], "shared_start")
    assert {note.data["starts"] for note in found.confounds if note.code == "shared_start"} == {2}


def test_one_status_listing_beside_all_runs_shows_one_start_where_its_uptime_covers_them(tmp_path):
    logs = {f"{name.partition('-')[0]}/{name}": log for name, log in LOGS.items()}
    table = "+--+--+\n| Uptime | {} |\n+--+--+\n"
    found = judged(
        write(tmp_path / "a", **logs, **{"bpi8/status.txt": table.format(4000), "bpi32/status.txt": table.format(300)})
    )
    assert states(found) == [Starts.SHARED, Starts.UNKNOWN]
    assert found.winners == []


@pytest.mark.parametrize(("pause", "state"), [(1, Starts.SHARED), (20, Starts.UNKNOWN), (-100, Starts.UNKNOWN)])
def test_files_written_without_a_pause_are_runs_of_one_start(tmp_path, pause, state):
    directory, at = write(tmp_path / "a", **LOGS), 1_700_000_000
    for place, name in enumerate(LOGS):
        at += 200 + (300 if place == 3 else pause)
        os.utime(directory / name, (at, at))
    found = judged(directory)
    assert states(found) == [state, state]
    barred = "one_after_the_other" in codes(found.confounds)
    assert barred == (pause == 20), "times of files are dates of runs, unless they overlap"


def test_where_nothing_shows_the_starts_the_interval_allows_for_them_and_the_verdict_says_so(tmp_path):
    directory = write(tmp_path / "a", **LOGS)
    found, trusted = judged(directory), judged(directory, restarted=True)
    assert states(found) == [Starts.UNKNOWN] * 2
    assert states(trusted) == [Starts.SEPARATE] * 2
    assert codes(found.assumptions) == ["starts_unknown", "hosts_unknown", "order_unknown"]
    assert codes(trusted.assumptions) == ["hosts_unknown", "order_unknown"]
    wide, narrow = found.candidates[1].ratio, trusted.candidates[1].ratio
    assert wide.low < narrow.low < narrow.high < wide.high
    assert wide.low < narrow.mean / 1.04, "starts of equal servers differ by so much"
    small = write(tmp_path / "b", **repeated({8: 1000, 32: 1035}, cv=0.01))
    assert judged(small).verdict is Outcome.INCONCLUSIVE
    assert judged(small, restarted=True).winners == ["32"]


@pytest.mark.parametrize(
    ("hosts", "is_barred"),
    [(("db1", "db2"), True), (("db1", "db1"), False), (("4f0c2ab9d1e7", "9d1e74f0c2ab"), False)],
)
def test_candidates_on_different_hosts_have_no_winner(tmp_path, hosts, is_barred):
    logs = {
        f"bpi{value}/r{run}.log": csv(series(level, seed=value + run))
        for value, level in ((8, 1000), (32, 1100))
        for run in range(3)
    }
    listings = {
        f"bpi{value}/variables.txt": f"hostname\t{host}\nmax_connections\t100\nversion\t8.4.0\nport\t3306\n"
        for value, host in zip((8, 32), hosts, strict=True)
    }
    found = judged(write(tmp_path / "a", **logs, **listings))
    assert (found.winners == []) == is_barred
    assert ("on_other_hosts" in codes(found.confounds)) == is_barred
    if is_barred:
        assert "(32 and 8)" in text(found.confounds, "on_other_hosts") or "(8 and 32)" in text(
            found.confounds, "on_other_hosts"
        )
        assert "candidates ran on different hosts" in found.headline


def test_a_number_that_looks_like_a_day_that_no_month_has_is_no_moment(tmp_path):
    logs = {f"{name.removesuffix('.log')}_run_2026023{run}_101010.log": log for run, (name, log) in enumerate(LOGS.items())}
    assert states(judged(write(tmp_path / "a", **logs))) == [Starts.UNKNOWN] * 2


CALLS = "\n".join(f"f{number}() {{ f{number + 1}; f{number + 1}; }}" for number in range(40))
HOSTILE = {
    "calls": f"{CALLS}\nfor r in 1 2 3; do f0; sysbench x run; done\n",
    "calls of each other": "\n".join(f"f{number}() {{ f{number + 1}; }}" for number in range(3000)) + "\nf0\n",
    "documents": "cat <<END\n" * 20_000,
    "brackets": "((" * 100_000,
    "words": "docker run " * 20_000,
    "loads": "sysbench " * 25_000,
    "long": "x\n" * 300_000,
}


@pytest.mark.parametrize("script", HOSTILE.values(), ids=HOSTILE)
def test_a_script_that_was_written_to_take_for_ever_says_nothing_soon(script):
    assert restarts_between(script) in (None, False)


def test_what_a_script_feeds_to_a_program_is_no_command_of_its_own():
    fed = "for r in 1 2 3; do\n  mysql <<END | cat\nmysqld &\nEND\n  sysbench x run\ndone\n"
    assert restarts_between(fed) is False
    assert restarts_between(fed.replace("END\n  sysbench", "NOEND\n  sysbench")) is True, "the document has no end"
