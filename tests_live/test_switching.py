"""Trials that follow each other by SET GLOBAL in one server's life, on real servers under real load."""

from pathlib import Path

import psutil
import pytest

from dialin.datasets.restore import TrialData
from dialin.errors import SettingRefusedError, UserError
from dialin.model.study import Switch
from dialin.model.trial import Step, Trial, TrialState
from dialin.paths import Home
from dialin.places.check_study import check_question
from dialin.places.sandbox.shared_sandbox import SharedSandbox, SharedStage
from dialin.places.sandbox.site import SandboxStage
from dialin.question.options import StudyOptions
from dialin.servers.connection import global_variables
from dialin.servers.ledger import Ledger
from dialin.store.store import Store
from dialin.trials.changes import Changes
from dialin.trials.tools import Tools
from live import (
    EASY,
    FAST,
    INSTALLED,
    LIMIT,
    LITTLE,
    MYSQL,
    SHORT,
    children,
    find,
    interrupt,
    kill,
    measuring,
    only_with_all,
    until,
)

MARIADB = "mariadb@10.11.19"
CAPACITY, MOST = "innodb_io_capacity", "innodb_io_capacity_max"
SWEEP = ["sweep", f"{CAPACITY}=300,3000", *SHORT, *EASY, "--minutes", "3", "--seed", "1"]

on_mysql = pytest.mark.skipif(not MYSQL.startswith("mysql"), reason="the values are MySQL's")
on_mariadb = pytest.mark.skipif(not find(MARIADB), reason=f"{MARIADB} is not installed")


@pytest.fixture(scope="module")
def tools():
    return Tools.open(lambda text: None)


def server_of(process, out, **place):
    """The process of the server that serves the trial of a place, while its load runs."""
    trial = measuring(out, **place)
    return children(process)["server"], trial


def end(process):
    """End it as Ctrl-C does, and see that nothing is left; what it said."""
    err = interrupt(process)
    assert process.returncode == 130, err
    assert not [entry for entry in Ledger(Home.of().ledger).entries() if entry.owner == process.pid]
    return err


def destroy(process, server):
    """End it without a warning; its server goes with it."""
    kill(process.pid)
    process.communicate(timeout=LIMIT)
    until(lambda: not psutil.pid_exists(server))


def trials(out):
    with Store.open(out) as store:
        return store.trials()


@pytest.mark.parametrize(
    ("build", "derived"),
    [
        pytest.param(MYSQL, {"300": "600", "3000": "6000"}, marks=[on_mysql, only_with_all]),
        pytest.param(MARIADB, {"300": "2000", "3000": "6000"}, marks=on_mariadb),
    ],
)
def test_one_server_serves_trial_after_trial_and_each_has_its_own_values_in_force(dialin, build, derived):
    out = dialin.directory / "study"
    process = dialin.start(*SWEEP, "--server", build, "--out", out)
    first, _ = server_of(process, out, position=1)
    second, _ = server_of(process, out, position=2)
    err = end(process)
    assert first == second
    assert f"{CAPACITY} is dynamic (--switch restart starts a server for each trial)" in err
    one, other = trials(out)
    assert [one.in_force[CAPACITY], other.in_force[CAPACITY]] == [one.candidate, other.candidate]
    assert {trial.candidate: trial.in_force[MOST] for trial in (one, other)} == derived, "what a start derives is set along"
    assert [step for step in Step if step in one.steps][:3] == [Step.RESTORE, Step.BOOT, Step.SET]
    assert [step for step in Step if step in other.steps][:2] == [Step.SET, Step.VERIFY]
    assert all(str(Home.of().sandboxes) not in value for trial in (one, other) for value in trial.in_force.values())


@only_with_all  # test_study.py kills the server of a trial, other tests resume
def test_a_server_that_is_killed_fails_its_trial_and_the_next_life_begins_with_the_next_as_after_a_resume(dialin):
    out = dialin.directory / "study"
    process = dialin.start(*SWEEP, "--server", FAST, "--out", out)
    first, _ = server_of(process, out, position=1)
    kill(first)
    second, _ = server_of(process, out, position=2)
    assert second != first
    destroy(process, second)
    failed, interrupted = trials(out)
    assert (failed.state, failed.failure.fault) == (TrialState.FAILED, "server")
    assert "SIGKILL" in str(failed.failure.cause.figures)
    resumed = dialin.start("resume", out)
    until(lambda: len(trials(out)) > 2, every=0.3)
    third, trial = server_of(resumed, out, block=1, position=2)
    end(resumed)
    assert third not in (first, second)
    assert (trial.session, trial.candidate) == (2, interrupted.candidate)
    assert trials(out)[1].state is TrialState.INTERRUPTED


