"""Kinds of transaction of a load program, by candidate: in the evidence, the page, Markdown and the terminal."""

import io
from dataclasses import replace

import pytest
from rich.console import Console

from dialin.evidence import why_verdict as evidence
from dialin.evidence.why_verdict import explain
from dialin.model.evidence import Gauge, Watched
from dialin.model.load_driver import KindFigures
from dialin.report.render import html, markdown, terminal
from dialin.trials.driver_share import kind_gauges
from dialin.workloads.base import Second
from fixtures import example_studies
from fixtures.evidence_of import of_record
from fixtures.report_page import Page

transaction_kinds = of_record(evidence.transaction_kinds)
HOSTILE = "pay|<b>"


def with_kinds(kinds_of):
    """A study each of whose trials reported the kinds that a function returns for it."""
    record = example_studies.winner()
    return replace(record, watched={**record.watched, **{one.id: of_trial(record, one, kinds_of) for one in record.trials}})


def of_trial(record, trial, kinds_of):
    second = Second(1, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, kinds=kinds_of(trial))
    gauges = {name: Gauge(value, value, value, value, value) for name, value in kind_gauges([second]).items()}
    return {**record.watched.get(trial.id, {}), "load": Watched("load", 10.0, gauges=gauges)}


def shop(trial):
    faster = 2.0 if trial.candidate == "16" else 1.0
    return {"look": KindFigures(90 * faster, 0.0, 4.0 / faster, 9.0), HOSTILE: KindFigures(10.0, 0.5, 20.0, 50.0)}


def test_each_kind_has_its_figures_and_their_change_against_the_baseline():
    record = with_kinds(shop)
    rows = {(one.transaction, one.candidate): one for one in transaction_kinds(record)}
    assert len(rows) == 2 * len(record.spec.candidates)
    faster, base = rows["look", "16"], rows["look", record.spec.baseline]
    assert (faster.per_second.level.mean, base.per_second.level.mean) == (pytest.approx(180), pytest.approx(90))
    assert faster.per_second.ratio.mean == pytest.approx(2)
    assert faster.mean_ms.ratio.mean == pytest.approx(0.5)
    assert rows[HOSTILE, "16"].per_second.ratio.mean == pytest.approx(1)
    assert rows[HOSTILE, "16"].errors.level.mean == pytest.approx(0.5)


def test_a_kind_that_a_candidate_stops_is_zero_and_not_unknown():
    record = with_kinds(
        lambda trial: {"look": KindFigures(90), **({} if trial.candidate == "16" else {"pay": KindFigures(10)})}
    )
    rows = {(one.transaction, one.candidate): one for one in transaction_kinds(record)}
    assert rows["pay", "16"].per_second.level.mean == 0
    assert rows["pay", record.spec.baseline].mean_ms is None


def test_one_kind_is_the_whole_load_and_needs_no_table():
    assert transaction_kinds(with_kinds(lambda trial: {"all": KindFigures(90)})) == []
    assert transaction_kinds(example_studies.winner()) == []


def test_page_markdown_and_terminal_show_the_kinds():
    record = with_kinds(shop)
    why, output = explain(record), io.StringIO()
    terminal.print_why(record, why, Console(file=output, width=160))
    page = Page(html.render(record, why))
    assert "Kinds of transaction" in page.words
    for text in (page.words, markdown.render(record, why), output.getvalue()):
        assert "look" in text
        assert "errors per second" in text
    assert "<b>" not in html.render(record, why)
