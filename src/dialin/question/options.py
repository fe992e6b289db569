"""The options of a study: the one home of each, with its default, its limits and its help.

The keys of a study file, the options of `dialin sweep` and `compare` with their groups, the JSON Schema and `docs/cli.md` are
made from these fields, and from those of `MethodOptions` and `LoadOptions`. A new option is one field, and its use.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import ConfigDict, Field, WithJsonSchema, field_validator, model_validator

from dialin.errors import InapplicableError, UserError
from dialin.measures.table import COSTS, MEASURES, explain, explain_worthwhile, goals_of_traffic
from dialin.model.cpus import cpu_time
from dialin.model.live import LiveOptions
from dialin.model.option_types import ATTACHED, FILES, LIVE, LOAD, METHOD, Fraction, Threads, kebab
from dialin.model.place import WAIT_FOR_SERVER, AttachedPlace, LivePlace, ManagedPlace, Place, SandboxPlace
from dialin.model.setting import Value
from dialin.model.study import AA, MAX_CANDIDATES, Candidate, Comparison, Goal, MethodOptions, StudySpec
from dialin.model.tune import TunePlan
from dialin.model.workload import MOST_THREADS, LoadOptions, WorkloadSpec
from dialin.question import conflicts
from dialin.question.candidates import Variables, canonical, option_file_names, sweep_settings
from dialin.question.conflicts import ConflictError, Kind
from dialin.text import listed
from dialin.variables.size_units import with_letter
from dialin.workloads import kinds
from dialin.workloads.kind import LoadRequest
from dialin.workloads.traffic.traffic_kind import TRAFFIC

DEFAULT_WORKLOAD = "oltp_read_write"


def _left_to_its_kind(name: str) -> Any:
    """Return the field of an option of the load whose default is that of its kind; its limits are those of `WorkloadSpec`."""
    limits = {
        key: getattr(one, key) for one in WorkloadSpec.model_fields[name].metadata for key in ("ge", "le") if hasattr(one, key)
    }
    return Field(default=None, description=kinds.load_option_help(name), **limits)


_ONE_OR_MORE = WithJsonSchema({"anyOf": [{"type": "string"}, {"type": "array", "items": {"type": "string"}, "minItems": 1}]})

POOL = "innodb_buffer_pool_size"
POOL_SHARE = 0.5
"""The share of its container's memory that a buffer pool has where limits are compared: a server takes 300 to 500 MB more."""


