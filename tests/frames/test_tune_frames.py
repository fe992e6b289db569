"""A tune as frames: every setting with its figures, its variables, and what each value does."""

import re
from pathlib import Path

import plotly.graph_objects as go
import polars as pl
import pytest

import dialin
from dialin.evidence.proof_view import proof_view
from dialin.frames import columns
from dialin.store.store import Store
from fixtures import example_studies
from fixtures.simulated_servers import CAPACITY, METHOD, POOL, VARIABLES, SimulatedServers, planted, tune_spec
from fixtures.tuned import run_tune


@pytest.fixture(scope="module")
def study(tmp_path_factory):
    directory = tmp_path_factory.mktemp("tunes") / "tune"
    run_tune(directory, SimulatedServers(planted, dies=lambda setting: float(setting.get(POOL, 0)) > 2**30), tune_spec(12))
    return dialin.open_study(directory)


@pytest.mark.parametrize("name", ["tune_trials", "tune_variables", "tune_responses"])
def test_the_frames_of_a_tune_have_the_columns_that_are_documented(study, name):
    found, promised = dict(getattr(study, name).schema), columns.schema(columns.EVERY[name])
    assert {column: found[column] for column in promised} == promised
    assert getattr(study, name).height > 0


def test_every_trial_stands_with_its_setting_and_its_figures(study):
    found = study.tune_trials
    with Store.open(study.directory) as store:
        course = proof_view(store.read()).course
    assert found["trial"].to_list() == [trial.id for trial in course.trials]
    assert found.columns[-len(VARIABLES) :] == [one.name for one in VARIABLES]
    for row in found.iter_rows(named=True):
        setting = course.settings[row["candidate"]]
        assert row[POOL] == setting.get(POOL, 2**26)
        assert row[CAPACITY] == setting.get(CAPACITY, 200)
        assert (row["tps"] is None) == (row["state"] == "failed") == (row["reason"] is not None)
    seconds = study.samples.filter(step="measure", state="done", lost=False).group_by("trial").agg(pl.col("tps").mean())
    both = found.filter(state="done").join(seconds, on="trial", suffix="_of_seconds")
    assert both["tps"].to_list() == pytest.approx(both["tps_of_seconds"].to_list())
    assert set(found["stage"]) >= {"start", "search", "refine", "proof"}
    assert found.filter(state="failed").height > 0


def test_candidates_and_trials_of_a_tune_are_those_of_its_search_too(study):
    assert set(study.tune_trials["candidate"]) == set(study.candidates["candidate"])
    assert study.trials.height == study.tune_trials.height
    assert set(study.trials["purpose"]) == {"search", "race"}


def test_variables_have_what_is_recommended_and_what_each_carries(study):
    found = {row["variable"]: row for row in study.tune_variables.iter_rows(named=True)}
    assert set(found) == {one.name for one in VARIABLES}
    recommended = study.result.tune.recommended
    assert {name: row["recommended"] for name, row in found.items() if row["recommended"]} == {
        name: str(value) for name, value in recommended.items()
    }
    assert all((row["carries"] is not None) == (name in recommended) for name, row in found.items())
    assert found[CAPACITY]["effect"] > found["innodb_idle_0"]["effect"]


def test_the_response_of_a_variable_leads_through_the_baseline_to_what_it_carries(study):
    found = study.tune_responses.filter(variable=CAPACITY)
    assert found["number"].is_sorted()
    assert found.filter(number=200).select("ratio", "ratio_low", "ratio_high").row(0) == (1.0, 1.0, 1.0)
    one = study.tune_variables.row(by_predicate=pl.col("variable") == CAPACITY, named=True)
    at = found.filter(value=one["recommended"]).row(0, named=True)
    assert at["ratio_low"] < at["ratio"] < at["ratio_high"]
    if one["carries_by"] == "model":
        assert (at["ratio"], at["ratio_low"]) == pytest.approx((one["carries"], one["carries_low"]))
    assert study.tune_responses.filter(variable=METHOD)["value"].to_list() == ["0", "1", "2"]


def test_a_study_that_is_no_tune_has_none_of_their_rows(kept):
    study = dialin.open_study(kept(example_studies.winner()))
    assert study.tune_trials.is_empty()
    assert study.tune_variables.is_empty()
    assert study.tune_responses.is_empty()


def test_the_code_of_the_document_runs_as_it_stands_there(study, monkeypatch):
    text = (Path(__file__).parents[2] / "docs" / "tune.md").read_text()
    code = re.search(r"```python\n(import dialin\n.*?)```", text, flags=re.DOTALL)[1]
    shown = []
    monkeypatch.setattr(go.Figure, "show", lambda figure: shown.append(figure))  # noqa: PLW0108 - a method, which append is not
    monkeypatch.setattr(dialin, "open_study", lambda _: study)
    exec(compile(code, "tune.md", "exec"), {})
    assert len(shown) == 1
