import numpy as np
import pytest

from dialin.stats.splits import find_split

THREADS = ["8", "16", "32", "64", "128", "256", "512", "1024"]


def crossed(*ios):
    return {"io": [io for io in ios for _ in THREADS], "threads": THREADS * len(ios)}


def test_the_level_that_sets_ratios_apart_is_found():
    factors = crossed("200", "2000", "5000", "10000")
    rng = np.random.default_rng(1)
    ratios = np.exp(rng.normal(-0.06, 0.02, 32)) * np.where(np.array(factors["threads"]) == "512", 2.1, 1)
    split = find_split(ratios, factors)
    assert (split.factor, split.levels) == ("threads", ("512",))
    assert split.probability <= 0.01
    assert split.gap > 1.5
    assert split.inside[0] > 1.7 > 1.1 > split.outside[1]


def test_a_cut_between_levels_is_found():
    ratios = [0.9, 0.91, 0.92, 0.9, 1.3, 1.31, 1.29, 1.3] * 2
    split = find_split(ratios, crossed("1", "2"))
    assert (split.factor, set(split.levels)) == ("threads", {"8", "16", "32", "64"})


def test_one_cell_alone_sets_nothing_apart():
    ratios = [1.0, 1.01, 0.99, 1.02, 0.98, 1.0, 2.4, 1.0]
    assert find_split(ratios, {"threads": THREADS}).probability > 0.9


@pytest.mark.parametrize("ios", [("1",), ("1", "2", "3", "4")])
def test_chance_is_called_a_split_as_rarely_as_promised(ios):
    rng = np.random.default_rng(2)
    factors = crossed(*ios)
    called = sum(find_split(np.exp(rng.normal(0, 0.05, len(factors["io"]))), factors).probability <= 0.05 for _ in range(300))
    assert called / 300 <= 0.08


def test_with_few_cells_or_without_factors_there_is_none():
    assert find_split([1, 2, 3], {"threads": THREADS[:3]}) is None
    assert find_split([1, 2, 3, 4], {}) is None
    assert find_split([1, 2, 3, 4], {"node": ["1"] * 4}) is None
