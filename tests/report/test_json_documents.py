"""The documents that scripts rely on: their schemas, and samples of each that fit and that do not."""

import json
from pathlib import Path

import jsonschema
import pytest

from dialin import json_documents
from fixtures import example_reasons, example_studies
from schemas_and_columns import OUTPUTS, schemas

SCHEMA = Path(__file__).parents[2] / "schema"
EVERY = ("reasons", "costs", "scaling", "statements", "kinds", "statement_times", "waits", "wait_trials", "profile")
GOOD = {
    "capture-counters-before": lambda sample: sample["digests"][-1]["digest_text"] is None,
    "capture-header": lambda sample: sample["source"] == "slow+extra",
    "capture-summary-sysbench": lambda sample: sample["coverage"]["logged"] / sample["coverage"]["questions"] > 0.999,
    "diff-two-studies": lambda sample: sample["candidates"][1]["ratio_change"]["high"] < 1,
    "studies-one-damaged": lambda sample: [bool(study["problem"]) for study in sample["studies"]] == [False, False, True],
    "verdict-by-latency": lambda sample: (
        (sample["goal"], sample["percentile"], bool(sample["confirmed"])) == ("latency", 99, True)
    ),
    "verdict-by-stability": lambda sample: sample["goal"] == "stability" and sample["candidates"][1]["goal_ratio"]["high"] < 1,
    "verdict-failed-candidates": lambda sample: "not_measured" in states(sample),
    "verdict-driver-choices": lambda sample: sample["workload"]["driver_choices"][0]["load_threads"] == 1,
    "verdict-no-interval-yet": lambda sample: sample["candidates"][1]["ratio"]["low"] is None,
    "verdict-no-worthwhile-difference": lambda sample: sample["verdict"] == "no_worthwhile_difference",
    "verdict-safe-choice": lambda sample: sample["verdict"] == "safe_choice" and "safe_choice" in states(sample),
    "verdict-tie": lambda sample: sample["verdict"] == "tie" and len(sample["winners"]) == 2,
    "verdict-weaker-durability": lambda sample: bool(sample["candidates"][1]["weaker_durability"]),
    "verdict-winner": lambda sample: sample["verdict"] == "winner" and "better" in states(sample),
    "why-every-part": lambda sample: (
        all(sample[part] for part in EVERY) and all(sample["semaphores"][p] for p in ("places", "spins"))
    ),
    "why-nothing-moved": lambda sample: [reason["kind"] for reason in sample["reasons"]] == ["unused"],
    "why-nothing-watched": lambda sample: not any(sample[part] for part in ("reasons", "costs", "scaling", "waits", "probes")),
}
"""The good samples of a verdict and of its reasons, and what their names promise."""
BAD = {
    "analysis-finding-without-code": ("findings", 0),
    "analysis-interval-without-high": ("candidates", 0, "tps"),
    "analysis-no-headline": (),
    "analysis-of-another-schema": ("schema",),
    "analysis-run-without-file": ("runs", 0),
    "analysis-tps-as-text": ("runs", 0, "tps"),
    "analysis-unknown-key": (),
    "analysis-unknown-outcome": ("verdict",),
    "capture-summary-unknown-reason": ("not_replayed", 0, "reason"),
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
    "why-cost-without-unit": ("costs", 0),
    "why-histogram-as-text": ("waits", 0, "histogram", 0),
    "why-no-summary": (),
    "why-of-another-schema": ("schema",),
    "why-percentile-as-text": ("statement_times", 0, "p50_us"),
    "why-reason-without-source": ("reasons", 0),
    "why-unknown-key": (),
    "why-unknown-kind": ("reasons", 0, "kind"),
}
"""Each bad sample, and where it breaks its schema."""


def samples(kind):
    return sorted({path for name in OUTPUTS for path in (SCHEMA / kind).glob(f"{name}-*.json")})


def states(sample):
    return {candidate["state"] for candidate in sample["candidates"]}


def name_of(path):
    return max((name for name in OUTPUTS if path.stem.startswith(f"{name}-")), key=len)


