import subprocess
import sys
from dataclasses import replace
from datetime import UTC, datetime

import polars as pl
import pytest

import dialin
from dialin.errors import UserError
from dialin.frames import columns
from dialin.model.evidence import PointColumns
from dialin.model.setting import describe
from dialin.model.trial import Step
from dialin.store import waits_file
from dialin.store.store import Store
from fixtures import example_evidence, example_studies, stored_study

FRAMES = [name for name in columns.EVERY if name != "raw_waits"]


def test_importing_dialin_loads_nothing_heavy():
    heavy = "{'polars', 'sqlalchemy', 'scipy', 'plotly', 'pydantic', 'rich', 'dialin.frames'}"
    code = f"import sys, dialin; print(sorted({heavy} & set(sys.modules)), callable(dialin.open_study))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[] True"


@pytest.fixture(scope="module")
def unlike(tmp_path_factory):
    """Studies that failed, that did not end, and that probes watched."""
    records = (example_studies.failed_candidate(), example_studies.unfinished(), example_evidence.waits_moved())
    directories = [tmp_path_factory.mktemp("study") for _ in records]
    for record, directory in zip(records, directories, strict=True):
        stored_study.keep(record, directory)
    return directories


@pytest.mark.parametrize("name", FRAMES)
def test_every_frame_has_the_columns_that_are_documented_and_their_types(unlike, name):
    for directory in unlike:
        study = dialin.open_study(directory)
        found = dict(getattr(study, name).schema)
        promised = columns.schema(columns.EVERY[name])
        assert list(found)[: len(promised)] == list(promised)
        assert {column: found[column] for column in promised} == promised


def test_samples_are_those_of_the_record_with_whose_they_are(kept, record):
    found = dialin.open_study(kept(record)).samples
    seconds = [(trial, sample) for trial in record.trials for sample in record.samples.get(trial.id, ())]
    assert found.height == len(seconds)
    for row, (trial, sample) in zip(found.iter_rows(named=True), seconds, strict=True):
        assert (row["trial"], row["candidate"], row["block"]) == (trial.id, trial.candidate, trial.block)
        assert (row["purpose"], row["state"], row["step"]) == (trial.purpose, trial.state, sample.step)
        assert (row["second"], row["tps"], row["latency_ms"], row["errors"]) == (
            sample.second,
            sample.tps,
            sample.latency_ms,
            sample.errors,
        )
        assert (row["gap_s"], row["stolen"], row["lost"]) == (sample.gap, sample.stolen, sample.lost)
        assert abs(row["time"].timestamp() - sample.at) < 0.001


@pytest.mark.parametrize(
    ("gap", "stolen", "seconds"),
    [(0.3, None, 1.0), (0.29, 0.25, 1.0), (0.29, 0.24, 1.0), (0.4, None, 30.0), (0.7, None, 30.0), (0.0, 0.0, 1.0)],
)
def test_a_second_is_lost_where_the_model_says_so(kept, gap, stolen, seconds):
    record = example_studies.inconclusive()
    sample = replace(record.samples[1][0], gap=gap, stolen=stolen, seconds=seconds)
    found = dialin.open_study(kept(replace(record, samples={1: [sample]}))).samples
    assert found["lost"].to_list() == [sample.lost]


def test_the_mean_of_a_trial_is_one_line_of_polars(kept):
    study = dialin.open_study(kept(example_studies.winner()))
    counted = study.samples.filter(purpose="race", state="done", step="measure", lost=False)
    means = counted.group_by("candidate").agg(pl.col("tps").mean())
    best = means.sort("tps", descending=True)["candidate"][0]
    assert best == "16" == study.verdict.filter(pl.col("recommended"))["candidate"].item()


def test_the_verdict_has_every_interval(kept):
    record = example_studies.safe_choice()
    found = dialin.open_study(kept(record)).verdict
    for row, one in zip(found.iter_rows(named=True), record.verdict.candidates, strict=True):
        assert (row["candidate"], row["state"], row["probability"]) == (one.name, one.state, one.probability)
        for name, estimate in (("tps", one.tps), ("ratio", one.ratio), ("cv", one.cv), ("latency_ms", one.latency_ms)):
            assert (row[name], row[f"{name}_low"], row[f"{name}_high"]) == (estimate.mean, estimate.low, estimate.high)
        assert row["stalls_per_1000"] == one.stall_seconds_per_1000.mean
        assert row["baseline"] == (one.name == record.verdict.baseline)


def test_candidates_have_a_column_of_numbers_for_each_variable_that_is_studied(kept):
    found = dialin.open_study(kept(example_studies.failed_candidate())).candidates
    assert found["innodb_buffer_pool_size"].to_list() == [size * 2**30 for size in (8, 16, 90, 900)]
    assert found["done"].to_list() == [4, 4, 0, 0]
    assert found["failed"].to_list() == [0, 0, 4, 4]
    assert found["baseline"].to_list() == [True, False, False, False]


def test_values_that_are_no_numbers_stay_as_they_were_requested_and_what_is_left_alone_is_null(kept):
    record = example_studies.hostile()
    found = dialin.open_study(kept(record)).candidates
    assert found["init_connect"].to_list() == [None, example_studies.HOSTILE, None]
    assert found["setting"].to_list() == [describe(one.setting) for one in record.spec.candidates]


