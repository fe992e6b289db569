import pytest

from dialin.report.charts import forest
from fixtures import example_studies


def lines_of(verdict, width, marks):
    return forest.lines(forest.plot(verdict), width, marks)


@pytest.mark.parametrize("width", [16, 40, 80])
@pytest.mark.parametrize("marks", [forest.UNICODE, forest.ASCII])
def test_every_line_is_as_wide_as_it_was_given_room(judged, width, marks):
    lines = lines_of(judged.verdict, width, marks)
    assert [len(line) for line in lines] == [width] * (len(judged.verdict.candidates) + 1)


def test_intervals_stand_where_their_figures_are():
    verdict = example_studies.winner().verdict
    lines = lines_of(verdict, 81, forest.UNICODE)
    points = [line.index("●") for line in lines[1:-1]]
    means = [candidate.ratio.mean for candidate in verdict.candidates[1:]]
    assert sorted(points) == [point for _, point in sorted(zip(means, points, strict=True))]
    assert lines[4].index("├") < lines[4].index("●") < lines[4].index("┤")
    assert lines[0].strip("░ ") == "◆"


def test_a_figure_without_an_interval_is_a_bare_point():
    line = lines_of(example_studies.inconclusive().verdict, 60, forest.UNICODE)[1]
    assert "●" in line
    assert "├" not in line


def test_a_failed_candidate_has_an_empty_line():
    lines = lines_of(example_studies.failed_candidate().verdict, 60, forest.ASCII)
    assert not set(lines[3]) & {"o", "[", "-"}


def test_the_ratio_that_decides_is_drawn():
    verdict = example_studies.by_stability().verdict
    line = lines_of(verdict, 61, forest.ASCII)[1]
    assert line.index("o") < line.index("|")
    assert verdict.candidates[1].ratio.mean > 1


def test_an_interval_that_dwarfs_all_figures_is_cut_off_with_an_arrow():
    verdict = example_studies.winner().verdict
    one = verdict.candidates[1]
    wide = one.model_copy(update={"ratio": one.ratio.model_copy(update={"high": 900.0})})
    candidates = [wide if each is one else each for each in verdict.candidates]
    lines = lines_of(verdict.model_copy(update={"candidates": candidates}), 81, forest.ASCII)
    assert lines[1].rstrip().endswith("->")
    assert len({line.index("o") for line in lines[1:-1]}) == 6
