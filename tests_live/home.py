"""A home for each process that runs tests, so that no command of one ends or restores what another has running."""

import os
import shutil

from dialin.paths import Home

SHARED = ("builds", "catalogues", "datasets", "downloads")
"""Directories of dialin's home that all processes use: they are large, and only grow."""

WORKER = os.environ.get("PYTEST_XDIST_WORKER")
"""The name of this process among those that pytest-xdist started; None where it started none."""


def use_home_of_worker() -> None:
    """Set DIALIN_HOME to a directory of this process."""
    shared = Home.of().root
    home = shared / f"test-{os.environ['PYTEST_XDIST_TESTRUNUID'][:8]}-{WORKER}"
    home.mkdir(parents=True)
    for name in SHARED:
        (shared / name).mkdir(exist_ok=True)
        (home / name).symlink_to(shared / name)
    os.environ["DIALIN_HOME"] = str(home)


def remove_home_of_worker() -> None:
    shutil.rmtree(Home.of().root, ignore_errors=True)
