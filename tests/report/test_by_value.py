from dataclasses import replace

import pytest

from dialin.report.charts import by_value
from dialin.report.charts.chart import label_margin
from dialin.report.charts.style import styles
from fixtures import example_studies
from fixtures.changed_studies import two_variables


def dose(record):
    return by_value.dose_response(record.spec, record.verdict, styles(record.spec))


def test_throughput_stands_at_its_value_on_a_logarithmic_axis_with_its_interval_and_cv_below():
    record = example_studies.winner()
    chart = dose(record)
    layout, traces = chart.figure["layout"], chart.figure["data"]
    assert layout["xaxis"]["type"] == "log"
    assert layout["xaxis"]["tickvals"] == [1, 2, 4, 8, 16, 32, 64]
    points = [one for one in traces if one["mode"] == "markers"]
    assert [one["yaxis"] for one in points] == ["y"] * 7 + ["y2"] * 7
    best = record.verdict.candidates[4]
    assert (points[4]["x"], points[4]["y"]) == ([16], [best.tps.mean])
    assert points[4]["error_y"]["array"] == [pytest.approx(best.tps.high - best.tps.mean)]
    assert points[11]["y"] == [pytest.approx(100 * best.cv.mean)]
    assert points[0]["marker"]["symbol"] == "diamond"
    assert points[4]["text"] == ["16: 1,403 (1,377 to 1,429)"]


def test_a_single_trial_is_hollow_and_no_line_joins_it():
    record = example_studies.winner()
    single = [one.model_copy(update={"trials": 1}) if one.name == "4" else one for one in record.verdict.candidates]
    chart = dose(replace(record, verdict=record.verdict.model_copy(update={"candidates": single})))
    lines = [trace for trace in chart.figure["data"] if trace["mode"] == "lines"]
    assert [[y is None for y in line["y"]] for line in lines] == [[False, False, True, False, False, False, False]] * 2
    symbols = [trace["marker"]["symbol"] for trace in chart.figure["data"] if trace["mode"] == "markers"]
    assert [symbol.endswith("-open") for symbol in symbols] == [False, False, True, False, False, False, False] * 2
    assert "A hollow mark is a single trial" in chart.text
    assert "hollow" not in dose(record).text


def test_values_close_together_have_a_linear_axis_and_latency_stands_below_where_it_is_the_goal():
    record = example_studies.by_latency()
    chart = dose(record)
    assert chart is None or "p99" in chart.title
    verdict = example_studies.winner().verdict
    near = [
        one.model_copy(update={"setting": {"innodb_buffer_pool_instances": 4 + n}}) for n, one in enumerate(verdict.candidates)
    ]
    spec = example_studies.winner().spec
    drawn = by_value.dose_response(spec, verdict.model_copy(update={"candidates": near}), styles(spec))
    assert drawn.figure["layout"]["xaxis"]["type"] == "linear"


@pytest.mark.parametrize("name", ["builds", "failed_candidate", "hostile", "weaker_durability"])
def test_what_is_no_row_of_three_numbers_has_no_curve(name):
    assert dose(example_studies.EVERY[name]()) is None


def test_two_variables_are_a_heatmap_with_the_change_in_each_cell():
    record = two_variables()
    chart = by_value.heatmap(record.spec, record.verdict)
    (trace,) = chart.figure["data"]
    assert (list(trace["x"]), list(trace["y"])) == (["200", "2000"], ["512M", "1G"])
    ratios = [one.ratio.mean for one in record.verdict.candidates]
    assert [value for row in trace["z"] for value in row] == pytest.approx(
        [100 * (ratios[place] - 1) for place in (1, 3, 0, 2)]
    )
    assert trace["zmax"] == -trace["zmin"]
    assert [text for row in trace["text"] for text in row][1] == "+17.7 %"
    assert dose(record) is None


def test_long_values_differ_and_have_room_beside_a_heatmap():
    record = two_variables()
    sizes = {"1G": "O_DIRECT_NO_FSYNC", "512M": "STRICT_TRANS_TABLES,NO_ZERO_IN_DATE,NO_ZERO_DATE"}
    candidates = [
        one.model_copy(update={"setting": {name: sizes.get(value, value) for name, value in one.setting.items()}})
        for one in record.verdict.candidates
    ]
    chart = by_value.heatmap(record.spec, record.verdict.model_copy(update={"candidates": candidates}))
    names = chart.figure["data"][0]["y"]
    assert "O_DIRECT_NO_FSYNC" in names
    assert len(set(names)) == 2
    assert chart.figure["layout"]["margin"]["l"] > label_margin(names, most=max(map(len, names)))


def test_one_variable_has_no_heatmap():
    assert by_value.heatmap(example_studies.winner().spec, example_studies.winner().verdict) is None