class StudyOptions(MethodOptions, LoadOptions, LiveOptions):
    """The options of a study, as its file has them."""

    model_config = ConfigDict(alias_generator=kebab)

    server: str | list[str] = Field(
        default="",
        description="the build to run, such as mysql@9.7, or image:NAME, an image of podman or docker; several are compared",
    )
    attach: Annotated[bool, ATTACHED] = Field(default=False, description="study a running server that dialin did not start")
    defaults_file: Annotated[str | None, ATTACHED] = Field(
        default=None, description="option file with the account. Default: ~/.my.cnf"
    )
    login_path: Annotated[str | None, ATTACHED] = Field(default=None, description="login path with the account")
    database: Annotated[str | None, ATTACHED] = Field(
        default=None, description="existing schema with the workload's tables. Default: dialin creates one and drops it"
    )
    wait_for_server: Annotated[float, ATTACHED] = Field(
        default=WAIT_FOR_SERVER,
        ge=0,
        le=86_400,
        description="seconds to wait for an attached server that stops answering",
    )
    traffic: Annotated[Literal["own"] | None, LIVE] = Field(
        default=None,
        description="own: try settings on a live server under its own traffic, back and forth, under a guard (docs/live.md)",
    )
    sweep: dict[str, list[Value]] = Field(default_factory=dict, description="variables with the values to compare")
    compare: list[str] = Field(default_factory=list, description="option files to compare, relative to this file")
    leave_out_unknown: Annotated[bool, FILES] = Field(
        default=False, description="leave out options that the build does not have, instead of refusing them"
    )
    includes: Annotated[bool, FILES] = Field(default=True, description="follow !include and !includedir")
    scale_sizes: Annotated[Fraction | None, FILES] = Field(
        default=None,
        gt=0,
        le=1,
        description="multiply buffer pool, other caches and redo log of the files by this, such as 25%, for a smaller machine",
    )
    candidates: dict[str, Variables] = Field(default_factory=dict, description="settings to compare, by name")
    aa: int | None = Field(
        default=None,
        ge=2,
        le=MAX_CANDIDATES,
        description="compare this many identical candidates (A/A) to measure the noise",
    )
    tune: list[str] | None = Field(
        default=None,
        description="search these variables for the best setting: NAME=LOW..HIGH, NAME=VALUE,VALUE or NAME alone; an empty "
        "list leaves the choice of variables to dialin",
    )
    set: Variables = Field(default_factory=dict, description="variables to set for all candidates")
    hold: Annotated[bool, METHOD] = Field(
        default=False, description="pin variables that would differ between candidates but are not under test"
    )
    baseline: str | None = Field(
        default=None,
        description="what the others are compared with. Default: what an attached server has; else its default, or the first; "
        "the largest of several --server-memory",
    )
    goal: Annotated[Goal, METHOD] = Field(
        default=Goal.THROUGHPUT,
        description=f"what to optimize: {explain()}. Default: throughput; on live traffic, latency",
    )
    workload: Annotated[str, LOAD, _ONE_OR_MORE] = Field(
        default=DEFAULT_WORKLOAD,
        description=f"{kinds.workload_help()}. Several, such as oltp_read_only=3,oltp_write_only, are a suite with weights",
    )
    suite: Annotated[str | None, LOAD] = Field(
        default=None,
        description="compare under several workloads: quick, sysbench, or a suite file (docs/suites.md)",
    )
    threads: Annotated[Threads | None, LOAD] = Field(
        default=None,
        description=f"{kinds.load_option_help('threads')}; several, such as 1,4,16, show how each candidate scales",
    )
    tables: Annotated[int | None, LOAD] = _left_to_its_kind("tables")
    table_size: Annotated[int | None, LOAD] = _left_to_its_kind("table_size")
    rand_type: Annotated[str | None, LOAD] = Field(
        default=None, description="distribution of the requested rows: " + ", ".join(kinds.rand_types())
    )
    data: Annotated[str | None, LOAD] = Field(
        default=None,
        description="of a replay: the data from before the capture: a data directory, a prepared backup, or an SQL dump",
    )
    pace: Annotated[str | None, LOAD] = Field(
        default=None,
        description="of a replay: 1 as fast as captured, 2 twice as fast, or full. Default: 1",
    )
    workload_options: Annotated[dict[str, str | int | float | bool], LOAD] = Field(
        default_factory=dict,
        description=f"options of the workload, such as range-size{kinds.options_help()}",
    )
    worthwhile: Annotated[Fraction | None, METHOD] = Field(
        default=None,
        ge=0.0001,
        le=1,
        description=f"the smallest difference that matters. Default: {explain_worthwhile()}",
    )
    fail_if_worse: Annotated[Fraction | None, METHOD] = Field(
        default=None,
        description="answer only whether a candidate is worse than the baseline by more than this, such as 3%",
    )
    switch: Annotated[Literal["auto", "restart", "set"], METHOD] = Field(
        default="auto",
        description="between trials: set dynamic variables where that is valid (set), or restart the server",
    )

    @field_validator("rand_type")
    @classmethod
    def _known_distribution(cls, value: str | None) -> str | None:
        if value is not None and value not in kinds.rand_types():
            raise ValueError(f"{value!r} is not a distribution; they are {', '.join(kinds.rand_types())}")
        return value

    @field_validator("candidates")
    @classmethod
    def _named(cls, value: dict[str, Variables]) -> dict[str, Variables]:
        if not all(name.strip() for name in value):
            raise ValueError("a candidate has no name: write it like [candidates.bigger-pool]")
        return value

    @field_validator("threads")
    @classmethod
    def _distinct_levels(cls, value: tuple[int, ...] | None) -> tuple[int, ...] | None:
        if value is not None and (not value or len(set(value)) != len(value)):
            raise ValueError("must be one number, or several different ones")
        if value is not None and not all(1 <= number <= MOST_THREADS for number in value):
            raise ValueError(f"must be 1 to {MOST_THREADS}")
        return value

    @model_validator(mode="after")
    def _goes_together(self) -> StudyOptions:
        ways = [name for name in ("sweep", "compare", "candidates", "aa") if getattr(self, name)]
        ways += ["tune"] if self.tune is not None else []
        if len(ways) > 1:
            raise ValueError(f"{' and '.join(ways)} cannot be combined: candidates come from one of them")
        conflicts.refuse(self.kinds, self.given)
        if self.suite is not None or self.fail_if_worse is not None:
            raise ValueError("suite and fail-if-worse are for sweep, compare and run")
        why = kinds.requested_kind(self.workload).on_sandboxes_only
        if self.attach and why:
            raise ValueError(f"{self.workload} runs on sandboxes only, because {why}: leave out attach")
        if self.aa and len(self.servers) > 1:
            raise ValueError("identical candidates (aa) are of one build: name one server")
        in_containers = bool(self.servers) and all(name.startswith("image:") or "-image." in name for name in self.servers)
        if self.server_memory and not in_containers:
            raise ValueError("server-memory limits the container of an image: add server image:NAME")
        if self.server_cpus and cpu_time(self.server_cpus) and not in_containers:
            raise ValueError("server-cpus with CPU time limits the container of an image: list CPUs such as 0-3")
        if self.compares_memory and (ways or POOL in self.set):
            raise ValueError("several of server-memory are compared, each with its own buffer pool: leave out other values")
        if (self.load_hosts is None) != (self.load_token is None):
            raise ValueError("load-hosts and load-token need each other")
        if self.load_hosts and self.load_cpus:
            raise ValueError("load-cpus is for a load driver on this machine: leave it out where load-hosts apply the load")
        swept, fixed = ({name.replace("-", "_").lower() for name in names} for names in (self.sweep, self.set))
        if both := swept & fixed:
            raise ValueError(f"{min(both)} is swept, and set for all candidates: leave one of them out")
        if self.traffic is None and self.workload == TRAFFIC:
            raise ConflictError("workload traffic", "is a live server's own", "Add {attach} and {traffic}")
        if self.traffic is None and self.goal in COSTS and not self.probes:
            raise ValueError(f"goal {self.goal} is read by probes: leave out probes = false")
        if self.traffic is not None and MEASURES[self.goal].of_traffic is None:
            raise ValueError(f"goal {self.goal} is not for live traffic, which has {listed(goals_of_traffic())}")
        if not ways and len(self.servers) < 2 and not self.compares_memory:
            raise ValueError("nothing to compare: give sweep, compare, candidates, aa or tune, or several servers")
        return self

    @model_validator(mode="before")
    @classmethod
    def _defaults_of_live_traffic(cls, data: Any) -> Any:
        """Return the options with the defaults of live traffic: its own workload, and latency as the goal."""
        if not isinstance(data, dict) or data.get("traffic") is None:
            return data
        if data.get("workload", DEFAULT_WORKLOAD) not in (DEFAULT_WORKLOAD, TRAFFIC):
            raise ValueError("workload and traffic cannot be combined: on live traffic dialin applies no load")
        return {"goal": Goal.LATENCY, **data, "workload": TRAFFIC}

    @model_validator(mode="before")
    @classmethod
    def _goal_of_its_kind(cls, data: Any) -> Any:
        """Return the options with the goal that the kind of the workload has, where they name none."""
        if not isinstance(data, dict) or data.get("goal") not in (None, Goal.THROUGHPUT):
            return data
        default_goal = kinds.requested_kind(str(data.get("workload", ""))).default_goal
        if default_goal is None:
            return data
        options = data.get("workload-options") or data.get("workload_options")
        given = {**(options if isinstance(options, dict) else {}), **({"pace": data["pace"]} if data.get("pace") else {})}
        return {**data, "goal": default_goal(given)}

    @model_validator(mode="before")
    @classmethod
    def _one_workload(cls, data: Any) -> Any:
        """Return the options with a list of one workload as that workload; several are a suite, which `dialin.suites` reads.

        Of these validators the last one runs first, so that all others see a text.
        """
        if not isinstance(data, dict) or "workload" not in data:
            return data
        texts = data["workload"] if isinstance(data["workload"], list) else [data["workload"]]
        names = [name for text in texts for name in str(text).split(",")]
        if len(names) != 1:
            raise ValueError(f"workload names {len(names)} workloads: a suite is for sweep, compare and run")
        return {**data, "workload": names[0]}

    @property
    def kinds(self) -> frozenset[Kind]:
        """The place and the question of the study."""
        place = Kind.SANDBOX if not self.attach else Kind.LIVE if self.is_live else Kind.ATTACHED
        return frozenset((place, Kind.TUNE if self.tune is not None else Kind.AA if self.aa else Kind.COMPARISON))

    @property
    def given(self) -> frozenset[str]:
        """The options that are not at their default, each also with its value: `switch` and `switch=set`."""
        fields = StudyOptions.model_fields.items()
        defaults = {name: field.get_default(call_default_factory=True) for name, field in fields}
        values = {kebab(name): getattr(self, name) for name, default in defaults.items() if getattr(self, name) != default}
        return frozenset((*values, *(f"{name}={value}" for name, value in values.items())))

    @property
    def is_live(self) -> bool:
        """Whether a server is studied under its own traffic."""
        return self.traffic is not None

    @property
    def compares_memory(self) -> bool:
        """Whether the candidates are memory limits of a container."""
        return len(self.server_memory or ()) > 1

    @property
    def servers(self) -> list[str]:
        """The requested builds, as written; empty where dialin chooses."""
        named = [self.server] if isinstance(self.server, str) else list(self.server)
        return list(dict.fromkeys(name for name in named if name))

    def workload_spec(self, directory: Path) -> WorkloadSpec:
        """Return the load; a path is taken relative to a directory.

        Raises:
            UserError: an option does not fit the workload.
        """
        asked = kinds.with_absolute_path(self.workload, directory)
        kind, name = kinds.find_kind(asked)
        options = {key.removeprefix("--"): _option_text(value) for key, value in self.workload_options.items()}
        options |= {key: value for key, value in (("data", self.data), ("pace", self.pace)) if value is not None}
        if kind.takes_data and "data" in options:
            options["data"] = str((directory / Path(options["data"]).expanduser()).absolute())
        if not kind.takes_data and (self.data is not None or self.pace is not None):
            what = f"--data and --pace are for the replay of a capture, and not for {self.workload}"
            raise InapplicableError(what, "Leave them out", ("data", "pace"))
        if self.load_hosts and not kind.takes_load_hosts:
            raise UserError(
                f"Load hosts are agents of dialin-load, which does not apply the workload {self.workload}",
                "Leave out --load-hosts and --load-token, or name a workload of dialin-load",
            )
        by_second = {"measure": self.measure is not None, "warmup": self.warmup is not None, "whole-warmup": self.whole_warmup}
        return kind.spec(
            LoadRequest(
                asked=asked,
                name=name,
                given=self._given_of_load(directory),
                options=options,
                by_second=[option for option, is_given in by_second.items() if is_given],
            )
        )

    def _given_of_load(self, directory: Path) -> dict[str, Any]:
        """Return the options that are stored with the load under their own names, but not those left to its kind.

        The path of the load hosts' token is relative to a directory.
        """
        names = (name for name in StudyOptions.model_fields if name in WorkloadSpec.model_fields)
        options = {name: value for name in names if (value := getattr(self, name)) is not None}
        if self.load_token is not None:
            options["load_token"] = str((directory / Path(self.load_token).expanduser()).absolute())
        if self.threads:
            options |= {"threads": max(self.threads), "levels": tuple(sorted(self.threads)) if len(self.threads) > 1 else ()}
        return options

    def place(self, directory: Path, *, is_managed: bool = False) -> Place:
        """Return where trials run, on a server that runs already with its account; a path is relative to a directory.

        `is_managed` says whether a command of the user applies the settings, which options of a study do not know.
        """
        if not self.attach:
            return SandboxPlace()
        file = str((directory / Path(self.defaults_file).expanduser()).absolute()) if self.defaults_file else None
        kind: type[LivePlace | ManagedPlace | AttachedPlace] = LivePlace if self.is_live else AttachedPlace
        kind = ManagedPlace if is_managed and not self.is_live else kind
        given = {name: getattr(self, name) for name in kind.model_fields if name in StudyOptions.model_fields}
        return kind(**{**given, "defaults_file": file})

    def option_files(self, directory: Path) -> list[tuple[str, Path]]:
        """Return the option files to compare, each with its candidate's name; paths are relative to a directory."""
        return [(name, directory / path) for name, path in zip(option_file_names(self.compare), self.compare, strict=True)]

    def settings(self) -> list[tuple[str, Variables]]:
        """Return the named settings to compare; those of option files depend on the build (`preflight.option_files`).

        Raises:
            UserError: one value only, duplicate values, too many candidates.
        """
        if self.sweep:
            return sweep_settings(self.sweep, least=1 if self.attach else 2)
        if self.candidates:
            return [(name, canonical(setting)) for name, setting in self.candidates.items()]
        if self.compares_memory:
            return [(with_letter(limit), {POOL: int(limit * POOL_SHARE)}) for limit in self.server_memory or ()]
        if self.aa:
            return [(f"A{number}", {}) for number in range(1, self.aa + 1)]
        return [("", {})]

    def spec(
        self,
        candidates: Sequence[Candidate],
        baseline: str,
        load: WorkloadSpec,
        place: Place,
        tune: TunePlan | None = None,
    ) -> StudySpec:
        """Return the study with its candidates, baseline, load and place decided, and what a tune searches."""
        return StudySpec(
            **self.method(),
            candidates=tuple(candidates),
            baseline=baseline,
            fixed=canonical(self.set),
            workload=load,
            worthwhile=MEASURES[self.goal].worthwhile if self.worthwhile is None else self.worthwhile,
            place=place,
            question=tune or (AA() if self.aa else Comparison()),
        )


def _option_text(value: str | float | bool) -> str:  # noqa: FBT001 - TOML's own types
    if isinstance(value, bool):
        return "on" if value else "off"
    return str(value)
