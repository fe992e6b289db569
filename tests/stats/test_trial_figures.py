"""What a trial comes to, one that measured several numbers of threads above all."""

import math
import random
from dataclasses import replace
from statistics import fmean

import numpy as np
import pytest

from dialin.measures.of_trials import value
from dialin.measures.table import MEASURES
from dialin.model.study import Goal
from dialin.model.trial import Sample, Step
from dialin.stats import trial_figures as module
from dialin.stats.trial_figures import figures
from dialin.stats.window import window


def seconds(threads, tps, latency=1.0, count=10, **others):
    return [
        Sample(n, 0.0, Step.MEASURE, tps * (1 + 0.01 * (-1) ** n), 0, 0, 0, latency, 0, 0, threads=threads, **others)
        for n in range(count)
    ]


BASE = seconds(16, 1000, count=60)


def test_several_numbers_of_threads_count_alike_as_ratios():
    slow = figures([*seconds(1, 100), *seconds(64, 10_000)])
    fast = figures([*seconds(64, 10_000), *seconds(1, 120)])
    assert value(slow, Goal.THROUGHPUT) == pytest.approx(1000, rel=0.01)
    assert value(fast, Goal.THROUGHPUT) / value(slow, Goal.THROUGHPUT) == pytest.approx(1.2**0.5)


def test_the_distance_between_levels_is_no_variation():
    assert figures([*seconds(1, 100), *seconds(64, 10_000)]).window.cv == pytest.approx(
        figures(seconds(1, 100)).window.cv, rel=0.1
    )


def test_a_level_that_was_measured_for_longer_weighs_no_more():
    short = figures([*seconds(1, 100, latency=2), *seconds(64, 5000, latency=100)])
    longer = figures([*seconds(1, 100, latency=2), *seconds(64, 5000, latency=100, count=20)])
    assert longer.latency == pytest.approx(short.latency) == pytest.approx(200**0.5)


def test_a_trial_that_did_nothing_at_one_number_of_threads_did_nothing():
    result = figures([*seconds(1, 0), *seconds(64, 10_000)])
    assert value(result, Goal.THROUGHPUT) == 0
    assert value(result, Goal.LATENCY) == 0


def test_every_measured_second_counts_also_those_before_a_level_settled():
    chance = random.Random(1)
    cold = [1000 * (1 - 0.5 * math.exp(-n / 4)) * chance.gauss(1, 0.01) for n in range(90)]
    warm = [100 * chance.gauss(1, 0.01) for _ in range(90)]
    kept = [
        Sample(n, 0.0, Step.MEASURE, tps, 0, 0, 0, 1.0, 0, 0, threads=threads)
        for threads, series in ((1, warm), (64, cold))
        for n, tps in enumerate(series)
    ]
    result = figures(kept)
    assert result.seconds == result.window.seconds == 180
    assert result.window.mean == pytest.approx((fmean(warm) * fmean(cold)) ** 0.5)


def test_seconds_that_the_host_lost_are_left_out_of_the_level():
    result = figures([*seconds(1, 100), *seconds(64, 10_000), *seconds(64, 10, gap=0.9)])
    assert value(result, Goal.THROUGHPUT) == pytest.approx(1000, rel=0.01)
    assert result.lost == 10


def test_at_a_rate_latency_shows_where_seconds_have_settled():
    falling = [20.0] * 25 + [10.0] * 75
    chance = random.Random(1)
    samples = [
        Sample(n, 0.0, Step.MEASURE, 100.0, 0, 0, 0, latency * chance.gauss(1, 0.02), 0, 0) for n, latency in enumerate(falling)
    ]
    assert figures(samples).shape.begin == 0
    assert figures(samples, rate=100).shape.begin == 25
    assert figures(samples, rate=100).window.seconds == 100


def test_throughput_is_transactions_divided_by_seconds_and_no_stall_is_forgiven():
    stalled = [*seconds(16, 1000, count=54), *seconds(16, 0, count=6)]
    assert value(figures(stalled), Goal.THROUGHPUT) == pytest.approx(900, rel=0.01)
    assert figures(stalled).typical == pytest.approx(960, rel=0.01)


def test_a_level_is_estimated_as_often_for_an_hour_as_for_ten_seconds(monkeypatch):
    taken = []
    monkeypatch.setattr(module, "window", lambda tps, lengths: taken.append(len(tps)) or window(tps, lengths))
    counts = []
    for count in (10, 3600):
        taken.clear()
        figures([*seconds(1, 100, count=count), *seconds(64, 10_000, count=count)])
        counts.append(len(taken))
    assert counts[0] == counts[1]


def test_the_errors_of_latency_and_variation_are_those_that_repeated_trials_show():
    rng = np.random.default_rng(5)

    def trial():
        tps, latency = rng.normal(1000, 60, 60), rng.lognormal(1.0, 0.3, 60)
        made = [replace(second, tps=float(t), latency_ms=float(ms)) for second, t, ms in zip(BASE, tps, latency, strict=True)]
        return figures(made)

    trials = [trial() for _ in range(400)]
    for goal in (Goal.LATENCY, Goal.STABILITY):
        scatter = np.std(np.log([value(one, goal) for one in trials]))
        assert fmean(MEASURES[goal].error(one) for one in trials) == pytest.approx(scatter, rel=0.15)


def test_a_single_stall_makes_a_variation_uncertain():
    calm = seconds(16, 1000, count=60)
    stalled = [replace(calm[0], tps=10.0), *calm[1:]]
    assert MEASURES[Goal.STABILITY].error(figures(calm)) < 0.1
    assert MEASURES[Goal.STABILITY].error(figures(stalled)) > 0.4
