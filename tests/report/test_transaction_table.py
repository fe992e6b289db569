"""Each kind of transaction is shown where there are several, alike in every form of the report."""

import io
from dataclasses import replace

import pytest
from rich.console import Console

from dialin.evidence.why_verdict import explain
from dialin.model.load_driver import DriverChoice
from dialin.model.verdict import TransactionFigures
from dialin.report.document import facts, transaction_table
from dialin.report.render import html, markdown
from dialin.report.render.terminal import print_why
from fixtures import example_studies

HOSTILE = "pay|<b>"


@pytest.fixture
def record():
    """A study of two kinds of transaction."""
    study = example_studies.winner()
    kinds = [
        TransactionFigures(name="new-order", per_second=451.2, p95_ms=12.5, p99_ms=31.25),
        TransactionFigures(name=HOSTILE, per_second=44.0, p95_ms=None, p99_ms=None),
    ]
    candidates = [one.model_copy(update={"transactions": kinds}) for one in study.verdict.candidates]
    host = {**study.host, "load_driver": "dialin-load 0.1.0+5f", "load_driver_later": ["dialin-load 0.1.0+60"]}
    trials = [replace(trial, driver_choices=(DriverChoice(16, 1, True),)) for trial in study.trials]
    verdict = study.verdict.model_copy(update={"candidates": candidates})
    return replace(study, host=host, trials=trials, verdict=verdict)


def explained(record):
    written = io.StringIO()
    print_why(record, explain(record), Console(file=written, width=100))
    return written.getvalue()


def test_candidates_stand_below_each_other_for_each_kind(record):
    names = [candidate.name for candidate in record.verdict.candidates]
    table = transaction_table.table(record.verdict, {name: name for name in names})
    rows = [[cell.text for cell in row.cells] for row in table.rows]
    assert [row[:2] for row in rows] == [[kind, candidate] for kind in ("new-order", HOSTILE) for candidate in names]
    assert rows[0][2:] == ["451", "12.5", "31.2"]


def test_one_kind_has_no_table():
    study = example_studies.winner()
    assert transaction_table.table(study.verdict, {}) is None
    for text in (markdown.render(study), str(html.body(study).main), explained(study)):
        assert transaction_table.TITLE not in text


def test_every_form_of_the_report_has_the_table(record):
    for text in (markdown.render(record), str(html.body(record).main), explained(record)):
        assert transaction_table.TITLE in text
        assert "new-order" in text
        assert "31.2" in text
    assert "<b>" not in str(html.body(record).main)
    assert "<b>" not in markdown.render(record)


def test_the_driver_is_named_in_one_line_and_not_with_the_machine(record):
    driver = "dialin-load 0.1.0+5f, later dialin-load 0.1.0+60, 1 load thread, gathering on, as the first trial chose"
    assert ("load driver", driver) in facts.settings(record)
    assert driver in str(html.body(record).main)
    assert "load driver: dialin-load" in markdown.render(record)
    assert not [label for label, _ in facts.machine(record) if "driver" in label]
