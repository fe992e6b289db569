from dataclasses import replace

import pytest

from dialin.model.trial import Sample, Step, TrialState, seconds_of
from dialin.report.charts import trial_series
from dialin.report.document import facts
from dialin.text import duration
from fixtures import example_studies
from fixtures.changed_studies import long_study


def test_a_long_study_is_thinned_to_what_a_page_can_hold_and_keeps_its_stalls():
    found = trial_series.all_series(long_study(trials=6, length=20_000))
    assert sum(len(one.tps.points) for one in found) <= trial_series.POINTS_OF_A_STUDY + 6
    assert all(3.0 in one.tps.measured.values for one in found)


def test_the_warm_up_stays_apart_from_what_was_measured():
    found = trial_series.all_series(long_study(trials=2, length=500))[0]
    assert list(found.tps.warm.seconds) == [*range(1, 11), 11]
    assert found.zero == 10
    assert found.tps.measured.seconds[0] == 11


def test_a_failed_trial_has_no_box_for_it_is_never_a_low_score():
    found = trial_series.all_series(example_studies.failed_candidate())
    assert all((not one.boxes) == (one.trial.state is TrialState.FAILED) for one in found)
    assert all((one.mean is None) == (one.trial.state is TrialState.FAILED) for one in found)


def test_the_days_between_two_sessions_are_left_out_of_the_clock():
    record = example_studies.no_difference()
    later = [
        replace(trial, session=2, started=trial.started + 3 * 86_400) if trial.block > 3 else trial for trial in record.trials
    ]
    shift = trial_series.pauses(later)
    assert shift[1] == 0
    assert shift[2] == pytest.approx(3 * 86_400, abs=120)


def test_a_trial_without_samples_is_still_placed_on_the_clock():
    record = example_studies.failed_candidate()
    found = next(one for one in trial_series.all_series(record) if not one.tps.points)
    assert found.base == pytest.approx(found.trial.started - record.trials[0].started, abs=0.1)


def test_seconds_that_the_host_lost_are_kept_apart_and_enter_no_box():
    record = example_studies.safe_choice()
    for one in trial_series.all_series(record):
        lost = [sample for sample in record.samples[one.trial.id] if sample.lost]
        assert one.lost_seconds == len(lost)
        assert [second for second, *_ in one.lost] == [sample.second for sample in lost]
        assert not lost or one.boxes[0].worst > max(sample.tps for sample in lost)


def test_very_many_lost_seconds_are_thinned_and_still_counted():
    record = long_study(trials=1, length=10_000)
    spoiled = [replace(sample, gap=1.0) for sample in record.samples[1]]
    one = trial_series.all_series(replace(record, samples={1: spoiled}))[0]
    assert one.lost_seconds == 9_990
    assert len(one.lost) < 100
    assert one.boxes == {}


def test_a_warning_s_data_that_names_no_trials_marks_none():
    record = example_studies.by_stability()
    for odd in ("8", 8, [8.5, "8", None], {"8": 1}):
        note = record.verdict.warnings[0].model_copy(update={"data": {"trials": odd}})
        found = replace(record, verdict=record.verdict.model_copy(update={"warnings": [note]}))
        assert trial_series.unsteady(found) == frozenset()
    assert trial_series.unsteady(record) == {8, 15}


def with_levels():
    record = example_studies.no_difference()
    steps = [Step.WARM_UP] * 3 + [Step.MEASURE] * 4
    samples = [
        Sample(n, 1000.0 + n, step, 100.0 * threads, 0, 0, 0, 1, 0, 0, threads=threads)
        for threads, begin in ((4, 0), (16, 7))
        for n, step in enumerate(steps, start=begin + 1)
    ]
    return replace(record, trials=record.trials[:1], samples={record.trials[0].id: samples})


def test_measuring_begins_after_the_first_warm_up_where_there_are_several():
    (one,) = trial_series.all_series(with_levels())
    assert one.zero == 3
    assert [second for second, _ in one.tps.points] == list(range(1, 15))


def test_numbers_of_threads_are_never_mixed_in_a_box_and_meet_in_a_geometric_mean():
    (one,) = trial_series.all_series(with_levels())
    assert {threads: box.median for threads, box in one.boxes.items()} == {4: 400, 16: 1600}
    assert one.mean == pytest.approx(800)


def test_rolling_means_are_taken_over_the_same_seconds_in_every_trial():
    assert {one.window for one in trial_series.all_series(example_studies.winner())} == {5}
    assert {one.window for one in trial_series.all_series(with_levels())} == {None}


def test_latency_is_embedded_beside_throughput_and_left_out_where_there_is_none():
    record = example_studies.no_difference()
    one = trial_series.all_series(record)[0].embedded()
    assert one["latency"].keys() == one["tps"].keys() == {"w", "m", "a"}
    none = {trial: [replace(sample, latency_ms=0.0) for sample in own] for trial, own in record.samples.items()}
    assert "latency" not in trial_series.all_series(replace(record, samples=none))[0].embedded()


def test_a_page_has_one_duration_of_its_trials():
    record = example_studies.winner()
    took = duration(seconds_of(record.trials))
    assert f"of the trials' {took} was" in facts.time_sentence(record.trials)


def test_waiting_for_a_server_is_no_part_of_the_duration():
    first, *others = example_studies.winner().trials
    waited = replace(first, steps={**first.steps, Step.WAIT: 300.0})
    assert seconds_of([waited, *others]) == pytest.approx(seconds_of([first, *others]))
    assert facts.time_sentence([waited, *others]) == facts.time_sentence([first, *others])
