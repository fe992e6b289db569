import json
from pathlib import Path

import jsonschema
import pytest

from dialin.model.verdict import Verdict
from dialin.report import jsonfile
from dialin.testing import records

SCHEMA = Path(__file__).parents[2] / "schema"
BAD = {
    "verdict-candidate-without-state": ("candidates", 0),
    "verdict-interval-without-high": ("candidates", 0, "tps"),
    "verdict-no-headline": (),
    "verdict-of-another-schema": ("schema",),
    "verdict-tps-as-text": ("candidates", 0, "tps"),
    "verdict-unknown-key": (),
    "verdict-unknown-outcome": ("verdict",),
    "verdict-warning-without-code": ("warnings", 0),
    "verdict-winners-as-text": ("winners",),
}


def published():
    return json.loads((SCHEMA / "verdict.schema.json").read_text(encoding="utf-8"))


def test_the_published_schema_is_that_of_the_code():
    stored = (SCHEMA / "verdict.schema.json").read_text(encoding="utf-8")
    assert stored == jsonfile.schema_text(), "run: python -m dialin.report.jsonfile > schema/verdict.schema.json"


def test_the_schema_is_one():
    jsonschema.Draft202012Validator.check_schema(published())


def test_every_verdict_fits_the_schema_and_comes_back_whole(judged):
    text = jsonfile.render(judged.verdict)
    jsonschema.validate(json.loads(text), published(), cls=jsonschema.Draft202012Validator)
    assert Verdict.model_validate_json(text) == judged.verdict


def test_it_ends_in_a_newline_and_is_indented_for_people():
    text = jsonfile.render(records.winner().verdict)
    assert text.startswith('{\n  "schema": "dialin/verdict/1",\n  "verdict": "winner"')
    assert text.endswith("}\n")


def test_a_figure_without_an_interval_has_null_ends():
    found = json.loads(jsonfile.render(records.unresolved().verdict))
    assert found["candidates"][1]["ratio"]["low"] is None


def test_hostile_text_cannot_act_where_json_is_printed():
    text = jsonfile.render(records.hostile().verdict)
    assert not set(text) & {"\x1b", "\x07", "\u202e", "\x7f", "\x9b"}
    assert json.loads(text)["warnings"][0]["data"]["line"] == records.HOSTILE


@pytest.mark.parametrize("path", sorted((SCHEMA / "good").glob("verdict-*.json")), ids=lambda path: path.stem)
def test_good_samples_fit(path):
    jsonschema.validate(json.loads(path.read_text(encoding="utf-8")), published(), cls=jsonschema.Draft202012Validator)


@pytest.mark.parametrize("path", sorted((SCHEMA / "bad").glob("verdict-*.json")), ids=lambda path: path.stem)
def test_each_bad_sample_breaks_its_one_rule(path):
    sample = json.loads(path.read_text(encoding="utf-8"))
    errors = list(jsonschema.Draft202012Validator(published()).iter_errors(sample))
    assert [tuple(error.absolute_path) for error in errors] == [BAD[path.stem]]


def test_there_are_samples_of_both_kinds():
    assert len(list((SCHEMA / "good").glob("verdict-*.json"))) >= 4
    assert {path.stem for path in (SCHEMA / "bad").glob("verdict-*.json")} == set(BAD)
