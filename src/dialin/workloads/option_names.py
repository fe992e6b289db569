"""The names that options of a workload may have."""

from __future__ import annotations

import re
from collections.abc import Iterable

from dialin.errors import UserError

_OPTION = re.compile(r"[a-z][a-z0-9_-]*")
"""An option of sysbench's."""

_SIZE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
"""A size of a workload file, as dialin-load has it: its author names it."""


def check_options(names: Iterable[str], *, of_file: bool) -> None:
    """Raise UserError for an option of a workload whose name no driver accepts.

    `of_file` says whether the options are sizes of a workload file, those of dialin-load's own files included.
    """
    for name in names:
        if not (_SIZE if of_file else _OPTION).fullmatch(name):
            example = "warehouses=10" if of_file else "range-size=100"
            raise UserError(f"{name!r} cannot be an option of a workload", f"Write it like {example}")
