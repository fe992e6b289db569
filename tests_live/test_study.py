"""Whole studies on a real MySQL under real load."""

import json
import os
from pathlib import Path

import jsonschema
import pytest

from dialin.model.trial import TrialState
from dialin.store.store import Store
from live import EASY, FAST, MYSQL, SHORT, SMALL, children, find, interrupt, kill, measuring, only_with_all

SCHEMA = json.loads((Path(__file__).parents[1] / "schema" / "verdict.schema.json").read_text())
ANY = ["sweep", "read_buffer_size=128K,256K", "--server", FAST, *SHORT, *EASY]

with_pool_instances = pytest.mark.skipif(
    not MYSQL.startswith("mysql"), reason="MariaDB has had one buffer pool instance since 10.5"
)


def candidate(verdict, name):
    return next(found for found in verdict["candidates"] if found["name"] == name)


def test_a_sweep_killed_in_the_middle_of_a_trial_resumes_to_a_verdict_and_leaves_nothing_behind(dialin):
    out = dialin.directory / "study"
    sweep = ["sweep", "innodb_io_capacity=3000,30000", "--switch", "restart", "--server", FAST, *SHORT, *EASY]
    process = dialin.start(*sweep, "--minutes", "4", "--worthwhile", "100%", "--out", out)
    measuring(out, block=2)
    running = children(process)
    kill(process.pid)
    process.communicate()
    assert set(running) == {"server", "load"}
    with Store.open(out) as store:
        before = [trial for trial in store.trials() if trial.state is TrialState.DONE]
        seconds = store.samples()
    assert len(before) >= 2

    resumed = dialin.start("resume", out, "--json")
    text, err = resumed.communicate(timeout=400)
    assert resumed.returncode in (0, 1), err
    verdict = json.loads(text)
    jsonschema.validate(verdict, SCHEMA)
    with Store.open(out) as store:
        record = store.read()
    done = [trial for trial in record.trials if trial.state is TrialState.DONE]
    places = [(trial.block, trial.position) for trial in done]
    assert len(places) == len(set(places)), "a finished trial was repeated"
    assert done[: len(before)] == before
    assert all(record.samples[trial.id] == seconds[trial.id] for trial in before)

    assert verdict["baseline"] == "3000"
    assert [found["in_force"]["innodb_io_capacity"] for found in verdict["candidates"]] == ["3000", "30000"]
    assert all(found["trials"] >= 2 and found["tps"]["mean"] > 0 for found in verdict["candidates"])
    assert 0 < verdict["minutes_of_load"] < verdict["minutes_of_wall_clock"] < 4.5
    assert "innodb_io_capacity_max" in {note["data"]["variable"] for note in verdict["confounds"]}
    assert all(len(trial.in_force) > 400 for trial in done)
    assert all(trial.costs.driver_cpu > 0 and trial.costs.server_cpu > 0 for trial in done)
    for name in ("report.html", "report.md", "recommended.cnf"):
        assert (out / name).stat().st_size > 0
    assert json.loads((out / "verdict.json").read_text()) == verdict


GROWN = ["sweep", "innodb_buffer_pool_instances=1,3,8", "--server", MYSQL, "--set", "innodb_buffer_pool_size=2G", *SMALL]


@only_with_all
@with_pool_instances
def test_a_pool_that_grew_is_a_confound_and_with_hold_it_is_gone(dialin):
    verdict = dialin.verdict(*GROWN, "--minutes", "1.5", code=1)
    (grown,) = [note for note in verdict["confounds"] if note["data"]["variable"] == "innodb_buffer_pool_size"]
    assert grown["data"]["values"] == {"1": "2147483648", "3": "2415919104", "8": "2147483648"}
    assert "could explain" in verdict["headline"]
    held = ["--hold", "--out", dialin.directory / "held", "--worthwhile", "100%"]
    verdict = dialin.verdict(*GROWN, "--minutes", "1.5", *held)
    assert verdict["confounds"] == []
    assert [found["in_force"]["innodb_buffer_pool_instances"] for found in verdict["candidates"]] == ["1", "3", "8"]
    assert [found["real"]["innodb_buffer_pool_instances"] for found in verdict["candidates"]] == ["1", "3", "8"]


@only_with_all
@pytest.mark.skipif(not find("mysql@5.6"), reason="mysql@5.6 is not installed")
def test_candidates_that_report_other_numbers_of_pools_and_have_one_are_said_to_be_one(dialin):
    words = ["sweep", "innodb_buffer_pool_instances=1,8", "--server", "mysql@5.6", "--set", "innodb_buffer_pool_size=512M"]
    out, err = dialin(*words, *SHORT, *EASY, "--minutes", "1", "--json")
    verdict = json.loads(out)
    assert "each has 1 real innodb_buffer_pool_instances" in err, "it is said before the study begins"
    notes = {note["code"]: note for note in verdict["warnings"]}
    assert "each has 1 real innodb_buffer_pool_instances" in notes["same_in_force"]["text"]
    assert "8 is reported, but there is 1 in fact" in notes["not_real"]["text"]
    assert [found["in_force"]["innodb_buffer_pool_instances"] for found in verdict["candidates"]] == ["1", "8"]
    assert [found["real"]["innodb_buffer_pool_instances"] for found in verdict["candidates"]] == ["1", "1"]
    assert verdict["verdict"] == "no_worthwhile_difference"
    assert "all candidates have identical effective settings" in verdict["headline"]


