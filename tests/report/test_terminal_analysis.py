import io
import json
from pathlib import Path

import pytest
from rich.console import Console

from dialin import json_documents
from dialin.model.analysis import Analysis, FileEntry, FileStatus
from dialin.report.render.terminal_writer import print_analysis

SCHEMA = Path(__file__).parents[2] / "schema"
GOOD = sorted((SCHEMA / "good").glob("analysis-*.json"))


def analysis(name="analysis-winner", **changed):
    found = Analysis.model_validate_json((SCHEMA / "good" / f"{name}.json").read_text(encoding="utf-8"))
    return found.model_copy(update=changed)


def printed(found, width=100, encoding="utf-8", **options):
    raw = io.BytesIO()
    stream = io.TextIOWrapper(raw, encoding=encoding)
    print_analysis(found, Console(file=stream, width=width, highlight=False, **options))
    stream.flush()
    return raw.getvalue().decode(encoding)


def test_the_verdict_comes_first_then_what_to_make_of_it_then_the_candidates():
    lines = printed(analysis()).splitlines()
    assert lines[0].startswith("32 wins by throughput: 1,001 → 1,097 tps, +9.6 % (")
    assert lines[1].startswith("It differs from every other candidate by more than runs of one candidate in one cell do.")
    head = next(index for index, line in enumerate(lines) if line.startswith("candidate  "))
    assert lines[head + 1].split()[0] == "8"
    assert "baseline" in lines[head + 1]
    assert lines[head + 2].endswith("better (proven)")


def test_the_three_most_important_notes_come_before_the_runs_and_all_others_after_them():
    found = analysis("analysis-single-runs")
    assert len(found.findings + found.confounds + found.warnings) > 3
    text = " ".join(printed(found, 200).split())
    runs = text.index("Each run")
    places = {note.code: text.index(note.text) for note in found.findings + found.confounds + found.warnings}
    assert sum(place < runs for place in places.values()) == 3
    assert min(places, key=places.get) == "less_steady"
    assert max(places, key=places.get) == "not_randomised"


def test_each_cell_has_its_ratio():
    found = analysis("analysis-depends-on-cell")
    lines = printed(found, 160).splitlines()
    assert lines[0].startswith("Inconclusive: no winner by throughput is claimed, because the better one depends on the cell")
    head = lines.index(next(line for line in lines if line.startswith("Each cell: 8, and the others against it")))
    assert lines[head + 1].split() == ["t", "8", "tps", "32", "runs"]
    assert lines[head + 2].split()[:2] == ["8", "1,205"]
    assert "(" in lines[head + 2]
    many = found.model_copy(update={"cells": found.cells * 20})
    assert "40 more cells are not shown; --json has all." in printed(many)


def test_where_nothing_is_decided_no_candidate_is_called_better_or_proven():
    text = printed(analysis("analysis-depends-on-cell"), 160)
    assert text.count("  too close to tell\n") == text.count("  worse (likely)\n") == 1
    assert "proven" not in text


def test_that_a_difference_has_no_interval_is_said_beside_it():
    text = printed(analysis("analysis-single-runs"))
    assert "(no interval)" in text
    assert "has one run to compare" in " ".join(text.split()) or "candidate has one run" in " ".join(text.split())
    assert "Finding: 8 had more stalls" in " ".join(text.split())


@pytest.mark.parametrize("path", GOOD, ids=lambda path: path.stem)
@pytest.mark.parametrize("width", [20, 30, 50, 80, 120, 200])
def test_no_line_is_wider_than_the_terminal(path, width):
    text = printed(analysis(path.stem), width)
    unbroken = max(len(word) for word in text.split())
    assert max(map(len, text.splitlines())) <= max(width, unbroken)


def test_a_narrow_terminal_says_what_it_leaves_out_and_a_wide_one_leaves_nothing_out():
    assert "Left out at this width:" in printed(analysis(), 60)
    assert "Left out" not in printed(analysis(), 160)


def test_names_of_files_are_shown_and_never_obeyed():
    hostile = "\x1b[31m[bold]\u202egz"
    found = analysis()
    runs = [run.model_copy(update={"label": f"{hostile}{index}", "candidate": hostile}) for index, run in enumerate(found.runs)]
    candidates = [one.model_copy(update={"name": hostile}) for one in found.candidates]
    notes = [found.warnings[0].model_copy(update={"text": hostile})]
    bad = analysis(runs=runs, candidates=candidates, warnings=notes, confounds=notes, findings=notes, headline=hostile)
    text = printed(bad, 160, force_terminal=True, no_color=True)
    assert "\\x1b[31m[bold]\\u202egz" in text
    assert not {"\u202e"} & set(text)
    assert "\x1b[31m" not in text
    rendered = json_documents.render(bad)
    assert not set(rendered) & {"\x1b", "\u202e", "\x7f"}
    assert json.loads(rendered)["headline"] == hostile


def test_a_pipe_has_no_escapes_and_ascii_terminals_get_ascii():
    assert "\x1b" not in printed(analysis())
    assert "?" not in printed(analysis("analysis-single-runs"), encoding="ascii")


def test_many_runs_are_cut_short_and_said():
    found = analysis("analysis-human-ten-seconds")
    text = printed(found.model_copy(update={"runs": found.runs * 50}))
    assert "10 more runs are not shown; --json has all." in text


def test_every_file_that_was_not_simply_used_has_its_line():
    files = [
        FileEntry(file="a.log", status=FileStatus.USED, detail=""),
        FileEntry(file="b.log", status=FileStatus.FAILED, detail="FATAL: no\x1b[31m server"),
    ]
    text = printed(analysis(files=files))
    assert "Files: 1 used, 1 failed." in text
    assert "b.log failed FATAL: no\\x1b[31m server" in " ".join(text.split())