def test_a_trial_reports_its_steps_its_cpu_and_why_it_failed(kept):
    record = example_studies.failed_candidate()
    found = dialin.open_study(kept(record)).trials
    for row, trial in zip(found.iter_rows(named=True), record.trials, strict=True):
        assert row["measure_s"] == trial.steps.get(Step.MEASURE)
        assert row["server_cpu_s"] == (trial.costs.server_cpu if trial.costs else None)
        assert row["log_tail"] == (trial.failure.log_tail if trial.failure else None)
        assert row["started"] == datetime.fromtimestamp(trial.started, UTC)


def test_variables_stand_beside_what_was_requested(kept):
    found = dialin.open_study(kept(example_studies.winner())).variables
    asked = found.filter(pl.col("variable") == "innodb_buffer_pool_instances", candidate="16")
    assert set(asked["asked"]) == set(asked["in_force"]) == {"16"}
    assert found.filter(pl.col("variable") == "version")["asked"].null_count() == 35


def test_readings_of_probes_are_there_by_trial_and_over_time(kept):
    record = example_evidence.waits_moved()
    directory = kept(record)
    one = next(iter(record.watched[1].values()))
    with Store.open(directory) as store:
        store.save_watched(1, [one], PointColumns([(one.probe, "rows")], (1_788_350_460.25,), (0,), (7.5,)))
    study = dialin.open_study(directory)
    risen = study.counters.filter(trial=1, probe=one.probe)
    assert dict(zip(risen["name"], risen["rise"], strict=True)) == dict(one.counters)
    assert risen["per_second"].to_list() == [rise / one.seconds for rise in one.counters.values()]
    assert study.evidence.select("trial", "candidate", "probe", "name", "value").rows() == [
        (1, record.trials[0].candidate, one.probe, "rows", 7.5)
    ]
    assert study.evidence["time"].item() == datetime.fromtimestamp(1_788_350_460.25, UTC)
    assert isinstance(study.scan_evidence(), pl.LazyFrame)


def test_raw_waits_are_summed_up_and_there_one_by_one(kept, tmp_path):
    record = example_evidence.waits_moved()
    directory = kept(record)
    number, raw = next(iter(record.waits.items()))
    file = tmp_path / "ring"
    file.write_text("1\t5\twait/synch/mutex/innodb/a\tlock\t100\t2500\t1\n")
    waits_file.write(directory / "waits" / f"trial-{number}.parquet", [file])
    study = dialin.open_study(directory)
    row = raw.rows[0]
    reported = study.waits.filter(trial=number).row(0, named=True)
    assert (reported["instrument"], reported["count"]) == (row.instrument, row.count)
    assert reported["p99_ns"] == row.p99 / 1000
    bars = study.wait_histograms.filter(trial=number, instrument=row.instrument, operation=row.operation)
    assert bars["count"].to_list() == list(row.histogram)
    assert bars["below_ns"].to_list() == [float(2 ** (power + 1)) for power in range(len(row.histogram))]
    events = study.scan_waits().collect()
    assert events.select("trial", "instrument", "wait_ps").rows() == [(number, "wait/synch/mutex/innodb/a", 2500)]


def test_a_study_without_a_verdict_has_all_frames_and_no_rows_in_that_of_the_verdict(kept):
    study = dialin.open_study(kept(example_studies.unfinished()))
    assert study.result is None
    assert study.verdict.is_empty()
    assert study.headline.startswith("No verdict yet")
    assert not study.samples.is_empty()


def test_changes_to_a_frame_stay_with_that_frame(kept):
    study = dialin.open_study(kept(example_studies.inconclusive()))
    mine = study.samples
    mine[0, "tps"] = -1.0
    assert study.samples["tps"].min() >= 0


def test_a_running_study_gives_what_has_come_since(kept):
    record = example_studies.inconclusive()
    directory = kept(record)
    study = dialin.open_study(directory)
    before = study.samples.height
    with Store.open(directory) as store:
        store.add_sample(record.trials[-1].id, replace(record.samples[1][0], second=10_000))
        assert study.samples.height == before + 1
        store.say(9.0, "one more line")
        assert study.log["text"].to_list()[-1] == "one more line"


def test_its_words_in_a_notebook_report_what_is_there(kept):
    text = repr(dialin.open_study(kept(example_studies.winner())))
    assert "Winner, by throughput" in text
    assert "innodb_buffer_pool_instances = 16: 1,120 → 1,403 tps" in text
    assert "7 candidates, 35 trials (35 done), 4 looks" in text
    assert all(name in text for name in [*FRAMES, "scan_evidence()", "scan_waits()"])


def test_its_words_are_harmless_whatever_a_study_holds_and_even_if_it_is_gone(kept):
    directory = kept(example_studies.hostile())
    study = dialin.open_study(directory)
    assert not set(repr(study)) & {"\x1b", "\x07", "\u202e"}
    (directory / "study.db").unlink()
    assert "holds no dialin study" in repr(study)


def test_the_columns_of_each_frame_are_reported_with_their_meaning(kept):
    study = dialin.open_study(kept(example_studies.inconclusive()))
    reported = study.columns("samples")
    assert reported["column"].to_list() == list(columns.SAMPLES)
    assert "milliseconds" in reported.filter(pl.col("column") == "latency_ms")["meaning"].item()
    with pytest.raises(UserError, match="There is no frame sample"):
        study.columns("sample")


def test_a_directory_without_a_study_is_one_line(tmp_path):
    with pytest.raises(UserError, match="holds no dialin study"):
        dialin.open_study(tmp_path)


def test_a_path_may_be_text(kept):
    assert dialin.open_study(str(kept(example_studies.inconclusive()))).spec.baseline == "1"
