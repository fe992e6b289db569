"""The schema of dialin-load's stream, against samples of it; the good ones are what the driver writes (its tests/samples.rs)."""

import base64
import json
import struct
import zlib
from pathlib import Path

import jsonschema
import pytest

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


def histogram(text):
    """How many values an encoded histogram holds, and the largest of them."""
    cookie, length = struct.unpack_from(">ii", whole := base64.b64decode(text, validate=True))
    assert (cookie & ~0xF0, len(whole)) == (0x1C849304, 8 + length)
    payload = zlib.decompress(whole[8:])
    cookie, size, _, digits, low, high, _ = struct.unpack_from(">iiiiqqd", payload)
    assert (cookie & ~0xF0, digits, low, high) == (0x1C849303, 3, 1, 36_000_000_000)
    counts = list(runs(payload[40 : 40 + size]))
    filled = [index for index, count in enumerate(counts) if count]
    return sum(counts), highest(filled[-1]) if filled else 0


def runs(payload):
    """The counts of an encoded histogram; ZigZag LEB128, a negative one standing for so many zeros."""
    position = 0
    while position < len(payload):
        number = shift = 0
        for place in range(9):
            byte = payload[position]
            position += 1
            number |= (byte if place == 8 else byte & 0x7F) << shift
            shift += 7
            if byte < 0x80:
                break
        number = (number >> 1) ^ -(number & 1)
        yield from [0] * -number if number < 0 else [number]


def highest(index):
    """The highest value that a count at a place stands for, with three digits: 2048 values, then 1024 of each doubling."""
    bucket = max(0, index // 1024 - 1)
    return ((index - bucket * 1024 + 1) << bucket) - 1


def test_the_schema_is_one():
    jsonschema.Draft202012Validator.check_schema(schema())


@pytest.mark.parametrize("path", GOOD, ids=lambda path: path.stem)
def test_what_the_driver_writes_fits_the_schema(path):
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
def test_histograms_are_in_the_standard_encoding_and_belong_to_their_line(path):
    line = read(path)
    for part in objects(line):
        for times in ("latency", "service"):
            if times in part:
                count, most = histogram(part[f"{times}_histogram"])
                assert count == part["transactions"]
                unit = line["histogram_unit_ns"]
                assert part[times]["max"] == (pytest.approx(most * unit / 1e6, abs=1e-9) if count else None)
