"""Files of results to which a benchmark that may be stopped adds a line of JSON as each part ends."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any


def lines(results: Path) -> list[dict[str, Any]]:
    """Return what was written into a file of results so far."""
    return [json.loads(line) for line in results.read_text().splitlines()] if results.exists() else []


def append(results: Path, line: Mapping[str, Any]) -> None:
    """Add a line to a file of results, which is made if there is none."""
    results.parent.mkdir(parents=True, exist_ok=True)
    with results.open("a") as file:
        file.write(f"{json.dumps(line)}\n")
