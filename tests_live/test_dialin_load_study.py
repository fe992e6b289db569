"""Whole studies on dialin-load: the verdict is that under sysbench, a rate is asked for, and a study keeps its driver."""

import shlex

from dialin.evidence.why_verdict import explain
from dialin.model.trial import TrialState
from dialin.store.store import Store
from driving import BINARY, needs_dialin_load
from live import EASY, FAST, MYSQL, SHORT, interrupt, measuring, only_with_all, shown_of_processes

pytestmark = needs_dialin_load

FLUSH = ["sweep", "innodb_flush_log_at_trx_commit=1,2", "--server", MYSQL, "--set", "sync_binlog=0"]
CAPACITY = ["sweep", "innodb_io_capacity=300,600", "--server", FAST, *SHORT]
CHOOSING = [*SHORT, "--threads", "1", "--accept-weaker-durability", "--minutes", "6"]


def spec_of(directory):
    with Store.open(directory) as store:
        record = store.read()
    return record.spec.workload, record.host["load_driver"]


@only_with_all
def test_a_study_comes_to_the_same_verdict_under_dialin_load_and_under_sysbench(dialin):
    found = {}
    for name in ("oltp_update_non_index", "sysbench:oltp_update_non_index"):
        out = dialin.directory / name.partition(":")[0]
        verdict = found[name] = dialin.verdict(*FLUSH, *CHOOSING, "--workload", name, "--out", out, code=dialin.any_code)
        load, driver = spec_of(out)
        assert driver.startswith("sysbench 1.0" if name.startswith("sysbench:") else "dialin-load ")
        assert load.kind == driver.split()[0]
        assert verdict["workload"]["text"].startswith(f"{name}, 1 thread")
        assert not any(found["failed"] for found in verdict["candidates"])
    ours, theirs = found.values()
    assert ours["recommended_candidate"] == theirs["recommended_candidate"] == "2"
    assert ours["verdict"] in ("winner", "safe_choice")
    assert theirs["verdict"] in ("winner", "safe_choice")
    gains = [next(one for one in verdict["candidates"] if one["name"] == "2")["ratio"]["mean"] for verdict in (ours, theirs)]
    assert min(gains) > 1.2


SLOW = """
name = "slow"
description = "transactions that take no CPU and yet their time"

[[transaction]]
name = "sleep"
steps = [{ sql = "DO SLEEP(0.02)" }]
"""


@only_with_all  # test_dialin_load.py shows that the driver reports it, tests/verdict/test_rates.py what the verdict says
def test_a_rate_that_is_not_reached_is_said_with_the_verdict(dialin):
    slow = dialin.directory / "slow.toml"
    slow.write_text(SLOW)
    load = ["--workload", slow, "--threads", "1", "--rate", "1000", "--measure", "2", "--warmup", "1", "--yes"]
    words = ["sweep", "innodb_io_capacity=300,600", "--server", FAST, *load, "--worthwhile", "100%", "--minutes", "0.4"]
    verdict = dialin.verdict(*words, "--out", dialin.directory / "rated", code=dialin.any_code)
    (note,) = [note for note in verdict["warnings"] if note["code"] == "rate_not_reached"]
    assert note["data"]["asked"] == 1000
    assert "was not reached" in note["text"]


def test_without_the_program_sysbench_applies_the_load_and_a_study_keeps_its_driver(dialin, monkeypatch):
    out = dialin.directory / "study"
    monkeypatch.setenv("DIALIN_LOAD", "none")
    process = dialin.start(*CAPACITY, *EASY, "--minutes", "0.6", "--out", out)
    measuring(out)
    err = interrupt(process)
    assert process.returncode == 130
    assert "sysbench applies the load" in " ".join(err.split())
    load, driver = spec_of(out)
    assert (load.kind, driver.split()[0]) == ("sysbench", "sysbench")
    monkeypatch.delenv("DIALIN_LOAD")
    process = dialin.start("resume", out)
    measuring(out, position=2)
    shown = shown_of_processes()
    interrupt(process)
    assert f"sysbench {load.name}" in shown
    assert spec_of(out)[0].kind == "sysbench"


def choices_of_runs(log):
    """What each run of the driver was told to choose, in order."""
    runs = [shlex.split(line) for line in log.read_text().splitlines() if line.startswith("run ")]
    return [[word for word in words if word.startswith(("--load-threads=", "--gather="))] for words in runs]


@only_with_all  # tests/race/test_runner_driver_choices.py shows it, test_load_sources.py that real drivers follow
def test_every_trial_uses_what_the_driver_chose_in_the_first_one_also_after_a_resume(dialin, monkeypatch, tmp_path):
    out, log, program = dialin.directory / "pinned", tmp_path / "runs", tmp_path / "dialin-load"
    program.write_text(f'#!/bin/sh\nprintf \'%s\\n\' "$*" >>{shlex.quote(str(log))}\nexec {shlex.quote(str(BINARY))} "$@"\n')
    program.chmod(0o755)
    monkeypatch.setenv("DIALIN_LOAD", str(program))
    asked = ["sweep", "innodb_flush_log_at_trx_commit=0,2", "--server", FAST, "--workload", "bank-transfer", "--threads", "2"]
    asked += EASY
    process = dialin.start(*asked, "--measure", "2", "--warmup", "1", "--minutes", "0.8", "--yes", "--out", out)
    measuring(out, position=2)
    interrupt(process)
    dialin("resume", out, code=dialin.any_code)
    with Store.open(out) as store:
        record = store.read()
    first, *later = choices_of_runs(log)
    (choice,) = record.trials[0].driver_choices
    assert first == []
    # One that was interrupted, and at least one more after the study was resumed.
    assert len(later) >= 2
    reported = [f"--load-threads={choice.load_threads}", f"--gather={'on' if choice.gather else 'off'}"]
    assert [words for words in later if words != reported] == []
    completed = [trial for trial in record.trials if trial.state is TrialState.DONE]
    assert {trial.driver_choices for trial in completed} == {(choice,)}
    driver = record.host["load_driver"]
    assert driver.startswith("dialin-load ")
    assert "+" in driver
    threads = "1 load thread" if choice.load_threads == 1 else f"{choice.load_threads} load threads"
    line = f"{driver}, {threads}, gathering {'on' if choice.gather else 'off'}, as the first trial chose"
    assert record.verdict.workload["driver"] == line
    for candidate in record.verdict.candidates:
        kinds = {one.transaction: one for one in explain(record).latencies if one.candidate == candidate.name}
        assert set(kinds) >= {"transfer", "transfer-careless", "balance"}
        assert sum(one.per_second for one in kinds.values()) > 0
        assert kinds["transfer"].p95_ms.level.mean > 0
