"""Raw waits from real servers, in trials of their own."""

import polars as pl
import pytest

from dialin.model.trial import Purpose, TrialState
from dialin.sentences.log_sentences import log_text
from dialin.store.store import Store
from live import INSTALLED, MYSQL, find, only_with_all

TABLE = ["--tables", "1", "--table-size", "10000", "--yes"]
STUDY = [*TABLE, "--threads", "4", "--rate", "200", "--measure", "2", "--warmup", "1"]
SWEEP = ["sweep", "innodb_buffer_pool_instances=1,4", "--set", "innodb_buffer_pool_size=1G", "--worthwhile", "100%"]
BY_SET = ["sweep", "innodb_io_capacity=200,400", "--worthwhile", "100%"]
"""Two servers to start instead of ten: those of the trials for waits."""


def need(build, *more):
    return pytest.param(
        build, *more, marks=[only_with_all, pytest.mark.skipif(not find(build), reason=f"{build} is not installed")]
    )


def studied(dialin, *words):
    """Run a study that ends in trials for raw waits; returns its record, and these."""
    dialin.verdict(*words, "--out", dialin.directory / "study", code=dialin.any_code)
    with Store.open(dialin.directory / "study") as store:
        record = store.read()
    return record, [trial for trial in record.trials if trial.purpose is Purpose.WAITS]


def complete(dialin, record, trial, lock):
    """Check that what a trial collected is whole, and all of one lock; returns it."""
    found = record.waits[trial.id]
    assert found.lost == 0 or any(f"{found.lost:,} more lost" in log_text(line) for line in record.log)
    events = pl.read_parquet(dialin.directory / "study" / "waits" / f"trial-{trial.id}.parquet")
    assert events.height == found.events == events.select("thread", "event").n_unique()
    (instrument,) = events["instrument"].unique()
    assert instrument.endswith(lock)
    whole = found.rows[0]
    assert (whole.operation, whole.count, sum(whole.histogram)) == ("(all)", found.events, found.events)
    assert 0 < whole.p50 <= whole.p90 <= whole.p99 <= whole.p999 <= whole.most <= whole.total
    assert trial.in_force["performance_schema"] == "ON"
    return found


@pytest.mark.skipif(not MYSQL.startswith("mysql"), reason="MariaDB has no hash_table_locks since 10.5")
@pytest.mark.parametrize(
    ("build", "sweep"),  # tests/race/test_runner_waits.py and tests/trials/test_raw_waits.py show it without servers
    [need(MYSQL, BY_SET), *(need(build, SWEEP) for build in (MYSQL, "mysql@5.6", "mysql@8.0", "mariadb@10.2"))],
)
def test_each_candidate_has_its_raw_waits_and_the_verdict_is_of_clean_trials_only(dialin, build, sweep):
    names = sweep[1].partition("=")[2].split(",")
    record, collected = studied(dialin, *sweep, "--server", build, *STUDY, "--minutes", "0.5", "--waits", "hash_table_locks")
    assert [(trial.candidate, trial.state) for trial in collected] == [(name, TrialState.DONE) for name in names]
    assert record.trials[-2:] == collected
    for trial in collected:
        found = complete(dialin, record, trial, "/innodb/hash_table_locks")
        # The seconds of a busy machine are short; a quiet one has a hundred thousand waits in each.
        assert found.events > 10_000
        assert found.lost < found.events / 10
        assert (found.timer, found.frequency > 1e8) == ("CYCLE", True)
    clean = [trial for trial in record.trials if trial.purpose is not Purpose.WAITS]
    own = int(collected[0].in_force["performance_schema_events_waits_history_long_size"])
    assert all(int(trial.in_force["performance_schema_events_waits_history_long_size"]) < own for trial in clean)
    assert sum(one.trials for one in record.verdict.candidates) == len(clean)


@only_with_all
@pytest.mark.parametrize("build", [build.id for build in INSTALLED])
def test_every_build_collects_raw_waits_of_a_lock_that_it_has(dialin, build):
    """LOCK_thd_data is taken for every statement, from 5.5 to the newest; the mutexes of InnoDB come and go."""
    asked = ["sweep", "innodb_io_capacity=200,400", "--worthwhile", "100%", "--minutes", "0.7", "--waits", "THD::LOCK_thd_data"]
    record, collected = studied(dialin, *asked, "--server", build, *STUDY)
    assert [(trial.candidate, trial.state) for trial in collected] == [("200", TrialState.DONE), ("400", TrialState.DONE)]
    for trial in collected:
        assert complete(dialin, record, trial, "/THD::LOCK_thd_data").events > 1000


@pytest.mark.parametrize("build", [need("mysql@9.7"), need("mysql@5.6")])
def test_one_trial_of_20_seconds_collects_a_million_events(dialin, build):
    words = [*SWEEP, *TABLE, "--workload", "oltp_read_only", "--threads", "8", "--measure", "20", "--warmup", "1"]
    record, collected = studied(dialin, *words, "--server", build, "--minutes", "4", "--waits", "hash_table_locks")
    assert [trial.state for trial in collected] == [TrialState.DONE, TrialState.DONE]
    for trial in collected:
        assert complete(dialin, record, trial, "/innodb/hash_table_locks").events >= 1_000_000


NEW_MARIADB = next((build for build in ("mariadb@10.11", "mariadb@11.4") if find(build)), None)


@pytest.mark.skipif(NEW_MARIADB is None, reason="no MariaDB 10.11 or newer is installed")
def test_a_build_without_such_a_lock_is_refused_before_anything_starts(dialin):
    words = [
        "sweep",
        "innodb_io_capacity=200,400",
        "--server",
        NEW_MARIADB,
        *STUDY,
        "--waits",
        "hash_table_locks",
        "--out",
        "no",
    ]
    _, err = dialin(*words, code=2)
    assert "No wait instrument of" in err
    assert "The nearest are wait/" in err
    assert not (dialin.directory / "no").exists()
