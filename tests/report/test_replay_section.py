"""The section of a report on a replay: its fidelity, the worst part named, and each figure beside its limit."""

import io
from dataclasses import replace

import pytest
from rich.console import Console

from dialin.evidence.why_verdict import explain
from dialin.model.evidence import Gauge, Watched
from dialin.report.document.parts import RowRole, SectionKey, find
from dialin.report.document.study_document import study_document
from dialin.report.load_sentences import SENTENCES
from dialin.report.note_sentences import note_text
from dialin.report.render import markdown
from dialin.report.render.terminal import print_verdict, print_why
from dialin.report.replay_sentences import COUNTS, SHARES
from dialin.verdict.caveats import load_notes
from dialin.workloads.replay.replay_limits import LIMITS
from fixtures.example_studies import winner

FIGURES = {"replay_left_out": 0.004, "replay_new_errors": 0.0005, "replay_other_rows": 0.02, "replay_late": 0.03}
FIGURES |= {"replay_missing_errors": 0.0, "replay_waited": 12.0, "replay_again": 2.0}


def gauge(value):
    return Gauge(value, value, value, value, value)


@pytest.fixture
def record():
    """A study whose first trial returned other rows than the capture, and whose others did not."""
    stored = winner()
    watched = {}
    for place, trial in enumerate(stored.trials):
        figures = {**FIGURES, "replay_other_rows": 0.02 if place == 0 else 0.0}
        load = Watched("load", 60.0, gauges={name: gauge(value) for name, value in figures.items()})
        watched[trial.id] = {**stored.watched.get(trial.id, {}), "load": load}
    traits = stored.spec.workload.traits.model_copy(update={"limits": LIMITS})
    spec = stored.spec.model_copy(update={"workload": stored.spec.workload.model_copy(update={"traits": traits})})
    return replace(stored, watched=watched, spec=spec)


def test_the_worst_part_by_its_limit_is_named_and_marked(record):
    parts = study_document(record).section(SectionKey.REPLAY).parts
    assert "97.0 %" in parts[0].text
    assert "queries with another number of rows (2.0 %)" in parts[0].text
    assert "not the captured load" in parts[0].text
    rows = find(parts, "replay").rows
    bad = [row.cells[0].text for row in rows if row.role is RowRole.BAD]
    assert bad == [SHARES["replay_other_rows"]]
    assert [row.cells[0].text for row in rows][-2:] == [COUNTS["replay_waited"], COUNTS["replay_again"]]


def test_it_is_shown_before_the_verdict_and_in_explain(record):
    for show in (
        lambda console: print_verdict(record, console),
        lambda console: print_why(record, explain(record), console),
    ):
        out = io.StringIO()
        show(Console(file=out, width=140, highlight=False))
        assert "Fidelity of the replay" in out.getvalue()
    assert "Fidelity of the replay" in markdown.render(record)


def test_other_loads_have_no_such_section():
    assert SectionKey.REPLAY not in [section.key for section in study_document(winner()).sections]


def test_each_limit_has_a_sentence_that_names_the_share(record):
    assert {limit.code for limit in LIMITS} <= set(SENTENCES)
    (note,) = load_notes(LIMITS, record.trials, record.watched)
    assert "up to 2.0 % of the queries" in note_text(record.spec, note)
