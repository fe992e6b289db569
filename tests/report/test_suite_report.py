"""What a suite shows, in each form."""

import csv
import io
import json
from pathlib import Path

import jsonschema
import plotly.graph_objects as go
import pytest
from rich.console import Console

from dialin.model.suite import Gate, GateState, Suite, SuiteOutcome
from dialin.model.verdict import CandidateState, ComparedFigure, Estimate
from dialin.report.charts.chart import label_margin
from dialin.report.document.suite_document import suite_document
from dialin.report.render import suite_files
from dialin.report.render.terminal import print_suite
from fixtures import example_reasons
from fixtures.example_suites import at_threads, estimate, row, suite

SCHEMA = json.loads((Path(__file__).parents[2] / "schema" / "suite.schema.json").read_text())


def printed(one, width=100):
    console = Console(file=io.StringIO(), width=width, force_terminal=False)
    print_suite(suite_document(one), console, is_whole=False)
    return console.file.getvalue()


def flat(text):
    return " ".join(text.split())


@pytest.mark.parametrize("width", [80, 100])
@pytest.mark.parametrize("candidates", [1, 6])
def test_twenty_workloads_fit_on_a_screen_of_thirty_lines(candidates, width):
    ratios = {str(number): 1.0 + number / 50 for number in range(2, 2 + candidates)}
    text = printed(suite([row(f"workload {number}", **ratios) for number in range(20)]), width)
    assert len(text.splitlines()) <= 30
    assert all(f"workload {number}" in text for number in range(20))


@pytest.mark.parametrize("candidates", [2, 6, 14])
def test_on_a_narrow_terminal_no_figure_is_cut_off_and_candidates_without_room_are_named(candidates):
    names = [f"mysql@9.7.{number}" for number in range(candidates)]
    text = printed(suite([row(f"workload {number}", **dict.fromkeys(names, 1.234)) for number in range(20)]), 80)
    rows = [line for line in text.splitlines() if line.startswith("workload ") and "▲" in line]
    header = next(line for line in text.splitlines() if line.split()[0] == "workload" and names[0] in line)
    shown = [name for name in names if name in header]
    assert max(map(len, text.splitlines())) <= 80
    assert len(shown) == candidates or f"Left out at this width: {', '.join(['1', *names[len(shown) :]])}." in flat(text)
    assert len(rows) == 20
    assert all(line.count("+23.4 % ▲") == len(shown) >= 2 for line in rows)


def test_a_trade_off_is_named_with_its_workloads_and_figures():
    one = suite([row("writes", **{"8": 1.11}), row("scans", **{"8": 0.96})], SuiteOutcome.TRADE_OFF)
    assert one.headline == (
        "x = 8 is a trade-off: +6.0 %, 99.76 % CI +5.0 % to +7.0 % over the mix, better under writes (+11.0 %) and worse under "
        "scans (−4.0 %)."
    )


@pytest.mark.parametrize(
    ("gate", "says"),
    [
        (Gate(margin=0.03, state=GateState.PASSED, worse=[], open=[]), "Passed: no workload is worse by more than 3 %."),
        (
            Gate(margin=0.03, state=GateState.WORSE, worse=[("scans", "8")], open=[]),
            "Failed: worse by more than 3 % under scans (−10.0 %).",
        ),
        (
            Gate(margin=0.03, state=GateState.OPEN, worse=[], open=[("scans", "8")], minutes_needed=12),
            "Not answered yet: whether it is worse by more than 3 % under scans (−10.0 %). About 12 min more would show it.",
        ),
    ],
)
def test_the_answer_of_a_gate_comes_first(gate, says):
    one = suite([row("scans", **{"8": 0.9})], gate=gate)
    assert one.headline.startswith(says)
    assert says.startswith(suite_document(one).outcome.partition(";")[0]), "the line below says nothing else"


def test_a_likely_result_is_named_as_not_proven():
    likely = row("scans", **{"8": 0.96})
    likely = likely.model_copy(update={"cells": [likely.cells[0].model_copy(update={"state": CandidateState.LIKELY_WORSE})]})
    one = suite([row("writes", **{"8": 1.11}), likely], SuiteOutcome.UNGUARDED)
    assert "better under writes (+11.0 %) and likely worse under scans (−4.0 %)" in one.headline


def test_the_files_hold_every_workload_and_the_json_keeps_its_schema():
    one = suite([row("writes", **{"8": 1.11, "16": 1.0}), row("=scans|<b>", **{"8": 0.96, "16": 1.0})])
    texts = suite_files.texts(one)
    jsonschema.validate(json.loads(texts["suite.json"]), SCHEMA)
    assert Suite.model_validate_json(texts["suite.json"]) == one
    rows = list(csv.DictReader(io.StringIO(texts["suite.csv"])))
    assert len(rows) == 2 * 2 + 2
    assert rows[2]["workload"].startswith("'="), "no formula"
    assert float(rows[0]["context_switches_ratio"]) == pytest.approx(1.1)
    assert "| writes |" in texts["report.md"]
    assert "<b>" not in texts["report.md"].replace("<summary>", "")
    assert 'id="suite-forest"' in texts["report.html"]
    assert "=scans|&lt;b&gt;" in texts["report.html"]


def charts(one):
    by_key = {chart.key: chart for chart in suite_document(one).charts()}
    for chart in by_key.values():
        go.Figure(chart.figure)  # plotly knows it
    return by_key


def cells(chart):
    """The texts of a heatmap, from the top down, and how much better each cell is."""
    (heat,) = chart.figure["data"]
    return [*map(list, heat["text"][::-1])], [*map(list, heat["z"][::-1])]


