from statistics import fmean

import pytest

from dialin.model.why import ReasonChart
from dialin.report.charts import dots

LABELS = {"a": "a", "b": "another"}


def chart(levels=None, title="Waited", unit="s/s", **values):
    means = {name: fmean(of_name) for name, of_name in values.items() if of_name}
    return ReasonChart(title=title, unit=unit, values=values, levels=levels or means)


def test_a_dot_for_each_trial_lies_where_its_value_is_and_the_candidate_s_figure_is_reported():
    drawn = dots.dots(chart(a=[8.0, 10.0], b=[9.0, 9.0]), LABELS, "a")
    assert drawn.title == "Waited, s/s"
    assert [row.places for row in drawn.rows] == [[0, 1], [0.5, 0.5]]
    assert [(row.figure, row.spoken) for row in drawn.rows] == [("9.00", "8.00, 10.0"), ("9.00", "9.00, 9.00")]
    assert (drawn.low, drawn.high) == ("8.00", "10.0")
    adjusted = dots.dots(chart({"a": 8.5, "b": 10.5}, a=[8.0, 10.0], b=[9.0, 9.0]), LABELS, "a")
    assert [(row.figure, row.level) for row in adjusted.rows] == [("8.50", pytest.approx(0.2)), ("10.5", pytest.approx(1))]


def test_the_scale_begins_at_zero_where_values_are_many_times_apart():
    drawn = dots.dots(chart(a=[1.0], b=[10.0]), LABELS, "a")
    assert drawn.low == "0"
    assert drawn.rows[0].places == [pytest.approx(0.1)]


def test_values_that_are_all_alike_lie_in_the_middle():
    assert dots.dots(chart(a=[3.0, 3.0]), LABELS, "a").rows[0].places == [0.5, 0.5]


def test_candidates_without_a_value_have_no_row_and_the_order_is_the_study_s():
    assert [row.candidate for row in dots.dots(chart(b=[1], a=[2], c=[]), {"c": "c", **LABELS}, "a").rows] == ["a", "b"]
    assert dots.dots(chart(), LABELS, "a").rows == []


def test_of_many_candidates_the_baseline_and_the_outermost_stay():
    names = [f"n{place}" for place in range(30)]
    drawn = dots.dots(
        chart(**{name: [float(place)] for place, name in enumerate(names)}), {name: name for name in names}, "n15"
    )
    shown = [row.candidate for row in drawn.rows]
    assert len(shown) == dots.MOST_ROWS
    assert {"n0", "n15", "n29"} <= set(shown)
    assert shown == sorted(shown, key=names.index)
    assert drawn.left_out == 30 - dots.MOST_ROWS


@pytest.mark.parametrize("width", [20, 30, 60, 200])
@pytest.mark.parametrize("plain", [True, False])
def test_in_characters_no_line_is_wider_than_there_is_room(width, plain):
    drawn = dots.dots(chart(a=[8.0, 10.0], b=[9.0, 9.0]), LABELS, "a")
    lines = dots.lines(drawn, "a", width, plain=plain)
    assert max(map(len, lines)) <= width
    assert not plain or "".join(lines).isascii()


def test_in_characters_the_baseline_is_reported_by_its_mark():
    drawn = dots.dots(chart(a=[8.0, 10.0], b=[9.0]), LABELS, "a")
    first, second, axis = dots.lines(drawn, "a", 60, plain=False)
    assert (first.count("◆"), first.count("●")) == (2, 0)
    assert (second.count("◆"), second.count("●")) == (0, 1)
    assert axis.split() == ["8.00", "10.0"]


def test_bytes_and_shares_are_written_as_such_and_their_unit_is_no_word():
    drawn = dots.dots(chart(title="Used", unit="bytes", a=[1024.0**2], b=[3 * 1024.0**2]), LABELS, "a")
    assert (drawn.title, drawn.rows[1].figure, drawn.high) == ("Used", "3.0 MiB", "3.0 MiB")
    drawn = dots.dots(chart(title="Missed, of all", unit="share", a=[0.095]), LABELS, "a")
    assert (drawn.title, drawn.rows[0].figure) == ("Missed, of all", "9.5 %")
