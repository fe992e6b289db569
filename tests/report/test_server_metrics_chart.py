"""The metrics of one trial after another, below its throughput."""

import json
from itertools import pairwise

import pytest

from dialin.evidence.server_metrics import server_metrics
from dialin.report.charts import server_metrics_chart
from dialin.report.render import html, markdown
from dialin.sentences.load_units import SECONDS
from dialin.sentences.names import naming
from fixtures import example_studies
from fixtures.example_readings import with_readings
from fixtures.report_page import Page


@pytest.fixture(scope="module")
def record():
    return with_readings(example_studies.winner())


@pytest.fixture(scope="module")
def page(record):
    return Page(html.render(record))


def test_all_panels_share_one_time_axis_and_one_crosshair(record):
    metrics = server_metrics(record)
    chart = server_metrics_chart.chart(metrics, naming(record.spec).labels, SECONDS, "1", "16")
    layout = chart.figure["layout"]
    assert (layout["hovermode"], layout["hoversubplots"]) == ("x unified", "axis")
    assert (layout["xaxis"]["showspikes"], layout["xaxis"]["spikemode"]) == (True, "across")
    assert all("xaxis" not in trace for trace in chart.figure["data"])
    panels = [key for key in layout if key.startswith("yaxis")]
    assert len(panels) == 1 + len(metrics.panels)
    domains = sorted(layout[key]["domain"] for key in panels)
    assert all(low[1] < high[0] for low, high in pairwise(domains))
    assert layout["xaxis"]["anchor"] == f"y{len(panels)}"


def test_every_line_of_the_chart_has_values_for_every_trial(page):
    chart = page.data["charts"]["server-metrics"]
    keys = {trace["meta"]["metric"] for trace in chart["data"]}
    assert keys == {
        "tps",
        "server-cpu",
        "driver-cpu",
        "disk-busy",
        "disk-reads",
        "disk-writes",
        "checkpoint-age",
        "dirty-pages",
        "history-list",
    }
    for course in page.data["metrics"].values():
        assert set(course["l"]) == keys
        assert len({len(values) for values in course["l"].values()}) == 1


def test_two_lines_of_a_panel_differ_without_their_colour(page):
    by_axis = {}
    for trace in page.data["charts"]["server-metrics"]["data"]:
        by_axis.setdefault(trace["yaxis"], []).append(trace["line"]["dash"])
    assert all(len(dashes) == len(set(dashes)) for dashes in by_axis.values())


def test_the_baselines_trial_nearest_in_time_is_drawn_beside_every_line_and_a_trial_of_the_choice_comes_first(record, page):
    traces = page.data["charts"]["server-metrics"]["data"]
    beside = {trace["meta"]["metric"] for trace in traces if trace["meta"].get("beside")}
    assert beside == {trace["meta"]["metric"] for trace in traces}
    by_id = {str(trial.id): trial for trial in record.trials}
    for trial, course in page.data["metrics"].items():
        is_baseline = by_id[trial].candidate == record.spec.baseline
        assert is_baseline == ("b" not in course)
        if not is_baseline:
            other, began = by_id[str(course["b"])], by_id[trial].started
            nearer = [one for one in record.trials if abs(one.started - began) < abs(other.started - began)]
            assert other.candidate == record.spec.baseline
            assert record.spec.baseline not in {one.candidate for one in nearer}
    (first,) = [attrs["value"] for attrs in page.all("option") if "selected" in attrs]
    assert by_id[first].candidate == record.verdict.recommended_candidate


def test_any_trial_can_be_chosen(record, page):
    values = [attrs["value"] for attrs in page.all("option")]
    assert values == list(page.data["metrics"])
    assert f"trial {values[0]}, block 1" in page.words


def test_the_table_has_the_mean_of_each_trial_in_every_form(record, page):
    text = markdown.render(record)
    assert "Server metrics of 35 trials" in page.words
    assert "Server metrics of 35 trials" in text
    assert "CPU, server, CPUs" in text


def test_a_trial_s_number_leads_to_its_metrics_and_its_place_in_the_order_to_its_row(page):
    links = [attrs for attrs in page.all("a") if "data-trial" in attrs]
    assert {attrs["data-trial"] for attrs in links} == set(page.data["metrics"])
    assert {attrs["href"] for attrs in links} == {"#server-metrics-title"}
    rows = {attrs["id"] for attrs in page.all("tr") if "id" in attrs}
    assert {attrs["href"][1:] for attrs in page.all("a") if attrs["href"].startswith("#trial-")} == rows


def test_every_link_within_the_page_leads_somewhere(page):
    ids = {attrs["id"] for _, attrs in page.elements if "id" in attrs}
    assert {attrs["href"][1:] for attrs in page.all("a") if attrs["href"].startswith("#")} <= ids


def test_a_failed_trial_leads_to_the_end_of_its_log():
    page = Page(html.render(example_studies.failed_candidate()))
    links = {attrs["href"] for attrs in page.all("a") if attrs["href"].startswith("#failure-")}
    assert links == {f"#{attrs['id']}" for attrs in page.all("pre") if attrs.get("id", "").startswith("failure-")}
    assert links


def test_a_study_without_readings_has_no_such_chart():
    page = Page(html.render(example_studies.winner()))
    assert "server-metrics" not in page.data["charts"]
    assert page.data["metrics"] == {}
    assert not page.all("select")


def test_the_metrics_of_twelve_trials_are_small(record):
    metrics = server_metrics(record)
    twelve = dict(list(server_metrics_chart.embedded(metrics, "1").items())[:12])
    assert len(json.dumps(twelve, separators=(",", ":"))) < 120_000
