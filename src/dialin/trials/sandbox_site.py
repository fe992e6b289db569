"""Studies on sandboxes: private servers that dialin starts on a copy of prepared data, one for each trial or one for many."""

from __future__ import annotations

import functools
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

from dialin.clock import Clock
from dialin.datasets.cache import StoredDataset, check_space, copy
from dialin.model.build import Build
from dialin.model.setting import Setting, Value
from dialin.model.study import StudySpec
from dialin.model.trial import Purpose, Step, Trial, VariableChange
from dialin.paths import Home
from dialin.probes import host
from dialin.servers.capabilities import Capability, Versioned, has
from dialin.servers.connection import global_variables
from dialin.servers.instance import Instance
from dialin.servers.ledger import Ledger
from dialin.servers.sandbox import Sandbox
from dialin.servers.set_since_start import set_since_start
from dialin.trials import raw_waits
from dialin.trials.changes import Changes
from dialin.trials.shared_sandbox import SharedSandbox, SharedStage
from dialin.trials.site import Stage, Timed
from dialin.trials.tools import Tools
from dialin.variables import rules
from dialin.verdict.changed_during_trial import ChangeDetector, VariablesChangedError
from dialin.workloads.base import Target, Workload

SANDBOX = "{sandbox}"
"""Stands for the private directory in the values in force, which would else differ from trial to trial."""


@dataclass(frozen=True, slots=True)
class Sandboxes:
    """Where a study on sandboxes takes place.

    Attributes:
        spec: the study.
        builds: per build id.
        workload: the load.
        workshop: the tools.
        changes: what turns a running server from one candidate into another; None where each trial starts one.
    """

    spec: StudySpec
    builds: Mapping[str, Build]
    workload: Workload
    workshop: Tools
    changes: Changes | None = None

    @contextmanager
    def open(self, say: Callable[[str], None]) -> Iterator[Callable[[Trial], Stage]]:
        """Prepare the data of every candidate, once; it is kept while the study runs."""
        workshop, spec = self.workshop, self.spec
        preparer = workshop.preparer.telling(say)
        datasets: dict[str, StoredDataset] = {}
        with ExitStack() as held:
            for candidate in spec.candidates:
                shape = rules.shapes_data(spec.setting_of(candidate.name))
                dataset = preparer.prepared(self.builds[candidate.server], self.workload, shape)
                held.enter_context(preparer.in_use(dataset))
                datasets[candidate.name] = dataset
            largest = max(dataset.size for dataset in datasets.values())
            check_space(workshop.home.sandboxes, largest + self.workload.temporary_bytes(), self.workload.smaller)

            if self.changes is not None:
                yield self._sharing(self.changes, datasets, held)
            else:
                yield lambda trial: self._of_its_own(trial, datasets)

    def _of_its_own(self, trial: Trial, datasets: Mapping[str, StoredDataset]) -> SandboxStage:
        """Return a sandbox that serves one trial; what that is for may need more options than its candidate."""
        name = trial.candidate
        needed = raw_waits.needs(self.builds[self.spec.candidate(name).server], trial, self.spec.waits, host.memory_available())
        return self._sandbox(name, datasets, {**self.spec.setting_of(name), **needed})

    def _sandbox(self, candidate: str, datasets: Mapping[str, StoredDataset], setting: Setting) -> SandboxStage:
        workshop, build = self.workshop, self.builds[self.spec.candidate(candidate).server]
        options = sandbox_options(setting, build)
        return SandboxStage(
            build,
            datasets[candidate],
            options,
            self.spec.server_cpus,
            workshop.home,
            workshop.ledger,
            workshop.clock,
            self.spec.set_variables,
        )

    def _sharing(self, changes: Changes, datasets: Mapping[str, StoredDataset], held: ExitStack) -> Callable[[Trial], Stage]:
        """Return what sets up the stages of trials that share sandboxes; the last of these is gone when `held` is closed.

        Trials for waits have one each, started with their instruments.
        """
        baseline = self.spec.baseline
        build = self.builds[self.spec.candidate(baseline).server]
        lives = SharedSandbox(
            lambda: self._sandbox(baseline, datasets, changes.boot),
            changes,
            self.workshop.clock,
            for_one_block=self.spec.workload.traits.grows,
        )
        held.callback(lives.end)

        def stage(trial: Trial) -> Stage:
            if trial.purpose is not Purpose.WAITS:
                return SharedStage(lives, trial, build)
            lives.end()  # two servers at once would share the machine
            return self._of_its_own(trial, datasets)

        return stage


class SandboxStage:
    """A private server on a copy of prepared data.

    Args:
        build: what is booted.
        dataset: the data.
        options: what it is started with.
        cpus: the CPUs that it may use.
        home: where sandboxes are.
        ledger: where they are written down.
        clock: for waiting.
        studied: the variables that the study sets.
    """

    def __init__(
        self,
        build: Build,
        dataset: StoredDataset,
        options: Setting,
        cpus: str | None,
        home: Home,
        ledger: Ledger,
        clock: Clock,
        studied: Collection[str] = (),
    ) -> None:
        self.build = build
        self.detector = ChangeDetector(studied)
        self._studied = frozenset(studied)
        self._dataset = dataset
        self._options = options
        self._cpus = cpus
        self._home = home
        self._ledger = ledger
        self._clock = clock
        self._sandbox: Sandbox | None = None

    def ready(self, timed: Timed) -> Instance:
        """Restore the data and boot."""
        with timed(Step.RESTORE):
            self._sandbox = sandbox = Sandbox.create(self.build, self._home, self._ledger, self._clock)
            check_space(self._home.sandboxes, self._dataset.size)
            copy(self._dataset.data, sandbox.data)
        with timed(Step.BOOT):
            sandbox.boot(self._options, cpus=self._cpus)
            self._check_as_started(sandbox)
        return sandbox

    def _check_as_started(self, sandbox: Sandbox) -> None:
        """Make sure that no variable under test was set between the start and now.

        Raises:
            VariablesChangedError: somebody set one.
        """
        with sandbox.connect() as query:
            self.detector.remember(now := global_variables(query))
            names = self._studied & now.keys() & set_since_start(query, self.build)
        if names:
            changes = [
                VariableChange(name, str(self._options.get(name, "its default")), now[name], under_test=True, step=Step.BOOT)
                for name in sorted(names)
            ]
            raise VariablesChangedError(changes)

    def instance(self) -> Instance | None:
        """Return the sandbox, once there is one."""
        return self._sandbox

    def target(self) -> Target:
        """Return the sandbox as the load reaches it."""
        if self._sandbox is None:
            raise RuntimeError("there is no sandbox yet")
        return Target(self._sandbox.account, self._sandbox.directory, data=self._sandbox.data)

    def hide(self, value: str) -> str:
        """Return a value without the sandbox's own directories."""
        if self._sandbox is None:
            return value
        private: tuple[Path, ...] = (self._sandbox.directory, self._sandbox.socket.parent)
        return functools.reduce(lambda text, path: text.replace(str(path), SANDBOX), private, value)

    def end(self, *, well: bool) -> None:  # noqa: ARG002 - the next trial has a sandbox of its own in any case
        """Remove the sandbox."""
        if self._sandbox is not None:
            self._sandbox.remove()


def sandbox_options(setting: Setting, build: Versioned) -> dict[str, Value]:
    """Return all variables that a sandbox is started with: what dialin itself asks for first, so that a user's win."""
    options: Mapping[str, Value] = {}
    if has(build, Capability.POOL_DUMP):
        options = {"innodb_buffer_pool_load_at_startup": "ON"}
    return {**options, **setting}
