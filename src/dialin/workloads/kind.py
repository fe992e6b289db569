"""One kind of workload: how a study asks for it, its options and defaults, and how it is made."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from pydantic import BaseModel, ConfigDict, ValidationError

from dialin.errors import InapplicableError, UserError
from dialin.model.option_types import kebab
from dialin.model.study import Goal
from dialin.model.workload import WorkloadSpec
from dialin.workloads.base import Workload


@dataclass(frozen=True, slots=True, kw_only=True)
class LoadRequest:
    """The options of a study that concern its load.

    Attributes:
        asked: the workload as a study file names it, with a prefix where that decides its kind.
        name: the workload, or the path of its file.
        given: the options that are stored with the load, by their names in `WorkloadSpec`; the kind fills in missing ones.
        options: further options of the workload, as the user wrote them.
        by_second: names of the given options that concern the seconds of a trial, such as `measure` and `warmup`.
    """

    asked: str
    name: str
    given: Mapping[str, Any] = field(default_factory=dict)
    options: Mapping[str, str] = field(default_factory=dict)
    by_second: Sequence[str] = ()

    @property
    def tables(self) -> int | None:
        return self.given.get("tables")

    @property
    def table_size(self) -> int | None:
        return self.given.get("table_size")

    def options_spelled(self, spell: Callable[[str], str]) -> dict[str, str]:
        """Return the options of the workload with their names in its driver's spelling."""
        return {spell(name): value for name, value in self.options.items()}

    def refuse_table_sizes(self, remedy: str) -> None:
        """Raise InapplicableError where `tables` or `table-size` is given for a workload to which they do not apply."""
        if self.tables or self.table_size:
            what = f"The workload {self.asked} is not sized by --tables and --table-size"
            raise InapplicableError(what, remedy, ("tables", "table-size"))

    def spec(self, kind: str, options: Mapping[str, str], **defaults: int) -> WorkloadSpec:
        """Return the load, with the options in the driver's spelling, and the kind's defaults for fields that are missing."""
        return WorkloadSpec(name=self.name, kind=kind, asked=self.asked, options=options, **{**defaults, **self.given})


class AnyOptions(BaseModel):
    """Options that an external program defines; the program refuses unknown ones."""

    model_config = ConfigDict(extra="allow", frozen=True)


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkloadKind:
    """One kind of workload.

    Attributes:
        name: stored with a study. A kind without a workload of the same name is requested as `name:workload`.
        help: how `--workload` is given for it, for `--help` and the JSON Schema.
        options_help: the list of its options, for `--help`; empty where only its documentation lists them.
        workloads: names of its workloads; empty for a single workload with the name of the kind.
        suffixes: how the names of the files that it runs end.
        threads: default number of concurrent connections; None for the usual default.
        takes_path: whether it is requested as `name:path`, with the path of a file or directory.
        takes_data: whether `--data` and `--pace` are for it.
        takes_load_hosts: whether agents on other hosts can apply it.
        rand_types: the distributions that it can draw row numbers from.
        defaults: in words, its defaults of options such as `table_size` that differ from the usual ones; for `--help`.
        on_sandboxes_only: why it does not run on a server that dialin did not start; empty where it does.
        default_goal: returns the goal of a study that names none, from the workload's options; None for the usual goal.
        specify: fills in the defaults of a request, and raises UserError for what is invalid; None where `options` has all
            options, and `--tables` and `--table-size` do not apply.
        how_to_install: a sentence that says how to install what it needs; empty where it needs nothing.
    """

    name: str
    help: str
    make: Callable[[WorkloadSpec], Workload]
    options: type[BaseModel] = AnyOptions
    options_help: str = ""
    workloads: tuple[str, ...] = ()
    suffixes: tuple[str, ...] = ()
    threads: int | None = None
    takes_path: bool = False
    takes_data: bool = False
    takes_load_hosts: bool = False
    rand_types: tuple[str, ...] = ()
    defaults: Mapping[str, str] = field(default_factory=dict)
    on_sandboxes_only: str = ""
    default_goal: Callable[[Mapping[str, Any]], Goal] | None = None
    specify: Callable[[LoadRequest], WorkloadSpec] | None = None
    is_installed: Callable[[], bool] = lambda: True
    how_to_install: str = ""

    @property
    def names(self) -> tuple[str, ...]:
        return self.workloads or (self.name,)

    @property
    def is_prefix(self) -> bool:
        """Whether `name:` in front of a workload asks for this kind."""
        return self.takes_path or self.name not in self.names

    def applies(self, workload: str) -> bool:
        return (workload in (self.workloads if self.takes_path else self.names)) or bool(
            self.suffixes and workload.endswith(self.suffixes)
        )

    def spec(self, request: LoadRequest) -> WorkloadSpec:
        """Return the load of a study, with the kind's defaults, but without its traits, which only the workload knows.

        Raises:
            UserError: an option is unknown or invalid.
        """
        return self.specify(request) if self.specify else self._specify_by_model(request)

    def _specify_by_model(self, request: LoadRequest) -> WorkloadSpec:
        request.refuse_table_sizes("Give its own sizes as --workload-option NAME=VALUE")
        options = request.options_spelled(kebab)
        try:
            self.options.model_validate(options)
        except ValidationError as error:
            raise option_error(self.name, error, self.options) from None
        return request.spec(self.name, options, **({"threads": self.threads} if self.threads else {}))


def option_error(kind: str, error: ValidationError, model: type[BaseModel], see: str = "") -> UserError:
    """Return an error for the first mistake in a workload's options; its remedy lists all, or is `see` for an invalid value."""
    first = error.errors(include_url=False)[0]
    key = str(first["loc"][0]) if first["loc"] else ""
    names = f"It has {', '.join(option_names(model))}"
    if first["type"] == "extra_forbidden":
        return UserError(f"The workload {kind} has no option {key!r}", names)
    text = first["msg"].removeprefix("Value error, ")
    shown = f" (given: {first['input']!r})" if key and first["type"] != "missing" else ""
    return UserError(f"{kind}: {f'{key}: ' if key else ''}{text}{shown}", see or names)


def option_names(model: type[BaseModel]) -> list[str]:
    return [kebab(name) for name in model.model_fields]
