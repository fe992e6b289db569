"""Which program applies a load, by the name that a study gives it."""

from __future__ import annotations

import re
from collections.abc import Iterable

from dialin.errors import UserError
from dialin.model.workload import LOAD_WORKLOADS, SCAN, SYSBENCH_SCRIPTS, Driver

WORKLOAD_FILE = ".toml"
"""How the name of a workload file of dialin-load ends."""

_CHOICE = (Driver.DIALIN_LOAD, Driver.SYSBENCH)


_OPTION = re.compile(r"[a-z][a-z0-9_-]*")
"""An option of sysbench's."""

_SIZE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
"""A size of a workload file, as dialin-load has it: its author names it."""


def check_options(names: Iterable[str], *, of_file: bool) -> None:
    """Make sure that options of a workload have names that a driver can be told.

    Args:
        names: of the options.
        of_file: whether they are sizes of a workload file, dialin-load's own ones included.

    Raises:
        UserError: one has not.
    """
    for name in names:
        if not (_SIZE if of_file else _OPTION).fullmatch(name):
            example = "warehouses=10" if of_file else "range-size=100"
            raise UserError(f"{name!r} cannot be an option of a workload", f"Write it like {example}")


def named(workload: str) -> tuple[Driver, str]:
    """Return which program applies a load, and the load's name there.

    That is dialin-load where it speaks the workload. A name behind `sysbench:` or `dialin-load:` says which it is to be.

    Raises:
        UserError: the program that was named cannot apply it.
    """
    asked, colon, name = workload.partition(":")
    if colon and asked in _CHOICE:
        return _asked(Driver(asked), name)
    if workload == SCAN:
        return Driver.DIALIN, workload
    spoken = workload in SYSBENCH_SCRIPTS or workload in LOAD_WORKLOADS or workload.endswith(WORKLOAD_FILE)
    return (Driver.DIALIN_LOAD if spoken else Driver.SYSBENCH), workload


def _asked(driver: Driver, name: str) -> tuple[Driver, str]:
    if name == SCAN:
        raise UserError(f"{driver} does not time queries", f"Give --workload {SCAN}; dialin does that itself")
    if driver is Driver.SYSBENCH and (name in LOAD_WORKLOADS or name.endswith(WORKLOAD_FILE)):
        raise UserError(f"sysbench has no workload {name!r}", f"Give --workload {name}; dialin-load has it")
    if driver is Driver.DIALIN_LOAD and name.endswith(".lua"):
        raise UserError("dialin-load runs no Lua script", f"Give --workload {name}; sysbench runs it")
    return driver, name


def is_path(name: str) -> bool:
    """Tell whether a workload's name is the path of a file."""
    return "/" in name or name.endswith((".lua", WORKLOAD_FILE))
