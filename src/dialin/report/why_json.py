"""What `dialin explain --json` prints, the contract that scripts rely on, and the JSON Schema that publishes it."""

from __future__ import annotations

import json
import sys
from typing import Any

from dialin.model.why import Why


def render(why: Why) -> str:
    """Return a verdict's reasons as JSON, indented, ending in a newline; nothing in it acts on a terminal."""
    text = json.dumps(why.model_dump(by_alias=True, mode="json"), indent=2)  # all beyond ASCII is escaped
    return text.replace("\x7f", "\\u007f") + "\n"


def schema() -> dict[str, Any]:
    """Return the JSON Schema of what is printed."""
    generated = Why.model_json_schema(by_alias=True, mode="serialization")
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "$id": "dialin/why/1",
        **generated,
        "title": "dialin why",
    }


def schema_text() -> str:
    """Return the schema as `schema/why.schema.json` holds it."""
    return json.dumps(schema(), indent=2) + "\n"


if __name__ == "__main__":
    sys.stdout.write(schema_text())
