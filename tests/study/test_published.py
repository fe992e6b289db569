import dataclasses
import re

import pytest

from dialin.evidence.explain import explain
from dialin.model.evidence import Watched
from dialin.study import recipes
from dialin.study.published import Done, Reproduction, page, seen_at
from dialin.study.recipes import ScaleName
from dialin.testing import invented_why, records
from dialin.testing.invented import HOSTILE


def reproduction(name, record, **changes):
    recipe = recipes.find(name)
    study = recipe.study[0]
    return Reproduction(name, recipe.model_copy(update=changes), ScaleName.LAPTOP, [Done(study, record, explain(record))])


@pytest.fixture
def waited():
    return reproduction("hash-table-locks", invented_why.waits_moved())


def test_the_page_sets_what_was_published_beside_what_was_found(waited):
    text = page([waited])
    assert "## hash-table-locks" in text
    assert waited.recipe.source.address in text
    assert re.search(r"### .*\n\ninnodb\S+ = 8 wins", text)
    (said,) = [found for found in waited.found() if found.expectation.rule == "mean-above-p99"]
    assert said.figures == "it was not measured", "it has other candidates than the recipe"
    assert re.search(
        r"longer than the 99th percentile.*Here: not shown either way \(it was not measured\)\. Too few waits", text
    )
    assert "longest 1 %" in text, "the table of raw waits"


def test_each_expectation_of_a_study_that_was_run_is_answered_once(waited):
    own = [one for one in waited.recipe.expect if one.study == "mysql-9.7"]
    assert [one.expectation for one in waited.found()] == own
    assert page([waited]).count("this machine says") == 1


def test_every_row_of_every_table_has_as_many_cells_as_its_head(waited):
    tables = re.findall(r"(?:^\|.*\n)+", page([waited, reproduction("buffer-pool-instances", records.winner())]), re.MULTILINE)
    assert len(tables) >= 4
    for table in tables:
        assert len({line.count(" | ") for line in table.splitlines() if "---" not in line}) == 1, table


def test_published_figures_stand_beside_ours_as_figures_and_as_speeds():
    figures = (
        recipes.find("read-buffer-size").figures[0].model_copy(update={"study": "io-bound", "values": {"1": 40.0, "4": 50.0}})
    )
    text = page([reproduction("buffer-pool-instances", records.winner(), figures=[figures])])
    row = next(line for line in text.splitlines() if line.startswith("| 4 |"))
    assert "| 50" in row
    assert "−20.0 %" in row


def test_where_threads_were_seen_waiting_is_a_mean_of_readings_and_trials():
    record = records.winner()
    place = "btr0sea.cc:122/S-lock"
    watched = {
        trial.id: {"innodb": Watched("innodb", 10, {f"semaphore_seen/{place}": 30 * (trial.candidate == "1")}, readings=10)}
        for trial in record.trials
    }
    seen = seen_at(dataclasses.replace(record, watched=watched))
    assert seen[place]["1"] == 3.0
    assert seen[place]["16"] == 0.0


def test_without_any_thread_waiting_no_place_is_named():
    assert seen_at(records.winner()) == {}


def test_hostile_names_are_text():
    text = page([reproduction("buffer-pool-instances", records.hostile())])
    assert "<script>" not in text
    assert HOSTILE not in text


def test_a_page_without_runs_says_so():
    assert "Nothing was run yet." in page([])