def made_ready(stage):
    making = stage.ready()
    while True:
        try:
            next(making)
        except StopIteration as ready:
            return ready.value


@on_mysql
def test_a_value_that_the_running_server_refuses_fails_its_trial_and_the_next_one_is_served_anew(tools):
    build = find(MYSQL)
    changes = Changes(
        boot={},
        settings={"good": {CAPACITY: 300}, "bad": {"innodb_commit_concurrency": 4}},
        expected={},
        settable=frozenset(),
        varied=frozenset(),
    )
    blank = tools.preparer.blank(build, {})
    data = TrialData(tools.home, tools.ledger, tools.clock, print)
    lives = SharedSandbox(
        lambda boot: SandboxStage(build, blank, boot, None, tools, data),
        changes,
        tools.clock,
        for_one_block=False,
    )

    def serve(candidate):
        trial = Trial(id=0, block=1, session=1, position=1, candidate=candidate, state=TrialState.RUNNING, started=0.0)
        stage = SharedStage(lives, trial, build)
        try:
            server = made_ready(stage)
            with server.connect() as query:
                assert global_variables(query)[CAPACITY] == "300"
            stage.end(well=True)
            return server
        except SettingRefusedError:
            stage.end(well=False)
            raise

    try:
        first = serve("good")
        with pytest.raises(SettingRefusedError, match="innodb_commit_concurrency cannot be 4"):
            serve("bad")
        assert first.is_gone()
        assert not first.directory.exists()
        second = serve("good")
        directory = second.directory
    finally:
        lives.end()
        data.end()
    assert not directory.exists()


def ready(tools, build, sweep, switch="auto"):
    asked = {"server": build, "sweep": sweep, "switch": switch, "tables": 2, "table-size": 10_000, "threads": 8, "minutes": 5}
    return check_question(StudyOptions.model_validate(asked), Path(), tools)


@on_mysql
def test_values_that_only_a_start_gives_fall_back_to_starts_and_set_is_refused(tools):
    sweep = {"innodb_buffer_pool_size": ["128M", "256M"]}
    found = ready(tools, MYSQL, sweep)
    assert found.spec.switch is Switch.RESTART
    assert found.site.changes is None
    assert any("innodb_buffer_pool_size is resized chunk by chunk" in note for note in found.notes)
    with pytest.raises(UserError, match="--switch set is not possible: innodb_buffer_pool_size is resized"):
        ready(tools, MYSQL, sweep, "set")


@on_mariadb
def test_a_server_that_does_not_follow_what_it_is_set_to_is_found_out(tools):
    """MariaDB says of innodb_log_file_buffering that it is dynamic, and never switches it off again."""
    with pytest.raises(UserError, match=r"redo files are open.*buffered after a start and O_DIRECT after SET GLOBAL"):
        ready(tools, MARIADB, {"innodb_flush_log_at_trx_commit": [1, 2]}, "set")


@only_with_all
@pytest.mark.parametrize("build", INSTALLED, ids=lambda build: build.id)
@pytest.mark.parametrize(
    "sweep",
    [
        {CAPACITY: [100, 400, 40_000]},
        {"innodb_max_dirty_pages_pct": [5, 75]},
        {"optimizer_switch": ["index_merge=off", "index_merge_union=off"]},
        {"transaction_isolation": ["READ-COMMITTED", "SERIALIZABLE"]},
    ],
    ids=lambda sweep: next(iter(sweep)),
)
def test_every_build_comes_to_the_same_by_set_as_by_a_start(tools, build, sweep):
    found = ready(tools, build.id, sweep, "set")
    assert found.spec.switch is Switch.SET


@only_with_all
@on_mysql
def test_a_load_that_grows_its_tables_begins_each_block_with_restored_data(dialin):
    out = dialin.directory / "study"
    words = ["sweep", "innodb_flush_log_at_trx_commit=1,2", "--server", MYSQL, *LITTLE, "--workload", "oltp_insert"]
    _, err = dialin(*words, "--measure", "3", "--warmup", "2", "--minutes", "1.5", "--worthwhile", "100%", "--out", out)
    assert "in one server per block, because the load changes the amount of data" in err
    blocks = {}
    for trial in trials(out):
        blocks.setdefault(trial.block, []).append(Step.BOOT in trial.steps)
    assert len(blocks) >= 3
    assert all(booted == [True, False] for booted in blocks.values())
