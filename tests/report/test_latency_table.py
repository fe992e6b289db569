"""Latency of transactions from histograms, alike in every form of the report; without them it is said what is known."""

from dataclasses import replace

import pytest

from dialin.evidence.why_verdict import explain
from dialin.model.load_driver import ALL_KINDS
from dialin.report.charts import transaction_latency
from dialin.report.charts.style import styles
from dialin.report.document import transaction_tables
from dialin.report.render import html, markdown
from dialin.sentences.names import naming
from fixtures import example_studies
from fixtures.example_readings import with_histograms
from fixtures.report_page import Page

HOSTILE = "pay|<b>"


@pytest.fixture(scope="module")
def record():
    return with_histograms(example_studies.winner())


@pytest.fixture(scope="module")
def page(record):
    return Page(html.render(record, explain(record)))


def test_the_chart_goes_from_the_median_to_the_longest_with_intervals(page):
    chart = page.data["charts"]["transaction-latency"]
    assert chart["layout"]["xaxis"]["ticktext"] == ["p50", "p95", "p99", "p99.9", "longest"]
    assert len(chart["data"]) == 7
    for trace in chart["data"]:
        assert trace["y"] == sorted(trace["y"])
        assert all(up > 0 for up in trace["error_y"]["array"][:4])
        assert trace["error_y"]["array"][4] == 0
    low, high = chart["layout"]["yaxis"]["range"]
    assert 10**low < min(min(trace["y"]) for trace in chart["data"])
    assert 10**high > max(max(trace["y"]) for trace in chart["data"])


def test_every_candidate_has_a_row_with_intervals_between_trials(record):
    why = explain(record)
    table = transaction_tables.latency_table(why, record.spec, naming(record.spec).labels)
    assert [column.title for column in table.columns] == [
        "candidate", "per second", "p50 ms", "p95 ms", "p99 ms", "p99.9 ms", "longest ms",
    ]  # fmt: skip
    assert len(table.rows) == 7
    for row in table.rows:
        assert all(" to " in cell.detail[0] for cell in row.cells[2:6])
        assert row.cells[6].detail[0].startswith("each trial: ")


def test_kinds_are_named_where_there_are_several():
    record = with_histograms(example_studies.winner(), ["look", HOSTILE])
    why = explain(record)
    table = transaction_tables.latency_table(why, record.spec, naming(record.spec).labels)
    assert table.columns[0].key == "transaction"
    assert [row.cells[0].text for row in table.rows] == [kind for kind in ("all", "look", HOSTILE) for _ in range(7)]
    for text in (html.render(record, why), markdown.render(record, why)):
        assert "<b>" not in text


def test_where_there_are_histograms_the_percentile_of_seconds_is_not_summed_up(page):
    assert "latency" not in page.data["charts"]
    assert "one percentile per second" not in page.words
    assert "Latency, p95" in page.words


def test_without_histograms_it_is_said_that_transactions_are_not_known():
    words = Page(html.render(example_studies.winner())).words
    assert "the load program reports one percentile per second" in words
    assert "Latency of transactions" not in words


def test_an_interval_of_two_trials_does_not_hide_the_figures(record):
    few = [trial for trial in record.trials if trial.block <= 2]
    why = explain(replace(record, trials=few))
    chart = transaction_latency.chart(why, styles(record.spec))
    longest = max(max(one.longest_ms) for one in why.latencies if one.transaction == ALL_KINDS)
    assert 10 ** chart.figure["layout"]["yaxis"]["range"][1] < 4 * longest
