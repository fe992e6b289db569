"""What a host must have before its first block, copied there by the coordinator: builds, prepared data, load driver."""

from __future__ import annotations

import platform
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

import dialin
from dialin.datasets.cache import StoredDataset, tree_size
from dialin.errors import DialinError
from dialin.fleet.host_agent import HostState
from dialin.fleet.host_process import HostStudy
from dialin.fleet.tree_copy import digest, pieces
from dialin.model.build import Build
from dialin.model.cause import Cause, CauseCode
from dialin.model.study import StudySpec
from dialin.model.trial import EffectiveSettings
from dialin.paths import Home
from dialin.workloads import load_binary

Call = Callable[..., Any]
"""Calls a method of the host's agent by its name, and returns what it returns."""


@dataclass(frozen=True, slots=True)
class HostNeeds:
    """What every host of a study must have.

    Attributes:
        home: the coordinator's home.
        builds: those that the study uses.
        driver: the load driver that the study uses; None where it is not dialin-load.
        load_facts: what was recorded about the load when the study began.
    """

    home: Home
    spec: StudySpec
    builds: Iterable[Build]
    datasets: Iterable[StoredDataset]
    driver: Path | None = None
    inspected: Mapping[str, EffectiveSettings] = field(default_factory=dict)
    load_facts: Mapping[str, Any] = field(default_factory=dict)


class UnfitHostError(DialinError):
    """A machine cannot be a host of the study."""


@cache
def _digest(path: Path) -> str:
    return digest(path)


def set_up(call: Call, needs: HostNeeds, name: str) -> HostState:
    """Copy what a host lacks, and start its process, which reports when it is ready. Return the host's state before that.

    Raises:
        UnfitHostError: the host cannot run the study.
    """
    state: HostState = call("state")
    if state.version != dialin.__version__:
        raise UnfitHostError(Cause(CauseCode.OTHER_DIALIN, {"there": state.version, "here": dialin.__version__}))
    if state.machine != platform.machine():
        raise UnfitHostError(Cause(CauseCode.OTHER_MACHINE, {"there": state.machine, "here": platform.machine()}))
    for build in needs.builds:
        if build.id not in state.builds:
            _copy_build(call, needs.home, build)
    for dataset in needs.datasets:
        place = f"datasets/{dataset.key}"
        there = call("digest_of", f"{place}/data")
        if there == _digest(dataset.data):
            continue
        if there is not None and not call("drop_dataset", dataset.key):
            raise UnfitHostError(Cause(CauseCode.DATASET_IN_USE))
        copy_to(call, dataset.directory, place)
    if needs.driver is not None and call("driver_digest") != _digest(needs.driver):
        place = f"drivers/{_digest(needs.driver)[:16]}/{load_binary.NAME}"
        if call("digest_of", place) != _digest(needs.driver):
            copy_to(call, needs.driver, place)
        call("use_driver", place)
    call("start", HostStudy(name, needs.spec, needs.inspected, needs.load_facts))
    return state


def _copy_build(call: Call, home: Home, build: Build) -> None:
    root = next((path for path in build.binary.parents if path.parent == home.builds), None)
    if root is None:
        raise UnfitHostError(Cause(CauseCode.NO_COPY_OF_BUILD, {"build": build.id}))
    copy_to(call, root, f"builds/{root.name}")


def copy_to(call: Call, source: Path, place: str) -> None:
    """Copy a directory or a file to a place in the host's home, where it appears once it is complete."""
    size = tree_size(source) if source.is_dir() else source.stat().st_size
    for piece in pieces(source):
        call("take", place, piece, size)
    call("finish", place, _digest(source))
