"""What dialin knows of one kind of workload: its name, its options, its unit, and how it is made."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from pydantic import BaseModel, ConfigDict, ValidationError

from dialin.errors import UserError
from dialin.model.option_types import kebab
from dialin.model.study import Goal
from dialin.model.workload import WorkloadSpec
from dialin.workloads.base import Workload
from dialin.workloads.load_request import LoadRequest


class AnyOptions(BaseModel):
    """Options that a program defines: it refuses those that it does not know."""

    model_config = ConfigDict(extra="allow", frozen=True)


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkloadKind:
    """One kind of workload.

    Attributes:
        name: stored with a study. A kind that brings no workload of its own name is asked for as `name:workload`.
        help: how `--workload` is given for it, for `--help` and the JSON Schema.
        options_help: which ones there are, for `--help`; empty where its documentation says that.
        workloads: names of the workloads that it brings; empty for one that has the name of the kind.
        suffixes: how names of the files end that it runs.
        threads: connections that work at once, where a study does not say; None for the usual number.
        takes_path: whether it is asked for as `name:path`, with the path of a file or directory.
        takes_load_hosts: whether agents on other hosts can apply it.
        rand_types: the distributions that it can draw row numbers from.
        defaults: its defaults of options such as `table_size` in words, where they are not the usual ones; for `--help`.
        on_sandboxes_only: why it does not run on a server that dialin did not start; empty where it does.
        default_goal: the goal of a study that names none, from the options of the workload; None for the usual one.
        specify: fills in the defaults of a request, and refuses what does not fit (UserError); None where a workload has no
            options but those of the model, and no tables that `--tables` and `--table-size` size.
        how_to_install: a sentence, where it needs something.
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
        return (not self.takes_path and workload in self.names) or bool(self.suffixes and workload.endswith(self.suffixes))

    def spec(self, request: LoadRequest) -> WorkloadSpec:
        """Return the load of a study, with the kind's defaults; its traits are still missing: the workload knows them.

        Raises:
            UserError: an option is unknown, or does not fit.
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
    """Return the first mistake in the options of a workload; it names them all, unless `see` says where they are documented."""
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
