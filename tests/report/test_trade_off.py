from dialin.model.verdict import CandidateState, Estimate
from dialin.report import trade_off
from dialin.report.charts.placing import positions
from dialin.report.names import naming
from fixtures import example_studies


def told(record, **changed):
    candidates = [one.model_copy(update=changed.get(f"c{one.name}", {})) for one in record.verdict.candidates]
    verdict = record.verdict.model_copy(update={"candidates": candidates})
    return trade_off.trade_off(verdict, naming(record.spec).labels)


def test_the_front_goes_from_the_steadiest_to_the_fastest():
    assert [one.name for one in trade_off.front(example_studies.by_stability().verdict)] == ["8", "32", "64"]


def test_the_published_finding_can_be_said():
    text = told(example_studies.by_stability(), c32={"pareto": False})
    assert text == "Fastest: 64; steadiest: 8. Every other candidate is worse in both than one of these."


def test_where_one_is_best_at_both_there_is_nothing_to_choose_between():
    assert told(example_studies.by_stability(), c32={"pareto": False}, c64={"pareto": False}) == ""


def test_a_difference_that_may_be_chance_is_said_to_be_one():
    wide = {"cv": Estimate(mean=0.135, low=0.01, high=0.2), "state": CandidateState.INCONCLUSIVE}
    text = told(example_studies.by_stability(), c64=wide, c8={"state": CandidateState.INCONCLUSIVE})
    assert text.endswith("Their intervals of CV overlap.")


def test_what_the_verdict_proved_is_not_doubted():
    wide = {"cv": Estimate(mean=0.135, low=0.01, high=0.2)}
    assert "chance" not in told(example_studies.by_stability(), c64=wide)


def test_where_both_differences_may_be_chance_nothing_is_told():
    assert told(example_studies.a_a()) == ""
    assert told(example_studies.inconclusive()) == ""


def test_a_candidate_without_figures_has_no_place():
    names = [one.name for one in trade_off.placed(example_studies.failed_candidate().verdict)]
    assert names == ["pool 8G", "pool 16G"]


def test_names_beside_points_keep_off_other_points_and_off_the_edge():
    assert positions([(0.5, 0.5)], [0.05]) == ["top right"]
    assert positions([(0.5, 0.5), (0.53, 0.53)], [0.05, 0.05])[0] != "top right"
    assert positions([(0.99, 0.99)], [0.05]) == ["bottom left"]
    assert positions([(0.01, 0.01)], [0.05]) == ["top right"]
