"""Profiles of real servers: a planted difference is found at its function, and none where nothing differs."""

import re

import pytest

from dialin.errors import UserError
from dialin.evidence import measured, profiles
from dialin.model.profile import ThreadKind
from dialin.model.trial import Purpose, TrialState
from dialin.probes import perf
from dialin.store.store import Store
from live import MYSQL, only_with_all


def why_not():
    try:
        notes = perf.check_perf()
    except UserError as error:
        return error.what, error.what
    return "", next((note for note in notes if "waits" in note), "")


NO_PERF, NO_TRACE = why_not()
with_perf = pytest.mark.skipif(bool(NO_PERF), reason=NO_PERF or "perf works")
FLUSHES = ("fdatasync", "fsync")
WRITES = ["--workload", "oltp_update_non_index", "--tables", "1", "--table-size", "10000"]
POINTS = ["--workload", "oltp_point_select", "--tables", "1", "--table-size", "50000"]
OF_MYSQL = [] if MYSQL.startswith("mariadb") else ["--set", "sync_binlog=0"]
CANDIDATES = {
    "once.cnf": "innodb_flush_log_at_trx_commit = 1\nmax_connect_errors = 90",
    "less.cnf": "innodb_flush_log_at_trx_commit = 2\nmax_connect_errors = 90",
    "twin.cnf": "innodb_flush_log_at_trx_commit = 1\nmax_connect_errors = 91",
}
"""The baseline, a candidate that syncs the redo log less often, and one that does what the baseline does."""


def profiled(dialin, *words):
    study = dialin.directory / "study"
    verdict = dialin.verdict(*words, "--yes", "--server", MYSQL, "--out", study, code=dialin.any_code)
    with Store.open(study) as store:
        return study, verdict, store.read()


def certain(compared):
    return [one.function for one in [*compared.lost, *compared.gained] if one.is_certain]


def syncs(record, part_of):
    """Samples or calls of syncs per transaction, of the baseline and of the candidate with less, however few there are."""
    both = profiles.sides(record, measured.of(record), part_of, "less.cnf")
    return [
        sum(sum(one.samples) for one in side.profile.stacks if one.function.partition(" ")[0] in FLUSHES) / sum(side.work)
        for side in (both.baseline, both.other)
    ]


@with_perf
def test_syncs_of_the_log_are_found_in_the_profile_of_the_candidate_without_them_and_nothing_in_that_of_a_twin(dialin):
    """At this confidence one graph or table of a thousand would be wrong by chance."""
    for name, text in CANDIDATES.items():
        (dialin.directory / name).write_text(f"[mysqld]\n{text}\n")
    asked = ["compare", *CANDIDATES, "--accept-weaker-durability", "--worthwhile", "100%", "--confidence", "0.999"]
    method = ["--threads", "4", "--rate", "500", "--measure", "5", "--warmup", "1", "--minutes", "1.4"]
    study, verdict, record = profiled(dialin, *asked, "--profile-candidates", *OF_MYSQL, *WRITES, *method)
    runs = [trial for trial in record.trials if trial.purpose is Purpose.PROFILE]
    assert [(trial.candidate, trial.state) for trial in runs] == [(name, TrialState.DONE) for name in CANDIDATES]
    assert record.trials[-len(runs) :] == runs
    assert sum(one["trials"] for one in verdict["candidates"]) == len(record.trials) - len(runs)

    why = dialin.verdict("explain", study, code=dialin.any_code)
    found = next(one for one in [why["profile"], *why["other_profiles"]] if one["other"] == "less.cnf")
    assert syncs(record, profiles.cpu)[1] < 0.5 * syncs(record, profiles.cpu)[0]
    for trial, run in zip(found["trials"], runs, strict=False):
        profile = record.profiles[run.id]
        assert trial["samples"] == profile.samples > 0
        assert 0.5 < trial["seen"] < 1.5, "samples are the CPU time that the kernel counts"
        assert ThreadKind.CONNECTIONS in {one.kind for one in profile.stacks}
    if not NO_TRACE:
        assert found["untraced"] == ""
        assert syncs(record, profiles.calls)[1] < 0.5 * syncs(record, profiles.calls)[0]
        assert found["waits"]

    assert certain(profiles.compare(record, measured.of(record), "twin.cnf")) == []
    _, frames = profiles.frames(record, other="twin.cnf")
    assert [frame.name for frame in frames if frame.change.is_certain] == []

    dialin("explain", study, "--folded", dialin.directory / "folded")
    lines = (dialin.directory / "folded" / f"trial-{runs[0].id}.folded").read_text().splitlines()
    assert sum(int(line.rpartition(" ")[2]) for line in lines) == record.profiles[runs[0].id].samples
    assert any("sync" in line for line in lines)


PLANTED = {
    "innodb_doublewrite=ON,OFF": (
        [*WRITES[:2], "--tables", "2", "--table-size", "100000", "--set", "innodb_buffer_pool_size=24M"],
        r"dblwr|Double_write|pwrite64|fdatasync|fsync",
    ),
    "performance_schema=ON,OFF": (POINTS, r"pfs_|PFS_|start_statement|end_statement|inline_mysql|THR_PFS"),
    "innodb_adaptive_hash_index=ON,OFF": (
        ["--workload", "select_random_points", *POINTS[2:]],
        r"btr_search|btr_cur_search_to_nth|page_cur_search|cmp_dtuple|rec_get_offsets",
    ),
}
"""A variable, a load that uses it, and the functions that it takes or spares."""


@with_perf
@only_with_all
@pytest.mark.parametrize("variable", sorted(PLANTED))
def test_a_planted_difference_is_found_at_its_function(dialin, variable):
    load, expected = PLANTED[variable]
    method = ["--threads", "4", "--measure", "15", "--warmup", "2", "--minutes", "12", "--worthwhile", "100%", "--profile"]
    _, _, record = profiled(dialin, "sweep", variable, "--accept-weaker-durability", *OF_MYSQL, *load, *method)
    compared = profiles.compare(record, measured.of(record))
    assert compared is not None, [(trial.candidate, trial.purpose, trial.state) for trial in record.trials]
    changed = certain(compared)
    assert any(re.search(expected, name) for name in changed), changed


def test_without_perf_a_study_is_refused_before_anything_starts(dialin, monkeypatch):
    monkeypatch.setenv("PATH", str(dialin.directory))
    words = ["sweep", "innodb_io_capacity=200,400", "--server", MYSQL, "--yes", "--profile", "--out", "study"]
    _, err = dialin(*words, code=2)
    assert "perf, which is not installed" in err
    assert not (dialin.directory / "study").exists()
