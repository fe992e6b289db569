"""Profiles of real servers: a planted difference is found at its function."""

import pytest

from dialin.errors import UserError
from dialin.model.profile import ThreadKind
from dialin.model.trial import Purpose, TrialState
from dialin.probes import perf
from dialin.store.store import Store
from live import MYSQL


def why_not():
    try:
        perf.check_perf()
    except UserError as error:
        return error.what
    return ""


NO_PERF = why_not()
FLUSHES = ("fdatasync (system call)", "fsync (system call)")


@pytest.mark.skipif(bool(NO_PERF), reason=NO_PERF or "perf works")
def test_syncs_of_the_log_that_a_candidate_leaves_out_are_found_in_the_profiles(dialin):
    load = ["--workload", "oltp_update_non_index", "--tables", "1", "--table-size", "10000", "--threads", "4", "--yes"]
    load += ["--rate", "1200"]
    words = ["--server", MYSQL, "--set", "sync_binlog=0", "--measure", "6", "--warmup", "1", "--minutes", "2", *load]
    if MYSQL.startswith("mariadb"):
        words = [word for word in words if word not in ("--set", "sync_binlog=0")]
    sweep = ["sweep", "innodb_flush_log_at_trx_commit=1,2", "--accept-weaker-durability", "--worthwhile", "100%", "--profile"]
    study = dialin.directory / "study"
    verdict = dialin.verdict(*sweep, *words, "--out", study, code=dialin.any_code)
    with Store.open(study) as store:
        record = store.read()
    profiled = [trial for trial in record.trials if trial.purpose is Purpose.PROFILE]
    assert [(trial.candidate, trial.state) for trial in profiled] == [("1", TrialState.DONE), ("2", TrialState.DONE)]
    assert record.trials[-2:] == profiled
    assert sum(one["trials"] for one in verdict["candidates"]) == len(record.trials) - 2

    found = dialin.verdict("explain", study, code=dialin.any_code)["profile"]
    synced = next(one for one in found["lost"] if one["function"] in FLUSHES)
    assert synced["other_us"] < 0.5 * synced["baseline_us"]
    for trial, run in zip(found["trials"], profiled, strict=True):
        profile = record.profiles[run.id]
        assert trial["samples"] == profile.samples > 100
        assert 0.5 < trial["cpu_seconds"] / run.costs.server_cpu < 1.5, "samples are the CPU time that the kernel counts"
        assert max(profile.stacks, key=lambda one: sum(one.samples)).kind in (ThreadKind.CONNECTIONS, ThreadKind.LOG)
    page = (study / "report.html").read_text()
    assert "CPU profile" in page

    dialin("explain", study, "--profile", code=dialin.any_code)
    dialin("explain", study, "--folded", dialin.directory / "folded")
    lines = (dialin.directory / "folded" / f"trial-{profiled[0].id}.folded").read_text().splitlines()
    assert sum(int(line.rpartition(" ")[2]) for line in lines) == record.profiles[profiled[0].id].samples
    assert any("sync" in line for line in lines)


def test_without_perf_a_study_is_refused_before_anything_starts(dialin, monkeypatch):
    monkeypatch.setenv("PATH", str(dialin.directory))
    words = ["sweep", "innodb_io_capacity=200,400", "--server", MYSQL, "--yes", "--profile", "--out", "study"]
    _, err = dialin(*words, code=2)
    assert "perf, which is not installed" in err
    assert not (dialin.directory / "study").exists()
