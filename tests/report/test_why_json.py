import json
from pathlib import Path

import jsonschema
import pytest

from dialin.model.why import Why
from dialin.report import json_documents
from fixtures import example_reasons, example_studies

SCHEMA = Path(__file__).parents[2] / "schema"
EVERY = ("reasons", "costs", "scaling", "statements", "statement_times", "waits", "wait_trials")
GOOD = {
    "why-every-part": lambda sample: (
        all(sample[part] for part in EVERY) and all(sample["semaphores"][p] for p in ("places", "spins"))
    ),
    "why-nothing-moved": lambda sample: [reason["kind"] for reason in sample["reasons"]] == ["unused"],
    "why-nothing-watched": lambda sample: not any(sample[part] for part in ("reasons", "costs", "scaling", "waits", "probes")),
}
"""Each good sample, and what its name promises."""
BAD = {
    "why-cost-without-unit": ("costs", 0),
    "why-histogram-as-text": ("waits", 0, "histogram", 0),
    "why-no-summary": (),
    "why-of-another-schema": ("schema",),
    "why-percentile-as-text": ("statement_times", 0, "p50_us"),
    "why-reason-without-source": ("reasons", 0),
    "why-unknown-key": (),
    "why-unknown-kind": ("reasons", 0, "kind"),
}


def published():
    return json.loads((SCHEMA / "why.schema.json").read_text(encoding="utf-8"))


def test_the_published_schema_is_that_of_the_code():
    stored = (SCHEMA / "why.schema.json").read_text(encoding="utf-8")
    assert stored == json_documents.schema_text("why"), (
        "run: python -m dialin.report.json_documents why > schema/why.schema.json"
    )
    jsonschema.Draft202012Validator.check_schema(published())


@pytest.mark.parametrize(
    "make", [example_reasons.full, example_reasons.nothing_moved, example_reasons.unknown, example_reasons.hostile]
)
def test_what_is_printed_fits_the_schema_and_comes_back_whole(make):
    why = make(example_studies.winner())
    text = json_documents.render(why)
    jsonschema.validate(json.loads(text), published(), cls=jsonschema.Draft202012Validator)
    assert Why.model_validate_json(text) == why
    assert text.startswith('{\n  "schema": "dialin/why/1",\n  "summary": ')
    assert text.endswith("}\n")


def test_hostile_text_cannot_act_where_json_is_printed():
    text = json_documents.render(example_reasons.hostile(example_studies.winner()))
    assert text.isascii()
    assert not set(text) & {"\x1b", "\x07", "\x7f"}


@pytest.mark.parametrize("path", sorted((SCHEMA / "good").glob("why-*.json")), ids=lambda path: path.stem)
def test_good_samples_fit_and_are_what_they_are_called(path):
    sample = json.loads(path.read_text(encoding="utf-8"))
    jsonschema.validate(sample, published(), cls=jsonschema.Draft202012Validator)
    assert GOOD[path.stem](sample)
    assert json_documents.render(Why.model_validate(sample)) == path.read_text(encoding="utf-8"), "not as dialin writes it"


@pytest.mark.parametrize("path", sorted((SCHEMA / "bad").glob("why-*.json")), ids=lambda path: path.stem)
def test_each_bad_sample_breaks_its_one_rule(path):
    sample = json.loads(path.read_text(encoding="utf-8"))
    errors = list(jsonschema.Draft202012Validator(published()).iter_errors(sample))
    assert [tuple(error.absolute_path) for error in errors] == [BAD[path.stem]]


def test_there_are_samples_of_both_kinds():
    assert {path.stem for path in (SCHEMA / "good").glob("why-*.json")} == set(GOOD)
    assert {path.stem for path in (SCHEMA / "bad").glob("why-*.json")} == set(BAD)
