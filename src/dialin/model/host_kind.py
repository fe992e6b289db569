"""The kind of a host: machines with the same hardware are of one kind."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

_KIND = ("cpu", "cpus", "memory_gb", "disk")

Kind = tuple[tuple[str, Any], ...]


def kind_of(facts: Mapping[str, Any]) -> Kind:
    """Return the kind of a host: CPU model, number of CPUs, memory in whole GiB, disk; unknown facts are left out."""
    memory = facts.get("memory_bytes")
    known = {**facts, "memory_gb": round(memory / 1024**3) if memory else None}
    return tuple((name, known[name]) for name in _KIND if known.get(name) is not None)
