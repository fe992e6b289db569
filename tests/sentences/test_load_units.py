import io
from dataclasses import replace

import pytest

from dialin.evidence.server_metrics import server_metrics
from dialin.model.verdict import Estimate
from dialin.model.workload import LoadTraits, Runs, WorkloadSpec
from dialin.report.charts.trial_series import all_series
from dialin.report.document.figure_columns import columns
from dialin.report.document.trial_tables import every_trial
from dialin.report.plain_lines import PlainLines
from dialin.report.render import html, markdown
from dialin.sentences import load_units
from dialin.sentences.names import naming
from fixtures import example_studies
from fixtures.event_replay import drive

MIB = 1024**2
RUNS = LoadTraits(unit="run", runs=Runs(warm_up=0, measured=3, most=6, seconds=1.0))


def timed(**workload):
    """The winner's study, as if it had been a scan of 512 MiB of which a run takes three seconds or so."""
    record = example_studies.winner()
    spec = record.spec.model_copy(update={"workload": record.spec.workload.model_copy(update={"threads": 1, "traits": RUNS})})
    slow = {trial: [replace(one, tps=one.tps / 1000, seconds=3.0) for one in own] for trial, own in record.samples.items()}
    candidates = [
        one.model_copy(update={"tps": one.tps and Estimate(mean=0.31, low=0.25, high=0.5)}) for one in record.verdict.candidates
    ]
    known = {"traits": RUNS.model_dump(mode="json"), "threads": 1, "levels": [], "bytes_a_query": 512.0 * MIB, **workload}
    verdict = record.verdict.model_copy(update={"candidates": candidates, "workload": known})
    return replace(record, spec=spec, samples=slow, verdict=verdict)


def shown(verdict, title):
    return next(column for column in columns(verdict) if column.title == title).of(verdict.candidates[0])


def test_a_scan_is_reported_in_runs_and_any_other_load_in_transactions():
    assert load_units.units(WorkloadSpec(traits=RUNS)).rate == "runs/s"
    assert load_units.units(WorkloadSpec()).rate == "transactions/s"


def test_the_table_of_a_scan_reports_how_long_a_run_takes_and_how_fast_it_reads():
    verdict = timed().verdict
    assert [column.title for column in columns(verdict)][:4] == ["runs/s", "to baseline", "s/run", "MiB/s"]
    assert shown(verdict, "runs/s").full == "0.31 (0.25 to 0.5)"
    assert shown(verdict, "s/run").full == "3.23 (2.00 to 4.00)"
    assert shown(verdict, "MiB/s").full == "159 (128 to 256)"


def test_a_run_of_four_sessions_is_four_queries():
    assert shown(timed(threads=4).verdict, "s/run").text == "12.9"


def test_a_run_at_several_numbers_of_sessions_takes_their_geometric_mean():
    assert load_units.seconds_a_run(Estimate(mean=2.0, low=None, high=None), timed(levels=[1, 4]).verdict).mean == 1.0


def test_no_speed_is_reported_of_a_query_that_reads_nobody_knows_what():
    verdict = timed(bytes_a_query=None).verdict
    assert "MiB/s" not in [column.title for column in columns(verdict)]


@pytest.mark.parametrize("rate", [None, Estimate(mean=0.0, low=None, high=None)])
def test_a_candidate_that_was_not_measured_has_no_time_of_a_run(rate):
    assert load_units.seconds_a_run(rate, timed().verdict) is None


def test_the_table_of_a_scan_has_no_seconds_that_stall():
    titles = [column.title for column in columns(timed().verdict)]
    assert not {"worst second", "stalls/1000 s", "tps"} & set(titles)


def test_runs_lie_on_the_clock_by_what_they_take():
    record = timed()
    trial = record.trials[0].id
    runs = [replace(one, at=1000.0 + 3 * number, seconds=3.0) for number, one in enumerate(record.samples[trial][:5], 1)]
    series = all_series(replace(record, samples={trial: runs}))[0]
    assert [second for second, _ in series.tps.points] == [3, 6, 9, 12, 15]
    assert series.units == load_units.units_from(RUNS)


def test_a_trial_of_one_run_has_a_figure():
    record = timed()
    trial = next(one for one in record.trials if one.state == "done")
    one = [sample for sample in record.samples[trial.id] if sample.step == "measure" and not sample.lost][:1]
    short = replace(record, samples={trial.id: one})
    (table,) = every_trial(short, all_series(short), naming(record.spec), server_metrics(short)).parts
    (row,) = (row for row in table.rows if row.key == f"trial-{trial.id}")
    assert row.cells[9].text not in ("", "–")


def test_markdown_reports_a_scan_in_runs():
    text = markdown.render(timed())
    assert "s/run" in text
    assert "transactions/s" not in text


def test_the_lines_of_a_running_scan_report_runs():
    stream = io.StringIO()
    drive(timed(), PlainLines(stream))
    assert " runs/s" in stream.getvalue()
    assert "transactions/s" not in stream.getvalue()


def test_the_page_of_a_scan_reports_runs():
    page = html.render(timed())
    assert "runs/s" in page
    assert "transactions/s" not in page
