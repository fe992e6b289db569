"""`dialin studies` and `dialin diff` on stored studies."""

import io
import json

import pytest
from rich.console import Console

from dialin.model.study import AA
from dialin.model.suite import Suite
from dialin.report.board import study_title
from dialin.report.document.diff_document import diff_document
from dialin.report.render.terminal import print_document
from dialin.report.study_list import StudyLister
from dialin.suites.suite_file import read_suite, write_suite
from dialin.verdict.study_diff import compare_studies
from fixtures import example_studies, stored_study
from fixtures.simulated_suites import suite_plan


@pytest.fixture
def studies(tmp_path):
    directory = tmp_path / "studies"
    for name in ("winner", "no_difference", "unfinished", "weaker_durability", "by_latency", "inconclusive"):
        (directory / name).mkdir(parents=True)
        stored_study.keep(example_studies.EVERY[name](), directory / name)
    broken = directory / "broken"
    broken.mkdir()
    (broken / "study.db").write_bytes(b"no database" * 100)
    return directory


def test_a_study_is_its_date_verdict_gain_question_and_directory(dialin, studies):
    code, out, err = dialin("studies", str(studies))
    assert (code, err) == (0, "")
    lines = out.splitlines()
    question = "innodb_buffer_pool_instances on mysql@9.7.4, sysbench:oltp_read_write"
    assert f"{question} {studies / 'winner'}" in " ".join(out.split())
    assert any(line.startswith("2026-09-02  Winner: 16, throughput +") for line in lines)
    assert "2026-09-02  No worthwhile difference" in lines
    assert "2026-09-02  Inconclusive" in lines
    assert "2026-09-02  No verdict yet: 6 trials completed" in lines
    assert "2026-09-02  Winner: 2, with weaker durability; recommended: the baseline" in lines
    assert any("Winner: 2000, p99 latency −" in line for line in lines)


def test_a_suite_is_one_entry_with_its_result_and_its_studies_are_listed_where_it_is_damaged(dialin, tmp_path):
    for name in ("winner", "inconclusive"):
        (tmp_path / "mix" / name).mkdir(parents=True)
        stored_study.keep(example_studies.EVERY[name](), tmp_path / "mix" / name)
    plan = suite_plan({"winner": 1, "inconclusive": 1})
    write_suite(tmp_path / "mix", Suite(plan=plan))
    assert "2026-09-02  No result yet" in dialin("studies", str(tmp_path))[1]
    write_suite(tmp_path / "mix", Suite(plan=plan, headline="A joint result."))
    lines = dialin("studies", str(tmp_path))[1].splitlines()
    assert lines[0] == "2026-09-02  A joint result."
    assert (
        " ".join("".join(lines[1:]).split()) == f"innodb_buffer_pool_instances on mysql@9.7.4, 2 workloads {tmp_path / 'mix'}"
    )
    assert len(json.loads(dialin("studies", str(tmp_path), "--json")[1])["studies"]) == 2
    (tmp_path / "mix" / "suite.json").write_text("damaged")
    assert dialin("studies", str(tmp_path))[1].count("2026-09-02") == 2


def test_identical_candidates_are_not_called_builds(spec):
    alike = tuple(one.model_copy(update={"setting": {}}) for one in spec.candidates)
    title = study_title(spec.model_copy(update={"candidates": alike, "question": AA()}))
    assert title == "identical candidates on mysql@9.7.4"


def test_a_study_that_cannot_be_read_is_one_line_with_the_reason(dialin, studies):
    lines = dialin("studies", str(studies))[1].splitlines()
    assert [line for line in lines if "broken" in line] == [
        f"–           {studies}/broken/study.db is damaged and cannot be read"
    ]


def test_nothing_is_wider_than_80_columns_but_directories(studies):
    console = Console(file=io.StringIO(), width=80, highlight=False)
    StudyLister(studies).print_on(console, read_suite)
    assert all(len(line) <= 80 or str(studies) in line for line in console.file.getvalue().splitlines())


def test_a_directory_without_a_study_is_said(dialin, tmp_path):
    (tmp_path / "empty").mkdir()
    assert dialin("studies", "empty")[:2] == (0, "No study is in empty or below it.\n")
    code, _, err = dialin("studies", "gone")
    assert code == 2
    assert "gone is not a directory" in err


