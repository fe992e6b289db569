"""What a suite shows, in each form."""

import csv
import io
import json
from pathlib import Path

import jsonschema
import plotly.graph_objects as go
import pytest
from rich.console import Console

from dialin.model.study import Goal
from dialin.model.suite import Gate, GateState, Margin, Suite, SuiteCandidate, SuiteCell, SuiteOutcome, SuiteResult, SuiteRow
from dialin.model.verdict import CandidateState, ComparedFigure, Estimate, Outcome
from dialin.model.why import CostRow
from dialin.report.document.suite_document import suite_document
from dialin.report.render import suite_files
from dialin.report.render.terminal import print_suite
from dialin.sentences.suite_sentences import suite_headline
from fixtures.simulated_suites import suite_plan

SCHEMA = json.loads((Path(__file__).parents[2] / "schema" / "suite.schema.json").read_text())


COSTS = ("context switches", "server CPU")


def estimate(mean, half=0.01):
    return Estimate(mean=mean, low=mean - half, high=mean + half)


def state_of(mean):
    return CandidateState.BETTER if mean > 1.03 else CandidateState.WORSE if mean < 0.97 else CandidateState.EQUAL


def row(name, **ratios):
    figure = {one: ComparedFigure(level=Estimate.alone(40.0), ratio=estimate(1.1)) for one in ("1", *ratios)}
    return SuiteRow(
        name=name,
        directory=f"01-{name}",
        weight=1,
        load="a load",
        goal=Goal.THROUGHPUT,
        unit="tps",
        baseline=estimate(2437, 10),
        outcome=Outcome.WINNER,
        decided=True,
        seconds=60,
        cells=[
            SuiteCell(candidate=one, ratio=estimate(mean), state=state_of(mean), margin=Margin.NOT_WORSE, trials=5)
            for one, mean in ratios.items()
        ],
        costs=[
            CostRow(name=cost, unit="", per_query={}, per_transaction=figure) for cost in ("context switches", "server CPU")
        ],
        moved="7 metrics changed",
    )


def suite(rows, outcome=SuiteOutcome.KEEP, gate=None, recommended="1"):
    def over(name, state):
        return [one.name for one in rows for cell in one.cells if (cell.candidate, cell.state) == (name, state)]

    names = ["1", *(cell.candidate for cell in rows[0].cells)]
    candidates = [
        SuiteCandidate(
            name=name,
            label=name,
            full=f"x = {name}",
            mean=estimate(1.06 if name != "1" else 1.0),
            state=CandidateState.BETTER,
            better=over(name, CandidateState.BETTER),
            worse=over(name, CandidateState.WORSE),
            likely_better=[],
            likely_worse=over(name, CandidateState.LIKELY_WORSE),
            unguarded=[],
        )
        for name in names
    ]
    result = SuiteResult(
        outcome=outcome,
        recommended=recommended,
        baseline="1",
        confidence=0.9976,
        candidates=candidates,
        rows=rows,
        gate=gate,
        minutes=9,
    )
    plan = suite_plan({one.name: 1 for one in rows}, fail_if_worse=gate.margin if gate else None)
    return Suite(plan=plan, headline=suite_headline(plan, result), result=result)


def printed(one, width=100):
    console = Console(file=io.StringIO(), width=width, force_terminal=False)
    print_suite(suite_document(one), console, is_whole=False)
    return console.file.getvalue()


@pytest.mark.parametrize("candidates", [1, 6])
def test_twenty_workloads_fit_on_a_screen_of_thirty_lines(candidates):
    ratios = {str(number): 1.0 + number / 50 for number in range(2, 2 + candidates)}
    text = printed(suite([row(f"workload {number}", **ratios) for number in range(20)]))
    assert len(text.splitlines()) <= 30
    assert all(f"workload {number}" in text for number in range(20))


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
            "Not answered yet: whether it is worse by more than 3 % under scans (−10.0 %). About 12 min more would show it: "
            "dialin resume DIR --minutes 22.",
        ),
    ],
)
def test_the_answer_of_a_gate_comes_first(gate, says):
    assert suite([row("scans", **{"8": 0.9})], gate=gate).headline.startswith(says)


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


def test_plotly_knows_the_chart_of_a_suite():
    one = suite([row("writes", **{"8": 1.11, "16": 1.0}), row("scans", **{"8": 0.96, "16": 1.0})])
    (chart,) = suite_document(one).charts()
    go.Figure(chart.figure)
    assert "writes" in str(chart.figure["layout"]["yaxis"]["ticktext"])


def test_workloads_are_beside_their_costs_and_what_moved():
    text = suite_files.markdown(suite([row("writes", **{"8": 1.11})]))
    assert "| workload | 1 | 8 | state | CPU | switches |" in text
    assert "writes: 7 metrics changed" in text
