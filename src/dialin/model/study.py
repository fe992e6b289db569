"""A study's question: which candidates, under which load, with what budget, and how sure the answer must be."""

from __future__ import annotations

import re
from collections.abc import Sequence
from enum import StrEnum
from typing import Annotated, Any, Literal

from pydantic import Field, ValidationInfo, field_validator, model_validator

from dialin.model.cpus import count_cpus, parse_cpus
from dialin.model.dimension import Dimension
from dialin.model.frozen import FrozenModel
from dialin.model.option_types import MACHINE, METHOD, WHY, Fraction, Sizes
from dialin.model.place import LivePlace, Place, SandboxPlace
from dialin.model.setting import Value
from dialin.model.tune import TunePlan
from dialin.model.workload import WorkloadSpec

MAX_CANDIDATES = 64

LEAST_MEMORY = 64 * 2**20
"""The smallest memory limit of a container, in bytes."""


class Goal(StrEnum):
    """What a study optimizes; `measures.table` has a row for each."""

    THROUGHPUT = "throughput"
    STABILITY = "stability"
    LATENCY = "latency"
    CPU = "cpu"
    IO = "io"
    IOPS = "iops"
    PAGES = "pages"
    ROWS = "rows"


class Until(StrEnum):
    """When a study stops before its budget is spent.

    `safe`: a choice is within what is worthwhile of the best, very probably. `better`: that choice is shown to be better than
    the baseline, or nothing is shown to be better than the baseline. `best`: it is shown that nothing is better than the choice
    by more than what is worthwhile.
    """

    SAFE = "safe"
    BETTER = "better"
    BEST = "best"


class Switch(StrEnum):
    """How one candidate's trial follows another's: a server is started again, or a running one is set by SET GLOBAL."""

    RESTART = "restart"
    SET = "set"


class Candidate(FrozenModel):
    """A setting that a study compares.

    Attributes:
        name: what tables and charts call it.
        setting: the variables that it sets, beside those that the study holds fixed.
        server: the build that it runs on, as the user named it.
        memory: the limit of its server's container in bytes, where the study compares limits.
    """

    name: str = Field(min_length=1)
    setting: dict[str, Value] = Field(default_factory=dict)
    server: str
    memory: int | None = None


class Comparison(FrozenModel):
    """Which of the candidates is the best?"""

    kind: Literal["comparison"] = "comparison"


class AA(FrozenModel):
    """How much do trials of one setting differ? The candidates are that setting under several names."""

    kind: Literal["aa"] = "aa"


Question = Annotated[Comparison | AA | TunePlan, Field(discriminator="kind")]
"""What a study asks. A tune begins with its baseline alone, and each setting that its search tries enters as a candidate."""


class FormKind(StrEnum):
    """What settings were read from, where that was no option file; a recommendation is also written in this form."""

    LISTING = "listing"
    """Output of SHOW VARIABLES."""

    PARAMETER_GROUP = "parameter_group"
    """JSON of `aws rds describe-db-parameters`."""

    RESOURCE = "resource"
    """A Kubernetes resource that holds an option file."""

    COMPOSE = "compose"
    """The `command:` of a service in a compose file."""


class SettingForm(FrozenModel):
    """What the settings of a study were read from.

    Attributes:
        place: where they are in it, as keys: `("spec", "pxc", "configuration")`, `("services", "db", "command")`.
        heading: keys with texts that name the whole, such as a resource's kind.
        forbidden: variables that the service does not let anybody change.
        computed: variables whose value the service computes, with the formula.
        at_start: variables that the service changes only with a restart.
        numbered: variables whose ON and OFF it writes as 1 and 0.
    """

    kind: FormKind
    place: tuple[str, ...] = ()
    heading: dict[str, str] = Field(default_factory=dict)
    forbidden: tuple[str, ...] = ()
    computed: dict[str, str] = Field(default_factory=dict)
    at_start: tuple[str, ...] = ()
    numbered: tuple[str, ...] = ()


