"""How the value of one variable limits what another one can do."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from dialin.variables.behaviour import IN_MEMORY_TABLES, Behaviour, Span


@dataclass(frozen=True, slots=True)
class Limit:
    """What another variable allows a variable to do.

    Attributes:
        by: the other variable.
        least: the other's value from which on this one has any effect; None where the other's value is the most of this one
            that has an effect.
        is_kept: whether the server fits one to the other when either is set: MySQL cuts a value that exceeds the limit, MariaDB
            raises `innodb_io_capacity_max` instead.
        on: the builds with this limit; all builds where it is empty.
    """

    by: str
    least: float | None = None
    is_kept: bool = False
    on: tuple[Span, ...] = ()


LIMITS: Mapping[str, Limit] = {
    "innodb_page_cleaners": Limit("innodb_buffer_pool_instances"),
    "innodb_buffer_pool_instances": Limit("innodb_buffer_pool_size", least=2.0**30),
    "innodb_io_capacity": Limit("innodb_io_capacity_max", is_kept=True),
    "innodb_max_dirty_pages_pct_lwm": Limit("innodb_max_dirty_pages_pct", is_kept=True),
    "tmp_table_size": Limit("max_heap_table_size", on=IN_MEMORY_TABLES),
}
"""The variables that others limit. `behaviour.DERIVED` and `cautions.CAUTIONS` have the sentences and their sources."""


def limit_of(variable: str, build_id: str) -> Limit | None:
    """Return what limits a variable on a build; None where nothing does."""
    limit = LIMITS.get(variable)
    return limit if limit is not None and Behaviour("", "", limit.on).is_of(build_id) else None
