"""The section of a report on a replay: its fidelity, the worst part named, and each figure beside its limit."""

import io
from dataclasses import replace

import pytest
from rich.console import Console

from dialin.evidence.why_verdict import explain
from dialin.model.evidence import Gauge, Watched
from dialin.report.document.parts import RowRole, SectionKey, find
from dialin.report.document.study_document import study_document
from dialin.report.render import markdown
from dialin.report.render.terminal import print_verdict, print_why
from dialin.sentences.notes import KINDS
from dialin.sentences.replay_sentences import AMOUNTS, COUNTS, RATIOS, SHARES
from dialin.text import number
from dialin.verdict.caveats import load_notes
from dialin.workloads.replay.replay_options import LIMITS
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
    assert "98.0 %" in parts[0].text
    assert "queries with another number of rows (2.0 %)" in parts[0].text
    assert "not the captured load" in parts[0].text
    rows = find(parts, "replay").rows
    bad = [row.cells[0].text for row in rows if row.role is RowRole.BAD]
    assert bad == [SHARES["replay_other_rows"]]
    assert [row.cells[0].text for row in rows][-2:] == [COUNTS["replay_waited"], COUNTS["replay_again"]]
    assert "dialin capture check" in parts[-1].text


@pytest.mark.parametrize(
    ("ratios", "exceeded"),
    [
        ({"a": 2.4, "b": 9.0}, True),
        ({"a": 0.4, "b": 0.1}, True),
        ({"a": 0.0, "b": 0.0}, True),
        ({"a": 1.9, "b": 9.0}, False),  # a candidate misses more pages of the same load
        ({"a": 9.0, "b": 0.6}, False),
    ],
)
def test_a_ratio_is_judged_by_the_candidate_that_is_nearest_to_the_capture(record, ratios, exceeded):
    candidates = sorted({trial.candidate for trial in record.trials})
    by_candidate = dict(zip(candidates, [ratios["a"], *[ratios["b"]] * (len(candidates) - 1)], strict=True))
    for trial in record.trials:
        gauges = {**FIGURES, "replay_other_rows": 0.0, "replay_page_misses": by_candidate[trial.candidate]}
        record.watched[trial.id]["load"] = Watched("load", 60.0, gauges={name: gauge(one) for name, one in gauges.items()})
    notes = load_notes(LIMITS, record.trials, record.watched)
    assert [note.stored().code for note in notes] == (["replay_page_misses"] if exceeded else [])
    parts = study_document(record).section(SectionKey.REPLAY).parts
    bad = [row.cells[0].text for row in find(parts, "replay").rows if row.role is RowRole.BAD]
    assert bad == ([RATIOS["replay_page_misses"]] if exceeded else [])
    assert ("the work of the server differ" in parts[0].text) is exceeded
    assert "not the captured load" not in parts[0].text, "the load did what it did in the capture"
    assert parts[-1] == find(parts, "replay"), "no statement explains a ratio"
    if exceeded:
        assert f"{number(ratios['a'])} times the capture's" in notes[0].sentence(record.spec)
        assert f"{RATIOS['replay_page_misses']} (× {number(ratios['a'])})" in parts[0].text


@pytest.mark.parametrize(("least", "exceeded"), [(5.48, False), (4.0, True)])
def test_trials_that_changed_different_numbers_of_rows_are_not_the_same_load(record, least, exceeded):
    for place, trial in enumerate(record.trials):
        gauges = {**FIGURES, "replay_other_rows": 0.0, "replay_rows_changed": least if place == 0 else 5.5}
        record.watched[trial.id]["load"] = Watched("load", 60.0, gauges={name: gauge(one) for name, one in gauges.items()})
    notes = load_notes(LIMITS, record.trials, record.watched)
    assert [note.stored().code for note in notes] == (["replay_rows_changed"] if exceeded else [])
    parts = study_document(record).section(SectionKey.REPLAY).parts
    (row,) = [row for row in find(parts, "replay").rows if row.cells[0].text == AMOUNTS["replay_rows_changed"]]
    assert (row.role is RowRole.BAD) is exceeded
    assert ("not the captured load" in parts[0].text) is exceeded
    if exceeded:
        assert "rows changed per transaction differ by up to 27.3 %" in notes[0].sentence(record.spec)


def test_the_time_of_each_statement_is_shown_by_candidate(record):
    for trial in record.trials:
        ms = 1.4 if trial.candidate == record.trials[0].candidate else 24.2
        figures = {
            "commit/replay_digest_ms": ms,
            "commit/replay_digest_statements": 90.0,
            "commit/replay_digest_captured_ms": 20.0,
        }
        record.watched[trial.id]["load"] = Watched("load", 60.0, gauges={name: gauge(one) for name, one in figures.items()})
        record.watched[trial.id]["load"].gauges.update({name: gauge(one) for name, one in FIGURES.items()})
    rows = find(study_document(record).section(SectionKey.REPLAY).parts, "replay-digests").rows
    times = {row.cells[1].text: [cell.text for cell in row.cells[2:]] for row in rows if row.cells[0].text == "commit"}
    assert times[record.trials[0].candidate] == ["90.0", "20.0", "1.40"]
    assert all(figures[2] == "24.2" for name, figures in times.items() if name != record.trials[0].candidate)


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
    assert {limit.code for limit in LIMITS} <= set(KINDS)
    (note,) = load_notes(LIMITS, record.trials, record.watched)
    assert "queries with another number of rows: up to 2.0 %" in note.sentence(record.spec)