class MethodOptions(FrozenModel):
    """The options of how a study measures and decides; the same fields in its file and in the store."""

    minutes: Annotated[float, METHOD] = Field(
        default=30.0, gt=0, le=10_080, description="wall-clock budget of the trials; preparing data does not count"
    )
    measure: Annotated[float | None, METHOD] = Field(
        default=None, ge=2, le=86_400, description="seconds measured in each trial"
    )
    warmup: Annotated[float | None, METHOD] = Field(
        default=None, ge=0, le=86_400, description="longest warm-up of a trial, seconds"
    )
    whole_warmup: Annotated[bool, METHOD] = Field(
        default=False, description="warm up for all of --warmup even if the load is steady earlier"
    )
    confidence: Annotated[Fraction, METHOD] = Field(
        default=0.95, ge=0.5, le=0.999, description="confidence of a choice, and of all claims together"
    )
    goal: Annotated[Goal, METHOD] = Goal.THROUGHPUT
    until: Annotated[Until, METHOD] = Field(
        default=Until.SAFE,
        description="when to stop: at a safe choice, at one shown to be better than the baseline, or shown to be the best",
    )
    worst: Annotated[Fraction | None, METHOD] = Field(
        default=None,
        gt=0,
        lt=1,
        description="end a trial whose throughput stays this far below the baseline's for 5 s, such as 30%",
    )
    confirm: Annotated[bool, METHOD] = Field(
        default=False, description="measure the choice against the baseline again, in confirmation trials"
    )
    seed: Annotated[int, METHOD] = Field(
        default=1, ge=0, lt=2**31, description="random seed of the order of trials and of the load"
    )
    accept_weaker_durability: Annotated[bool, METHOD] = Field(
        default=False, description="allow a candidate with weaker durability to be recommended"
    )
    probes: Annotated[bool, WHY] = Field(default=True, description="record counters and waits, to explain the verdict")
    waits: Annotated[str | None, WHY] = Field(
        default=None,
        description="collect raw waits of instruments, such as hash_table_locks, in further trials of each candidate",
    )
    wait_trials: Annotated[int, WHY] = Field(
        default=1, ge=1, le=100, description="trials of each candidate that collect raw waits; several show how these vary"
    )
    profile: Annotated[bool, WHY] = Field(
        default=False,
        description="profile the CPU of the server's threads with perf, in one more trial of the baseline and of the choice "
        "after the verdict; the server must run on this machine",
    )
    profile_candidates: Annotated[bool, WHY] = Field(
        default=False, description="profile every candidate that was measured, not only the baseline and the choice"
    )
    server_cpus: Annotated[str | None, MACHINE] = Field(
        default=None,
        description="CPUs for the servers, such as 0-3,8; for an image's container also CPU time, such as 1.5",
    )
    server_memory: Annotated[Sizes | None, MACHINE] = Field(
        default=None,
        description="memory limit of an image's container, such as 2G; several are compared, with half for the buffer pool",
    )
    load_cpus: Annotated[str | None, MACHINE] = Field(default=None, description="CPUs for the load driver, such as 0-3,8")

    @field_validator("waits")
    @classmethod
    def _pattern_of_instruments(cls, value: str | None) -> str | None:
        if value is not None and not re.fullmatch(r"[A-Za-z0-9_/%:-]{1,120}", value):
            raise ValueError("is not part of an instrument's name, such as hash_table_locks or wait/synch/mutex/innodb/%")
        return value

    @field_validator("server_memory")
    @classmethod
    def _distinct_limits(cls, value: tuple[int, ...] | None) -> tuple[int, ...] | None:
        if value is not None and len(set(value)) != len(value):
            raise ValueError("has the same size twice")
        if value is not None and min(value) < LEAST_MEMORY:
            raise ValueError("must be 64M or more: no server starts with less")
        return value

    @field_validator("server_cpus", "load_cpus")
    @classmethod
    def _known_cpus(cls, value: str | None, info: ValidationInfo) -> str | None:
        if value is not None:
            (count_cpus if info.field_name == "server_cpus" else parse_cpus)(value)
            return "".join(value.split())  # programs that take it take no spaces
        return value

    @property
    def is_profiled(self) -> bool:
        return self.profile or self.profile_candidates

    def method(self) -> dict[str, Any]:
        return {name: getattr(self, name) for name in MethodOptions.model_fields}


