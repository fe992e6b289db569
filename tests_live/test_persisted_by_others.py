"""Studies that restart an attached server, while somebody else persists the variable that is under test."""

import shlex
import socket
import subprocess

import pytest

from dialin.model.trial import TrialState
from dialin.store.store import Store
from live import EASY, MYSQL, find, interrupt, kill, measuring, only_with_all, until
from playground import command_that_restarts, option_file, playground

SWEEP = ["sweep", "back_log=70,80", "--baseline", "70", "--tables", "2", "--table-size", "5000", "--threads", "4", "--yes"]
SWEEP += ["--measure", "3", "--warmup", "1", "--minutes", "2", "--worthwhile", "100%", *EASY]


@pytest.fixture(scope="module")
def server():
    with playground(find(MYSQL)) as made:
        yield made


def restart(server, command):
    """Restart a server as its DBA does, and wait until it accepts connections."""

    def accepts():
        with socket.socket(socket.AF_UNIX) as client:
            return client.connect_ex(server.entry.socket) == 0

    subprocess.run(shlex.split(command), check=True)
    until(accepts)


@pytest.fixture
def restarted(server, tmp_path):
    file = option_file(server, tmp_path / "account.cnf")
    command, before = command_that_restarts(server, tmp_path), server.variables()
    yield [*SWEEP, "--attach", "--defaults-file", file, "--restart-command", command]
    server.query("RESET PERSIST")
    if server.variables() != before:
        restart(server, command)


@only_with_all  # test_changed_during_trial.py shows it of SET, test_attached_restart.py that what others persist is noticed
def test_attached_and_restarted_a_value_that_somebody_else_persists_once_costs_one_trial(dialin, server, restarted):
    before, out = server.variables(), dialin.directory / "study"
    process = dialin.start(*restarted, "--out", out)
    measuring(out)
    server.query("SET PERSIST_ONLY back_log = 99")
    measuring(out, block=2)
    err = interrupt(process)
    with Store.open(out) as store:
        record = store.read()
    (discarded,) = [trial for trial in record.trials if trial.is_disturbed]
    assert [(change.variable, change.after) for change in discarded.changes if change.under_test] == [("back_log", "99")]
    assert f"Trial {discarded.id} ({discarded.candidate}) is discarded and run again" in err
    assert {trial.in_force["back_log"] for trial in record.trials if trial.state is TrialState.DONE} == {"70", "80"}
    assert server.variables() == before


@only_with_all  # test_attached_restart.py shows it of an undo, the test below of a study that was killed
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


@only_with_all
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
