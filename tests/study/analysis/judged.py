"""What tests of verdicts on made logs share."""

from pathlib import Path

import pytest

from study.analysis.made import csv, series

BY = r"bpi(\d+)"
SHARED = Path(__file__).parents[4] / "shared" / "data" / "percona-2020-08-checkpoint"
published = pytest.mark.skipif(not SHARED.is_dir(), reason="the published logs are not here")


def repeated(levels, runs=3, name="bpi{value}-r{run}.log", **shape):
    """Return logs of several runs of each value, by the level of its throughput."""
    return {
        name.format(value=value, run=run): csv(series(level * (1 + 0.004 * run), seed=100 * value + run, **shape))
        for value, level in levels.items()
        for run in range(runs)
    }


def codes(notes):
    return [note.code for note in notes]


def text(notes, code):
    (found,) = [note.text for note in notes if note.code == code]
    return found


def states(analysis):
    return {one.name: one.state for one in analysis.candidates}
