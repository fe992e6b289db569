"""Checks that a study keeps the load file that it began with, and records the load drivers that applied it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from dialin.errors import UserError
from dialin.model.load_driver import FIRST_DRIVER, RESUMED_DRIVERS
from dialin.model.study import StudySpec
from dialin.sentences.load_notes import DriverChanged
from dialin.workloads.base import Workload

_DIGEST = "load_file_digest"


def facts(workload: Workload) -> dict[str, Any]:
    """Return the facts of a load that are stored with the host: the driver's version, and a digest of the load's file."""
    digest = workload.digest()
    return {FIRST_DRIVER: workload.version(), **({_DIGEST: digest} if digest else {})}


def check(spec: StudySpec, begun: Mapping[str, Any], workload: Workload) -> None:
    """Raise UserError where a load's file has changed since its study began: one verdict must not mix two loads."""
    first_digest = begun.get(_DIGEST)
    if first_digest is not None and workload.digest() != first_digest:
        name = spec.workload.name
        beside = ", or a script that it runs," if spec.workload.kind == "command" else ""
        beside = ", or a script next to it," if name.endswith(".lua") else beside
        raise UserError(f"{name}{beside} has changed since the study started", "Start a new study, or restore the file")


def later_driver_facts(begun: Mapping[str, Any], version: str) -> dict[str, Any]:
    """Return the facts to store where another driver version resumes the study; empty where it is the same."""
    later_drivers = [*begun.get(RESUMED_DRIVERS, ())]
    last_driver = [begun[FIRST_DRIVER], *later_drivers][-1] if FIRST_DRIVER in begun else version
    return {} if version == last_driver else {RESUMED_DRIVERS: [*later_drivers, version]}


def notes(begun: Mapping[str, Any]) -> list[DriverChanged]:
    """Return a warning where several drivers applied a study's load."""
    later_drivers: Sequence[str] = begun.get(RESUMED_DRIVERS, ())
    return [DriverChanged(drivers=(begun[FIRST_DRIVER], *later_drivers))] if later_drivers else []
