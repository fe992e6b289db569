"""Which program applies a load, by the name that a study gives it."""

from __future__ import annotations

from dialin.errors import UserError
from dialin.model.workload import LOAD_WORKLOADS, SCAN, SYSBENCH_SCRIPTS, Driver

WORKLOAD_FILE = ".toml"
"""How the name of a workload file of dialin-load ends."""

_CHOICE = (Driver.DIALIN_LOAD, Driver.SYSBENCH)


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
