import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.signal import lfilter

from dialin.model.course import Course
from dialin.stats.steady import Shape, examine, examine_run, mser5

MINUTE, TWO = np.arange(60), np.arange(120)


def windows(shape, *, correlation=0.4, cv=0.02, series=100, seed=1):
    """Windows of a shape, whose seconds follow each other; a lag-1 correlation of 0.4 is the median of published series."""
    shape = np.asarray(shape, dtype=float)
    shocks = np.random.default_rng(seed).standard_normal((series, 100 + shape.size)) * np.sqrt(1 - correlation**2)
    return 1000 * shape * (1 + cv * lfilter([1], [1, -correlation], shocks, axis=1)[:, 100:])


def share(shapes, what):
    return np.mean([what(shape) for shape in shapes])


def wave(seconds, period, crest=0.1):
    return 1 + crest * np.sin(2 * np.pi * seconds / period + 1)


@pytest.mark.parametrize(
    ("seconds", "correlation", "most"),
    [(60, 0, 0.01), (60, 0.5, 0.02), (60, 0.7, 0.02), (60, 0.9, 0.08), (300, 0.7, 0.01), (300, 0.9, 0.02), (15, 0.7, 0.02)],
)
def test_seconds_that_only_follow_each_other_are_rarely_called_anything_but_steady(seconds, correlation, most):
    shapes = [examine(one) for one in windows(np.ones(seconds), correlation=correlation, cv=0.05, series=400)]
    assert share(shapes, lambda shape: not shape.steady) <= most


@pytest.mark.parametrize("sign", [1, -1], ids=["up", "down"])
@pytest.mark.parametrize("seconds", [15, 60, 300])
def test_a_trend_is_found_with_its_size(sign, seconds):
    shapes = [examine(one) for one in windows(1 + sign * 0.15 * np.arange(seconds) / seconds, cv=0.01)]
    assert share(shapes, lambda shape: shape.course is Course.TREND) >= 0.8
    assert share(shapes, lambda shape: shape.steady) <= 0.15
    changes = [shape.change for shape in shapes if shape.course is Course.TREND]
    assert np.median(changes) == pytest.approx(sign * 0.15 / (1 + sign * 0.075), rel=0.15)


@pytest.mark.parametrize(("at", "change"), [(70, 0.1), (80, 0.12), (95, -0.15)])
def test_a_shift_of_level_is_found_with_its_place_and_size(at, change):
    shapes = [examine(one) for one in windows(np.where(at > TWO, 1, 1 + change))]
    shifts = [shape for shape in shapes if shape.course is Course.SHIFT]
    assert len(shifts) >= 0.9 * len(shapes)
    assert share(shapes, lambda shape: shape.steady) <= 0.05
    assert np.median([shape.at for shape in shifts]) == at
    assert np.median([shape.change for shape in shifts]) == pytest.approx(change, rel=0.1)


def test_a_shift_after_a_warm_up_is_placed_in_the_whole_window():
    shapes = [examine(one) for one in windows(np.select([TWO < 20, TWO < 90], [0.7, 1], 0.95))]
    shifts = [shape for shape in shapes if shape.course is Course.SHIFT and shape.begin]
    assert len(shifts) >= 0.5 * len(shapes)
    assert (np.median([shape.begin for shape in shifts]), np.median([shape.at for shape in shifts])) == (20, 90)


def test_a_shift_in_the_first_half_is_the_end_of_a_warm_up():
    shapes = [examine(one) for one in windows(np.where(TWO < 35, 1, 0.9))]
    assert np.median([shape.begin for shape in shapes]) == 35
    assert share(shapes, lambda shape: shape.steady) >= 0.8


@pytest.mark.parametrize("period", [8, 20, 45])
def test_an_oscillation_is_found_with_its_period_and_two_cycles_of_it_are_steady(period):
    shapes = [examine(one) for one in windows(wave(TWO, period))]
    assert share(shapes, lambda shape: shape.course is Course.OSCILLATION) >= 0.95
    assert np.median([shape.period for shape in shapes if shape.period]) == pytest.approx(period, rel=0.05)
    assert np.median([shape.cycles for shape in shapes if shape.cycles]) == pytest.approx(120 / period, rel=0.05)
    assert np.median([shape.change for shape in shapes]) == pytest.approx(0.1, rel=0.1)
    assert share(shapes, lambda shape: shape.steady and not shape.too_short) >= 0.95


