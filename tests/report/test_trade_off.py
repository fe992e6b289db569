from dataclasses import replace

import pytest

from dialin.model.verdict import Estimate, Outcome
from dialin.report import trade_off
from dialin.report.trade_off import PairComparison
from dialin.sentences.names import naming
from fixtures import example_studies

SURE = PairComparison(Estimate(mean=1.1, low=1.05, high=1.15), Estimate(mean=3.0, low=2.0, high=4.0))
CHANCE = Estimate(mean=1.1, low=0.9, high=1.3)


def sentence(record, compared=SURE, **changed):
    candidates = [one.model_copy(update=changed.get(f"c{one.name}", {})) for one in record.verdict.candidates]
    verdict = record.verdict.model_copy(update={"candidates": candidates})
    return trade_off.trade_off(verdict, naming(record.spec).labels, compared)


def test_the_front_goes_from_the_steadiest_to_the_fastest():
    assert [one.name for one in trade_off.pareto_candidates(example_studies.by_stability().verdict)] == ["8", "32", "64"]


def test_the_published_finding_can_be_said():
    text = sentence(example_studies.by_stability(), c32={"pareto": False})
    assert text == "Fastest: 64; steadiest: 8. Every other candidate is worse in both than one of these."


def test_where_one_is_best_at_both_there_is_nothing_to_choose_between():
    assert sentence(example_studies.by_stability(), c32={"pareto": False}, c64={"pareto": False}) == ""


def without_proof(record):
    safe = record.verdict.model_copy(update={"verdict": Outcome.SAFE_CHOICE, "winners": []})
    return replace(record, verdict=safe)


def test_a_difference_that_may_be_chance_is_inconclusive():
    text = sentence(without_proof(example_studies.by_stability()), replace(SURE, cv=CHANCE))
    assert text.endswith("Their difference in CV is inconclusive.")
    assert sentence(example_studies.by_stability(), replace(SURE, throughput=None)).endswith("in throughput is inconclusive.")


def test_a_proven_result_is_not_doubted():
    assert "inconclusive" not in sentence(example_studies.by_stability(), replace(SURE, cv=CHANCE))


def test_where_both_differences_may_be_chance_nothing_is_reported():
    for record in (example_studies.a_a(), example_studies.inconclusive()):
        ends = trade_off.compare_ends(record, record.verdict)
        assert sentence(record, ends) == ""
    assert sentence(without_proof(example_studies.by_stability()), PairComparison(CHANCE, CHANCE)) == ""


def test_the_ends_are_compared_by_their_own_trials():
    record = example_studies.by_stability()
    ends = trade_off.compare_ends(record, record.verdict)
    by_name = {one.name: one for one in record.verdict.candidates}
    assert ends.throughput.mean == pytest.approx(by_name["64"].tps.mean / by_name["8"].tps.mean, rel=0.01)
    assert ends.throughput.excludes_one
    assert ends.cv.mean == pytest.approx(by_name["64"].cv.mean / by_name["8"].cv.mean, rel=0.2)
    assert ends.cv.low > 1
    alone = [one.model_copy(update={"pareto": one.name == "8"}) for one in record.verdict.candidates]
    assert trade_off.compare_ends(record, record.verdict.model_copy(update={"candidates": alone})) == PairComparison()


def test_a_candidate_without_figures_has_no_place():
    names = [one.name for one in trade_off.plotted_candidates(example_studies.failed_candidate().verdict)]
    assert names == ["pool 8G", "pool 16G"]


def test_of_a_single_trial_it_is_not_said_that_it_is_steadiest():
    assert sentence(example_studies.by_stability()).startswith("Fastest: 64; steadiest: 8")
    assert "steadiest: 8" not in sentence(example_studies.by_stability(), c8={"trials": 1})