class StudySpec(MethodOptions):
    """All that decides how a study runs; stored with it, so that it can be resumed and repeated.

    `measure` and `warmup` hold the planned values. The attributes beside the options of the method:

    Attributes:
        candidates: what is compared, in the order that tables show.
        baseline: the name of the candidate that the others are measured against.
        fixed: variables set alike for every candidate.
        held: variables that would differ between candidates though they are not under test, and the values that pin them.
        worthwhile: the smallest relative difference that matters, e.g. 0.01.
        switch: how trials on sandboxes follow each other; an attached server is restarted only where a variable requires it.
        expected_noise: the standard deviation of a trial that was expected before the study, on the log scale; None where
            it was unknown.
        initial: the candidate whose values the attached server had before the study; None where there is none.
        claims: the number of claims that hold together at the confidence: this study's, and those of the other workloads of its
            suite, with that of their mean.
        form: what its settings were read from, where that was no option file.
    """

    candidates: tuple[Candidate, ...] = Field(min_length=1)
    baseline: str
    fixed: dict[str, Value] = Field(default_factory=dict)
    held: dict[str, Value] = Field(default_factory=dict)
    workload: WorkloadSpec = WorkloadSpec()
    worthwhile: float = Field(default=0.01, ge=0.0001, le=1.0)
    switch: Switch = Switch.RESTART
    place: Place = SandboxPlace()
    question: Question = Comparison()
    expected_noise: float | None = Field(default=None, gt=0)
    initial: str | None = None
    form: SettingForm | None = None
    claims: int = Field(default=1, ge=1)

    @model_validator(mode="after")
    def _names_are_distinct(self) -> StudySpec:
        names = [candidate.name for candidate in self.candidates]
        if not isinstance(self.question, TunePlan) and not 2 <= len(names) <= MAX_CANDIDATES:
            raise ValueError(f"a study has 2 to {MAX_CANDIDATES} candidates")
        if len(set(names)) != len(names):
            raise ValueError("candidates must have different names")
        if self.baseline not in names:
            raise ValueError(f"the baseline {self.baseline!r} is not one of the candidates")
        return self

    @property
    def alpha(self) -> float:
        """The error that each interval may make; in a suite, a share of it, so that those of all workloads hold together."""
        return (1 - self.confidence) / self.claims

    @property
    def names(self) -> list[str]:
        """The names of the candidates, in their order."""
        return [candidate.name for candidate in self.candidates]

    def candidate(self, name: str) -> Candidate:
        """Return the candidate of that name; raise KeyError where there is none."""
        for candidate in self.candidates:
            if candidate.name == name:
                return candidate
        raise KeyError(name)

    def setting_of(self, name: str) -> dict[str, Value]:
        """Return all that a candidate's server is asked for: its own setting over what all candidates have in common."""
        return {**self.fixed, **self.held, **self.candidate(name).setting}

    def memory_of(self, name: str) -> int | None:
        """Return the memory limit of a candidate's container in bytes, or None."""
        limits = self.server_memory or ()
        return self.candidate(name).memory or (limits[0] if len(limits) == 1 else None)

    @property
    def is_live(self) -> bool:
        """Whether a server is studied under its own traffic."""
        return isinstance(self.place, LivePlace)

    @property
    def is_sandboxed(self) -> bool:
        """Whether dialin starts the servers."""
        return isinstance(self.place, SandboxPlace)

    @property
    def shares_start(self) -> bool:
        """Whether named candidates are known to be measured in one life of a server, so that its start favours none."""
        return self.switch is Switch.SET and not self.tuned

    @property
    def is_aa(self) -> bool:
        """Whether the candidates are one setting under several names, of which none can be chosen."""
        return isinstance(self.question, AA)

    @property
    def tuned(self) -> dict[str, Dimension]:
        """The variables that a search changes, by name; empty where the candidates were named."""
        return {one.name: one for one in self.question.variables} if isinstance(self.question, TunePlan) else {}

    @property
    def proofs(self) -> int:
        """How many proofs a tune has had, the present one included; 0 for other studies."""
        return self.question.proofs + 1 if isinstance(self.question, TunePlan) else 0

    @property
    def variables_under_test(self) -> tuple[str, ...]:
        """Every variable that some candidate sets or a search changes, in order of first mention: what the study is about."""
        return tuple(dict.fromkeys([*(name for candidate in self.candidates for name in candidate.setting), *self.tuned]))

    @property
    def set_variables(self) -> tuple[str, ...]:
        """Every variable that some trial sets, those that are alike for all candidates included."""
        named = (name for candidate in self.candidates for name in self.setting_of(candidate.name))
        return tuple(dict.fromkeys([*named, *self.tuned]))

    def with_candidates(self, added: Sequence[Candidate]) -> StudySpec:
        """Return the study with candidates that its search adds; raise ValidationError where a name is taken."""
        return StudySpec.model_validate({**dict(self), "candidates": (*self.candidates, *added)})

    @property
    def compares_builds(self) -> bool:
        return len({candidate.server for candidate in self.candidates}) > 1