def validator(name):
    published = json.loads((SCHEMA / f"{name}.schema.json").read_text(encoding="utf-8"))
    return jsonschema.Draft202012Validator(published)


def rendered(name, document):
    return json_documents.render_verdict(document) if name == "verdict" else json_documents.render(document)


@pytest.mark.parametrize("name", OUTPUTS)
def test_the_published_schema_is_that_of_the_code(name):
    stored = (SCHEMA / f"{name}.schema.json").read_text(encoding="utf-8")
    assert stored == json.dumps(schemas()[name], indent=2) + "\n", "run: make docs"
    jsonschema.Draft202012Validator.check_schema(json.loads(stored))


@pytest.mark.parametrize("path", samples("good"), ids=lambda path: path.stem)
def test_good_samples_fit_come_back_whole_and_are_what_they_are_called(path):
    text, name = path.read_text(encoding="utf-8"), name_of(path)
    sample = json.loads(text)
    validator(name).validate(sample)
    assert path.stem not in GOOD or GOOD[path.stem](sample)
    assert rendered(name, OUTPUTS[name].model_validate(sample)) == text, "not as dialin writes it"


@pytest.mark.parametrize("path", samples("bad"), ids=lambda path: path.stem)
def test_each_bad_sample_breaks_its_one_rule(path):
    errors = list(validator(name_of(path)).iter_errors(json.loads(path.read_text(encoding="utf-8"))))
    assert [tuple(error.absolute_path) for error in errors] == [BAD[path.stem]]


def test_there_are_samples_of_both_kinds():
    stems = {path.stem for path in samples("good")}
    assert set(GOOD) == {stem for stem in stems if not stem.startswith("analysis-")}
    assert len(stems - set(GOOD)) >= 4
    assert {path.stem for path in samples("bad")} == set(BAD)


def test_every_verdict_fits_the_schema_and_comes_back_whole(judged):
    text = json_documents.render_verdict(judged.verdict)
    validator("verdict").validate(json.loads(text))
    assert OUTPUTS["verdict"].model_validate_json(text) == judged.verdict


@pytest.mark.parametrize(
    "make", [example_reasons.full, example_reasons.nothing_moved, example_reasons.unknown, example_reasons.hostile]
)
def test_all_reasons_fit_the_schema_and_come_back_whole(make):
    why = make(example_studies.winner())
    text = json_documents.render(why)
    validator("why").validate(json.loads(text))
    assert OUTPUTS["why"].model_validate_json(text) == why
    assert text.startswith('{\n  "schema": "dialin/why/1",\n  "summary": ')
    assert text.endswith("}\n")


def test_it_ends_in_a_newline_and_is_indented_for_people():
    text = json_documents.render_verdict(example_studies.winner().verdict)
    assert text.startswith('{\n  "schema": "dialin/verdict/1",\n  "verdict": "winner"')
    assert text.endswith("}\n")


def test_a_figure_without_an_interval_has_null_ends():
    found = json.loads(json_documents.render_verdict(example_studies.inconclusive().verdict))
    assert found["candidates"][1]["ratio"]["low"] is None


def test_every_measure_has_its_interval_and_the_verdict_says_which_percentile_it_is():
    found = json.loads(json_documents.render_verdict(example_studies.by_latency().verdict))
    one = found["candidates"][1]
    for measure in ("tps", "ratio", "goal_ratio", "cv", "stall_seconds_per_1000", "latency_ms"):
        assert one[measure]["low"] <= one[measure]["mean"] <= one[measure]["high"]
    assert found["percentile"] == 99


def test_hostile_text_cannot_act_where_a_verdict_is_printed():
    text = json_documents.render_verdict(example_studies.hostile().verdict)
    assert not set(text) & {"\x1b", "\x07", "\u202e", "\x7f", "\x9b"}
    assert json.loads(text)["warnings"][0]["data"]["line"] == example_studies.HOSTILE


def test_hostile_text_cannot_act_where_reasons_are_printed():
    text = json_documents.render(example_reasons.hostile(example_studies.winner()))
    assert text.isascii()
    assert not set(text) & {"\x1b", "\x07", "\x7f"}
