from dataclasses import replace

from dialin.model.trial import Sample, Step
from dialin.report.charts.course_chart import course


def second(number, tps=100.0, step=Step.MEASURE, threads=8):
    return Sample(number, 1000.0 + number, step, tps, 0, 0, 0, 20.0, 0, 0, threads=threads)


def tps(sample):
    return sample.tps


WARM = [second(n, 50.0, Step.WARM_UP) for n in range(1, 11)]
MEASURED = [second(n) for n in range(11, 111)]


def test_the_warm_up_goes_over_into_what_was_measured_without_a_gap():
    found = course([*WARM, *MEASURED], tps, 1000, None)
    assert list(found.warm.seconds) == list(range(1, 12))
    assert list(found.measured.seconds) == list(range(11, 111))


def test_the_rolling_mean_is_of_what_was_measured_alone():
    found = course([*WARM, *MEASURED], tps, 1000, 5)
    assert {value for _, value in found.mean.known} == {100.0}


def test_a_rolling_mean_leaves_out_the_seconds_that_the_host_lost():
    spoiled = [replace(sample, tps=1.0, gap=2.0) if sample.second == 50 else sample for sample in MEASURED]
    found = course(spoiled, tps, 1000, 5)
    assert {value for _, value in found.mean.known} == {100.0}
    assert 1.0 in found.measured.values


def test_lines_break_between_numbers_of_threads_and_not_within_one():
    few = [second(n, 10.0, threads=1) for n in range(1, 61)]
    many = [second(n, 90.0, threads=64) for n in range(61, 121)]
    found = course([*few, *many], tps, 1000, 5)
    assert found.measured.seconds[60] is None
    assert sum(at is None for at in found.measured.seconds) == 1
    assert {value for _, value in found.mean.known} == {10.0, 90.0}, "a mean over two numbers of threads is of neither"


def test_where_there_are_several_warm_ups_none_goes_over_into_another_number_of_threads():
    steps = [
        *(second(n, 5.0, Step.WARM_UP, 1) for n in range(1, 4)),
        *(second(n, 10.0, threads=1) for n in range(4, 8)),
        *(second(n, 60.0, Step.WARM_UP, 64) for n in range(8, 11)),
        *(second(n, 90.0, threads=64) for n in range(11, 15)),
    ]
    found = course(steps, tps, 1000, None)
    assert list(found.warm.seconds) == [1, 2, 3, None, 8, 9, 10]
    assert list(found.measured.seconds) == [4, 5, 6, 7, None, 11, 12, 13, 14]


def test_embedded_data_is_short_and_empty_parts_are_left_out():
    found = course([second(1, 1234.5678), second(2, 0.123456789)], tps, 100, None)
    assert found.embedded() == {"m": [[1, 2], [1234.6, 0.123457]]}
