"""How a trial comes by its instance: a sandbox with restored data, or a server that is attached and set."""

from __future__ import annotations

import functools
from collections.abc import Callable, Collection, Mapping
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Protocol

from dialin.clock import Clock
from dialin.datasets.cache import Dataset, check_space, copy
from dialin.model.build import Build
from dialin.model.setting import Setting, Value
from dialin.model.trial import Step, Trial
from dialin.paths import Home
from dialin.servers.capabilities import Capability, Versioned, has
from dialin.servers.instance import Instance
from dialin.servers.ledger import Ledger
from dialin.servers.sandbox import Sandbox
from dialin.verdict.changed_during_trial import ChangeDetector
from dialin.workloads.base import Target

SANDBOX = "{sandbox}"
"""Stands for the private directory in the values in force, which would else differ from trial to trial."""

Timed = Callable[[Step], AbstractContextManager[None]]
"""Times a step of a trial, and tells who watches."""


class Stage(Protocol):
    """One trial's instance, from before it is there until it is gone."""

    @property
    def build(self) -> Versioned:
        """What runs."""
        ...

    @property
    def detector(self) -> ChangeDetector:
        """What notices variables that somebody else changes on this instance."""
        ...

    def ready(self, timed: Timed) -> Instance:
        """Bring the instance about, a step at a time.

        Raises:
            ServerError: it does not start, or refuses the setting.
            VariablesChangedError: a server that runs is not as dialin left it; it was not set.
        """
        ...

    def instance(self) -> Instance | None:
        """Return the instance, once there is one."""
        ...

    def target(self) -> Target:
        """Return where the load goes."""
        ...

    def hide(self, value: str) -> str:
        """Return a variable's value without what differs from trial to trial."""
        ...

    def end(self, *, well: bool) -> None:
        """Take away what this trial brought about.

        Args:
            well: the trial was measured whole; what it leaves can be built upon.
        """
        ...


class Site(Protocol):
    """Where the trials of a study take place: sandboxes that dialin starts, or a server that it is attached to."""

    def open(self, say: Callable[[str], None]) -> AbstractContextManager[Callable[[Trial], Stage]]:
        """Make ready what all trials share (data above all); gives what sets up the stage of a trial.

        Args:
            say: told what is being done, a line at a time.

        Raises:
            DialinError: it cannot be made ready, or not be put back at the end.
        """
        ...


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
        dataset: Dataset,
        options: Setting,
        cpus: str | None,
        home: Home,
        ledger: Ledger,
        clock: Clock,
        studied: Collection[str] = (),
    ) -> None:
        self.build = build
        self.detector = ChangeDetector(studied)
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
        return sandbox

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
