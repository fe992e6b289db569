import dataclasses

import pytest

from dialin.model.setting import combination_name
from dialin.model.study import Candidate
from dialin.model.verdict import Confirmation, Estimate, Outcome, ReasonCode
from dialin.sentences import headline, state_sentences, verdict_sentences
from dialin.sentences.changes import change_with_confidence, change_with_interval, detectable_difference, with_interval
from dialin.sentences.names import naming
from fixtures import example_studies


def test_the_values_of_a_sweep_are_called_by_the_value_in_tables_and_in_full_in_sentences():
    names = naming(example_studies.winner().spec)
    assert names.subject == "innodb_buffer_pool_instances"
    assert names.labels["16"] == "16"
    assert names.full["16"] == "innodb_buffer_pool_instances = 16"


def test_candidates_with_names_of_their_own_keep_them():
    names = naming(example_studies.failed_candidate().spec)
    assert names.subject == ""
    assert names.full["pool 8G"] == "pool 8G"


def test_a_sweep_over_builds_is_still_a_sweep_of_its_variable():
    spec = example_studies.winner().spec
    both = tuple(
        Candidate(name=f"{value} on {server}", setting={"innodb_buffer_pool_instances": value}, server=server)
        for value in (1, 4)
        for server in ("mysql@8.0", "mysql@9.7")
    )
    names = naming(spec.model_copy(update={"candidates": both, "baseline": both[0].name}))
    assert names.full["4 on mysql@9.7"] == "innodb_buffer_pool_instances = 4 on mysql@9.7"


def test_every_combination_of_two_variables_is_called_by_its_values_in_tables():
    spec = example_studies.winner().spec
    settings = [{"innodb_adaptive_hash_index": ahi, "innodb_io_capacity": 200} for ahi in ("ON", "OFF")]
    both = tuple(Candidate(name=combination_name(one), setting=one, server="mysql@9.7") for one in settings)
    names = naming(spec.model_copy(update={"candidates": both, "baseline": both[0].name}))
    assert names.subject == "innodb_adaptive_hash_index / innodb_io_capacity"
    assert list(names.labels.values()) == ["ON / 200", "OFF / 200"]
    assert list(names.full) == list(names.full.values())


@pytest.mark.parametrize(
    ("estimate", "shown"),
    [
        (Estimate(mean=1.053, low=1.041, high=1.064), "+5.3 % (+4.1 % to +6.4 %)"),
        (Estimate(mean=1.053, low=None, high=None), "+5.3 %"),
        (None, "–"),
    ],
)
def test_a_figure_without_an_interval_claims_none(estimate, shown):
    assert change_with_interval(estimate) == shown


def test_the_gain_names_the_baseline_the_interval_and_the_confidence():
    record = example_studies.winner()
    reported = verdict_sentences.gain(record, record.verdict)
    assert reported == "1,120 → 1,403 tps (+25.2 %, 95 % CI +21.5 % to +29.1 %) against the baseline."


def test_keeping_the_baseline_gains_nothing_and_says_so():
    record = example_studies.no_difference()
    assert verdict_sentences.gain(record, record.verdict) == "The baseline is recommended, so nothing changes."


def test_a_gain_without_an_interval_says_so():
    record = example_studies.inconclusive()
    verdict = record.verdict.model_copy(update={"recommended_candidate": "4"})
    assert verdict_sentences.gain(record, verdict).endswith("no interval yet) against the baseline.")


def test_a_study_without_a_verdict_says_how_to_go_on():
    record = example_studies.unfinished()
    assert verdict_sentences.headline(record) == "No verdict yet: 6 trials completed (3 candidates)."
    assert verdict_sentences.reason(record).endswith(f"dialin resume {record.directory}")


def test_a_candidate_that_gives_up_durability_never_stands_in_a_table_without_the_word():
    verdict = example_studies.weaker_durability().verdict
    assert state_sentences.state_remarks(verdict.candidates[1], verdict) == ["weaker durability"]


def test_the_winning_build_is_named_where_no_variable_changes():
    assert verdict_sentences.no_change(example_studies.builds()).endswith("the build mysql@9.7.4.")


def confirmed(low, high, record=None, blocks=6):
    verdict = (record or example_studies.winner()).verdict
    ratio = Estimate(mean=1.098 if low is None else (low + high) / 2, low=low, high=high)
    return verdict_sentences.confirmation(
        verdict.model_copy(update={"confirmed": Confirmation(candidate="16", ratio=ratio, blocks=blocks)})
    )


def test_fresh_trials_confirm_only_a_whole_interval_on_the_better_side():
    assert (
        confirmed(1.081, 1.115)
        == "Confirmation trials (6 blocks) confirm +9.8 % (+8.1 % to +11.5 %) throughput against the baseline."
    )
    assert confirmed(0.98, 1.02).startswith("Confirmation trials (6 blocks) do not confirm a gain: 0.0 % (−2.0 % to +2.0 %)")
    assert confirmed(0.9, 0.94).startswith("Confirmation trials (6 blocks) contradict it: −8.0 %")
    assert confirmed(None, None, blocks=1).startswith("Confirmation trials (1 block) show +9.8 % throughput")
    assert verdict_sentences.confirmation(example_studies.winner().verdict) == ""


def test_where_lower_is_better_fresh_trials_confirm_what_is_lower():
    text = confirmed(0.6, 0.8, example_studies.by_stability())
    assert text.startswith(
        "Confirmation trials (6 blocks) confirm −30.0 % (−40.0 % to −20.0 %) variation (CV), lower is better,"
    )
    assert "contradict" in confirmed(1.2, 1.4, example_studies.by_latency())