def test_the_forest_has_a_row_for_each_workload_and_one_for_the_mix():
    ticks = charts(suite([row("writes", **{"8": 1.11}), row("scans", **{"8": 0.96})]))["suite-forest"].figure["layout"]["yaxis"]
    assert [text.removeprefix("<b>").removesuffix("</b>") for text in ticks["ticktext"]] == ["all, weighted", "scans", "writes"]


def test_long_names_of_workloads_differ_and_have_room_in_the_forest():
    name = "a name that somebody wrote for a workload in the file of a suite, long enough for a line"
    layout = charts(suite([row(f"{name}, {number}", **{"8": 1.1}) for number in range(3)]))["suite-forest"].figure["layout"]
    for shown in (layout, layout["meta"]["narrow"]):
        labels = [text.removeprefix("<b>").removesuffix("</b>") for text in shown["yaxis"]["ticktext"]]
        assert len(set(labels)) == 4
        assert shown["margin"]["l"] >= label_margin(labels, most=max(map(len, labels)))


def test_a_heatmap_shows_every_candidate_under_every_workload():
    chart = charts(suite([row("writes", **{"8": 1.11, "16": 1.0}), row("scans", **{"8": 0.96, "16": 3.0})]))["suite-heatmap"]
    texts, shades = cells(chart)
    assert texts == [["+11.0", "0.0"], ["−4.0", "+200.0"], ["+6.0", "+6.0"]]
    assert shades[0] == pytest.approx([11, 0])
    assert chart.figure["data"][0]["zmax"] == 25, "one large change leaves the others their colours"
    assert chart.figure["layout"]["xaxis"]["ticktext"] == ["8", "16"]


def test_the_heatmap_of_one_candidate_has_its_costs_of_which_less_is_better():
    chart = charts(suite([row("writes", **{"8": 1.11}), row("scans", **{"8": 0.96})]))["suite-heatmap"]
    texts, shades = cells(chart)
    assert chart.figure["layout"]["xaxis"]["ticktext"] == ["performance", "CPU", "switches"]
    assert texts[0] == ["+11.0", "+10.0", "+10.0"]
    assert shades[0][0] > 0 > shades[0][1]
    assert texts[-1] == ["+6.0", "–", "–"]


def test_without_costs_a_single_candidate_needs_no_heatmap():
    bare = row("writes", **{"8": 1.11}).model_copy(update={"costs": []})
    assert "suite-heatmap" not in charts(suite([bare]))


def test_workloads_with_several_numbers_of_threads_have_a_small_chart_each_on_one_scale():
    many = [at_threads(row("writes", **{"8": 1.11})), at_threads(row("scans", **{"8": 0.96})), row("points", **{"8": 1.0})]
    drawn = {key: chart for key, chart in charts(suite(many)).items() if key.startswith("threads-")}
    assert [chart.title for chart in drawn.values()] == ["writes", "scans"]
    first, second = drawn.values()
    assert first.figure["layout"]["yaxis"]["range"] == second.figure["layout"]["yaxis"]["range"]
    assert first.figure["data"][0]["x"] == [2, 16]
    assert first.text == "8: +11.0 % with 2 and +21.0 % with 16 threads."
    assert "by threads" in suite_files.markdown(suite(many))


def test_profiles_stand_beside_what_moved_and_nothing_does_without_them():
    compared = example_reasons.profile_of(["1", "8"], "fdatasync (system call)")
    one = suite([row("writes", **{"8": 1.11}).model_copy(update={"profile": compared}), row("scans", **{"8": 0.96})])
    text = suite_files.markdown(one)
    assert "writes: CPU time of the server per operation: 380 µs with 1, 330 µs with 8." in text
    assert "scans: CPU time" not in text
    assert "CPU profile" not in suite_files.markdown(suite([row("scans", **{"8": 0.96})]))
    jsonschema.validate(json.loads(suite_files.texts(one)["suite.json"]), SCHEMA)


def test_workloads_are_beside_their_costs_and_what_moved():
    text = suite_files.markdown(suite([row("writes", **{"8": 1.11})]))
    assert "| workload | 1 | 8 | state | CPU | switches |" in text
    assert "writes: 7 metrics changed" in text


def test_the_markdown_for_a_ticket_is_the_table_and_the_command_and_the_rest_is_folded_away_in_the_file():
    one = suite([row("writes", **{"8": 1.11}), row("scans", **{"8": 0.96})])
    brief, whole = suite_files.markdown(one, is_whole=False), suite_files.markdown(one)
    assert len(brief.splitlines()) < 25
    assert brief.count("Claims hold at") == whole.count("Claims hold at") == 1
    assert "dialin compare" in brief
    assert "All changes at a glance" not in brief
    assert "writes: 7 metrics changed" not in brief
    assert whole.startswith(brief.rstrip())
    assert whole.index("<summary>The whole report</summary>") < whole.index("writes: 7 metrics changed")


def test_a_star_tells_the_change_of_a_cost_from_its_noise():
    noisy = row("scans", **{"8": 0.96})
    within = ComparedFigure(level=Estimate.alone(40.0), ratio=estimate(1.6, 0.9))
    costs = [one.model_copy(update={"per_transaction": {"8": within}}) for one in noisy.costs]
    text = printed(suite([row("writes", **{"8": 1.11}), noisy.model_copy(update={"costs": costs})]))
    shown = {line.split()[0]: line for line in text.splitlines() if line}
    assert shown["writes"].count("+10.0 %*") == 2
    assert shown["scans"].count("+60.0 %") == 2
    assert "*" not in shown["scans"]
    assert "* a cost whose interval excludes 0 %" in flat(text)
    without = flat(printed(suite([noisy.model_copy(update={"costs": costs})])))
    assert "No interval of a cost excludes 0 %." in without
    assert "*" not in without
