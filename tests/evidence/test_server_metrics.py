"""What a server did beside each second of throughput, from readings whose truth is known."""

from dataclasses import replace

import pytest

from dialin.evidence.server_metrics import PANELS, READINGS, server_metrics
from dialin.model.evidence import PointColumns
from dialin.model.trial import Purpose, Step, TrialState
from fixtures import example_studies
from fixtures.example_readings import with_readings


@pytest.fixture
def record():
    return with_readings(example_studies.winner())


def test_every_completed_trial_has_the_metrics_that_exist(record):
    metrics = server_metrics(record)
    assert [one.trial.id for one in metrics.trials] == [trial.id for trial in record.trials if trial.state is TrialState.DONE]
    titles = [panel.title for panel in metrics.panels]
    assert titles == ["CPU", "Disk busy", "Disk IOPS", "Checkpoint age", "Dirty pages", "History list length"]


def test_values_are_in_the_unit_of_their_panel(record):
    one = server_metrics(record).trials[0]
    assert one.mean("server-cpu") == pytest.approx(8.0, rel=0.03)
    assert one.mean("driver-cpu") == pytest.approx(0.9, rel=0.03)
    assert one.mean("disk-busy") == pytest.approx(55.0, rel=0.05)
    assert one.mean("dirty-pages") == pytest.approx(25.0, rel=0.05)
    assert one.most("checkpoint-age") == pytest.approx(160.0, rel=0.2)
    assert one.lines["history-list"][-1] > 1500


def test_a_counter_that_stood_still_is_zero_and_not_missing(record):
    one = server_metrics(record).trials[0]
    assert set(one.known("disk-reads")) == {0.0}
    assert one.mean("disk-writes") > 500


def test_the_steps_are_the_seconds_of_the_measured_window(record):
    one = server_metrics(record).trials[0]
    measured = [sample for sample in record.samples[one.trial.id] if sample.step is Step.MEASURE]
    assert one.steps.length == 1
    assert one.throughput == [sample.tps for sample in measured]
    assert one.least == []
    assert {len(values) for values in one.lines.values()} == {len(measured)}


def test_a_long_trial_has_longer_steps_and_keeps_its_lowest_second(record):
    trial = record.trials[0]
    own = [sample for sample in record.samples[trial.id] if sample.step is Step.MEASURE]
    begin = own[0].at - 1
    long = [replace(own[0], second=n, at=begin + n, tps=3.0 if n == 500 else 900.0) for n in range(1, 1001)]
    one = server_metrics(replace(record, trials=[trial], samples={trial.id: long})).trials[0]
    assert one.steps.length == 5
    assert min(one.least) == 3.0
    assert min(one.throughput) == pytest.approx((3.0 + 4 * 900) / 5)


def test_seconds_between_two_numbers_of_threads_are_not_measured(record):
    trial = record.trials[0]
    own = record.samples[trial.id]
    steps = [Step.MEASURE] * 20 + [Step.WARM_UP] * 20 + [Step.MEASURE] * 20
    begin = next(sample.at for sample in own if sample.step is Step.MEASURE)
    samples = [replace(own[0], second=n, at=begin + n, step=step, threads=1 if n < 20 else 64) for n, step in enumerate(steps)]
    one = server_metrics(replace(record, trials=[trial], samples={trial.id: samples})).trials[0]
    for values in (one.throughput, one.lines["server-cpu"]):
        assert set(values[22:38]) == {None}
        assert None not in values[5:18]


def test_where_the_disk_is_unknown_innodb_s_own_reads_and_writes_stand_for_it(record):
    name = ("status", "Innodb_data_writes")
    changed, watched = {}, {}
    for trial, points in record.over_time.items():
        rows = [
            (at, points.names[which], value)
            for at, which, value in zip(points.at, points.which, points.value, strict=True)
            if points.names[which][0] != "machine"
        ]
        rows += [(at, name, 700.0) for at, (_, figure), _ in rows if figure == "Questions"]
        names = list(dict.fromkeys(row[1] for row in rows))
        changed[trial] = PointColumns(
            names, [row[0] for row in rows], [names.index(row[1]) for row in rows], [row[2] for row in rows]
        )
        saw = record.watched[trial]
        status = replace(
            saw["status"], counters={**saw["status"].counters, "Innodb_data_writes": 1.0, "Innodb_data_reads": 0.0}
        )
        watched[trial] = {**saw, "status": status, "machine": replace(saw["machine"], counters={})}
    metrics = server_metrics(replace(record, over_time=changed, watched=watched))
    assert "Disk IOPS" not in [panel.title for panel in metrics.panels]
    assert "InnoDB data reads and writes" in [panel.title for panel in metrics.panels]
    assert metrics.trials[0].mean("data-writes") == pytest.approx(700.0)
    assert metrics.trials[0].mean("data-reads") == 0.0


def test_trials_for_waits_and_trials_without_readings_are_left_out(record):
    waits = [replace(trial, purpose=Purpose.WAITS) for trial in record.trials[:2]]
    few = replace(record, trials=[*waits, *record.trials[2:]])
    assert {one.trial.id for one in server_metrics(few).trials}.isdisjoint({one.id for one in waits})
    assert server_metrics(example_studies.winner()).trials == []
    assert server_metrics(replace(record, over_time={1: PointColumns()})).trials == []


def test_many_trials_share_the_steps_among_them(record):
    trials = [replace(record.trials[0], id=n) for n in range(1, 101)]
    samples = {trial.id: record.samples[1] for trial in trials}
    over_time, watched = dict.fromkeys(samples, record.over_time[1]), dict.fromkeys(samples, record.watched[1])
    many = server_metrics(replace(record, trials=trials, samples=samples, over_time=over_time, watched=watched))
    assert sum(one.steps.count for one in many.trials) <= 100 * 60


def test_all_that_is_drawn_is_read():
    named = {
        (source.probe, name) for panel in PANELS for line in panel.lines for source in line.sources for name in source.names
    }
    assert named < READINGS
    assert len({line.key for panel in PANELS for line in panel.lines}) == sum(len(panel.lines) for panel in PANELS)
