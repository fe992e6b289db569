"""The schema of dialin-load's stream, against samples: the good ones are what the driver writes (tests/driver/samples.rs)."""

import json
from pathlib import Path

import jsonschema
import pytest

from dialin.workloads.dialin_load_lines import quantile

SCHEMA = Path(__file__).parents[2] / "schema"
GOOD = sorted((SCHEMA / "good").glob("load-*.json"))
BAD = {
    "load-error-unknown-fault": ("fault",),
    "load-error-without-remedy": (),
    "load-second-code-as-word": ("errors",),
    "load-second-longer-than-one": ("seconds",),
    "load-second-percentile-as-text": ("latency", "p99"),
    "load-second-rate-of-zero": ("rate",),
    "load-second-unknown-key": (),
    "load-second-unknown-phase": ("phase",),
    "load-second-without-histogram": (),
    "load-second-without-percentile": ("service",),
    "load-start-of-another-schema": ("schema",),
    "load-start-without-phases": ("phases",),
    "load-summary-step-zero": ("steps", 0, "step"),
    "load-summary-total-with-rate": ("total", "rate"),
    "load-summary-without-total": (),
}
"""Each bad sample, and where it breaks the rule that its name tells."""


def schema():
    return json.loads((SCHEMA / "load.schema.json").read_text(encoding="utf-8"))


def read(path):
    return json.loads(path.read_text(encoding="utf-8"))


def objects(value):
    """All objects within a line, itself included."""
    if isinstance(value, dict):
        yield value
    if isinstance(value, (dict, list)):
        for part in value.values() if isinstance(value, dict) else value:
            yield from objects(part)


def test_the_schema_is_one():
    jsonschema.Draft202012Validator.check_schema(schema())


@pytest.mark.parametrize("path", GOOD, ids=lambda path: path.stem)
def test_output_of_the_driver_fits_the_schema(path):
    assert path.read_text(encoding="utf-8").count("\n") == 1
    jsonschema.validate(read(path), schema(), cls=jsonschema.Draft202012Validator)


def test_there_is_a_sample_of_each_type_of_line():
    assert {read(path)["type"] for path in GOOD} == {"start", "second", "summary", "error", "self-test"}


@pytest.mark.parametrize("name", BAD)
def test_each_bad_sample_breaks_one_rule(name):
    sample = read(SCHEMA / "bad" / f"{name}.json")
    whole = schema()
    assert not jsonschema.Draft202012Validator(whole).is_valid(sample)
    own = {"$ref": f"#/$defs/{sample['type']}", "$defs": whole["$defs"]}
    (broken,) = jsonschema.Draft202012Validator(own).iter_errors(sample)
    assert tuple(broken.absolute_path) == BAD[name]


def test_all_bad_samples_are_listed():
    assert {path.stem for path in (SCHEMA / "bad").glob("load-*.json")} == {*BAD, "load-line-of-unknown-type"}


def test_a_line_of_unknown_type_is_none():
    assert not jsonschema.Draft202012Validator(schema()).is_valid(read(SCHEMA / "bad" / "load-line-of-unknown-type.json"))


@pytest.mark.parametrize("path", GOOD, ids=lambda path: path.stem)
def test_the_percentiles_of_a_line_are_those_of_its_histograms(path):
    line = read(path)
    for part in objects(line):
        if line["type"] == "self-test":  # it has percentiles alone
            continue
        for times in ("latency", "service", "failed"):
            for name, reported in part.get(times, {}).items():
                if reported is None or name == "mean":
                    continue
                share = 1.0 if name == "max" else float(name.removeprefix("p")) / 100
                found = quantile(part[f"{times}_histogram"], share) * line["histogram_unit_ns"] / 1e6
                assert reported == pytest.approx(found, abs=1e-9), name


@pytest.mark.parametrize("path", GOOD, ids=lambda path: path.stem)
def test_a_line_without_transactions_has_no_percentiles(path):
    for part in objects(read(path)):
        if "latency_histogram" in part and "transactions" in part:
            assert (part["latency"]["max"] is None) == (part["transactions"] == 0)
            assert (quantile(part["latency_histogram"], 1.0) is None) == (part["transactions"] == 0)


@pytest.mark.parametrize("path", GOOD, ids=lambda path: path.stem)
def test_each_kind_of_transaction_has_a_latency_where_there_are_several(path):
    for part in objects(read(path)):
        if "latency_by_transaction" in part:
            several = set(part["by_transaction"]) if len(part["by_transaction"]) > 1 else set()
            assert set(part["latency_by_transaction"]) == several
            for name, one in part["latency_by_transaction"].items():
                assert (one["latency"]["max"] is None) == (part["by_transaction"][name] == 0)
