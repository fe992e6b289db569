"""Writes what is made from the models of dialin: the JSON Schemas in schema/, and the lists of columns in docs.

    python scripts/schemas_and_columns.py [DOCUMENT ...]

Lists stand in documents between `<!-- columns of samples -->` and `<!-- end -->`. Where documents are named, those alone are
written.
"""

from __future__ import annotations

import json
import re
import sys
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pydantic import BaseModel

from dialin.frames import columns
from dialin.frames.columns import Columns
from dialin.model.advice import Advice
from dialin.model.analysis import Analysis
from dialin.model.capture import CaptureCounters, CaptureFirstLine, CaptureSummary
from dialin.model.studies import StudyDiff, StudyList
from dialin.model.suite import Suite
from dialin.model.verdict import Verdict
from dialin.model.why import Why
from dialin.question.options import StudyOptions
from dialin.recipes.library import Recipe
from dialin.workloads import kinds
from dialin.workloads.command.load_file import LoadFile
from dialin.workloads.kind import WorkloadKind, option_names

_ROOT = Path(__file__).parents[1]
_DIALECT = "https://json-schema.org/draft/2020-12/schema"
_SEVERAL = 3
"""A column of so many frames, with the same meaning, is described once."""

_MARKED = re.compile(r"(<!-- columns of (\w+) -->\n).*?(<!-- end -->)", re.DOTALL)

OUTPUTS: Mapping[str, type[BaseModel]] = {
    "advice": Advice,
    "analysis": Analysis,
    "capture": CaptureFirstLine,
    "capture-counters": CaptureCounters,
    "capture-summary": CaptureSummary,
    "diff": StudyDiff,
    "studies": StudyList,
    "suite": Suite,
    "verdict": Verdict,
    "why": Why,
}
"""The JSON documents that dialin writes."""


def schemas() -> dict[str, dict[str, Any]]:
    """Return the JSON Schemas, by the name of what they describe."""
    written = {
        name: {**_head(name), **model.model_json_schema(by_alias=True, mode="serialization"), "title": f"dialin {name}"}
        for name, model in OUTPUTS.items()
    }
    study = {
        **_head("study"),
        **StudyOptions.model_json_schema(by_alias=True),
        "allOf": [_options_of(kind) for kind in kinds.KINDS if kind.options.model_config.get("extra") == "forbid"],
    }
    read: Mapping[str, type[BaseModel]] = {"recipe": Recipe, "load-file": LoadFile}
    return {
        **written,
        "study": study,
        **{name: {**_head(name), **model.model_json_schema(by_alias=True)} for name, model in read.items()},
    }


def _head(name: str) -> dict[str, str]:
    return {"$schema": _DIALECT, "$id": f"dialin/{name}/1"}


def _options_of(kind: WorkloadKind) -> dict[str, Any]:
    """Return the condition that workloads of a kind have no other options than those of its model."""
    return {
        "if": {"properties": {"workload": {"enum": list(kind.names)}}, "required": ["workload"]},
        "then": {"properties": {"workload-options": {"propertyNames": {"enum": option_names(kind.options)}}}},
    }


def fill(document: str) -> str:
    """Return a document with its lists of columns as they are now."""
    return _MARKED.sub(lambda match: f"{match[1]}\n{_columns_of(match[2])}\n{match[3]}", document)


def _columns_of(frame: str) -> str:
    """Return the columns of a frame as a list; those of several frames are named there, and described under `several`."""
    times = Counter(column for described in columns.EVERY.values() for column in described.items())
    shared = {name: column for (name, column), number in times.items() if number >= _SEVERAL}
    if frame == "several":
        return _list(shared)
    described = columns.EVERY[frame]
    own = {name: column for name, column in described.items() if (name, column) not in shared.items()}
    also = [f"`{name}`" for name in described if name not in own]
    return (f"{', '.join(also)}, and\n\n" if also else "") + _list(own)


def _list(described: Columns) -> str:
    lines = []
    for name, column in described.items():
        if name.removesuffix("_low") in described and name.endswith("_low"):
            continue
        if name.removesuffix("_high") in described and name.endswith("_high"):
            continue
        interval = ", `_low`, `_high`" if f"{name}_low" in described else ""
        lines.append(f"- `{name}`{interval}: {column.meaning}")
    return "\n".join(lines) + "\n"


def main(documents: list[str]) -> None:
    """Write schemas and tables, or the tables of these documents."""
    if not documents:
        for name, schema in schemas().items():
            text = json.dumps(schema, indent=2) + "\n"
            (_ROOT / "schema" / f"{name}.schema.json").write_text(text, encoding="utf-8")
    for path in [Path(name) for name in documents] or [_ROOT / "docs" / "notebook.md"]:
        path.write_text(fill(path.read_text(encoding="utf-8")), encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])
