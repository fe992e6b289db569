"""The program dialin-load: where it is, and the workloads that it has."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Mapping
from pathlib import Path

from dialin.errors import UserError

NAME = "dialin-load"

LOAD_WORKLOADS = ("bank-transfer", "feed", "noop", "queue", "tpcc-like")
"""The workloads that dialin-load has in addition to those of sysbench."""

WORKLOAD_FILE = ".toml"
"""The suffix of the name of a workload file."""

WITH_ONE_TABLE = ("select_random_points", "select_random_ranges")
"""Workloads that read the first table only; dialin-load makes no other."""

VARIABLE = "DIALIN_LOAD"
"""The environment variable that names a program other than the one next to this Python."""

WITHOUT = "none"
"""The value of that variable that makes dialin ignore the program, as if it were not installed."""

REMEDY = f"Install dialin from a wheel, which holds it, or build it with cargo (make setup), or name it in {VARIABLE}"


def find(environment: Mapping[str, str] = os.environ, python: str = sys.executable) -> Path | None:
    """Return the program that the environment names, else the one next to Python, else the one on PATH; None without any.

    Raises:
        UserError: what the environment names is not a program.
    """
    named = environment.get(VARIABLE)
    if named == WITHOUT:
        return None
    if named:
        if program := _program(Path(named).expanduser().absolute()):
            return program
        raise UserError(f"{VARIABLE} names {named}, which is not a program", "Correct its path, or unset it")
    if python and (beside := _program(Path(python).absolute().parent / NAME)):
        return beside
    on_path = shutil.which(NAME, path=environment.get("PATH"))
    return Path(on_path).absolute() if on_path else None


def need(environment: Mapping[str, str] = os.environ, python: str = sys.executable) -> Path:
    """Return the program; see `find`. Raise UserError where it is not installed, or the environment disables it."""
    if program := find(environment, python):
        return program
    if environment.get(VARIABLE) == WITHOUT:
        raise UserError(f"{VARIABLE}={WITHOUT} disables {NAME}", "Unset it")
    raise UserError(f"{NAME} is not installed", REMEDY)


def _program(path: Path) -> Path | None:
    return path if path.is_file() and os.access(path, os.X_OK) else None
