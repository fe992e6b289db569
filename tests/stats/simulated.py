"""The machine and the studies of benchmarks/: what tests simulate is what the benchmarks report."""

import importlib
import sys
from pathlib import Path

import scipy.stats

from fixtures.long_form import IS_LONG

sys.path.insert(0, str(Path(__file__).parents[2] / "benchmarks"))
decide = importlib.import_module("decide")
foreign_worlds = importlib.import_module("foreign_worlds")
world = importlib.import_module("world")

STUDIES = 24 if IS_LONG else 4
"""Whole studies of a kind: few find what is badly wrong, in seconds; `make test-all` counts more."""


def at_most(promised, studies):
    """The most errors in so many studies that a true rate of what was promised explains (one chance in a thousand)."""
    return scipy.stats.binom.ppf(0.999, studies, promised)


def least(promised, studies):
    """The fewest hits in so many studies that a true rate of what was promised explains (one chance in a thousand)."""
    return scipy.stats.binom.ppf(0.001, studies, promised)