@only_with_all
@pytest.mark.skipif(MYSQL != "mysql@9.7", reason="other builds start with 0 pool instances")
def test_a_candidate_whose_server_crashes_fails_by_its_signal_and_the_others_are_compared(dialin):
    words = ["sweep", "innodb_buffer_pool_instances=0,1,2", "--server", MYSQL, "--set", "innodb_buffer_pool_size=2G"]
    out, err = dialin(*words, *SMALL, "--minutes", "1.5", "--worthwhile", "100%", "--json")
    verdict = json.loads(out)
    assert "died of SIGFPE" in err
    crashed, *others = [found["state"] for found in verdict["candidates"]]
    assert crashed == "unsafe"
    assert not {"unsafe", "not_measured", "worse"} & set(others)
    assert [note["data"]["candidate"] for note in verdict["warnings"] if note["code"] == "failed_trials"]


@only_with_all  # tests/report/test_states.py shows it, tests/race/test_runner.py that a study of equals comes to it
def test_two_identical_option_files_are_no_worthwhile_difference(dialin):
    for name in ("a.cnf", "b.cnf"):
        (dialin.directory / name).write_text("[mysqld]\nsort_buffer_size = 512K\nport = 3306\ndatadir = /var/lib/mysql\n")
    verdict = dialin.verdict(
        "compare", "a.cnf", "b.cnf", "--server", FAST, *SHORT, *EASY, "--minutes", "6", "--worthwhile", "50%"
    )
    assert verdict["verdict"] == "no_worthwhile_difference"
    assert verdict["recommended_candidate"] == "a.cnf"


def test_a_running_study_is_not_run_twice_and_ctrl_c_tells_how_to_go_on(dialin):
    out = dialin.directory / "study"
    process = dialin.start(*ANY, "--minutes", "20", "--out", out)
    measuring(out, position=2)
    _, err = dialin("resume", out, code=2)
    assert "in use by a running study" in err
    err = interrupt(process)
    assert process.returncode == 130
    assert f"dialin resume {out}" in err
    assert f"Report so far: {out / 'report.html'}" in err
    assert "Traceback" not in err
    with Store.open(out) as store:
        assert store.trials()[-1].state in (TrialState.INTERRUPTED, TrialState.DONE), "it was stopped in a trial or between two"


def test_a_server_that_dies_fails_its_trial_one_whose_driver_is_killed_is_run_again_and_the_study_goes_on(dialin):
    out = dialin.directory / "study"
    cpus = sorted(os.sched_getaffinity(0))
    first, last = cpus[0], cpus[-1]
    apart = ["--server-cpus", first, "--load-cpus", last]
    # Trials are long enough that one is still measuring when its server or driver is killed.
    longer = ["--measure", "5", "--minutes", "2"]
    process = dialin.start(*ANY, *longer, *apart, "--out", out)
    measuring(out, position=1)
    running = children(process)
    assert os.sched_getaffinity(running["server"]) == {first}
    assert os.sched_getaffinity(running["load"]) == {last}
    kill(running["server"])
    measuring(out, position=2)
    kill(children(process)["load"])
    measuring(out, block=2)
    interrupt(process)
    with Store.open(out) as store:
        server, driver, *others, _ = store.trials()
    assert (server.state, server.failure.fault) == (TrialState.FAILED, "server")
    assert "SIGKILL" in str(server.failure.cause.figures)
    assert (driver.state, driver.failure.fault) == (TrialState.INTERRUPTED, "outside")
    assert others[0].candidate == driver.candidate, "what somebody else killed is no fault of the candidate: it is run again"
    assert others
    assert all(trial.state is TrialState.DONE for trial in others)


@pytest.mark.skipif(MYSQL != "mysql@9.7", reason="other builds start with 0 pool instances")
def test_a_study_in_which_nothing_starts_ends_with_code_3_the_signal_and_the_log(dialin):
    """MySQL 9.7 divides by zero when it is given 0 pool instances and 2 GiB or more."""
    words = ["sweep", "innodb_buffer_pool_size=2G,3G", "--server", MYSQL, "--set", "innodb_buffer_pool_instances=0", *SMALL]
    _, err = dialin(*words, "--minutes", "2", code=3)
    assert "No candidate could be measured" in err
    assert "did not start: it died of SIGFPE" in err


@with_pool_instances
@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["innodb_buffer_pool_instance=1,2"], "innodb_buffer_pool_instances"),
        (["innodb_buffer_pool_instances=1,65"], "0 to 64"),
        (["innodb_buffer_pool_instances=1,many"], "innodb_buffer_pool_instances"),
        (["innodb_adaptive_hash_index=ON,maybe"], "innodb_adaptive_hash_index"),
        (["innodb_flush_method=fsync,quickly"], "innodb_flush_method"),
        (["innodb_buffer_pool_size=1G,100T"], "free"),
        (["datadir=/a,/b"], "datadir"),
        (["read_buffer_size=1M,2M", "--baseline", "3M"], "They are 1M, 2M"),
        (["read_buffer_size=1M,2M", "--server", "mysql@4.1"], "mysql@4.1"),
        (["read_buffer_size=1M,2M", "--load-cpus", "999"], "CPU 999"),
        (["read_buffer_size=1M,2M", "--workload-option", "range-sice=1"], "range-size"),
        (["read_buffer_size=1M,2M", "--table-size", "2000000000"], "GB"),
    ],
)
def test_impossible_studies_are_refused_before_anything_starts(refused, tmp_path, words, says):
    others = [] if "--server" in words else ["--server", MYSQL]
    assert says in refused("sweep", *words, *others, "--yes")
    assert list(tmp_path.iterdir()) == []
