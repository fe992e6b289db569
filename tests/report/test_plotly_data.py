"""The charts are plain data: Plotly itself says here whether it knows each of their properties, and takes its value."""

import plotly.graph_objects as go
import pytest

from dialin.report.charts import by_value, plotly_data
from fixtures import example_studies
from fixtures.changed_studies import two_variables
from fixtures.report_page import explained_page, page_of


@pytest.mark.parametrize("name", sorted(example_studies.EVERY))
def test_plotly_knows_every_chart_of_every_study(name):
    charts = page_of(name).data["charts"]
    assert charts
    for figure in charts.values():
        go.Figure(figure)


def test_plotly_knows_the_charts_that_explain_and_the_heatmap():
    charts = explained_page("winner").data["charts"]
    record = two_variables()
    for figure in (charts["scaling"], charts["waits-1"], by_value.heatmap(record.spec, record.verdict).figure):
        go.Figure(figure)


def test_what_is_none_is_left_out_but_for_what_the_page_gets():
    figure = plotly_data.Figure(xaxis={"title": None, "type": "log"}, meta={"narrow": {"tickvals": None}})
    figure.add_trace(plotly_data.Scatter(x=[1], y=[None], error_x=None, line={"dash": None, "width": 2}))
    assert figure.layout == {"xaxis": {"type": "log"}, "meta": {"narrow": {"tickvals": None}}}
    assert figure.data == [{"type": "scatter", "x": [1], "y": [None], "line": {"width": 2}}]


def test_a_change_of_the_layout_leaves_the_rest_of_it():
    figure = plotly_data.Figure(margin={"l": 1, "r": 2})
    figure.update_layout(margin={"l": 3}, yaxis={"range": [0, 1]})
    assert figure.layout == {"margin": {"l": 3, "r": 2}, "yaxis": {"range": [0, 1]}}


def test_bands_and_lines_reach_from_the_bottom_to_the_top_as_those_of_plotly_do():
    ours, theirs = plotly_data.Figure(), go.Figure()
    theirs.add_scatter(x=[0], y=[0])
    note = {"text": "fresh", "yanchor": "bottom"}
    ours.add_vrect(x0=1, x1=3, fillcolor="red", line={"width": 0}, layer="below", annotation=note)
    theirs.add_vrect(
        x0=1, x1=3, fillcolor="red", line={"width": 0}, layer="below", annotation=note, annotation_position="top left"
    )
    for figure in (ours, theirs):
        figure.add_vline(x=0, line={"color": "blue", "width": 1.5})
    described = theirs.to_plotly_json()["layout"]
    assert ours.layout == {name: described[name] for name in ("shapes", "annotations")}