def test_the_list_for_scripts_has_figures_and_problems(dialin, studies):
    code, out, _ = dialin("studies", str(studies), "--json")
    listed = {one["directory"].rpartition("/")[2]: one for one in json.loads(out)["studies"]}
    assert code == 0
    assert listed["winner"]["verdict"] == "winner"
    assert listed["winner"]["gain"]["low"] > 1
    assert listed["winner"]["began"] == "2026-09-02T12:00:00Z"
    assert listed["unfinished"]["verdict"] is None
    assert listed["broken"]["problem"].endswith("is damaged and cannot be read")


def test_workloads_by_values_are_ratios_to_the_baseline_as_markdown(dialin, studies):
    code, out, _ = dialin("studies", str(studies), "--relative")
    assert code == 0
    winner = example_studies.winner().verdict
    best = next(one for one in winner.candidates if one.name == "16")
    tables = out.split("\n\n")
    place = next(place for place, text in enumerate(tables) if text.startswith("**innodb_buffer_pool_instances: throughput"))
    head, _, *rows = tables[place + 1].splitlines()
    assert head == "| workload | 1 | 2 | 4 | 8 | 16 | 32 | 64 |"
    assert any(f"{best.ratio.mean:.3f} ({best.ratio.low:.3f} to {best.ratio.high:.3f})" in row for row in rows)
    assert {row.count("|") for row in rows} == {head.count("|")}
    assert "p99 latency as a ratio" in out, "another goal has a table of its own"
    left_out = out.partition("Left out:")[2].strip().splitlines()
    assert len(left_out) == 2
    assert "unfinished: no verdict yet" in left_out[0]
    assert left_out[1].startswith("- ")
    assert left_out[1].endswith("is damaged and cannot be read")


def test_nothing_of_a_study_is_changed(dialin, studies):
    before = {path: path.read_bytes() for path in studies.rglob("*") if path.is_file()}
    dialin("studies", str(studies))
    dialin("diff", str(studies / "winner"), str(studies / "no_difference"))
    assert {path: path.read_bytes() for path in studies.rglob("*") if path.is_file()} == before


def test_differences_are_said_before_changes_and_noise(dialin, studies):
    code, out, err = dialin("diff", str(studies / "winner"), str(studies / "no_difference"))
    assert (code, err) == (0, "")
    text = " ".join(out.split())
    headings = ("What differs between the studies", "What changed", "Noise ")
    assert sorted(headings, key=text.index) == list(headings)
    assert "innodb_buffer_pool_instances = 16: throughput against the baseline +" in text
    assert "Compared in A only: 2, 8, 32 and 64." in text
    assert "trial-to-trial SD" in text


def test_studies_of_different_questions_are_refused_in_one_line(dialin, studies):
    code, out, err = dialin("diff", str(studies / "winner"), str(studies / "by_latency"))
    assert (code, out) == (2, "")
    assert "different questions: goal: throughput in A, latency in B" in " ".join(err.split())


def test_the_comparison_for_scripts_has_every_interval(dialin, studies):
    _, out, _ = dialin("diff", str(studies / "winner"), str(studies / "no_difference"), "--json")
    diff = json.loads(out)
    assert diff["schema"] == "dialin/diff/1"
    assert diff["candidates"][0]["ratio_change"] == {"mean": 1.0, "low": 1.0, "high": 1.0}
    assert all(one["level_change"]["low"] < one["level_change"]["high"] for one in diff["candidates"])


@pytest.mark.parametrize("width", [80, 120])
def test_the_change_keeps_its_interval_at_any_width(width):
    record, other = example_studies.winner(), example_studies.no_difference()
    console = Console(file=io.StringIO(), width=width, highlight=False)
    print_document(diff_document(compare_studies(record, other), record.spec), console)
    lines = console.file.getvalue().splitlines()
    assert max(map(len, lines)) <= width
    rows = [line for line in lines if line.startswith("16  ")]
    assert len(rows) == 2
    assert all(line.rstrip().endswith(")") for line in rows)