def test_a_fast_wave_is_no_switching_between_two_levels():
    shapes = [examine(one) for one in windows(wave(np.arange(400), 30, 0.2), cv=0.05, correlation=0)]
    assert share(shapes, lambda shape: shape.course is Course.OSCILLATION) >= 0.98


@pytest.mark.parametrize("period", [75, 100])
def test_less_than_two_cycles_are_too_short(period):
    shapes = [examine(one) for one in windows(wave(TWO, period))]
    assert share(shapes, lambda shape: shape.too_short and not shape.steady) >= 0.95


def test_a_wave_in_seconds_that_follow_each_other_is_found_too():
    shapes = [examine(one) for one in windows(wave(np.arange(300), 60), correlation=0.7, cv=0.05)]
    assert share(shapes, lambda shape: shape.course is Course.OSCILLATION) >= 0.8


@pytest.mark.parametrize("shape", [1 - 0.3 * np.exp(-TWO / 8), np.where(TWO < 30, 0.7, 1)], ids=["ramp", "step"])
def test_a_warm_up_within_the_window_is_left_out(shape):
    result = [examine(one) for one in windows(shape)]
    assert share(result, lambda one: one.steady) >= 0.85
    bias = [abs(shape[one.begin :].mean() - 1) for one in result if one.steady]
    assert np.percentile(bias, 90) < 0.01 < abs(shape.mean() - 1)


def test_a_series_that_climbs_all_the_time_never_settled():
    result = [examine(one) for one in windows(0.6 + 0.4 * TWO / 120)]
    assert share(result, lambda one: one.settled) <= 0.1
    assert share(result, lambda one: one.steady) == 0


def test_stalls_are_no_change_of_level():
    calm = windows(np.ones(60), cv=0.02)
    calm[:, 10:14] = 0
    calm[:, 50:53] *= 0.2
    assert share([examine(one) for one in calm], lambda one: one.steady) >= 0.95


@pytest.mark.parametrize(
    "shape", [1 + 0.03 * TWO / 120, np.where(TWO < 70, 1, 1.015), wave(TWO, 30, 0.015)], ids=["trend", "shift", "wave"]
)
def test_a_change_too_small_to_matter_is_steady_however_certain(shape):
    assert examine(1000 * shape) == Shape(begin=0, settled=True, course=Course.STEADY)


@pytest.mark.parametrize("series", [[], [5.0], [1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0]])
def test_where_nothing_can_be_reported_it_is_taken_for_steady(series):
    assert examine(series).steady


def test_a_constant_is_steady_and_a_plain_line_of_few_seconds_a_trend():
    assert examine([1000.0] * 30).steady
    assert examine(np.linspace(1000, 1200, 10)).course is Course.TREND


def test_mser5_cuts_a_transient_where_it_ends():
    rng = np.random.default_rng(2)
    for cold in (10, 35, 60):
        x = 1 + 0.02 * rng.standard_normal(200)
        x[:cold] -= 0.5
        assert cold <= mser5(x) <= cold + 15


def test_mser5_minimises_the_marginal_standard_error_of_batches_of_five():
    rng = np.random.default_rng(3)
    for _ in range(20):
        x = rng.normal(size=123).cumsum()
        batches = x[:120].reshape(24, 5).mean(axis=1)
        errors = [((rest - rest.mean()) ** 2).sum() / rest.size**2 for rest in (batches[cut:] for cut in range(13))]
        assert mser5(x) == 5 * int(np.argmin(errors))


def test_mser5_leaves_a_short_or_constant_series_alone():
    assert mser5(np.linspace(0, 1, 19)) == 0
    assert mser5(np.ones(100)) == 0


@given(st.integers(1, 200), st.sampled_from([20, 60, 100]), st.floats(0.01, 1000))
def test_the_unit_does_not_matter(seed, seconds, unit):
    (series,) = windows(wave(np.arange(seconds), 40, 0.05), series=1, seed=seed)
    result, scaled = examine(series), examine(unit * series)
    assert (scaled.course, scaled.begin, scaled.at, scaled.settled) == (result.course, result.begin, result.at, result.settled)
    assert scaled.change == pytest.approx(result.change)


