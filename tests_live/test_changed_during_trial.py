"""Studies whose variable somebody else sets while a trial runs, on attached servers and on sandboxes."""

import json
import threading
from contextlib import contextmanager

import pymysql
import pytest

from dialin.model.trial import TrialState
from dialin.paths import Home
from dialin.sentences.log_sentences import log_text
from dialin.servers.ledger import Ledger
from dialin.store.store import Store
from live import EASY, FAST, find, finish, interrupt, kill, measuring, only_with_all, until
from playground import option_file, playground

CAPACITY, THEIRS = "innodb_io_capacity", "777"
SWEEP = [
    "sweep",
    f"{CAPACITY}=300,600",
    "--baseline",
    "300",
    "--tables",
    "2",
    "--table-size",
    "5000",
    "--threads",
    "4",
    "--yes",
]
SWEEP += ["--measure", "3", "--warmup", "1", "--minutes", "2", "--worthwhile", "100%", *EASY]


@pytest.fixture(scope="module")
def server():
    with playground(find(FAST)) as made:
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
        while not ended.wait(0.15):
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
    assert any(says in log_text(line) and THEIRS in log_text(line) for line in record.log)
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
    assert f"Something other than dialin keeps changing {CAPACITY}" in err
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
    process = dialin.start(*attached, "--minutes", "0.9", "--json", "--out", out)
    measuring(out)
    set_it(server.connect)
    code, text, err = finish(process)
    assert code in (0, 1), err
    check_discarded_and_run_again(out, json.loads(text), err)
    assert server.variables() == before


@only_with_all  # tests/trials/test_change_detector.py shows what ends a study, the crash below whose value stays
def test_attached_who_keeps_setting_the_variable_ends_the_study_and_keeps_the_value(dialin, server, attached):
    before, out = server.variables(), dialin.directory / "study"
    process = dialin.start(*attached, "--out", out)
    measuring(out)
    with setting_it_all_the_time(server.connect):
        code, _, err = finish(process)
    check_given_up(out, code, err)
    assert f"{CAPACITY}: left at {THEIRS}" in err
    assert server.variables() == {**before, CAPACITY: THEIRS}

    resumed = dialin.start("resume", out, "--yes")

    def done_since():
        with Store.open(out) as store:
            return [trial for trial in store.trials() if (trial.session, trial.state) == (2, TrialState.DONE)]

    measured = until(done_since, every=0.5)
    interrupt(resumed)
    assert all(trial.in_force[CAPACITY] == trial.candidate for trial in measured)
    assert server.variables() == {**before, CAPACITY: THEIRS}


def test_after_a_crash_restore_leaves_what_somebody_else_set_though_it_is_a_value_of_another_candidate(
    dialin, server, attached
):
    before, out = server.variables(), dialin.directory / "study"
    process = dialin.start(*attached, "--out", out)
    trial = measuring(out, position=2)
    kill(process.pid)
    process.communicate()
    theirs = {"300": "600", "600": "300"}[trial.candidate]
    set_it(server.connect, theirs)
    _, err = dialin("restore")
    assert f"{CAPACITY}: left at {theirs}, which dialin did not set" in err
    assert server.variables() == {**before, CAPACITY: theirs}


@only_with_all
@pytest.mark.parametrize("switch", ["set", "restart"])
def test_in_a_sandbox_a_variable_that_is_set_once_costs_one_trial(dialin, switch):
    out = dialin.directory / "study"
    process = dialin.start(*SWEEP, "--server", FAST, "--switch", switch, "--json", "--out", out)
    measuring(out)
    set_it(sandbox_of(process))
    code, text, err = finish(process)
    assert code in (0, 1), err
    check_discarded_and_run_again(out, json.loads(text), err)


@only_with_all  # the attached server above shows it, tests/trials/test_change_detector.py what ends a study
@pytest.mark.parametrize("switch", ["set", "restart"])
def test_in_a_sandbox_who_keeps_setting_the_variable_ends_the_study(dialin, switch):
    out = dialin.directory / "study"
    process = dialin.start(*SWEEP, "--server", FAST, "--switch", switch, "--out", out)
    measuring(out)
    with setting_it_all_the_time(sandbox_of(process)):
        code, _, err = finish(process)
    check_given_up(out, code, err)
