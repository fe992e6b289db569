"""What a verdict says of a live server's periods."""

import pytest

from dialin.evidence.measured import figures_of
from dialin.measures.table import COSTS, MEASURES
from dialin.model.study import Goal
from dialin.model.verdict import CandidateState, Outcome
from dialin.verdict import comparison
from dialin.verdict.reach_verdict import standings
from fixtures.live_studies import BASE, LONGER, MEASURED, TRIP, WASHOUT, Live, live_record


def verdict_of(**live):
    return live_record(Live(**live)).verdict


def candidate(verdict, name):
    return next(one for one in verdict.candidates if one.name == name)


def live_of(verdict, name):
    return next(one for one in verdict.live.candidates if one.name == name)


def codes(verdict):
    return {note.code for note in verdict.warnings}


@pytest.mark.parametrize(("effect", "recommended"), [(0.8, "400"), (1.25, BASE)])
def test_an_effect_is_found_with_its_direction_while_load_and_mix_change(effect, recommended):
    verdict = verdict_of(effects={"400": effect})
    ratio = candidate(verdict, "400").goal_ratio
    assert ratio.low < effect < ratio.high
    assert (verdict.verdict, verdict.recommended_candidate) == (Outcome.WINNER, recommended)
    assert codes(verdict) == set()


def test_candidates_without_an_effect_differ_in_nothing_that_is_claimed():
    verdict = verdict_of(effects={"400": 1.0})
    assert verdict.verdict is Outcome.NO_WORTHWHILE_DIFFERENCE
    verdict = verdict_of(effects={"400": 1.0}, aa=True)
    assert {one.state for one in verdict.candidates} <= {
        CandidateState.EQUAL,
        CandidateState.TOO_CLOSE,
        CandidateState.NO_CLAIM,
        CandidateState.SAFE_CHOICE,
    }


def test_latency_is_a_mean_in_one_mix_of_statements_and_its_levels_have_the_ratio_that_decides():
    verdict = verdict_of(effects={"400": 0.8})
    base, other = candidate(verdict, BASE), candidate(verdict, "400")
    assert verdict.percentile == 0
    assert other.latency_ms.mean / base.latency_ms.mean == pytest.approx(other.goal_ratio.mean)
    assert "mean latency" in verdict.headline
    assert "p95" not in verdict.headline


def test_offered_load_and_costs_stand_beside_the_result():
    live = live_of(verdict_of(effects={"400": 0.8}), "400")
    assert live.load.low < 1 < live.load.high
    assert live.with_load.mean == pytest.approx(0.8, rel=0.05)
    assert set(live.costs) == set(COSTS)
    assert live.costs[Goal.ROWS].mean == pytest.approx(1.0, rel=0.01)


def test_a_load_that_depends_on_the_candidate_forbids_a_claim():
    verdict = verdict_of(effects={"400": 0.97}, on_load={"400": 1.6})
    assert verdict.verdict is Outcome.INCONCLUSIVE
    assert "load_disagrees" in codes(verdict)
    assert "the offered load differs" in verdict.headline


def test_too_few_pairs_of_blocks_forbid_a_claim():
    verdict = verdict_of(effects={"400": 0.5}, blocks=12)
    assert verdict.verdict is Outcome.INCONCLUSIVE
    assert "6 pairs of blocks are too few" in verdict.headline
    assert "few_quads" in codes(verdict)


def test_a_candidate_that_trips_the_guard_twice_is_unsafe_and_its_headline_says_why():
    record = live_record(Live(effects={"400": 0.8, "9000": 0.5}, trips=("9000",)))
    verdict = record.verdict
    assert candidate(verdict, "9000").state is CandidateState.UNSAFE
    assert verdict.recommended_candidate == "400"
    assert "is unsafe: the guard restored the baseline in 2 of 2 periods" in verdict.headline
    (note,) = [note for note in verdict.warnings if note.code == "guard_tripped"]
    assert note.data["restored_in"] == TRIP.restored_in
    assert "latency was 42 ms, usually 4.2 ms" in note.text
    assert live_of(verdict, "9000").trips == 2
    assert comparison.is_given_up("9000", record.trials)


