"""The load options of a study, before the kind of the workload has filled in its defaults."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from dialin.errors import UserError
from dialin.model.workload import WorkloadSpec


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
        """Raise UserError where `tables` or `table-size` is given for a workload to which they do not apply."""
        if self.tables or self.table_size:
            raise UserError(f"The workload {self.asked} is not sized by --tables and --table-size", remedy)

    def spec(self, kind: str, options: Mapping[str, str], **defaults: int) -> WorkloadSpec:
        """Return the load, with the options in the driver's spelling, and the kind's defaults for fields that are missing."""
        return WorkloadSpec(name=self.name, kind=kind, asked=self.asked, options=options, **{**defaults, **self.given})
