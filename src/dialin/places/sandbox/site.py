"""Studies on sandboxes: private servers that dialin starts on a copy of prepared data, one for each trial or one for many."""

from __future__ import annotations

import functools
from collections.abc import Callable, Collection, Generator, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

from dialin.datasets.cache import StoredDataset, check_space
from dialin.datasets.prepare import NeededData, Preparer
from dialin.datasets.restore import TrialData
from dialin.errors import DialinError, UserError
from dialin.model.build import Build
from dialin.model.setting import Setting, Value
from dialin.model.study import Candidate, StudySpec
from dialin.model.trial import EffectiveSettings, Purpose, Step, Trial, VariableChange
from dialin.places.sandbox.shared_sandbox import SharedSandbox, SharedStage
from dialin.probes import host
from dialin.servers.assign import set_since_start
from dialin.servers.capabilities import Capability, Versioned, has
from dialin.servers.connection import global_variables
from dialin.servers.copied_data import ISOLATION
from dialin.servers.instance import Instance
from dialin.servers.sandbox import Sandbox, free_port
from dialin.trials import raw_waits
from dialin.trials.change_detector import ChangeDetector, VariablesChangedError
from dialin.trials.changes import Changes
from dialin.trials.site import Stage
from dialin.trials.tools import Tools
from dialin.variables import rules
from dialin.workloads.base import Target, Workload

SANDBOX = "{sandbox}"
"""Stands for the private directory in effective values, which would otherwise differ from trial to trial."""


@dataclass(frozen=True, slots=True)
class Sandboxes:
    """Where a study on sandboxes takes place.

    Attributes:
        changes: the values that switch a running server between candidates; None where each trial starts a server.
    """

    spec: StudySpec
    builds: Mapping[str, Build]
    workload: Workload
    tools: Tools
    changes: Changes | None = None

    @property
    def needed_data(self) -> NeededData:
        """The data of all candidates."""
        candidates = [(build_of(self.spec, one, self.builds), self.spec.setting_of(one.name)) for one in self.spec.candidates]
        return self.workload, [(build, rules.shapes_data(setting)) for build, setting in candidates]

    @contextmanager
    def open(self, say: Callable[[str], None], study: Path | None = None) -> Iterator[OpenSandboxes]:  # noqa: ARG002
        """Prepare the data of every candidate once; it stays in use until this is closed, which also ends every sandbox."""
        with ExitStack() as in_use:
            tools = self.tools
            spare, command = self.workload.temporary_bytes(), tools.snapshot_command
            data = TrialData(tools.home, tools.ledger, tools.clock, say, spare=spare, snapshot_command=command, kept=tools.kept)
            in_use.push(functools.partial(_end_data, data, say))
            yield OpenSandboxes(self, tools.preparer.telling(say), data, in_use)


def _end_data(data: TrialData, say: Callable[[str], None], _: object, error: BaseException | None, __: object) -> None:
    """Remove the data of trials; where that fails after another error, which the user must see, it is only said.

    Raises:
        DialinError: it could not be removed, and there was no other error.
    """
    try:
        data.end()
    except (DialinError, OSError) as fault:
        if error is None:
            raise
        say(f"Not removed: what restored the data of trials. {fault}")


