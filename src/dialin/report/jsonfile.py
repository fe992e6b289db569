"""`verdict.json`, the contract that scripts rely on, and the JSON Schema that publishes it."""

from __future__ import annotations

import json
import re
import sys
from typing import Any

from dialin.model.verdict import Verdict
from dialin.text import UNSEEN


def render(verdict: Verdict) -> str:
    """Return the verdict as JSON, indented, ending in a newline; safe to show in a terminal, for nothing in it acts there."""
    return UNSEEN.sub(_escape, verdict.model_dump_json(by_alias=True, indent=2)) + "\n"


def _escape(match: re.Match[str]) -> str:
    return match[0] if match[0] == "\n" else json.dumps(match[0])[1:-1]


def schema() -> dict[str, Any]:
    """Return the JSON Schema of `verdict.json`."""
    generated = Verdict.model_json_schema(by_alias=True, mode="serialization")
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "$id": "dialin/verdict/1",
        **generated,
        "title": "dialin verdict",
    }


def schema_text() -> str:
    """Return the schema as `schema/verdict.schema.json` holds it."""
    return json.dumps(schema(), indent=2) + "\n"


if __name__ == "__main__":
    sys.stdout.write(schema_text())
