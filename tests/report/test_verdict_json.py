import json
from pathlib import Path

import jsonschema
import pytest

from dialin.model.verdict import Verdict
from dialin.report import json_documents
from fixtures import example_studies

SCHEMA = Path(__file__).parents[2] / "schema"
GOOD = {
    "verdict-by-latency": lambda sample: (
        (sample["goal"], sample["percentile"], bool(sample["confirmed"])) == ("latency", 99, True)
    ),
    "verdict-by-stability": lambda sample: sample["goal"] == "stability" and sample["candidates"][1]["goal_ratio"]["high"] < 1,
    "verdict-failed-candidates": lambda sample: "failed" in states(sample),
    "verdict-no-interval-yet": lambda sample: sample["candidates"][1]["ratio"]["low"] is None,
    "verdict-no-worthwhile-difference": lambda sample: sample["verdict"] == "no_worthwhile_difference",
    "verdict-safe-choice": lambda sample: sample["verdict"] == "safe_choice" and {"behind", "open"} < states(sample),
    "verdict-tie": lambda sample: sample["verdict"] == "tie" and len(sample["winners"]) == 2,
    "verdict-weaker-durability": lambda sample: bool(sample["candidates"][1]["weaker_durability"]),
    "verdict-winner": lambda sample: sample["verdict"] == "winner" and "wins" in states(sample),
}
"""Each good sample, and what its name promises."""
BAD = {
    "verdict-candidate-without-state": ("candidates", 0),
    "verdict-confirmed-without-blocks": ("confirmed",),
    "verdict-cv-as-number": ("candidates", 0, "cv"),
    "verdict-interval-without-high": ("candidates", 0, "tps"),
    "verdict-no-headline": (),
    "verdict-of-another-schema": ("schema",),
    "verdict-tps-as-text": ("candidates", 0, "tps"),
    "verdict-unknown-goal": ("goal",),
    "verdict-unknown-key": (),
    "verdict-unknown-outcome": ("verdict",),
    "verdict-unknown-state": ("candidates", 0, "state"),
    "verdict-warning-without-code": ("warnings", 0),
    "verdict-winners-as-text": ("winners",),
}


def states(sample):
    return {candidate["state"] for candidate in sample["candidates"]}


def published():
    return json.loads((SCHEMA / "verdict.schema.json").read_text(encoding="utf-8"))


def test_the_published_schema_is_that_of_the_code():
    stored = (SCHEMA / "verdict.schema.json").read_text(encoding="utf-8")
    assert stored == json_documents.schema_text("verdict"), (
        "run: python -m dialin.report.json_documents verdict > schema/verdict.schema.json"
    )


def test_the_schema_is_one():
    jsonschema.Draft202012Validator.check_schema(published())


def test_every_verdict_fits_the_schema_and_comes_back_whole(judged):
    text = json_documents.render_verdict(judged.verdict)
    jsonschema.validate(json.loads(text), published(), cls=jsonschema.Draft202012Validator)
    assert Verdict.model_validate_json(text) == judged.verdict


def test_it_ends_in_a_newline_and_is_indented_for_people():
    text = json_documents.render_verdict(example_studies.winner().verdict)
    assert text.startswith('{\n  "schema": "dialin/verdict/1",\n  "verdict": "winner"')
    assert text.endswith("}\n")


def test_a_figure_without_an_interval_has_null_ends():
    found = json.loads(json_documents.render_verdict(example_studies.unresolved().verdict))
    assert found["candidates"][1]["ratio"]["low"] is None


def test_every_measure_has_its_interval_and_the_verdict_says_which_percentile_it_is():
    found = json.loads(json_documents.render_verdict(example_studies.by_latency().verdict))
    one = found["candidates"][1]
    for measure in ("tps", "ratio", "goal_ratio", "cv", "stall_seconds_per_1000", "latency_ms"):
        assert one[measure]["low"] <= one[measure]["mean"] <= one[measure]["high"]
    assert found["percentile"] == 99


def test_hostile_text_cannot_act_where_json_is_printed():
    text = json_documents.render_verdict(example_studies.hostile().verdict)
    assert not set(text) & {"\x1b", "\x07", "\u202e", "\x7f", "\x9b"}
    assert json.loads(text)["warnings"][0]["data"]["line"] == example_studies.HOSTILE


@pytest.mark.parametrize("path", sorted((SCHEMA / "good").glob("verdict-*.json")), ids=lambda path: path.stem)
def test_good_samples_fit_and_are_what_they_are_called(path):
    sample = json.loads(path.read_text(encoding="utf-8"))
    jsonschema.validate(sample, published(), cls=jsonschema.Draft202012Validator)
    assert GOOD[path.stem](sample)
    assert json_documents.render_verdict(Verdict.model_validate(sample)) == path.read_text(encoding="utf-8"), (
        "not as dialin writes it"
    )


@pytest.mark.parametrize("path", sorted((SCHEMA / "bad").glob("verdict-*.json")), ids=lambda path: path.stem)
def test_each_bad_sample_breaks_its_one_rule(path):
    sample = json.loads(path.read_text(encoding="utf-8"))
    errors = list(jsonschema.Draft202012Validator(published()).iter_errors(sample))
    assert [tuple(error.absolute_path) for error in errors] == [BAD[path.stem]]


def test_there_are_samples_of_both_kinds():
    assert {path.stem for path in (SCHEMA / "good").glob("verdict-*.json")} == set(GOOD)
    assert {path.stem for path in (SCHEMA / "bad").glob("verdict-*.json")} == set(BAD)
