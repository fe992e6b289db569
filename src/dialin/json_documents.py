"""The documents that scripts rely on: verdict.json and what commands print with `--json`."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping

from dialin.model.advice import Advice
from dialin.model.analysis import Analysis
from dialin.model.capture import CaptureCounters, CaptureFirstLine, CaptureSummary
from dialin.model.studies import StudyDiff, StudyList
from dialin.model.suite import Suite
from dialin.model.verdict import Verdict
from dialin.model.why import Why
from dialin.text import UNSEEN


def render(
    document: Advice | Analysis | CaptureCounters | CaptureFirstLine | CaptureSummary | StudyDiff | StudyList | Suite | Why,
) -> str:
    """Return a document as indented JSON in ASCII that ends in a newline; every control character is escaped."""
    return ascii_json(document.model_dump(by_alias=True, mode="json"))


def render_by_workload(documents: Mapping[str, StudyDiff | Why]) -> str:
    """Return the documents of the studies of a suite as one, by workload, as `render` does."""
    return ascii_json({name: one.model_dump(by_alias=True, mode="json") for name, one in documents.items()})


def ascii_json(value: object) -> str:
    """Return a value as indented JSON, as `render` does."""
    return json.dumps(value, indent=2).replace("\x7f", "\\u007f") + "\n"


def render_verdict(verdict: Verdict) -> str:
    """Return the verdict as indented JSON in Unicode that ends in a newline; control and invisible characters are escaped."""
    return UNSEEN.sub(_escape, verdict.model_dump_json(by_alias=True, indent=2)) + "\n"


def _escape(match: re.Match[str]) -> str:
    return match[0] if match[0] == "\n" else json.dumps(match[0])[1:-1]
