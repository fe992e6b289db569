"""A study that was checked and can begin, and the steps of its checks that all studies share."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from dialin.errors import UserError
from dialin.measures.table import COSTS, PROCESS
from dialin.model.cpus import cpu_time, parse_cpus
from dialin.model.place import Place
from dialin.model.setting import same_value
from dialin.model.study import Candidate, Goal, MethodOptions, StudySpec
from dialin.model.trial import EffectiveSettings
from dialin.model.workload import WorkloadSpec
from dialin.question.candidates import find_baseline
from dialin.question.options import StudyOptions
from dialin.question.plan import Plan, plan
from dialin.text import counted
from dialin.trials.site import Site
from dialin.variables import check
from dialin.workloads.base import Workload


@dataclass(frozen=True, slots=True)
class CheckedStudy:
    """A study that was checked and can begin.

    Attributes:
        servers: per build id, what is known of it: `version`, `origin`, `vendor`; `instance`, where dialin is attached to one.
        notes: what the user should know before it begins.
        changes: what it will change on a server that dialin did not start, in words; the user must agree to it.
        inspected: the effective settings of each candidate when it was inspected.
        catalogues: per build id, its catalogue of the requested variables, as text for the store.
        promise: the smallest difference that its budget can detect, in a sentence; empty where nothing can be said.
        inspect: reads the effective settings of a candidate of a tune before it is proven; None where no server is started.
        rehearse: runs the user's command once before data is prepared, and returns its seconds; None where there is none.
    """

    spec: StudySpec
    plan: Plan
    servers: Mapping[str, Mapping[str, Any]]
    workload: Workload
    site: Site
    notes: tuple[str, ...] = ()
    changes: tuple[str, ...] = ()
    inspected: Mapping[str, EffectiveSettings] = field(default_factory=dict)
    catalogues: Mapping[str, str] = field(default_factory=dict)
    promise: str = ""
    inspect: Callable[[StudySpec, str], EffectiveSettings | None] | None = None
    rehearse: Callable[[Callable[[str], None]], float] | None = None


@dataclass(frozen=True, slots=True)
class StudyRequest:
    """A question whose load is known, before its builds and candidates are looked at.

    Attributes:
        directory: paths in the question are relative to it.
        load: the load as the study stores it.
        workload: what applies it.
        base_file: the option file that the settings of the baseline come from; None where there is none.
    """

    question: StudyOptions
    directory: Path
    place: Place
    load: WorkloadSpec
    workload: Workload
    base_file: Path | None = None

    def specify(self, candidates: Sequence[Candidate], defaults: Mapping[str, Mapping[str, str]]) -> StudySpec:
        """Return the study, once its candidates are known; `defaults` holds, per build, the values without the study.

        Raises:
            UserError: two candidates are the same setting, the baseline is not one of them, or a CPU does not exist.
        """
        question = self.question
        _check_duplicates(question, candidates)
        baseline = _choose_baseline(question.baseline, candidates, defaults)
        spec = question.spec(candidates, baseline, self.load, self.place)
        check_cpus(spec)
        return spec


def with_plan(spec: StudySpec) -> tuple[StudySpec, Plan]:
    """Return a study that stores its plan, and the plan: a later, larger budget must not change how trials are measured.

    Raises:
        UserError: the budget holds fewer blocks than a verdict needs.
    """
    allowed = plan(spec)
    return spec.model_copy(update={"measure": allowed.measure, "warmup": allowed.warmup}), allowed


def _choose_baseline(requested: str | None, candidates: Sequence[Candidate], before: Mapping[str, Mapping[str, str]]) -> str:
    """Return the baseline: the one named, else the candidate that sets a server's own values, else the first.

    Where memory limits are compared, it is the largest unless another is named. `before` holds, per build, the values without
    the study: its defaults, or those of an attached server.
    """
    if requested:
        return find_baseline(requested, candidates)
    if any(candidate.memory for candidate in candidates):
        return max(candidates, key=lambda candidate: candidate.memory or 0).name
    for candidate in candidates:
        values = before[candidate.server]
        if candidate.setting and all(
            name in values and same_value(value, values[name]) for name, value in candidate.setting.items()
        ):
            return candidate.name
    return candidates[0].name


def _check_duplicates(question: StudyOptions, candidates: Sequence[Candidate]) -> None:
    """Refuse duplicate settings, but not in option files and A/A studies, which may repeat one to measure the noise."""
    if question.compare or question.aa:
        return
    if duplicates := check.duplicates(candidates):
        a, b = duplicates[0]
        raise UserError(f"{a} and {b} are the same setting", "Remove one of them")


def check_goal(goal: Goal, *, is_here: bool) -> None:
    """Raise UserError where a goal is read from the server's process, which is not on this machine."""
    if not is_here and goal in COSTS and COSTS[goal].probe == PROCESS:
        raise UserError(
            f"--goal {goal} requires a server on this machine: the process of a server elsewhere cannot be read",
            "Run dialin where the server runs, or use another --goal",
        )


def check_cpus(spec: MethodOptions) -> None:
    """Make sure that the requested CPUs exist and that a process can be bound to them.

    Raises:
        UserError: a CPU does not exist, or the program taskset is missing.
    """
    available = os.sched_getaffinity(0)
    for option, text in (("server-cpus", spec.server_cpus), ("load-cpus", spec.load_cpus)):
        if text is None:
            continue
        if (time := cpu_time(text)) is not None:
            if time > len(available):
                raise UserError(f"--{option} {text}: this machine has {counted(len(available), 'CPU')}", "Give fewer")
            continue
        if missing := parse_cpus(text) - available:
            remedy = f"There are {min(available)} to {max(available)}"
            raise UserError(f"--{option} {text}: this machine has no CPU {min(missing)}", remedy)
        if shutil.which("taskset") is None:
            raise UserError(f"--{option} needs the program taskset", "Install it: apt-get install util-linux")
