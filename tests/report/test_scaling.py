from dataclasses import replace

from dialin.model.verdict import Estimate
from dialin.report import scaling
from dialin.report.document import transaction_tables
from dialin.report.render import html, markdown
from fixtures import example_reasons, example_studies

LABELS = {str(2**power): str(2**power) for power in range(7)}


def full():
    return example_reasons.full(example_studies.winner())


def cells(why):
    """The first row of the table."""
    return [cell.full for cell in transaction_tables.scaling_table(why, LABELS, "transactions/s", 0).rows[0].cells]


def test_each_candidate_has_its_throughput_at_each_thread_count_and_the_curve_s_figures():
    first = cells(full())
    assert scaling.threads(full()) == [1, 4, 16, 64]
    assert [scaling.title(count) for count in (1, 64)] == ["1 thread", "64 threads"]
    assert first[:2] == ["1", "320 (310 to 330)"]
    assert first[-4:] == ["4.0 %", "0.0012", "28", "2.0 %"]


def test_a_thread_count_that_a_candidate_did_not_measure_is_empty():
    why = full()
    first = why.scaling[0].model_copy(update={"points": why.scaling[0].points[1:], "usl": None})
    row = cells(why.model_copy(update={"scaling": [first, *why.scaling[1:]]}))
    assert row[1] == ""
    assert row[-2] == "–"


def test_a_peak_far_beyond_what_was_measured_is_not_reported_as_a_figure():
    usl = full().scaling[0].usl
    assert scaling.peak(usl.model_copy(update={"peak": 900.0}), [1, 64]) == "beyond 256"
    assert scaling.peak(usl.model_copy(update={"peak": None}), [1, 64]) == "none"


def test_the_chart_in_words_reports_the_highest_mean_at_both_ends():
    reported = scaling.description(full(), LABELS, "transactions/s")
    assert reported.startswith("1 thread: 64 has the highest mean (344 transactions/s)")
    assert "; 64 threads: 64 has the highest mean" in reported


def test_saturation_is_the_fewest_threads_that_have_nearly_all_of_the_highest_mean():
    def scaled(*means):
        first = full().scaling[0]
        points = [
            point.model_copy(update={"tps": Estimate(mean=mean, low=None, high=None), "threads": threads})
            for point, mean, threads in zip(first.points, means, (1, 4, 16, 64), strict=True)
        ]
        return first.model_copy(update={"points": points})

    assert scaling.saturation(scaled(100, 300, 990, 1000)).threads == 16
    assert scaling.saturation(scaled(100, 990, 1000, 700)).threads == 4
    assert scaling.saturation(scaled(100, 200, 400, 800)) is None
    why = full().model_copy(update={"scaling": [scaled(100, 300, 990, 1000)]})
    assert "with 95 % of the highest mean: 1: 16." in scaling.description(why, LABELS, "transactions/s")


def test_a_candidate_whose_ratio_to_the_highest_may_be_one_is_inconclusive_however_the_levels_overlap():
    why = full()

    def with_mean(one, mean, ratio):
        tps = Estimate(mean=mean, low=90, high=110)
        points = [point.model_copy(update={"tps": tps, "to_highest": ratio}) for point in one.points]
        return one.model_copy(update={"points": points})

    ratios = [
        Estimate(mean=1, low=1, high=1),
        Estimate(mean=0.99, low=0.985, high=0.995),
        Estimate(mean=0.98, low=0.9, high=1.02),
        None,
    ]
    near = [with_mean(one, 100 - place, ratio) for place, (one, ratio) in enumerate(zip(why.scaling, ratios, strict=False))]
    reported = scaling.description(why.model_copy(update={"scaling": near}), LABELS, "runs/s")
    assert "1 has the highest mean (100 runs/s); inconclusive against 4 and 8; 64 threads" in reported


def test_where_a_rate_was_requested_it_is_said_why_there_is_no_curve():
    why = full()
    flat = why.model_copy(update={"scaling": [one.model_copy(update={"usl": None}) for one in why.scaling]})
    assert "requested rate" in scaling.reading(flat, 200)
    assert scaling.reading(flat, 0) == ""
    assert scaling.reading(why, 0) == scaling.CURVE
    for rate, said in ((200, True), (0, False)):
        record = example_studies.winner()
        workload = record.spec.workload.model_copy(update={"rate": rate})
        record = replace(record, spec=record.spec.model_copy(update={"workload": workload}))
        for page in (html.render(record, flat), markdown.render(record, flat)):
            assert ("No curve is fitted" in page) is said
            assert "contention σ" not in page
