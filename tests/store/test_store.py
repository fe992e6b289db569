import resource
import sqlite3
from contextlib import closing
from dataclasses import replace

import pytest

from dialin.errors import DialinError, UserError
from dialin.model.cause import Cause, CauseCode
from dialin.model.load_driver import DriverChoice, TransactionTimes
from dialin.model.record import Look
from dialin.model.trial import Costs, Failure, Sample, Step, Trial, TrialState, WarmUpEnd
from dialin.sentences.log_sentences import log_text
from dialin.store import schema
from dialin.store.lock import sole_runner
from dialin.store.store import STUDY_FILE, Store
from fixtures.recorded import begun


def make(directory, spec):
    return Store.create(
        directory, spec, created=1.0, dialin_version="0", command="dialin sweep", host={"cpus": 2}, servers={"mysql@9.7.4": {}}
    )


TRIAL = Trial(0, 1, 1, 1, "4", TrialState.RUNNING, 5.0)
SAMPLE = Sample(1, 6.0, Step.MEASURE, 100.0, 1400.0, 400.0, 200.0, 20.0, 0.0, 0.0)


def test_candidates_keep_the_memory_limits_that_they_compare(tmp_path, spec):
    limited = [one.model_copy(update={"memory": 2**30 * place}) for place, one in enumerate(spec.candidates, start=1)]
    with make(tmp_path, spec.model_copy(update={"candidates": tuple(limited)})) as store:
        assert store.spec.candidates == tuple(limited)


def test_everything_that_is_written_is_read_back(tmp_path, spec):
    with make(tmp_path, spec) as store:
        trial = begun(store, TRIAL)
        store.add_sample(trial.id, SAMPLE)
        ended = replace(
            trial,
            state=TrialState.FAILED,
            steps={Step.BOOT: 1.5},
            warm_up_end=WarmUpEnd.LIMIT,
            in_force={"a": "1"},
            costs=Costs(1, 2, 3, 4, 5, 6),
            failure=Failure(Step.BOOT, "server", Cause(CauseCode.SERVER_ENDED, {"exit": {"signal": "SIGSEGV"}}), "log"),
            driver_choices=(DriverChoice(4, 3, False), DriverChoice(64, 1, True)),
            transaction_times=(TransactionTimes("new-order", ((1.5, 3), (8.25, 1)), 16),),
        )
        store.save_trial(ended)
        store.add_look(Look(1, 3, trials=9))
        store.say(7.0, "hello")
    with Store.open(tmp_path) as store:
        record = store.read()
    assert record.spec == spec
    assert record.trials == [ended]
    assert record.samples == {1: [SAMPLE]}
    assert record.looks == [Look(1, 3, trials=9)]
    assert [log_text(line) for line in record.log] == ["hello"]
    assert record.verdict is None


@pytest.mark.parametrize(("stolen", "pressure"), [(0.25, 0.5), (0.0, 0.0), (None, None)])
def test_the_gap_of_a_second_is_read_back(tmp_path, spec, stolen, pressure):
    hiccup = replace(SAMPLE, gap=2.0, stolen=stolen, pressure=pressure)
    with make(tmp_path, spec) as store:
        store.add_sample(begun(store, TRIAL).id, hiccup)
        assert store.samples() == {1: [hiccup]}


def test_a_sample_is_there_for_other_readers_as_soon_as_it_is_written(tmp_path, spec):
    with make(tmp_path, spec) as writer:
        trial = begun(writer, TRIAL)
        with Store.open(tmp_path) as reader:
            for second in range(1, 4):
                writer.add_sample(trial.id, replace(SAMPLE, second=second))
                assert len(reader.samples()[trial.id]) == second


def test_a_trial_that_was_running_when_dialin_died_is_interrupted_and_a_new_session_begins(tmp_path, spec):
    with make(tmp_path, spec) as store:
        assert store.begin_session() == 1
        begun(store, TRIAL)
        assert store.begin_session() == 2
        assert store.trials()[0].state is TrialState.INTERRUPTED


def test_a_second_study_in_the_same_directory_is_refused(tmp_path, spec):
    make(tmp_path, spec).close()
    with pytest.raises(UserError, match="dialin resume"):
        make(tmp_path, spec)


