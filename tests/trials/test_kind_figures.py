"""Kinds of transaction over a trial: rates divide by all of its seconds, latencies are weighted by transactions."""

import pytest

from dialin.model.load_driver import KindFigures, kind_gauge, kind_of_gauge
from dialin.trials.driver_share import kind_figures, kind_gauges
from dialin.workloads.base import Second


def second(kinds, seconds=1.0):
    return Second(1, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, seconds, kinds=kinds)


def test_rates_count_every_second_and_latencies_every_transaction():
    seconds = [
        second({"pay": KindFigures(30, 1, 4.0, 10.0)}, 2.0),
        second({"pay": KindFigures(20, 0, 8.0, 20.0), "look": KindFigures(5, 0)}),
    ]
    figures = kind_figures(seconds)
    assert figures["look"] == KindFigures(pytest.approx(5 / 3), 0.0)
    assert figures["pay"] == KindFigures(pytest.approx(80 / 3), pytest.approx(2 / 3), pytest.approx(5.0), pytest.approx(12.5))


def test_a_driver_without_kinds_has_none():
    assert kind_gauges([second({})]) == {}


@pytest.mark.parametrize("kind", ["NEW_ORDER", "GET /cart/7", ""])
def test_a_kind_is_stored_under_any_name(kind):
    (name,) = [name for name in kind_gauges([second({kind: KindFigures(1.0)})]) if "per_second" in name]
    assert name == kind_gauge("per_second", kind)
    assert kind_of_gauge(name) == ("per_second", kind)
    assert kind_of_gauge("switches_per_second") is None