class OpenSandboxes:
    """Sandboxes whose data is prepared.

    Args:
        data: restores the data of trials.
        in_use: holds what is in use until the site is closed.

    Raises:
        DialinError: the data cannot be prepared.
    """

    def __init__(self, site: Sandboxes, preparer: Preparer, data: TrialData, in_use: ExitStack) -> None:
        self._site = site
        self._spec = site.spec
        self._data = data
        self._preparer = preparer
        self._in_use = in_use
        self._datasets: dict[str, StoredDataset] = {}
        self._prepare()
        self._shared: SharedSandbox | None = None
        if site.changes is not None:
            baseline = self._spec.baseline
            self._shared = SharedSandbox(
                lambda boot: self._sandbox(baseline, boot),
                site.changes,
                site.tools.clock,
                for_one_block=self._spec.workload.traits.grows,
            )
            in_use.callback(self._shared.end)

    @property
    def datasets(self) -> list[StoredDataset]:
        """The prepared data of all candidates, each once."""
        return list({dataset.key: dataset for dataset in self._datasets.values()}.values())

    def stage(self, trial: Trial) -> Stage:
        """Return a sandbox for one trial, or the one that trials share; each trial for raw waits has its own."""
        if self._shared is not None:
            if trial.purpose is not Purpose.WAITS:
                return SharedStage(self._shared, trial, self._build(trial.candidate))
            self._shared.end()  # two servers at once would share the machine
        build = self._build(trial.candidate)
        needed = raw_waits.needs(build, trial, self._spec.waits, host.memory_for(build))
        return self._sandbox(trial.candidate, {**self._spec.setting_of(trial.candidate), **needed})

    def add_candidates(self, spec: StudySpec, effective: Mapping[str, EffectiveSettings]) -> None:
        """Prepare the data of candidates that have entered since, and let a shared server be set to them."""
        if spec.candidates == self._spec.candidates:
            return
        self._spec = spec
        self._prepare()
        if self._shared is not None:
            self._shared.changes = self._shared.changes.with_entered(spec, effective)

    def _prepare(self) -> None:
        site = self._site
        baseline = self._spec.baseline
        for candidate in self._spec.candidates:
            if candidate.name in self._datasets:
                continue
            if self._spec.tuned and baseline in self._datasets:
                # Of the variables that shape data, a tune changes only those of the redo log, which a start makes anew.
                self._datasets[candidate.name] = self._datasets[baseline]
                continue
            shape = rules.shapes_data(self._spec.setting_of(candidate.name))
            dataset = self._preparer.prepared(self._build(candidate.name), site.workload, shape)
            self._in_use.enter_context(self._preparer.in_use(dataset))
            self._datasets[candidate.name] = dataset
        largest = max((dataset.size for dataset in self._datasets.values() if not self._data.has(dataset)), default=0)
        needed, sandboxes = largest + site.workload.temporary_bytes(), site.tools.home.sandboxes
        self._preparer.make_room(sandboxes, needed)
        check_space(sandboxes, needed, site.workload.how_to_shrink)
        for dataset in self._datasets.values():
            self._data.begin(dataset)

    def _build(self, candidate: str) -> Build:
        return build_of(self._spec, self._spec.candidate(candidate), self._site.builds)

    def _sandbox(self, candidate: str, setting: Setting) -> SandboxStage:
        build, dataset = self._build(candidate), self._datasets[candidate]
        options = sandbox_options(setting, build)
        if self._site.workload.copied_data is not None:
            options |= ISOLATION
        studied, tools, with_port = self._spec.set_variables, self._site.tools, self._site.workload.needs_port
        return SandboxStage(build, dataset, options, self._spec.server_cpus, tools, self._data, studied, with_port=with_port)


class SandboxStage:
    """A private server on a copy of prepared data, started with `options`; `studied` are the variables that the study sets."""

    def __init__(
        self,
        build: Build,
        dataset: StoredDataset,
        options: Setting,
        cpus: str | None,
        tools: Tools,
        data: TrialData,
        studied: Collection[str] = (),
        *,
        with_port: bool = False,
    ) -> None:
        self.build = build
        self.detector = ChangeDetector(studied)
        self._studied = frozenset(studied)
        self._dataset = dataset
        self._options = options
        self._cpus = cpus
        self._tools = tools
        self._data = data
        self._with_port = with_port
        self._sandbox: Sandbox | None = None

    def ready(self) -> Generator[Step, None, Instance]:
        yield Step.RESTORE
        home, ledger, clock = self._tools.home, self._tools.ledger, self._tools.clock
        self._sandbox = sandbox = Sandbox.create(self.build, home, ledger, clock, port=free_port() if self._with_port else 0)
        self._data.take(self._dataset, sandbox.data)
        if self.build.image is not None and sandbox.data.is_symlink():
            raise UserError(
                "The snapshot command made a link, which leads nowhere in a container", "Let it mount the data at TARGET"
            )
        yield Step.BOOT
        sandbox.boot(self._options, cpus=self._cpus)
        self._check_as_started(sandbox)
        return sandbox

    def _check_as_started(self, sandbox: Sandbox) -> None:
        """Raise VariablesChangedError where somebody set a variable under test since the start."""
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
        return self._sandbox

    def target(self) -> Target:
        if self._sandbox is None:
            raise RuntimeError("there is no sandbox yet")
        return Target(self._sandbox.account, self._sandbox.directory, data=self._sandbox.data)

    def went_away(self) -> bool:
        """Return False: nobody else ends a server that dialin started."""
        return False

    def hide(self, value: str) -> str:
        if self._sandbox is None:
            return value
        private: tuple[Path, ...] = (self._sandbox.directory, self._sandbox.socket.parent)
        return functools.reduce(lambda text, path: text.replace(str(path), SANDBOX), private, value)

    def end(self, *, well: bool) -> None:  # noqa: ARG002 - the next trial has another sandbox in any case
        if self._sandbox is not None:
            self._sandbox.kill()
            if self._sandbox.has_certainly_ended():  # else it may still write
                self._data.keep(self._dataset, self._sandbox.data)
            self._sandbox.remove()


def build_of(spec: StudySpec, candidate: Candidate, builds: Mapping[str, Build]) -> Build:
    """Return the build of a candidate, with the limits of its container if it is an image's."""
    return builds[candidate.server].limited(spec.memory_of(candidate.name), spec.server_cpus)


def sandbox_options(setting: Setting, build: Versioned) -> dict[str, Value]:
    """Return all variables that a sandbox is started with; the user's values take precedence over dialin's own."""
    options: Mapping[str, Value] = {}
    if has(build, Capability.POOL_DUMP):
        options = {"innodb_buffer_pool_load_at_startup": "ON"}
    return {**options, **setting}