@pytest.mark.parametrize("room", [4096, 20_000])
def test_a_study_that_finds_no_room_is_an_error_with_its_remedy_and_leaves_nothing(tmp_path, spec, room):
    """The limit on the size of a file stands for a disk that is full."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (room, before[1]))
    try:
        with pytest.raises(DialinError, match=r"No study can be written to .* --out"):
            make(tmp_path, spec)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    assert list(tmp_path.iterdir()) == []
    make(tmp_path, spec).close()


def test_a_directory_without_a_study_is_refused(tmp_path):
    with pytest.raises(UserError, match="holds no dialin study"):
        Store.open(tmp_path)


def test_a_damaged_database_is_refused(tmp_path):
    (tmp_path / STUDY_FILE).write_bytes(b"this is no database " * 100)
    with pytest.raises(UserError, match="damaged"):
        Store.open(tmp_path)


def test_a_database_cut_short_is_refused(tmp_path, spec):
    make(tmp_path, spec).close()
    path = tmp_path / STUDY_FILE
    path.write_bytes(path.read_bytes()[:5000])
    with pytest.raises(UserError, match="damaged"):
        Store.open(tmp_path).read()


def test_somebody_elses_database_is_refused(tmp_path):
    with closing(sqlite3.connect(tmp_path / STUDY_FILE)) as connection, connection:
        connection.execute("CREATE TABLE study (format INTEGER)")
    with pytest.raises(UserError, match="not written by dialin"):
        Store.open(tmp_path)


def test_one_dialin_at_a_time_runs_a_study(tmp_path):
    with sole_runner(tmp_path), pytest.raises(UserError, match="in use by a running study"), sole_runner(tmp_path):
        pass
    with sole_runner(tmp_path):
        pass


def test_a_study_of_another_version_is_refused_and_its_format_is_named(tmp_path, spec):
    make(tmp_path, spec).close()
    with closing(sqlite3.connect(tmp_path / STUDY_FILE)) as connection, connection:
        connection.execute(f"UPDATE study SET format = {schema.FORMAT + 1}")
    with pytest.raises(UserError, match=f"another version of dialin .format {schema.FORMAT + 1}; this"):
        Store.open(tmp_path)


def test_each_host_that_runs_trials_is_known_and_the_first_one_is_the_machine_of_the_study(tmp_path, spec):
    with make(tmp_path, spec) as store:
        store.save_host("one", {"cpus": 2, "kernel": "6.1"})
        store.save_host("two", {"cpus": 8})
        assert store.read().host["cpus"] == 2
        store.save_host("one", {"cpus": 4})
        record = store.read()
    assert record.hosts == {"one": {"cpus": 2, "kernel": "6.1"}, "two": {"cpus": 8}}
    assert (record.host["cpus"], record.host["kernel"]) == (2, "6.1")


def test_later_facts_of_the_host_stand_beside_the_known_ones(tmp_path, spec):
    with make(tmp_path, spec) as store:
        store.add_to_host({})
        store.add_to_host({"load_driver_later": ["dialin-load 2"]})
        assert store.host == store.read().host == {"cpus": 2, "load_driver_later": ["dialin-load 2"]}


def test_a_trial_that_was_killed_keeps_the_time_up_to_its_last_second(tmp_path, spec):
    with make(tmp_path, spec) as store:
        trial = begun(store, TRIAL)
        store.add_sample(trial.id, replace(SAMPLE, second=1, at=TRIAL.started + 20, step=Step.WARM_UP))
        store.add_sample(trial.id, replace(SAMPLE, second=2, at=TRIAL.started + 45))
    with Store.open(tmp_path) as store:
        store.begin_session()
        (killed,) = store.trials()
    assert killed.state is TrialState.INTERRUPTED
    assert killed.steps == {Step.MEASURE: 45.0}


def test_a_trial_that_was_killed_before_its_first_second_keeps_the_time_up_to_the_last_line_of_the_log(tmp_path, spec):
    with make(tmp_path, spec) as store:
        store.say(TRIAL.started - 1, "before it")
        begun(store, TRIAL)
        store.say(TRIAL.started + 7, "within it")
        store.begin_session()
        assert store.trials()[0].steps == {Step.RESTORE: 7.0}


def test_times_that_were_stored_without_counts_can_be_read(tmp_path, spec):
    with make(tmp_path, spec) as store:
        store.begin_trial(Trial(1, 1, 1, 1, "1", TrialState.RUNNING, 5.0))
    with closing(sqlite3.connect(tmp_path / STUDY_FILE)) as connection, connection:
        old = '[{"name": "pay", "per_second": 2.0, "p95_ms": 1.0, "p99_ms": null}]'
        connection.execute("UPDATE trial SET transaction_times = ?", [old])
    with Store.open(tmp_path) as store:
        assert store.trials()[0].transaction_times == (TransactionTimes("pay", ()),)
