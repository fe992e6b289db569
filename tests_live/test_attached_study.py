"""Whole studies on a server that dialin did not start: it is as before, however they end, and its password is nowhere."""

import json
import signal
import time

import pytest

from dialin.paths import Home
from live import FAST, children, find, interrupt, kill, measuring, shown_of_processes, until
from playground import PASSWORD, SCHEMA, attached_sweep, option_file, playground


@pytest.fixture(scope="module")
def server():
    with playground(find(FAST)) as made:
        yield made


@pytest.fixture
def sweep(server, tmp_path):
    return attached_sweep(server, tmp_path)


def seen_with_the_load():
    """What can be seen of all processes while the load runs."""
    shown = shown_of_processes()
    return shown if "dialin-load run oltp" in shown or "sysbench oltp" in shown else None


def found_in(directory, secret):
    return [path for path in directory.rglob("*") if path.is_file() and secret in path.read_bytes()]


def test_a_study_that_is_stopped_twice_puts_its_server_back_and_does_not_go_on_on_another(dialin, server, sweep, tmp_path):
    before, out = server.variables(), dialin.directory / "study"
    process = dialin.start(*sweep, "--yes", "--out", out)
    measuring(out)
    process.send_signal(signal.SIGTERM)
    time.sleep(0.1)
    err = interrupt(process)
    assert process.returncode == 130
    assert server.variables() == before
    assert SCHEMA not in server.schemas()
    assert f"dialin resume {out}" in err
    with playground(find(FAST)) as other:
        before = other.variables()
        option_file(other, tmp_path / "account.cnf")
        _, err = dialin("resume", out, "--yes", code=2)
        assert "is not the server that the study started on" in err
        assert other.variables() == before


def test_a_study_whose_load_dies_in_every_trial_puts_the_server_back(dialin, server, sweep):
    before, out = server.variables(), dialin.directory / "study"
    process = dialin.start(*sweep, "--yes", "--out", out)
    while process.poll() is None:
        try:
            kill(until(lambda: children(process).get("load"), 5))
        except (AssertionError, OSError):
            continue
    _, err = process.communicate()
    assert process.returncode == 1, err
    assert "4 trials in a row could not be run: dialin-load was killed by SIGKILL. Resume it" in err
    assert server.variables() == before
    assert SCHEMA not in server.schemas()


def test_a_study_that_was_killed_is_undone_by_restore_goes_on_and_ends_with_the_server_as_it_was(dialin, server, sweep):
    before, out, home, secret = server.variables(), dialin.directory / "study", Home.of(), PASSWORD.encode()
    process = dialin.start(*sweep, "--minutes", "0.7", "--yes", "--out", out)
    measuring(out, position=2)
    assert PASSWORD not in until(seen_with_the_load)
    kill(process.pid)
    process.communicate()
    assert server.variables()["innodb_io_capacity"] in ("300", "3000")
    assert SCHEMA in server.schemas()
    _, err = dialin("restore")
    assert server.variables() == before
    assert SCHEMA not in server.schemas()
    assert "innodb_io_capacity: " in err
    assert found_in(home.root / "sandboxes", secret) == []
    _, err = dialin("restore")
    assert "nothing to restore" in err

    _, err = dialin("resume", out, code=2)
    assert "no terminal is there to ask" in err
    assert server.variables() == before
    text, err = dialin("resume", out, "--yes", "--json", code=dialin.any_code)
    verdict = json.loads(text)
    assert server.variables() == before
    assert SCHEMA not in server.schemas()
    assert "again, was" in err
    assert [candidate["in_force"]["innodb_io_capacity"] for candidate in verdict["candidates"]] == ["300", "3000"]
    assert sum(candidate["trials"] for candidate in verdict["candidates"]) > 1, "it went on"
    assert verdict["server"]["builds"][find(FAST).id]["origin"].startswith("attached: dialin at ")
    assert [path for place in (out, home.undo, home.ledger) for path in found_in(place, secret)] == []
    assert PASSWORD not in text + err
    assert json.dumps(PASSWORD)[1:-1] not in text + err


def test_the_plan_is_shown_and_nothing_is_done_where_nobody_agrees(refused, server, sweep):
    before = server.variables()
    err = refused(*sweep)
    assert "set innodb_io_capacity (now " in err
    assert f"make the schema {SCHEMA}" in err
    assert "--yes" in err
    assert server.variables() == before


def test_a_server_in_use_is_refused_unless_that_is_known(refused, server, sweep):
    other = server.connect()
    try:
        err = refused(*sweep, "--yes")
        assert "The server is in use: 1 other connection" in err
        assert "--i-know-it-is-live" in err
        err = refused(*sweep, "--i-know-it-is-live")
        assert "accepted with --i-know-it-is-live" in err
    finally:
        other.close()


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["sweep", "innodb_flush_method=fsync,O_DIRECT", "--attach"], "--apply-command"),
        (["sweep", "innodb_io_capacity=300,3000", "--attach", "--server", "mysql@9.7"], "cannot be combined"),
        (["sweep", "innodb_io_capacity=300,3000", "--attach", "--hold"], "--hold is for sandboxes"),
        (["sweep", "innodb_io_capacity=300,3000", "--restart-command", "true"], "--attach"),
        (["sweep", "innodb_io_capacity=300,3000", "--database", "mine"], "Add --attach"),
        (["sweep", "innodb_io_capacity=300,oops", "--attach"], "whole number"),
        (["sweep", "innodb_io_capacity=300,3000", "--attach", "--login-path", "nowhere"], "no login path"),
    ],
)
def test_impossible_studies_are_refused_in_one_line_before_anything_is_changed(refused, server, tmp_path, words, says):
    before = server.variables()
    file = option_file(server, tmp_path / "account.cnf")
    options = ["--defaults-file", file] if "--attach" in words else []
    assert says in refused(*words, *options, "--yes")
    assert server.variables() == before


def test_a_load_that_drains_its_table_finds_the_same_data_in_every_trial(dialin, server, sweep):
    before, out = server.variables(), dialin.directory / "study"
    drains = [*sweep, "--workload", "oltp_delete", "--yes", "--out", out]
    process = dialin.start(*drains)
    measuring(out, position=1)
    server.query(f"DELETE FROM {SCHEMA}.sbtest1")  # at the rate of a test the load alone would take minutes
    measuring(out, position=2)
    rows = server.query(f"SELECT COUNT(*) FROM {SCHEMA}.sbtest1")[0][0]
    interrupt(process)
    assert rows > 0.5 * 5000, "each trial began with 5000 rows"
    assert server.variables() == before
    assert SCHEMA not in server.schemas()


def test_a_load_that_drains_tables_of_somebody_is_refused(refused, server, sweep):
    err = refused(*sweep, "--workload", "oltp_delete", "--database", "mysql", "--yes")
    assert "changes how much data there is" in err
    assert "oltp_read_write" in err


def test_tables_that_are_missing_are_found_before_anything_is_changed(refused, server, sweep):
    before = server.variables()
    err = refused(*sweep, "--database", "nowhere", "--yes")
    assert "does not see the table sbtest1 (and 1 more of the load) in the schema nowhere" in err
    assert server.variables() == before