def test_a_failure_that_is_not_the_guards_makes_no_candidate_unsafe():
    verdict = verdict_of(effects={"400": 0.8}, failures=("400",))
    assert candidate(verdict, "400").state is CandidateState.BETTER
    assert verdict.recommended_candidate == "400"
    assert "failed_trials" in codes(verdict)


def test_a_server_that_uses_all_of_its_machine_is_said():
    assert "saturated" in codes(verdict_of(effects={"400": 0.8}, busy=1.9))


def test_throughput_is_compared_where_the_server_is_saturated_and_nowhere_else():
    more = {"400": 1.2}
    verdict = verdict_of(effects={"400": 1.0}, on_load=more, goal=Goal.THROUGHPUT, busy=2.5)
    assert (verdict.verdict, verdict.recommended_candidate) == (Outcome.WINNER, "400")
    assert candidate(verdict, "400").ratio.mean == pytest.approx(1.2, rel=0.02)
    idle = verdict_of(effects={"400": 1.0}, on_load=more, goal=Goal.THROUGHPUT)
    assert idle.verdict is Outcome.INCONCLUSIVE
    assert "not_saturated" in codes(idle)
    assert "its clients decided the throughput" in idle.headline


@pytest.mark.parametrize("goal", list(COSTS))
def test_the_cost_of_a_statement_may_decide(goal):
    verdict = verdict_of(effects={"400": 1.0}, costs={"400": 0.8}, goal=goal)
    one, base = candidate(verdict, "400"), candidate(verdict, BASE)
    assert (verdict.verdict, verdict.recommended_candidate) == (Outcome.WINNER, "400")
    assert one.goal_ratio.low < 0.8 < one.goal_ratio.high
    assert one.cost.mean / base.cost.mean == pytest.approx(one.goal_ratio.mean)
    assert MEASURES[goal].filled(0, "statement").noun in verdict.headline
    assert live_of(verdict, "400").latency.mean == pytest.approx(1.0, rel=0.05)


def test_a_cheaper_statement_that_takes_longer_is_said_to():
    verdict = verdict_of(effects={"400": 1.3}, costs={"400": 0.8}, goal=Goal.CPU)
    assert verdict.recommended_candidate == "400"
    (note,) = [note for note in verdict.warnings if note.code == "costs_latency"]
    assert "raises the mean latency of statements by +30.9 %" in note.text


def test_figures_so_far_compare_latency_and_not_the_throughput_that_clients_decide():
    record = live_record(Live(effects={"400": 0.8}), judged=False)
    shown = standings(record.spec, record.trials, figures_of(record, record.trials))
    assert shown["400"].ratio == pytest.approx(0.8, rel=0.05)
    assert shown["400"].figure < shown[BASE].figure


def test_an_effect_that_takes_a_whole_period_to_settle_needs_a_longer_washout_and_has_no_interval():
    verdict = verdict_of(effects={"400": 0.5}, settling=6.0)
    assert verdict.verdict is Outcome.INCONCLUSIVE
    assert live_of(verdict, "400").with_load.low is None
    assert (verdict.live.washout, verdict.live.washout_needed) == (WASHOUT, 3 * MEASURED)
    assert "takes too long to settle" in verdict.headline
    (note,) = [note for note in verdict.warnings if note.code == "carries_over"]
    assert f"Start a new study with --warmup {3 * MEASURED}" in note.text


def test_periods_before_the_washout_was_lengthened_are_not_compared():
    verdict = verdict_of(effects={"400": 0.5}, settling=6.0, blocks=40, lengthened=19)
    ratio = candidate(verdict, "400").goal_ratio
    assert ratio.low < 0.5 < ratio.high
    assert (verdict.verdict, verdict.recommended_candidate) == (Outcome.WINNER, "400")
    assert (verdict.live.washout, verdict.live.shorter, verdict.live.quads) == (LONGER, 36, 11)
    (note,) = [note for note in verdict.warnings if note.code == "longer_washout"]
    assert "the washout was lengthened to 18 s, and the first 36 periods" in note.text
