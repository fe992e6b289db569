"""A study's question: which candidates, under which load, with what budget, and how sure the answer must be."""

from __future__ import annotations

from enum import StrEnum

from pydantic import BaseModel, ConfigDict, Field, model_validator

from dialin.model.setting import Value
from dialin.model.workload import WorkloadSpec

MAX_CANDIDATES = 64


class Goal(StrEnum):
    """What the best candidate is best at: transactions a second, steadiness of the seconds, or latency."""

    THROUGHPUT = "throughput"
    STABILITY = "stability"
    LATENCY = "latency"


WORTHWHILE = {Goal.THROUGHPUT: 0.01, Goal.STABILITY: 0.25, Goal.LATENCY: 0.05}
"""The smallest relative difference that matters, where nobody says: what varies more takes more to matter."""


class Switch(StrEnum):
    """How one candidate's trial follows another's: a server started anew, or one that lives on and is set."""

    RESTART = "restart"
    SET = "set"


class Candidate(BaseModel):
    """A setting that a study compares.

    Attributes:
        name: what tables and charts call it.
        setting: the variables that it sets, beside those that the study holds fixed.
        server: the build that it runs on, as the user named it.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    name: str = Field(min_length=1)
    setting: dict[str, Value] = Field(default_factory=dict)
    server: str


class Attachment(BaseModel):
    """Where the account of a server that dialin did not start is found; never the account itself.

    Attributes:
        defaults_file: an option file with a `[client]` group; None for those that the standard client reads.
        login_path: a login path of `~/.mylogin.cnf`.
        database: a schema that holds the workload's tables already; None where dialin makes one, and removes it at the end.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    defaults_file: str | None = None
    login_path: str | None = None
    database: str | None = None


class StudySpec(BaseModel):
    """All that decides how a study runs; stored with it, so that it can be resumed and repeated.

    Attributes:
        candidates: what is compared, in the order that tables show.
        baseline: the name of the candidate that the others are measured against.
        fixed: variables set alike for every candidate.
        held: variables that differ between candidates though nobody asked, and the value that keeps them still for all.
        workload: the load.
        minutes: the budget, in minutes of wall clock for the trials (preparing data once is not counted).
        measure: seconds measured in each trial; None leaves it to the plan.
        warmup: the most seconds that a trial warms up before it is measured; None leaves it to the plan.
        whole_warmup: the warm-up lasts as long as `warmup` says, also where the load is steady before.
        confidence: how sure all intervals together are, e.g. 0.95.
        worthwhile: the smallest relative difference that matters, e.g. 0.01.
        goal: what decides.
        switch: how trials on sandboxes follow each other; an attached server has ways of its own.
        confirm: whether a choice other than the baseline is measured afresh against it, after it was made.
        expected_noise: the standard deviation of a trial that was reckoned with before the study, on the log scale; None where
            nothing was known of it.
        aa: the candidates are one setting under several names, measured as if they were not: the noise itself is the question.
        probes: whether counters and waits are watched while the load is measured.
        waits: performance schema instruments whose raw waits are collected in trials of their own, as a part of their names
            or a pattern with `%`; None for none.
        seed: of the order of trials and of the load's random numbers.
        server_cpus: CPUs that the servers may use, as `0-3,8`; None for all.
        load_cpus: CPUs that the load driver may use; None for all.
        accept_weaker_durability: a candidate that gives up durability may be recommended.
        attachment: the server that is studied, where dialin did not start it.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    candidates: tuple[Candidate, ...] = Field(min_length=2, max_length=MAX_CANDIDATES)
    baseline: str
    fixed: dict[str, Value] = Field(default_factory=dict)
    held: dict[str, Value] = Field(default_factory=dict)
    workload: WorkloadSpec = WorkloadSpec()
    minutes: float = Field(default=30.0, gt=0, le=7 * 24 * 60)
    measure: float | None = Field(default=None, ge=2, le=24 * 3600)
    warmup: float | None = Field(default=None, ge=0, le=24 * 3600)
    whole_warmup: bool = False
    confidence: float = Field(default=0.95, ge=0.5, le=0.999)
    worthwhile: float = Field(default=0.01, ge=0.0001, le=1.0)
    goal: Goal = Goal.THROUGHPUT
    switch: Switch = Switch.RESTART
    confirm: bool = False
    aa: bool = False
    expected_noise: float | None = Field(default=None, gt=0)
    probes: bool = True
    waits: str | None = None
    seed: int = Field(default=1, ge=0, lt=2**31)
    server_cpus: str | None = None
    load_cpus: str | None = None
    accept_weaker_durability: bool = False
    attachment: Attachment | None = None

    @model_validator(mode="after")
    def _names_are_distinct(self) -> StudySpec:
        names = [candidate.name for candidate in self.candidates]
        if len(set(names)) != len(names):
            raise ValueError("candidates must have different names")
        if self.baseline not in names:
            raise ValueError(f"the baseline {self.baseline!r} is not one of the candidates")
        return self

    def candidate(self, name: str) -> Candidate:
        """Return the candidate of that name.

        Raises:
            KeyError: there is none.
        """
        for candidate in self.candidates:
            if candidate.name == name:
                return candidate
        raise KeyError(name)

    def setting_of(self, name: str) -> dict[str, Value]:
        """Return all that a candidate's server is asked for: its own setting over what is set alike for all.

        Raises:
            KeyError: there is no such candidate.
        """
        return {**self.fixed, **self.held, **self.candidate(name).setting}

    @property
    def asked_variables(self) -> tuple[str, ...]:
        """Every variable that some candidate sets, in order of first mention: those that the study is about."""
        return tuple(dict.fromkeys(name for candidate in self.candidates for name in candidate.setting))

    @property
    def set_variables(self) -> tuple[str, ...]:
        """Every variable that some trial sets, those that are alike for all candidates included."""
        return tuple(dict.fromkeys(name for candidate in self.candidates for name in self.setting_of(candidate.name)))

    @property
    def compares_builds(self) -> bool:
        """Whether the candidates run on different builds."""
        return len({candidate.server for candidate in self.candidates}) > 1
