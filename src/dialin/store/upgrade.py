"""Verdicts of older formats in the words of today's; figures that had no interval then have none now."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

_BARE = {"cv": "cv", "stall_seconds_per_1000": "stall_seconds_per_1000", "p95_ms": "latency_ms"}
"""Figures that were numbers, and what they are called now."""


def verdict(stored: Mapping[str, Any]) -> dict[str, Any]:
    """Return a stored verdict as version 2; one that is that already is returned as it is."""
    if stored.get("schema") != "dialin/verdict/1":
        return dict(stored)
    candidates = [_candidate(found) for found in stored.get("candidates", ())]
    return {**stored, "schema": "dialin/verdict/2", "candidates": candidates}


def _candidate(found: Mapping[str, Any]) -> dict[str, Any]:
    kept = {name: value for name, value in found.items() if name not in _BARE}
    bare = {new: _estimate(found.get(old)) for old, new in _BARE.items()}
    return {**kept, **bare, "goal_ratio": found.get("ratio")}


def _estimate(figure: float | None) -> dict[str, float | None] | None:
    return None if figure is None else {"mean": figure, "low": None, "high": None}