def test_a_gain_by_another_goal_names_its_measure_its_direction_and_throughput_beside_it():
    record = example_studies.by_stability()
    text = verdict_sentences.gain(record, record.verdict)
    assert text.startswith("variation (CV) 20.1 % → 2.0 % (−90.0 %, 95 % CI −92.8 % to −86.2 %) against the baseline.")
    assert text.endswith("Throughput: +11.2 % (+9.1 % to +13.4 %).")


def test_the_goal_is_reported_with_or_without_a_verdict():
    assert verdict_sentences.goal(example_studies.unfinished()) == "throughput; higher is better."
    assert verdict_sentences.goal(example_studies.by_latency()) == "latency, by its p99; lower is better."


def test_a_safe_choice_says_how_probable_it_is():
    text = verdict_sentences.headline(example_studies.safe_choice())
    assert "; within 1 % of the best with 97 % probability, " in text
    assert text.endswith(" % behind it on average.")
    assert "probability" not in verdict_sentences.headline(example_studies.winner())


def safe(**changes):
    record = example_studies.safe_choice()
    chosen = record.verdict.chosen.model_copy(update={"typical_ratio": None, "shortfall": 0.0021, **changes})
    others = [chosen if one.name == chosen.name else one for one in record.verdict.candidates]
    return headline.headline(record.spec, record.verdict.model_copy(update={"candidates": others}))


def test_a_safe_choice_that_may_be_ahead_by_luck_has_an_interval_and_no_gain():
    assert safe(ratio=Estimate(mean=1.02, low=0.99, high=1.05)) == (
        "innodb_buffer_pool_instances = 16 is a safe choice: no gain is shown (95 % CI −1.0 % to +5.0 %); within 1 % of the "
        "best with 97 % probability, 0.2 % behind it on average."
    )
    assert "(+4.0 %, 95 % CI +1.0 % to +7.0 %)" in safe(ratio=Estimate(mean=1.04, low=1.01, high=1.07))
    assert "less than 0.1 % behind it on average" in safe(shortfall=0.0004)


@pytest.mark.parametrize(
    ("better", "best", "text"),
    [
        (True, False, "Shown: it is better than the baseline."),
        (False, True, "Shown: nothing is better than it by more than 1 %."),
        (True, True, "Shown: it is better than the baseline and nothing is better than it by more than 1 %."),
        (False, False, "Not shown yet: that it is better than the baseline, or that nothing is better"),
    ],
)
def test_proof_is_said_apart_from_probability(better, best, text):
    verdict = example_studies.safe_choice().verdict.model_copy(update={"shown_better": better, "shown_best": best})
    assert verdict_sentences.proof(verdict).startswith(text)


def test_equality_that_is_only_probable_is_not_said_to_be_unknown():
    probable = example_studies.tie().verdict.model_copy(
        update={"verdict": Outcome.NO_WORTHWHILE_DIFFERENCE, "shown_better": False, "shown_best": False}
    )
    assert verdict_sentences.proof(probable) == "This is a probability; a claim needs stronger evidence (--until best)."


def test_an_a_a_study_is_called_one():
    assert verdict_sentences.compared(example_studies.a_a()).startswith(
        "An A/A study: 4 identical candidates of innodb_buffer_pool_instances on"
    )


def test_the_expected_difference_stands_beside_the_detectable_one_or_alone():
    verdict = example_studies.safe_choice().verdict
    assert "can detect differences of 1.2 % or more (1.5 % was expected before the study)" in verdict_sentences.noise(verdict)
    alone = verdict_sentences.noise(verdict.model_copy(update={"detectable": None}))
    assert "nor the smallest difference that can be detected (1.5 % was expected before the study)" in alone


def test_the_baseline_of_an_attached_server_is_called_what_the_server_has_now():
    record = example_studies.no_difference()
    record = dataclasses.replace(record, verdict=record.verdict.model_copy(update={"reason_code": ReasonCode.NOTHING_TO_GAIN}))
    spec = record.spec.model_copy(update={"initial": record.spec.baseline})
    now = f"{naming(spec).full[spec.baseline]}, what the server has now"
    on_server = dataclasses.replace(record, spec=spec)
    assert verdict_sentences.reason(on_server) == f"There is nothing to gain: keep {now}."
    assert verdict_sentences.no_change(on_server) == f"Nothing changes: keep {now}."
    assert verdict_sentences.reason(record) == "There is nothing to gain: keep the baseline."


def test_an_interval_that_says_nothing_is_not_shown_in_figures():
    wild = Estimate(mean=3.15, low=0.036, high=273.82)
    assert change_with_interval(wild) == "too noisy to tell"
    assert change_with_interval(wild, 2) == "too noisy to tell after 2 trials"
    assert change_with_confidence(wild, 0.95, 1) == "too noisy to tell after 1 trial"


def test_an_interval_of_a_level_that_says_nothing_is_not_shown_and_that_of_a_rare_event_is():
    assert with_interval(Estimate(mean=10.8, low=0.016, high=5685)) == "10.8 (too noisy to tell)"
    assert with_interval(Estimate(mean=0.8, low=0.05, high=4.5)) == "0.8 (0.05 to 4.50)"
    assert detectable_difference(2, 21.46) == "2 trials are too few to detect any difference"
    assert detectable_difference(12, 0.05) == "12 trials can detect differences of 5.0 % or more"
