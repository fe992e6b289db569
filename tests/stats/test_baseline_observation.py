import math

import numpy as np
import pytest
from scipy.signal import lfilter

from dialin.stats.baseline_observation import FEWEST_SECONDS, detectable_in, observe


def lasting(rng, seconds, sd, memory):
    keep = math.exp(-1 / memory)
    return lfilter([sd * math.sqrt(1 - keep**2)], [1, -keep], rng.normal(size=seconds + 2000))[2000:]


def quads(logs, period, washout):
    """The differences of candidates that nothing distinguishes, in every quad of a long series."""
    slot = period + washout
    means = logs[: logs.size // slot * slot].reshape(-1, slot)[:, washout:].mean(axis=1)
    a, b, c, d = means[: means.size // 4 * 4].reshape(-1, 4).T
    return (b + c - a - d) / 2


@pytest.mark.parametrize(("white", "slow", "memory"), [(0.2, 0.0, 10.0), (0.1, 0.1, 30.0), (0.05, 0.2, 120.0)])
def test_the_noise_of_a_quad_follows_from_seconds_that_were_watched(white, slow, memory):
    rng = np.random.default_rng(3)
    logs = white * rng.normal(size=400_000) + lasting(rng, 400_000, slow, memory)
    truth = quads(logs, 60, 5).std()
    # A tenth of an hour is a short look at noise of two minutes: the estimate scatters, and is right in the middle.
    expected = [observe(np.exp(part), np.ones(part.size), period=60, washout=5).noise for part in np.split(logs[:240_000], 100)]
    assert np.median(expected) == pytest.approx(truth, rel=0.25)


def test_variation_that_the_load_explains_is_no_noise():
    rng = np.random.default_rng(4)
    load = np.exp(lasting(rng, 1200, 0.5, 60.0))
    jitter = 0.05 * rng.normal(size=1200)
    found = observe(2 * load**0.6 * np.exp(jitter), load, period=60, washout=5)
    assert found.noise == pytest.approx(0.05 / math.sqrt(60), rel=0.5)


def test_a_trend_is_said_and_is_no_noise_of_quads():
    rng = np.random.default_rng(5)
    at = np.arange(1200)
    found = observe(np.exp(0.3 * at / 3600 + 0.02 * rng.normal(size=1200)), np.ones(1200), period=60, washout=5)
    assert found.trend == pytest.approx(math.expm1(0.3), abs=0.06)
    assert found.trend_error < 0.05
    assert found.noise < 0.006


def test_more_hours_detect_less():
    rng = np.random.default_rng(6)
    found = observe(np.exp(0.3 * rng.normal(size=600)), np.ones(600), period=60, washout=5)
    detected = [detectable_in(found, hours, 65.0, 2, confidence=0.95) for hours in (1, 4, 24)]
    assert detected == sorted(detected, reverse=True)
    assert detected[0] > 2 * detected[2]


def test_too_few_seconds_and_seconds_without_a_statement_say_nothing():
    assert observe([1.0] * (FEWEST_SECONDS - 1), [1.0] * (FEWEST_SECONDS - 1), period=60, washout=5) is None
    assert observe([0.0] * 600, [0.0] * 600, period=60, washout=5) is None
