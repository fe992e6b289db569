"""Whole studies on dialin-load: the same verdict as under sysbench, a rate that is asked for, and which driver a study keeps."""

import os
import subprocess
import sys

import pytest

from dialin.store.store import Store
from driving import needs_dialin_load
from live import LITTLE, MYSQL, SHORT

pytestmark = needs_dialin_load

FLUSH = ["sweep", "innodb_flush_log_at_trx_commit=1,2", "--server", MYSQL, "--set", "sync_binlog=0"]
CHOOSING = [*SHORT, "--threads", "4", "--accept-weaker-durability", "--minutes", "1.2"]


def spec_of(directory):
    with Store.open(directory) as store:
        record = store.read()
    return record.spec.workload, record.host["load_driver"]


def test_a_study_comes_to_the_same_verdict_under_dialin_load_and_under_sysbench(dialin):
    found = {}
    for name in ("oltp_update_non_index", "sysbench:oltp_update_non_index"):
        out = dialin.directory / name.partition(":")[0]
        verdict = found[name] = dialin.verdict(*FLUSH, *CHOOSING, "--workload", name, "--out", out, code=dialin.any_code)
        load, driver = spec_of(out)
        assert driver.startswith("sysbench 1.0" if name.startswith("sysbench:") else "dialin-load ")
        assert load.driver == driver.split()[0]
        assert verdict["workload"]["text"].startswith(f"{name}, 4 threads")
        assert not any(found["failed"] for found in verdict["candidates"])
    ours, theirs = found.values()
    assert ours["recommended_candidate"] == theirs["recommended_candidate"] == "2"
    assert ours["verdict"] in ("winner", "safe_choice")
    assert theirs["verdict"] in ("winner", "safe_choice")
    gains = [next(one for one in verdict["candidates"] if one["name"] == "2")["ratio"]["mean"] for verdict in (ours, theirs)]
    assert min(gains) > 1.2


def test_a_rate_that_is_not_reached_is_said_with_the_verdict(dialin):
    words = [*FLUSH, *SHORT, "--workload", "oltp_update_non_index", "--rate", "1000000", "--threads", "2", "--minutes", "0.8"]
    verdict = dialin.verdict(*words, "--out", dialin.directory / "rated", code=dialin.any_code)
    (note,) = [note for note in verdict["warnings"] if note["code"] == "rate_not_reached"]
    assert note["data"]["asked"] == 1_000_000
    assert "was not reached" in note["text"]


def test_without_the_program_sysbench_applies_the_load_and_a_study_keeps_its_driver(dialin, monkeypatch):
    out = dialin.directory / "study"
    words = [*FLUSH, *LITTLE, "--measure", "2", "--warmup", "1", "--threads", "2", "--minutes", "0.6", "--out", out]
    nowhere = {**os.environ, "DIALIN_LOAD": str(dialin.directory / "nowhere")}

    def run(*more, **environment):
        command = [sys.executable, "-m", "dialin", *map(str, more)]
        return subprocess.run(command, capture_output=True, text=True, cwd=dialin.directory, env=environment, timeout=300)

    done = run(*words, **nowhere)
    assert done.returncode in (0, 1), done.stderr
    assert "sysbench applies the load" in " ".join(done.stderr.split())
    load, driver = spec_of(out)
    assert (load.driver, driver.split()[0]) == ("sysbench", "sysbench")
    assert run("resume", out, "--minutes", "0.8", **os.environ).returncode in (0, 1)
    assert spec_of(out)[0].driver == "sysbench"


@pytest.mark.parametrize(
    ("workload", "says"),
    [
        ("dialin-load:oltp_read_write", "DIALIN_LOAD names"),
        ("tpcc-like", "DIALIN_LOAD names"),
        ("sysbench:tpcc-like", "dialin-load has it"),
        ("sysbench:scan", "does not time queries"),
    ],
)
def test_a_load_that_cannot_be_is_refused_before_anything_starts(dialin, monkeypatch, workload, says):
    monkeypatch.setenv("DIALIN_LOAD", str(dialin.directory / "nowhere"))
    _, err = dialin(*FLUSH, *LITTLE, "--workload", workload, code=2)
    assert says in " ".join(err.split())


def test_sizes_of_tables_are_not_for_workloads_with_sizes_of_their_own(dialin):
    _, err = dialin(*FLUSH, "--workload", "bank-transfer", "--table-size", "1000", "--yes", code=2)
    assert "dialin-load show bank-transfer" in " ".join(err.split())
