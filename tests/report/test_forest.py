import pytest

from dialin.report import forest
from dialin.testing import records


@pytest.mark.parametrize("width", [16, 40, 80])
@pytest.mark.parametrize("marks", [forest.UNICODE, forest.ASCII])
def test_every_line_is_as_wide_as_it_was_given_room(judged, width, marks):
    lines = forest.rows(judged.verdict, width, marks)
    assert [len(line) for line in lines] == [width] * (len(judged.verdict.candidates) + 1)


def test_intervals_stand_where_their_figures_are():
    verdict = records.winner().verdict
    lines = forest.rows(verdict, 81, forest.UNICODE)
    points = [line.index("●") for line in lines[1:-1]]
    means = [candidate.ratio.mean for candidate in verdict.candidates[1:]]
    assert sorted(points) == [point for _, point in sorted(zip(means, points, strict=True))]
    assert lines[4].index("├") < lines[4].index("●") < lines[4].index("┤")
    assert lines[0].strip("░ ") == "◆"


def test_a_figure_without_an_interval_is_a_bare_point():
    line = forest.rows(records.unresolved().verdict, 60, forest.UNICODE)[1]
    assert "●" in line
    assert "├" not in line


def test_a_failed_candidate_has_an_empty_line():
    lines = forest.rows(records.failed_candidate().verdict, 60, forest.ASCII)
    assert not set(lines[3]) & {"o", "[", "-"}