@pytest.mark.parametrize("seconds", [60, 300, 3000])
def test_a_run_whose_last_third_is_dead_collapsed(seconds):
    shape = np.where(np.arange(seconds) < 2 * seconds // 3, 1, 0)
    shapes = [examine(one) for one in windows(shape, cv=0.1, series=30)]
    assert {one.course for one in shapes} == {Course.COLLAPSE}
    assert {(one.at, one.change, one.begin, one.steady) for one in shapes} == {(2 * seconds // 3, -1.0, 0, False)}


def test_a_collapse_says_from_which_level_to_which_one_and_when():
    (x,) = windows(np.where(np.arange(5000) < 3000, 1.04, 0.37), series=1, cv=0.1)
    result = examine_run(x)
    assert (result.course, result.at, result.begin) == (Course.COLLAPSE, 3000, 0)
    assert result.levels == pytest.approx((1040, 370), rel=0.02)
    assert result.change == pytest.approx(370 / 1040 - 1, abs=0.02)


def test_a_collapse_after_a_warm_up_begins_where_that_ends():
    t = np.arange(300)
    for x in windows(np.select([t < 60, t < 200], [0.1, 1], 0.3), series=20):
        result = examine(x)
        assert (result.course, result.begin, result.at) == (Course.COLLAPSE, 60, 200)
        assert result.change == pytest.approx(-0.7, abs=0.05)


@pytest.mark.parametrize("seconds", [1, 8, 60, 3000])
def test_a_run_that_did_nothing_is_dead(seconds):
    result = examine([0.0] * seconds)
    assert result.course is Course.DEAD
    assert not result.steady


def test_a_server_that_begins_to_work_late_did_not_settle():
    assert not examine([0.0] * 40 + [1000.0] * 20).settled


@pytest.mark.parametrize(("period", "low"), [(60, 0.2), (100, 0.6), (60, 0.0)])
def test_two_levels_that_alternate_are_not_steady(period, low):
    shapes = [examine(one) for one in windows(np.where(np.arange(300) % period < period / 2, 1, low), series=50, cv=0.1)]
    assert share(shapes, lambda one: one.course is Course.TWO_LEVELS) >= 0.95
    assert share(shapes, lambda one: one.steady) == 0
    first = next(one for one in shapes if one.course is Course.TWO_LEVELS)
    assert first.levels == pytest.approx((1000, 1000 * low), rel=0.05, abs=1)
    assert first.switches == 600 // period - 1
    assert first.low_share == pytest.approx(0.5, abs=0.05)


def test_seconds_with_a_cv_of_64_percent_are_erratic():
    rng = np.random.default_rng(1)
    for x in np.exp(rng.normal(7, 0.586, (50, 300))):
        assert examine(x).course is Course.ERRATIC


def test_few_transactions_vary_by_counting_alone():
    rng = np.random.default_rng(1)
    assert share([examine(one) for one in rng.poisson(2, (100, 120))], lambda one: one.steady) >= 0.95


@pytest.mark.parametrize("sign", [1, -1])
def test_a_steep_trend_is_no_wave_and_has_its_real_ends(sign):
    shapes = [examine(one) for one in windows(1 + sign * (np.arange(300) - 150) / 165, series=50)]
    assert {one.course for one in shapes} == {Course.TREND}
    assert np.sign(shapes[0].change) == sign
    assert shapes[0].levels == pytest.approx((1000 * (1 - sign * 0.82), 1000 * (1 + sign * 0.82)), rel=0.15)


@pytest.mark.parametrize(("seconds", "cv", "most"), [(20, 0.2, 0.03), (60, 0.3, 0.02), (300, 0.3, 0.0), (3000, 0.2, 0.0)])
@pytest.mark.parametrize("correlation", [0.0, 0.9])
def test_noise_is_rarely_called_two_levels_a_collapse_or_erratic(seconds, cv, most, correlation):
    series = windows(np.ones(seconds), correlation=correlation, cv=cv, series=200)
    shapes = [examine(np.maximum(one, 0)) for one in series]
    wrong = (Course.TWO_LEVELS, Course.COLLAPSE, Course.ERRATIC)
    assert share(shapes, lambda one: one.course in wrong) <= most + (0.04 if correlation > 0.5 and seconds < 100 else 0)


def test_latency_that_halves_has_not_collapsed():
    (x,) = windows(np.where(TWO < 80, 1, 0.3), series=1)
    assert examine(x, latency=True).course is Course.SHIFT
    assert examine(x).course is Course.COLLAPSE
