"""A tune of a server that dialin did not start: it is as before, however the tune ends."""

import pytest

from dialin.model.record import LogCode
from dialin.model.trial import Step, TrialState
from dialin.store.store import Store
from live import EASY, FAST, LITTLE, SHORT, find, interrupt, kill, measuring, only_with_all, until
from playground import SCHEMA, command_that_restarts, option_file, playground

CAPACITY, CONCURRENCY = "innodb_io_capacity", "innodb_thread_concurrency"


@pytest.fixture(scope="module")
def server():
    with playground(find(FAST)) as made:
        yield made


@pytest.fixture
def words(server, tmp_path):
    account = ["--attach", "--defaults-file", option_file(server, tmp_path / "account.cnf")]
    return ["tune", f"{CAPACITY}=200..2000", "innodb_flush_neighbors=0,1", *account, *SHORT, *EASY, "--goal", "latency"]


@only_with_all  # test_attached_study.py kills a study, test_managed.py shows a tune of a server that dialin did not start
def test_a_tune_that_was_killed_is_undone_by_restore_and_goes_on_with_the_server_as_it_was_in_the_end(dialin, server, words):
    before, out = server.variables(), dialin.directory / "tune"
    process = dialin.start(*words, "--minutes", "20", "--worst", "90%", "--out", out)
    measuring(out, block=3)
    kill(process.pid)
    process.communicate()
    assert SCHEMA in server.schemas()
    dialin("restore")
    assert server.variables() == before
    assert SCHEMA not in server.schemas()

    resumed = dialin.start("resume", out, "--yes")
    measuring(out, block=4)
    err = interrupt(resumed)
    assert server.variables() == before
    assert SCHEMA not in server.schemas()
    assert "will" in err
    assert f"  set {CAPACITY} (now " in err
    with Store.open(out) as store:
        assert not [trial for trial in store.trials() if trial.state is TrialState.FAILED]


def test_variables_that_take_a_start_are_refused_without_a_command_that_restarts(dialin, server, words):
    before = server.variables()
    _, err = dialin(*words, "table_open_cache_instances=1,2", "--minutes", "2", code=2)
    assert "table_open_cache_instances can be set only at startup" in err
    assert "--apply-command" in err
    assert server.variables() == before


@only_with_all  # test_managed.py shows a tune that restarts, test_persisted_by_others.py studies by a command that restarts
def test_variables_that_take_a_start_are_tuned_by_a_command_that_restarts_and_put_back(dialin, modern, tmp_path):
    before, out = modern.variables(), dialin.directory / "study"
    account = ["--attach", "--defaults-file", option_file(modern, tmp_path / "account.cnf")]
    words = ["tune", "back_log=60..90", f"{CAPACITY}=200..2000", *account, *SHORT, *EASY, "--goal", "latency"]
    restart = ["--restart-command", command_that_restarts(modern, tmp_path)]
    process = dialin.start(*words, *restart, "--minutes", "20", "--out", out)
    measuring(out, block=3)
    interrupt(process)
    assert modern.variables() == before
    with Store.open(out) as store:
        tried = {trial.in_force["back_log"] for trial in store.trials() if trial.in_force}
    assert len(tried) > 1


@only_with_all  # tests/race/test_tune_runner.py shows it on simulated servers
def test_a_trial_that_is_too_slow_ends_early_and_the_server_is_left_as_it_was(dialin, server, tmp_path):
    before, out = server.variables(), dialin.directory / "slow"
    account = ["--attach", "--defaults-file", option_file(server, tmp_path / "account.cnf")]
    load = [*LITTLE, *EASY, "--goal", "latency", "--workload", "oltp_update_index", "--measure", "20", "--warmup", "1"]
    load += ["--minutes", "20", "--worst", "70%"]
    process = dialin.start("tune", f"{CAPACITY}=200..2000", *account, *load, "--out", out)
    slow = measuring(out, block=3)
    assert slow.candidate != "baseline"

    def ended_early():
        # Its load stands still for longer than it may be slow.
        server.query("FLUSH TABLES WITH READ LOCK", "SELECT SLEEP(7)", "UNLOCK TABLES")
        with Store.open(out) as store:
            return [line.figures for _, line in store.log_after(0) if line.code is LogCode.TRIAL_CUT_SHORT]

    figures = until(ended_early, every=1)[0]
    interrupt(process)
    assert server.variables() == before
    assert figures["trial"] == slow.id
    with Store.open(out) as store:
        trial = next(trial for trial in store.trials() if trial.id == slow.id)
    assert trial.state is TrialState.DONE
    assert 5 <= trial.steps[Step.MEASURE] < 19
