"""A home for each process that runs tests, so that no command of one ends or restores what another has running."""

import os
import shutil

from dialin.paths import Home

SHARED = {"builds": "builds", "catalogues": "catalogues", "datasets": "test-datasets", "downloads": "downloads"}
"""Directories of a process's home, by those of dialin's home that all processes use: they are large, and only grow."""

LARGEST = "12"
"""GiB of all prepared data of tests, most of which one test alone needs. It removes no data of the user's own studies."""

WORKER = os.environ.get("PYTEST_XDIST_WORKER")
"""The name of this process among those that pytest-xdist started; None where it started none."""


def use_home_of_worker() -> None:
    """Set DIALIN_HOME to a directory of this process."""
    shared = Home.of().root
    home = shared / f"test-{os.environ['PYTEST_XDIST_TESTRUNUID'][:8]}-{WORKER}"
    home.mkdir(parents=True)
    for name, place in SHARED.items():
        (shared / place).mkdir(exist_ok=True)
        (home / name).symlink_to(shared / place)
    os.environ["DIALIN_HOME"] = str(home)
    os.environ.setdefault("DIALIN_CACHE_LIMIT_GB", LARGEST)


def remove_home_of_worker() -> None:
    shutil.rmtree(Home.of().root, ignore_errors=True)
