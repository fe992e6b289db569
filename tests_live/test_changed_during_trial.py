"""Studies whose variable somebody else sets while a trial runs, on attached servers and on sandboxes."""

import json
import shlex
import socket
import subprocess
import threading
from contextlib import contextmanager

import pymysql
import pytest

from dialin.model.trial import TrialState
from dialin.paths import Home
from dialin.servers.ledger import Ledger
from dialin.store.store import Store
from live import EASY, FAST, MYSQL, find, kill, measuring, only_with_all, until
from playground import command_that_restarts, option_file, playground

CAPACITY, THEIRS = "innodb_io_capacity", "777"
SWEEP = ["sweep", f"{CAPACITY}=300,600", "--tables", "2", "--table-size", "5000", "--threads", "4", "--yes"]
SWEEP += ["--measure", "3", "--warmup", "1", "--minutes", "2", "--worthwhile", "100%", *EASY]


@pytest.fixture(scope="module")
def server():
    with playground(find(MYSQL)) as made:
        yield made


@pytest.fixture
def attached(server, tmp_path):
    file = option_file(server, tmp_path / "account.cnf")
    yield [*SWEEP, "--attach", "--defaults-file", file]
    server.query(f"SET GLOBAL {CAPACITY} = DEFAULT")


def set_it(connect, value=THEIRS):
    connection = connect()
    try:
        with connection.cursor() as cursor:
            cursor.execute(f"SET GLOBAL {CAPACITY} = {value}")
    finally:
        connection.close()


@contextmanager
def setting_it_all_the_time(connect):
    """A second client that sets the variable many times a second; a server that is gone for a while is waited for."""
    ended = threading.Event()

    def keep_setting():
        while not ended.wait(0.05):
            try:
                set_it(connect)
            except (pymysql.MySQLError, OSError, LookupError):
                continue

    thread = threading.Thread(target=keep_setting)
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join()


def sandbox_of(process):
    """Connects to the sandbox that a running dialin has now."""

    def connect():
        sockets = [entry.socket for entry in Ledger(Home.of().ledger).entries() if entry.owner == process.pid and entry.socket]
        return pymysql.connect(unix_socket=sockets[-1], user="root", autocommit=True)

    return connect


def finish(process):
    out, err = process.communicate(timeout=400)
    return process.returncode, out, err


def check_discarded_and_run_again(out, verdict, err):
    """One trial was discarded and said; it was repeated, and every candidate was measured with its own value."""
    with Store.open(out) as store:
        record = store.read()
    (discarded,) = [trial for trial in record.trials if trial.is_disturbed]
    (change,) = [change for change in discarded.changes if change.under_test]
    assert discarded.state is TrialState.INTERRUPTED
    assert discarded.failure is None
    assert (change.variable, change.after) == (CAPACITY, THEIRS)
    again = [
        trial
        for trial in record.trials
        if (trial.block, trial.candidate) == (discarded.block, discarded.candidate) and trial.state is TrialState.DONE
    ]
    assert len(again) == 1
    says = f"Trial {discarded.id} ({discarded.candidate}) is discarded and run again"
    assert says in err
    assert any(says in line.text and THEIRS in line.text for line in record.log)
    (note,) = [note for note in verdict["warnings"] if note["code"] == "changed_during_trial" and note["data"]["under_test"]]
    assert note["data"]["variable"] == CAPACITY
    assert note["data"]["trials"] == [discarded.id]
    assert note["data"]["values"] == [[change.before, THEIRS]]
    assert [candidate["in_force"][CAPACITY] for candidate in verdict["candidates"]] == ["300", "600"]
    assert [candidate["failed"] for candidate in verdict["candidates"]] == [0, 0]
    assert {trial.in_force[CAPACITY] for trial in record.trials if trial.state is TrialState.DONE} == {"300", "600"}


def check_given_up(out, code, err):
    """The study stopped, said who keeps what from being measured, and no trial with a foreign value counts."""
    assert code == 1, err
    assert f"Somebody else keeps changing {CAPACITY}" in err
    assert THEIRS in err
    assert f"dialin resume {out}" in err
    assert "Traceback" not in err
    with Store.open(out) as store:
        trials = store.trials()
    assert [trial.state for trial in trials if trial.is_disturbed][-2:] == [TrialState.INTERRUPTED] * 2
    done = [trial for trial in trials if trial.state is TrialState.DONE]
    assert all(trial.in_force[CAPACITY] == trial.candidate for trial in done)


def test_attached_a_variable_that_is_set_once_costs_one_trial(dialin, server, attached):
    before, out = server.variables(), dialin.directory / "study"
    process = dialin.start(*attached, "--json", "--out", out)
    measuring(out)
    set_it(server.connect)
    code, text, err = finish(process)
    assert code in (0, 1), err
    check_discarded_and_run_again(out, json.loads(text), err)
    assert server.variables() == before


def test_attached_who_keeps_setting_the_variable_ends_the_study_and_keeps_the_value(dialin, server, attached):
    before, out = server.variables(), dialin.directory / "study"
    process = dialin.start(*attached, "--out", out)
    measuring(out)
    with setting_it_all_the_time(server.connect):
        code, _, err = finish(process)
    check_given_up(out, code, err)
    assert f"{CAPACITY}: left at {THEIRS}" in err
    assert server.variables() == {**before, CAPACITY: THEIRS}

    text, err = dialin("resume", out, "--yes", "--minutes", "1", "--json", code=dialin.any_code)
    assert [candidate["in_force"][CAPACITY] for candidate in json.loads(text)["candidates"]] == ["300", "600"]
    assert server.variables() == {**before, CAPACITY: THEIRS}


