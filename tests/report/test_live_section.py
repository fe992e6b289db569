"""The section of a report on live traffic, in every rendering."""

import io

import pytest
from rich.console import Console

from dialin.cli.console import exit_code
from dialin.errors import ExitCode
from dialin.evidence.why_verdict import explain
from dialin.model.study import Goal
from dialin.model.verdict import Outcome
from dialin.question import study_file as files
from dialin.report.document.parts import SectionKey, find
from dialin.report.document.study_document import study_document
from dialin.report.plain_lines import PlainLines
from dialin.report.render import html, markdown
from dialin.report.render.terminal import print_document, print_verdict, print_why
from dialin.report.studyfile import study_file
from fixtures.live_studies import Live, live_record

TRIPPED = Live(effects={"400": 0.8, "9000": 0.5}, trips=("9000",))


@pytest.fixture(scope="module")
def record():
    return live_record(TRIPPED)


def section(record):
    return study_document(record).section(SectionKey.LIVE)


def printed(show, *args, width=140):
    out = io.StringIO()
    show(*args, Console(file=out, width=width, highlight=False))
    return out.getvalue()


def test_offered_load_stands_beside_each_effect(record):
    table = find(section(record).parts, "live-effect-table")
    assert [column.title for column in table.columns][1:4] == ["latency", "without the load", "offered load"]
    assert [row.cells[0].text for row in table.rows] == ["200", "400", "9000"]
    assert "Effects are those from 2 to 8 s after a change of the value." in table.caption


def test_every_trip_of_the_guard_is_listed_with_its_time_and_its_reason(record):
    rows = find(section(record).parts, "live-guard-table").rows
    assert len(rows) == 2
    assert [cell.text for cell in rows[0].cells][1:4] == ["9000", "2.1", "0.18"]
    assert "latency was 42 ms" in rows[0].cells[-1].text


def test_every_period_is_listed(record):
    rows = find(section(record).parts, "live-periods-table").rows
    assert len(rows) == sum(trial.block > 0 for trial in record.trials)
    assert sum(row.cells[-1].text == "ended by the guard" for row in rows) == 2


def test_a_study_that_has_measured_nothing_yet_has_a_report():
    record = live_record(Live(effects={"400": 0.8}, blocks=0), judged=False)
    assert "Observed 30 s of the baseline" in markdown.render(record)


def test_all_renderings_have_the_section_and_call_latency_a_mean(record):
    texts = [markdown.render(record), printed(print_document, study_document(record)), html.render(record)]
    for text in texts:
        assert "Live, own traffic" in text
        assert "latency was 42 ms" in text
        assert "p95 latency" not in text
        assert "p0" not in text.partition("dialin-data")[0].replace("p0.", "")


def test_the_terminal_shows_load_and_effect_with_the_verdict_and_the_whole_section_to_explain_it(record):
    why = explain(record)
    brief = printed(print_verdict, record)
    assert "Effect and offered load" in brief
    assert "mean latency" in brief
    whole = printed(lambda record, console: print_why(record, why, console), record)
    assert "Every time that the guard restored the baseline" in whole


def test_lines_of_progress_call_it_so_too(record):
    out = io.StringIO()
    lines = PlainLines(out)
    lines.study_began(record.spec, 10, 600.0)
    lines.trial_began(record.trials[1], 500.0)
    for sample in record.samples[record.trials[1].id]:
        lines.sampled(record.trials[1], sample)
    lines.trial_ended(record.trials[1], {})
    assert "with mean " in out.getvalue()


def test_the_study_file_asks_the_same_again(record, tmp_path):
    text = study_file(record.spec)
    assert 'traffic = "own"' in text
    assert "percentile" not in text
    (tmp_path / "study.toml").write_text(text)
    question = files.read(tmp_path / "study.toml")
    assert question.is_live
    assert question.workload_spec(tmp_path).percentile == 0


def test_throughput_is_the_clients_unless_it_is_the_goal():
    offered, compared = live_record(Live(effects={"400": 0.8})), live_record(Live(effects={"400": 1.0}, goal=Goal.THROUGHPUT))
    assert offered.verdict.is_throughput_offered
    assert not compared.verdict.is_throughput_offered
    for record, shown, absent in ((offered, "Offered load", "Throughput against"), (compared, "Throughput against", None)):
        page = html.render(record)
        assert shown in page
        assert absent is None or absent not in page


def test_a_study_that_decided_nothing_says_so_everywhere_and_by_its_exit_code():
    record = live_record(Live(effects={"400": 0.97}, on_load={"400": 1.6}))
    assert record.verdict.verdict is Outcome.INCONCLUSIVE
    assert exit_code(record.verdict.verdict) is ExitCode.NO_VERDICT
    for text in (printed(print_verdict, record), markdown.render(record), html.render(record)):
        assert "Inconclusive: " in text
        assert "Nothing was decided in 5 min 58 s of at most 1 h" in " ".join(text.split())
