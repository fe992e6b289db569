"""A study's load stays what it began with: the same file, and the same driver where it is resumed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from dialin.errors import UserError
from dialin.model.load_driver import FIRST_DRIVER, LATER_DRIVERS
from dialin.model.study import StudySpec
from dialin.model.verdict import Note
from dialin.workloads.base import Workload

_DIGEST = "load_file_digest"


def facts(workload: Workload) -> dict[str, Any]:
    """Return what is written down of a load with the machine that it began on."""
    digest = workload.digest()
    return {FIRST_DRIVER: workload.version(), **({_DIGEST: digest} if digest else {})}


def check(spec: StudySpec, begun: Mapping[str, Any], workload: Workload) -> None:
    """Make sure that a load is still the one that its study began with: two loads must not enter one verdict.

    Raises:
        UserError: its file is another one now.
    """
    first_digest = begun.get(_DIGEST)
    if first_digest is not None and workload.digest() != first_digest:
        name = spec.workload.name
        beside = ", or a script next to it," if name.endswith(".lua") else ""
        raise UserError(f"{name}{beside} has changed since the study started", "Start a new study, or restore the file")


def later(begun: Mapping[str, Any], version: str) -> dict[str, Any]:
    """Return what is to be written down where another driver resumes the study; nothing where it is the same."""
    since = [*begun.get(LATER_DRIVERS, ())]
    before = [begun[FIRST_DRIVER], *since][-1] if FIRST_DRIVER in begun else version
    return {} if version == before else {LATER_DRIVERS: [*since, version]}


def notes(begun: Mapping[str, Any]) -> list[Note]:
    """Return a warning where several drivers applied a study's load."""
    since: Sequence[str] = begun.get(LATER_DRIVERS, ())
    return [Note(code="driver_changed", data={"drivers": [begun[FIRST_DRIVER], *since]})] if since else []
