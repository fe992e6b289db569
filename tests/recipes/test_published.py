import dataclasses
import re

import pytest

from dialin.evidence.why_verdict import explain
from dialin.model.evidence import Watched
from dialin.model.verdict import Note
from dialin.probes import host
from dialin.recipes import library
from dialin.recipes.library import ScaleName
from fixtures import example_evidence, example_studies
from fixtures.study_builder import HOSTILE
from published.page import MACHINE, Done, Reproduction, page, summary


def reproduction(name, record, **changes):
    recipe = library.find(name)
    study = recipe.study[0]
    return Reproduction(name, recipe.model_copy(update=changes), ScaleName.LAPTOP, [Done(study, record, explain(record))])


@pytest.fixture
def waited():
    return reproduction("hash-table-locks", example_evidence.waits_moved())


def test_the_page_sets_what_was_published_beside_what_was_found(waited):
    text = page([waited])
    assert "## hash-table-locks" in text
    assert waited.recipe.source.address in text
    assert re.search(r"### .*\n\ninnodb\S+ = 8: [\d,]+ → [\d,]+ tps", text)
    (said,) = [found for found in waited.results() if found.expectation.rule == "mean-above-p99"]
    assert said.figures == "it was not measured", "it has other candidates than the recipe"
    assert re.search(r"longer than the 99th percentile.*\*\* Inconclusive: it was not measured\. A handful", text)
    assert "longest 1 %" in text, "the table of raw waits"


def test_the_summary_answers_each_claim_once_without_tables(waited):
    text = summary([waited])
    answered = [one for one in waited.results() if one.expectation.study == waited.done[0].study.name]
    assert answered
    assert [text.count(f"- **{one.expectation.claim.rstrip('.')}.**") for one in answered] == [1] * len(answered)
    assert waited.recipe.source.address in text
    assert "|" not in text


def test_a_published_wait_stands_beside_ours_in_the_same_unit(waited):
    (head, _, first, second) = table_with(page([waited]), "published mean, ns")
    place = head.split(" | ").index("published mean, ns")
    assert first.split(" | ")[place] == "6,536", "published as 6,535,546 of what are picoseconds"
    assert second.split(" | ")[place] == "–"


def test_findings_of_one_trial_each_are_marked(waited):
    expect = [one.model_copy(update={"candidates": ["1", "8"]}) for one in waited.recipe.expect if one.rule == "p90-alike"]
    text = page([reproduction("hash-table-locks", example_evidence.waits_moved(), expect=expect)])
    assert re.search(r"\| (agrees|disagrees), in one trial each \|", text)
    assert re.search(r"\*\* (Agrees|Disagrees), in one trial each: 90th percentile", text)


def test_seconds_a_run_are_those_of_a_thread_also_where_several_scan_at_once():
    record = on_a_scan(example_studies.winner(), threads=4)
    (rate,) = [one.tps.mean for one in record.verdict.candidates if one.name == "4"]
    rows = table_with(page([reproduction("buffer-pool-instances", record)]), "here, s per run")
    (row,) = [line for line in rows if line.startswith("| 4 |")]
    assert row.split(" | ")[1] == f"{4 / rate:.3f}"


def on_a_scan(record, *, threads):
    """The record with a verdict as if its load had been a scan."""
    workload = {
        **record.verdict.workload,
        "name": "scan",
        "traits": {"unit": "run", "runs": {"warm_up": 0, "measured": 3, "most": 6, "seconds": 1.0}},
        "threads": threads,
        "levels": [],
    }
    return dataclasses.replace(record, verdict=record.verdict.model_copy(update={"workload": workload}))


def table_with(text, title):
    """The lines of the first table that has such a column."""
    return next(table.splitlines() for table in re.findall(r"(?:^\|.*\n)+", text, re.MULTILINE) if title in table)


def test_the_machine_is_reported_by_keys_that_an_inventory_has(monkeypatch, tmp_path):
    disk = tmp_path / "block"
    (disk / "queue").mkdir(parents=True)
    (disk / "queue" / "rotational").write_text("0")
    monkeypatch.setattr(host.Path, "resolve", lambda *_, **__: disk)
    known = host.inventory(tmp_path)
    assert set(MACHINE) <= known.keys()
    text = page([reproduction("buffer-pool-instances", dataclasses.replace(example_studies.winner(), host=known))])
    assert f"file system: {known['file_system']}; disk: block; disk rotational: no" in text


def test_a_command_that_goes_on_with_one_study_is_not_told_of_a_recipe(waited):
    note = Note(code="inconclusive", text="A choice may take 84 blocks: dialin resume DIR --minutes 6")
    record = waited.done[0].record
    verdict = record.verdict.model_copy(update={"warnings": [note], "detectable": 0.031})
    text = page([reproduction("hash-table-locks", dataclasses.replace(record, verdict=verdict))])
    assert "dialin resume" not in text
    assert "which can detect differences of 3.1 %" in text


def test_each_expectation_of_a_study_that_was_run_is_answered_once(waited):
    own = [one for one in waited.recipe.expect if one.study == "mysql-9.7"]
    assert [one.expectation for one in waited.results()] == own
    text = page([waited])
    assert all(text.count(one.claim.rstrip(".")) == 2 for one in own), "in short, and with its figures"


def test_every_row_of_every_table_has_as_many_cells_as_its_head(waited):
    tables = re.findall(
        r"(?:^\|.*\n)+", page([waited, reproduction("buffer-pool-instances", example_studies.winner())]), re.MULTILINE
    )
    assert len(tables) >= 4
    for table in tables:
        assert len({line.count(" | ") for line in table.splitlines() if "---" not in line}) == 1, table


def test_published_figures_stand_beside_ours_as_figures_and_as_speeds():
    figures = (
        library.find("read-buffer-size").figures[0].model_copy(update={"study": "io-bound", "values": {"1": 40.0, "4": 50.0}})
    )
    text = page([reproduction("buffer-pool-instances", example_studies.winner(), figures=[figures])])
    row = next(line for line in text.splitlines() if line.startswith("| 4 |"))
    assert "| 50" in row
    assert "−20.0 %" in row


def test_the_places_at_which_threads_were_seen_waiting_stand_side_by_side():
    record = example_evidence.waits_moved()
    counters = {"1": 33.0, "8": 0.0}
    seen = {
        trial.id: {
            "innodb": Watched("innodb", 10, {"semaphore_seen/btr0sea.cc:122/S-lock": counters[trial.candidate]}, readings=12)
        }
        for trial in record.trials
    }
    text = page([reproduction("hash-table-locks", dataclasses.replace(record, watched=seen))])
    assert "| btr0sea.cc:122 (S-lock) | 3.00 | 0 |" in text
    assert "btr0sea.cc" not in page([reproduction("hash-table-locks", record)])


def test_hostile_names_are_text():
    text = page([reproduction("buffer-pool-instances", example_studies.hostile())])
    assert "<script>" not in text
    assert HOSTILE not in text


def test_a_page_without_runs_says_so():
    assert "Nothing was run yet." in page([])