@pytest.mark.parametrize("theirs", ["300", "600"])
def test_after_a_crash_restore_leaves_what_somebody_else_set_though_it_is_a_value_of_another_candidate(
    dialin, server, attached, theirs
):
    before, out = server.variables(), dialin.directory / "study"
    process = dialin.start(*attached, "--out", out)
    trial = measuring(out, position=2)
    kill(process.pid)
    process.communicate()
    set_it(server.connect, theirs)
    _, err = dialin("restore")
    if theirs == trial.candidate:  # what dialin set last cannot be told from it
        assert server.variables() == before
    else:
        assert f"{CAPACITY}: left at {theirs}, which dialin did not set" in err
        assert server.variables() == {**before, CAPACITY: theirs}


def restart(server, command):
    """Restart a server as its DBA does, and wait until it accepts connections."""

    def accepts():
        with socket.socket(socket.AF_UNIX) as client:
            return client.connect_ex(server.entry.socket) == 0

    subprocess.run(shlex.split(command), check=True)
    until(accepts)


BACK_LOG = ["sweep", "back_log=70,80", *SWEEP[2:]]


@pytest.fixture
def restarted(server, tmp_path):
    file = option_file(server, tmp_path / "account.cnf")
    command = command_that_restarts(server, tmp_path)
    yield [*BACK_LOG, "--attach", "--defaults-file", file, "--restart-command", command]
    server.query("RESET PERSIST")
    restart(server, command)


def test_attached_and_restarted_a_value_that_somebody_else_persists_once_costs_one_trial(dialin, server, restarted):
    before, out = server.variables(), dialin.directory / "study"
    process = dialin.start(*restarted, "--json", "--out", out)
    measuring(out)
    server.query("SET PERSIST_ONLY back_log = 99")
    code, text, err = finish(process)
    assert code in (0, 1), err
    with Store.open(out) as store:
        record = store.read()
    (discarded,) = [trial for trial in record.trials if trial.is_disturbed]
    assert [(change.variable, change.after) for change in discarded.changes if change.under_test] == [("back_log", "99")]
    assert f"Trial {discarded.id} ({discarded.candidate}) is discarded and run again" in err
    assert {trial.in_force["back_log"] for trial in record.trials if trial.state is TrialState.DONE} == {"70", "80"}
    (note,) = [note for note in json.loads(text)["warnings"] if note["code"] == "changed_during_trial"]
    assert note["data"]["variable"] == "back_log"
    assert server.variables() == before


def test_attached_and_restarted_what_is_persisted_at_the_end_by_somebody_else_stays(dialin, server, restarted):
    out = dialin.directory / "study"
    process = dialin.start(*restarted, "--out", out)
    measuring(out)
    kill(process.pid)
    process.communicate()
    server.query("SET PERSIST_ONLY back_log = 99")
    _, err = dialin("restore", "--restart-command", restarted[-1])
    assert "back_log: left persisted as 99, which dialin did not do; it was not persisted before" in err
    assert server.variables()["back_log"] == "99"


def test_a_study_that_was_killed_is_restored_without_a_restart_and_says_what_stays_in_force(dialin, server, restarted):
    out = dialin.directory / "study"
    process = dialin.start(*restarted, "--out", out)
    trial = measuring(out)
    server.query("SET PERSIST_ONLY back_log = 99")
    kill(process.pid)
    process.communicate()
    _, err = dialin("restore")
    assert "back_log: left persisted as 99, which dialin did not do; it was not persisted before" in err
    assert (
        f"back_log: {trial.candidate} from the study is in force until the server is restarted; it then starts with 99" in err
    )
    assert server.variables()["back_log"] == trial.candidate
    assert "nothing to restore" in dialin("restore")[1]


def test_a_study_that_was_killed_stays_written_down_where_the_next_start_alone_puts_the_server_back(dialin, server, restarted):
    before, out = server.variables(), dialin.directory / "study"
    process = dialin.start(*restarted, "--out", out)
    trial = measuring(out)
    server.query("RESET PERSIST back_log")
    kill(process.pid)
    process.communicate()
    _, err = dialin("restore", code=3)
    assert f"back_log is {trial.candidate} and was {before['back_log']}, until the server is restarted" in err
    restart(server, restarted[-1])
    dialin("restore")
    assert server.variables() == before
    assert "nothing to restore" in dialin("restore")[1]


@pytest.mark.parametrize("switch", ["set", pytest.param("restart", marks=only_with_all)])
def test_in_a_sandbox_a_variable_that_is_set_once_costs_one_trial(dialin, switch):
    out = dialin.directory / "study"
    process = dialin.start(*SWEEP, "--server", FAST, "--switch", switch, "--json", "--out", out)
    measuring(out)
    set_it(sandbox_of(process))
    code, text, err = finish(process)
    assert code in (0, 1), err
    check_discarded_and_run_again(out, json.loads(text), err)


@pytest.mark.parametrize("switch", ["set", "restart"])
def test_in_a_sandbox_who_keeps_setting_the_variable_ends_the_study(dialin, switch):
    out = dialin.directory / "study"
    process = dialin.start(*SWEEP, "--server", FAST, "--switch", switch, "--out", out)
    measuring(out)
    with setting_it_all_the_time(sandbox_of(process)):
        code, _, err = finish(process)
    check_given_up(out, code, err)
