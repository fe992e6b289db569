"""The benchmark of claims, in a short form: it runs, and the worlds that are detected have no false claim."""

import sys
from pathlib import Path

import pytest

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"


@pytest.fixture
def judged(monkeypatch):
    monkeypatch.syspath_prepend(str(BENCHMARKS))
    import analyze as benchmark
    from folders import ROWS

    yield lambda name, count: benchmark.run((next(index for index, row in enumerate(ROWS) if row.name == name), 1, count))
    for module in ("analyze", "folders", "decide"):
        sys.modules.pop(module, None)


@pytest.mark.parametrize(
    "name",
    [
        "equal: other hours of the day, dated",
        "equal: runs of other lengths",
        "equal: drift, one after the other, a shared date",
        "equal: one start per candidate, 8 thread counts",
        "equal: copies instead of repeats",
        "equal: the same, status listings have uptimes",
        "equal: the same, a run script that never restarts",
        "equal: the same, files written without a pause",
        "equal: hosts differ by 5 %, variables name them",
        "limit: hosts differ by 5 %, and nothing shows it",
    ],
)
def test_nothing_false_is_claimed_of_candidates_that_are_equal(judged, name):
    assert not any(one.false for one in judged(name, 6))


def test_one_start_repeated_has_no_more_false_claims_than_promised(judged):
    assert sum(one.false for one in judged("equal: the same, and nothing shows it", 20)) <= 3


def test_a_planted_difference_is_found(judged):
    assert all(one.found for one in judged("+10 %: 8 thread counts, 3 runs, a start for each series", 3))
