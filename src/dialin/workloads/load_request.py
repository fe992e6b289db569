"""What a study asks of its load, before the kind of the workload has filled in its defaults."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from dialin.errors import UserError
from dialin.model.workload import WorkloadSpec

DEFAULT_THREADS = 16
DEFAULT_TABLES = 4
DEFAULT_TABLE_SIZE = 100_000


@dataclass(frozen=True, slots=True, kw_only=True)
class LoadRequest:
    """The options of a study that concern its load; None where the kind's default applies.

    Attributes:
        asked: the workload as a study file names it, with a prefix where that decides its kind.
        name: the workload, or the path of its file.
        threads: numbers of connections that work at once, in ascending order.
        table_size: rows of each table.
        rand_type: the distribution that row numbers are drawn from.
        rate: transactions per second; 0 for as many as possible.
        options: further options of the workload, as they are written.
        by_second: names of the given options of the method that count seconds of a trial.
    """

    asked: str
    name: str
    threads: tuple[int, ...] | None = None
    tables: int | None = None
    table_size: int | None = None
    rand_type: str | None = None
    rate: int = 0
    percentile: int = 95
    options: Mapping[str, str] = field(default_factory=dict)
    by_second: Sequence[str] = ()

    def options_spelled(self, spell: Callable[[str], str]) -> dict[str, str]:
        """Return the options of the workload with their names in its driver's spelling."""
        return {spell(name): value for name, value in self.options.items()}

    def refuse_table_sizes(self, remedy: str) -> None:
        """Raise UserError where `tables` or `table-size` is given for a workload that they do not size."""
        if self.tables or self.table_size:
            raise UserError(f"The workload {self.asked} is not sized by --tables and --table-size", remedy)

    def spec(
        self,
        kind: str,
        options: Mapping[str, str],
        *,
        threads: int = DEFAULT_THREADS,
        tables: int = DEFAULT_TABLES,
        table_size: int = DEFAULT_TABLE_SIZE,
    ) -> WorkloadSpec:
        """Return the load, with the options as the driver takes them, and the kind's defaults of the others."""
        levels = self.threads or (threads,)
        return WorkloadSpec(
            name=self.name,
            kind=kind,
            asked=self.asked,
            threads=max(levels),
            levels=levels if len(levels) > 1 else (),
            tables=self.tables or tables,
            table_size=self.table_size or table_size,
            rand_type=self.rand_type,
            rate=self.rate,
            percentile=self.percentile,
            options=options,
        )
